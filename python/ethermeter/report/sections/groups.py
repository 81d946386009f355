"""Groups: figures by group of stations, by attachment, and by the larger of two shares."""

import math
from collections.abc import Sequence

from ethermeter.analysis.groups import METRICS, PART
from ethermeter.chart import Bar, Bars, Chart
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Label,
    Text,
    plain,
)
from ethermeter.metrics import EntityKind, Metric
from ethermeter.report.axes import ENGINE, Axes, keys, panels, unit_of
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title
from ethermeter.report.plots import against, grouped
from ethermeter.report.tables import estimates_table
from ethermeter.results.estimates import Point

MOST_BARS = 4
"""Values of a numeric key that are still drawn as bars rather than curves."""
SHARE = Label("Larger of the two stations’ shares", from_zero=False, most=1.0, least=0.0)
MEANS = {Metric.BIT_RATE: Label("Bit rate of a station", "Mb/s", 1e-6)}
"""Labels that differ from those for the whole segment."""


def group_blocks(series: str, data: ReportData) -> list[Block]:
    """Figures by group, by attachment point and of shares, each under its heading.

    Empty where the run has none.
    """
    of_groups, of_attachments, of_shares = (
        [point for point in points if point.series == series]
        for points in (data.groups, data.attachments, data.shares)
    )
    found: list[Block] = []
    if of_shares:
        lead = (
            "Half is fair. Near half over the whole window and near one over a batch of it is "
            "capture that changes sides."
        )
        text = "Share of the channel time that the two used."
        figures = _figures(of_shares, Metric.UTILISATION, SHARE, text)
        found += [Heading("Who gets the segment"), Text(lead, "lead"), Grid(figures)]
    if of_groups:
        lead = "Means over the stations of a group."
        found += metric_figures(of_groups, "By group of stations", lead)
    if of_attachments:
        lead = "Means over the stations at a place; places are counted along the segment."
        found += metric_figures(of_attachments, "By place of the stations", lead)
    return found


def metric_figures(
    points: Sequence[Point], heading: str, lead: str, *, metrics: Sequence[Metric] = METRICS
) -> list[Block]:
    """Figures of some metrics by group, under a heading.

    Empty where no metric has a value that is not zero.
    """
    shown = [
        metric
        for metric in metrics
        if any(abs(point.estimates[metric].value) > 0 for point in points)
    ]
    drawn = []
    for metric in shown:
        label = MEANS.get(metric, metric.label)
        drawn.append((label, _figures(points, metric, label, "")))
    if not drawn:
        return []
    blocks: list[Block] = [Heading(heading), Text(lead, "lead")]
    if all(len(figures) == 1 for _, figures in drawn):
        return [*blocks, Grid([figure for _, figures in drawn for figure in figures])]
    for label, figures in drawn:
        blocks += [Heading(label.title, 4), Grid(figures)]
    return blocks


def _figures(points: Sequence[Point], metric: Metric, label: Label, text: str) -> list[Figure]:
    """One figure for every combination of the keys that are neither on the x axis nor the part."""
    axes, is_barred = _axes(points)
    by_panel: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        by_panel.setdefault(tuple(keys(point)[key] for key in axes.panels), []).append(point)
    drawn = []
    for values, members in by_panel.items():
        silent = [
            keys(point)[PART]
            for point in members
            if not math.isfinite(point.estimates[metric].value)
        ]
        if len(silent) == len(members):
            continue
        is_voice = metric.kind in (EntityKind.TALKER, EntityKind.CALL)
        why = "there is no voice, or nothing was delivered" if is_voice else "nothing was delivered"
        why = "there are no samples" if metric.kind is EntityKind.FLOW else why
        missing = f"No value where {why}: {', '.join(dict.fromkeys(silent))}." if silent else ""
        title = ", ".join(
            f"{key_title(key)}: {plain(value)}"
            for key, value in zip(axes.panels, values, strict=True)
        )
        charts = (
            [("", _bars(members, metric, label, axes), members)]
            if is_barred
            else _lines(members, metric, label, axes)
        )
        for part, chart, of in charts:
            table = estimates_table(of, [metric], labels={metric: label})
            heading = ", ".join(filter(None, (title, part))) or label.title
            drawn.append(Figure(chart, heading, text or missing, table))
    return drawn


def _bars(points: Sequence[Point], metric: Metric, label: Label, axes: Axes) -> Bars:
    x = axes.x or PART
    bars = [
        Bar(plain(keys(point)[x]), keys(point)[PART], point.estimates[metric]) for point in points
    ]
    return grouped(bars, label, key_title(x))


def _lines(
    points: Sequence[Point], metric: Metric, label: Label, axes: Axes
) -> list[tuple[str, Chart, Sequence[Point]]]:
    """Return titles, curves and their points: one figure, or one for each part."""
    found: list[tuple[str, Chart, Sequence[Point]]] = []
    for panel in panels(points, Axes(axes.x, axes.x_unit, PART, ()), metric):
        names = {curve.name for curve in panel.curves}
        of = [point for point in points if plain(keys(point)[PART]) in names]
        found.append((panel.title, against(panel, metric, axes, label=label), of or points))
    return found


def _axes(points: Sequence[Point]) -> tuple[Axes, bool]:
    """Pick the key with the most values as x; bars unless it has many numeric values."""
    values: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in keys(point).items():
            if key != PART:
                values.setdefault(key, {})[value] = None
    varied = {key: list(found) for key, found in values.items() if len(found) > 1}
    if not varied:
        return Axes(PART, "", PART, ()), True
    x = max(varied, key=lambda key: (key != ENGINE, len(varied[key])))
    unit = unit_of(x, varied[x])
    return (
        Axes(x, unit, PART, tuple(key for key in varied if key != x)),
        unit is None or len(varied[x]) <= MOST_BARS,
    )
