"""Layout: the attachments of a segment, the stations at each, and the delays between them."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ethermeter import topology
from ethermeter.experiment import plca
from ethermeter.experiment.segment import Segment
from ethermeter.faults import Faults, KeyPath, shown
from ethermeter.topology import TopologyError

if TYPE_CHECKING:
    from ethermeter.experiment.media import Attached

COAX_VELOCITY = Fraction(77, 100)
"""Propagation velocity of thick coaxial cable over the speed of light, at least (802.3-2022 §
8.4.1.3).
"""

TWISTED_PAIR_VELOCITY = Fraction(585, 1000)
"""Propagation velocity of twisted pair over the speed of light, at least (802.3-2022 § 14.4.2.4).
"""

MULTIDROP_VELOCITY = Fraction(667, 1000)
"""Propagation velocity of a multidrop line of 10BASE-T1S over the speed of light: 5 ns/m, typical
by the documentation of LAN8670/1/2 (Microchip, "Topology Discovery").
"""

_KINDS = ("length", "round_trip", "star", "delays")
PLACEMENTS = ("position", "positions", "cluster", "per_cluster")
"""Keys that say where stations are on a segment; at most one of them may be used."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Attachment points of stations, and the delays between them."""

    points: tuple[tuple[int, ...], ...]
    """Of each table, the attachment point of each of its stations."""
    size: int
    """Number of attachment points."""
    delays_ps: Callable[[], topology.Matrix]
    """Makes the one-way delays between attachment points, in ps.

    A check needs no matrix, and a thousand points have a million delays.
    """
    fault_ps: tuple[int, ...] | None = None
    """One-way delays from each attachment point to an open or shorted cable, in ps, if it is."""

    def rows_ps(self) -> tuple[tuple[int, ...], ...]:
        """Return these delays as in a plan."""
        return tuple([tuple(row) for row in self.delays_ps()])


def layout(segment: Segment, attached: Sequence["Attached"], *, file: str, path: KeyPath) -> Layout:
    """Return the layout of a segment, whose table is at `path`, with what is attached to it.

    Raises
    ------
    InputError
        With the faults that leave it without one.

    """
    faults, of_segment = Faults(file), Faults(file, path)
    _check_segment(segment, of_segment)
    faults.found += of_segment.found
    size = _points_of(segment)
    for each in attached:
        _check_places(each, segment=segment, size=size, faults=faults)
    faults.raise_all()
    tap_ps = _tap_ps(segment)
    if size is None:
        return _along_the_cable(segment, attached, tap_ps=tap_ps)
    points = _dealt(attached, size=size)
    counts = Counter(point for group in points for point in group)
    stations = [counts[point] for point in range(size)]

    def delays_ps() -> topology.Matrix:
        return topology.settled(_delays_between_points(segment, tap_ps=tap_ps), stations=stations)

    if segment.delays is not None:
        # Only a matrix that a person wrote can contradict itself; the others are right by
        # construction.
        try:
            topology.check(delays_ps())
        except TopologyError as error:
            row = segment.delays[error.index[0]]
            given = f"{row[error.index[1]]} ps" if len(error.index) > 1 else f"{len(row)} entries"
            raise of_segment.error(("delays", *error.index), given, str(error)) from None
    cable = topology.spaced(_end_ps(segment, tap_ps=tap_ps), points=segment.clusters or 1)
    return Layout(points, size, delays_ps, _fault_ps(segment, cable, tap_ps=tap_ps))


def _fault_ps(segment: Segment, points_ps: Sequence[int], *, tap_ps: int) -> tuple[int, ...] | None:
    """Return the delays from points of the cable to where it is open or shorted, if it is."""
    if segment.cable_fault is None:
        return None
    at_ps = topology.propagation_ps(segment.cable_fault.position, velocity=_velocity(segment))
    return tuple([abs(at_ps - point_ps) + tap_ps for point_ps in points_ps])


def _check_segment(segment: Segment, faults: Faults) -> None:
    given = [kind for kind in _KINDS if getattr(segment, kind) is not None]
    if len(given) != 1:
        allowed = "expected exactly one of length, round_trip, star, delays"
        faults.add((), ", ".join(given) or "(missing)", allowed)
        return
    if segment.velocity is not None and given[0] not in ("length", "star"):
        allowed = f"not allowed with {given[0]}, which is a time already"
        faults.add(("velocity",), float(segment.velocity), allowed)
    if segment.clusters is not None and given[0] in ("star", "delays"):
        allowed = f"not allowed with {given[0]}; clusters are along a length or a round_trip"
        faults.add(("clusters",), segment.clusters, allowed)
    if segment.star is not None and (segment.star.radius is None) == (segment.star.radii is None):
        value = "(missing)" if segment.star.radius is None else "radius, radii"
        faults.add(("star",), value, "expected exactly one of radius and radii")
    if segment.round_trip is not None:
        _check_round_trip(segment, segment.round_trip, faults)
    if (fault := segment.cable_fault) is None:
        return
    key, given_m = ("cable_fault", "position"), f"{float(fault.position):g} m"
    if segment.length is None:
        allowed = "not allowed without length, along which positions are"
        faults.add(("cable_fault",), f"at {given_m}", allowed)
    elif fault.position > segment.length:
        allowed = f"expected a position up to the segment's length, {float(segment.length):g} m"
        faults.add(key, given_m, allowed)


def _check_round_trip(segment: Segment, round_trip_ps: int, faults: Faults) -> None:
    tap_ps = segment.tap_delay
    quarter = f"{round_trip_ps / 4:g} ps"
    key, value, allowed = "tap_delay", tap_ps, ""
    if round_trip_ps % 2:
        key, value = "round_trip", round_trip_ps
        allowed = "expected an even number of picoseconds, half of it for each way"
    elif segment.clusters == 1:
        if tap_ps is None and round_trip_ps % 4:
            key, value = "round_trip", round_trip_ps
            allowed = (
                "expected a multiple of 4 ps: two taps each way are all there is of one cluster"
            )
        if tap_ps is not None and 4 * tap_ps != round_trip_ps:
            allowed = f"expected a quarter of round_trip with one cluster, {quarter}, or none"
    elif tap_ps is not None and 4 * tap_ps > round_trip_ps:
        allowed = f"expected at most a quarter of round_trip, {quarter}, which includes the taps"
    if allowed:
        faults.add((key,), f"{value} ps", allowed)


def _check_places(
    attached: "Attached", *, segment: Segment, size: int | None, faults: Faults
) -> None:
    table = attached.table

    def wrong(key: str, allowed: str, value: object = None) -> None:
        if value is None:
            value = getattr(table, key)
            value = f"{len(value)} of them" if isinstance(value, tuple) else value
        faults.add((*attached.path, key), value, allowed)

    given = [key for key in PLACEMENTS if getattr(table, key) is not None]
    if len(given) > 1:
        allowed = f"expected at most one of {', '.join(PLACEMENTS)}"
        faults.add(attached.path, ", ".join(given), allowed)
        return
    if "position" in given or "positions" in given:
        points = [table.position] if table.position is not None else table.positions or []
        if segment.length is None:
            wrong(given[0], "not allowed without segment.length, along which positions are")
            return
        if segment.clusters is not None:
            wrong(given[0], "not allowed with segment.clusters; use cluster")
        if table.positions is not None and len(table.positions) != attached.count:
            wrong("positions", f"expected one position for each of the {attached.count} stations")
        beyond = next((point for point in points if point > segment.length), None)
        if beyond is not None:
            allowed = f"expected positions up to the segment's length, {float(segment.length):g} m"
            wrong(given[0], allowed, f"{float(beyond):g} m")
    if ("cluster" in given or "per_cluster" in given) and size is None:
        wrong(given[0], "not allowed without segment.clusters, segment.star or segment.delays")
        return
    if table.cluster is not None and size is not None and table.cluster >= size:
        wrong("cluster", f"expected a number from 0 to {size - 1}")
    if table.per_cluster is not None:
        if len(table.per_cluster) != size:
            wrong("per_cluster", f"expected a number of stations for each of the {size} clusters")
        elif sum(table.per_cluster) != attached.count:
            allowed = f"expected numbers that add up to count, {attached.count}"
            wrong("per_cluster", allowed, shown(table.per_cluster))


def _points_of(segment: Segment) -> int | None:
    """Return how many attachment points a segment has; None if its stations make them."""
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


def _velocity(segment: Segment) -> Fraction:
    """Return the velocity along a cable."""
    usual = MULTIDROP_VELOCITY if segment.standard == plca.STANDARD else COAX_VELOCITY
    return segment.velocity or usual


def _end_ps(segment: Segment, *, tap_ps: int) -> int:
    """Return the time from end to end of the cable, taps not included."""
    if segment.length is not None:
        return topology.propagation_ps(segment.length, velocity=_velocity(segment))
    return (segment.round_trip or 0) // 2 - 2 * tap_ps


def _delays_between_points(segment: Segment, *, tap_ps: int) -> topology.Matrix:
    if segment.delays is not None:
        return topology.tapped(segment.delays, tap_ps=tap_ps)
    if (star := segment.star) is not None:
        velocity = segment.velocity or TWISTED_PAIR_VELOCITY
        lengths = star.radii if star.radii is not None else [star.radius or Fraction(0)]
        branches = [topology.propagation_ps(length, velocity=velocity) for length in lengths]
        return topology.star(branches, repeater_ps=star.repeater_delay, tap_ps=tap_ps)
    points = topology.spaced(_end_ps(segment, tap_ps=tap_ps), points=segment.clusters or 1)
    return topology.cable(points, tap_ps=tap_ps)


def _dealt(attached: Sequence["Attached"], *, size: int) -> tuple[tuple[int, ...], ...]:
    """Deal stations to points in rotation, which goes on from table to table."""
    first = 0
    dealt = []
    for each in attached:
        if each.table.cluster is not None:
            dealt.append((each.table.cluster,) * each.count)
        elif each.table.per_cluster is not None:
            counts = enumerate(each.table.per_cluster)
            dealt.append(tuple([point for point, count in counts for _ in range(count)]))
        else:
            dealt.append(tuple(topology.dealt(each.count, places=size, first=first)))
            first = (first + each.count) % size
    return tuple(dealt)


def _along_the_cable(segment: Segment, attached: Sequence["Attached"], *, tap_ps: int) -> Layout:
    """Lay stations out along the cable: at their positions, or else equally spaced."""
    velocity = _velocity(segment)
    unplaced = sum(
        each.count
        for each in attached
        if each.table.position is None and each.table.positions is None
    )
    evenly = iter(topology.spaced(_end_ps(segment, tap_ps=tap_ps), points=unplaced))
    coordinates = []
    for each in attached:
        positions: Sequence[Fraction] | None = each.table.positions
        if each.table.position is not None:
            positions = [each.table.position] * each.count
        if positions is None:
            coordinates.append(list(itertools.islice(evenly, each.count)))
        else:
            coordinates.append([topology.propagation_ps(m, velocity=velocity) for m in positions])
    stations = Counter(ps for group in coordinates for ps in group)
    points_ps = sorted(stations)
    number = {ps: point for point, ps in enumerate(points_ps)}

    def delays_ps() -> topology.Matrix:
        counts = [stations[ps] for ps in points_ps]
        return topology.settled(topology.cable(points_ps, tap_ps=tap_ps), stations=counts)

    points = tuple([tuple([number[ps] for ps in group]) for group in coordinates])
    return Layout(points, len(points_ps), delays_ps, _fault_ps(segment, points_ps, tap_ps=tap_ps))
