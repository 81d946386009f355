"""Judge: a prediction against a run that measured what it is about."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ethermeter.calibration.predict import Predicted, Prediction, between
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.results import estimates
from ethermeter.results.interval import Estimate

MAIN = (
    Metric.ONE_WAY_DELAY,
    Metric.ROUND_TRIP,
    Metric.INTER_ARRIVAL,
    Metric.MESSAGE_RATE,
    Metric.GOODPUT,
    Metric.DATA_RATE,
    Metric.LOSS,
)
"""What is judged unless others are named."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A predicted value beside the measured one, in the metric's unit.

    `point`, `metric`: of both. `predicted`, `measured`: the values. `low`, `high`: 95% interval of
    the measured one, NaN if it has none. `relative_error`: predicted less measured, over measured;
    NaN where nothing was measured but 0. `verdict`: `inside` if the two 95% intervals meet, else
    `outside`. `cautions`: of the measured one, words of `ethermeter.metrics.Caution`.
    """

    point: Mapping[str, str]
    metric: Metric
    predicted: float
    measured: float
    low: float
    high: float
    relative_error: float
    verdict: str
    cautions: tuple[str, ...] = ()

    @classmethod
    def of(cls, predicted: Predicted, measured: Estimate) -> "Judged":
        """Return a prediction beside an estimate of the same metric at the same point."""
        low, high = measured.low, measured.high
        if not measured.has_interval:
            low = high = measured.value
        is_inside = predicted.low <= high and predicted.high >= low
        error = predicted.value / measured.value - 1 if measured.value else math.nan
        return cls(
            predicted.point,
            predicted.metric,
            predicted.value,
            measured.value,
            measured.low,
            measured.high,
            error,
            "inside" if is_inside else "outside",
            measured.cautions,
        )

    @property
    def measurement(self) -> Estimate:
        """The measured value with its interval."""
        return replace(between(self.measured, self.low, self.high), cautions=self.cautions)


def judge(found: Prediction, run: Path, *, metrics: Sequence[Metric] = MAIN) -> tuple[Judged, ...]:
    """Compare a prediction with a run of the same scenario: its live trials, or all if it has none.

    Raises InputError if they have no point in common.
    """
    points = estimates.read(run)
    live = [point for point in points if point.engine == "live"] or points
    measured = {tuple(sorted(point.point.items())): point.estimates for point in live}
    judged = []
    for row in found.rows:
        known = measured.get(tuple(sorted(row.point.items())), {}).get(row.metric)
        if row.metric in metrics and known is not None and math.isfinite(known.value):
            judged.append(Judged.of(row, known))
    if not judged:
        allowed = f"a run of {found.experiment.path.name}, with the same varied keys"
        raise InputError.of(str(run), "points", "none in common", allowed)
    return tuple(judged)
