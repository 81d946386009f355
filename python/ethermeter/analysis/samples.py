"""Samples: estimates of values that were taken one after the other, from their batches."""

import math
from collections.abc import Sequence

import numpy as np

from ethermeter.metrics import Caution, Metric, percentiles
from ethermeter.results import batches
from ethermeter.results.interval import Estimate, Floats

FEWEST_SAMPLES = 30
"""With fewer samples a value has the caution `few-samples`, and a mean no interval."""
MOST_BATCHES = 20
FEWEST_BATCHES = 5
"""With fewer batches a value has no interval."""
_PERCENT = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9, "max": 100.0}


def exact(value: float, cautions: Sequence[Caution] = ()) -> Estimate:
    """Return a value without an interval; an undefined one has the caution `no-samples`."""
    words = [*cautions, *([Caution.NO_SAMPLES] if math.isnan(value) else [])]
    return Estimate(value, math.nan, math.nan, tuple(map(str, words)))


def ratio(above: Floats, below: Floats, cautions: Sequence[Caution] = ()) -> Estimate:
    """Return the ratio of two sums over batches, with the interval of its batches.

    `above` and `below` have the shape (batches,), in the order of time.
    """
    total = float(below.sum())
    if total == 0:
        return exact(math.nan, cautions)
    value = float(above.sum()) / total
    rest = below.sum() - below
    if len(below) < FEWEST_BATCHES or not (rest > 0).all():
        return exact(value, cautions)
    found = batches.within((above.sum() - above) / rest)
    words = list(cautions)
    if float(found.independent) < batches.FEWEST:
        words.append(Caution.CORRELATED_BATCHES)
    low, high = batches.ends(np.asarray(value), found.error, found.degrees, found.skewness)
    return Estimate(
        value,
        float(found.error),
        float(found.degrees),
        tuple(map(str, words)),
        (float(low), float(high)),
    )


def merged(samples: Floats, count: int = MOST_BATCHES) -> Floats:
    """Return sums over `count` batches of samples in the order of time, as equal as possible."""
    count = min(count, len(samples))
    begins = np.arange(count) * len(samples) // max(1, count)
    return np.add.reduceat(samples, begins) if count else np.empty(0)


def samples_of(
    metric: Metric, samples: Floats, cautions: Sequence[Caution] = ()
) -> dict[Metric, Estimate]:
    """Return the mean of samples in the order of time, with its interval, and percentiles."""
    is_few = len(samples) < FEWEST_SAMPLES
    words = [*cautions, *([Caution.FEW_SAMPLES] if is_few and len(samples) else [])]
    if is_few:
        found = {metric: exact(float(samples.mean()) if len(samples) else math.nan, words)}
    else:
        found = {metric: ratio(merged(samples), merged(np.ones(len(samples))), words)}
    for ranked in percentiles(metric):
        percent = _PERCENT[ranked.rpartition("_")[2]]
        value = float(np.percentile(samples, percent)) if len(samples) else math.nan
        found[ranked] = exact(value, words)
    return found
