"""Straight lines through points, and rank correlation."""

import math
from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.interval import Estimate, Floats, upper_tail


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
