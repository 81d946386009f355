"""Replay: a measured point simulated again with the frames as they came to the cards.

The capture of the medium says of every frame when it was sent and how long it had waited, so when
its host handed it over, to the nanosecond. A simulation whose stations get their frames at these
times does what the emulated medium did, if the medium is right: what differs from the simulation of
the file is then the lateness of hosts. All counts are of the whole trial.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ethermeter import _core
from ethermeter.live_reports import SegmentCounts
from ethermeter.scenario import Lengths, MixLengths, Scenario
from ethermeter.store import captures
from ethermeter.traces import Trace
from ethermeter.trial import Trial, core_trial
from msgspec import structs

FCS_OCTETS = 4
FIELDS = ("frame.interface_id", "frame.time_epoch", "frame.len", "frame.comment")
WAITED = re.compile(r"waited (\d+)\.(\d{3}) us")
GIVEN_UP = re.compile(r"of (\d+) octets sent; given up")
AFTER_PS = 10**12
"""Time after the last frame in which a simulation sends what still waits."""


def is_same_replayed(trial: Trial, medium: SegmentCounts, run: Path) -> bool | None:
    """Whether a simulation of the frames as they came counts what every station did.

    Compared are frames, collisions and frames given up; None if the capture of the trial in its run
    directory has dropped frames. Raises RuntimeError without tshark, or if the capture has not just
    the frames of the trial.
    """
    (capture,) = (each for each in captures.read(run) if each.trial == trial.id)
    if capture.dropped:
        return None
    counted = [
        [station.frames, station.collisions, station.discarded] for station in medium.stations
    ]
    traces = _traces(
        run / capture.file, [frames + given_up for frames, _, given_up in counted], trial.id
    )
    scenario = _replaying(trial.scenario, traces)
    known = {trace.sha256: trace.core for trace in traces}
    of = _core.simulate_trial(core_trial(scenario, seed=trial.seed), None, known).stations
    simulated = np.column_stack([of.frames, of.collisions, of.discarded])
    return bool(np.array_equal(simulated, np.array(counted)))


def _traces(capture: Path, expected: list[int], name: str) -> list[Trace]:
    """Frames of each station, at the times at which they came to its card."""
    found: list[list[tuple[int, int]]] = [[] for _ in expected]
    for station, came_ns, octets in _frames(capture):
        found[station].append((came_ns, octets))
    there = [len(frames) for frames in found]
    if there != expected:
        raise RuntimeError(f"{name}: its capture has {there} frames, its medium sent {expected}")
    begin_ns = min(came_ns for frames in found for came_ns, _ in frames)
    traces = []
    for frames in found:
        came_ns, octets = np.array(sorted(frames), np.int64).T
        traces.append(Trace((came_ns - begin_ns) * 1000, octets))
    return traces


def _frames(capture: Path) -> Iterator[tuple[int, int, int]]:
    """Station, time of arrival at its card in ns, and octets of each frame that left a card."""
    tshark = shutil.which("tshark")
    if tshark is None:
        raise RuntimeError("tshark is missing; scripts/install-system-packages installs it")
    command = [tshark, "-n", "-r", str(capture), "-T", "fields", "-E", "separator=|"]
    command += [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        station, sent, octets, comment = line.split("|")
        waited = WAITED.search(comment)
        if waited is not None:
            waited_ns = int(waited[1]) * 1000 + int(waited[2])
            seconds, _, part = sent.partition(".")
            sent_ns = int(seconds) * 10**9 + int(part.ljust(9, "0")[:9])
            given_up = GIVEN_UP.search(comment)
            length = int(given_up[1] if given_up else octets) + FCS_OCTETS
            yield int(station), sent_ns - waited_ns, length


def _replaying(scenario: Scenario, traces: list[Trace]) -> Scenario:
    """Return the same stations, each with a trace of its own."""
    (medium,), (group,) = scenario.media, scenario.media[0].stations
    (node,), (flow,) = scenario.nodes, scenario.flows
    nodes, groups, flows = [], [], []
    for number, (point, trace) in enumerate(zip(group.points, traces, strict=True)):
        name = f"{node.name}-{number}"
        nodes.append(structs.replace(node, name=name, count=1))
        groups.append(structs.replace(group, node=name, points=(point,)))
        arrivals = trace.arrivals(repeat_ps=None, offset_ps=0, speed=1.0)
        lengths = _lengths(trace)
        flow_of = structs.replace(flow, name=name, from_=name, arrivals=arrivals, frames=lengths)
        flows.append(flow_of)
    end_ps = max(int(trace.times_ps[-1]) for trace in traces) + AFTER_PS
    phases = structs.replace(
        scenario.phases,
        begin_ps=0,
        stop_ps=end_ps,
        measure_from_ps=0,
        measure_to_ps=end_ps,
        end_ps=end_ps,
    )
    return structs.replace(
        scenario,
        nodes=tuple(nodes),
        media=(structs.replace(medium, stations=tuple(groups)),),
        flows=tuple(flows),
        phases=phases,
    )


def _lengths(trace: Trace) -> Lengths:
    lengths = trace.lengths()
    return MixLengths(
        bits=tuple(8 * octets for octets, _ in lengths),
        weights=tuple(float(count) for _, count in lengths),
    )
