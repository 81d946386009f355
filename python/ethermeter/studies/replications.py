"""Curves of a run, replication by replication.

What is read off a curve gets its interval from reading it off several times.
"""

from collections.abc import Sequence

import numpy as np

from ethermeter.analysis.estimates import ENOUGH_REPLICATIONS
from ethermeter.analysis.interval import Floats
from ethermeter.analysis.tables import Trial
from ethermeter.analysis.unseen import BEHIND, exposure
from ethermeter.metrics import Metric
from ethermeter.results.values import Whole
from ethermeter.scenario import Scenario
from ethermeter.station_groups import medium_of
from ethermeter.studies.judging import MissingError
from ethermeter.studies.trials import SIMULATION, Trials, Where


class Curves:
    """Whole-segment values of the trials of one engine, found by series and point."""

    def __init__(
        self,
        trials: Sequence[Trial],
        whole: Whole,
        *,
        engine: str = SIMULATION,
        least: int = ENOUGH_REPLICATIONS,
    ) -> None:
        """Index what a run holds; `whole` has one row a trial.

        A point counts from `least` replications on.
        """
        self._metrics = {metric: at for at, metric in enumerate(whole.metrics)}
        self._values = whole.values
        self._trials = Trials(trials, engine=engine, least=least)

    def trials(self, series: str, where: Where) -> list[int]:
        """Return the indices of the replications of a point.

        Raises MissingError if there are too few.
        """
        return self._trials.at(series, where)

    def values(self, series: str, where: Where, metric: Metric) -> Floats:
        """Values of a metric at a point, shape `(replications,)`.

        Raises MissingError if the run does not hold them.
        """
        if metric not in self._metrics:
            raise MissingError(f"no {metric.value}")
        values: Floats = self._values[self.trials(series, where), self._metrics[metric]]
        return values

    def exposure(self, series: str, where: Where, metric: Metric) -> float:
        """How often what a metric counts could have been seen in the replications of a point.

        NaN if the run does not hold it.
        """
        counted = {
            name: self.values(series, where, name) for name in BEHIND if name in self._metrics
        }
        return (
            float(exposure(metric, counted, self.scenario(series, where)).sum())
            if counted
            else float("nan")
        )

    def scenario(self, series: str, where: Where) -> Scenario:
        """Return the scenario of a point, as the engines read it."""
        return self._trials.scenario(series, where)

    def bit_ps(self, series: str, where: Where) -> float:
        """Time of a bit on the segment of a point, in ps."""
        return float(medium_of(self.scenario(series, where)).bit_ps)

    def along(self, series: str, where: Where, key: str) -> list[str]:
        """Values of `key` for which the run has points that are otherwise at `where`, by size."""
        return sorted(self._trials.along(series, key, where), key=float)

    def values_of(self, series: str, key: str) -> list[str]:
        """Values of a key that a series varies, in the order of the plan."""
        return self._trials.along(series, key)


def crossing(x: Floats, y: Floats, level: float) -> float:
    """Where a curve first passes a level from below, on the straight line between two points.

    `x`: increasing, shape `(points,)`. `y`: shape `(points,)`. `level`: what is passed.

    Examples
    --------
    >>> crossing(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.4]), 0.1)
    2.25
    """
    above = np.nonzero(y >= level)[0]
    if above.size == 0 or above[0] == 0:
        raise MissingError(f"the curve does not pass {level:g} within its points")
    after = int(above[0])
    share = (level - y[after - 1]) / (y[after] - y[after - 1])
    return float(x[after - 1] + share * (x[after] - x[after - 1]))


def takeoff(x: Floats, y: Floats) -> float:
    """Where a curve that is flat at first takes off.

    Its steepest step, drawn down to its first value.

    `x`: increasing; at least three points, shape `(points,)`. `y`: shape `(points,)`.

    Examples
    --------
    >>> takeoff(np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 5.0, 6.0, 10.0]))
    2.75
    """
    if x.size < 3:
        raise MissingError("a knee needs at least three points")
    slopes = np.diff(y) / np.diff(x)
    at = int(np.argmax(slopes))
    if slopes[at] <= 0:
        raise MissingError("the curve does not rise")
    return float(x[at] - (y[at] - y[0]) / slopes[at])
