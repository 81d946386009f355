"""A scenario as servers and visits: the stages of its nodes, its wires, and the paths of flows.

Work is picoseconds of a resource. Multicast, broadcast, and what switches that learn may flood go
along every branch.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ethermeter.arguments import Array
from ethermeter.nodes import kind_of, links_in, nodes_in
from ethermeter.scenario import Class, Host, Hub, Link, Node, Router, Scenario, Stage, Switch
from ethermeter.theory.bounds.schedulers import ClassOfServer
from ethermeter.theory.bounds.sources import Arrivals, Message
from ethermeter.theory.bounds.stages import Access, Timing
from ethermeter.theory.bounds.tfa import Indices, Server, Visits

_HALF_DUPLEX = "is half-duplex: CSMA/CD has no bound"
_SHARED = Access(fault="is at a shared segment, of which there is no model here")
_FLOODED = "makes the copies of a flooded frame one after another, which has no bound"
_RANDOM = "has a random service time, which has no bound here"
_PAUSED = "may be silenced by PAUSE frames, which have no bound"


@dataclass(frozen=True, slots=True)
class Emission:
    """What a host sends: the messages of a flow, or the responses of one of its receivers.

    `arrivals`: their messages and buckets. `after`: the visit behind which they are sent, or -1.
    `others`: hosts that take its frames in beside its receivers.
    `is_single`, `is_one_at_host`: whether there is at most one message of them at a time, in the
    network, or in the first stage of their host. `is_alternate`: whether each comes to this stage
    when the one before has left it, and waits at its source until then.
    """

    flow: int
    host: int
    to: tuple[int, ...]
    is_group: bool
    priority: int
    arrivals: Arrivals
    after: int = -1
    is_single: bool = False
    is_one_at_host: bool = False
    is_alternate: bool = False
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """Where an emission goes: its first visit, that of its host's wire, and the last by receiver.

    The time from the last visit to the next one is that until the message is complete.
    """

    first: int
    wire: int
    last: dict[int, int]


_UNLIMITED = (np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class _Cost:
    """What frames of some messages cost at a stage, behind another one.

    `work`, `line`: of each frame, by length, how long it keeps the resource, and how long others
    that share the line. `unit`: most work of a unit of the source's buckets. `figures`: of a visit.
    `frames`, `octets`, `span`: of a message at most, `span` its time on the line. `is_counted`:
    whether the source's buckets count messages.
    """

    work: Array
    line: Array
    unit: float
    figures: tuple[float, ...]
    frames: int
    octets: int
    span: float
    is_counted: bool


@dataclass(slots=True)
class _Rows:
    """The visits as they are found."""

    flow: list[int] = field(default_factory=list)
    emission: list[int] = field(default_factory=list)
    server: list[int] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    feeder: list[int] = field(default_factory=list)
    rates: list[tuple[float, float]] = field(default_factory=list)
    bursts: list[tuple[float, float]] = field(default_factory=list)
    numbers: list[tuple[float, ...]] = field(default_factory=list)
    is_single: list[bool] = field(default_factory=list)
    is_alternate: list[bool] = field(default_factory=list)
    cost: list[_Cost] = field(default_factory=list)
    timing: list[int] = field(default_factory=list)


class _Tree:
    """Paths of a forest: each node has a number, and what is behind it the numbers that follow.

    `neighbours`: of each node its peers, with the port towards each.
    """

    def __init__(self, neighbours: Sequence[Sequence[tuple[int, int]]]) -> None:
        count = len(neighbours)
        self._first, self._last = [-1] * count, [-1] * count
        self._root, self._up = [-1] * count, [-1] * count
        self._children: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
        numbers = 0
        for root in range(count):
            if self._first[root] >= 0:
                continue
            waiting = [(root, -1)]
            order = []
            while waiting:
                node, before = waiting.pop()
                self._first[node] = self._last[node] = numbers
                self._root[node] = root
                numbers += 1
                order.append((node, before))
                for peer, port in neighbours[node]:
                    if peer == before:
                        self._up[node] = port
                    else:
                        waiting.append((peer, node))
            for node, before in reversed(order):
                if before >= 0:
                    self._last[before] = max(self._last[before], self._last[node])
            for node, before in order:
                ports = [(peer, port) for peer, port in neighbours[node] if peer != before]
                ports.sort(key=lambda pair: self._first[pair[0]])
                self._children[node] = (
                    [self._first[peer] for peer, _ in ports],
                    [port for _, port in ports],
                )

    def toward(self, node: int, to: int) -> int:
        """Return the port of a node on the path to another, or -1."""
        number = self._first[to]
        if node == to or self._root[node] != self._root[to]:
            return -1
        if not self._first[node] < number <= self._last[node]:
            return self._up[node]
        firsts, ports = self._children[node]
        return ports[bisect_right(firsts, number) - 1]


class Network:
    """Nodes, ports and servers of a scenario, and the visits of what is sent in it.

    Ports 2l and 2l + 1 are the ends of link l; server p is the wire out of port p.
    """

    def __init__(self, scenario: Scenario, accesses: Mapping[int, Access] | None = None) -> None:
        self.scenario = scenario
        self._accesses = accesses or {}
        self.nodes: tuple[Node, ...] = nodes_in(scenario)
        self.kinds = [kind_of(node)[1] for node in self.nodes]
        self.number = {node.name: number for number, node in enumerate(self.nodes)}
        self.links: tuple[Link, ...] = links_in(scenario)
        self.owner = [self.number[end.node] for link in self.links for end in link.ends]
        self.modules = [end.module for link in self.links for end in link.ends]
        self.ports: list[list[int]] = [[] for _ in self.nodes]
        for port, node in enumerate(self.owner):
            self.ports[node].append(port)
        self.timings: list[Timing] = []
        self.servers: list[Server] = []
        self.stage_nodes: dict[int, int] = {}
        """Of each server of stages its node, and its room in frames if that is limited."""
        self.stage_rooms: dict[int, int] = {}
        self._shared: dict[tuple[int, str], int] = {}
        self._tree: _Tree | None = None
        self._costs: dict[tuple[int, int, int], _Cost] = {}
        self._figures: dict[tuple[int, int, int, int], tuple[float, ...]] = {}
        self._sizes: dict[tuple[tuple[Message, ...], tuple[float, ...]], int] = {}
        """Numbers of the messages and measures of what is sent."""
        self.rows = _Rows()
        self._emissions = 0
        self._size = -1
        """Number of the messages of the present emission."""
        self._wires()
        self._stages()

    def taking(self, cast: str, group: tuple[int, ...]) -> tuple[int, ...]:
        """Return the hosts that take in frames of a cast, beside its receivers."""
        if cast == "broadcast":
            return tuple(node for node, kind in enumerate(self.kinds) if isinstance(kind, Host))
        return group if cast == "multicast" else ()

    def host(self, node: int) -> Host:
        """Return the settings of a node that is a host."""
        kind = self.kinds[node]
        assert isinstance(kind, Host)
        return kind

    # Servers

    def _wires(self) -> None:
        for port, node in enumerate(self.owner):
            link, peer = self.links[port // 2], self.kinds[self.owner[port ^ 1]]
            overlap = getattr(peer, "overlap_octets", None)
            title = f"{self.nodes[node].name} → {self.nodes[self.owner[port ^ 1]].name}"
            line = self._line_of(port)
            if port >= 2 * len(self.scenario.links):
                access = self._accesses.get(port, _SHARED)
                self.timings.append(Timing.of_turns(link, port, access))
                server = Server(f"port {title}", line=line, turn=access.turn, fault=access.fault)
                self.servers.append(server)
                continue
            self.timings.append(Timing.of_wire(link, port, overlap))
            self.servers.append(
                Server(
                    f"wire {title}",
                    self._classes(self.kinds[node], link),
                    line=line,
                    fault=self._fault(port, link),
                )
            )

    def _classes(self, kind: object, link: Link) -> tuple[ClassOfServer, ...]:
        """Return the classes of a port, idle slopes and quanta as work."""
        classes = self._classes_of(kind)
        if not classes or link.half_duplex:
            return (ClassOfServer(),)
        rate_bps = 8e12 / link.ps_per_octet
        return tuple(
            ClassOfServer(
                None if one.idle_slope_bps is None else one.idle_slope_bps / rate_bps,
                None if one.quantum_octets is None else one.quantum_octets * link.ps_per_octet,
            )
            for one in classes
        )

    @staticmethod
    def _classes_of(kind: object) -> tuple[Class, ...]:
        return kind.classes if isinstance(kind, Host | Switch | Router) else ()

    def _line_of(self, port: int) -> int | None:
        """Return the number of the line that a port shares with others; None of one of its own."""
        hubs = [end for end in (port, port ^ 1) if isinstance(self.kinds[self.owner[end]], Hub)]
        if not hubs:
            link = port // 2
            return len(self.nodes) + link if self.links[link].half_duplex else None
        found, waiting = {self.owner[hubs[0]]}, [self.owner[hubs[0]]]
        while waiting:
            for end in self.ports[waiting.pop()]:
                peer = self.owner[end ^ 1]
                if isinstance(self.kinds[peer], Hub) and peer not in found:
                    found.add(peer)
                    waiting.append(peer)
        return min(found)

    def _fault(self, port: int, link: Link) -> str | None:
        if link.half_duplex:
            return _HALF_DUPLEX
        buffers = (getattr(self.kinds[self.owner[end]], "buffer", None) for end in (port, port ^ 1))
        return _PAUSED if any(one is not None and one.pause for one in buffers) else None

    def _stage(self, node: int, stage: Stage) -> int:
        """Return the number of the times of a stage of a node."""
        key = (node, stage.resource) if stage.resource else None
        resource = self._shared.get(key) if key else None
        if resource is None:
            resource = len(self.servers)
            name = stage.resource or stage.name
            self.servers.append(Server(f"stage {name!r} of {self.nodes[node].name}"))
            if key:
                self._shared[key] = resource
        self.stage_nodes[resource] = node
        if stage.queue_frames is not None:
            room = self.stage_rooms.get(resource, stage.queue_frames)
            self.stage_rooms[resource] = min(room, stage.queue_frames)
        timing = Timing.of_stage(stage, resource)
        server = self.servers[resource]
        fault = _RANDOM if stage.random is not None else server.fault
        batch = max(server.batch, timing.batch_ps)
        self.servers[resource] = replace(server, batch=batch, fault=fault)
        self.timings.append(timing)
        return len(self.timings) - 1

    def _stages(self) -> None:
        self.send: dict[int, list[int]] = {}
        self.receive: dict[int, list[int]] = {}
        self.ingress: dict[int, list[int]] = {}
        self._fabric: dict[int, Callable[[int, int], list[int]]] = {}
        self._flood: dict[int, list[int]] = {}
        for node, kind in enumerate(self.kinds):
            if isinstance(kind, Host):
                self.send[node] = [self._stage(node, stage) for stage in kind.send]
                self.receive[node] = [self._stage(node, stage) for stage in kind.receive]
            elif isinstance(kind, Router):
                self._fabric[node] = self._always([self._stage(node, kind.forward)])
            elif isinstance(kind, Switch):
                for port in self.ports[node]:
                    ingress = kind.ingress
                    self.ingress[port] = [self._stage(node, ingress)] if ingress else []
                self._fabric[node] = self._switch_fabric(node, kind)
                if kind.flood is not None:
                    self._flood[node] = [self._stage(node, kind.flood)]
                    resource = self.timings[self._flood[node][0]].resource
                    server = self.servers[resource]
                    self.servers[resource] = replace(server, fault=_FLOODED)

    @staticmethod
    def _always(stages: list[int]) -> Callable[[int, int], list[int]]:
        return lambda _in, _out: stages

    def _switch_fabric(self, node: int, switch: Switch) -> Callable[[int, int], list[int]]:
        fabric = switch.fabric
        if isinstance(fabric, str):
            return self._always([])
        if fabric.shared is not None:
            return self._always([self._stage(node, fabric.shared)])
        crossbar = fabric.crossbar
        assert crossbar is not None
        modules = sorted({self.modules[port] for port in self.ports[node]})
        inward = {module: self._stage(node, crossbar.inward) for module in modules}
        outward = {module: self._stage(node, crossbar.outward) for module in modules}
        local = (
            {module: [self._stage(node, crossbar.local)] for module in modules}
            if crossbar.local
            else {}
        )

        def stages(port_in: int, port_out: int) -> list[int]:
            first, second = self.modules[port_in], self.modules[port_out]
            if first == second:
                return local.get(first, [])
            return [inward[first], outward[second]]

        return stages

    # Paths

    def toward(self, node: int, to: int) -> int:
        """Return the port of a node on the path to another, or -1."""
        if self._tree is None:
            self._tree = _Tree(
                [[(self.owner[port ^ 1], port) for port in ports] for ports in self.ports]
            )
        return self._tree.toward(node, to)

    def _ends_of(self, port: int) -> Iterator[int]:
        """Ports that hear what a port sends: its peer, or those of its collision domain."""
        waiting = [port]
        while waiting:
            peer = waiting.pop() ^ 1
            node = self.owner[peer]
            if isinstance(self.kinds[node], Hub):
                waiting.extend(each for each in self.ports[node] if each != peer)
            else:
                yield peer

    def _out(self, port: int, sent: Emission) -> list[int]:
        """Ports through which a switch or router may forward what comes in at a port."""
        node = self.owner[port]
        if self._may_flood(node, sent):
            return [each for each in self.ports[node] if each != port]
        if sent.is_group:
            return []
        out = self.toward(node, sent.to[0])
        return [] if out in (port, -1) else [out]

    def _may_flood(self, node: int, sent: Emission) -> bool:
        """Whether a switch may send what it receives to all ports."""
        kind = self.kinds[node]
        return isinstance(kind, Switch) and (sent.is_group or kind.learning != "known")

    def _between(self, port: int, out: int, sent: Emission) -> list[int]:
        """Return the stages of a switch or router from a port in to a port out."""
        node = self.owner[port]
        if node in self._flood and self._may_flood(node, sent):
            return self._flood[node]
        return self._fabric[node](port, out)

    def emit(self, sent: Emission) -> Sent:
        """Add the visits of what a host sends, and return where it goes."""
        self._emissions += 1
        wire = self.ports[sent.host][0]
        sizes = sent.arrivals.messages, sent.arrivals.measure
        self._size = self._sizes.setdefault(sizes, len(self._sizes))
        first = len(self.rows.flow)
        at = self._chain([*self.send[sent.host], wire], (sent.after, -1, -1), sent)
        last: dict[int, int] = {}
        waiting = [(port, at) for port in self._ends_of(wire)]
        while waiting:
            port, here = waiting.pop()
            node = self.owner[port]
            if isinstance(self.kinds[node], Host):
                if node in sent.to:
                    last[node] = self._chain(self.receive[node], here, sent)[0]
                    self._complete(last[node])
                elif node in sent.others:
                    self._chain(self.receive[node], here, sent)
                continue
            here = self._chain(self.ingress.get(port, []), here, sent)
            for out in self._out(port, sent):
                there = self._chain([*self._between(port, out, sent), out], here, sent)
                waiting.extend((end, there) for end in self._ends_of(out))
        return Sent(first, at[0], last)

    def _complete(self, visit: int) -> None:
        """Let the times behind the last visit be those until the frame is complete."""
        timing = self.timings[self.rows.timing[visit]]
        numbers = list(self.rows.numbers[visit])
        numbers[3] = float(timing.delay_ps + timing.batch_ps - timing.gap_ps)
        numbers[4] = numbers[0] - timing.gap_ps + timing.delay_ps - timing.spare_ps
        self.rows.numbers[visit] = tuple(numbers)

    def _chain(
        self, timings: Sequence[int], before: tuple[int, int, int], sent: Emission
    ) -> tuple[int, int, int]:
        """Add visits one behind the other; return the last one, its times, and its last wire."""
        parent, previous, feeder = before
        stage = -1
        for timing in timings:
            visit = len(self.rows.flow)
            # What limits arrivals is the last wire; within the sending host the stage before, if it
            # takes time.
            self._visit(timing, (parent, previous, feeder if feeder >= 0 else stage), sent)
            parent, previous = visit, timing
            if self.rows.cost[visit].line.min() > 0:
                stage = visit
            if timing < len(self.owner):
                feeder = visit
        return parent, previous, feeder

    def _visit(self, number: int, before: tuple[int, int, int], sent: Emission) -> None:
        rows, timing = self.rows, self.timings[number]
        parent, previous, feeder = before
        arrivals, is_first = sent.arrivals, previous < 0
        # Only behind what cuts through does a stage wait for the rest of a frame.
        previous = previous if previous >= 0 and self.timings[previous].cuts_through else -1
        cost = self._cost(number, previous, arrivals)
        key = number, previous, rows.timing[feeder] if feeder >= 0 else -1, self._size
        figures = self._figures.get(key)
        if figures is None:
            ratio = float(np.max(cost.work / rows.cost[feeder].line)) if feeder >= 0 else 0.0
            figures = self._figures[key] = (*cost.figures, ratio)
        rates, bursts = _UNLIMITED, _UNLIMITED
        if arrivals.buckets:
            buckets = [
                (rate * cost.unit, burst * cost.unit) for rate, burst in arrivals.buckets
            ] * 2
            rates, bursts = (buckets[0][0], buckets[1][0]), (buckets[0][1], buckets[1][1])
        rows.flow.append(sent.flow)
        rows.emission.append(self._emissions)
        rows.server.append(timing.resource)
        rows.level.append(self._level(number, sent.priority))
        rows.parent.append(parent)
        rows.feeder.append(feeder)
        rows.rates.append(rates)
        rows.bursts.append(bursts)
        rows.numbers.append(figures)
        rows.is_single.append(sent.is_single or (is_first and sent.is_one_at_host))
        rows.is_alternate.append(is_first and sent.is_alternate)
        rows.cost.append(cost)
        rows.timing.append(number)

    def _cost(self, number: int, previous: int, arrivals: Arrivals) -> _Cost:
        """Return what the frames of a visit cost."""
        key = number, previous, self._size
        found = self._costs.get(key)
        if found is None:
            timing, messages = self.timings[number], arrivals.messages
            before = self.timings[previous] if previous >= 0 else None
            lengths = sorted({octets for message in messages for octets in message})
            work = np.array([float(timing.work_ps(octets)) for octets in lengths])
            waits = [
                max(before.rest_ps(octets) - timing.service_ps(octets), 0) if before else 0
                for octets in lengths
            ]
            heads = [timing.head_ps(octets) for octets in lengths]
            after = timing.delay_ps + timing.batch_ps
            per_message = tuple(
                float(sum(timing.work_ps(octets) for octets in message)) for message in messages
            )
            numbers = (
                float(work.min()),
                float(work.max()),
                max(per_message),
                max(head - one for head, one in zip(heads, work, strict=True)) + after,
                min(w + head for w, head in zip(waits, heads, strict=True))
                + timing.delay_ps
                - timing.spare_ps,
                float(max(waits)),
            )
            found = self._costs[key] = _Cost(
                work=work,
                line=np.array([float(timing.line_ps(octets)) for octets in lengths]),
                unit=max(
                    cost / size for cost, size in zip(per_message, arrivals.measure, strict=True)
                ),
                figures=numbers,
                frames=max(map(len, messages)),
                octets=max(map(sum, messages)),
                span=float(max(sum(map(timing.line_ps, message)) for message in messages)),
                is_counted=all(one == 1 for one in arrivals.measure),
            )
        return found

    def _level(self, number: int, priority: int) -> int:
        """Return the traffic class of a priority at a wire; 0 elsewhere."""
        if number >= len(self.owner) or len(self.servers[number].classes) == 1:
            return 0
        classes = self._classes_of(self.kinds[self.owner[number]])
        return next(level for level, one in enumerate(classes) if priority in one.priorities)

    def think(self, after: int, sent: Emission, times: tuple[float, float]) -> int:
        """Add the visit of requests at a receiver that thinks about one at a time.

        `times`: shortest and longest [ps]. Return the visit behind which responses are sent.
        """
        least, most = times
        if most == 0:
            return after
        self._emissions += 1
        rows = self.rows
        per_message = most / min(sent.arrivals.measure)
        rates = [rate * per_message for rate, _ in sent.arrivals.buckets] * 2
        bursts = [burst * per_message for _, burst in sent.arrivals.buckets] * 2
        rows.flow.append(sent.flow)
        rows.emission.append(self._emissions)
        rows.server.append(len(self.servers))
        rows.level.append(0)
        rows.parent.append(after)
        rows.feeder.append(-1)
        rows.rates.append((rates[0], rates[1]) if rates else (np.inf, np.inf))
        rows.bursts.append((bursts[0], bursts[1]) if bursts else (np.inf, np.inf))
        rows.numbers.append((most, most, most, 0.0, least, 0.0, 0.0))
        rows.is_single.append(sent.is_single)
        rows.is_alternate.append(False)
        alone = np.array([most])
        rows.cost.append(_Cost(alone, alone, per_message, (), 1, 0, most, is_counted=False))
        rows.timing.append(-1)
        self.servers.append(Server(f"responses of {self.scenario.flows[sent.flow].name!r}"))
        return len(rows.flow) - 1

    def visits(self) -> Visits:
        """Return all visits as arrays."""
        rows = self.rows
        numbers = np.array(rows.numbers, dtype=float).reshape(-1, 7)

        def whole(values: Sequence[int]) -> Indices:
            return np.array(values, dtype=np.int64)

        return Visits(
            flow=whole(rows.flow),
            emission=whole(rows.emission),
            server=whole(rows.server),
            level=whole(rows.level),
            parent=whole(rows.parent),
            feeder=whole(rows.feeder),
            rates=np.array(rows.rates, dtype=float).reshape(-1, 2),
            bursts=np.array(rows.bursts, dtype=float).reshape(-1, 2),
            shortest=numbers[:, 0],
            longest=numbers[:, 1],
            message=numbers[:, 2],
            tail=numbers[:, 3],
            least=numbers[:, 4],
            wait=numbers[:, 5],
            ratio=numbers[:, 6],
            is_single=np.array(rows.is_single, dtype=bool),
            is_alternate=np.array(rows.is_alternate, dtype=bool),
            is_counted=np.array([one.is_counted for one in rows.cost], dtype=bool),
            frames=np.array([one.frames for one in rows.cost], dtype=float),
            span=np.array([one.span for one in rows.cost], dtype=float),
            work=tuple([one.work for one in rows.cost]),
            line=tuple([one.line for one in rows.cost]),
        )
