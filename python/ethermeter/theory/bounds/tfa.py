"""Total-flow analysis: one delay for each traffic class of each server, along all paths.

What a flow may send at a server grows with the jitter that it has gathered on its path: the
difference of the longest and the shortest time from its release. Its own transmission is in both,
so that it is no jitter. What comes from one wire comes no faster than that wire sends. Where paths
depend on each other in a cycle, the delays are iterated from zero to a fixed point.

Sources
-------
Total-flow analysis with line shaping and packets: Mifdaoui and Leydier, Beyond the accuracy-
complexity tradeoffs of compositional analyses using network calculus for complex networks,
CRTS 2017; fixed points: Thomas, Le Boudec and Mifdaoui, On cyclic dependencies and regulators in
time-sensitive networks, RTSS 2019.
"""

from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

import numpy as np
import numpy.typing as npt

from ethermeter.arguments import Array
from ethermeter.theory.bounds.curves import (
    Concave,
    busy_period,
    largest_delay,
    line,
    minimum_with_line,
    sum_of_buckets,
    total,
)
from ethermeter.theory.bounds.schedulers import ClassOfServer, Demand, Served, times_to_serve
from ethermeter.theory.bounds.stairs import Stairs
from ethermeter.theory.bounds.turns import Port, Turn, finishes, load

Indices = npt.NDArray[np.int64]
MOST_SWEEPS = 300
_SETTLED = 1e-9
"""Relative change of delays at which a fixed point is reached."""


@dataclass(frozen=True, slots=True)
class Server:
    """What serves work: a wire, a stage, or an abstract server.

    `service`: time to serve work, at a server with one class and a given service curve; else its
    rate is 1. `line_rate`: work on the line a time that it sends at most; None without a limit.
    `line`: number of the line, if it is shared with other servers; `turn`: how they take turns.
    `batch`: longest time that it holds finished work back, to send it with other work.
    `is_ordered`: whether the messages of different flows are served in the order of their release.
    `fault`: why it has no bound, if so.
    """

    name: str
    classes: tuple[ClassOfServer, ...] = (ClassOfServer(),)
    service: Concave | None = None
    line_rate: float | None = 1.0
    line: int | None = None
    turn: Turn | None = None
    batch: float = 0.0
    is_ordered: bool = True
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits of flows at servers, parents before children; every array has shape (visits,).

    `emission`: number of what a host sends of a flow: its messages, or responses of a receiver.
    `parent`: the visit before, or -1; `feeder`: the visit whose server limits what comes, or -1.
    `rates`, `bursts`, shape (visits, 2): the flow's two token buckets in work at this server; the
    first one with the higher rate and the smaller burst; infinite without an arrival curve.
    `shortest`, `longest`: work of a frame; `message`: of a whole message, the longest.
    `tail`: from the end of the service to the next server (negative for what may go on before);
    `least`: shortest time from this server to the next. `wait`: longest time until a frame may be
    served, because it has not arrived completely. `ratio`: of the work here to that on the line of
    the feeder. `is_single`: whether there is at most one message of the flow at a time;
    `is_alternate`: whether its next message comes when the one before has left the server.
    `is_counted`: whether its buckets count messages, each of which may be the longest. `frames`: of
    a message, at most; `span`: time of a message on the line. `work`: work of each of its frames,
    by length, shape (lengths,); `line`: the same on the line.
    """

    flow: Indices
    emission: Indices
    server: Indices
    level: Indices
    parent: Indices
    feeder: Indices
    rates: Array
    bursts: Array
    shortest: Array
    longest: Array
    message: Array
    tail: Array
    least: Array
    wait: Array
    ratio: Array
    is_single: npt.NDArray[np.bool_]
    is_alternate: npt.NDArray[np.bool_]
    is_counted: npt.NDArray[np.bool_]
    frames: Array
    span: Array
    work: tuple[Array, ...]
    line: tuple[Array, ...]

    def stairs(
        self, members: Indices, rates: Array, bursts: Array, is_limited: npt.NDArray[np.bool_]
    ) -> Stairs:
        """Return the messages of some visits, by their token buckets there.

        Behind a server without a bound, which limits them, only messages of one frame are whole.
        """
        is_frame = (self.frames == 1) & (self.shortest == self.longest)
        is_whole = np.where(is_limited, is_frame[members], self.is_counted[members])
        return Stairs(rates, bursts, self.message[members], is_whole)

    def longest_on_line(self, visit: int) -> float:
        """Return the time of the longest frame of a visit on the line."""
        return float(self.longest[visit] - np.max(self.work[visit] - self.line[visit]))


@dataclass(frozen=True, slots=True)
class ClassAnalysis:
    """A traffic class of a server: what comes, and in which times it is served (all hold).

    `finish`: longest time from the arrival of a frame until the server is free again; the start of
    the service is that less the frame. `visits`: of its flows. `load`: where ports take turns, the
    share of time that its frames and what may go between them take.
    """

    arrivals: Concave | None
    times: tuple[Concave, ...]
    finish: float
    visits: Indices
    load: float | None = None


@dataclass(slots=True)
class Analysis:
    """Delays of a network.

    Of every visit, shape (visits,): `hop`, the longest time from the arrival of a frame to that at
    the next visit, infinite without a bound; `rates`, `bursts`, shape (visits, 2), its token
    buckets with `jitter`; `is_limited`, whether a server without a bound before it limits it, and
    not its source. `classes`: of each server. `cycle`: names of servers that depend on each other
    in a cycle, if there is one.
    """

    hop: Array
    rates: Array
    bursts: Array
    jitter: Array
    is_limited: npt.NDArray[np.bool_]
    classes: list[tuple[ClassAnalysis, ...]]
    cycle: tuple[str, ...] = ()


@dataclass(slots=True)
class _State:
    """The delays so far, since the flow's source or the last server without a bound."""

    servers: tuple[Server, ...]
    visits: Visits
    members: list[list[Indices]]
    rates: Array
    bursts: Array
    since: Array  # longest time to arrive since the origin
    least_since: Array
    hop: Array  # longest time from this server to the next
    origin: Indices
    line: Indices  # of each server, the number of its line
    transit: Array = field(default_factory=lambda: np.zeros(0))
    least_transit: Array = field(default_factory=lambda: np.zeros(0))


def analyse(servers: tuple[Server, ...], visits: Visits) -> Analysis:
    """Return the delays of all flows at all servers.

    Flows whose times depend on each other in a cycle without a fixed point have none.
    """
    state = _begin(servers, visits)
    order, cycle = _order(servers, visits)
    classes: list[tuple[ClassAnalysis, ...]] = [()] * len(servers)
    for sweep in range(MOST_SWEEPS):
        before = state.hop.copy()
        _sweep(state, order, classes)
        if not cycle or _settled(before, state.hop):
            break
        if sweep + 2 >= MOST_SWEEPS:
            state.hop[:] = np.inf  # no fixed point: what is in the cycle has no bound
    if cycle:
        classes = _verified(state, order, classes)
    with np.errstate(invalid="ignore"):
        jitter = state.since - state.least_since
        bursts = state.bursts + state.rates * jitter[:, None]
    return Analysis(state.hop, state.rates, bursts, jitter, state.origin >= 0, classes, cycle)


def _settled(before: Array, after: Array) -> bool:
    with np.errstate(invalid="ignore"):
        change = np.abs(after - before)
    return bool(np.all((before == after) | (change <= _SETTLED * np.abs(after))))


def _sweep(state: _State, order: list[list[int]], classes: list[tuple[ClassAnalysis, ...]]) -> None:
    """Analyse all servers once, with the delays that are known."""
    for together in order:
        found = {server: _analyse_server(state, server) for server in together}
        if state.servers[together[0]].turn is not None:
            found = _take_turns(state, found)
        for server, analysed in found.items():
            for one, finish in analysed:
                state.hop[one.visits] = finish + state.visits.tail[one.visits]
            classes[server] = tuple(one for one, _ in analysed)


def _verified(
    state: _State, order: list[list[int]], classes: list[tuple[ClassAnalysis, ...]]
) -> list[tuple[ClassAnalysis, ...]]:
    """Return the analysis from slightly larger delays, which a further sweep does not exceed.

    The iteration comes from below; delays that the next sweep does not increase are bounds.
    """
    for margin in (1e-7, 1e-5, 1e-3, 1e-1):
        state.hop = state.hop + margin * np.abs(state.hop)
        above = state.hop.copy()
        _sweep(state, order, classes)
        if np.all(state.hop <= above * (1 + 1e-12)):
            return classes
        state.hop = np.maximum(state.hop, above)
    state.hop[:] = np.inf
    return classes


def _begin(servers: tuple[Server, ...], visits: Visits) -> _State:
    members: list[list[Indices]] = [
        [np.zeros(0, dtype=np.int64) for _ in server.classes] for server in servers
    ]
    if len(visits.server):
        order = np.lexsort((visits.level, visits.server))
        key = visits.server[order] * 16 + visits.level[order]
        for group in np.split(order, np.flatnonzero(np.diff(key)) + 1):
            first = int(group[0])
            members[visits.server[first]][visits.level[first]] = np.sort(group)
    count = len(visits.flow)
    zeros = np.zeros(count)
    shared = [None if server.line is None else len(servers) + server.line for server in servers]
    lines = [number if line is None else line for number, line in enumerate(shared)]
    return _State(
        servers,
        visits,
        members,
        visits.rates.copy(),
        visits.bursts.copy(),
        zeros.copy(),
        zeros.copy(),
        visits.least.copy(),
        np.full(count, -1, dtype=np.int64),
        np.array(lines, dtype=np.int64),
        zeros.copy(),
        zeros.copy(),
    )


def _order(servers: tuple[Server, ...], visits: Visits) -> tuple[list[list[int]], tuple[str, ...]]:
    """Return the servers, those before first, and the names of a cycle if there is one.

    Ports that take turns are analysed together.
    """
    units: dict[tuple[bool, int], list[int]] = {}
    for number, server in enumerate(servers):
        key = (False, number) if server.turn is None or server.line is None else (True, server.line)
        units.setdefault(key, []).append(number)
    together = list(units.values())
    unit = np.zeros(len(servers), dtype=np.int64)
    for number, members in enumerate(together):
        unit[members] = number
    known = visits.parent >= 0
    pairs = np.stack([visits.server[visits.parent[known]], visits.server[known]], axis=1)
    before: dict[int, set[int]] = {number: set() for number in range(len(together))}
    for first, second in np.unique(unit[pairs], axis=0).tolist():
        before[second].add(first)
    try:
        return [together[number] for number in TopologicalSorter(before).static_order()], ()
    except CycleError as error:
        names = tuple(servers[together[number][0]].name for number in error.args[1])
    depth = np.zeros(len(together))
    level = np.zeros(len(visits.flow))
    for visit, parent in enumerate(visits.parent.tolist()):
        level[visit] = level[parent] + 1 if parent >= 0 else 0
    np.maximum.at(depth, unit[visits.server], level)
    return [together[number] for number in np.argsort(depth, kind="stable").tolist()], names


_Analysed = list[tuple[ClassAnalysis, Array]]
"""Classes of a server, and the longest time until each of its visits has been served."""


def _analyse_server(state: _State, number: int) -> _Analysed:
    server = state.servers[number]
    demands = []
    for members in state.members[number]:
        _arrive(state, members)
        demands.append(_demand(state, members, has_classes=len(server.classes) > 1))
    if server.service is not None:
        served = [Served((server.service,), None)]
    else:
        served = times_to_serve(server.classes, demands)
    found = []
    for members, demand, one in zip(state.members[number], demands, served, strict=True):
        finish = _finish(state, server, members, demand, one)
        most = float(np.max(finish, initial=0.0))
        found.append((ClassAnalysis(demand.arrivals, one.times, most, members), finish))
    return found


def _take_turns(state: _State, analysed: dict[int, _Analysed]) -> dict[int, _Analysed]:
    """Bound the frames of ports that take turns by what the others of them may have to send."""
    ports = {
        server: _port(state, server, one.visits, finish)
        for server, ((one, finish),) in analysed.items()
    }
    found = finishes(ports)
    return {
        server: [
            (
                replace(one, finish=float(found[server].max()), load=load(ports, server)),
                found[server],
            )
        ]
        for server, ((one, _),) in analysed.items()
    }


def _port(state: _State, number: int, members: Indices, most: Array) -> Port:
    """Return what comes to a port that takes turns; `most`: its delays whatever others send."""
    visits, server = state.visits, state.servers[number]
    assert server.turn is not None, "its line has turns"
    over = server.turn.overhead
    with np.errstate(invalid="ignore"):
        jitter = state.since[members] - state.least_since[members]
        bursts = state.bursts[members] + state.rates[members] * jitter[:, None]
    stairs = visits.stairs(members, state.rates[members], bursts, state.origin[members] >= 0)
    message = visits.message[members]
    frames, span = visits.frames[members], visits.span[members]
    lines, works = ([of[visit] for visit in members] for of in (visits.line, visits.work))
    pairs = list(zip(lines, works, strict=True))
    # Of work, some may be the frames that take the longest on the line for it, or the shortest.
    per_work = np.array([np.max(line / work) for line, work in pairs])
    held_per_work = np.array([np.max((line + over) / work) for line, work in pairs])
    return Port(
        turn=server.turn,
        stairs=stairs,
        is_alternate=visits.is_alternate[members],
        frames=np.where(stairs.is_whole, frames, message / visits.shortest[members]),
        line=np.where(stairs.is_whole, span, message * per_work),
        held=np.where(stairs.is_whole, span + frames * over, message * held_per_work),
        longest=np.array([line.max() + over for line in lines]),
        last=np.array([line.min() for line in lines]),
        most=most,
        wait=float(visits.wait[members].max()),
        is_ordered=server.is_ordered,
    )


def _arrive(state: _State, members: Indices) -> None:
    """Take over what is known at the visits before."""
    visits = state.visits
    inner = members[visits.parent[members] >= 0]
    parents = visits.parent[inner]
    state.since[inner] = state.since[parents] + state.hop[parents]
    state.least_since[inner] = state.least_since[parents] + visits.least[parents]
    state.origin[inner] = state.origin[parents]
    from_feeder = visits.feeder[inner] == parents
    state.transit[inner] = np.where(from_feeder, 0.0, state.transit[parents] + state.hop[parents])
    state.least_transit[inner] = np.where(
        from_feeder, 0.0, state.least_transit[parents] + visits.least[parents]
    )
    for visit in inner[~np.isfinite(state.since[inner]) | (state.origin[inner] >= 0)].tolist():
        _restart(state, visit)


def _restart(state: _State, visit: int) -> None:
    """Bound a flow behind a server without a bound by what that server sends at most."""
    visits, parent = state.visits, int(state.visits.parent[visit])
    if not np.isfinite(state.since[visit]):
        state.origin[visit] = parent
        state.since[visit] = state.least_since[visit] = 0.0
    origin = int(state.origin[visit])
    sender = state.servers[int(visits.server[origin])]
    rate = sender.line_rate
    here, there = visits.work[visit], visits.line[origin]
    with np.errstate(divide="ignore", invalid="ignore"):
        if visits.emission[visit] == visits.emission[origin]:
            ratio = float(np.max(here / there))
        else:
            ratio = float(visits.message[visit] / there.min())  # a response for each request
    if rate is None or not np.isfinite(ratio):
        state.rates[visit] = state.bursts[visit] = np.inf
        return
    state.rates[visit] = rate * ratio
    state.bursts[visit] = ratio * (visits.longest_on_line(origin) + rate * sender.batch)


def _demand(state: _State, members: Indices, *, has_classes: bool) -> Demand:
    """Return what comes to a class: from each feeder no more than it sends."""
    visits = state.visits
    if not len(members):
        return Demand(line(0.0, 0.0), 0.0, 0.0)
    wait = float(np.max(visits.wait[members])) if has_classes else 0.0
    jitter = state.since[members] - state.least_since[members] + wait
    rates = state.rates[members]
    with np.errstate(invalid="ignore"):
        bursts = state.bursts[members] + rates * jitter[:, None]
    feeders = visits.feeder[members]
    servers = np.where(feeders >= 0, visits.server[feeders], -1)
    lines = np.where(feeders >= 0, state.line[servers], -1)
    curves: list[Concave] = []
    for line_number in np.unique(lines).tolist():
        chosen = lines == line_number
        curve = None
        if np.isfinite(bursts[chosen]).all():
            curve = sum_of_buckets(rates[chosen], bursts[chosen])
        if line_number >= 0:
            feeder = state.servers[int(servers[chosen][0])]
            curve = _on_line(state, members[chosen], curve, feeder, wait)
        if curve is None:
            return Demand(None, *_frames(visits, members), wait=wait)
        curves.append(curve)
    stairs = None
    if has_classes and np.isfinite(bursts).all():
        stairs = visits.stairs(members, rates, bursts, state.origin[members] >= 0)
    return Demand(total(curves), *_frames(visits, members), stairs, wait)


def _frames(visits: Visits, members: Indices) -> tuple[float, float]:
    return float(visits.shortest[members].min()), float(visits.longest[members].max())


def _on_line(
    state: _State, members: Indices, curve: Concave | None, feeder: Server, wait: float
) -> Concave | None:
    """Return what comes of feeders on one line, where frames follow each other by its rate."""
    visits = state.visits
    rate = feeder.line_rate
    spread = state.transit[members].max() - state.least_transit[members].min() + wait
    if rate is None or not np.isfinite(spread):
        return curve
    spread += feeder.batch
    # Copies that a switch makes, or several stages on one resource, take the work several times.
    feeders, copies = np.unique(visits.feeder[members], return_counts=True)
    ratio = float(visits.ratio[members].max() * copies.max())
    longest = max(visits.longest_on_line(visit) for visit in feeders.tolist())
    burst = ratio * (longest + rate * spread)
    if curve is None:
        return line(rate * ratio, burst)
    return minimum_with_line(curve, rate * ratio, burst)


def _finish(
    state: _State,
    server: Server,
    members: Indices,
    demand: Demand,
    served: Served,
) -> Array:
    """Return the longest time until the service of a frame has ended, for each visit."""
    visits = state.visits
    result = np.full(len(members), np.inf)
    times = served.times
    if server.fault or not len(members):
        return result
    wait = float(np.max(visits.wait[members]))
    if not server.is_ordered:
        if demand.arrivals is not None and times:
            result[:] = min(busy_period(demand.arrivals, time) for time in times) + wait
        return result
    single = visits.is_single[members].all()
    most = float(visits.message[members].sum())
    shortest = visits.shortest[members]
    for frame in np.unique(shortest).tolist():
        bounds = [np.inf]
        if demand.arrivals is not None:
            bounds += [largest_delay(demand.arrivals, time, frame) for time in times]
        if single and served.waiting is not None:
            ahead = np.array([max(most - frame, 0.0)])
            bounds.append(float(served.waiting.of(ahead)[0]) + frame)
        result[shortest == frame] = min(bounds) + wait
    return result
