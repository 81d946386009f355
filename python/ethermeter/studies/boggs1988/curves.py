"""Curves of a run by what the paper calls their points: series, number of hosts, frame lengths.

A series that varies the number of clusters is one series for each: "clusters 2", "clusters 4".
"""

from collections.abc import Mapping
from functools import lru_cache

from ethermeter.analysis.frame_mixes import COUNT, FRAMES, Lengths, lengths
from ethermeter.entities import charged_ps, senders, stations_in
from ethermeter.results.query import MissingError, Results
from ethermeter.results.trials import PS_PER_S
from ethermeter.scenario import FixedLengths

CLUSTERS = "segment.clusters"
Points = Mapping[tuple[str, int, Lengths], Results]
"""Results of points by series, number of hosts and frame lengths."""


@lru_cache(maxsize=1)
def points_of(results: Results) -> Points:
    """Return the points of a run that have frame lengths."""
    found = {}
    for of in results.points():
        point = of.point
        if FRAMES in point:
            series = f"{of.series} {point[CLUSTERS]}" if CLUSTERS in point else of.series
            hosts = int(point[COUNT].number) if COUNT in point else stations_in(of.scenario)
            found[series, hosts, lengths(point[FRAMES])] = of
    return found


def at(results: Results, series: str, hosts: int, frames: Lengths) -> Results:
    """Return the results of a point.

    Raises MissingError if there are none.
    """
    found = points_of(results).get((series, hosts, frames))
    if found is None:
        raise MissingError(f"no point for {series}, {hosts} hosts, {frames}")
    return found


def hosts_of(results: Results, series: str, frames: Lengths) -> list[int]:
    """Return the numbers of hosts of a curve, smallest first; at least one."""
    found = sorted(
        hosts for name, hosts, of in points_of(results) if name == series and of == frames
    )
    if not found:
        raise MissingError(f"no curve for {series}, {frames}")
    return found


def lengths_of(results: Results, series: str) -> list[Lengths]:
    """Return the frame lengths of a series, shortest first; at least one."""
    found = sorted({of for name, _, of in points_of(results) if name == series})
    if not found:
        raise MissingError(f"no series {series}")
    return found


def first(results: Results, series: str, frames: Lengths) -> Results:
    """Return the results of the point of a curve that has the fewest hosts."""
    return at(results, series, hosts_of(results, series, frames)[0], frames)


def cycle_s(results: Results, series: str, frames: Lengths) -> float:
    """Return the time of a frame at line rate with preamble and gap, in s, from the scenario."""
    scenario = first(results, series, frames).scenario
    frames_sent = senders(scenario)[0].flow.frames
    if not isinstance(frames_sent, FixedLengths):
        raise MissingError(f"no scenario with frames of one length for {series}, {frames}")
    return charged_ps(scenario, frames_sent.bits) / PS_PER_S
