"""Media: what attaches stations to a segment, and a segment with its stations as in a scenario."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from ethermeter import scenario
from ethermeter.experiment import layout, plca
from ethermeter.experiment.origin import Origin
from ethermeter.experiment.plca import GroupPlca, Outages
from ethermeter.experiment.quantity import Length, Name, integer
from ethermeter.experiment.segment import MOST_PLACES, Constants, Segment, constants_of
from ethermeter.experiment.tables import FileTable, ListOf, lowered, most_of, reader_of
from ethermeter.faults import Faults, KeyPath

MOST_STATIONS = 1024
"""Stations that a table may attach; the standard may allow fewer."""


class Attachment(FileTable, frozen=True, kw_only=True):
    """Where stations are on a segment, and how they contend for it."""

    OF: ClassVar[tuple[type[Struct], ...]] = (scenario.Stations,)

    position: Length | None = None
    """Position of all stations along the length of the segment."""
    positions: (
        Annotated[tuple[Fraction, ...], ListOf(reader_of(Length), 1, MOST_STATIONS)] | None
    ) = None
    """Position of each station along the length of the segment."""
    cluster: Annotated[int, integer(0, MOST_PLACES - 1)] | None = None
    """Cluster, branch or row of `delays` of all stations, from 0."""
    per_cluster: (
        Annotated[tuple[int, ...], ListOf(integer(0, MOST_STATIONS), 1, MOST_PLACES)] | None
    ) = None
    """Number of stations in each cluster, branch or row of `delays`; the sum is that of all."""
    plca: GroupPlca | None = None
    """PLCA settings that differ from those of the segment; 10BASE-T1S only."""
    down: Outages | None = None
    """Intervals in which the stations are silent: they neither send nor take part in PLCA.
    10BASE-T1S only; never if absent.
    """


class NetworkSegment(Segment, frozen=True, kw_only=True):
    """A segment that nodes of the network share, with the keys of `[segment]` and a name."""

    name: Name
    """Name of the segment, which links have in `ends`."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Stations that a table, which is at a path of the file, attaches to a segment."""

    table: Attachment
    path: KeyPath
    nodes: Sequence[str]
    """Nodes of the stations: one each, or one that stands for all."""
    count: int
    """Number of stations."""


@dataclass(frozen=True, slots=True)
class ExpandedSegment:
    """A segment with its stations, in the order of the file."""

    medium: scenario.Medium
    """The medium without delays, which `layout` has."""
    layout: layout.Layout
    constants: Constants
    path: KeyPath
    """Where the file has it."""
    origins: Sequence[Origin]
    """Where the file sets the values of its stations."""


def expanded_segment(
    segment: NetworkSegment, attached: Sequence[Attached], path: KeyPath, *, file: str
) -> ExpandedSegment:
    """Return a segment, whose table is at `path`, with what is attached to it.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    faults = Faults(file)
    constants = faults.of(lambda: constants_of(segment, file=file, path=path))
    laid = faults.of(lambda: layout.layout(segment, attached, file=file, path=path))
    turns = plca.turns_of(segment, attached, (*path, "standard"), faults)
    count = sum(each.count for each in attached)
    if constants is not None and count > constants.max_stations:
        allowed = (
            f"expected at most {constants.max_stations} stations in all on a segment of this"
            " standard"
        )
        largest = max(attached, key=lambda each: each.count)
        has_count = "count" in largest.table.given
        key = (*largest.path, "count") if has_count else path
        faults.add(key, largest.count if has_count else f"{count} stations", allowed)
    faults.raise_all()
    assert constants is not None
    assert laid is not None, "else it has faults"
    usual = {
        "backoff": scenario.ExponentialBackoff(limit=constants.backoff_limit),
        "attempt_limit": constants.attempt_limit,
    }
    stations: list[scenario.Stations] = []
    for each, points, of in zip(attached, laid.points, turns, strict=True):
        # A rule that is absent, or called "exponential", is the standard's.
        given = {key: value for key, value in each.table.core.items() if value is not None}
        alike = lowered(
            scenario.Stations,
            replace(each.table, core=usual | given),
            node=each.nodes[0],
            points=points,
            plca=of,
            down=plca.intervals_of(each.table.down),
        )
        if len(each.nodes) == 1:
            stations.append(alike)
            continue
        for number, (node, point) in enumerate(zip(each.nodes, points, strict=True)):
            own = None if of is None else replace(of, ids=(of.ids[number],))
            stations.append(replace(alike, node=node, points=(point,), plca=own))
    medium = scenario.Medium(
        name=segment.name,
        bit_ps=constants.bit_ps,
        mac=constants.mac,
        delay_ps=(),
        stations=tuple(stations),
        cable_fault=_cable_fault(segment, laid),
    )
    origins = [Origin(each.path) for each in attached for _ in each.nodes]
    return ExpandedSegment(medium, laid, constants, path, origins)


def _cable_fault(segment: Segment, laid: layout.Layout) -> scenario.CableFault | None:
    """Return the open or shorted cable of a segment, if it ever is."""
    fault = segment.cable_fault
    if fault is None or laid.fault_ps is None:
        return None
    latest = most_of(scenario.CableFault, "to_ps")
    until = latest if fault.lasts is None else fault.at + fault.lasts
    return scenario.CableFault(from_ps=fault.at, to_ps=until, delay_ps=laid.fault_ps)
