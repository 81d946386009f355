"""Benchmark suites on a testbed: a wire of known rate, a generator that drops frames, and trials
that must lose nothing.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ethermeter as em
import pytest
from benchmark_runs import device
from ethermeter.benchmark import Bench, Suite, load
from ethermeter.benchmark.outcome import Outcome, outcome_of
from ethermeter.benchmark.rates import Throughput, key_of, rate_stimulus
from ethermeter.engines.live import Kept, Local, agents
from ethermeter.engines.work import Finished, Work
from ethermeter.execution import Execution, search
from ethermeter.results.query import Results
from ethermeter.strategies.benchmark import Benchmark
from program import LIMIT_S, eventually
from shared_experiments import behind
from stalls import Contention, QuietWindow

pytestmark = pytest.mark.root
WIRE_BPS = 10_000_000
WIDTH = 0.005
TRIAL_S = 4.0
WIRE = em.network(rate="10 Mb/s", hosts=["sender", "sink"], links=[("sender", "sink")], flows=None)
LIVE = {"venue": "testbed", "settle_s": 0.25, "drain_s": 0.5}


class Counted(Kept):
    """A testbed whose receiver's interface `ip -s link` counts before and after each trial."""

    def __init__(self) -> None:
        super().__init__(Local("testbed", "relay"))
        self.received: list[int] = []

    def outcomes(self, works: Sequence[Work], directory: Path) -> list[Finished]:
        """Measure trials, and count the frames of the sink's interface for each."""
        found = []
        for work in works:
            bed = self._prepared(work).laboratory.bed
            assert bed is not None
            sink = bed.hosts["sink"]
            before = frames_of(sink.namespace, sink.interface)
            found += [seen for seen in self.run([work], directory) if isinstance(seen, Finished)]
            self.received.append(frames_of(sink.namespace, sink.interface) - before)
        return found


def frames_of(namespace: str, interface: str) -> int:
    """Return the frames that an interface has received, as `ip -s link` counts them."""
    command = ["ip", "-n", namespace, "-s", "-j", "link", "show", "dev", interface]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    (link,) = json.loads(shown.stdout)
    return int(link["stats64"]["rx"]["packets"])


def results_of(suite: Suite, kinds: Sequence[str], directory: Path) -> dict[str, Any]:
    """Run the steps of some kinds of a suite on a testbed, and return their results."""
    steps = tuple(step for step in suite.steps if step.key.split(" ")[0] in kinds)
    results: dict[str, Any] = {}

    def keep(found: Any) -> tuple[()]:
        results.update(found)
        return ()

    part = replace(suite, steps=steps, tables=keep, culprit=lambda _: "")
    with Kept(Local("testbed", "relay")) as place:
        search(
            Benchmark(part, venue="testbed"),
            directory=directory,
            options=Execution(),
            place=place,
        )
    return results


def measured(bench: Bench, loads: Sequence[float], octets: int, directory: Path) -> Any:
    """Return the outcomes of trials from the first tester to the second, and what `ip` counted."""
    one, other = bench.testers[:2]
    stimuli = [
        rate_stimulus(bench, [(one, (other,))], octets, load, bench.settings.trial_s)
        for load in loads
    ]
    trials = [bench.trial(of, at, {"trial": str(at)}) for at, of in enumerate(stimuli)]
    works = [Work(at, trial.id, trial.line) for at, trial in enumerate(trials)]
    with Counted() as place:
        finished = place.outcomes(works, directory)
    outcomes: list[Outcome] = [
        outcome_of(
            trial,
            Results.of_trial(trial, done.result),
            (directory / "live" / f"{trial.id}.json").read_bytes(),
            stimulus.streams,
        )
        for trial, done, stimulus in zip(trials, finished, stimuli, strict=True)
    ]
    return outcomes, place.received


@pytest.mark.alone
@pytest.mark.long
def test_the_rate_of_a_relayed_wire_is_found_within_the_width(
    new_path: Any, in_quiet_window: QuietWindow
) -> None:
    octets = 512
    capacity = WIRE_BPS / ((octets + 20) * 8)
    # A queue hides at most half of the width in a trial. It takes what a sender that is as late
    # as a valid trial permits, 0.2% of the trial, then sends at twice the rate.
    queue = int(WIDTH / 2 * capacity * TRIAL_S)
    bench = device(behind(queue), frames=(octets,), trial_s=TRIAL_S, width=WIDTH, **LIVE)

    def found() -> tuple[Throughput, list[Outcome], list[int]]:
        results = results_of(load("rfc2544", bench), ("generator", "throughput"), new_path())
        throughput: Throughput = results[key_of("throughput", octets)]
        assert throughput.rate is not None
        return throughput, *measured(bench, [throughput.rate, 1.0], octets, new_path())

    # Trials in which the sender stalled are repeated by the suite itself.
    throughput, (at_rate, idle), (counted, others) = in_quiet_window(found, tolerated_stall_s=0.5)
    assert throughput.rate == pytest.approx(capacity, rel=WIDTH)
    # What comes besides the test's frames is that of a trial of two frames.
    assert counted - (others - idle.received) == pytest.approx(at_rate.received, abs=10)
    if not at_rate.is_late:
        assert (counted - others) / TRIAL_S == pytest.approx(capacity, rel=2 * WIDTH)


@pytest.mark.long
def test_forty_trials_at_half_rate_lose_nothing(tmp_path: Path, unless_held_up: Contention) -> None:
    short = {**LIVE, "settle_s": 0.05, "drain_s": 0.1}
    bench = device(WIRE, frames=(64,), trial_s=0.1, **short)
    half = WIRE_BPS / (84 * 8) / 2
    outcomes, counted = measured(bench, [half] * 40, 64, tmp_path)
    losses = [outcome.lost for outcome in outcomes if outcome.lost]
    # A sender that is late by 30 ms sends more frames at once than the wire has room for.
    unless_held_up(not losses, losses)
    assert all(outcome.sent == outcome.intended for outcome in outcomes)
    assert all(
        frames >= outcome.received for frames, outcome in zip(counted, outcomes, strict=True)
    )


def test_a_generator_that_drops_a_thousandth_is_named_as_the_culprit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "dropping_generator.so"
    source = Path(__file__).with_name("dropping_generator.c")
    compiler = ["cc", "-shared", "-fPIC", "-O2", "-o", str(shim), str(source), "-ldl"]
    subprocess.run(compiler, check=True, timeout=LIMIT_S)
    start = agents.Agent.start

    def preloaded(agent: agents.Agent) -> None:
        if agent.name == "sender":
            agent.environment = {**agent.environment, "LD_PRELOAD": str(shim)}
        start(agent)

    monkeypatch.setattr(agents.Agent, "start", preloaded)
    bench = device(behind(50), frames=(64,), trial_s=0.5, **LIVE)
    suite = load("rfc2544", bench)
    results = results_of(suite, ("generator", "throughput"), tmp_path / "run")
    ceiling = results[key_of("generator", 64)]
    assert ceiling.rate is None
    assert ceiling.culprit == "generator"
    assert ceiling.outcome.loss == pytest.approx(0.001, rel=0.1)
    assert ceiling.outcome.lost == {"generator": ceiling.outcome.lost_frames}
    throughput = results[key_of("throughput", 64)]
    assert throughput.rate is None
    assert throughput.remark.startswith("generator: loses 0.1")
    assert suite.culprit(results) == "generator"


@pytest.mark.slow
def test_a_suite_on_a_testbed_ends_at_ctrl_c_and_goes_on(
    tmp_path: Path, namespaces: Callable[..., set[str]]
) -> None:
    file, out = WIRE.save(tmp_path / "wire.toml"), tmp_path / "run"
    command = [sys.executable, "-m", "ethermeter", "find", "benchmark", "rfc2544"]
    command += [f"network={file}", "frames=512", "trial=100 ms", "--on", "testbed"]
    command += ["--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        eventually(lambda: len(list(out.glob("live/*/*.json"))) >= 3)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, complaint
    assert b"finished trials are kept" in complaint
    assert not namespaces(maker=process.pid)
    kept = {path.name: path.read_bytes() for path in out.glob("live/*/*.json")}
    assert len(kept) >= 3
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=LIMIT_S)
    assert again.returncode == 0, again.stderr
    tests = {test["name"]: test for test in json.loads(again.stdout)["tests"]}
    (row,) = tests["throughput"]["rows"]
    assert row["values"]["line_rate"] == pytest.approx(WIRE_BPS / (532 * 8))
    now = {path.name: path.read_bytes() for path in out.glob("live/*/*.json")}
    # The one that had just been written, and was not recorded yet, is measured again.
    assert sum(now[name] != text for name, text in kept.items()) <= 1
