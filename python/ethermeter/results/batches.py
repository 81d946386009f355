"""Batches: the uncertainty of a value of one replication, from batches of its window.

Neighbouring batches may be correlated.

The rule
--------
A value of which a batch is left out changes by that batch's influence; the influences are the
batches' pseudo-values (Tukey), and their scatter is the delete-one jackknife's standard error. It
would be right if batches were independent and their scatter symmetrical. Neither is taken for
granted:

- **Correlation.** Neighbours are merged until 20 to 39 batches are left, and these merged in pairs
  down to at least five. Of the intervals of all these numbers of batches, each with its own
  Student's t, the widest is taken. It is compared besides with that of a first order
  autoregression: the standard error times sqrt((1 + r)/(1 - r)), with r the correlation of
  neighbours, corrected for its bias.
- **Skewness.** A time that is long in a few batches only has a skewed estimate: one that missed
  them is too low, and believes too much in itself. The end of the interval towards which batches
  are skewed is moved outwards as Hall's transformation of Student's t has it.

With fewer than ten batches neither can be judged, and the interval is the plain jackknife's.

Coverage is measured in `tests/truth/test_batch_intervals.py`. Where fewer than five independent
batches are left, the caution `correlated-batches` says so: the window is too short for what happens
in it.

Source
------
Efron and Tibshirani, An Introduction to the Bootstrap, 1993, sections 11.2 and 11.5 (pseudo-values,
jackknife); Law and Kelton, Simulation Modeling and Analysis, section 9.5.3 (batch means);
Tafazzoli, Steiger and Wilson, N-Skart, IEEE Transactions on Automatic Control 56(2), 2011
(adjustments for correlation and skewness of batch means); Hall, Journal of the Royal Statistical
Society B 54(1), 1992, equation 3.6 (skewness), used as by Willink, Communications in Statistics -
Theory and Methods 34(3), 2005.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.results.interval import Floats, quantile, quantiles

USUAL = 20
"""Neighbours are merged to as many batches first, or up to twice as many less one."""
FEWEST = 5
"""No fewer batches are left by merging; with fewer independent ones an interval carries the caution
`correlated-batches`.
"""
_LARGEST_CORRELATION = 0.8


@dataclass(frozen=True, slots=True)
class Within:
    """How sure values of single replications are; arrays of one shape, NaN where unknown."""

    # error, degrees: Standard error in the value's unit, and its degrees of freedom
    error: Floats
    degrees: Floats
    # Of the value as a random variable: third central moment over the cube of the standard error;
    # dimensionless
    skewness: Floats
    independent: Floats  # Effective number of independent batches; NaN where that cannot be judged

    def at(self, row: int) -> "Within":
        """Return the errors of a row."""
        return Within(self.error[row], self.degrees[row], self.skewness[row], self.independent[row])

    def put(self, positions: Any, found: "Within") -> None:
        """Set the elements at some positions."""
        for name in ("error", "degrees", "skewness", "independent"):
            getattr(self, name)[positions] = getattr(found, name)


def unknown(count: int) -> Within:
    """Return errors of `count` replications of which nothing is known."""
    return Within(*(np.full(count, np.nan) for _ in range(4)))


def within(left_out: Floats) -> Within:
    """Find how sure a statistic is from its values with one batch left out at a time.

    `left_out` has the shape `(…, batches)`, in the order of time, with at least two batches; NaN
    makes its row unknown. The result has the shape `(…)`. The statistic must be a smooth function
    of sums over batches, and the window many times as long as anything is remembered in it.
    """
    batches = left_out.shape[-1]
    if batches < 2:
        raise ValueError(f"batches must be at least 2, got {batches}")
    pseudo = (batches - 1) * (left_out.mean(axis=-1, keepdims=True) - left_out)
    influence = _merged(pseudo, batches // max(1, batches // USUAL))
    first = influence.shape[-1]
    judged = first >= 2 * FEWEST
    correlation, skew = (
        (_correlation(influence), _skewness(influence))
        if judged
        else (np.zeros(influence.shape[:-1]),) * 2
    )
    inflation = np.sqrt((1 + correlation) / (1 - correlation))
    half = _half_width(influence) * inflation
    count = first
    while count == first or count >= FEWEST:
        half = np.maximum(half, _half_width(_merged(influence, count)))
        count //= 2
    return Within(
        error=np.asarray(half / quantile(first - 1), dtype=np.float64),
        degrees=np.where(np.isnan(half), np.nan, float(first - 1)),
        skewness=np.asarray(skew * inflation / np.sqrt(first), dtype=np.float64),
        independent=np.where(np.isnan(half) | (not judged), np.nan, first / inflation**2),
    )


def _merged(influence: Floats, count: int) -> Floats:
    """Mean over neighbours so that `count` batches are left, as equal as possible."""
    batches = influence.shape[-1]
    begins = np.arange(count) * batches // count
    sums = np.add.reduceat(influence, begins, axis=-1)
    return np.asarray(sums / np.diff(begins, append=batches), dtype=np.float64)


def _half_width(influence: Floats) -> Floats:
    """Half of Student's t interval of a mean of independent influences."""
    count = influence.shape[-1]
    return np.asarray(
        influence.std(axis=-1, ddof=1) / np.sqrt(count) * quantile(count - 1), dtype=np.float64
    )


def _correlation(influence: Floats) -> Floats:
    """Correlation of neighbours, from 0 to 0.8, corrected for its bias to first order.

    Marriott and Pope, Biometrika 41, 1954.
    """
    apart = influence - influence.mean(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (apart[..., 1:] * apart[..., :-1]).sum(axis=-1) / np.square(apart).sum(axis=-1)
    found = np.nan_to_num(found)
    return np.asarray(
        np.clip(found + (1 + 3 * found) / influence.shape[-1], 0.0, _LARGEST_CORRELATION),
        dtype=np.float64,
    )


def _skewness(influence: Floats) -> Floats:
    """Sample skewness (Joanes and Gill, The Statistician 47, 1998, G1); 0 where nothing varies."""
    count = influence.shape[-1]
    apart = influence - influence.mean(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (apart**3).mean(axis=-1) / np.square(apart).mean(axis=-1) ** 1.5
    return np.asarray(
        np.nan_to_num(found) * np.sqrt(count * (count - 1)) / (count - 2), dtype=np.float64
    )


def ends(value: Floats, error: Floats, degrees: Floats, skewness: Floats) -> tuple[Floats, Floats]:
    """Return the ends of 95% intervals of skewed estimates; arrays of one shape.

    That towards which an estimate is skewed is the farther of Student's t and of Hall's
    transformation of it, the other Student's t.
    """
    t = quantiles(degrees)
    # Below 1e-6 the transformation is the identity, to all digits that matter.
    amount = np.maximum(np.abs(skewness), 1e-6)
    farther = np.maximum(t, -(np.cbrt(1 + amount * (-t - amount / 6)) - 1) * 3 / amount)
    low = value - np.where(skewness < 0, farther, t) * error
    high = value + np.where(skewness > 0, farther, t) * error
    return low, high
