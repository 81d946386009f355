"""Means of a network: queues at the resources on the paths of its flows.

A message is a job: at each resource it waits, and needs the time of all its frames. The first
queue of Poisson arrivals is exact. What came through one resource before comes one by one: instead
of the wait that it would have here alone it has that of a second queue with the times of the first,
in which a short frame waits again for a long one that it waited for before. Where all take one
constant time there is none, and this is exact for all messages together: the waits along a path are
those of one queue (I. Rubin, Communication networks: message path delays, IEEE Trans. Information
Theory 20(6), 1974). Else it is an approximation. Without load every path is exact.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ethermeter.arguments import Array
from ethermeter.counts import Integers
from ethermeter.metrics import Caution
from ethermeter.nodes import links_in, rebroadcasts
from ethermeter.scenario import CoderArrivals, Scenario
from ethermeter.theory.bounds.network import Emission
from ethermeter.theory.bounds.sources import Arrivals, Message, leaves_at_once
from ethermeter.theory.bounds.stages import Timing
from ethermeter.theory.finite_queue import m_g_1_k
from ethermeter.theory.load import Loads, in_order, loads_of, network_of
from ethermeter.theory.queueing import closed
from ethermeter.theory.queueing.alone import mean_alone_ps
from ethermeter.theory.queueing.jobs import Job, Meeting, Spared, Work, is_repeated, waits_again
from ethermeter.theory.queueing.results import FlowMean, Means, PortMean, Saturation
from ethermeter.theory.queueing.rooms import Rooms
from ethermeter.theory.queueing.sources import Source

PS_PER_S = 1e12


@dataclass(slots=True)
class _Queue:
    """A resource with what is found of it."""

    jobs: list[Job] = field(default_factory=list)
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
    """Messages in a picosecond that come; `load`: share of time that they take."""
    load: float = 0.0
    is_spared: bool = False
    """Whether waits are other ones because jobs come one by one."""

    def add_up(self) -> None:
        """Find what follows from the sums over all jobs."""
        self.rate = sum(job.rate for job in self.jobs)
        self.load = sum(job.rate * job.work.mean for job in self.jobs)


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
        self.network = network_of(scenario)
        links = {end.node: link for link in links_in(scenario) for end in link.ends}
        self.rooms = Rooms(self.network)
        self.sources = [self.rooms.source_of(flow, links[flow.from_]) for flow in scenario.flows]
        self.paths: list[dict[int, tuple[int, ...]]] = []
        """Of each flow its visits on the path to each receiver …"""
        self.backs: list[list[tuple[int, ...]]] = []
        """… and on those of responses and acknowledgements from each of them."""
        self.visits: list[range] = []
        for number in range(len(scenario.flows)):
            self._emit(number)
        self.queues = [_Queue(fault=server.fault) for server in self.network.servers]
        self.position: dict[int, int] = {}
        """Of each visit the number of its job in its queue."""
        self._works: dict[tuple[int, tuple[Message, ...], tuple[float, ...]], Work] = {}
        self._rebroadcasts = rebroadcasts(scenario)
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
        self.paths.append({to: tuple(self._path(visit)) for to, visit in sent.last.items()})
        # Responses and acknowledgements take of the way back.
        self.backs.append([])
        for to in sent.last if flow.response is not None or flow.transfer is not None else ():
            is_group = flow.response is not None and flow.response.address != "unicast"
            back = dataclasses.replace(emission, host=to, to=(emission.host,), is_group=is_group)
            of_back = network.emit(back)
            self.backs[-1] += [tuple(self._path(visit)) for visit in of_back.last.values()]
        self.visits.append(range(begin, len(network.rows.flow)))

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
        return Means(flows, ports, _saturation(loads_of(self.scenario)))

    def _order(self) -> Iterator[int]:
        """Return resources such that each comes behind those before it, if there is no cycle."""
        rows = self.network.rows
        after: dict[int, set[int]] = {server: set() for server in range(len(self.queues))}
        for visit, parent in enumerate(rows.parent):
            if parent >= 0:
                after[rows.server[parent]].add(rows.server[visit])
        return in_order(after)

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
        gap_ps = timings[server].gap_ps if server < len(self.network.owner) else 0
        pairs = zip(queue.jobs, queue.waits, strict=True)
        waiting = sum(job.rate * wait for job, wait in pairs)
        total = float(waiting) + queue.load - gap_ps * queue.rate
        is_known = math.isfinite(total) and queue.loss == 0
        is_single = all(job.work.is_single for job in queue.jobs)
        queue.frames = total if is_known and is_single else None

    def _job(self, visit: int, source: Source, timing: Timing) -> Job:
        rows = self.network.rows
        key = rows.timing[visit], source.messages, source.shares
        work = self._works.get(key)
        if work is None:
            work = self._works[key] = Work.of(source, timing)
        parent = rows.parent[visit]
        is_exact = source.is_poisson and all(len(message) == 1 for message in source.messages)
        if parent >= 0 and (before := self.queues[rows.server[parent]]).jobs:
            # Behind a resource that takes no time nothing has changed.
            is_exact = is_exact and before.load == 0
        behind, rate = -1, source.rate
        if parent >= 0:
            behind = rows.server[parent]
            rate *= 1 - (self._loss(self._path(parent)) or 0.0)
        return Job(visit, rows.flow[visit], rows.level[visit], source, rate, work, is_exact, behind)

    def _came_through(self, visit: int) -> Iterator[tuple[int, Job]]:
        """Yield the resources before, the last one first, and the job there."""
        rows = self.network.rows
        while (visit := rows.parent[visit]) >= 0:
            if visit in self.position:
                server = rows.server[visit]
                yield server, self.queues[server].jobs[self.position[visit]]

    def _is_spaced(self, queue: _Queue) -> bool:
        """Whether all comes from one resource, from which frames come no faster than they go."""
        (before, *others) = {job.before for job in queue.jobs}
        if others or before < 0 or self.queues[before].fault is not None:
            return False
        longest = max(job.work.frames[1] for job in queue.jobs)
        return longest <= min(job.work.frames[0] for job in self.queues[before].jobs)

    def _repeats(self, queue: _Queue) -> bool:
        """Whether all comes from one resource, at which each frame needs the same time."""
        (before, *others) = {job.before for job in queue.jobs}
        if others or before < 0 or len(self.queues[before].waits) == 0:
            return False
        of_flow = {job.flow: job.work.messages for job in self.queues[before].jobs}
        is_same = all(job.work.messages == of_flow[job.flow] for job in queue.jobs)
        is_fifo = len(self.network.servers[before].classes) <= 1
        return is_same and is_fifo and all(job.work.is_single for job in queue.jobs)

    def _wait_again(self, queue: _Queue) -> None:
        """Find the mean waiting time of each job behind a queue with the same times."""
        before = self.queues[queue.jobs[0].before]
        queue.waits = waits_again(queue.jobs, np.zeros(len(queue.jobs), np.int64))[0]
        # All of its frames come here, and the first queue was one of Poisson arrivals.
        is_whole = len(before.jobs) == len(queue.jobs) and before.loss == 0
        queue.is_exact = before.is_exact and is_whole

    def _wait(self, server: int, queue: _Queue) -> None:
        """Find the mean waiting time of each job."""
        arrivals = Meeting.of(queue.jobs, self._levels(server, queue.jobs))
        queue.waits = arrivals.waits()
        if len(queue.jobs) > 1 and all(map(self._waits_at_source, queue.jobs)):
            queue.waits *= arrivals.shares_of_turns()
            queue.is_exact = False
        self._spare(queue, arrivals)

    def _waits_at_source(self, job: Job) -> bool:
        """Whether messages of a job wait at their source for the one before them of their flow."""
        flow = self.scenario.flows[job.flow]
        host = self.network.host(self.network.number[flow.from_])
        return job.before < 0 and not leaves_at_once(flow, host)

    def _spare(self, queue: _Queue, arrivals: Meeting) -> None:
        """Have jobs from one resource wait for each other as behind it, not as if they met here."""
        spared = self._spared(queue, arrivals)
        finite = np.isfinite(queue.waits)
        queue.is_spared = bool(spared.messages[finite].any())
        queue.waits[finite] = arrivals.spared(queue.waits, spared)[finite]

    def _spared(self, queue: _Queue, arrivals: Meeting) -> Spared:
        """Return what each job would be spared if only jobs of one resource came here.

        The wait for its like as if they met here, less that of a second queue if each frame needs
        the time that it needed before. Of all resources that a job came through, the one counts
        behind which it would wait longest for its like.
        """
        through: dict[int, list[tuple[int, Job]]] = {}
        for at, job in enumerate(queue.jobs):
            for resource, before in self._came_through(job.visit):
                through.setdefault(resource, []).append((at, before))
        count = len(queue.jobs)
        longest, resources = np.zeros(count), np.full(count, -1)
        of_messages, of_work = np.zeros(count), np.zeros(count)
        for resource, pairs in through.items():
            here, there = np.array([at for at, _ in pairs]), [before for _, before in pairs]
            jobs = [queue.jobs[at] for at in here]
            works = np.array([before.work.mean for before in there])
            meeting = arrivals.behind(here, works).waits()
            again = again_of_work = np.zeros(len(here))
            if is_repeated(jobs, there):
                again, again_of_work = waits_again(jobs, self._levels(resource, there))
            # Where its like alone are too many, a job waits without end, and is spared nothing.
            is_longer = (meeting > longest[here]) & np.isfinite(meeting)
            chosen = here[is_longer]
            longest[chosen], resources[chosen] = meeting[is_longer], resource
            of_messages[chosen] = (meeting - again)[is_longer]
            of_work[chosen] = (meeting - again_of_work)[is_longer]
        return Spared(of_messages, of_work, resources)

    def _levels(self, server: int, jobs: Sequence[Job]) -> Integers:
        """Return the level of priority of each job at a resource, 0 the highest."""
        group = self._groups(server)
        return np.array([group[job.level] for job in jobs], np.int64)

    def _groups(self, server: int) -> dict[int, int]:
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
        limited = [job for job in queue.jobs if job.before < 0 and job.source.room is not None]
        if limited:
            self._lose_at_source(queue, limited[0])
            return
        levels = {job.level for job in queue.jobs}
        rooms = {self.rooms.of_port(server, level) for level in levels}
        if rooms == {(None, None)}:
            return
        (frames, octets), *others = rooms
        is_one_queue = not others and len(levels) == 1
        is_single = all(job.work.is_single for job in queue.jobs)
        if octets is not None and len(lengths := self._lengths(server)) == 1:
            whole = octets // lengths.pop()
            frames, octets = whole if frames is None else min(frames, whole), None
        if frames is None or octets is not None or not is_one_queue or not is_single:
            limit = "classes" if not is_one_queue else "octets" if octets else "messages"
            self._thin(queue, f"the room of its queue is limited, and {limit} in it have no model")
            return
        self._fill(queue, frames)

    def _lose_at_source(self, queue: _Queue, job: Job) -> None:
        """Find the loss of a source with limited room, whose messages wait there for their wire."""
        room = job.source.room
        host = self.network.host(self.network.number[self.scenario.flows[job.flow].from_])
        waits_there = self._waits_at_source(job) and not host.send
        if len(queue.jobs) == 1 and job.source.is_poisson and waits_there and room is not None:
            self._fill(queue, room)
            return
        which = "only Poisson arrivals alone at a host without classes and stages have a model"
        self._thin(queue, f"its host has room for {room} messages, and {which}")

    @staticmethod
    def _fill(queue: _Queue, room: int) -> None:
        """Find loss and waits of a queue with room for so many messages."""
        of_works: dict[int, float] = {}
        for job in queue.jobs:
            for work, share in zip(job.work.messages, job.source.shares, strict=True):
                of_works[work] = of_works.get(work, 0.0) + share * job.rate / queue.rate
        loads = np.array(list(of_works), np.float64) * queue.rate
        queue.loss, waits = m_g_1_k(loads, np.array(list(of_works.values())), room)
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
        if self._rebroadcasts:
            why = "hosts that send broadcasts again add load of which nobody knows how much"
            return FlowMean(flow.name, None, None, None, (), why)
        if isinstance(source, str):
            found = self._closed(number)
            if isinstance(found, FlowMean):
                return found
            return FlowMean(flow.name, None, None, None, (), found or source)
        visits = self._union(number)
        servers = [self.network.rows.server[visit] for visit in visits]
        if (full := self.rooms.full_buffer(set(servers))) is not None:
            return FlowMean(flow.name, None, None, None, (), full)
        queues = [self.queues[server] for server in servers]
        names = [self.network.servers[server].name for server in servers]
        for name, queue in zip(names, queues, strict=True):
            if queue.fault is not None:
                return FlowMean(flow.name, None, None, None, (), f"{name}: {queue.fault}")
        delays_ps = [self._delay_ps(path, source) for path in self.paths[number].values()]
        delay_s = (sum(delays_ps) / len(delays_ps) + source.gathering_ps) / PS_PER_S
        losses = [self._loss(path) for path in self.paths[number].values()]
        loss = None if None in losses else sum(one or 0.0 for one in losses) / len(losses)
        rate = None if loss is None else source.rate * PS_PER_S * (1 - loss)
        reason = None
        if not math.isfinite(delay_s):
            full = next(
                name
                for name, queue, visit in zip(names, queues, visits, strict=True)
                if not math.isfinite(queue.waits[self.position[visit]])
            )
            reason, rate, loss = f"{full} has no room for its load: its queue grows", None, None
            if isinstance(flow.arrivals, CoderArrivals) and full == names[0]:
                reason = f"its packets grow while they wait for {full}, and have no model"
        is_exact = all(
            queue.is_exact or (not queue.is_spared and not queue.waits[self.position[visit]])
            for queue, visit in zip(queues, visits, strict=True)
        )
        cautions = () if is_exact else (Caution.APPROXIMATION,)
        delay = None if reason else delay_s
        return FlowMean(flow.name, delay, loss, rate, cautions, reason)

    def _closed(self, number: int) -> FlowMean | str | None:
        """Return the means of a flow that waits for its network, if it is alone on its way.

        Why it has none, if not; None if it is not alone, or no unicast.
        """
        flow, network = self.scenario.flows[number], self.network
        rows = network.rows
        paths = [*self.paths[number].values(), *self.backs[number]]
        queues = {(rows.server[visit], rows.level[visit]) for path in paths for visit in path}
        servers = {server for server, _ in queues}
        is_alone = all(
            rows.flow[visit] == number for server in servers for visit in self._by_server[server]
        )
        has_fault = any(network.servers[server].fault is not None for server in servers)
        if not is_alone or has_fault or flow.address != "unicast":
            return None
        if (full := self.rooms.full_buffer(servers)) is not None:
            return full
        if flow.transfer is not None and any(
            self.rooms.of_port(*queue) != (None, None) for queue in queues
        ):
            return "the room on its way is limited, and what it loses has no model"
        if any(self.rooms.of_stage(server) for server in servers):
            return "the room of a stage on its way is limited, and stages have no model of its loss"
        there, back = (
            [network.timings[network.rows.timing[visit]] for visit in path]
            for path in (paths[0], paths[1] if len(paths) > 1 else ())
        )
        names = [network.servers[network.rows.server[visit]].name for visit in paths[0]]
        return closed.mean_of(flow, closed.Way(there, back, names))

    def _union(self, number: int) -> list[int]:
        return list(dict.fromkeys(visit for path in self.paths[number].values() for visit in path))

    def _delay_ps(self, path: Sequence[int], source: Source) -> float:
        waits = sum(
            float(self.queues[self.network.rows.server[visit]].waits[self.position[visit]])
            for visit in path
        )
        timings = [self.network.timings[self.network.rows.timing[visit]] for visit in path]
        return waits + mean_alone_ps(timings, source.messages, source.shares)

    def _loss(self, path: Sequence[int]) -> float | None:
        kept = 1.0
        for visit in path:
            loss = self.queues[self.network.rows.server[visit]].loss
            if loss is None:
                return None
            kept *= 1 - loss
        return 1 - kept


def _saturation(loads: Loads) -> Saturation:
    """Return at how many times the load of its flows a network is full."""
    if not loads.is_open or not loads.resources:
        return Saturation(math.inf, "")
    fullest = loads.resources[0]
    return Saturation(1 / fullest.load if fullest.load > 0 else math.inf, fullest.resource)
