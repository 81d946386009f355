"""PLP: a linear program for the delay of one flow in a tree of FIFO servers.

The unknowns are dates and the amounts of each flow that have come by then. At the last server there
is the departure of the frame of interest. Each server has, for every date of the server behind it,
the date at which what departs then arrived, and one more: the begin of the backlog in which the
earliest of them departs. First in, first out says that every flow has come as far by a date as it
has departed by the date behind it, so that one unknown stands for both. All that servers, sources,
lines and total-flow analysis say of these dates is linear; the largest time between the arrival and
the departure of the frame of interest is the bound.

Source
------
Bouillard, Trade-off between accuracy and tractability of network calculus in FIFO networks,
Performance Evaluation 153, 2022, sections 4 and 5.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import scipy

_MARGIN = 1e-6
"""The solver holds constraints to 10⁻⁷ of its unit; the bound is enlarged by more."""


@dataclass(frozen=True, slots=True)
class TreeServer:
    """A FIFO server, in units in which its line, if any, sends 1.

    `service`: (rate, latency) of its service curve. `line_rate`, `line_burst`: what it sends in a
    window; None without a limit. `packet`: longest frame that may be unfinished at any date.
    `delay`: a bound of its delay, for instance by total-flow analysis. `after`: from the end of its
    service to the arrival at the next server.
    """

    service: tuple[tuple[float, float], ...]
    line_rate: float | None
    line_burst: float
    packet: float
    delay: float
    after: float


@dataclass(frozen=True, slots=True)
class TreeFlow:
    """A flow: (rate, burst) of its token buckets at its source, in units of its own.

    `path`: servers in order; of each, `work` of a unit there, and the `jitter` of its arrival.
    """

    buckets: tuple[tuple[float, float], ...]
    path: tuple[int, ...]
    work: tuple[float, ...]
    jitter: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Segment:
    """A section of a flow's path within the tree, with its buckets there."""

    buckets: tuple[tuple[float, float], ...]
    path: tuple[int, ...]
    work: tuple[float, ...]


class Forest:
    """Flows by the servers of their paths, for the trees of many paths."""

    def __init__(self, flows: Sequence[TreeFlow]) -> None:
        self.flows = flows
        self._before: dict[int, dict[int, None]] = {}
        self._flows_at: dict[int, list[int]] = {}
        for number, one in enumerate(flows):
            for before, after in pairwise(one.path):
                self._before.setdefault(after, {})[before] = None
            for server in one.path:
                self._flows_at.setdefault(server, []).append(number)
        self._visited = np.array([server for one in flows for server in one.path], dtype=np.int64)
        self._begins = np.cumsum([0, *(len(one.path) for one in flows)])[:-1]
        self._buckets = np.array([len(one.buckets) for one in flows], dtype=np.int64)
        self._least: dict[int, int] = {}

    def rows(self, path: tuple[int, ...], *, most: float) -> int | None:
        """Return about how many rows the linear program of a path has, None if more than `most`."""
        if self._least_rows(path[-1]) > most:
            return None
        behind, depth = self.tree(path)
        rows = 0
        for one in self.through(depth):
            for each in _segments(one, behind, depth):
                rows += len(each.buckets) * (depth[each.path[0]] + 2) ** 2 // 2
            if rows > most:
                return None
        return rows

    def _least_rows(self, last: int) -> int:
        """Return how many rows the program of any path to a server has at least.

        Each flow through its tree has a section there, which begins no nearer to the server than
        the flow ever comes.
        """
        found = self._least.get(last)
        if found is None:
            distances, waiting = {last: 0}, deque([last])
            while waiting:
                after = waiting.popleft()
                for before in self._before.get(after, ()):
                    if before not in distances:
                        distances[before] = distances[after] + 1
                        waiting.append(before)
            nowhere = int(self._visited.max()) + 1
            distance = np.full(nowhere, nowhere, dtype=np.int64)
            distance[list(distances)] = list(distances.values())
            nearest = np.minimum.reduceat(distance[self._visited], self._begins)
            there = nearest < nowhere
            rows = self._buckets[there] * (nearest[there] + 2) ** 2 // 2
            found = self._least[last] = int(rows.sum())
        return found

    def tree(self, path: tuple[int, ...]) -> tuple[dict[int, int], dict[int, int]]:
        """Return the server behind each in the tree before the last of a path, and its depth."""
        behind = dict(pairwise(path))
        depth = {server: number for number, server in enumerate(reversed(path))}
        waiting = list(path)
        while waiting:
            after = waiting.pop()
            for before in self._before.get(after, ()):
                if before not in depth:
                    behind[before], depth[before] = after, depth[after] + 1
                    waiting.append(before)
        return behind, depth

    def through(self, servers: Iterable[int]) -> list[TreeFlow]:
        """Return the flows through any of some servers, in their order."""
        numbers = {flow for server in servers for flow in self._flows_at.get(server, ())}
        return [self.flows[number] for number in sorted(numbers)]


@dataclass(frozen=True, slots=True)
class _Units:
    """Units of the unknowns, so that they are about 1: the solver ignores small coefficients."""

    time: float
    amount: float

    @classmethod
    def of(cls, servers: Sequence[TreeServer], path: tuple[int, ...]) -> "_Units":
        time = sum(servers[server].delay for server in path)
        return cls(time, time * max(rate for rate, _ in servers[path[-1]].service))


class _Program:
    """A linear program under construction: unknowns ≥ 0, rows · unknowns ≤ limits."""

    def __init__(self) -> None:
        self.unknowns = 0
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._values: list[float] = []
        self.limits: list[float] = []

    def unknown(self, count: int) -> list[int]:
        """Return new unknowns."""
        self.unknowns += count
        return list(range(self.unknowns - count, self.unknowns))

    def at_most(self, terms: Sequence[tuple[int, float]], limit: float) -> None:
        """Add a constraint: the sum of factors times unknowns is at most the limit."""
        row = len(self.limits)
        for column, value in terms:
            self._rows.append(row)
            self._columns.append(column)
            self._values.append(value)
        self.limits.append(limit)

    def maximum(self, terms: Sequence[tuple[int, float]]) -> float | None:
        """Return the largest sum, or None if the solver finds no optimum."""
        objective = np.zeros(self.unknowns)
        for column, value in terms:
            objective[column] -= value
        shape = (len(self.limits), self.unknowns)
        rows = scipy.sparse.coo_matrix(
            (self._values, (self._rows, self._columns)), shape=shape
        ).tocsr()
        found = scipy.optimize.linprog(objective, A_ub=rows, b_ub=self.limits, method="highs")
        return -float(found.fun) if found.status == 0 else None


def tree_delay(
    servers: Sequence[TreeServer],
    forest: Forest,
    path: tuple[int, ...],
) -> float | None:
    """Return a bound of the delay from the first server of a path to the end of the last service.

    A flow must take the path. The network must be free of cycles. Flows are cut where they leave
    the tree of servers before the last one, and enter it again with their jitter there.
    None if the solver finds no optimum.
    """
    behind, depth = forest.tree(path)
    segments = [each for one in forest.through(depth) for each in _segments(one, behind, depth)]
    units = _Units.of(servers, path)
    program = _Program()
    end = program.unknown(1)
    dates = {server: program.unknown(depth[server] + 2) for server in depth}
    amounts = [program.unknown(depth[one.path[0]] + 2) for one in segments]
    for number in depth:
        server, is_inner = servers[number], number in behind
        departures = dates[behind[number]] if is_inner else end
        after = server.after / units.time if is_inner else 0.0
        _order(program, dates[number], departures, after, server.delay / units.time)
        local = [
            (amount, one.work[one.path.index(number)])
            for one, amount in zip(segments, amounts, strict=True)
            if number in one.path
        ]
        _serve(program, units, server, dates[number], departures, local, is_inner=is_inner)
        if is_inner and server.line_rate is not None:
            _limit(program, units, server, departures, local)
    for one, amount in zip(segments, amounts, strict=True):
        _arrive(program, units, one, amount, dates[one.path[0]])
    longest = program.maximum([(end[0], 1.0), (dates[path[0]][0], -1.0)])
    return None if longest is None else longest * units.time * (1 + _MARGIN)


def _segments(flow: TreeFlow, behind: dict[int, int], depth: dict[int, int]) -> list[_Segment]:
    """Return the sections of a flow within the tree, each with the jitter gathered before."""
    found = []
    begin = 0
    for at, server in enumerate(flow.path):
        is_last = at + 1 == len(flow.path) or behind.get(server) != flow.path[at + 1]
        if server in depth and is_last:
            buckets = tuple(
                (rate, burst + rate * flow.jitter[begin]) for rate, burst in flow.buckets
            )
            hops = slice(begin, at + 1)
            found.append(_Segment(buckets, flow.path[hops], flow.work[hops]))
        if is_last:
            begin = at + 1
    return found


def _order(
    program: _Program, dates: list[int], departures: list[int], after: float, delay: float
) -> None:
    """Let arrivals be in order, and before departures, by the delay of the server at most."""
    for later, earlier in pairwise(dates):
        program.at_most([(earlier, 1.0), (later, -1.0)], 0.0)
    for arrival, departure in zip(dates, departures, strict=False):
        program.at_most([(arrival, 1.0), (departure, -1.0)], -after)
        program.at_most([(departure, 1.0), (arrival, -1.0)], delay + after)


def _serve(
    program: _Program,
    units: _Units,
    server: TreeServer,
    dates: list[int],
    departures: list[int],
    local: list[tuple[list[int], float]],
    *,
    is_inner: bool,
) -> None:
    """Let a server serve since the begin of its backlog."""
    last = len(departures) - 1
    after, packet = (server.after, server.packet) if is_inner else (0.0, 0.0)
    for rate, latency in server.service:
        factor = rate * units.time / units.amount
        terms = [(departures[last], factor), (dates[last + 1], -factor)]
        for amount, work in local:
            terms += [(amount[last + 1], work), (amount[last], -work)]
        program.at_most(terms, (rate * (latency + after) + packet) / units.amount)


def _limit(
    program: _Program,
    units: _Units,
    server: TreeServer,
    departures: list[int],
    local: list[tuple[list[int], float]],
) -> None:
    """Let a server send no faster than its line."""
    assert server.line_rate is not None
    factor = server.line_rate * units.time / units.amount
    for later, earlier in combinations(range(len(departures)), 2):
        terms = [(departures[later], -factor), (departures[earlier], factor)]
        for amount, work in local:
            terms += [(amount[later], work), (amount[earlier], -work)]
        program.at_most(terms, server.line_burst / units.amount)


def _arrive(
    program: _Program, units: _Units, one: _Segment, amount: list[int], dates: list[int]
) -> None:
    """Let a flow come in order, and no more of it than its token buckets let pass."""
    for later, earlier in pairwise(amount):
        program.at_most([(earlier, 1.0), (later, -1.0)], 0.0)
    for later, earlier in combinations(range(len(amount)), 2):
        for rate, burst in one.buckets:
            factor = rate * units.time / units.amount
            terms = [(amount[later], 1.0), (amount[earlier], -1.0)]
            terms += [(dates[later], -factor), (dates[earlier], factor)]
            program.at_most(terms, burst / units.amount)
