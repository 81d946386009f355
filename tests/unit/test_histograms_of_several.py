"""Histograms of several entities at once, against each entity alone."""

import numpy as np
import pytest
from ethermeter.counts import Buckets
from ethermeter.metrics.statistics import merged, merged_by, quantiles, ranked
from hypothesis import given
from hypothesis import strategies as st

# Of each entity: buckets of a width of 8, cut to the least and the largest time at its ends.
times = st.lists(st.lists(st.integers(0, 2000), max_size=30), min_size=1, max_size=6)


def buckets_of(every: list[list[int]]) -> Buckets:
    rows = []
    for entity, of in enumerate(every):
        lows = sorted({time // 8 * 8 for time in of})
        rows += [
            (
                entity,
                max(low, min(of)),
                min(low + 8, max(of) + 1),
                sum(time // 8 * 8 == low for time in of),
            )
            for low in lows
        ]
    return Buckets(*np.array(rows, np.int64).reshape(-1, 4).T)


def chosen(histogram: Buckets, rows: object) -> Buckets:
    columns = (histogram.entity, histogram.low_ps, histogram.high_ps, histogram.count)
    return Buckets(*(column[rows] for column in columns))


@given(times)
def test_quantiles_of_several_are_those_of_each_alone(every):
    histogram = buckets_of(every)
    found = ranked(histogram, len(every)) / 1e12
    for entity in range(len(every)):
        alone = quantiles(chosen(histogram, histogram.entity == entity))
        assert found[entity] == pytest.approx(alone, rel=0, abs=0, nan_ok=True)


@given(times, st.integers(1, 3))
def test_histograms_are_merged_group_by_group(every, groups):
    histogram = buckets_of(every)
    group = histogram.entity % groups
    found = merged_by(group, histogram.low_ps, histogram.high_ps, histogram.count)
    for number in range(groups):
        alone = chosen(histogram, group == number)
        expected = merged(alone.low_ps, alone.high_ps, alone.count)
        of_group = [column[found[0] == number] for column in found[1:]]
        assert [column.tolist() for column in of_group] == [of.tolist() for of in expected]
    assert (np.diff(found[0]) >= 0).all()
