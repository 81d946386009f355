"""Show: calibrations and predictions as JSON values and as pages."""

import math
from collections.abc import Mapping, Sequence

from ethermeter.calibration.calibrate import Calibration
from ethermeter.calibration.estimation import in_words
from ethermeter.calibration.judge import MAIN, Judged
from ethermeter.calibration.predict import Predicted, Prediction
from ethermeter.json_values import finite
from ethermeter.metrics import Metric
from ethermeter.quantities import metric_text
from ethermeter.report.model_page import Fitted, Listing
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

MEASURED, FITTED, PREDICTED = "measured", "fitted", "predicted"


def calibration_json(found: Calibration) -> dict[str, object]:
    """Return a calibration as JSON values; what is undefined is null."""
    fit = found.fit
    return {
        "model": str(found.model.path),
        "unknowns": [
            {
                "name": unknown.name,
                "keys": list(unknown.keys),
                "unit": unknown.unit,
                "value": float(fit.values[place]),
                "low": finite(fit.estimates[place].low),
                "high": finite(fit.estimates[place].high),
                "is_determined": bool(fit.is_determined[place]),
                "is_at_bound": bool(fit.is_at_bound[place]),
            }
            for place, unknown in enumerate(found.model.unknowns)
        ],
        "combinations": [
            {
                "sum": in_words(found.names, each.factors),
                "factors": dict(zip(found.names, map(float, each.factors), strict=True)),
                "value": each.estimate.value,
                "low": finite(each.estimate.low),
                "high": finite(each.estimate.high),
            }
            for each in fit.combinations
        ],
        "chi_square": fit.chi_square,
        "degrees_of_freedom": fit.degrees,
        "misfit": finite(fit.misfit),
        "scale": finite(fit.scale),
        "are_errors_known": found.are_errors_known,
        "doubts": list(found.doubts),
        "data": [
            {
                "source": datum.source,
                "point": dict(datum.point),
                "metric": datum.metric.value,
                "value": datum.value,
                "error": datum.error,
                "fitted": float(fit.predicted[place]),
                "residual": float(fit.residuals[place]),
            }
            for place, datum in enumerate(found.data)
        ],
    }


def calibration_page(found: Calibration) -> Fitted:
    """Return what the page of a calibration shows."""
    fit = found.fit
    points = []
    for datum, fitted in zip(found.data, fit.predicted.tolist(), strict=True):
        error = datum.error if datum.error is not None else math.nan
        for engine, value, uncertain in ((MEASURED, datum.value, error), (FITTED, fitted, 0.0)):
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
                f"{fit.predicted[place]:.6g}",
                datum.metric.unit,
                f"{fit.residuals[place]:+.2f}",
            )
            for place, datum in enumerate(found.data)
        ),
    )
    facts = (
        ("Unknowns determined", f"{int(fit.is_determined.sum())} of {len(fit.values)}"),
        ("Data", str(len(found.data))),
        (
            "Chi-square over degrees of freedom",
            f"{fit.chi_square / fit.degrees:.3g}" if fit.degrees else "none are free",
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
    listings = (unknowns, *((sums,) if fit.combinations else ()), data)
    return Fitted(
        f"{found.model.document['title']}: calibration",
        "ethermeter calibration",
        facts,
        found.doubts,
        tuple(points),
        listings,
        _calibration_findings(found, rows),
    )


MOST_UNKNOWNS = 6
"""Unknowns whose values are named in a sentence."""


def _calibration_findings(found: Calibration, rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Say which unknowns are determined, with their values, and how well the data are fitted."""
    fit = found.fit
    determined = [row for row, known in zip(rows, fit.is_determined, strict=True) if known]
    values = "; ".join(
        f"{name} {value} {unit} ({low} to {high})"
        for name, value, low, high, unit, *_ in determined[:MOST_UNKNOWNS]
    )
    more = len(determined) - MOST_UNKNOWNS
    listed = f": {values}{f'; and {more} more' if more > 0 else ''}" if values else ""
    count = f"{len(determined)} of {len(rows)} unknowns are determined by {len(found.data)} data"
    unit = "standard errors" if found.are_errors_known else "%"
    largest = max(map(abs, fit.residuals.tolist()), default=0.0)
    return (
        f"{count}{listed}.",
        f"The largest difference between data and fit is {largest:.2g} {unit}.",
    )


def unknown_rows(found: Calibration) -> list[tuple[str, ...]]:
    """Return the unknowns as texts: name, value, ends of the interval, unit, and remarks."""
    rows: list[tuple[str, ...]] = []
    for place, unknown in enumerate(found.model.unknowns):
        estimate = found.fit.estimates[place]
        text = (
            "determined"
            if found.fit.is_determined[place]
            else "only in sums"
            if _is_in_sum(found, place)
            else "not at all"
        )
        rows.append(
            (
                unknown.name,
                f"{found.fit.values[place]:.6g}",
                _digits(estimate.low),
                _digits(estimate.high),
                unknown.unit,
                text,
            )
        )
    return rows


def sum_rows(found: Calibration) -> list[tuple[str, ...]]:
    """Return the sums that are determined as texts: in words, value, ends of the interval, unit."""
    rows: list[tuple[str, ...]] = []
    for each in found.fit.combinations:
        first = next(place for place, factor in enumerate(each.factors) if factor)
        estimate = each.estimate
        rows.append(
            (
                in_words(found.names, each.factors),
                f"{estimate.value:.6g}",
                _digits(estimate.low),
                _digits(estimate.high),
                found.model.unknowns[first].unit,
            )
        )
    return rows


def prediction_json(found: Prediction, judged: Sequence[Judged] | None = None) -> dict[str, object]:
    """Return a prediction, and how it compares with what was measured, as JSON values."""
    tree: dict[str, object] = {
        "title": found.experiment.title,
        "draws": found.draws,
        "doubts": list(found.doubts),
        "predicted": [
            {
                "point": dict(row.point),
                "metric": row.metric.value,
                "unit": row.metric.unit,
                "value": row.value,
                "low": finite(row.low),
                "high": finite(row.high),
            }
            for row in found.rows
        ],
    }
    if judged is not None:
        tree["judged"] = [
            {
                "point": dict(each.predicted.point),
                "metric": each.predicted.metric.value,
                "predicted": each.predicted.value,
                "measured": each.measured.value,
                "low": finite(each.measured.low),
                "high": finite(each.measured.high),
                "relative_error": finite(each.relative_error),
                "verdict": each.verdict,
            }
            for each in judged
        ]
    return tree


def prediction_page(found: Prediction, judged: Sequence[Judged] = ()) -> Fitted:
    """Return what the page of a prediction shows."""
    main = _main(judged, found.rows)
    points = [
        Point("", row.point, PREDICTED, 1, {row.metric: row.estimate})
        for row in found.rows
        if row.metric in main
    ]
    points += [
        Point("", each.predicted.point, MEASURED, 1, {each.predicted.metric: each.measured})
        for each in judged
    ]
    listing = Listing(
        "Predictions",
        f"Intervals hold 95% of what {found.draws} sets of parameters, drawn as the data allow, and"
        " chance make of each value.",
        PREDICTED_HEAD,
        tuple(predicted_rows(found.rows)),
    )
    compared = Listing(
        "Against what was measured",
        "Errors are those of the prediction.",
        JUDGED_HEAD,
        tuple(judged_rows(judged)),
    )
    is_inside = sum(each.verdict == "inside" for each in judged)
    inside = ("Inside", f"{is_inside} of {len(judged)}")
    return Fitted(
        f"{found.experiment.title}: prediction",
        "ethermeter prediction",
        (("Sets of parameters", str(found.draws)), *((inside,) if judged else ())),
        found.doubts,
        tuple(points),
        (*((compared,) if judged else ()), listing),
        _prediction_findings(found, judged, is_inside),
    )


MOST_PREDICTED = 4
"""Predictions that are written as sentences."""


def _prediction_findings(
    found: Prediction, judged: Sequence[Judged], is_inside: int
) -> tuple[str, ...]:
    """Say how many measured values lie in their intervals, and what the main values are."""
    main = _main(judged, found.rows)
    rows = [row for row in found.rows if row.metric in main][:MOST_PREDICTED]
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


def judged_rows(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return comparisons, both values with their intervals, as texts, by `JUDGED_HEAD`."""
    return [
        (
            *predicted,
            metric_text(each.predicted.metric, each.measured),
            f"{100 * each.relative_error:+.2f}" if math.isfinite(each.relative_error) else "–",
            each.verdict,
        )
        for each, predicted in zip(
            judged, predicted_rows([each.predicted for each in judged]), strict=True
        )
    ]


def point_text(point: Mapping[str, str]) -> str:
    """Return a point as a person reads it."""
    return ", ".join(f"{key} = {text}" for key, text in point.items()) or "–"


def _is_in_sum(found: Calibration, place: int) -> bool:
    return any(each.factors[place] for each in found.fit.combinations)


def _main(judged: Sequence[Judged], rows: Sequence[Predicted]) -> set[Metric]:
    return (
        {each.predicted.metric for each in judged}
        if judged
        else {row.metric for row in rows} & set(MAIN)
    )


def _digits(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "–"
