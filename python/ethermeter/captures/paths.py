"""Paths: the connections between two addresses, and the links that they fill together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ethermeter.captures.counts import DirectionCounts, PathCounts
from ethermeter.captures.text import rate_text, size_text, time_text

if TYPE_CHECKING:
    from ethermeter.captures.connection import Connection

FULL = 0.85
"""A link is full from this share of the rate seen on it: no transfer limited by a window had more
than half, full links had 98%.
"""
_GAPS = 20
"""Fewest gaps between packets that tell the rate of a link."""
_EVEN = 0.1
"""Gaps are even if nine in ten differ from their median by at most this part."""
_LARGE = 0.05
"""Share of the payload of a path from which a connection fills its link, too."""
_COOKIE_OCTETS = 37
"""Payload with which every connection of iperf3 begins: 36 characters and a zero."""
_CONTROL = 0.01
"""A control connection carries less than this part of the largest connection that it controls."""


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A link that several connections fill together.

    `connections`: how many. `goodput_bps`: payload of all of them, in bit/s. `packet_bps`: rate at
    which their packets left the link before the capture point, in bit/s; None if the link is behind
    it. `link_bps`: payload rate that acknowledgements tell of that link, in bit/s; None if it is
    before the capture point. `share`: share of the time in which it was busy, 0 to 1.
    """

    connections: int
    goodput_bps: float
    packet_bps: float | None
    link_bps: float | None
    share: float


@dataclass(frozen=True, slots=True)
class Path:
    """Connections between two addresses.

    `addresses`: of the hosts, the one that sent more first. `connections`: those that carried
    payload, the one with most payload first, without control connections.
    """

    addresses: tuple[str, str]
    connections: tuple["Connection", ...]

    @property
    def octets(self) -> int:
        """Octets of payload of all, without retransmissions."""
        return sum(each.octets for each in self.connections)

    @property
    def duration_s(self) -> float:
        """Time in which at least one of them was under way, in s."""
        return _duration_s(self.connections)

    @property
    def goodput_bps(self) -> float | None:
        """Payload of all over that time, in the direction with more, in bit/s."""
        sent = sum(
            end.octets
            for each in self.connections
            for end in each.ends
            if end.of.address == self.addresses[0]
        )
        return 8 * sent / self.duration_s if self.duration_s > 0 else None

    @property
    def losses(self) -> int:
        """Lost segments of all."""
        return sum(each.losses for each in self.connections)

    @property
    def round_trip_s(self) -> float | None:
        """Least round trip of all, in s."""
        known = [each.round_trip_s for each in self.connections if each.round_trip_s is not None]
        return min(known, default=None)

    @property
    def limits(self) -> list[tuple[str, int]]:
        """What limited them, and how many each, the most frequent first."""
        titles = Counter(each.limited_by for each in self.connections)
        return titles.most_common()

    @property
    def sentence(self) -> str:
        """What they did together."""
        first, second = self.addresses
        rate = "" if self.goodput_bps is None else f", {rate_text(self.goodput_bps)} together"
        lost = f"; {self.losses} losses" if self.losses else ""
        limits = "; ".join(f"{title} ({count})" for title, count in self.limits)
        return (
            f"{first} to {second}: {len(self.connections)} connections, "
            f"{size_text(self.octets)} of payload in {time_text(self.duration_s)}{rate}{lost}. "
            f"Limited by: {limits}."
        )


def summaries(connections: Iterable["Connection"]) -> list[Path]:
    """Return the paths of two connections or more, the one with most payload first."""
    groups: dict[frozenset[str], list[Connection]] = {}
    for each in connections:
        if each.octets > 0 and not each.is_control:
            groups.setdefault(frozenset(end.of.address for end in each.ends), []).append(each)
    found = []
    for group in groups.values():
        if len(group) < 2:
            continue
        first, second = (end.of.address for end in group[0].ends)
        forth = sum(each.ends[0].octets for each in group if each.ends[0].of.address == first)
        forth += sum(each.ends[1].octets for each in group if each.ends[1].of.address == first)
        is_first = 2 * forth >= sum(each.octets for each in group)
        found.append(Path((first, second) if is_first else (second, first), tuple(group)))
    return sorted(found, key=lambda path: -path.octets)


def control_connections(connections: Sequence["Connection"]) -> set[int]:
    """Return the numbers of connections that only control others, as iperf3 has one.

    Both begin with iperf3's cookie, to the same port; the control connection begins first, and
    carries little.
    """
    groups: dict[tuple[str, str, int], list[Connection]] = {}
    for each in connections:
        first, second = (end.of for end in each.ends)
        if first.first_payload == _COOKIE_OCTETS:
            key = (first.address, second.address, second.port)
            groups.setdefault(key, []).append(each)
    found = set()
    for group in groups.values():
        for each in group:
            begin_s, end_s = each.begin_s, each.begin_s + each.duration_s
            has_closed = any(end.of.has_closed for end in each.ends)
            controlled = [
                other.octets
                for other in group
                if other.begin_s > begin_s and not (has_closed and other.begin_s > end_s)
            ]
            if controlled and each.octets < _CONTROL * max(controlled):
                found.add(each.number)
    return found


def shared_links(
    paths: Sequence[PathCounts], connections: Sequence["Connection"]
) -> dict[int, SharedLink]:
    """Return the links that connections fill together, by the numbers of these."""
    directions = {
        (path.addresses[at], path.addresses[1 - at]): path.directions[at]
        for path in paths
        for at in (0, 1)
    }
    groups: dict[tuple[str, str], list[Connection]] = {}
    for each in connections:
        if not each.is_control:
            ends = (each.sender.of.address, each.receiver.of.address)
            groups.setdefault(ends, []).append(each)
    found = {}
    for ends, group in groups.items():
        octets = sum(each.sender.octets for each in group)
        large = [each for each in group if each.sender.octets > _LARGE * octets]
        direction = directions.get(ends)
        if len(large) < 2 or direction is None:
            continue
        link = _shared_link(direction, large)
        if link is not None:
            found.update(dict.fromkeys((each.number for each in large), link))
    return found


def _shared_link(of: DirectionCounts, connections: Sequence["Connection"]) -> SharedLink | None:
    """Return the link that connections fill together; None if nothing shows that they do."""
    duration_s, count = _duration_s(connections), len(connections)
    if duration_s <= 0:
        return None
    goodput_bps = 8 * sum(each.sender.octets for each in connections) / duration_s
    spacing = of.spacing_ps
    p10, p50, p90 = spacing.p10, spacing.p50, spacing.p90
    if spacing.count >= _GAPS and p10 and p50 and p90:
        is_even = p10 >= (1 - _EVEN) * p50 and p90 <= (1 + _EVEN) * p50
        busy = of.packet_octets * p50 * 1e-12 / duration_s
        if is_even and busy >= FULL:
            return SharedLink(count, goodput_bps, 8e12 / p50, None, min(busy, 1.0))
    links = [each.link_bps for each in connections if each.link_bps is not None]
    if links and goodput_bps >= FULL * max(links):
        share = min(goodput_bps / max(links), 1.0)
        return SharedLink(count, goodput_bps, None, max(links), share)
    return None


def _duration_s(connections: Iterable["Connection"]) -> float:
    """Return the time in which at least one connection was under way, in s."""
    spans = sorted((each.begin_s, each.begin_s + each.duration_s) for each in connections)
    whole_s, until_s = 0.0, float("-inf")
    for begin_s, end_s in spans:
        whole_s += max(0.0, end_s - max(begin_s, until_s))
        until_s = max(until_s, end_s)
    return whole_s
