"""Calibrate: unknowns of a network from what was measured of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ethermeter.calibration import estimation
from ethermeter.calibration.data import Datum
from ethermeter.calibration.estimation import Fit, Floats
from ethermeter.calibration.model import Model
from ethermeter.faults import InputError
from ethermeter.metrics import Metric, is_from_histogram

SUPPOSED_ERROR = 0.01
"""Relative error of data whose own is unknown; it is the same for all of them, and its size is
found from the residuals.
"""

LEAST_ERROR = 1e-6
"""Relative error below which none is believed, such as that of a simulation in which nothing is
drawn.
"""

UNLIKELY = 0.01
"""Probability below which residuals count as not explained."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Data of one metric from one source, and whether their residuals have a pattern.

    `source`, `metric`: whose data they are. `data`: their places among all data. `runs`: how many
    stretches of one sign the residuals have. `chance`: probability of so few by chance; 1 with too
    few data to judge.
    """

    source: str
    metric: Metric
    data: tuple[int, ...]
    runs: int
    chance: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found.

    `model`: the network with its unknowns. `data`: what was measured. `errors`: standard errors
    with which the data were weighted, shape `(data,)`. `are_errors_known`: whether they are the
    data's own. `fit`: the estimates. `curves`: the data by source and metric.
    """

    model: Model
    data: tuple[Datum, ...]
    errors: Floats
    are_errors_known: bool
    fit: Fit
    curves: tuple[Curve, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return tuple(unknown.name for unknown in self.model.unknowns)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What a reader should know before believing the estimates, a sentence each."""
        found = []
        if self.are_errors_known and self.fit.misfit < UNLIKELY:
            found.append(
                "The data's errors do not explain the residuals (chi-square"
                f" {self.fit.chi_square:.3g} with {self.fit.degrees} degrees of freedom): the model"
                f" lacks something, and the intervals were widened {self.fit.scale:.3g} times."
            )
        found += [
            f"Residuals of {curve.metric} in {curve.source} have a pattern ({curve.runs} runs of"
            f" {len(curve.data)} values, by chance {curve.chance:.2g}): a line of another slope, or"
            " a knee that the model has not."
            for curve in self.curves
            if curve.chance < UNLIKELY
        ]
        found += [
            f"{name} is at the bound of what the model allows."
            for name, is_there in zip(self.names, self.fit.is_at_bound, strict=True)
            if is_there
        ]
        if not self.fit.degrees:
            found.append(
                "There are no more data than what they determine, so nothing speaks for or against"
                " the model."
            )
        return tuple(found)


def calibrate(
    model: Model, data: Sequence[Datum], answer: Callable[[Floats], Floats]
) -> Calibration:
    """Estimate the unknowns of a network by weighted least squares.

    `model`: the network. `data`: what was measured; all of it with its errors, or else all count
    alike, relative to their size. `answer`: takes values of the unknowns in their units, gives what
    the data should be, shape `(data,)`.
    Raises InputError if the model has no value of what was measured. Raises UnansweredError if
    `answer` raises it.
    """
    measured = np.array([datum.value for datum in data])
    are_known = all(datum.error is not None for datum in data)
    least = LEAST_ERROR * np.maximum(
        np.abs(measured), LEAST_ERROR * max(np.abs(measured).max(), 1e-30)
    )
    given = [
        datum.error if are_known and datum.error is not None else SUPPOSED_ERROR * abs(datum.value)
        for datum in data
    ]
    errors = np.maximum(given, least)
    low, high, start = (
        np.array([getattr(unknown, end) for unknown in model.unknowns])
        for end in ("low", "high", "start")
    )
    _check_answer(model, data, answer(start))

    def scaled(at: Floats) -> Floats:
        found = answer(low + at * (high - low))
        # Where nothing comes through, the answer is as far from the data as it can be without being
        # no number.
        return np.where(np.isfinite(found), found, measured + 1e6 * errors)

    is_staircase = any(is_from_histogram(datum.metric) for datum in data)
    fit = estimation.estimate(
        scaled,
        measured,
        errors,
        low=low,
        high=high,
        start=start,
        are_errors_known=are_known,
        steps=estimation.STAIRCASE_STEPS if is_staircase else (estimation.STEP,),
    )
    return Calibration(
        model, tuple(data), errors, are_known, fit, tuple(_curves(data, fit.residuals))
    )


def _check_answer(model: Model, data: Sequence[Datum], answered: Floats) -> None:
    for datum, value in zip(data, answered, strict=True):
        if not np.isfinite(value):
            at = (
                ", ".join(f"{key} = {text}" for key, text in datum.point.items())
                or "the model's file as it stands"
            )
            allowed = "expected a metric of which the model's flows and phases have samples"
            raise InputError.of(str(model.path), f"{datum.metric} at {at}", "no value", allowed)


def _curves(data: Sequence[Datum], residuals: Floats) -> list[Curve]:
    places: dict[tuple[str, Metric], list[int]] = {}
    for place, datum in enumerate(data):
        places.setdefault((datum.source, datum.metric), []).append(place)
    found = []
    for (source, metric), at in places.items():
        runs, chance = runs_test(residuals[at])
        found.append(Curve(source, metric, tuple(at), runs, chance))
    return found


def runs_test(residuals: Floats) -> tuple[int, float]:
    """Count stretches of one sign, and return how probable so few are by chance.

    `residuals`: in the order of their points.
    Returns runs, and the probability; 1 with fewer than ten of either sign, where the approximation
    does not hold.

    Source
    ------
    Wald and Wolfowitz, Annals of Mathematical Statistics 11, 1940: normal approximation with a
    correction for continuity.
    """
    above = residuals > 0
    runs = 1 + int((above[1:] != above[:-1]).sum()) if above.size else 0
    more, fewer = int(above.sum()), int((~above).sum())
    if min(more, fewer) < 10:
        return runs, 1.0
    count = more + fewer
    mean = 1 + 2 * more * fewer / count
    variance = (mean - 1) * (mean - 2) / (count - 1)
    return runs, float(norm.cdf((runs + 0.5 - mean) / np.sqrt(variance)))
