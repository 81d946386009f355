"""Selection: which points of a series have their distribution of a delay drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethermeter.document import plain
from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.report.axes import choose, curve_names, keys
from ethermeter.report.labels import key_title
from ethermeter.results.estimates import Point
from ethermeter.swept import quantity

MOST_CURVES = 6


@dataclass(frozen=True, slots=True)
class Kind:
    """A histogram that is shown, with its labels and metrics.

    Its name, what it is of, what it counts, and the metrics that are its percentiles and its
    largest.
    """

    histogram: str
    delay: str
    counted: str
    percentiles: tuple[Metric, Metric, Metric, Metric, Metric]
    longer: str = "whose delay is larger"


KINDS = (
    Kind(
        "transmission_delay",
        "transmission delay",
        "frames",
        (Metric.DELAY_P50, Metric.DELAY_P90, Metric.DELAY_P99, Metric.DELAY_P999, Metric.DELAY_MAX),
    ),
    Kind(
        "voice_delay",
        "voice delay",
        "frames",
        (
            Metric.VOICE_DELAY_P50,
            Metric.VOICE_DELAY_P90,
            Metric.VOICE_DELAY_P99,
            Metric.VOICE_DELAY_P999,
            Metric.VOICE_DELAY_MAX,
        ),
    ),
    Kind(
        "sample_delay",
        "delay of samples",
        "samples",
        (
            Metric.SAMPLE_DELAY_P50,
            Metric.SAMPLE_DELAY_P90,
            Metric.SAMPLE_DELAY_P99,
            Metric.SAMPLE_DELAY_P999,
            Metric.SAMPLE_DELAY_MAX,
        ),
    ),
    *(
        Kind(
            name,
            Metric(name).label.title[:1].lower() + Metric(name).label.title[1:],
            "messages",
            (
                Metric(f"{name}_p50"),
                Metric(f"{name}_p90"),
                Metric(f"{name}_p99"),
                Metric(f"{name}_p999"),
                Metric(f"{name}_max"),
            ),
            longer="that come longer after the one before"
            if name == "inter_arrival"
            else "that take longer",
        )
        for name in ("round_trip", "one_way_delay", "synchronised_delay", "inter_arrival")
    ),
)
"""Distributions of delays, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Points that share a figure.

    What they are of, what their names are values of, the points by name, and what is the same for
    all.
    """

    kind: Kind
    key: str
    points: Mapping[str, Point]
    fixed: str


def select(points: Sequence[Point], kind: Kind, study: Presentation | None) -> list[Selection]:
    """Pick points of a series: by curve at one x, and by x for the first curve.

    That x is the largest for a study, which may choose curves; otherwise the one with the largest
    99.9th percentile. Keys that make panels stay at their first value.
    """
    median, tail = kind.percentiles[0], kind.percentiles[3]
    points = [point for point in points if median in point.estimates]
    if not any(math.isfinite(point.estimates[median].value) for point in points):
        return []
    axes = choose(points)
    start = {key: keys(points[0])[key] for key in axes.panels}
    points = [
        point for point in points if all(keys(point)[key] == value for key, value in start.items())
    ]
    if axes.x is None:
        return [_selection(kind, axes.curve, points, start)] if axes.curve else []
    x = axes.x
    furthest = (
        max(points, key=lambda point: quantity(keys(point)[x]) or (0.0, ""))
        if study is not None
        else max(points, key=lambda point: _value(point, tail))
    )
    chosen = keys(furthest)[x]
    found = []
    if axes.curve is not None:
        across = [point for point in points if keys(point)[x] == chosen]
        if study is not None:
            of_study = study.detail_curves
            across = [point for point in across if keys(point)[axes.curve] in of_study] or across
        found.append(_selection(kind, axes.curve, across, {x: chosen, **start}))
        start[axes.curve] = keys(points[0])[axes.curve]
        points = [point for point in points if keys(point)[axes.curve] == start[axes.curve]]
    return [*found, _selection(kind, x, points, start)]


def _value(point: Point, metric: Metric) -> float:
    found = point.estimates.get(metric)
    return found.value if found is not None and math.isfinite(found.value) else -math.inf


def _selection(
    kind: Kind, key: str, points: Sequence[Point], fixed: Mapping[str, str]
) -> Selection:
    names = curve_names(list(dict.fromkeys(keys(point)[key] for point in points)))
    by_name = {names[keys(point)[key]]: point for point in points}
    ordered = [name for name in names.values() if name in by_name]
    # Evenly among them, the first and the last included.
    count = min(len(ordered), MOST_CURVES)
    places = [round(at * (len(ordered) - 1) / max(count - 1, 1)) for at in range(count)]
    text = ", ".join(f"{key_title(of)}: {plain(value)}" for of, value in fixed.items())
    return Selection(kind, key, {ordered[at]: by_name[ordered[at]] for at in places}, text)
