"""What agents send of a trace arrives at its times and with its lengths."""

import json
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.experiment.trace_files import read_trace
from live_runs import Measurement, measure
from shared_experiments import pair

REPLAYED = {"trace": "t.csv", "offset": "10 ms", "repeat": "400 ms", "speed": 2}
RUN: dict[str, Any] = {
    # It ends between two repetitions: a host that is held up sends the last frames within it too.
    "phases": {"transmit": "0.59 s", "measure": "all", "drain": "0.2 s"},
    "run": {"engines": ["live"]},
}
NETWORK = pair(em.flow("recorded", "a", "b", arrivals=REPLAYED), rate="100 Mb/s", **RUN)
SEGMENT = em.segment(
    "ieee-10", length="100 m", stations=em.stations("host", count=2, arrivals=REPLAYED), **RUN
)
GAPS_MS = [10, 1, 0.25, 30, 2.5, 60, 0.1, 90, 7]
LENGTHS = [100, 1518, 64, 700, 64, 1518, 101, 1000, 333]


def measured(folder: Path, experiment: ExperimentTables, *words: str) -> Measurement:
    times_ms = np.cumsum(GAPS_MS)
    rows = [f"{at:.6f},{octets}\n" for at, octets in zip(times_ms, LENGTHS, strict=True)]
    (folder / "t.csv").write_text("time_ms,length_B\n" + "".join(rows), encoding="utf-8")
    return measure(experiment, folder, *words)


def expected() -> tuple[np.ndarray, list[int]]:
    """Times since the begin of the source in s, and octets, of what is sent within 0.59 s."""
    one = np.cumsum(GAPS_MS) - 10
    times_s = np.concatenate([one + 400 * cycle for cycle in range(4)]) / 2 / 1e3
    kept = int((times_s < 0.59).sum())
    return times_s[:kept], (LENGTHS * 4)[:kept]


@pytest.mark.root
def test_messages_of_a_trace_arrive_at_its_times_and_with_its_lengths(tmp_path, unless_held_up):
    times_s, octets = expected()
    assert len(octets) > 2 * len(LENGTHS), "the trace is repeated"
    by_packets = NETWORK.changed({"flows.0.port": "packet"})
    found = measured(tmp_path, by_packets, "--on", "testbed", "--capture")
    (path,) = found.run.glob("captures/*/*-b.pcapng")
    frames = read_trace(path, name="b")
    # Frames of ours; a testbed's hosts send others.
    ours = np.isin(frames.octets, LENGTHS)
    assert frames.octets[ours].tolist() == octets
    at_s = frames.times_ps[ours] / 1e12
    # None is later than it left its sender late and took to its receiver, at the most, and than the
    # sender was held up between looking at the time and stamping the frame: less than 1 ms unless
    # the machine stalls.
    flow = found.result()["flows"]["recorded"]
    lateness = flow["sending"]["counted"]["pacing"]["lateness"]
    delay = flow["receiving"]["counted"]["streams"][0]["measured"]["delay"]
    late_s = sum(of["buckets"][-1][1] for of in (lateness, delay)) / 1e12 + 1e-3
    most_s = float(np.abs(at_s - at_s[0] - (times_s - times_s[0])).max())
    unless_held_up(most_s <= late_s, f"{most_s} s off, {late_s} s allowed")


def test_a_trace_is_replayed_by_udp_over_loopback(tmp_path):
    times_s, octets = expected()
    by_udp = NETWORK.changed({"flows.0.port": "udp"})
    flow = measured(tmp_path, by_udp, "--on", "loopback").result()["flows"]["recorded"]
    assert flow["sending"]["counted"]["frames"] == len(times_s)
    # Of each frame 46 octets are not data of UDP.
    assert flow["sending"]["counted"]["payload_octets"] == sum(octets) - 46 * len(octets)


@pytest.mark.root
def test_stations_of_an_emulated_segment_replay_a_trace(tmp_path):
    times_s, octets = expected()
    counts = measured(tmp_path, SEGMENT, "--on", "testbed").result()["segment"]["counts"]
    stations = counts["stations"] if isinstance(counts, dict) else json.loads(counts)["stations"]
    assert sum(stations["frames"]) + sum(stations["discarded"]) == 2 * len(times_s)
    assert sum(stations["bits"]) <= 2 * 8 * sum(octets)
