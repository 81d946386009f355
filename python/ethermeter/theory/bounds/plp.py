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

from collections.abc import Sequence
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


def program_size(flows: Sequence[TreeFlow], path: tuple[int, ...]) -> int:
    """Return about how many rows the linear program of a path has."""
    behind, depth = _tree(flows, path)
    rows = 0
    for one in flows:
        for each in _segments(one, behind, depth):
            rows += len(each.buckets) * (depth[each.path[0]] + 2) ** 2 // 2
    return rows


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
    flows: Sequence[TreeFlow],
    path: tuple[int, ...],
) -> float | None:
    """Return a bound of the delay from the first server of a path to the end of the last service.

    A flow must take the path. The network must be free of cycles. Flows are cut where they leave
    the tree of servers before the last one, and enter it again with their jitter there.
    None if the solver finds no optimum.
    """
    behind, depth = _tree(flows, path)
    segments = [each for one in flows for each in _segments(one, behind, depth)]
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


def _tree(
    flows: Sequence[TreeFlow], path: tuple[int, ...]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the server behind each one in the tree before the last of a path, and its depth."""
    edges: dict[int, list[int]] = {}
    for one in flows:
        for before, after in pairwise(one.path):
            edges.setdefault(after, []).append(before)
    behind = dict(pairwise(path))
    depth = {server: number for number, server in enumerate(reversed(path))}
    waiting = list(path)
    while waiting:
        after = waiting.pop()
        for before in edges.get(after, []):
            if before not in depth:
                behind[before], depth[before] = after, depth[after] + 1
                waiting.append(before)
    return behind, depth


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
