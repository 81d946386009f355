"""Rules: how several studies decide their claims, and what they read off curves."""

import numpy as np

from ethermeter.metrics import Metric
from ethermeter.results.interval import Floats
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
