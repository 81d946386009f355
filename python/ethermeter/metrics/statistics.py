"""Statistics that formulas of metrics are made of, over arrays.

The last axis is that of stations or of flows; axes before it are those of trials and batches.
"""

import math
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ethermeter.counts import Buckets, Exact, Floats, Integers, Numbers

PS_PER_S = 1e12
Edges = TypeVar("Edges", Integers, Floats)
RANKS = (0.5, 0.9, 0.99, 0.999)
"""Shares of the count at or below each quantile, in the order of `percentiles`."""


def sample_sd(values: Floats) -> Floats:
    """Sample standard deviation (divisor n - 1) over the last axis; NaN for a single value."""
    if values.shape[-1] < 2:
        return np.full(values.shape[:-1], np.nan)
    deviations = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(
        np.sqrt(np.square(deviations).sum(axis=-1) / (values.shape[-1] - 1)), dtype=np.float64
    )


def weighted_mean(weights: Floats, means: Floats) -> Floats:
    """Mean over all samples of the last axis, from counts and means of stations or flows.

    Those without any samples, or NaN, are left out, whatever their mean; NaN if there are no
    samples at all.
    """
    some = weights > 0
    weights = np.where(some, weights, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            (weights * np.where(some, means, 0.0)).sum(axis=-1) / weights.sum(axis=-1),
            dtype=np.float64,
        )


def jain_index(shares: Floats) -> Floats:
    """Jain's index of the last axis: 1 when all shares are equal, 1/n when one has everything.

    (sum x)^2 / (n sum x^2) of shares that are not negative; NaN where every share is 0.

    Source
    ------
    Jain, Chiu and Hawe, DEC-TR-301, 1984, equation 2.

    Examples
    --------
    >>> float(jain_index(np.array([2.0, 2.0, 2.0, 2.0])))
    1.0
    >>> float(jain_index(np.array([1.0, 0.0, 0.0, 0.0])))
    0.25
    """
    if shares.shape[-1] < 1:
        raise ValueError("shares must be at least one, got none")
    # Scaled first, so that squares of very large or small shares neither overflow nor vanish.
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = shares / shares.max(axis=-1, keepdims=True)
        return np.asarray(
            scaled.sum(axis=-1) ** 2 / (shares.shape[-1] * np.square(scaled).sum(axis=-1)),
            dtype=np.float64,
        )


def sd_of_sums(count: Numbers, total: Numbers, squares: Exact | Floats) -> Floats:
    """Return the sample standard deviation (divisor n - 1) from sums; 0 of one value, NaN of none.

    Of whole values with exact squares the result has all digits, however little the values differ.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if squares.dtype == object:
            return np.asarray(_EXACT_SD(count, total, squares), np.float64)
        n, mean = np.asarray(count, np.float64), total / count
        spread = np.maximum(squares - n * mean**2, 0.0) / (n - 1)
        return np.where(n > 1, np.sqrt(spread), np.where(n == 1, 0.0, np.nan))


def _exact_sd(count: Any, total: Any, squares: Any) -> float:
    n = int(count)
    if n < 2:
        return 0.0 if n else math.nan
    return math.sqrt(max(n * int(squares) - int(total) ** 2, 0) / (n * (n - 1)))


_EXACT_SD = np.frompyfunc(_exact_sd, 3, 1)


def quantiles(histogram: Buckets | None) -> tuple[float, ...]:
    """Quantiles at `RANKS`, linear within a bucket, then the largest value; in s.

    The buckets are those of one entity, or of several together, in rising order; NaN where nothing
    was counted. See `ranked`.
    """
    if histogram is None:
        return (math.nan,) * (len(RANKS) + 1)
    together = replace(histogram, entity=np.zeros_like(histogram.low_ps))
    return tuple((ranked(together, 1)[0] / PS_PER_S).tolist())


def ranked(histogram: Buckets, entities: int) -> Floats:
    """Quantiles of each entity at `RANKS`, then its largest value; in ps, shape `(entities, 5)`.

    The buckets of an entity are in rising order, the first from the least value and the last to the
    largest: quantiles, linear within a bucket, lie never outside the values, and of equal values
    each is that value. NaN where nothing was counted.
    """
    found = np.full((entities, len(RANKS) + 1), math.nan)
    upto = np.cumsum(histogram.count)
    entity = histogram.entity
    first = np.searchsorted(entity, np.arange(entities))
    after = np.searchsorted(entity, np.arange(entities), side="right")
    before = np.concatenate([[0], upto])[first]
    total = np.concatenate([[0], upto])[after] - before
    some = np.flatnonzero(total)
    if not some.size:
        return found
    low_ps, high_ps, count = (
        column.astype(np.float64)
        for column in (histogram.low_ps, histogram.high_ps, histogram.count)
    )
    rank = np.array(RANKS) * total[some, None]
    # Counts are whole: a bucket reaches a rank if it reaches the next whole number.
    bucket = np.searchsorted(upto, before[some, None] + np.ceil(rank).astype(np.int64))
    within = (upto - histogram.count)[bucket] - before[some, None]
    into = (rank - within) / count[bucket]
    largest = np.maximum.reduceat(high_ps, first[some])[:, None] - 1
    # Empty entities have no buckets, so that those of the others follow each other.
    found[some, :-1] = np.minimum(
        low_ps[bucket] + into * (high_ps[bucket] - low_ps[bucket]), largest
    )
    found[some, -1:] = largest
    return found


def pooled(histogram: Buckets) -> Buckets:
    """Return the histogram of all entities together."""
    entity = np.zeros_like(histogram.low_ps)
    return Buckets(*merged_by(entity, histogram.low_ps, histogram.high_ps, histogram.count))


def merged_by(
    group: Integers, low: Integers, high: Integers, count: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return the buckets of each group as `merged` does, in rising order of groups."""
    if not low.size:
        return group, low, high, count
    # Edges by their ranks: groups then stand one after the other without overflow.
    edges = np.unique(np.concatenate([low, high]))
    offset = group * len(edges)
    below, above = (offset + np.searchsorted(edges, of) for of in (low, high))
    order = np.argsort(below, kind="stable")
    below, above = below[order], above[order]
    reach = np.maximum.accumulate(above)
    begin = np.flatnonzero(np.concatenate([[True], below[1:] >= reach[:-1]]))
    most = np.maximum.reduceat(above, begin) % len(edges)
    return group[order][begin], low[order][begin], edges[most], np.add.reduceat(count[order], begin)


def merged(low: Edges, high: Edges, count: Edges) -> tuple[Edges, Edges, Edges]:
    """Return buckets of several histograms in rising order, those that overlap as one.

    Buckets of equal width are equal or apart, but for the first and the last of a histogram, which
    end at its least and its largest value.

    Examples
    --------
    >>> low, high, count = np.array([5, 8, 4]), np.array([8, 12, 8]), np.array([1, 2, 3])
    >>> [values.tolist() for values in merged(low, high, count)]
    [[4, 8], [8, 12], [4, 2]]
    """
    if not low.size:
        return low, high, count
    order = np.argsort(low, kind="stable")
    low, high, count = low[order], high[order], count[order]
    reach = np.maximum.accumulate(high)
    begin = np.flatnonzero(np.concatenate([[True], low[1:] >= reach[:-1]]))
    return low[begin], np.maximum.reduceat(high, begin), np.add.reduceat(count, begin)


def of_entity(histogram: Buckets, entities: int) -> list[Buckets]:
    """Divide a histogram by its entities, which are in rising order."""
    ends = np.searchsorted(histogram.entity, np.arange(entities + 1))
    return [
        Buckets(
            histogram.entity[start:end],
            histogram.low_ps[start:end],
            histogram.high_ps[start:end],
            histogram.count[start:end],
        )
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
