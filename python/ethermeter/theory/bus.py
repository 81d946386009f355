"""A bus of 10BASE-T1S whose nodes take turns: its cycles, and the longest access delays.

The longest cycle is no bound of the access delay: a node whose frame met a logical collision lets
its opportunity pass until `pending_timer` is over, and waits for a cycle from there on. `Bus` has
both, and the longest access delay by two definitions.

All times are whole picoseconds. The bounds hold while every node hears every beacon.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ethermeter.entities import Senders, lengths_of, medium_of, senders
from ethermeter.scenario import (
    ExponentialBackoff,
    Lengths,
    Medium,
    NoneBackoff,
    Plca,
    PoissonArrivals,
    SamplesLengths,
    Scenario,
    Stations,
)

PS_PER_S = 1e12
EARLY = (
    "stations send before the first cycles: until then they contend by CSMA/CD;"
    ' phases.settle = "1 ms" lets cycles begin first'
)
"""Warning of frames for which there is no bound."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that takes turns."""

    group: str
    ids: tuple[int, ...]
    """Its opportunities, in rising order."""
    shortest_bits: int
    longest_bits: int
    """Its frames, destination address to FCS."""
    burst_count: int
    """Frames that may follow the first of an opportunity."""
    burst_bits: int
    """How long it holds the line for the next frame of an opportunity."""
    frames_per_s: float
    """Rate of a Poisson source; NaN of others."""
    bits: tuple[int, ...]
    weights: tuple[float, ...]
    """Lengths of its frames, and their shares."""

    @property
    def mean_bits(self) -> float:
        """Mean length of a frame."""
        return float(np.dot(self.bits, self.weights))


@dataclass(frozen=True)
class Bus:
    """A bus as its nodes are configured; times in ps."""

    bit_ps: int
    plca: Plca
    node_count: int
    """Opportunities of a cycle, by the coordinator."""
    opportunity_ps: int
    """An opportunity that is not used."""
    farthest_ps: int
    """Longest propagation between two nodes."""
    nodes: tuple[Node, ...]
    """Nodes that use PLCA."""
    obstacles: tuple[str, ...]
    """Why there is no bound; empty if there is one."""

    @property
    def is_bounded(self) -> bool:
        """Whether access delays have a bound."""
        return not self.obstacles

    @property
    def cycle_arguments(self) -> dict[str, float]:
        """Arguments of `plca_2019`: the longest frame and burst of any node."""
        return {
            "nodes": self.node_count,
            "active": sum(len(node.ids) for node in self.nodes),
            "frame_octets": max(node.longest_bits for node in self.nodes) / 8,
            "burst_count": max(node.burst_count for node in self.nodes),
            "opportunity_bits": self.opportunity_ps / self.bit_ps,
        }

    @cached_property
    def _owners(self) -> list[Node | None]:
        """Owner of each opportunity of a cycle."""
        of = {id: node for node in self.nodes for id in node.ids}
        return [of.get(id) for id in range(self.node_count)]

    @property
    def _handover_ps(self) -> int:
        """How long the end of a signal takes at most until all nodes hear it."""
        return self.plca.transmit_ps + self.farthest_ps + self.plca.carrier_off_ps

    @property
    def beacon_ps(self) -> int:
        """A beacon, until all nodes have heard its end."""
        return self.plca.beacon_bits * self.bit_ps + self._handover_ps

    @property
    def empty_ps(self) -> int:
        """Cycle in which no node sends."""
        return self.beacon_ps + self.node_count * self.opportunity_ps

    @property
    def settled_ps(self) -> int:
        """Time from the begin of a trial after which all nodes take turns."""
        return 2 * self.empty_ps + self.beacon_ps

    @property
    def longest_ps(self) -> int:
        """Cycle in which every node sends all that it may, each frame after a held line."""
        return self.beacon_ps + sum(self.used_ps(owner) for owner in self._owners)

    def used_ps(self, node: Node | None) -> int:
        """Return the longest opportunity of a node; of nobody's ID, one that is not used."""
        if node is None:
            return self.opportunity_ps
        # A line is held in vain for at most 255 bits, which is less than a frame.
        return (1 + node.burst_count) * (self._gap_ps + self.frame_ps(node)) + self._handover_ps

    def frame_ps(self, node: Node) -> int:
        """Return the time of the longest frame of a node with its preamble and end delimiter."""
        return self._sent_ps(node.longest_bits)

    @property
    def _gap_ps(self) -> int:
        return self.plca.csma_cd.gap_bits * self.bit_ps

    def _sent_ps(self, frame_bits: int) -> int:
        """Return the time of a frame with its preamble and end delimiter."""
        around = self.plca.csma_cd.preamble_bits + self.plca.end_delimiter_bits
        return (around + frame_bits) * self.bit_ps

    def attempt_delay_ps(self, node: Node) -> int:
        """Return the longest time from the first attempt of the MAC to the start on the line.

        The node lets an opportunity pass just before its frame is pending, and then all others send
        all that they may until its next one, for which it holds the line for a gap.
        """
        passed = self._passing(node).longest_ps
        return passed + self.opportunity_ps + self._others_ps(node, used=True) + self._gap_ps

    def access_delay_ps(self, node: Node) -> int:
        """Return the longest time from the head of the queue to the start on the line.

        Before its first attempt the MAC defers to a frame of another node, and for a gap.
        """
        others = [each.longest_bits for each in self.nodes if each is not node]
        deferral = self._gap_ps
        if others:
            end_bits = self.plca.end_delimiter_bits
            deferral += self._sent_ps(max(others)) - end_bits * self.bit_ps + self._handover_ps
        return deferral + self.attempt_delay_ps(node)

    def idle_ps(self, node: Node) -> int:
        """Return for how long of an access no other node holds the line at most.

        An access runs from the head of the queue to the start on the line. The line is held for a
        gap before each frame, until all nodes have heard its end, and for the next one of a burst.
        """
        silent = self._passing(node).quiet_ps
        gap = self._gap_ps
        return gap + silent + self.opportunity_ps + self._others_ps(node, used=False) + gap

    def passing_ps(self, node: Node) -> int:
        """Return for how long a frame holds the line at most that makes an opportunity pass.

        All of it goes until the frame of the node is pending, but for the part of the gap in which
        the MAC of the node ignores carrier. 0 if no frame of another node can do that.
        """
        within = self._passing(node).by_frames_ps
        if not within:
            return 0
        others = [each for each in self.nodes if each is not node]
        ignored = self._gap_ps + self._late_ps
        return self._gap_ps + ignored + within + max(map(self.overhead_ps, others))

    def overhead_ps(self, node: Node) -> int:
        """Return for how long a node holds the line for a frame at most, beside frame and gap."""
        held = node.burst_bits * self.bit_ps if node.burst_count else 0
        return self.plca.end_delimiter_bits * self.bit_ps + self._handover_ps + held

    def frames_per_access(self, node: Node) -> int:
        """Return how many frames a node sends in an opportunity if so many wait.

        The next one of a burst comes a gap after the one before, before `burst_timer` is over.
        """
        late = self.plca.transmit_ps + self.plca.carrier_on_ps
        is_in_time = node.burst_bits * self.bit_ps > self._gap_ps + late
        return 1 + node.burst_count if is_in_time else 1

    def frames_of_others(self, node: Node) -> dict[str, int]:
        """Return how many frames other nodes send between two opportunities of one, by group."""
        found: dict[str, int] = {}
        for owners, _ in self._between(node):
            used = Counter(owner.group for owner in owners if owner is not None)
            found |= {group: max(found.get(group, 0), count) for group, count in used.items()}
        bursts = {each.group: each.burst_count for each in self.nodes}
        return {group: count * (1 + bursts[group]) for group, count in found.items()}

    def _between(self, node: Node) -> Iterator[tuple[list[Node | None], bool]]:
        """Yield who owns the opportunities between two of a node, and whether a beacon is there."""
        for index, begin in enumerate(node.ids):
            end = node.ids[(index + 1) % len(node.ids)]
            wraps = index + 1 == len(node.ids)
            ids = (
                [*range(begin + 1, self.node_count), *range(end)]
                if wraps
                else range(begin + 1, end)
            )
            yield [self._owners[id] for id in ids], wraps

    def _others_ps(self, node: Node, *, used: bool) -> int:
        """Return the longest time between two opportunities of a node.

        All others send all that they may in it, or nothing.
        """
        return max(
            sum(self.used_ps(owner if used else None) for owner in owners)
            + (self.beacon_ps if wraps else 0)
            for owners, wraps in self._between(node)
        )

    @property
    def _late_ps(self) -> int:
        """By how much less than at another one a frame may be heard at a node."""
        return 2 * self._handover_ps + self.plca.carrier_on_ps

    def _passing(self, node: Node) -> "_Passing":
        """Return how long after its first attempt a node may let an opportunity pass.

        1. Nobody sends: the delay line is full after `hold`, the MAC jams and the frame is pending
           after `pending_timer`. The next opportunity must come after `hold`, or it is used; a
           second one may pass before the frame is pending.
        2. A frame of another node comes: the frame is pending after preamble, jam and
           `pending_timer`. The opportunity must come after that frame, all of which goes in this
           time; so of one that was heard within the preamble, or in a line that is held after a
           frame of a burst.
        """
        bits = self.plca
        mac = bits.csma_cd
        hold, pending = bits.delay_line_bits, mac.jam_bits + bits.pending_bits
        others = [each for each in self.nodes if each is not node]
        shortest = min((self._sent_ps(each.shortest_bits) for each in others), default=0)
        silent = self.opportunity_ps + self._others_ps(node, used=False)
        alone = by_frames = quiet = 0
        if silent > hold * self.bit_ps:
            alone = quiet = (hold + pending) * self.bit_ps
            if len(node.ids) == 1:  # all of its opportunities are `silent` apart
                alone = quiet = min(alone, -(-pending * self.bit_ps // silent) * silent)
        if others:
            late = self._late_ps
            if shortest < pending * self.bit_ps + late:
                by_frames = (hold + pending) * self.bit_ps
                quiet = max(quiet, by_frames - shortest + late)
            early = (mac.preamble_bits + pending) * self.bit_ps
            has_bursts = any(each.burst_count for each in others)
            if shortest < early + late or has_bursts:
                by_frames = max(by_frames, early)
                quiet = max(quiet, early if has_bursts else early - shortest + late)
        return _Passing(max(alone, by_frames), by_frames, quiet)

    @property
    def least_opportunity_bits(self) -> int:
        """Smallest `to-tmr` that is safe by equation 148-1, with these PHYs and this line."""
        late = 2 * self.farthest_ps + self.plca.transmit_ps + self.plca.carrier_on_ps
        return late // self.bit_ps + 1


@dataclass(frozen=True, slots=True)
class _Passing:
    """Times after its first attempt in which a node may let an opportunity pass, at most.

    `by_frames_ps`: because of a frame of another node, 0 if that cannot be. `quiet_ps`: of the
    longest one, the time in which no other node sends, with the gap before it.
    """

    longest_ps: int
    by_frames_ps: int
    quiet_ps: int


@dataclass(frozen=True, slots=True)
class Member:
    """Stations of a bus that are alike, and what they send."""

    name: str
    stations: Stations
    shortest_bits: int
    longest_bits: int
    """Their frames, destination address to FCS."""
    frames_per_s: float = math.nan
    """Rate of a Poisson source; NaN of others."""
    bits: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    """Lengths of their frames, and their shares, where they are known."""


def bus_of(scenario: Scenario) -> Bus | None:
    """Return the bus onto which stations send; None if there is none."""
    members = [_member(group) for group in senders(scenario)]
    return bus_with(medium_of(scenario), members) if members else None


def early(scenario: Scenario, bus: Bus) -> str:
    """Return why values of the measured window may be above bounds; empty if they may not.

    A frame that a station sends before the first cycles may collide, and has longer backoffs than a
    turn leaves room for, until its attempts are over.
    """
    phases = scenario.phases
    if not bus.is_bounded or phases.begin_ps >= bus.settled_ps:
        return ""
    stations = [group.stations for group in senders(scenario)]
    if any(each.after_attempt_limit != "discard" for each in stations):
        return EARLY
    over_ps = bus.settled_ps + max(_attempts_ps(bus, each) for each in stations)
    return EARLY if phases.measure_from_ps < over_ps else ""


def _attempts_ps(bus: Bus, stations: Stations) -> int:
    """Return how long all attempts of a frame may take, with a whole backoff between them."""
    backoff = stations.backoff
    limit = backoff.limit if isinstance(backoff, ExponentialBackoff) else 0
    slots = sum((1 << min(number, limit)) - 1 for number in range(1, stations.attempt_limit))
    access_ps = max(map(bus.access_delay_ps, bus.nodes))
    return slots * bus.plca.csma_cd.slot_bits * bus.bit_ps + stations.attempt_limit * access_ps


def bus_with(medium: Medium, members: Sequence[Member]) -> Bus | None:
    """Return the bus that a medium with these stations is; None of another medium."""
    if (plca := medium.mac.plca) is None:
        return None
    used = {point for member in members for point in member.stations.points}
    farthest = max(medium.delay_ps[a][b] for a in used for b in used)
    nodes = tuple([node for member in members for node in _nodes_of(member)])
    heads = [member for member in members if _is_coordinator(member)] or list(members)
    settings = next((member.stations.plca for member in heads if member.stations.plca), None)
    bus = Bus(
        bit_ps=medium.bit_ps,
        plca=plca,
        node_count=settings.node_count if settings is not None else 1,
        opportunity_ps=(settings.opportunity_bits if settings is not None else 0) * medium.bit_ps,
        farthest_ps=farthest,
        nodes=nodes,
        obstacles=(),
    )
    return replace(bus, obstacles=tuple(_obstacles(bus, members)))


def _is_coordinator(member: Member) -> bool:
    plca = member.stations.plca
    return plca is not None and any(0 in ids for ids in plca.ids)


def _member(group: Senders) -> Member:
    shortest, longest = _range_of(group.flow.frames)
    bits, weights = lengths_of(group.flow.frames)
    arrivals = group.flow.arrivals
    return Member(
        name=group.name,
        stations=group.stations,
        shortest_bits=shortest,
        longest_bits=longest,
        frames_per_s=(
            PS_PER_S / arrivals.mean_ps if isinstance(arrivals, PoissonArrivals) else math.nan
        ),
        bits=tuple(bits),
        weights=tuple([weight / sum(weights) for weight in weights]),
    )


def _nodes_of(member: Member) -> list[Node]:
    plca = member.stations.plca
    if plca is None:
        return []
    return [
        Node(
            group=member.name,
            ids=tuple(sorted(set(ids))),
            shortest_bits=member.shortest_bits,
            longest_bits=member.longest_bits,
            burst_count=plca.burst_count,
            burst_bits=plca.burst_bits,
            frames_per_s=member.frames_per_s,
            bits=member.bits,
            weights=member.weights,
        )
        for ids in plca.ids
    ]


def _range_of(frames: Lengths) -> tuple[int, int]:
    bits, _ = lengths_of(frames)
    longest = frames.max_bits if isinstance(frames, SamplesLengths) else max(bits)
    return min(bits), longest


def _obstacles(bus: Bus, groups: Sequence[Member]) -> list[str]:
    """Return why the access delays of a bus have no bound."""
    found = []
    contending = [group.name for group in groups if group.stations.plca is None]
    if contending:
        found.append(f"{', '.join(contending)} contend by CSMA/CD, which has no bound")
    owners = Counter(id for node in bus.nodes for id in node.ids)
    if not owners:
        return found or ["no node uses PLCA"]
    if not owners[0]:
        found.append("no node is the coordinator: none has node-id 0")
    twice = [str(id) for id, count in sorted(owners.items()) if count > 1]
    if twice:
        found.append(f"node-id {', '.join(twice)} belongs to several nodes")
    if (highest := max(owners)) >= bus.node_count:
        found.append(
            f"node-cnt is {bus.node_count}: the opportunities of node-id {bus.node_count} to"
            f" {highest} never come"
        )
    plcas = [group.stations.plca for group in groups if group.stations.plca is not None]
    timers = sorted({plca.opportunity_bits for plca in plcas})
    if len(timers) > 1:
        found.append(f"to-tmr differs between nodes: {', '.join(map(str, timers))} bit times")
    if timers[0] < bus.least_opportunity_bits:
        found.append(
            f"to-tmr is {timers[0]} bit times: equation 148-1 asks for at least"
            f" {bus.least_opportunity_bits} on this line"
        )
    if bus.plca.beacon_loss:
        found.append("beacons are lost")
    if any(group.stations.down for group in groups) or any(plca.off for plca in plcas):
        found.append("nodes are down, or PLCA is off, at times")
    return found + _mac_obstacles(bus, groups)


def _mac_obstacles(bus: Bus, groups: Sequence[Member]) -> list[str]:
    found = []
    if any(group.stations.priority_wait_ps for group in groups):
        found.append("a priority wait may be longer than the line is held")
    backoffs = [group.stations.backoff for group in groups]
    if any(not isinstance(backoff, ExponentialBackoff | NoneBackoff) for backoff in backoffs):
        found.append("the backoff may be longer than pending_timer")
    if bus.plca.gap_after_backoff:
        found.append("MACs owe a gap after a backoff, which the standard does not know")
    if bus.plca.csma_cd.slot_bits > bus.plca.pending_bits:
        found.append("a slot is longer than pending_timer, so that the backoff may be, too")
    return found
