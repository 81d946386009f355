"""Estimates: a value with its standard error and degrees of freedom, or its interval."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
"""Confidence of every interval in this package."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """A value with its 95% interval."""

    value: float  # The value
    # error, degrees: Its standard error and degrees of freedom; NaN where nothing is known about
    # them
    error: float
    degrees: float
    cautions: tuple[str, ...] = ()  # Words of `ethermeter.metrics.Caution`
    # Lower and upper end of an interval that is not symmetrical about the value; None of Student's
    # t interval, which follows from `error` and `degrees`
    ends: tuple[float, float] | None = None

    def __repr__(self) -> str:
        interval = f", {self.low:.4g} to {self.high:.4g}" if self.has_interval else ""
        doubts = f"; {' '.join(self.cautions)}" if self.cautions else ""
        return f"Estimate({self.value:.4g}{interval}{doubts})"

    @property
    def half_width(self) -> float:
        """Half of the 95% interval, or its longer side; NaN if there is none."""
        if self.ends is None:
            return self.error * quantile(self.degrees)
        return max(self.value - self.ends[0], self.ends[1] - self.value)

    @property
    def low(self) -> float:
        """Lower end of the 95% interval; NaN if there is none."""
        return self.value - self.half_width if self.ends is None else self.ends[0]

    @property
    def high(self) -> float:
        """Upper end of the 95% interval; NaN if there is none."""
        return self.value + self.half_width if self.ends is None else self.ends[1]

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return math.isfinite(self.half_width)

    def scaled(self, factor: float) -> "Estimate":
        """Return the same in another unit, `factor` of which are one of this; above zero."""
        ends = None if self.ends is None else (self.ends[0] * factor, self.ends[1] * factor)
        return Estimate(self.value * factor, self.error * factor, self.degrees, self.cautions, ends)

    def within(self, least: float, most: float) -> "Estimate":
        """Return the same with an interval that ends where values end.

        For a share that is 0 and 1, for an amount 0 and infinity. The interval holds the value in
        any case; value and error stay as they are.

        Examples
        --------
        >>> Estimate(0.02, 0.02, 9.0).within(0.0, 1.0)
        Estimate(0.02, 0 to 0.06524)
        """
        if not self.has_interval:
            return self
        low = max(self.low, min(least, self.value))
        high = min(self.high, max(most, self.value))
        return self if (low, high) == (self.low, self.high) else replace(self, ends=(low, high))


def exact(value: float) -> Estimate:
    """Return a value known without error, such as one worked out from a standard's constants."""
    return Estimate(value, 0.0, math.inf)


_QUANTILES: dict[float, float] = {}


def quantile(degrees: float) -> float:
    """Student's t that leaves 2.5% above it; NaN for no degrees of freedom.

    The normal's 1.96 for infinitely many.
    """
    if math.isnan(degrees):
        return math.nan
    found = _QUANTILES.get(degrees)
    if found is None:
        found = _QUANTILES[degrees] = float(quantiles(np.asarray([degrees]))[0])
    return found


def quantiles(degrees: Floats) -> Floats:
    """Return `quantile` of every element; shape as given."""
    # On demand: SciPy, which takes long to load, is not wanted before trials begin.
    from scipy.special import stdtrit

    # Beyond 1e6 degrees t and normal agree to six digits, and stdtrit has no infinity.
    known = np.where(degrees > 0, np.minimum(degrees, 1e6), np.nan)
    return np.asarray(stdtrit(known, 0.5 + LEVEL / 2), dtype=np.float64)


def upper_tail(statistic: float, degrees: float) -> float:
    """Probability that Student's t with these degrees of freedom exceeds the statistic."""
    from scipy.special import stdtr

    return float(stdtr(min(degrees, 1e6), -statistic))


def upper_quantile(probability: float, degrees: float) -> float:
    """Student's t below which a probability lies; the normal's for infinitely many degrees."""
    from scipy.special import stdtrit

    return float(stdtrit(min(degrees, 1e6), probability))


def student(samples: Floats) -> Estimate:
    """Mean of independent samples, at least one, with Student's t interval.

    Source
    ------
    Student, Biometrika 6(1), 1908; Law and Kelton, Simulation Modeling and Analysis, section 4.5
    (independent replications).
    """
    if samples.size < 1:
        raise ValueError("samples must be at least one, got none")
    degrees = samples.size - 1
    error = float(np.std(samples, ddof=1)) / math.sqrt(samples.size) if degrees else math.nan
    return Estimate(float(np.mean(samples)), error, float(degrees))


def no_failure(trials: float) -> Estimate:
    """Share of failures where none was seen in independent trials, which need not be whole.

    It is 0, with an upper limit of 95% confidence, 1 - 0.05^(1/trials), which is about 3/trials
    (the rule of three); no interval without a trial. Where failures come in bursts of b on average,
    the limit is about b times as high; without a single failure the length of bursts is unknown.

    Source
    ------
    Hanley and Lippman-Hand, JAMA 249(13), 1983; Clopper and Pearson, Biometrika 26(4), 1934,
    one-sided.
    """
    ends = (0.0, -math.expm1(math.log(1 - LEVEL) / trials)) if trials > 0 else None
    return Estimate(0.0, math.nan, math.nan, ends=ends)


def no_success(trials: float) -> Estimate:
    """Share of failures where every trial failed: 1, with the lower limit 0.05^(1/trials).

    The assumptions are those of `no_failure`.
    """
    ends = (1 - no_failure(trials).high, 1.0) if trials > 0 else None
    return Estimate(1.0, math.nan, math.nan, ends=ends)


def no_event(exposure: float) -> Estimate:
    """Rate of Poisson events where none was seen: 0, with the upper limit -ln(0.05)/exposure.

    The confidence is 95%; no interval without exposure, which is in the unit over which events are
    counted: trials for a count by trial, frames for a count by frame. Where events come in bursts
    of b on average, the limit is about b times as high.

    Source
    ------
    Garwood, Biometrika 28(3/4), 1936, one-sided.
    """
    ends = (0.0, -math.log(1 - LEVEL) / exposure) if exposure > 0 else None
    return Estimate(0.0, math.nan, math.nan, ends=ends)


def pooled_degrees(
    first: Estimate, second: Estimate, *, weights: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Degrees of freedom of a weighted sum of two independent estimates.

    Welch 1947, Satterthwaite 1946.
    """
    pair = zip(weights, (first, second), strict=True)
    return _degrees([((weight * part.error) ** 2, part.degrees) for weight, part in pair])


def _degrees(parts: list[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of independent parts, given by variance and degrees."""
    total = sum(variance for variance, _ in parts)
    if math.isnan(total):
        return math.nan
    if total == 0:
        return math.inf
    below = sum(variance**2 / degrees for variance, degrees in parts if variance > 0)
    return total**2 / below if below else math.inf


def difference(first: Estimate, second: Estimate) -> Estimate:
    """First minus second, two independent estimates of one unit.

    Student's t interval by Welch and Satterthwaite; if either interval is not symmetrical, the ends
    follow from theirs.

    Source
    ------
    Zou and Donner, Statistics in Medicine 27, 2008, equation 1 (ends of a difference from those of
    its parts).
    """
    error = math.hypot(first.error, second.error)
    found = Estimate(first.value - second.value, error, pooled_degrees(first, second))
    if first.ends is None and second.ends is None:
        return found
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return replace(found, ends=(found.value - below, found.value + above))


def ratio(first: Estimate, second: Estimate) -> Estimate:
    """First over second, two independent estimates, by the delta method.

    The second's relative error must be small (below about a tenth), so that the ratio is nearly
    linear in it.

    Source
    ------
    Casella and Berger, Statistical Inference, 2002, example 5.5.27.
    """
    if second.value == 0:
        return Estimate(math.nan, math.nan, math.nan)
    value = first.value / second.value
    weights = (1 / second.value, -value / second.value)
    error = math.hypot(weights[0] * first.error, weights[1] * second.error)
    return Estimate(value, error, pooled_degrees(first, second, weights=weights))


def paired_ratio(first: Floats, second: Floats) -> Estimate:
    """Ratio of the means of paired samples, by the delta method; shapes `(pairs,)`.

    Source
    ------
    Cochran, Sampling Techniques, 1977, equation 2.46 (without its finite population correction).
    """
    if first.shape != second.shape:
        raise ValueError(
            f"first and second must have as many samples, got {first.size} and {second.size}"
        )
    value = float(first.mean() / second.mean())
    pairs = first.size
    if pairs < 2:
        return Estimate(value, math.nan, 0.0)
    residual = first - value * second
    error = math.sqrt(float(np.square(residual).sum()) / (pairs - 1) / pairs)
    error /= abs(float(second.mean()))
    return Estimate(value, error, float(pairs - 1))


def average(parts: list[Estimate]) -> Estimate:
    """Mean of independent estimates of one unit; ends as of `difference`.

    Degrees of freedom by Welch and Satterthwaite.
    """
    if not parts:
        raise ValueError("parts must be at least one, got none")
    count = len(parts)
    value = sum(part.value for part in parts) / count
    if any(part.ends is not None for part in parts):
        below = math.hypot(*(of.value - of.low for of in parts)) / count
        above = math.hypot(*(of.high - of.value for of in parts)) / count
        return Estimate(value, math.nan, math.nan, ends=(value - below, value + above))
    variances = [((part.error / count) ** 2, part.degrees) for part in parts]
    error = math.sqrt(sum(variance for variance, _ in variances))
    return Estimate(value, error, _degrees(variances))
