"""Shares: what some stations of a segment get against others of the same trial."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ethermeter.analysis import positions
from ethermeter.analysis.estimates import ENOUGH_REPLICATIONS, Point
from ethermeter.analysis.interval import Estimate, Floats, paired_ratio
from ethermeter.analysis.tables import Trial
from ethermeter.metrics import Metric
from ethermeter.scenario import Scenario
from ethermeter.station_groups import points_of
from ethermeter.studies.judging import MissingError
from ethermeter.studies.trials import SIMULATION, Trials, Where

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


class Shares:
    """Estimates of a run and the values of its single stations, found by series and point."""

    def __init__(
        self,
        points: Sequence[Point],
        trials: Sequence[Trial],
        stations: Sequence[Mapping[Metric, Floats]],
    ) -> None:
        """Index the results of a run.

        `stations` has one entry a trial, with values of shape `(stations,)`, NaN where there is
        none.
        """
        self._points = {
            _key(point.series, point.point): point for point in points if point.engine == SIMULATION
        }
        self._trials = Trials(trials, least=ENOUGH_REPLICATIONS)
        self._scenarios = [trial.scenario for trial in trials]
        self._stations = stations

    def whole(self, series: str, where: Where, metric: Metric) -> Estimate:
        """Return the estimate of the whole segment.

        Raises MissingError if the run does not hold it, or not in three replications.
        """
        point = self._points.get(_key(series, where))
        if (
            point is None
            or metric not in point.estimates
            or point.replications < ENOUGH_REPLICATIONS
        ):
            raise MissingError(
                f"no {metric.value} from {ENOUGH_REPLICATIONS} replications for {series},"
                f" {dict(where)}"
            )
        return point.estimates[metric]

    def contrast(self, series: str, where: Where, metric: Metric, division: str) -> Estimate:
        """Return the ratio of the first group's mean to the second's.

        Over the stations that have a value.

        Both groups share a trial, so the replications are pairs.
        """
        trials = self._trials.at(series, where)
        means = [self._means(at, metric, division) for at in trials]
        first, second = (np.array([mean[group] for mean in means]) for group in (0, 1))
        if not (first.mean() > 0 and second.mean() > 0):
            raise MissingError(f"{metric.value} of one of the two groups is zero, and has no ratio")
        return paired_ratio(first, second)

    def _means(self, at: int, metric: Metric, division: str) -> tuple[float, float]:
        values = self._stations[at].get(metric)
        groups = DIVISIONS[division](self._scenarios[at])
        if values is None:
            raise MissingError(f"no {metric.value} of single stations")
        known = [values[group & np.isfinite(values)] for group in groups]
        if not all(of.size for of in known):
            raise MissingError(
                f"no {metric.value} of one of the two groups, which delivered nothing"
            )
        return float(known[0].mean()), float(known[1].mean())

    def window_s(self, series: str, where: Where) -> float:
        """Measured window of a trial, in s."""
        return self._trials.window_s(series, where)


def combinations(where: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return every point that has one of the values of each key, the last key changing fastest.

    Examples
    --------
    >>> combinations({"a": ["1", "2"], "b": ["x"]})
    [{'a': '1', 'b': 'x'}, {'a': '2', 'b': 'x'}]
    """
    return [dict(zip(where, values, strict=True)) for values in product(*where.values())]


def _key(series: str, where: Where) -> tuple[object, ...]:
    return (series, *sorted(where.items()))
