"""Layout: the attachments of a segment, the stations at each, and the delays between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ethermeter import topology
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import PLACEMENTS, StationGroup
from ethermeter.faults import Fault, Key, dotted, shown
from ethermeter.topology import TopologyError

COAX_VELOCITY = Fraction(77, 100)
"""Propagation velocity of thick coaxial cable over the speed of light, at least (802.3-2022 §
8.4.1.3).
"""

TWISTED_PAIR_VELOCITY = Fraction(585, 1000)
"""Propagation velocity of twisted pair over the speed of light, at least (802.3-2022 § 14.4.2.4).
"""

_KINDS = ("length", "round_trip", "star", "delays")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where stations are and how far apart.

    Parameters
    ----------
    places
        For each group, the place of each of its stations.
    size
        Number of places.
    delays_ps
        Makes the one-way delays between places, ps; put off, because a check needs no matrix and a
        thousand places have a million delays.

    """

    places: tuple[tuple[int, ...], ...]
    size: int
    delays_ps: Callable[[], topology.Matrix]


def placement(group: StationGroup) -> tuple[object, ...]:
    """Return all that a layout depends on in a group, to tell equal ones."""
    positions = tuple(group.positions) if group.positions is not None else None
    per_cluster = tuple(group.per_cluster) if group.per_cluster is not None else None
    return group.count, group.position, positions, group.cluster, per_cluster


def layout(
    segment: Segment, groups: Sequence[StationGroup], *, file: str
) -> tuple[Layout | None, list[Fault]]:
    """Return the layout of a segment, or the faults that leave it without one."""
    problems = _Problems(file)
    _check_segment(segment, problems)
    places = _named_places(segment)
    for index, group in enumerate(groups):
        _check_group(group, index, segment=segment, places=places, problems=problems)
    if problems.faults:
        return None, problems.faults
    tap_ps = _tap_ps(segment)
    if places is None:
        return _along_the_cable(segment, groups, tap_ps=tap_ps), []
    dealt = _dealt(groups, places=places)
    stations = [0] * places
    for place in (place for group in dealt for place in group):
        stations[place] += 1

    def delays_ps() -> topology.Matrix:
        return topology.settled(_delays_between_places(segment, tap_ps=tap_ps), stations=stations)

    if segment.delays is not None:
        # Only a matrix that a person wrote can contradict itself; the others are right by
        # construction.
        try:
            topology.check(delays_ps())
        except TopologyError as error:
            row = segment.delays[error.place[0]]
            given = f"{row[error.place[1]]} ps" if len(error.place) > 1 else f"{len(row)} entries"
            problems.add(("segment", "delays", *error.place), given, str(error))
            return None, problems.faults
    return Layout(dealt, places, delays_ps), []


class _Problems:
    """Faults found so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []

    def add(self, path: tuple[Key, ...], value: str, allowed: str) -> None:
        self.faults.append(Fault(self.file, dotted(path), value, allowed))


def _check_segment(segment: Segment, problems: _Problems) -> None:
    given = [kind for kind in _KINDS if getattr(segment, kind) is not None]
    if len(given) != 1:
        problems.add(
            ("segment",),
            ", ".join(given) or "(missing)",
            "expected exactly one of length, round_trip, star, delays",
        )
        return
    if segment.velocity is not None and segment.length is None and segment.star is None:
        problems.add(
            ("segment", "velocity"),
            str(float(segment.velocity)),
            f"not allowed with {given[0]}, which is a time already",
        )
    if segment.clusters is not None and given[0] in ("star", "delays"):
        problems.add(
            ("segment", "clusters"),
            str(segment.clusters),
            f"not allowed with {given[0]}; clusters are along a length or a round_trip",
        )
    if segment.star is not None and (segment.star.radius is None) == (segment.star.radii is None):
        value = "(missing)" if segment.star.radius is None else "radius, radii"
        problems.add(("segment", "star"), value, "expected exactly one of radius and radii")
    if segment.round_trip is not None:
        _check_round_trip(segment, segment.round_trip, problems)


def _check_round_trip(segment: Segment, round_trip_ps: int, problems: _Problems) -> None:
    tap_ps = segment.tap_delay
    if round_trip_ps % 2:
        problems.add(
            ("segment", "round_trip"),
            f"{round_trip_ps} ps",
            "expected an even number of picoseconds, half of it for each way",
        )
    elif segment.clusters == 1:
        if tap_ps is None and round_trip_ps % 4:
            problems.add(
                ("segment", "round_trip"),
                f"{round_trip_ps} ps",
                "expected a multiple of 4 ps: two taps each way are all there is of one cluster",
            )
        if tap_ps is not None and 4 * tap_ps != round_trip_ps:
            problems.add(
                ("segment", "tap_delay"),
                f"{tap_ps} ps",
                f"expected a quarter of round_trip with one cluster, {round_trip_ps / 4:g} ps, or"
                " none",
            )
    elif tap_ps is not None and 4 * tap_ps > round_trip_ps:
        problems.add(
            ("segment", "tap_delay"),
            f"{tap_ps} ps",
            f"expected at most a quarter of round_trip, {round_trip_ps / 4:g} ps, which includes"
            " the taps",
        )


def _check_group(
    group: StationGroup, index: int, *, segment: Segment, places: int | None, problems: _Problems
) -> None:
    def wrong(key: str, allowed: str) -> None:
        value = getattr(group, key)
        text = f"{len(value)} of them" if isinstance(value, list) else str(value)
        problems.add(("stations", index, key), text, allowed)

    given = [key for key in PLACEMENTS if getattr(group, key) is not None]
    if len(given) > 1:
        problems.add(
            ("stations", index),
            ", ".join(given),
            f"expected at most one of {', '.join(PLACEMENTS)}",
        )
        return
    if "position" in given or "positions" in given:
        points = [group.position] if group.position is not None else group.positions or []
        if segment.length is None:
            wrong(given[0], "not allowed without segment.length, along which positions are")
            return
        if segment.clusters is not None:
            wrong(given[0], "not allowed with segment.clusters; use cluster")
        if group.positions is not None and len(group.positions) != group.count:
            wrong("positions", f"expected one position for each of the {group.count} stations")
        if (
            beyond := next(
                (point for point in points if point is not None and point > segment.length), None
            )
        ) is not None:
            allowed = f"expected positions up to the segment's length, {float(segment.length):g} m"
            problems.add(("stations", index, given[0]), f"{float(beyond):g} m", allowed)
    if ("cluster" in given or "per_cluster" in given) and places is None:
        wrong(given[0], "not allowed without segment.clusters, segment.star or segment.delays")
        return
    if group.cluster is not None and places is not None and group.cluster >= places:
        wrong("cluster", f"expected a number from 0 to {places - 1}")
    if group.per_cluster is not None:
        if len(group.per_cluster) != places:
            wrong("per_cluster", f"expected a number of stations for each of the {places} clusters")
        elif sum(group.per_cluster) != group.count:
            problems.add(
                ("stations", index, "per_cluster"),
                shown(group.per_cluster),
                f"expected numbers that add up to count, {group.count}",
            )


def _named_places(segment: Segment) -> int | None:
    """Return how many places a segment has by itself; None if its stations make them."""
    if segment.delays is not None:
        return len(segment.delays)
    if segment.star is not None:
        return len(segment.star.radii) if segment.star.radii is not None else 1
    return segment.clusters


def _tap_ps(segment: Segment) -> int:
    if segment.tap_delay is not None:
        return segment.tap_delay
    # One cluster has no cable between its stations, so its round trip is all taps.
    return (
        segment.round_trip // 4 if segment.round_trip is not None and segment.clusters == 1 else 0
    )


def _end_ps(segment: Segment, *, tap_ps: int) -> int:
    """Return the time from end to end of the cable, taps not included."""
    if segment.length is not None:
        return topology.propagation_ps(segment.length, velocity=segment.velocity or COAX_VELOCITY)
    return (segment.round_trip or 0) // 2 - 2 * tap_ps


def _delays_between_places(segment: Segment, *, tap_ps: int) -> topology.Matrix:
    if segment.delays is not None:
        return topology.tapped(segment.delays, tap_ps=tap_ps)
    if segment.star is not None:
        lengths = (
            segment.star.radii
            if segment.star.radii is not None
            else [segment.star.radius or Fraction(0)]
        )
        branches = [
            topology.propagation_ps(length, velocity=segment.velocity or TWISTED_PAIR_VELOCITY)
            for length in lengths
        ]
        return topology.star(branches, repeater_ps=segment.star.repeater_delay, tap_ps=tap_ps)
    return topology.cable(
        topology.spaced(_end_ps(segment, tap_ps=tap_ps), points=segment.clusters or 1),
        tap_ps=tap_ps,
    )


def _dealt(groups: Sequence[StationGroup], *, places: int) -> tuple[tuple[int, ...], ...]:
    """Deal stations to places in rotation, which goes on from group to group."""
    next_place = 0
    dealt = []
    for group in groups:
        if group.cluster is not None:
            dealt.append((group.cluster,) * group.count)
        elif group.per_cluster is not None:
            dealt.append(
                tuple(place for place, count in enumerate(group.per_cluster) for _ in range(count))
            )
        else:
            dealt.append(tuple(topology.dealt(group.count, places=places, first=next_place)))
            next_place = (next_place + group.count) % places
    return tuple(dealt)


def _along_the_cable(segment: Segment, groups: Sequence[StationGroup], *, tap_ps: int) -> Layout:
    """Lay stations out along the cable: where they say, or else equally spaced."""
    velocity = segment.velocity or COAX_VELOCITY
    unplaced = sum(
        group.count for group in groups if group.position is None and group.positions is None
    )
    evenly = iter(topology.spaced(_end_ps(segment, tap_ps=tap_ps), points=unplaced))
    coordinates = []
    for group in groups:
        if group.position is not None:
            coordinates.append(
                [topology.propagation_ps(group.position, velocity=velocity)] * group.count
            )
        elif group.positions is not None:
            coordinates.append(
                [topology.propagation_ps(point, velocity=velocity) for point in group.positions]
            )
        else:
            coordinates.append([next(evenly) for _ in range(group.count)])
    points = sorted({point for group in coordinates for point in group})
    number = {point: place for place, point in enumerate(points)}
    stations = [0] * len(points)
    for point in (point for group in coordinates for point in group):
        stations[number[point]] += 1

    def delays_ps() -> topology.Matrix:
        return topology.settled(topology.cable(points, tap_ps=tap_ps), stations=stations)

    return Layout(
        tuple(tuple(number[point] for point in group) for group in coordinates),
        len(points),
        delays_ps,
    )
