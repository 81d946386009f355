"""Measured over loopback: which cautions a quiet test has, and the phase of regular sources."""

import time
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.engines.live.places import Local
from ethermeter.engines.live.trials import Underway
from ethermeter.engines.work import Finished, Work
from live_runs import Measurement, measure
from shared_experiments import pair
from stalls import inconclusive


def measured(folder: Path, phase: str) -> Measurement:
    """Measure, and simulate, a frame every 16 ms."""
    slow = {"regular": "16 ms", "phase": phase}
    experiment = pair(
        em.flow("load", "a", "b", data="100 B", arrivals=slow),
        phases={"settle": "0.1 s", "transmit": "1 s", "measure": "all", "drain": "0.1 s"},
        run={"engines": ["simulation", "live"]},
    )
    return measure(experiment, folder, "--on", "loopback", "--no-report")


def test_slow_frames_have_no_caution_but_of_late_messages_and_one_replication(tmp_path):
    found = measured(tmp_path, "random")
    lines = found.printed.stdout.splitlines()
    # Memory that was taken away, and other things that no witness sees, make a message late now and
    # then; one of 63 that left a tenth of the 16 ms late is a caution. Delays of the loopback
    # interface follow the processor's clock rate, which may make the batches dependent. There is no
    # other caution.
    sending = found.result()["flows"]["load"]["sending"]["counted"]
    lateness = sending["pacing"]["lateness"]["buckets"]
    late = {"late-send"} if any(low_ps >= 1.6e9 for low_ps, _, _ in lateness) else set()
    estimates = found.estimates()["live"].values()
    cautions = {word for each in estimates for word in each.get("cautions", ())}
    if "cpu-steal" in cautions:
        inconclusive("the host of this machine took processors away meanwhile")
    assert cautions - {"no-samples", "correlated-batches"} == late
    assert any("late-send" in line for line in lines) == bool(late)
    assert late or "correlated-batches" in cautions or not any("[a]" in line for line in lines)
    assert [
        line.partition(":")[0]
        for line in lines
        if "-replication" in line and not line.startswith(" ")
    ] == ["one-replication"]


@pytest.mark.parametrize(("phase", "frames"), [("0 s", 63), ("8 ms", 62), ("15.999 ms", 62)])
def test_measured_and_simulated_sources_have_the_phase_that_is_set(tmp_path, phase, frames):
    # In a second there are 63 times 16 ms apart from its begin on, and 62 from 8 ms on.
    found = measured(tmp_path, phase)
    sending = found.result()["flows"]["load"]["sending"]["counted"]
    assert sending["frames"] == frames
    begin_ns = {"0 s": 0, "8 ms": 8_000_000, "15.999 ms": 15_999_000}[phase]
    # Never before its time.
    assert sending["first_ns"] >= begin_ns
    for engine in ("simulation", "live"):
        assert found.estimates()[engine]["offered_rate"]["value"] == frames


def test_hosts_are_warmed_up_before_the_first_trial_only(tmp_path):
    experiment = pair(
        em.flow("load", "a", "b", data="100 B", arrivals={"regular": "1 ms"}),
        phases={"transmit": "0.2 s", "measure": "all", "warm_up": "2 s"},
        run={"engines": ["live"], "replications": 2},
    )
    trials = em.load(experiment).plan().trials
    works = [Work(place, trial.id, trial.line) for place, trial in enumerate(trials)]
    begun_s = time.monotonic()
    seen: list[tuple[float, Finished | Underway]] = []
    for each in Local("loopback").run(works, tmp_path):
        seen.append((time.monotonic() - begun_s, each))
    warm = [isinstance(each, Underway) and each.phase.startswith("warm-up") for _, each in seen]
    # All of the warm-up is before the first trial, and it lasts as long as it says.
    assert any(warm)
    assert warm == sorted(warm, reverse=True)
    assert seen[warm.index(False)][0] > 2
    lefts = [each.phase for _, each in seen if isinstance(each, Underway)][: sum(warm)]
    assert lefts == sorted(lefts, reverse=True)
    # What was counted meanwhile is kept nowhere.
    assert sum(isinstance(each, Finished) for _, each in seen) == len(trials)
    assert len(list(tmp_path.glob("live/**/*.json"))) == len(trials)
