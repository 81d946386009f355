"""Curves: straight lines through points, rank correlation, and knees."""

import math
from dataclasses import dataclass

import numpy as np

from ethermeter.results.interval import Estimate, Floats, upper_tail


@dataclass(frozen=True, slots=True)
class Line:
    """A least-squares line; `determination` is R squared (1 when the points lie on it)."""

    slope: Estimate
    intercept: Estimate
    determination: float


def line(x: Floats, y: Floats) -> Line:
    """Ordinary least squares with Student's t intervals.

    Raises
    ------
    ValueError
        If there are fewer than three points, or all x are equal, or a value is not finite.

    Source
    ------
    Draper and Smith, Applied Regression Analysis, 1998, sections 1.2 to 1.4.
    """
    if x.shape != y.shape or x.size < 3:
        raise ValueError(f"a line needs at least three points, got {x.size} x and {y.size} y")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a line needs finite points")
    offset = x - x.mean()
    width = float(np.square(offset).sum())
    if width == 0:
        raise ValueError(f"a line needs two different x, got only {x[0]}")
    slope = float((offset * (y - y.mean())).sum()) / width
    intercept = float(y.mean()) - slope * float(x.mean())
    residual = y - intercept - slope * x
    degrees = x.size - 2
    scatter = float(np.square(residual).sum()) / degrees
    total = float(np.square(y - y.mean()).sum())
    return Line(
        slope=Estimate(slope, math.sqrt(scatter / width), float(degrees)),
        intercept=Estimate(
            intercept,
            math.sqrt(scatter * (1 / x.size + float(x.mean()) ** 2 / width)),
            float(degrees),
        ),
        determination=1 - scatter * degrees / total if total > 0 else 1.0,
    )


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho, and the probability of one as negative if the ranks were unrelated."""

    rho: float
    falling_probability: float


def rank_correlation(x: Floats, y: Floats) -> RankCorrelation:
    """Spearman's rank correlation, ties at their mean rank, with the probability from Student's t.

    Source
    ------
    Kendall and Gibbons, Rank Correlation Methods, 1990, section 4.18 (t approximation; good from
    about ten points).
    """
    if x.shape != y.shape or x.size < 3:
        raise ValueError(
            f"a rank correlation needs at least three points, got {x.size} x and {y.size} y"
        )
    first, second = _ranks(x), _ranks(y)
    first, second = first - first.mean(), second - second.mean()
    scale = math.sqrt(float(np.square(first).sum() * np.square(second).sum()))
    if scale == 0:
        return RankCorrelation(0.0, 0.5)
    rho = max(-1.0, min(1.0, float((first * second).sum()) / scale))
    if abs(rho) == 1:
        return RankCorrelation(rho, 0.0 if rho < 0 else 1.0)
    statistic = rho * math.sqrt((x.size - 2) / (1 - rho**2))
    return RankCorrelation(rho, upper_tail(-statistic, x.size - 2))


def _ranks(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


CLEAR = 0.1
"""Distance from which a rise counts as a knee; below, the curve is nearly straight."""


@dataclass(frozen=True, slots=True)
class Knee:
    """A point of a curve, and its distance from the chord as a share of the curve's extent.

    The distance is 0 on a straight line.
    """

    x: float
    y: float
    distance: float


def knee(x: Floats, y: Floats) -> Knee:
    """Return the point farthest from the chord between the curve's first and last point.

    The rule: scale x and y so that both run from 0 to 1 and take the point with the largest
    vertical distance from the straight line between the ends. It needs no threshold and does not
    depend on units. A straight line has no knee: its distance is 0; judge by it. There must be
    three points at least, with increasing x.

    Source
    ------
    Satopaa, Albrecht, Irwin and Raghavan, Finding a "Kneedle" in a Haystack, ICDCS workshops, 2011,
    without smoothing.
    """
    if x.shape != y.shape or x.size < 3:
        raise ValueError(f"a knee needs at least three points, got {x.size} x and {y.size} y")
    if not (np.diff(x) > 0).all():
        raise ValueError("a knee needs increasing x")
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    extent = float(np.ptp(y))
    distance = np.abs(y - chord) / extent if extent > 0 else np.zeros_like(y)
    at = int(np.argmax(distance))
    return Knee(float(x[at]), float(y[at]), float(distance[at]))


def rise(x: Floats, y: Floats) -> Knee | None:
    """Return where a rising curve, such as delay against load, leaves its floor.

    The rule: of the part up to the curve's highest point, the point farthest below the chord
    between its ends, both axes scaled to run from 0 to 1 (`knee`, looking below the chord only).
    What follows the highest point, such as the plateau of full queues, does not show where the rise
    began. None nearer than `CLEAR` to the chord. Points that are not finite are left out; x must
    increase.

    Examples
    --------
    >>> x = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
    >>> rise(x, np.array([1.0, 1.1, 1.2, 1.5, 9.0, 8.9])).x
    0.8
    >>> rise(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])) is None
    True
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if x.size < 3:
        return None
    last = int(np.argmax(y)) + 1
    x, y = x[:last], y[:last]
    if x.size < 3:
        return None
    chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    found = knee(x, np.minimum(y, chord))
    return found if found.distance >= CLEAR else None
