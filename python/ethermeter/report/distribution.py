"""Distribution of the delay: the share of frames that take longer, for a few points of a series,
with its percentiles.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ethermeter.analysis.distribution import Distribution
from ethermeter.analysis.estimates import Point
from ethermeter.metrics import Metric
from ethermeter.report import results
from ethermeter.report.axes import choose, curve_names, keys, quantity
from ethermeter.report.chart import HEIGHT
from ethermeter.report.html import safe, table
from ethermeter.report.labels import key_title
from ethermeter.report.theme import colours

MOST_CURVES = 6
STUDY_FRAMES = ("64 B", "1536 B", "4000 B")
"""The study's shortest, its maximal and its longest frame."""
_HEADS = ("median", "90%", "99%", "99.9%", "largest")


@dataclass(frozen=True, slots=True)
class Kind:
    """A histogram that is shown: its name, what it is of, what it counts, and the metrics that are
    its percentiles and its largest.
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
LONGER = {
    "whose delay is larger": "that take longer",
    "that come longer after the one before": "with a longer gap",
}
"""What is said of a kind on the axis, where it is not what is said above it."""
STEP = 0.03
"""Distance of points that are drawn, in natural logarithms: about a pixel."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Points that share a figure: of what, what their names are values of, the points by name, and
    what is the same for all.
    """

    kind: Kind
    key: str
    points: Mapping[str, Point]
    fixed: str


def select(points: Sequence[Point], kind: Kind, *, study: bool) -> list[Selection]:
    """Pick points of a series: by curve at one x, and by x for the first curve.

    That x is the largest for a study; otherwise the one with the largest 99.9th percentile. Keys
    that make panels stay at their first value.
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
        if study
        else max(points, key=lambda point: _value(point, tail))
    )
    chosen = keys(furthest)[x]
    found = []
    if axes.curve is not None:
        across = [point for point in points if keys(point)[x] == chosen]
        if study:
            across = [
                point for point in across if keys(point)[axes.curve] in STUDY_FRAMES
            ] or across
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
    text = ", ".join(f"{key_title(of)}: {value}" for of, value in fixed.items())
    return Selection(kind, key, {ordered[at]: by_name[ordered[at]] for at in places}, text)


def figure(selection: Selection, found: Sequence[Distribution]) -> dict[str, Any]:
    """Draw the shares above each delay, both axes logarithmic."""
    label = selection.kind.percentiles[0].label
    kind = selection.kind
    names = list(selection.points)
    rows = [
        {"x": float(f"{value_s * label.factor:.4g}"), "y": float(f"{share:.4g}"), "c": name}
        for name, of in zip(names, found, strict=True)
        for value_s, share in _thinned(of)
    ]
    title = key_title(selection.key)
    is_ordered = all(quantity(name) for name in names)
    return {
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "top": 2, "bottom": 2, "right": 10},
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.6, "aria": False, "interpolate": "linear"},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": f"{kind.delay[:1].upper()}{kind.delay[1:]} ({label.unit})",
                "scale": {"type": "log", "nice": False},
                "axis": {"format": ",.6~r", "labelOverlap": True, "grid": True, "tickCount": 6},
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": f"Share of {kind.counted} {LONGER.get(kind.longer, kind.longer)}",
                "scale": {"type": "log", "nice": False, "domainMax": 1},
                "axis": {"format": ".4~%", "tickCount": 6},
            },
            "color": {
                "field": "c",
                "type": "nominal",
                "scale": {"domain": names},
                "legend": {"title": title, "titleLimit": 400, "columns": 3},
            },
            "tooltip": [
                {
                    "field": "x",
                    "type": "quantitative",
                    "title": f"{kind.delay}, {label.unit}",
                    "format": ".4~r",
                },
                {"field": "y", "type": "quantitative", "title": "take longer", "format": ".3~%"},
                {"field": "c", "title": title},
            ],
        },
        "usermeta": {
            "colours": {
                "light": colours(len(names), ground="light", is_ordered=is_ordered),
                "dark": colours(len(names), ground="dark", is_ordered=is_ordered),
            }
        },
    }


def _thinned(of: Distribution) -> list[tuple[float, float]]:
    """Points with a time and a share above 0, without those that on logarithmic axes lie next to
    the one before and the one after.
    """
    every = zip(of.value_s.tolist(), of.exceeding.tolist(), strict=True)
    # Messages that were measured may have come at the same time.
    points = [(value_s, share) for value_s, share in every if share > 0 and value_s > 0]
    kept = points[:1]
    for before, point in pairwise(points):
        if abs(math.log(point[0] / kept[-1][0])) + abs(math.log(point[1] / kept[-1][1])) > STEP:
            # A flat stretch keeps its end, or the line would run slantwise where it falls.
            kept += [before, point] if before != kept[-1] else [point]
    return kept if kept[-1:] == points[-1:] else [*kept, points[-1]]


def percentiles(selection: Selection, found: Sequence[Distribution], *, title: str) -> str:
    """Tabulate the percentiles, mean over the replications with its interval, and the number of
    frames behind it.
    """
    label = selection.kind.percentiles[0].label
    rows = []
    for (name, point), of in zip(selection.points.items(), found, strict=True):
        estimates = [point.estimates.get(metric) for metric in selection.kind.percentiles]
        rows.append(
            [
                safe(name),
                *(results.cell(estimate, label.factor) for estimate in estimates),
                f"{of.frames:,}",
            ]
        )
    head = [safe(key_title(selection.key)), *_HEADS, selection.kind.counted]
    return table(head, rows, caption=f"{title}: percentiles ({label.unit})", kind="data stacked")
