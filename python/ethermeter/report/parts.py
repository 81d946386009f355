"""Parts: figures that tell stations apart, by their group, by their place, and by who had more of
the two.
"""

import math
from collections.abc import Sequence
from typing import Any

from ethermeter.analysis.estimates import Point
from ethermeter.analysis.groups import METRICS, PART
from ethermeter.document import Label, plain
from ethermeter.metrics import Group, Metric
from ethermeter.report import chart
from ethermeter.report.axes import ENGINE, Axes, keys, panels, quantity
from ethermeter.report.bars import bars
from ethermeter.report.content import Content
from ethermeter.report.labels import key_title
from ethermeter.report.results import estimates_table
from ethermeter.report.sheet import Sheet

MOST_BARS = 4
"""Values of a numeric key that are still drawn as bars rather than curves."""
SHARE = Label("Larger of the two stations’ shares", from_zero=False, most=1.0)
MEANS = {Metric.BIT_RATE: Label("Bit rate of a station", "Mb/s", 1e-6)}
"""Labels that differ from those for the whole segment."""


def parts_section(series: str, content: Content, sheet: Sheet) -> str:
    """Figures by group, by place and of shares, each under its heading; empty where the run has
    none.
    """
    of_groups, of_places, of_shares = (
        [point for point in points if point.series == series]
        for points in (content.groups, content.places, content.shares)
    )
    found = ""
    if of_shares:
        lead = "Half is fair. Near half over the whole window and near one over a batch of it is capture that changes sides."
        found += f'<h3>Who gets the segment</h3><p class="lead">{lead}</p>'
        found += _grid(
            _figures(
                of_shares,
                Metric.UTILISATION,
                SHARE,
                "Share of the channel time that the two used.",
                sheet,
            )
        )
    if of_groups:
        found += parts_figures(
            of_groups, "By group of stations", "Means over the stations of a group.", sheet
        )
    if of_places:
        found += parts_figures(
            of_places,
            "By place of the stations",
            "Means over the stations at a place; places are counted along the segment.",
            sheet,
        )
    return found


def parts_figures(
    points: Sequence[Point],
    heading: str,
    lead: str,
    sheet: Sheet,
    *,
    metrics: Sequence[Metric] = METRICS,
) -> str:
    """Figures of some metrics that tell parts apart, under a heading; empty where no metric has a
    value that is not zero.
    """
    shown = [
        metric
        for metric in metrics
        if any(abs(point.estimates[metric].value) > 0 for point in points)
    ]
    drawn = [
        (
            MEANS.get(metric, metric.label),
            _figures(points, metric, MEANS.get(metric, metric.label), "", sheet),
        )
        for metric in shown
    ]
    if all(len(figures) == 1 for _, figures in drawn):
        body = _grid([figure for _, figures in drawn for figure in figures])
    else:
        body = "".join(f"<h4>{label.title}</h4>{_grid(figures)}" for label, figures in drawn)
    return f'<h3>{heading}</h3><p class="lead">{lead}</p>{body}' if drawn else ""


def _grid(figures: Sequence[str]) -> str:
    return f'<div class="grid">{"".join(figures)}</div>'


def _figures(
    points: Sequence[Point], metric: Metric, label: Label, text: str, sheet: Sheet
) -> list[str]:
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
        is_voice = metric.group in (Group.SEGMENT_VOICE, Group.FLOW_VOICE)
        why = "there is no voice, or nothing was delivered" if is_voice else "nothing was delivered"
        why = "there is none" if metric.group is Group.FLOW else why
        missing = f"No value where {why}: {', '.join(dict.fromkeys(silent))}." if silent else ""
        title = ", ".join(
            f"{key_title(key)}: {plain(value)}"
            for key, value in zip(axes.panels, values, strict=True)
        )
        spec = (
            _bars(members, metric, label, axes)
            if is_barred
            else _lines(members, metric, label, axes)
        )
        table = estimates_table(members, [metric], labels={metric: label})
        drawn.append(
            sheet.add(spec, title=title or label.title, text=text or missing, numbers=table)
        )
    return drawn


def _bars(points: Sequence[Point], metric: Metric, label: Label, axes: Axes) -> dict[str, Any]:
    x = axes.x or PART
    return bars(points, metric, label=label, x=x, part=PART, title=chart.axis_title(x, ""))


def _lines(points: Sequence[Point], metric: Metric, label: Label, axes: Axes) -> dict[str, Any]:
    (panel,) = panels(points, Axes(axes.x, axes.x_unit, PART, ()), metric)
    return chart.lines(panel, metric, axes, label=label)


def _axes(points: Sequence[Point]) -> tuple[Axes, bool]:
    """Pick the key with the most values as x, numeric or not; bars unless it is a number with many."""
    values: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in keys(point).items():
            if key != PART:
                values.setdefault(key, {})[value] = None
    varied = {key: list(found) for key, found in values.items() if len(found) > 1}
    if not varied:
        return Axes(PART, "", PART, ()), True
    x = max(varied, key=lambda key: (key != ENGINE, len(varied[key])))
    read = [quantity(text) for text in varied[x]]
    units = {found[1] for found in read if found}
    is_numeric = all(read) and len(units) == 1
    return Axes(
        x, units.pop() if is_numeric else "", PART, tuple(key for key in varied if key != x)
    ), not is_numeric or len(read) <= MOST_BARS
