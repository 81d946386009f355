"""Rules: how several studies decide their claims, and what they read off curves."""

from collections.abc import Sequence

import numpy as np

from ethermeter.analysis.verdicts import Decision, decision, every
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, average, ratio
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.judging import Entry, Finding


def value(entry: Entry, results: Results) -> Finding:
    """Find the estimate of the entry's metric at its point, times its scale."""
    found = results.at(entry.series, entry.point()).estimate(Metric(entry.text("metric")))
    return Finding(found.scaled(entry.number("scale", 1.0)))


def crossing(x: Floats, y: Floats, level: float) -> float:
    """Where a curve first passes a level from below, on the straight line between two points.

    `x`: increasing, shape `(points,)`. `y`: shape `(points,)`. `level`: what is passed.

    Examples
    --------
    >>> crossing(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.4]), 0.1)
    2.25
    """
    above = np.nonzero(y >= level)[0]
    if above.size == 0 or above[0] == 0:
        raise MissingError(f"the curve does not pass {level:g} within its points")
    after = int(above[0])
    share = (level - y[after - 1]) / (y[after] - y[after - 1])
    return float(x[after - 1] + share * (x[after] - x[after - 1]))


def takeoff(x: Floats, y: Floats) -> float:
    """Where a curve that is flat at first takes off.

    Its steepest step, drawn down to its first value.

    `x`: increasing; at least three points, shape `(points,)`. `y`: shape `(points,)`.

    Examples
    --------
    >>> takeoff(np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 5.0, 6.0, 10.0]))
    2.75
    """
    if x.size < 3:
        raise MissingError("a knee needs at least three points")
    slopes = np.diff(y) / np.diff(x)
    at = int(np.argmax(slopes))
    if slopes[at] <= 0:
        raise MissingError("the curve does not rise")
    return float(x[at] - (y[at] - y[0]) / slopes[at])


def bend(x: Sequence[float], y: Sequence[Estimate]) -> Estimate:
    """Slope of a curve's upper half over that of its lower half.

    1 on a straight line; with many points from 0 on, 3 on a square and 0.4 on a square root. `x`:
    increasing; at least four points, of which the middle one of an odd number counts for neither
    half. `y`: independent of each other.

    Examples
    --------
    >>> line, square = ([Estimate(x**n, 0.0, 9.0) for x in range(9)] for n in (1, 2))
    >>> [round(bend(range(9), y).value, 2) for y in (line, square)]
    [1.0, 4.33]
    """
    half = len(x) // 2
    if half < 2:
        raise MissingError("a bend needs at least four points")
    lower, upper = (
        _slope(x[kept], y[kept]) for kept in (slice(0, half), slice(len(x) - half, None))
    )
    return ratio(upper, lower)


def _slope(x: Sequence[float], y: Sequence[Estimate]) -> Estimate:
    """Slope of the line of least squares through independent points."""
    offset = np.asarray(x, dtype=np.float64) - np.mean(x)
    weights = offset / np.square(offset).sum() * len(y)
    return average(
        [
            Estimate(weight * of.value, abs(weight) * of.error, of.degrees)
            for weight, of in zip(weights.tolist(), y, strict=True)
        ]
    )


def is_straight(found: Estimate, limit: float) -> Decision:
    """Decide whether a bend is between the inverse of a limit and the limit, by its interval."""
    return every([decision(found, "<=", limit), decision(found, ">=", 1 / limit)])
