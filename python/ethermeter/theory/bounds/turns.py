"""Ports that take turns on one line: how long their frames wait for those of the others.

Each port has an opportunity in every round, in which it may send a frame or a few. A frame that is
the first of its queue begins within an access: it may let an opportunity pass, and waits for one
round from there on. While its queue is not empty a port makes one access after the other, and in
each window the others hold the line

- for the frames that they may have by their arrival curves, which include those that waited when
  the window began: none has waited for longer than the bound of its port, and since its queue was
  empty the port has sent as many as it is certain to send in that time,
- and for no more than they may send in one round an access; besides for one frame to which the
  first access defers, and for one in each access that makes an opportunity pass.

The rest of the window is time in which no other port holds the line, bounded for each access, and
the frames of the port itself. These are those that came before the frame in the time in which its
queue is not empty. Where the messages of a flow come one at a time, each when the one before has
left, no more of another such flow go before a message than of its own flow.

What is certain of the waits of one port is assumed for the bounds of the others. They hold
together: the first frame that is later than its bound would have waited for frames which were not
(docs/explanation/bounds.md).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from ethermeter.arguments import Array
from ethermeter.theory.bounds.stairs import ROUNDING, Stairs

_MOST_ROUNDS = 32
_MOST_GROWTH = 16
"""Times the wait without frames that have waited before, at which a wait counts as unbounded."""
_MOST_STEPS = 1000
"""Arrivals in one time in which a queue is not empty."""
_MOST_SENT = 64
"""Frames in one such time for which it is known when each is sent."""
_SETTLED, _MARGIN = 1e-9, 1e-6
"""Relative change at which a wait has settled, and by how much a bound is above it then."""


@dataclass(frozen=True, slots=True)
class Turn:
    """How a port takes turns on a line.

    `idle`: time of an access, at most, in which no other port holds the line. `passing`: for how
    long another port may hold it in an access, so that an opportunity passes. `gap`: time after a
    frame in which the line is not used. `overhead`: for how much longer than its time on the line,
    with the gap, a frame keeps other ports waiting. `frames`: how many the port sends in one access
    if they wait. `others`: how many each other port may send between two of its opportunities, by
    the number of its server.
    """

    idle: float
    passing: float
    gap: float
    overhead: float
    frames: int
    others: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Port:
    """What comes to a port that takes turns, flow by flow: every array has shape (flows,).

    `stairs`: messages in a window. `is_alternate`: whether they come one at a time, each when the
    one before has left. Of a message, `frames`: how many; `line`: its time on the line; `held`: for
    how long it keeps other ports waiting; `longest`: the same of its longest frame. `last`: time on
    the line of the frame of which the delay is wanted. `most`: longest time from the arrival of a
    frame to its end on the line, whatever other ports send; `wait`: time of that until it may be
    sent. `is_ordered`: whether messages are sent in the order of their release.
    """

    turn: Turn
    stairs: Stairs
    is_alternate: npt.NDArray[np.bool_]
    frames: Array
    line: Array
    held: Array
    longest: Array
    last: Array
    most: Array
    wait: float
    is_ordered: bool

    @property
    def longest_line(self) -> float:
        """Time of the longest frame on the line."""
        return float(self.longest.max()) - self.turn.overhead

    @property
    def shortest_held(self) -> float:
        """For how long the shortest frame keeps other ports waiting."""
        return float(self.last.min()) + self.turn.overhead

    @property
    def rates(self) -> Array:
        """Messages of each flow a time, in the long run."""
        found: Array = self.stairs.rates.min(axis=1) / self.stairs.message
        return found


@dataclass(frozen=True, slots=True)
class _Certain:
    """What is certain of the frames of a port.

    `longest`: time from their arrival to their end. `sent`: since the queue was empty, and as long
    as it is not empty again, the time after which one frame is sent, two, and so on; up to the
    longest such time. Empty if that is not known.
    """

    longest: float = 0.0
    sent: tuple[float, ...] = (0.0,)

    def holds(self, other: "_Certain", *, margin: float = 0.0) -> bool:
        """Whether nothing of another one is later than here."""
        if self.sent and not 0 < len(other.sent) <= len(self.sent):
            return False
        pairs = [(self.longest, other.longest), *zip(self.sent, other.sent, strict=False)]
        return all(late <= time * (1 + margin) for time, late in pairs)

    def with_later(self, other: "_Certain", margin: float) -> "_Certain":
        """Return the later times of both, and a margin behind them."""
        sent: tuple[float, ...] = ()
        if self.sent and other.sent:
            pairs = zip_longest(self.sent, other.sent, fillvalue=0.0)
            sent = tuple([max(pair) * margin for pair in pairs])
        return _Certain(max(self.longest, other.longest) * margin, sent)


def finishes(ports: Mapping[int, Port]) -> dict[int, Array]:
    """Return the longest time from the arrival of a frame to its end, by server and flow.

    `ports`: those of one line that send, by the number of their servers.
    """
    certain = dict.fromkeys(ports, _Certain())
    limits = {
        server: _MOST_GROWTH * float(_Window(ports, server, certain, np.inf).finish().max())
        for server in ports
    }
    for _ in range(2):  # those that still grow after the first time count as unbounded
        for _ in range(_MOST_ROUNDS):
            windows = {server: _Window(ports, server, certain, limits[server]) for server in ports}
            found = {
                server: np.minimum(port.most, port.wait + windows[server].finish())
                for server, port in ports.items()
            }
            after = {
                server: _Certain(float(times.max()), windows[server].sent())
                for server, times in found.items()
            }
            growing = {server for server in ports if not certain[server].holds(after[server])}
            if not growing:
                return found
            has_settled = all(certain[each].holds(after[each], margin=_SETTLED) for each in ports)
            margin = 1 + _MARGIN if has_settled else 1.0
            certain = {each: certain[each].with_later(after[each], margin) for each in ports}
        certain |= dict.fromkeys(growing, _Certain(np.inf, ()))
    return {server: port.most for server, port in ports.items()}


def load(ports: Mapping[int, Port], server: int) -> float:
    """Return the share of time that frames of a port, and what may go between them, take."""
    return _load(ports, server, ports[server].rates)


def _load(ports: Mapping[int, Port], server: int, rates: Array) -> float:
    """Return the share of time of messages of a port at some rates, and of what goes between."""
    port, turn = ports[server], ports[server].turn
    accesses = float(rates @ port.frames) / turn.frames
    share = float(rates @ port.line) + accesses * (turn.idle - turn.gap)
    rest = 0.0
    for number, other in ports.items():
        if number != server:
            offered = float(other.rates @ other.held)
            limited = min(offered, accesses * turn.others[number] * float(other.longest.max()))
            share += limited
            rest += offered - limited if offered > limited else 0.0
    return share + min(rest, accesses * turn.passing)


class _Window:
    """Windows in which a port has frames, by what is certain of the other ports.

    Those longer than `limit` count as infinite.
    """

    def __init__(
        self,
        ports: Mapping[int, Port],
        server: int,
        certain: Mapping[int, _Certain],
        limit: float,
    ) -> None:
        self._ports, self._server, self._port, self._limit = ports, server, ports[server], limit
        self._own_wait = certain[server].longest
        self._others = _Others(ports, server, certain)

    def sent(self) -> tuple[float, ...]:
        """Return the times after which frames are sent, while the queue is not empty."""
        port, found = self._port, list[float]()
        for frames in range(1, _MOST_SENT):
            line = port.longest_line
            end = self._start(_always((frames, (frames - 1) * line))) + line + port.wait
            came = float(port.stairs.messages(np.full(len(port.last), end)) @ port.frames)
            found.append(end)
            if came <= frames + ROUNDING:
                return tuple(found)
        return ()

    def finish(self) -> Array:
        """Return the longest times from the arrival of a frame to its end, shape (flows,)."""
        one_by_one = np.array([self._of_flow(flow) for flow in range(len(self._port.last))])
        if not self._port.is_ordered:
            return one_by_one
        found: Array = np.minimum(self._in_order(), one_by_one)
        return found

    def _in_order(self) -> Array:
        """Return them by the frames that came before while the queue was not empty."""
        port = self._port
        result = np.zeros(len(port.last))
        if not load(self._ports, self._server) < 1 - _SETTLED:
            return result + np.inf
        for begin, end, counts in _arrivals(port.stairs, 16 * port.turn.idle):
            frames, line = float(counts @ port.frames), float(counts @ port.line)
            free = 0.0
            for last in np.unique(port.last).tolist():
                ahead = _always((frames, max(line - last, 0.0)))
                finish = self._start(ahead) + last - port.turn.gap
                chosen = port.last == last
                result[chosen] = np.maximum(result[chosen], finish - begin)
                free = max(free, finish)
            if end > free:
                return result
        return result + np.inf

    def _of_flow(self, flow: int) -> float:
        """Return the longest time of a flow, whatever order its messages and others have.

        Since a time at which none of its messages was there.
        """
        port = self._port
        is_alternate = port.is_alternate & port.is_alternate[flow]
        rates = np.where(is_alternate, np.minimum(port.rates, port.rates[flow]), port.rates)
        if not _load(self._ports, self._server, rates) < 1 - _SETTLED:
            return np.inf
        last, result = float(port.last[flow]), 0.0
        for begin, end, counts in _arrivals(port.stairs.of(flow), 16 * port.turn.idle):
            messages = float(counts[0])
            limits = np.where(is_alternate, np.ceil(messages - ROUNDING), np.inf)

            def ahead(time: float, limits: Array = limits, messages: float = messages) -> _Ahead:
                found = port.stairs.messages(np.full(len(limits), time + self._own_wait))
                counts = np.minimum(found, limits)
                counts[flow] = messages
                line = float(counts @ port.line) - last
                return float(counts @ port.frames), max(line, 0.0)

            finish = self._start(ahead) + last - port.turn.gap
            result = max(result, finish - begin)
            if not end <= finish:
                return result
        return np.inf

    def _start(self, ahead: "Callable[[float], _Ahead]") -> float:
        """Return when a frame begins at most, since the begin of a window.

        `ahead`: frames of the port up to this one, and time on the line of those before, by the
        length of the window.
        """
        turn, time = self._port.turn, 0.0
        while True:
            frames, line = ahead(time)
            if not frames + line < np.inf or time > self._limit:
                return np.inf
            accesses = max(int(np.ceil(frames - ROUNDING)) - 1, 0) // turn.frames + 1
            alone = accesses * turn.idle - (accesses - 1) * turn.gap + line
            after = alone + self._others.held(time, accesses)
            if after <= time:
                return time
            if after <= time * (1 + _SETTLED):
                after *= 1 + _MARGIN
            time = after


class _Others:
    """All ports but one, in the windows of that one.

    When a window begins, a frame of a port has waited for the longest time at most. Or its queue
    has not been empty for less than it takes to send one frame more than it has sent: a case for
    each number of frames sent. An element is a flow in a case; those of a case follow each other,
    the longest frames first.
    """

    def __init__(
        self, ports: Mapping[int, Port], server: int, certain: Mapping[int, _Certain]
    ) -> None:
        turn = ports[server].turn
        self._passing = turn.passing
        others = [number for number in ports if number != server]
        self._count = len(others)
        cases: list[tuple[int, float, int]] = []  # port, time since, frames sent
        self._first = []  # of each port, among the cases by frames sent
        for number in others:
            self._first.append(len(cases))
            sent = certain[number].sent or (np.inf,)
            cases += [(number, since, count) for count, since in enumerate(sent)]
        cases += [(number, certain[number].longest, 0) for number in others]
        self._longest = np.array([float(ports[number].longest.max()) for number in others])
        self._spared = np.array([sent * ports[number].shortest_held for number, _, sent in cases])
        orders = {number: np.argsort(-ports[number].longest, kind="stable") for number in others}
        flows = [len(orders[number]) for number, _, _ in cases]
        self._starts = np.cumsum([0, *flows])[:-1]
        self._case = np.repeat(np.arange(len(cases)), flows)
        self._since = np.repeat([since for _, since, _ in cases], flows)
        self._limit = np.repeat([turn.others[number] for number, _, _ in cases], flows)

        def elements(values: Callable[[Port], Array], shape: tuple[int, ...] = ()) -> Array:
            parts = [values(ports[number])[orders[number]] for number, _, _ in cases]
            return np.concatenate([np.zeros((0, *shape)), *parts])

        self._held, self._frames = elements(lambda of: of.held), elements(lambda of: of.frames)
        self._frame = elements(lambda of: of.longest)
        self._stairs = Stairs(
            elements(lambda of: of.stairs.rates, (2,)),
            elements(lambda of: of.stairs.bursts, (2,)),
            elements(lambda of: of.stairs.message),
            elements(lambda of: of.stairs.is_whole.astype(np.float64)) > 0,
        )

    def held(self, window: float, accesses: int) -> float:
        """Return for how long they hold the line in a window of so many accesses."""
        if not self._count:
            return 0.0
        counts = self._stairs.messages(window + self._since)
        of_cases = np.add.reduceat(counts * self._held, self._starts) - self._spared
        limit = accesses * self._limit
        frames = np.minimum(counts * self._frames, limit)
        before = np.cumsum(frames) - frames
        before -= before[self._starts][self._case]
        taken = np.clip(limit - before, 0.0, frames)
        by_rounds = np.add.reduceat(taken * self._frame, self._starts)
        held, limited = self._of_ports(of_cases), self._of_ports(np.minimum(of_cases, by_rounds))
        longest = float(np.max(self._longest, where=limited < held, initial=0.0))
        besides = longest + accesses * min(self._passing, longest)
        return min(float(held.sum()), float(limited.sum()) + besides)

    def _of_ports(self, of_cases: Array) -> Array:
        """Return the most of a port by the frames that it has sent, or less by its longest wait."""
        by_wait = of_cases[-self._count :]
        found: Array = np.minimum(
            np.maximum.reduceat(of_cases[: -self._count], self._first), by_wait
        )
        return found


_Ahead = tuple[float, float]


def _always(ahead: _Ahead) -> Callable[[float], _Ahead]:
    """Return a function that has `ahead` for a window of any length."""
    return lambda _: ahead


def _arrivals(stairs: Stairs, until: float) -> Iterator[tuple[float, float, Array]]:
    """Yield windows within which no whole message comes, one behind the other.

    With each the messages of every flow that come up to its begin; of flows that are not whole,
    those up to its end, which is at most about a message later. `until`: the first ones are
    about as long.
    """
    partial = ~stairs.is_whole
    apart = stairs.message[partial] / stairs.rates[partial].min(axis=1, initial=np.inf)
    step = float(apart.min(initial=np.inf))
    begin = 0.0
    for _ in range(64):
        ends = stairs.steps(until)
        if np.isfinite(step):
            ends = np.union1d(ends, np.arange(step, until, step))
        if len(ends) > _MOST_STEPS:
            return
        for end in [*ends[ends > begin].tolist(), until]:
            came, coming = stairs.messages(np.array([[begin], [end]]))
            yield begin, end, np.where(stairs.is_whole, came, coming)
            begin = end
        until *= 4
