"""Shares: what some stations of a segment get against others of the same trial."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ethermeter.analysis import positions
from ethermeter.entities import points_of
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, paired_ratio
from ethermeter.results.query import MissingError, Results
from ethermeter.scenario import Scenario

Stations = NDArray[np.bool_]
Division = Callable[[Scenario], tuple[Stations, Stations]]


def middle_and_ends(scenario: Scenario) -> tuple[Stations, Stations]:
    """Divide the stations into those on the middle half of the line, and the others.

    The line goes from the first station to the last.
    """
    along = positions.occupied(scenario)
    if along is None:
        raise MissingError("the stations are not along a line")
    first, last = min(along.values()), max(along.values())
    # Four times a whole number of picoseconds, so that a position at exactly a quarter needs no
    # rounding.
    is_middle = {
        at: last - first <= 4 * (position - first) <= 3 * (last - first)
        for at, position in along.items()
    }
    middle = np.array([is_middle[at] for at in points_of(scenario)])
    return middle, ~middle


def larger_and_smaller(scenario: Scenario) -> tuple[Stations, Stations]:
    """Divide the stations into those of the larger and of the smaller attachment point.

    Of two equal ones, the second is the larger.
    """
    attachments = np.array(points_of(scenario))
    found, sizes = np.unique(attachments, return_counts=True)
    if found.size != 2:
        raise MissingError(f"the stations are at {found.size} attachment points, not at two")
    larger = found[1] if sizes[1] >= sizes[0] else found[0]
    return attachments == larger, attachments != larger


def isolated_and_others(scenario: Scenario) -> tuple[Stations, Stations]:
    """Divide the stations into those that are alone at their attachment point and the others."""
    attachments = np.array(points_of(scenario))
    found, sizes = np.unique(attachments, return_counts=True)
    alone = np.isin(attachments, found[sizes == 1])
    if not alone.any() or alone.all():
        raise MissingError("no station is alone, or all are")
    return alone, ~alone


DIVISIONS: dict[str, Division] = {
    "middle": middle_and_ends,
    "larger": larger_and_smaller,
    "isolated": isolated_and_others,
}


def contrast_of(results: Results, metric: Metric, division: str) -> Estimate:
    """Return the ratio of the first group's mean to the second's at a point.

    Over the stations that have a value. Both groups share a trial, so the replications are pairs.
    """
    divided = DIVISIONS[division](results.scenario)
    means = np.array(
        [_means(results.each(metric, at), divided, metric) for at in range(results.replications)]
    )
    first, second = means.T
    if not (first.mean() > 0 and second.mean() > 0):
        raise MissingError(f"{metric.value} of one of the two groups is zero, and has no ratio")
    return paired_ratio(first, second)


def _means(values: Floats, groups: tuple[Stations, Stations], metric: Metric) -> list[float]:
    known = [values[group & np.isfinite(values)] for group in groups]
    if not all(of.size for of in known):
        raise MissingError(f"no {metric.value} of one of the two groups, which delivered nothing")
    return [float(of.mean()) for of in known]


def combinations(where: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return every point that has one of the values of each key, the last key changing fastest.

    Examples
    --------
    >>> combinations({"a": ["1", "2"], "b": ["x"]})
    [{'a': '1', 'b': 'x'}, {'a': '2', 'b': 'x'}]
    """
    return [dict(zip(where, values, strict=True)) for values in product(*where.values())]
