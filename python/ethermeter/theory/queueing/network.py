"""Means of a network: queues at the resources on the paths of its flows.

A message is a job: at each resource it waits, and needs the time of all its frames. The first
queue of Poisson arrivals is exact. What came through one resource before comes one by one, and is
spared the wait that it would have here alone, at most that which it had there. Where all take one
constant time this is exact for all messages together: the waits along a path are those of one queue
(I. Rubin, Communication networks: message path delays, IEEE Trans. Information Theory 20(6), 1974).
Else it is an approximation. Without load every path is exact.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from ethermeter.arguments import Array
from ethermeter.counts import Integers
from ethermeter.metrics import Caution
from ethermeter.scenario import Kind, Node, Scenario, Switch
from ethermeter.theory.bounds.network import Emission, Network
from ethermeter.theory.bounds.sources import Arrivals, Message
from ethermeter.theory.bounds.stages import Timing
from ethermeter.theory.finite_queue import m_g_1_k
from ethermeter.theory.queueing.results import FlowMean, Means, PortMean, Saturation
from ethermeter.theory.queueing.rooms import Rooms
from ethermeter.theory.queueing.sources import Source
from ethermeter.theory.waiting import (
    cobham,
    m_g_1,
    marchal,
    second_queue,
    superposed,
)

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class _Work:
    """What a resource works on messages [ps]: its moments, that of frames at least and at most."""

    mean: float
    square: float
    frames: tuple[int, int]
    messages: tuple[int, ...]
    is_single: bool

    @classmethod
    def of(cls, source: Source, timing: Timing) -> "_Work":
        each = [list(map(timing.work_ps, message)) for message in source.messages]
        messages = tuple(map(sum, each))
        pairs = list(zip(source.shares, messages, strict=True))
        every = [work for works in each for work in works]
        return cls(
            sum(share * work for share, work in pairs),
            sum(share * work**2 for share, work in pairs),
            (min(every), max(every)),
            messages,
            all(len(works) == 1 for works in each),
        )


@dataclass(slots=True)
class _Job:
    """The messages of a flow at a resource.

    `scv`: of the times between their arrivals. `is_exact`: whether they are a Poisson process of
    single frames. `mean`, `square`: moments of their work [ps, ps²].
    """

    flow: int
    level: int
    rate: float
    scv: float
    is_exact: bool
    mean: float
    square: float
    works: tuple[int, int]
    """Shortest and longest work of a frame [ps]."""
    before: int
    """Resource before, or -1."""
    works_of: tuple[int, ...]
    """Work of each message [ps], with `shares`; `is_single`: whether each is one frame."""
    shares: tuple[float, ...]
    is_single: bool
    came_through: tuple[tuple[int, float], ...]
    """Resources from the last wire on, and the mean of its work there [ps]."""


@dataclass(slots=True)
class _Queue:
    """A resource with what is found of it."""

    jobs: list[_Job] = field(default_factory=list)
    waits: Array = field(default_factory=lambda: np.empty(0))
    """Mean waiting time of each job [ps]; infinite where there is none."""
    loss: float | None = 0.0
    is_exact: bool = True
    fault: str | None = None
    """Why it has no means; `is_thinned`: since it loses frames, nobody knows how many, so that what
    comes behind it has none either.
    """
    is_thinned: bool = False
    frames: float | None = None
    rate: float = 0.0
    """Messages in a picosecond; `load`: share of time that they take."""
    load: float = 0.0
    is_spared: bool = False
    """Whether waits are less because jobs come one by one."""

    def add_up(self) -> None:
        """Find what follows from the sums over all jobs."""
        rates = np.array([job.rate for job in self.jobs])
        self.rate = float(rates.sum())
        self.load = float(rates @ [job.mean for job in self.jobs])


def means_of(scenario: Scenario) -> Means:
    """Return the mean delays, losses and rates of all flows, and the roofline of the network.

    Flows without an open source, and those that share a resource with one of them, have none.
    """
    return _Analysis(scenario).means()


class _Analysis:
    """The queues of a scenario in the making."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        # A switch that learns knows all addresses after the first frames.
        known = replace(scenario, nodes=tuple(_known(node) for node in scenario.nodes))
        self.network = Network(known)
        links = {end.node: link for link in scenario.links for end in link.ends}
        self.rooms = Rooms(self.network)
        self.sources = [self.rooms.source_of(flow, links[flow.from_]) for flow in scenario.flows]
        self.paths: list[dict[int, tuple[int, ...]]] = []
        """Of each flow its visits on the path to each receiver."""
        self.visits: list[range] = []
        for number in range(len(scenario.flows)):
            self._emit(number)
        self.queues = [_Queue(fault=server.fault) for server in self.network.servers]
        self.position: dict[int, int] = {}
        """Of each visit the number of its job in its queue."""
        self._works: dict[tuple[int, tuple[Message, ...], tuple[float, ...]], _Work] = {}
        self._by_server: dict[int, list[int]] = {}
        for visit, server in enumerate(self.network.rows.server):
            self._by_server.setdefault(server, []).append(visit)

    def _emit(self, number: int) -> None:
        flow, network = self.scenario.flows[number], self.network
        source = self.sources[number]
        messages = source.messages if isinstance(source, Source) else ((64,),)
        emission = Emission(
            number,
            network.number[flow.from_],
            tuple(network.number[name] for name in flow.to),
            flow.address != "unicast",
            flow.priority or 0,
            Arrivals(messages, (1.0,) * len(messages), ()),
        )
        begin = len(network.rows.flow)
        sent = network.emit(emission)
        self.visits.append(range(begin, len(network.rows.flow)))
        self.paths.append({to: tuple(self._path(visit)) for to, visit in sent.last.items()})

    def _path(self, visit: int) -> list[int]:
        path: list[int] = []
        while visit >= 0:
            path.append(visit)
            visit = self.network.rows.parent[visit]
        return path[::-1]

    def means(self) -> Means:
        """Solve all queues, and return what follows for flows and ports."""
        for server in self._order():
            self._solve(server)
        flows = tuple(self._flow(number) for number in range(len(self.scenario.flows)))
        ports = tuple(
            PortMean(port, queue.load, queue.frames)
            for port, queue in enumerate(self.queues[: len(self.network.owner)])
        )
        fullest = max(range(len(self.queues)), key=lambda at: self.queues[at].load, default=0)
        load = self.queues[fullest].load
        scale = 1 / load if load > 0 else math.inf
        return Means(flows, ports, Saturation(scale, self.network.servers[fullest].name))

    def _order(self) -> Iterator[int]:
        """Resources such that each comes behind those before it, if there is no cycle."""
        rows = self.network.rows
        after: dict[int, set[int]] = {server: set() for server in range(len(self.queues))}
        for visit, parent in enumerate(rows.parent):
            if parent >= 0:
                after[rows.server[parent]].add(rows.server[visit])
        missing = Counter(server for every in after.values() for server in every)
        ready = [server for server in after if not missing[server]]
        left = dict.fromkeys(after)
        while left:
            server = ready.pop() if ready else next(iter(left))
            if server not in left:
                continue
            del left[server]
            yield server
            for other in after[server]:
                missing[other] -= 1
                if missing[other] == 0:
                    ready.append(other)

    # Queues

    def _solve(self, server: int) -> None:
        queue = self.queues[server]
        rows, timings = self.network.rows, self.network.timings
        for visit in self._by_server.get(server, []):
            number = rows.flow[visit]
            source = self.sources[number]
            if isinstance(source, str):
                name = self.scenario.flows[number].name
                queue.fault = queue.fault or f"flow {name!r} is there: {source}"
                continue
            self.position[visit] = len(queue.jobs)
            queue.jobs.append(self._job(visit, source, timings[rows.timing[visit]]))
            parent = rows.parent[visit]
            if parent >= 0 and self.queues[rows.server[parent]].is_thinned:
                before = self.network.servers[rows.server[parent]].name
                queue.fault = queue.fault or f"frames come there that {before} has not lost"
                queue.is_thinned = True
        queue.add_up()
        if not queue.jobs or queue.fault is not None:
            return
        if any(one.idle_slope is not None for one in self.network.servers[server].classes):
            queue.fault = "a credit-based shaper has no mean by queueing theory here"
            return
        if self._is_round(server, queue):
            queue.fault = "deficit round robin has no mean by queueing theory here"
            return
        queue.is_exact = all(job.is_exact for job in queue.jobs)
        if self._is_spaced(queue):
            queue.waits = np.zeros(len(queue.jobs))
        else:
            if self._repeats(queue):
                self._wait_again(queue)
            else:
                self._wait(server, queue)
            self._lose(server, queue)
        # Little's law: the gap behind a frame is not in the queue.
        rates = np.array([job.rate for job in queue.jobs])
        gap_ps = timings[server].gap_ps if server < len(self.network.owner) else 0
        busy = np.array([job.mean for job in queue.jobs]) - gap_ps
        total = float(rates @ (queue.waits + busy))
        is_known = math.isfinite(total) and queue.loss == 0
        is_single = all(job.is_single for job in queue.jobs)
        queue.frames = total if is_known and is_single else None

    def _job(self, visit: int, source: Source, timing: Timing) -> _Job:
        rows = self.network.rows
        key = rows.timing[visit], source.messages, source.shares
        work = self._works.get(key)
        if work is None:
            work = self._works[key] = _Work.of(source, timing)
        parent = rows.parent[visit]
        is_exact = source.is_poisson and all(len(message) == 1 for message in source.messages)
        if parent >= 0 and (before := self.queues[rows.server[parent]]).jobs:
            # Behind a resource that takes no time nothing has changed.
            is_exact = is_exact and before.load == 0
        return _Job(
            rows.flow[visit],
            rows.level[visit],
            source.rate,
            source.scv,
            is_exact,
            work.mean,
            work.square,
            work.frames,
            -1 if parent < 0 else rows.server[parent],
            work.messages,
            source.shares,
            work.is_single,
            self._came_through(visit),
        )

    def _came_through(self, visit: int) -> tuple[tuple[int, float], ...]:
        rows, found = self.network.rows, []
        while (visit := rows.parent[visit]) >= 0:
            server = rows.server[visit]
            if visit in self.position:
                found.append((server, self.queues[server].jobs[self.position[visit]].mean))
            if server < len(self.network.owner):
                break
        return tuple(found)

    def _is_spaced(self, queue: _Queue) -> bool:
        """Whether all comes from one resource, from which frames come no faster than they go."""
        (before, *others) = {job.before for job in queue.jobs}
        if others or before < 0 or self.queues[before].fault is not None:
            return False
        longest = max(job.works[1] for job in queue.jobs)
        return longest <= min(job.works[0] for job in self.queues[before].jobs)

    def _repeats(self, queue: _Queue) -> bool:
        """Whether all comes from one resource, at which each frame needs the same time."""
        (before, *others) = {job.before for job in queue.jobs}
        if others or before < 0 or len(self.queues[before].waits) == 0:
            return False
        of_flow = {job.flow: job.works_of for job in self.queues[before].jobs}
        is_same = all(job.works_of == of_flow[job.flow] for job in queue.jobs)
        is_fifo = len(self.network.servers[before].classes) <= 1
        return is_same and is_fifo and all(job.is_single for job in queue.jobs)

    def _wait_again(self, queue: _Queue) -> None:
        """Find the mean waiting time of each job behind a queue with the same times."""
        before = self.queues[queue.jobs[0].before]
        queue.waits = _waits_again(queue.jobs)
        # All of its frames come here, and the first queue was one of Poisson arrivals.
        queue.is_exact = before.is_exact and len(before.jobs) == len(queue.jobs)

    def _wait(self, server: int, queue: _Queue) -> None:
        """Find the mean waiting time of each job."""
        group = self._groups(server, queue)
        levels = np.array([group[job.level] for job in queue.jobs])
        arrivals = _Arrivals.of(queue.jobs, levels)
        queue.waits = arrivals.waits()
        self._spare(queue, arrivals)

    @staticmethod
    def _spare(queue: _Queue, arrivals: "_Arrivals") -> None:
        """Subtract what jobs from one resource would wait here alone, no slower than from there."""
        through: dict[int, list[tuple[int, float]]] = {}
        for at, job in enumerate(queue.jobs):
            for resource, mean in job.came_through:
                through.setdefault(resource, []).append((at, mean))
        spared = np.zeros(len(queue.jobs))
        for of in through.values():
            numbers, means = zip(*of, strict=True)
            here, before = np.array(numbers), np.array(means)
            alone = arrivals.part(here, before).waits()
            jobs = [queue.jobs[at] for at in numbers]
            if not arrivals.levels.any() and _is_same(jobs, means):
                alone = np.maximum(alone - _waits_again(jobs), 0.0)
            spared[here] = np.maximum(spared[here], alone)
        finite = np.isfinite(queue.waits)
        queue.is_spared = bool(spared[finite].any())
        queue.waits[finite] = np.maximum(queue.waits[finite] - spared[finite], 0.0)

    def _groups(self, server: int, queue: _Queue) -> dict[int, int]:
        """Return the level of priority of each class; classes with quanta share one."""
        found: dict[int, int] = {}
        classes = self.network.servers[server].classes
        level = -1
        for number, one in enumerate(classes):
            has_quantum = one.quantum is not None
            if not (has_quantum and number and classes[number - 1].quantum is not None):
                level += 1
            found[number] = level
        return found

    def _is_round(self, server: int, queue: _Queue) -> bool:
        """Whether frames of several classes share a level by deficit round robin."""
        classes = self.network.servers[server].classes
        present = {job.level for job in queue.jobs}
        return sum(classes[level].quantum is not None for level in present) > 1

    def _lose(self, server: int, queue: _Queue) -> None:
        """Find the loss of a resource with limited room: of frames in one queue by M/G/1/K."""
        of_stage = self.rooms.of_stage(server)
        if of_stage is not None and queue.load > 0:
            self._thin(queue, of_stage)
            return
        rooms = {self.rooms.of_port(server, job.level) for job in queue.jobs}
        if rooms == {(None, None)}:
            return
        (frames, octets), *others = rooms
        is_one_queue = not others and len({job.level for job in queue.jobs}) == 1
        is_single = all(job.is_single for job in queue.jobs)
        if octets is not None and len(lengths := self._lengths(server)) == 1:
            whole = octets // lengths.pop()
            frames, octets = whole if frames is None else min(frames, whole), None
        if frames is None or octets is not None or not is_one_queue or not is_single:
            limit = "classes" if not is_one_queue else "octets" if octets else "messages"
            self._thin(queue, f"the room of its queue is limited, and {limit} in it have no model")
            return
        of_works: dict[int, float] = {}
        for job in queue.jobs:
            for work, share in zip(job.works_of, job.shares, strict=True):
                of_works[work] = of_works.get(work, 0.0) + share * job.rate / queue.rate
        loads = np.array(list(of_works), np.float64) * queue.rate
        queue.loss, waits = m_g_1_k(loads, np.array(list(of_works.values())), frames)
        queue.waits = np.full(len(queue.jobs), waits * queue.load / queue.rate)

    def _lengths(self, server: int) -> set[int]:
        """Return the octets of frames that come to a resource."""
        sources = (self.sources[self.network.rows.flow[at]] for at in self._by_server[server])
        return {
            octets
            for source in sources
            if isinstance(source, Source)
            for message in source.messages
            for octets in message
        }

    @staticmethod
    def _thin(queue: _Queue, why: str) -> None:
        queue.fault, queue.loss, queue.is_thinned = f"{why} of its loss", None, True

    # Flows

    def _flow(self, number: int) -> FlowMean:
        flow, source = self.scenario.flows[number], self.sources[number]
        if isinstance(source, str):
            return FlowMean(flow.name, None, None, None, (), source)
        servers = {self.network.rows.server[visit] for visit in self._union(number)}
        if (full := self.rooms.full_buffer(servers)) is not None:
            return FlowMean(flow.name, None, None, None, (), full)
        queues = [self.queues[self.network.rows.server[visit]] for visit in self._union(number)]
        names = [
            self.network.servers[self.network.rows.server[v]].name for v in self._union(number)
        ]
        for name, queue in zip(names, queues, strict=True):
            if queue.fault is not None:
                return FlowMean(flow.name, None, None, None, (), f"{name}: {queue.fault}")
        delays_ps = [self._delay_ps(path, source) for path in self.paths[number].values()]
        delay_s = sum(delays_ps) / len(delays_ps) / PS_PER_S
        losses = [self._loss(path) for path in self.paths[number].values()]
        loss = None if None in losses else sum(one or 0.0 for one in losses) / len(losses)
        rate = None if loss is None else source.rate * PS_PER_S * (1 - loss)
        reason = None
        if not math.isfinite(delay_s):
            full = next(
                name
                for name, queue, visit in zip(names, queues, self._union(number), strict=True)
                if not math.isfinite(queue.waits[self.position[visit]])
            )
            reason, rate, loss = f"{full} has no room for its load: its queue grows", None, None
        is_exact = all(
            queue.is_exact or (not queue.is_spared and not queue.waits[self.position[visit]])
            for queue, visit in zip(queues, self._union(number), strict=True)
        )
        cautions = () if is_exact else (Caution.APPROXIMATION,)
        delay = None if reason else delay_s
        return FlowMean(flow.name, delay, loss, rate, cautions, reason)

    def _union(self, number: int) -> list[int]:
        return list(dict.fromkeys(visit for path in self.paths[number].values() for visit in path))

    def _delay_ps(self, path: Sequence[int], source: Source) -> float:
        waits = sum(
            float(self.queues[self.network.rows.server[visit]].waits[self.position[visit]])
            for visit in path
        )
        timings = [self.network.timings[self.network.rows.timing[visit]] for visit in path]
        alone = sum(
            share * alone_ps(timings, message)
            for share, message in zip(source.shares, source.messages, strict=True)
        )
        return waits + alone

    def _loss(self, path: Sequence[int]) -> float | None:
        kept = 1.0
        for visit in path:
            loss = self.queues[self.network.rows.server[visit]].loss
            if loss is None:
                return None
            kept *= 1 - loss
        return 1 - kept


def alone_ps(timings: Sequence[Timing], message: Message) -> int:
    """Return how long a message takes that meets no other, frame behind frame; exact."""
    free = [0] * len(timings)
    complete = 0
    for octets in message:
        ready = complete = 0
        for at, timing in enumerate(timings):
            service = timing.service_ps(octets)
            start = max(ready, free[at], complete - service)
            free[at] = start + service + timing.gap_ps
            ready = start + timing.head_ps(octets) + timing.delay_ps
            complete = start + service + timing.delay_ps
    return complete


def _is_same(jobs: Sequence[_Job], means: Sequence[float]) -> bool:
    """Whether jobs of single frames, of Poisson sources, need the times that they needed before."""
    return all(
        job.is_single and job.scv == 1 and job.mean == mean
        for job, mean in zip(jobs, means, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Arrivals:
    """Jobs that meet at a queue, as arrays: `means` and `squares` of their work [ps, ps²]."""

    levels: Integers
    rates: Array
    means: Array
    squares: Array
    scvs: Array

    @classmethod
    def of(cls, jobs: Sequence[_Job], levels: Integers) -> "_Arrivals":
        values = np.array([(job.rate, job.mean, job.square, job.scv) for job in jobs]).T
        return cls(levels, *values)

    def part(self, here: Integers, most: Array) -> "_Arrivals":
        """Return some of the jobs, with works of which the mean is at most `most`."""
        means = self.means[here]
        scale = np.divide(most, means, out=np.ones(len(here)), where=means > most)
        return _Arrivals(
            self.levels[here],
            self.rates[here],
            means * scale,
            self.squares[here] * scale**2,
            self.scvs[here],
        )

    def service_scv(self) -> float:
        """Return the squared variation of the work of all jobs."""
        load = float(self.rates @ self.means)
        square = float(self.rates @ self.squares) * float(self.rates.sum())
        return max(square / load**2 - 1, 0.0) if load > 0 else 0.0

    def waits(self) -> Array:
        """Return the mean waiting time of each job."""
        rate, load = float(self.rates.sum()), float(self.rates @ self.means)
        if load == 0:
            return np.zeros(len(self.rates))
        square, mean = float(self.rates @ self.squares) / rate, load / rate
        c_a = superposed(self.rates, self.scvs, load)
        near = float(marchal(rate, mean, self.service_scv(), c_a))
        count = int(self.levels.max()) + 1
        if count == 1:
            return np.full(len(self.rates), near)
        exact = float(m_g_1(rate, mean, square))
        of_levels = (self.rates, self.rates * self.means, self.rates * self.squares)
        rates, loads, squares = (np.bincount(self.levels, of, count) for of in of_levels)
        share = np.where(rates > 0, rates, 1.0)
        waits = cobham(rates.astype(float), loads / share, squares / share)
        # Arrivals that are no Poisson process change all classes alike.
        factor = near / exact if math.isfinite(exact) and exact > 0 else 1.0
        found: Array = waits[self.levels] * factor
        return found


def _waits_again(jobs: Sequence[_Job]) -> Array:
    """Return the mean waiting time of jobs behind a queue of the same jobs with the same times."""
    shares: dict[int, float] = {}
    for job in jobs:
        for work, share in zip(job.works_of, job.shares, strict=True):
            shares[work] = shares.get(work, 0.0) + job.rate * share
    works = sorted(shares)
    rate = sum(shares.values())
    waits = second_queue(
        rate, np.array(works, np.float64), np.array([shares[work] for work in works]) / rate
    )
    of = dict(zip(works, waits, strict=True))
    return np.array(
        [sum(s * of[w] for w, s in zip(job.works_of, job.shares, strict=True)) for job in jobs]
    )


def _known(node: Node) -> Node:
    switch = node.kind.switch
    if not isinstance(switch, Switch) or switch.learning == "known":
        return node
    return replace(node, kind=Kind(switch=replace(switch, learning="known")))
