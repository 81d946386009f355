"""Staircases: what flows send message by message, and what they leave of a server.

A curve of a token bucket is above the staircase of the messages that it lets pass, by a message
just before each step. Where a frame waits for those that go ahead of it, that message is a wait.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ethermeter.arguments import Array
from ethermeter.theory.bounds.curves import Concave, left_over, total

ROUNDING = 1e-6
"""Share of a message by which rounding errors may miss it."""
_MOST_STEPS = 200
"""Steps of staircases that a residual follows; behind them it follows their token buckets."""


@dataclass(frozen=True, slots=True)
class Stairs:
    """Messages that flows send at most in a closed window, by its length.

    `rates`, `bursts`, shape (flows, 2): token buckets of each flow in work; infinite without.
    `message`, shape (flows,): work of its longest message. `is_whole`: whether what comes of it is
    counted in messages, each of which may be the longest, and not in work.
    """

    rates: Array
    bursts: Array
    message: Array
    is_whole: npt.NDArray[np.bool_]

    def of(self, flow: int) -> "Stairs":
        """Return the staircase of one flow."""
        one = slice(flow, flow + 1)
        return Stairs(self.rates[one], self.bursts[one], self.message[one], self.is_whole[one])

    def messages(self, windows: Array) -> Array:
        """Return the messages of each flow, parts if it is not whole; of the shape of `windows`.

        `windows`: shape (…, flows), or (…, 1) of the same for all.
        """
        with np.errstate(invalid="ignore"):
            work = np.min(self.bursts + self.rates * windows[..., None], axis=-1)
        counts = np.where(np.isfinite(self.bursts).all(axis=1), work, np.inf) / self.message
        found: Array = np.where(self.is_whole, np.floor(counts + ROUNDING), counts)
        return found

    def work(self, windows: Array) -> Array:
        """Return the work of all flows in windows, shape (windows,)."""
        found: Array = self.messages(windows[:, None]) @ self.message
        return found

    def steps(self, until: float) -> Array:
        """Return the windows in which another message comes or a bucket gives way to the other.

        Those above 0 and below `until`, in order. The flows have token buckets.
        """
        found = [np.zeros(0)]
        counts = self.messages(np.array([[0.0], [until]]))
        with np.errstate(divide="ignore", invalid="ignore"):
            for flow in range(len(self.message)):
                rates, bursts = self.rates[flow], self.bursts[flow]
                if self.is_whole[flow]:
                    numbers = np.arange(counts[0, flow] + 1, counts[1, flow] + 1)
                    levels = (numbers * self.message[flow])[:, None]
                    found.append(np.max((levels - bursts) / rates, axis=1))
                else:
                    found.append(np.diff(bursts) / -np.diff(rates))
        every = np.unique(np.concatenate(found))
        return every[(every > 0) & (every < until)]


@dataclass(frozen=True, slots=True)
class Ahead:
    """What goes ahead of a class of a server in a window: the least of a curve and a staircase."""

    curve: Concave
    stairs: Stairs | None = None

    def work(self, windows: Array) -> Array:
        """Return the work that comes in closed windows."""
        found = self.curve.of(windows)
        return found if self.stairs is None else np.minimum(found, self.stairs.work(windows))


def residual(ahead: Sequence[Ahead], blocking: float) -> Concave | None:
    """Return the time to serve work behind others that go ahead of it, at rate 1.

    A frame with work x before it starts at the first u with u − ahead(u) ≥ x + blocking. The
    result is concave: the least such curve above these times as far as staircases are followed.
    None if those ahead leave nothing.
    """
    by_curves = left_over(total([each.curve for each in ahead]), blocking)
    stairs = [each.stairs for each in ahead if each.stairs is not None]
    if by_curves is None or not any(one.is_whole.any() for one in stairs):
        return by_curves
    until = _followed(stairs, by_curves)
    at, come, left = _pieces(ahead, until)
    work, start = _starts(at, at[:-1] - come, at[1:] - left, blocking)
    last = max(float(np.max(at[1:] - left)) - blocking, 0.0)
    behind = by_curves.at[by_curves.at > last]
    work = np.concatenate([work, [last], behind])
    start = np.concatenate([start, by_curves.of(np.append(last, behind))])
    return _hull(work, start, by_curves.slope)


def _followed(stairs: Sequence[Stairs], by_curves: Concave) -> float:
    """Return the window up to which staircases are followed: several times the longest wait."""
    steps_per_time = sum(float((one.rates.min(axis=1) / one.message).sum()) for one in stairs)
    at_once = float(by_curves.value[0])
    most = _MOST_STEPS / steps_per_time if steps_per_time else np.inf
    return float(min(16 * at_once, max(most, at_once)))


def _pieces(ahead: Sequence[Ahead], until: float) -> tuple[Array, Array, Array]:
    """Return windows between which all that goes ahead grows linearly, and how much has come.

    Behind each of the windows but the last, and before each but the first.
    """
    knots = [np.array([0.0, until])]
    for each in ahead:
        knots.append(each.curve.at)
        if each.stairs is not None:
            knots.append(each.stairs.steps(until))
    at = np.unique(np.concatenate(knots))
    at = at[(at >= 0) & (at <= until)]
    crossings = [at]
    for each in ahead:
        if each.stairs is not None:
            (low, high), (begin, end) = (_ends(of, at) for of in (each.curve.of, each.stairs.work))
            before, after = begin - low, end - high
            crosses = before * after < 0
            share = before[crosses] / (before - after)[crosses]
            crossings.append(at[:-1][crosses] + share * np.diff(at)[crosses])
    at = np.unique(np.concatenate(crossings))
    come, left = np.array([_ends(each.work, at) for each in ahead]).sum(axis=0)
    return at, come, left


def _ends(work: Callable[[Array], Array], at: Array) -> tuple[Array, Array]:
    """Return what comes behind the begin and before the end of intervals in which it is linear."""
    begin, middle = work(at[:-1]), work((at[:-1] + at[1:]) / 2)
    return begin, 2 * middle - begin


def _starts(at: Array, begin: Array, end: Array, blocking: float) -> tuple[Array, Array]:
    """Return knots of the times at which frames start, by the work ahead of them.

    `begin`, `end`: what is left of the server behind the begin, and before the end, of each
    interval between the windows `at`, where it grows linearly.
    """
    highest = np.maximum.accumulate(np.concatenate([[blocking], end[:-1]]))
    is_new = end > highest
    begin, end, highest = begin[is_new], end[is_new], highest[is_new]
    first, last = at[:-1][is_new], at[1:][is_new]
    low = np.maximum(begin, highest)
    reached = first + (low - begin) / (end - begin) * (last - first)
    return (
        np.stack([low, end], axis=1).ravel() - blocking,
        np.stack([reached, last], axis=1).ravel(),
    )


def _hull(x: Array, y: Array, slope: float) -> Concave:
    """Return the least concave curve above points, which grows with `slope` behind them."""
    order = np.lexsort((y, x))
    kept: list[tuple[float, float]] = []
    for point in zip(x[order].tolist(), y[order].tolist(), strict=True):
        while kept and (kept[-1][0] == point[0] or (len(kept) > 1 and _is_below(kept, point))):
            kept.pop()
        kept.append(point)
    while len(kept) > 1:
        (before, low), (last, high) = kept[-2:]
        if high - low >= slope * (last - before):
            break
        kept.pop()
    return Concave(np.array([one for one, _ in kept]), np.array([one for _, one in kept]), slope)


def _is_below(kept: Sequence[tuple[float, float]], point: tuple[float, float]) -> bool:
    """Whether the last of kept points is on or below the line from the one before to a point."""
    (before, low), (middle, between) = kept[-2:]
    return (between - low) * (point[0] - before) <= (point[1] - low) * (middle - before)
