"""Counts by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
from ethermeter.counts import (
    NO_CLOCK_PAIRS,
    NO_FLOWS,
    NO_NODES,
    NO_PORTS,
    Buckets,
    Counts,
    Integers,
    MediumCounts,
    StationCounts,
)


def integers(*values: int) -> Integers:
    """Counts of entities."""
    return np.array(values, np.int64)


def exact(*values: int) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Python integers of any size."""
    return np.array(values, np.object_)


def buckets(*rows: tuple[int, int, int]) -> Buckets:
    """A histogram of one entity from the low and the high edge and the count of each bucket."""
    low_ps, high_ps, count = np.array(rows, np.int64).reshape(-1, 3).T
    return Buckets(np.zeros(len(rows), np.int64), low_ps, high_ps, count)


def squares(count: int, mean: int, sd: int) -> int:
    """Return the sum of squares of so many values with this mean and sample standard deviation."""
    return (count - 1) * sd**2 + count * mean**2


def of_segment(stations: StationCounts, medium: MediumCounts, *, window_ps: int) -> Counts:
    """Return the counts of a segment."""
    return Counts(
        window_ps=window_ps,
        events=int(sum(stations.frames + stations.collisions)),
        media=(medium,),
        stations=stations,
        flows=NO_FLOWS,
        ports=NO_PORTS,
        nodes=NO_NODES,
        clock_pairs=NO_CLOCK_PAIRS,
        cautions=(),
    )


def changed(counts: Counts, **stations: Any) -> Counts:
    """Return the counts with other counts of stations."""
    return replace(counts, stations=replace(counts.stations, **stations))
