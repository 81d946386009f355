"""Channel: where the time of a medium goes, at the point that loses most of it to collisions."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Label,
    Table,
    Text,
    large_first,
    plain,
    small_first,
)
from ethermeter.metrics import Metric
from ethermeter.report.axes import Axes, keys
from ethermeter.report.charts.lines import breakdown
from ethermeter.report.data import ReportData
from ethermeter.report.extremes import amount, known, places
from ethermeter.report.labels import TIME_KINDS, key_title, time_kinds
from ethermeter.report.thinning import MOST_BARS, spread
from ethermeter.results.estimates import Point

SHARE = Label("Share of time", "%", 100.0)
SEEN = 0.01
"""Share of the time that is worth a sentence."""


def findings(data: ReportData) -> list[str]:
    """Say how much time collisions take at most; nothing where they take next to none."""
    for engine in ("live", "simulation"):
        points = [point for point in data.points if point.engine == engine]
        found = known(points, Metric.TIME_COLLISION)
        if not found:
            continue
        worst = max(found, key=lambda each: each.estimate.value)
        if worst.estimate.value < SEEN:
            return []
        where = places([each.point for each in found]).at(worst.point)
        share = amount(worst.estimate, SHARE)
        return [
            Markup("Collisions take up to {} of the channel’s time{}.").format(
                share, f", at {where}" if where else ""
            )
        ]
    return []


def breakdown_blocks(points: Sequence[Point], axes: Axes) -> list[Block]:
    """Shares of time against x, and across the curves, through the worst point.

    Empty where nothing numeric is varied, or channel time is not known.
    """
    having = [point for point in points if all(metric in point.estimates for metric in TIME_KINDS)]
    if axes.x is None or not having:
        return []
    worst, why = _worst(having)
    at = keys(worst)
    same = [point for point in having if all(keys(point)[key] == at[key] for key in axes.panels)]
    figures = []
    for key, fixed in _directions(axes):
        members = [point for point in same if all(keys(point)[of] == at[of] for of in fixed)]
        settings = ", ".join(f"{key_title(of)}: {plain(at[of])}" for of in (*fixed, *axes.panels))
        text = f"{settings}: {why}." if settings else ""
        figures.append(
            _breakdown(members, key, f"Channel time by {small_first(key_title(key))}", text)
        )
    lead = "Where the channel’s time goes; the shares sum to 1."
    return [Heading("Channel time"), Text(lead, "lead"), Grid(figures)]


def _directions(axes: Axes) -> list[tuple[str, tuple[str, ...]]]:
    """List the keys along which bars are drawn, each with those that are fixed."""
    x = axes.x or ""
    if axes.curve is None:
        return [(x, ())]
    return [(axes.curve, (x,)), (x, (axes.curve,))]


def _worst(points: Sequence[Point]) -> tuple[Point, str]:
    """Pick the point that collisions cost most, else the fullest; and why it was picked."""
    for metric, why in (
        (Metric.TIME_COLLISION, "where collisions take most time"),
        (Metric.TIME_FRAME, "where frames take most time"),
    ):
        worst = max(points, key=lambda point: _value(point, metric))
        if _value(worst, metric) > 0:
            return worst, why
    return points[0], "nothing was sent at any point"


def _value(point: Point, metric: Metric) -> float:
    value = point.estimates[metric].value
    return value if math.isfinite(value) else -math.inf


def _breakdown(points: Sequence[Point], key: str, title: str, text: str) -> Figure:
    shown = spread(points, MOST_BARS)
    kinds = time_kinds(points[0].estimates)
    rows = [
        [
            plain(keys(point)[key]),
            *(f"{point.estimates[metric].value * 100:.2f}" for metric in kinds),
        ]
        for point in shown
    ]
    head = [key_title(key), *(f"{large_first(kind)} (%)" for kind in kinds.values())]
    numbers = Table(head, rows, "Shares of channel time")
    chart = breakdown(shown, key, title=key_title(key))
    return Figure(chart, title, text, numbers, kind="low")
