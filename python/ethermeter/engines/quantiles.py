"""Quantiles of a histogram as the core gives it back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

PS_PER_S = 1e12
RANKS = (0.5, 0.9, 0.99, 0.999)
"""Shares of the count at or below each quantile, in the order of `ethermeter.metrics.percentiles`."""


def quantiles(histogram: Sequence[Any] | None) -> tuple[float, ...]:
    """Quantiles at `RANKS`, linear within a bucket, then the upper edge of the last bucket.

    Parameters
    ----------
    histogram
        Columns low and high in ps, and count, of its buckets; None for one without any.

    Returns
    -------
    :
        In s, one more than `RANKS`; NaN where nothing was counted.

    """
    low_ps, high_ps, count = (
        np.asarray(column).astype(np.float64) for column in histogram or ((), (), ())
    )
    if not count.sum():
        return (float("nan"),) * (len(RANKS) + 1)
    upto = np.cumsum(count)
    rank = np.array(RANKS) * upto[-1]
    bucket = np.searchsorted(upto, rank)
    into = (rank - (upto[bucket] - count[bucket])) / count[bucket]
    found_s = (low_ps[bucket] + into * (high_ps[bucket] - low_ps[bucket])) / PS_PER_S
    return (*found_s.tolist(), float(high_ps[-1] / PS_PER_S))
