"""What agents send of a trace arrives at its times and with its lengths."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ethermeter.experiment.trace_files import read_trace
from networks import network
from program import invoke

FILE = network(
    """\
[[flows]]
name = "recorded"
from = "a"
to = "b"
port = "PORT"
arrivals = { trace = "t.csv", offset = "10 ms", repeat = "400 ms", speed = 2 }
[phases]
transmit = "0.5 s"
measure = "all"
drain = "0.2 s"
[run]
engines = ["live"]
""",
    title="a trace between two hosts",
    rate="100 Mb/s",
)
GAPS_MS = [10, 1, 0.25, 30, 2.5, 60, 0.1, 90, 7]
SIDES = ("sending", "receiving")
LENGTHS = [100, 1518, 64, 700, 64, 1518, 101, 1000, 333]


def measured(folder: Path, port: str, *words: str) -> Path:
    times_ms = np.cumsum(GAPS_MS)
    rows = [f"{at:.6f},{octets}\n" for at, octets in zip(times_ms, LENGTHS, strict=True)]
    (folder / "t.csv").write_text("time_ms,length_B\n" + "".join(rows), encoding="utf-8")
    (folder / "x.toml").write_text(FILE.replace("PORT", port), encoding="utf-8")
    out = folder / "run"
    done = invoke("measure", folder / "x.toml", *words, "--no-report", "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def expected() -> tuple[np.ndarray, list[int]]:
    """Times since the begin of the source in s, and octets, of what is sent within 0.5 s."""
    one = np.cumsum(GAPS_MS) - 10
    times_s = np.concatenate([one + 400 * cycle for cycle in range(4)]) / 2 / 1e3
    kept = int((times_s < 0.5).sum())
    return times_s[:kept], (LENGTHS * 4)[:kept]


def flow_of(out: Path) -> Any:
    (path,) = (out / "live").glob("*/*.json")
    return json.loads(path.read_text())["flows"]["recorded"]


@pytest.mark.root
def test_messages_of_a_trace_arrive_at_its_times_and_with_its_lengths(tmp_path):
    times_s, octets = expected()
    assert len(octets) > 2 * len(LENGTHS), "the trace is repeated"
    out = measured(tmp_path, "packet", "--testbed", "--capture")
    (path,) = out.glob("captures/*/*-b.pcapng")
    frames = read_trace(path, name="b")
    # Frames of ours; a testbed's hosts send others.
    ours = np.isin(frames.octets, LENGTHS)
    assert frames.octets[ours].tolist() == octets
    at_s = frames.times_ps[ours] / 1e12
    # None is later than it left its sender late and took to its receiver, at the most.
    counted = {side: of["counted"] for side, of in flow_of(out).items() if side in SIDES}
    lateness = counted["sending"]["pacing"]["lateness"]
    delay = counted["receiving"]["streams"][0]["measured"]["delay"]
    late_s = sum(of["buckets"][-1][1] for of in (lateness, delay)) / 1e12
    np.testing.assert_allclose(at_s - at_s[0], times_s - times_s[0], rtol=0, atol=late_s)


def test_a_trace_is_replayed_by_udp_over_loopback(tmp_path):
    times_s, octets = expected()
    flow = flow_of(measured(tmp_path, "udp", "--loopback"))
    assert flow["sending"]["counted"]["frames"] == len(times_s)
    # Of each frame 46 octets are not data of UDP.
    assert flow["sending"]["counted"]["payload_octets"] == sum(octets) - 46 * len(octets)


SEGMENT = """
title = "stations that replay a trace"
[segment]
standard = "ieee-10"
length = "100 m"
[[stations]]
name = "host"
count = 2
arrivals = { trace = "t.csv", offset = "10 ms", repeat = "400 ms", speed = 2 }
[phases]
transmit = "0.5 s"
measure = "all"
drain = "0.2 s"
[run]
engines = ["live"]
"""


@pytest.mark.root
def test_stations_of_an_emulated_segment_replay_a_trace(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "FILE", SEGMENT)
    out = measured(tmp_path, "", "--testbed")
    times_s, octets = expected()
    (path,) = (out / "live").glob("*/*.json")
    counts = json.loads(path.read_text())["segment"]["counts"]
    stations = counts["stations"] if isinstance(counts, dict) else json.loads(counts)["stations"]
    assert sum(stations["frames"]) + sum(stations["discarded"]) == 2 * len(times_s)
    assert sum(stations["bits"]) <= 2 * 8 * sum(octets)
