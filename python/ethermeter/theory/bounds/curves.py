"""Concave piecewise-linear curves: arrival curves, and times to serve an amount of work.

An arrival curve bounds the work that arrives in any window by the window's length. A service curve
that is convex has a concave inverse, the time to serve an amount of work. So one type serves both.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array

RELATIVE = 1e-12
"""Relative rounding errors below this make no load exceed a capacity."""


@dataclass(frozen=True, slots=True)
class Concave:
    """A non-decreasing concave curve on x ≥ 0, right-continuous at 0.

    `at`: its knots, the first one 0, shape (knots,); `value`: its values there; `slope`: its slope
    behind the last knot.
    """

    at: Array
    value: Array
    slope: float

    def of(self, x: Array) -> Array:
        """Return the values at `x`, any shape."""
        inside: Array = np.interp(x, self.at, self.value)
        behind: Array = np.maximum(x - self.at[-1], 0.0) * self.slope
        return inside + behind

    def delayed(self, jitter: float) -> "Concave":
        """Return the curve of what arrives within `jitter` of it: x ↦ curve(x + jitter)."""
        if jitter == 0:
            return self
        later = self.at > jitter
        at = np.concatenate([[0.0], self.at[later] - jitter])
        value = np.concatenate([self.of(np.array([jitter])), self.value[later]])
        return Concave(at, value, self.slope)

    def inverse(self, values: Array) -> Array:
        """Return the least x at which the curve has reached each value; infinite if never."""
        behind = values - self.value[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            further = np.where(behind > 0, self.at[-1] + behind / self.slope, 0.0)
        # Where the curve is flat, np.interp would return the last of several x.
        rising = np.concatenate([[True], np.diff(self.value) > 0])
        return np.where(behind > 0, further, np.interp(values, self.value[rising], self.at[rising]))


def line(rate: float, burst: float) -> Concave:
    """Return the curve of a token bucket: burst + rate · x."""
    return Concave(np.zeros(1), np.array([float(burst)]), float(rate))


def sum_of_buckets(rates: Array, bursts: Array) -> Concave:
    """Return the sum over flows of the least of each one's token buckets.

    `rates`, `bursts`: shape (flows, 2), the first bucket of a flow with the higher rate and the
    smaller burst; both alike if it has one.
    """
    slower = rates[:, 0] > rates[:, 1]
    start, slope = float(bursts[:, 0].sum()), float(rates[:, 0].sum())
    if not slower.any():
        return line(slope, start)
    less = rates[slower, 0] - rates[slower, 1]
    cross = np.maximum((bursts[slower, 1] - bursts[slower, 0]) / less, 0.0)
    order = np.argsort(cross, kind="stable")
    cross, slopes = cross[order], slope - np.cumsum(less[order])
    at = np.concatenate([[0.0], cross])
    steps = np.diff(at) * np.concatenate([[slope], slopes[:-1]])
    return Concave(at, start + np.concatenate([[0.0], np.cumsum(steps)]), max(slopes[-1], 0.0))


def minimum_with_line(curve: Concave, rate: float, burst: float) -> Concave:
    """Return the lower one of a curve and of a line."""
    bound = burst + rate * curve.at
    above = curve.value > bound
    if not above.any():
        if curve.slope <= rate:
            return curve
        last = (burst + rate * curve.at[-1] - curve.value[-1]) / (curve.slope - rate)
        cross = curve.at[-1] + last
        return Concave(
            np.append(curve.at, cross), np.append(curve.value, burst + rate * cross), rate
        )
    # The difference is concave: the line is lower on one interval, from `begin` to `end`.
    first, final = int(np.argmax(above)), len(above) - 1 - int(np.argmax(above[::-1]))
    at, value = list(curve.at[:first]), list(curve.value[:first])
    if first > 0:
        at.append(_crossing(curve, first - 1, rate, burst))
        value.append(burst + rate * at[-1])
    else:
        at.append(0.0)
        value.append(burst)
    slope = rate
    if final + 1 < len(above) or curve.slope < rate:
        at.append(_crossing(curve, final, rate, burst))
        value.append(burst + rate * at[-1])
        at.extend(curve.at[final + 1 :])
        value.extend(curve.value[final + 1 :])
        slope = curve.slope
    return Concave(np.array(at), np.array(value), slope)


def _crossing(curve: Concave, knot: int, rate: float, burst: float) -> float:
    """Return where the curve's segment behind a knot crosses the line."""
    if knot + 1 < len(curve.at):
        slope = (curve.value[knot + 1] - curve.value[knot]) / (curve.at[knot + 1] - curve.at[knot])
    else:
        slope = curve.slope
    distance = burst + rate * curve.at[knot] - curve.value[knot]
    return float(curve.at[knot] + distance / (slope - rate))


def total(curves: Iterable[Concave]) -> Concave:
    """Return the sum of curves; zero if there is none."""
    every = list(curves)
    if len(every) == 1:
        return every[0]
    if not every:
        return line(0.0, 0.0)
    at = np.unique(np.concatenate([curve.at for curve in every]))
    value = np.sum([curve.of(at) for curve in every], axis=0)
    return Concave(at, value, sum(curve.slope for curve in every))


def time_to_serve(service: Iterable[tuple[float, float]]) -> Concave:
    """Return the time in which work is served at least, from (rate, latency) of a service curve.

    The service curve is the largest of rate · (t − latency)⁺; its inverse is the least of
    latency + work / rate.
    """
    lines = sorted(service, key=lambda each: each[1])
    result = line(1.0 / lines[0][0], lines[0][1])
    for rate, latency in lines[1:]:
        result = minimum_with_line(result, 1.0 / rate, latency)
    return result


def largest_delay(arrivals: Concave, time: Concave, frame: float = 0.0) -> float:
    """Return the largest time from the arrival of a frame to the end of its service.

    The frame of work `frame` starts when all work before it is served, and is then served without
    interruption: sup over t of time(arrivals(t) − frame) − t, plus frame. With `frame` 0 it is the
    horizontal deviation of fluid arrivals. Infinite if the queue is not stable.
    """
    if arrivals.slope * time.slope > 1 + RELATIVE:
        return np.inf
    knots = arrivals.inverse(time.at + frame)
    at = np.concatenate([arrivals.at, knots[np.isfinite(knots)]])
    ahead = np.maximum(arrivals.of(at) - frame, 0.0)
    return float(np.max(time.of(ahead) - at)) + frame


def busy_period(arrivals: Concave, time: Concave) -> float:
    """Return the longest time until everything that has arrived is served; infinite if never."""
    if arrivals.slope * time.slope >= 1 - RELATIVE:
        return np.inf
    knots = arrivals.inverse(time.at)
    at = np.unique(np.concatenate([arrivals.at, knots[np.isfinite(knots)]]))
    over = time.of(arrivals.of(at)) - at
    last = int(np.flatnonzero(over >= 0)[-1]) if (over >= 0).any() else -1
    if last < 0:
        return 0.0
    if last + 1 < len(at):
        fall = (over[last] - over[last + 1]) / (at[last + 1] - at[last])
    else:
        fall = 1 - arrivals.slope * time.slope
    return float(at[last] + over[last] / fall)


def left_over(above: Concave, blocking: float) -> Concave | None:
    """Return the time to serve work behind arrivals that go before it, at rate 1.

    A frame with work x ahead of it starts at the first u with u − above(u) ≥ x + blocking.
    None if the arrivals above leave nothing.
    """
    if above.slope >= 1 - RELATIVE:
        return None
    free = above.at - above.value
    lowest = int(np.argmin(free))
    at, free = above.at[lowest:], free[lowest:]
    rest = 1 - above.slope
    ahead = free - blocking
    behind = ahead > 0
    if blocking >= free[-1]:
        begin = at[-1] + (blocking - free[-1]) / rest
    else:
        begin = float(np.interp(blocking, free, at))
    return Concave(
        np.concatenate([[0.0], ahead[behind]]), np.concatenate([[begin], at[behind]]), 1 / rest
    )
