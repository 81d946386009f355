"""Fairness: figures of how fairly the flows of a network share."""

import math
from collections.abc import Sequence

from ethermeter.analysis.flows import Sharing
from ethermeter.chart import Bar
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Label,
    Table,
    Text,
    valued,
)
from ethermeter.metrics import Metric
from ethermeter.report.axes import choose, panels
from ethermeter.report.data import ReportData
from ethermeter.report.labels import point_title
from ethermeter.report.plots import against, grouped
from ethermeter.results.estimates import Point

SHARE = Label("Share", "%", 100.0, most=100.0, least=0.0)
MOST_BARS = 24
"""Flows whose shares are drawn one by one; of more, those that got most and least."""


def fairness_blocks(series: str, data: ReportData) -> list[Block]:
    """Return figures of Jain's index, and of the flows' shares where they are least fair.

    Empty where no two flows share.
    """
    found = [each for each in data.sharing if each.series == series]
    if not found:
        return []
    drawn: list[Figure] = []
    for name in dict.fromkeys(each.flows for each in found):
        members = [each for each in found if each.flows == name]
        drawn += [*_indices(members), *_shares(members)]
    what = (
        "data"
        if all(each.metric is Metric.DATA_RATE for each in found)
        else "data, or of messages where lengths of data are unknown"
    )
    lead = (
        "How evenly flows of one table of the experiment file share, or all where each has its"
        f" own: shares of {what}. Jain’s index is 1 where all get the same, and 1 over their number"
        " where one gets everything."
    )
    return [Heading("Fairness"), Text(lead, "lead"), Grid(drawn)]


def _title(name: str) -> str:
    return f" of {name}" if name else ""


def _indices(members: Sequence[Sharing]) -> list[Figure]:
    """Draw the index against what is varied, where it is at several points."""
    metric = Metric.JAIN_INDEX
    points = [
        Point(each.series, each.point, each.engine, each.replications, {metric: each.jain_index})
        for each in members
    ]
    axes = choose(points)
    drawn = []
    for panel in panels(points, axes, metric):
        title = f"{metric.label.title}{_title(members[0].flows)}" + (
            f", {panel.title}" if panel.title else ""
        )
        text = "Of the rates of the flows; mean over the replications."
        drawn.append(Figure(against(panel, metric, axes), title, text))
    return drawn


def _shares(members: Sequence[Sharing]) -> list[Figure]:
    """Draw the shares at the point that is least fair, by every engine that answered there."""
    worst = min(members, key=lambda each: each.jain_index.value)
    shown = [each for each in members if each.point == worst.point]
    order = sorted(worst.shares, key=lambda flow: -worst.shares[flow].value)
    kept = (
        order if len(order) <= MOST_BARS else [*order[: MOST_BARS // 2], *order[-MOST_BARS // 2 :]]
    )
    known = [(flow, each) for flow in kept for each in shown if flow in each.shares]
    bars = [Bar(_short(flow, worst.flows), of.engine, of.shares[flow]) for flow, of in known]
    if not any(math.isfinite(of.shares[flow].value) for flow, of in known):
        return []
    where = point_title(worst.point)
    indices = ", ".join(
        f"{each.jain_index.value:.3f}" + (f" {each.engine}" if len(shown) > 1 else "")
        for each in shown
    )
    text = (
        f"{where}, the least fair point. " if where else ""
    ) + f"Jain’s index: {indices}. A fair share is {100 / len(order):.1f}%."
    text += (
        f" Of {len(order)} flows those that got most and least." if len(kept) < len(order) else ""
    )
    head = ["Flow", *(each.engine for each in shown)]
    rows = [[flow, *(valued(each.shares.get(flow), SHARE) for each in shown)] for flow in order]
    numbers = Table(head, rows, "Shares of flows, %")
    return [Figure(grouped(bars, SHARE, "Flow"), f"Shares{_title(worst.flows)}", text, numbers)]


def _short(flow: str, name: str) -> str:
    """Leave out the name of the table, which all of them begin with."""
    return flow.removeprefix(f"{name} ") if name else flow
