"""Channel: where the time of a medium goes, at the point that loses most of it to collisions."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.chart import Axis, Bar, Bars, Box, Legend, Names
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
)
from ethermeter.faults import small_first
from ethermeter.metrics import Metric
from ethermeter.report.axes import Axes, curve_names, keys
from ethermeter.report.data import ReportData
from ethermeter.report.extremes import amount, known, places
from ethermeter.report.labels import TIME_KINDS, key_title, time_kinds
from ethermeter.report.thinning import MOST_BARS, spread
from ethermeter.results.estimates import Point
from ethermeter.swept import quantity

SHARE = Label("Share of time", "%", 100.0, most=100.0, least=0.0)
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
    return Figure(breakdown(shown, key), title, text, numbers, kind="low")


def breakdown(points: Sequence[Point], key: str) -> Bars:
    """Draw shares of channel time, stacked, against a varied key; the parts sum to 1."""
    texts = list(dict.fromkeys(keys(point)[key] for point in points))
    names = curve_names(texts)
    is_count = all((read := quantity(text)) is not None and read[1] == "" for text in texts)
    kinds = time_kinds(points[0].estimates)
    bars = [
        Bar(names[keys(point)[key]], kind, point.estimates[metric].value)
        for point in points
        for metric, kind in kinds.items()
        if metric in point.estimates and math.isfinite(point.estimates[metric].value)
    ]
    shown = [name for name in names.values() if any(bar.place == name for bar in bars)]
    return Bars(
        bars,
        Axis(Label("Share of channel time"), 0, 1, numbers="share"),
        Names(key_title(key), shown, size=0 if is_count else 10, is_thinned=True),
        [("curve", "channel time", ""), ("y", "share", ".2%"), ("place", key_title(key), "")],
        # A row of all kinds is wider than a phone; those of PLCA have long names.
        Legend("", 3 if len(kinds) <= len(TIME_KINDS) else 2),
        list(kinds.values()),
        "channel time",
        is_stacked=True,
        share=0.86,
        box=Box(height=220, right=10),
    )
