"""Measured over loopback: which cautions a quiet test has, and the phase of regular sources."""

from pathlib import Path

import ethermeter as em
import pytest
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
