"""Measured over loopback: which cautions a quiet test has, and the phase of regular sources."""

import json
from pathlib import Path
from typing import Any

import pytest
from networks import network
from program import invoke

SLOW = network(
    """\
[[flows]]
name = "load"
from = "a"
to = "b"
data = "100 B"
arrivals = { regular = "16 ms", phase = "PHASE" }
[phases]
settle = "0.1 s"
transmit = "1 s"
measure = "all"
drain = "0.1 s"
[run]
engines = ["simulation", "live"]
""",
    title="a frame every 16 ms",
)


def measured(
    folder: Path, phase: str
) -> tuple[list[str], dict[str, Any], dict[str, dict[str, Any]]]:
    """What the command printed, what the agents counted of the flow, and estimates by engine."""
    folder.mkdir(exist_ok=True)
    path = folder / "slow.toml"
    path.write_text(SLOW.replace("PHASE", phase), encoding="utf-8")
    done = invoke("measure", path, "--loopback", "--no-report", "--force", "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    (counted,) = [
        json.loads(file.read_text())["flows"]["load"]
        for file in (folder / "run" / "live").glob("*/*.json")
    ]
    points = json.loads((folder / "run" / "estimates.json").read_text())["points"]
    return (
        done.stdout.splitlines(),
        counted,
        {point["engine"]: point["estimates"] for point in points},
    )


def test_slow_frames_have_no_caution_but_of_late_messages_and_one_replication(tmp_path):
    lines, counted, estimates = measured(tmp_path, "random")
    # Memory that was taken away, and other things that no witness sees, make a message late now and
    # then; one of 63 that left a tenth of the 16 ms late is a caution. Delays of the loopback
    # interface follow the processor's clock rate, which may make the batches dependent. There is no
    # other caution.
    lateness = counted["sending"]["counted"]["pacing"]["lateness"]["buckets"]
    late = {"late-send"} if any(low_ps >= 1.6e9 for low_ps, _, _ in lateness) else set()
    cautions = {word for found in estimates["live"].values() for word in found.get("cautions", ())}
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
    _, counted, estimates = measured(tmp_path, phase)
    assert counted["sending"]["counted"]["frames"] == frames
    begin_ns = {"0 s": 0, "8 ms": 8_000_000, "15.999 ms": 15_999_000}[phase]
    # Never before its time.
    assert counted["sending"]["counted"]["first_ns"] >= begin_ns
    for engine in ("simulation", "live"):
        assert estimates[engine]["offered_rate"]["value"] == frames
