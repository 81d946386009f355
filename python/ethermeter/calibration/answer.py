"""Answers: what a fit and a prediction found, as their files of JSON have it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ethermeter.calibration.calibrate import Calibration
from ethermeter.calibration.estimation import in_words
from ethermeter.calibration.judge import Judged
from ethermeter.calibration.predict import Predicted, Prediction
from ethermeter.json_values import finite
from ethermeter.metrics import Metric


@dataclass(frozen=True, slots=True)
class FittedUnknown:
    """A parameter that was looked for.

    Parameters
    ----------
    name, keys, unit
        As the experiment file has it.
    value
        The value that fits best, in its unit.
    low, high
        Ends of its 95% interval; None where data do not determine it alone.
    is_determined, is_at_bound
        Whether data determine it alone; whether it is at an end of its range.

    """

    name: str
    keys: tuple[str, ...]
    unit: str
    value: float
    low: float | None
    high: float | None
    is_determined: bool
    is_at_bound: bool


@dataclass(frozen=True, slots=True)
class FittedSum:
    """A sum of parameters that data determine, where its parts are not determined.

    Parameters
    ----------
    sum
        In words.
    factors
        By which the parameters are multiplied, by their names.
    value
        In the unit of the first parameter whose factor is not zero.
    low, high
        Ends of its 95% interval; None if it has none.

    """

    sum: str
    factors: Mapping[str, float]
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class FittedDatum:
    """What was measured, beside what the fitted network does; in the metric's unit.

    Parameters
    ----------
    source, point, metric
        What it is.
    value, error
        The measured value, and its standard error; None if that is not known.
    fitted
        What the network does.
    residual
        Measured less fitted, in standard errors.

    """

    source: str
    point: Mapping[str, str]
    metric: Metric
    value: float
    error: float | None
    fitted: float
    residual: float


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """What data say of the unknowns of a network: `answer.json` of a fit.

    Parameters
    ----------
    model
        The experiment file.
    unknowns, combinations
        Parameters; sums of them that are determined although their parts are not.
    chi_square, degrees_of_freedom
        Sum of the squares of the residuals, and how many are free.
    misfit
        Probability of residuals as large as these; None without degrees of freedom.
    scale
        By which standard errors of the parameters were multiplied; None if it is not known.
    are_errors_known
        Whether errors are those of the data, or were found from the residuals.
    doubts
        What to know before the estimates are believed, a sentence each.
    data
        What was measured.

    """

    model: str
    unknowns: tuple[FittedUnknown, ...]
    combinations: tuple[FittedSum, ...]
    chi_square: float
    degrees_of_freedom: int
    misfit: float | None
    scale: float | None
    are_errors_known: bool
    doubts: tuple[str, ...]
    data: tuple[FittedDatum, ...]

    @classmethod
    def of(cls, found: Calibration) -> "FitAnswer":
        """Return the answer of a calibration."""
        fit = found.fit
        unknowns = [
            FittedUnknown(
                name=unknown.name,
                keys=tuple(unknown.keys),
                unit=unknown.unit,
                value=float(fit.values[place]),
                low=finite(fit.estimates[place].low),
                high=finite(fit.estimates[place].high),
                is_determined=bool(fit.is_determined[place]),
                is_at_bound=bool(fit.is_at_bound[place]),
            )
            for place, unknown in enumerate(found.model.unknowns)
        ]
        sums = [
            FittedSum(
                sum=in_words(found.names, each.factors),
                factors=dict(zip(found.names, map(float, each.factors), strict=True)),
                value=each.estimate.value,
                low=finite(each.estimate.low),
                high=finite(each.estimate.high),
            )
            for each in fit.combinations
        ]
        data = [
            FittedDatum(
                source=datum.source,
                point=dict(datum.point),
                metric=datum.metric,
                value=datum.value,
                error=datum.error,
                fitted=float(fit.predicted[place]),
                residual=float(fit.residuals[place]),
            )
            for place, datum in enumerate(found.data)
        ]
        return cls(
            model=str(found.model.path),
            unknowns=tuple(unknowns),
            combinations=tuple(sums),
            chi_square=fit.chi_square,
            degrees_of_freedom=fit.degrees,
            misfit=finite(fit.misfit),
            scale=finite(fit.scale),
            are_errors_known=found.are_errors_known,
            doubts=found.doubts,
            data=tuple(data),
        )


@dataclass(frozen=True, slots=True)
class PredictionAnswer:
    """What a fitted network does in a scenario: `prediction.json`.

    Parameters
    ----------
    title
        Of the scenario.
    draws
        Sets of parameters behind the intervals.
    doubts
        What of the fitted network the scenario does not use, a sentence each.
    predicted
        Point by point, metric by metric.

    """

    title: str
    draws: int
    doubts: tuple[str, ...]
    predicted: tuple[Predicted, ...]

    @classmethod
    def of(cls, found: Prediction) -> "PredictionAnswer":
        """Return the answer of a prediction."""
        return cls(found.experiment.title, found.draws, found.doubts, found.rows)


@dataclass(frozen=True, slots=True)
class JudgedPrediction(PredictionAnswer):
    """A prediction, beside what was measured."""

    judged: tuple[Judged, ...]

    @classmethod
    def of_run(cls, found: Prediction, judged: tuple[Judged, ...]) -> "JudgedPrediction":
        """Return the answer of a prediction that was compared with a run."""
        return cls(found.experiment.title, found.draws, found.doubts, found.rows, judged)
