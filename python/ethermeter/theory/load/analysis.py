"""Analysis: the rates of flows along their paths, and what each resource is offered."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from ethermeter.entities import mean_ps
from ethermeter.nodes import room_of, wires_of
from ethermeter.scenario import (
    CoderArrivals,
    Host,
    Hub,
    Kind,
    Node,
    Scenario,
    Switch,
)
from ethermeter.theory.bounds.network import Emission, Network
from ethermeter.theory.bounds.schedulers import ClassOfServer
from ethermeter.theory.bounds.sources import Arrivals, Message
from ethermeter.theory.load.growth import Growth, settling_time
from ethermeter.theory.load.results import Loads, Overload, ResourceLoad
from ethermeter.theory.load.shares import ROUNDING, goes_before, shares
from ethermeter.theory.load.sources import (
    bucket_of,
    has_rate,
    is_open,
    one_message,
    source_of,
)

_MOST_ROUNDS, _SETTLED = 100, 1e-12
"""Rounds in which sources settle that take what others leave, and the change that ends them."""
_LEVELS = (ClassOfServer(), ClassOfServer())


@lru_cache(maxsize=64)
def loads_of(scenario: Scenario) -> Loads:
    """Return the loads of a network; of a segment's stations, which have no receivers, none."""
    if not any(flow.to for flow in scenario.flows):
        flows = len(scenario.flows)
        return Loads(((),) * flows, (0.0,) * flows, (), is_open=False)
    return _Analysis(scenario).loads()


def network_of(scenario: Scenario) -> Network:
    """Return the servers of a scenario whose switches have learnt all addresses."""
    return Network(replace(scenario, nodes=tuple(map(_informed, scenario.nodes))))


def _informed(node: Node) -> Node:
    switch = node.kind.switch
    if not isinstance(switch, Switch) or switch.learning == "known":
        return node
    return replace(node, kind=Kind(switch=replace(switch, learning="known")))


def in_order(after: Mapping[int, set[int]]) -> Iterator[int]:
    """Yield resources such that each comes behind those before it, if there is no cycle.

    `after`: those behind each of them.
    """
    missing = Counter(each for behind in after.values() for each in behind)
    ready = [each for each in after if not missing[each]]
    left = dict.fromkeys(after)
    while left:
        resource = ready.pop() if ready else next(iter(left))
        if resource not in left:
            continue
        del left[resource]
        yield resource
        for behind in after[resource]:
            missing[behind] -= 1
            if missing[behind] == 0:
                ready.append(behind)


@dataclass(slots=True)
class _Visit:
    """Messages of a flow at a resource: `work` picoseconds each.

    `level`: the traffic class at a wire; at a stage 0 of what a host receives and a device
    forwards, and 1 of what a host sends, which yields to that. `rate`: messages in a picosecond.
    """

    flow: int
    server: int
    resource: int
    level: int
    parent: int
    work: float
    square: float
    """Mean square of the work of a message."""
    is_own: bool
    """Whether the resource belongs to the sending host."""
    rate: float = 0.0


class _Analysis:
    """The loads of a scenario in the making."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._network = network_of(scenario)
        self._media = wires_of(scenario).tolist()
        self._sources = {
            number: source_of(flow) for number, flow in enumerate(scenario.flows) if is_open(flow)
        }
        self._visits: list[_Visit] = []
        self._paths: dict[int, list[int]] = {}
        """Of each flow the visits on the paths to its receivers, and those at its host."""
        self._own: dict[int, list[_Visit]] = {}
        for number in self._sources:
            self._emit(number)
        self._by_resource: dict[int, list[int]] = {}
        for number, visit in enumerate(self._visits):
            self._by_resource.setdefault(visit.resource, []).append(number)
        self._order = list(in_order(self._behind()))
        rank = {resource: at for at, resource in enumerate(self._order)}
        self._is_cyclic = any(
            visit.parent >= 0 and rank[self._visits[visit.parent].resource] > rank[visit.resource]
            for visit in self._visits
        )
        self._passed: dict[tuple[int, int], float] = {}
        """Shares that resources carry of their classes, as last found."""
        self._limit()
        self._share()

    def _emit(self, number: int) -> None:
        flow, network, source = self._scenario.flows[number], self._network, self._sources[number]
        host = network.number[flow.from_]
        messages = tuple(message for message, _ in source.messages)
        sent = network.emit(
            Emission(
                number,
                host,
                tuple(network.number[name] for name in flow.to),
                flow.address != "unicast",
                flow.priority or 0,
                Arrivals(messages, (1.0,) * len(messages), ()),
            )
        )
        rows = network.rows
        for at in range(sent.first, len(rows.flow)):
            server = rows.server[at]
            is_own, is_stage = at <= sent.wire, server >= len(network.owner)
            works = [(self._work_ps(at, message), share) for message, share in source.messages]
            self._visits.append(
                _Visit(
                    number,
                    server,
                    self._resource(server),
                    int(is_own) if is_stage else rows.level[at],
                    rows.parent[at],
                    sum(share * work for work, share in works),
                    sum(share * work**2 for work, share in works),
                    is_own,
                )
            )
        self._own[number] = self._visits[sent.first : sent.wire + 1]
        on_paths: dict[int, None] = {}
        for last in sent.last.values():
            at = last
            while at >= 0 and at not in on_paths:
                on_paths[at] = None
                at = rows.parent[at]
        self._paths[number] = sorted(on_paths)

    def _resource(self, server: int) -> int:
        """Return the number of a server, or of the first port of its medium."""
        return self._media[server] if server < len(self._network.owner) else server

    def _work_ps(self, visit: int, message: Message) -> float:
        """Return the time that the frames of a message take of the resource of a visit."""
        network = self._network
        server = network.rows.server[visit]
        if server >= len(network.owner):
            timing = network.timings[network.rows.timing[visit]]
            return sum(timing.work_ps(octets) + timing.random_ps for octets in message)
        link = network.links[server // 2]
        around = link.preamble_octets + link.gap_octets
        return link.ps_per_octet * sum(octets + around for octets in message)

    def _behind(self) -> dict[int, set[int]]:
        """Return the resources that follow each one on a path."""
        after: dict[int, set[int]] = {resource: set() for resource in self._by_resource}
        for visit in self._visits:
            if visit.parent >= 0:
                before = self._visits[visit.parent].resource
                if before != visit.resource:
                    after[before].add(visit.resource)
        return after

    # Sources at their hosts

    def _works(self, flow: int) -> dict[int, float]:
        """Return the work of a message at each resource of its host."""
        found: dict[int, float] = {}
        for visit in self._own[flow]:
            found[visit.resource] = found.get(visit.resource, 0.0) + visit.work
        return found

    def _limit(self) -> None:
        """Let sources offer no more than their shapers and hosts let pass."""
        for number, source in self._sources.items():
            flow, own = self._scenario.flows[number], self._own[number]
            if (bucket := bucket_of(flow)) is not None:
                wire = self._network.links[own[-1].server // 2]
                volume = own[-1].work / wire.ps_per_octet
                source.thin("shaper", bucket.rate_bps / (8e12 * volume), flow)
            if (service_ps := mean_ps(flow.service)) > 0:
                # The host takes the next message when the first stage has let this one pass.
                source.thin("source", 1 / (own[0].work + service_ps), flow)
            if isinstance(flow.arrivals, CoderArrivals):
                source.thin("coder", 1 / max(self._works(number).values()), flow)

    def _share(self) -> None:
        """Give sources that always have a next message what others leave of their hosts.

        What a host receives may depend on what others send that also take what is left.
        """
        by_host: dict[str, list[int]] = {}
        for number in self._sources:
            by_host.setdefault(self._scenario.flows[number].from_, []).append(number)
        shared = [
            flows
            for flows in by_host.values()
            if any(self._sources[number].is_greedy for number in flows)
        ]
        for flows in shared:
            self._share_host(flows, {})
        for _ in range(_MOST_ROUNDS if shared else 0):
            self._spread()
            received: dict[int, float] = {}
            for visit in self._visits:
                if not visit.is_own:
                    work = visit.rate * visit.work
                    received[visit.resource] = received.get(visit.resource, 0.0) + work
            if max(self._share_host(flows, received) for flows in shared) < _SETTLED:
                break

    def _share_host(self, flows: Sequence[int], received: Mapping[int, float]) -> float:
        """Share a host among its flows; return by which share of its rate a source has changed.

        `received`: work of what comes in at each resource, which goes first: of each flow of the
        host only a message or a ring waits there. Flows take turns, so that those that always have
        a next message get their share of turns at least.
        """
        greedy = [number for number in flows if self._sources[number].is_greedy]
        taken: dict[int, float] = {}
        for number in flows:
            if number not in greedy:
                for resource, work in self._works(number).items():
                    rate = self._sources[number].rate
                    taken[resource] = taken.get(resource, 0.0) + rate * work
        works = {number: self._works(number) for number in greedy}
        left = {}
        for resource in {resource for each in works.values() for resource in each}:
            room = max(1 - received.get(resource, 0.0), 0.0)
            least = room * len(greedy) / len(flows)
            left[resource] = max(room - taken.get(resource, 0.0), least)
        waiting, change = list(greedy), 0.0
        while waiting:
            # Messages a time of each, so that the fullest resource is full.
            equal = min(
                left[resource] / total
                for resource in left
                if (total := sum(works[number].get(resource, 0.0) for number in waiting)) > 0
            )
            content = [number for number in waiting if self._sources[number].most <= equal]
            for number in content or waiting:
                source = self._sources[number]
                change = max(change, source.take(min(source.most, equal)))
                for resource, work in works[number].items():
                    left[resource] -= min(source.most, equal) * work
            waiting = [number for number in waiting if content and number not in content]
        return change

    # Loads

    def loads(self) -> Loads:
        """Return the loads of all resources, and the overloads of all flows."""
        self._offer()
        resources = [self._load(resource) for resource in self._by_resource]
        found, settling = self._spread(), self._settling()
        overloads, settling_ps = [], []
        for number in range(len(self._scenario.flows)):
            source = self._sources.get(number)
            of_flow = {} if source is None else {each.resource: each for each in source.overloads}
            for visit in self._paths.get(number, ()):
                if (overload := found.get(visit)) is not None:
                    of_flow.setdefault(overload.resource, overload)
            overloads.append(tuple(of_flow.values()))
            path = self._paths.get(number, ())
            settling_ps.append(max((settling.get(visit, 0.0) for visit in path), default=0.0))
        resources.sort(key=lambda each: -each.load)
        return Loads(
            tuple(overloads),
            tuple(settling_ps),
            tuple(resources),
            is_open=all(has_rate(flow) for flow in self._scenario.flows),
        )

    def _classes(self, resource: int) -> tuple[ClassOfServer, ...]:
        """Return the traffic classes of a resource, or the levels of a stage."""
        is_stage = resource >= len(self._network.owner)
        return _LEVELS if is_stage else self._network.servers[resource].classes

    def _offered(self, resource: int) -> list[float]:
        """Return what each class of a resource is offered."""
        loads = [0.0] * len(self._classes(resource))
        for number in self._by_resource[resource]:
            visit = self._visits[number]
            loads[visit.level] += visit.rate * visit.work
        return loads

    def _load(self, resource: int) -> ResourceLoad:
        """Return the load of a resource: of all classes, or of one beside its idle slope."""
        offered, classes = self._offered(resource), self._classes(resource)
        slopes = [
            load / one.idle_slope
            for load, one in zip(offered, classes, strict=True)
            if one.idle_slope
        ]
        every: dict[int, float] = {}
        shaped: dict[int, dict[int, float]] = {}
        for number in self._by_resource[resource]:
            visit = self._visits[number]
            work, slope = visit.rate * visit.work, classes[visit.level].idle_slope
            every[visit.flow] = every.get(visit.flow, 0.0) + work
            if slope:
                of_class = shaped.setdefault(visit.level, {})
                of_class[visit.flow] = of_class.get(visit.flow, 0.0) + work / slope
        is_wire = resource < len(self._network.owner)
        link = self._network.links[resource // 2] if is_wire else None
        return ResourceLoad(
            self._name(resource),
            max(sum(offered), *slopes, 0.0),
            math.nan if link is None else 8e12 / link.ps_per_octet,
            link is not None and link.half_duplex,
            (every, *shaped.values()),
        )

    def _offer(self) -> None:
        """Let every visit have the rate of its source, as if all before it carried everything."""
        for visit in self._visits:
            visit.rate = self._sources[visit.flow].rate

    def _spread(self) -> dict[int, Overload]:
        """Find the rate of every visit, and return the overload of each that has one.

        What a resource does not carry is missing behind it. Where paths depend on each other in a
        cycle, rates begin as offered, and are found again until they stay.
        """
        self._offer()
        self._passed = {}
        for _ in range(_MOST_ROUNDS):
            found, change = self._pass()
            if not self._is_cyclic or change < _SETTLED:
                break
        return found

    def _pass(self) -> tuple[dict[int, Overload], float]:
        """Return the overload of each visit that has one, and the largest change of a rate."""
        passed: dict[tuple[int, int], float] = {}
        found: dict[int, Overload] = {}
        change = 0.0
        for resource in self._order:
            visits = [self._visits[number] for number in self._by_resource[resource]]
            for visit in visits:
                rate = self._sources[visit.flow].rate
                if visit.parent >= 0:
                    before = self._visits[visit.parent]
                    share = self._passed.get((before.resource, before.level), 1.0)
                    rate = before.rate * passed.get((before.resource, before.level), share)
                if rate != visit.rate:
                    change = max(change, abs(rate - visit.rate) / max(rate, visit.rate))
                visit.rate = rate
            carried, loads = shares(self._offered(resource), self._classes(resource))
            for level, share in enumerate(carried):
                passed[resource, level] = share
                if share < 1:
                    numbers = self._by_resource[resource]
                    of_level = [
                        at
                        for at in numbers
                        if self._visits[at].level == level and self._visits[at].rate > 0
                    ]
                    found |= self._overloads(of_level, share, loads[level])
        self._passed = passed
        return found, change

    def _overloads(self, visits: Sequence[int], share: float, load: float) -> dict[int, Overload]:
        """Return the overload of each visit of a class of which a share is carried."""
        none = Growth(0.0, 0.0)
        growth: dict[int, tuple[Growth, Growth]] = {}
        for number in visits:
            visit = self._visits[number]
            source = self._sources[visit.flow]
            frames, octets = growth.get(visit.server, (none, none))
            growth[visit.server] = (
                frames + source.growth(len, visit.rate, share),
                octets + source.growth(sum, visit.rate, share),
            )
        found = {}
        for number in visits:
            visit = self._visits[number]
            source = self._sources[visit.flow]
            if visit.is_own:
                # Messages wait at the source; one that always has a next message has no queue.
                if not source.waits:
                    continue
                room = self._scenario.flows[visit.flow].queue_frames
                fill_ps = source.growth(one_message, visit.rate, share).fill_ps(room)
            else:
                fill_ps = self._fill_ps(visit, *growth[visit.server])
            name, node = self._name(visit.resource), self._network.nodes[self._node(visit)].name
            found[number] = Overload(name, node, load, 1 - share, fill_ps)
        return found

    # Balance

    def _settling(self) -> dict[int, float]:
        """Return the time in which the queue of each visit without overload comes into balance."""
        found: dict[int, float] = {}
        for resource, numbers in self._by_resource.items():
            classes = self._classes(resource)
            carried, loads = shares(self._offered(resource), classes)
            for level, one in enumerate(classes):
                before = [
                    visit
                    for visit in map(self._visits.__getitem__, numbers)
                    if visit.level == level or goes_before(classes, visit.level, level)
                ]
                if carried[level] < 1 or self._is_fed_evenly(before):
                    continue
                slack = max(1 - loads[level], 0.0) * (one.idle_slope or 1.0)
                variance = sum(map(self._variance, before))
                for number in numbers:
                    visit = self._visits[number]
                    if visit.level == level and self._may_wait(visit):
                        found[number] = settling_time(self._room_ps(visit), slack, variance)
        return found

    def _may_wait(self, visit: _Visit) -> bool:
        """Whether messages of a visit have a queue: not those that always have a next one."""
        return not visit.is_own or self._sources[visit.flow].waits

    def _is_fed_evenly(self, visits: Sequence[_Visit]) -> bool:
        """Whether all of these come from one resource, none faster than it is served here."""
        parents = [self._visits[visit.parent] for visit in visits if visit.parent >= 0]
        return (
            len(parents) == len(visits)
            and len({parent.resource for parent in parents}) == 1
            and all(
                visit.work <= parent.work * (1 + ROUNDING)
                for visit, parent in zip(visits, parents, strict=True)
            )
        )

    def _variance(self, visit: _Visit) -> float:
        """Return the variance of the work that comes in a picosecond.

        Sources that take what is left, and what an overload lets pass, come evenly.
        """
        source = self._sources[visit.flow]
        parent = self._visits[visit.parent] if visit.parent >= 0 else None
        is_full = parent is not None and self._passed.get((parent.resource, parent.level), 1.0) < 1
        if not source.waits or source.overloads or is_full:
            return 0.0
        return visit.rate * (source.scv * visit.work**2 + visit.square - visit.work**2)

    # Rooms

    def _node(self, visit: _Visit) -> int:
        """Return the node of a stage, or the one that sends on a wire."""
        network = self._network
        if visit.server < len(network.owner):
            return network.owner[visit.server]
        return network.stage_nodes[visit.server]

    def _room(self, visit: _Visit) -> tuple[int | None, int | None]:
        """Return the room before a server that is not of the sender, in frames and octets."""
        network, server = self._network, visit.server
        kind = network.kinds[self._node(visit)]
        frames, octets = network.stage_rooms.get(server), None
        if server < len(network.owner):
            frames, octets = room_of(kind, visit.level)
        buffer = kind.buffer if isinstance(kind, Host | Switch) else None
        if buffer is not None and (buffer.pause is None or not self._waits_endlessly(visit.flow)):
            octets = buffer.octets if octets is None else min(octets, buffer.octets)
        return frames, octets

    def _fill_ps(self, visit: _Visit, frames: Growth, octets: Growth) -> float:
        """Return the time in which the room before a server is full, by what it grows."""
        rooms = zip((frames, octets), self._room(visit), strict=True)
        return min(grows.fill_ps(room) for grows, room in rooms)

    def _room_ps(self, visit: _Visit) -> float:
        """Return the work for which there is room; infinite without a limit."""
        source = self._sources[visit.flow]
        if visit.is_own:
            messages = self._scenario.flows[visit.flow].queue_frames
            return math.inf if messages is None else messages * visit.work
        means = (source.mean(len), source.mean(sum))
        return min(
            math.inf if room is None else room * visit.work / mean
            for room, mean in zip(self._room(visit), means, strict=True)
        )

    def _waits_endlessly(self, flow: int) -> bool:
        """Whether messages that are held back by PAUSE frames wait without limit."""
        return self._sources[flow].waits and self._scenario.flows[flow].queue_frames is None

    def _name(self, resource: int) -> str:
        """Return the name of a resource."""
        network = self._network
        server = network.servers[resource]
        if resource >= len(network.owner) or not network.links[resource // 2].half_duplex:
            return server.name
        ends = [network.owner[port] for port in (resource, resource ^ 1)]
        for node in ends:
            if isinstance(network.kinds[node], Hub):
                return f"medium of {network.nodes[node].name}"
        first, second = (network.nodes[node].name for node in ends)
        return f"half-duplex link {first} – {second}"
