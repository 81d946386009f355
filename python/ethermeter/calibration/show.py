"""Show: calibrations and predictions as pages, and as the texts of their tables."""

import math
from collections.abc import Mapping, Sequence

from ethermeter.calibration.answer import (
    FitAnswer,
    FittedUnknown,
    JudgedPrediction,
    PredictionAnswer,
)
from ethermeter.calibration.judge import MAIN, Judged
from ethermeter.calibration.predict import Predicted
from ethermeter.metrics import Metric
from ethermeter.quantities import metric_text
from ethermeter.report.model_page import Fitted, Listing
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

MEASURED, FITTED, PREDICTED = "measured", "fitted", "predicted"


def calibration_page(found: FitAnswer, title: str) -> Fitted:
    """Return what the page of a calibration of a network with this title shows."""
    points = []
    for datum in found.data:
        error = datum.error if datum.error is not None else math.nan
        both = ((MEASURED, datum.value, error), (FITTED, datum.fitted, 0.0))
        for engine, value, uncertain in both:
            known = {datum.metric: Estimate(value, uncertain, math.inf)}
            points.append(Point("", datum.point, engine, 1, known))
    data = Listing(
        "Data and fit",
        (
            "Residuals are in standard errors of the data."
            if found.are_errors_known
            else "Residuals are in per cent of the data."
        ),
        ("Point", "Metric", "Measured", "Fitted", "Unit", "Residual"),
        tuple(
            (
                point_text(datum.point),
                datum.metric.value,
                f"{datum.value:.6g}",
                f"{datum.fitted:.6g}",
                datum.metric.unit,
                f"{datum.residual:+.2f}",
            )
            for datum in found.data
        ),
    )
    determined = sum(each.is_determined for each in found.unknowns)
    degrees = found.degrees_of_freedom
    facts = (
        ("Unknowns determined", f"{determined} of {len(found.unknowns)}"),
        ("Data", str(len(found.data))),
        (
            "Chi-square over degrees of freedom",
            f"{found.chi_square / degrees:.3g}" if degrees else "none are free",
        ),
    )
    rows = tuple(unknown_rows(found))
    unknowns = Listing(
        "Unknowns",
        "What the data say of each unknown. Where they determine only sums, the value nearest to"
        " the starting value stands.",
        ("Unknown", "Value", "from", "to", "Unit", "Determined"),
        rows,
    )
    sums = Listing(
        "Sums that are determined",
        "Of these the data say the sum, and nothing of its parts.",
        ("Sum", "Value", "from", "to", "Unit"),
        tuple(sum_rows(found)),
    )
    listings = (unknowns, *((sums,) if found.combinations else ()), data)
    return Fitted(
        f"{title}: calibration",
        "ethermeter calibration",
        facts,
        found.doubts,
        tuple(points),
        listings,
        _calibration_findings(found, rows),
    )


MOST_UNKNOWNS = 6
"""Unknowns whose values are named in a sentence."""


def _calibration_findings(found: FitAnswer, rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Say which unknowns are determined, with their values, and how well the data are fitted."""
    of_row = zip(rows, found.unknowns, strict=True)
    determined = [row for row, unknown in of_row if unknown.is_determined]
    values = "; ".join(
        f"{name} {value} {unit} ({low} to {high})"
        for name, value, low, high, unit, *_ in determined[:MOST_UNKNOWNS]
    )
    more = len(determined) - MOST_UNKNOWNS
    listed = f": {values}{f'; and {more} more' if more > 0 else ''}" if values else ""
    count = f"{len(determined)} of {len(rows)} unknowns are determined by {len(found.data)} data"
    unit = "standard errors" if found.are_errors_known else "%"
    largest = max((abs(datum.residual) for datum in found.data), default=0.0)
    return (
        f"{count}{listed}.",
        f"The largest difference between data and fit is {largest:.2g} {unit}.",
    )


def unknown_rows(found: FitAnswer) -> list[tuple[str, ...]]:
    """Return the unknowns as texts: name, value, ends of the interval, unit, and remarks."""
    return [
        (
            unknown.name,
            f"{unknown.value:.6g}",
            _digits(unknown.low),
            _digits(unknown.high),
            unknown.unit,
            _how_determined(found, unknown),
        )
        for unknown in found.unknowns
    ]


def _how_determined(found: FitAnswer, unknown: FittedUnknown) -> str:
    if unknown.is_determined:
        return "determined"
    is_in_sum = any(each.factors[unknown.name] for each in found.combinations)
    return "only in sums" if is_in_sum else "not at all"


def sum_rows(found: FitAnswer) -> list[tuple[str, ...]]:
    """Return the sums that are determined as texts: in words, value, ends of the interval, unit."""
    return [
        (
            each.sum,
            f"{each.value:.6g}",
            _digits(each.low),
            _digits(each.high),
            next(unknown.unit for unknown in found.unknowns if each.factors[unknown.name]),
        )
        for each in found.combinations
    ]


def prediction_page(found: PredictionAnswer) -> Fitted:
    """Return what the page of a prediction shows."""
    judged = judged_of(found)
    main = _main(found)
    points = [
        Point("", row.point, PREDICTED, 1, {row.metric: row.estimate})
        for row in found.predicted
        if row.metric in main
    ]
    points += [
        Point("", each.point, MEASURED, 1, {each.metric: each.measurement}) for each in judged
    ]
    listing = Listing(
        "Predictions",
        f"Intervals hold 95% of what {found.draws} sets of parameters, drawn as the data allow, and"
        " chance make of each value.",
        PREDICTED_HEAD,
        tuple(predicted_rows(found.predicted)),
    )
    compared = Listing(
        "Against what was measured",
        "Errors are those of the prediction.",
        JUDGED_HEAD,
        tuple(judged_rows(found)),
    )
    is_inside = sum(each.verdict == "inside" for each in judged)
    inside = ("Inside", f"{is_inside} of {len(judged)}")
    return Fitted(
        f"{found.title}: prediction",
        "ethermeter prediction",
        (("Sets of parameters", str(found.draws)), *((inside,) if judged else ())),
        found.doubts,
        tuple(points),
        (*((compared,) if judged else ()), listing),
        _prediction_findings(found, is_inside),
    )


MOST_PREDICTED = 4
"""Predictions that are written as sentences."""


def judged_of(found: PredictionAnswer) -> tuple[Judged, ...]:
    """Return what a prediction was compared with; nothing if it was not."""
    return found.judged if isinstance(found, JudgedPrediction) else ()


def _prediction_findings(found: PredictionAnswer, is_inside: int) -> tuple[str, ...]:
    """Say how many measured values lie in their intervals, and what the main values are."""
    main, judged = _main(found), judged_of(found)
    rows = [row for row in found.predicted if row.metric in main][:MOST_PREDICTED]
    values = [
        f"{row.metric.label.title} is {value} {row.metric.label.unit} ({low} to {high})"
        for row in rows
        for value, low, high in [
            [f"{each * row.metric.label.factor:.4g}" for each in (row.value, row.low, row.high)]
        ]
    ]
    places = [f" at {point_text(row.point)}" if row.point else "" for row in rows]
    texts = [f"{value}{place}." for value, place in zip(values, places, strict=True)]
    if judged:
        count = f"{is_inside} of {len(judged)} measured values"
        texts = [f"{count} lie within the intervals of their predictions.", *texts]
    return tuple(texts)


PREDICTED_HEAD = ("Point", "Metric", "Predicted")
JUDGED_HEAD = (*PREDICTED_HEAD, "Measured", "Error %", "Verdict")


def predicted_rows(rows: Sequence[Predicted]) -> list[tuple[str, ...]]:
    """Return predictions with their intervals as texts, by `PREDICTED_HEAD`."""
    return [
        (point_text(row.point), row.metric.value, metric_text(row.metric, row.estimate))
        for row in rows
    ]


def judged_rows(found: PredictionAnswer) -> list[tuple[str, ...]]:
    """Return comparisons, both values with their intervals, as texts, by `JUDGED_HEAD`."""
    predicted = {(tuple(row.point.items()), row.metric): row for row in found.predicted}
    judged = judged_of(found)
    rows = predicted_rows([predicted[tuple(each.point.items()), each.metric] for each in judged])
    return [
        (
            *row,
            metric_text(each.metric, each.measurement),
            f"{100 * each.relative_error:+.2f}" if math.isfinite(each.relative_error) else "–",
            each.verdict,
        )
        for each, row in zip(judged, rows, strict=True)
    ]


def point_text(point: Mapping[str, str]) -> str:
    """Return a point as a person reads it."""
    return ", ".join(f"{key} = {text}" for key, text in point.items()) or "–"


def _main(found: PredictionAnswer) -> set[Metric]:
    if judged := judged_of(found):
        return {each.metric for each in judged}
    return {row.metric for row in found.predicted} & set(MAIN)


def _digits(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"
