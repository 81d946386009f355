"""Judge: a prediction against a run that measured what it is about."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ethermeter.calibration.predict import Predicted, Prediction
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
    """A predicted value beside the measured one.

    `predicted`, `measured`: both, in the metric's unit.
    """

    predicted: Predicted
    measured: Estimate

    @property
    def relative_error(self) -> float:
        """Predicted less measured, over measured; NaN where nothing was measured but 0."""
        return self.predicted.value / self.measured.value - 1 if self.measured.value else math.nan

    @property
    def verdict(self) -> str:
        """Say `inside` if the two 95% intervals meet, else `outside`."""
        known = self.measured.has_interval
        low, high = (
            (self.measured.low, self.measured.high)
            if known
            else (self.measured.value, self.measured.value)
        )
        return "inside" if self.predicted.low <= high and self.predicted.high >= low else "outside"


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
            judged.append(Judged(row, known))
    if not judged:
        allowed = f"a run of {found.experiment.path.name}, with the same varied keys"
        raise InputError.of(str(run), "points", "none in common", allowed)
    return tuple(judged)
