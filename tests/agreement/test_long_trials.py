"""Trials that take minutes: progress within them, and an end at once.

With the real core, which nothing but its watch can stop.
"""

import itertools
import re
import signal
import sys
import threading
import time
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter import _core
from ethermeter.engines import local
from ethermeter.engines.work import UnderWay, Work
from ethermeter.trial import core_trial_of
from program import LIMIT_S, started
from small_runs import write_experiment

LONG = {
    "vary": None,
    "stations.0.count": 1024,
    "phases.transmit": "2000 s",
    "phases.measure": "middle 1000 s",
    "run.replications": 1,
}

OFTEN = """
import ethermeter.execution
from ethermeter.cli import main, progress

ethermeter.execution.LONG_TRIAL_S, progress.LINE_EVERY_S = 0.2, 0.5
main()
"""
"""`ethermeter` with ten times as many lines of progress."""


SAID = re.compile(r"small: 0 of 1 trials, trial small/00000 at (\d+)%, .* left\n")


def seconds_to_end(folder: Path, end: signal.Signals, code: int) -> float:
    """How long a trial of minutes takes to end by a signal, and what it says until then."""
    path = write_experiment(folder, LONG)
    words = ("run", path, "--out", folder / "run", "--no-report", "--force")
    with started([sys.executable, "-c", OFTEN, *map(str, words)]) as process:
        # Where a processor is lacking, lines may come before the trial has told how far it is.
        said = itertools.islice(filter(None, map(SAID.fullmatch, process.stderr)), 2)
        first, second = (int(found[1]) for found in said)
        begin_s = time.monotonic()
        process.send_signal(end)
        _, last = process.communicate(timeout=LIMIT_S)
        took_s = time.monotonic() - begin_s
    assert process.returncode == code
    assert first <= second < 100
    assert "finished trials are kept. To continue: ethermeter run" in last
    return took_s


def test_one_long_trial_shows_its_progress_and_ends_by_sigterm(tmp_path):
    seconds_to_end(tmp_path, signal.SIGTERM, 143)


def test_one_long_trial_shows_its_progress_and_ends_by_ctrl_c_within_a_second(
    tmp_path, in_quiet_window
):
    assert in_quiet_window(lambda: seconds_to_end(tmp_path, signal.SIGINT, 130)) < 1


def test_an_engine_that_is_closed_stops_the_trials_under_way(tmp_path):
    plan = em.load(write_experiment(tmp_path, LONG)).plan()
    results = local.run([Work(0, plan.trials[0].id, plan.trials[0].line)], jobs=1)
    shares = []
    while not shares or shares[-1] == 0:
        under_way = next(results)
        assert isinstance(under_way, UnderWay)
        shares += under_way.shares.values()
    assert 0 < shares[-1] < 1
    results.close()
    # A trial that nothing stops would go on for minutes, on a thread of this process.
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("trials-")]


def test_a_stopped_simulation_is_no_result(tmp_path):
    line = em.load(write_experiment(tmp_path)).plan().trials[0].line
    watch = _core.Watch()
    watch.stop()
    with pytest.raises(ValueError, match="stopped"):
        _core.simulate_trial(core_trial_of(line), watch)
