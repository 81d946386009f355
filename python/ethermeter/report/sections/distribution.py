"""Distribution of the delay: the share of frames that take longer, with percentiles.

It is shown for a few points of a series.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ethermeter.analysis.distribution import Distribution
from ethermeter.chart import Axis, Box, Curves, Legend, Trace
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Label,
    Table,
    Text,
    large_first,
    valued,
)
from ethermeter.faults import small_first
from ethermeter.quantities import suited
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title
from ethermeter.report.selection import Selection
from ethermeter.swept import quantity

_HEADS = ("Median", "90%", "99%", "99.9%", "Largest")
LONGER = {
    "whose delay is larger": "that take longer",
    "that come longer after the one before": "with a longer gap",
}
"""Wording of the axis where it differs from that of the caption."""
STEP = 0.03
"""Distance of points that are drawn, in natural logarithms: about a pixel."""


def distribution_blocks(name: str, data: ReportData) -> list[Block]:
    """Figures of the distributions of a series, with their percentiles; empty where it has none."""
    shown = data.distributions.get(name, ())
    if not shown:
        return []
    kinds = {selection.kind for selection, _ in shown}
    counted = "messages" if any(kind.counted == "messages" for kind in kinds) else "frames"
    flows = " flows and" if counted == "messages" else ""
    lead = (
        f"The {counted} of all{flows} replications together. Percentiles are means over the "
        "replications, with 95% intervals from three on."
    )
    if len(kinds) > 1 and counted == "frames":
        lead += (
            " The transmission delay begins when the transmitter takes a frame up, the voice delay "
            "with the oldest sample in it; the delay of samples is that of their frames, each "
            "counted as often as it has samples."
        )
    is_voice = bool({"voice_delay", "sample_delay"} & {kind.histogram for kind in kinds})
    if is_voice and counted == "messages":
        lead += (
            " The delay of voice begins with the oldest sample of a packet; that of samples counts "
            "each packet as often as it has some."
        )
    figures = [_figure(name, *each) for each in shown]
    return [Heading(f"How long {counted} take"), Text(lead, "lead"), Grid(figures)]


def _figure(series: str, selection: Selection, found: Sequence[Distribution]) -> Figure:
    """Draw the shares above each delay, above a table of percentiles.

    These are means over the replications with their intervals, and the number of frames.
    """
    kind = selection.kind
    seen = (
        point.estimates[metric].value
        for point in selection.points.values()
        for metric in kind.percentiles
        if metric in point.estimates
    )
    label = suited(kind.percentiles[0].label, seen)
    key = key_title(selection.key)
    title = f"Distribution of the {kind.delay} by {key[:1].lower()}{key[1:]}"
    text = f"Share of {kind.counted} {kind.longer}, both axes logarithmic."
    rows = []
    for (name, point), of in zip(selection.points.items(), found, strict=True):
        estimates = (point.estimates.get(metric) for metric in kind.percentiles)
        cells = [valued(estimate, label) for estimate in estimates]
        rows.append([name, *cells, f"{of.frames:,}"])
    caption = f"{series}, {title}: percentiles"
    heads = (f"{name} ({label.unit})" for name in _HEADS)
    head = [key, *heads, large_first(kind.counted)]
    chart = exceedance(
        dict(zip(selection.points, found, strict=True)),
        Label(large_first(kind.delay), label.unit, label.factor),
        y_title=f"Share of {kind.counted} {LONGER.get(kind.longer, kind.longer)}",
        legend=key,
    )
    return Figure(
        chart,
        title,
        f"{text} {selection.fixed}." if selection.fixed else text,
        after=Table(head, rows, caption, "data stacked"),
    )


def exceedance(
    found: Mapping[str, Distribution], label: Label, *, y_title: str, legend: str
) -> Curves:
    """Draw the shares above each delay, one curve each, both axes logarithmic.

    Parameters
    ----------
    found
        Distributions by the name of their curve.
    label
        Of the delay.
    y_title
        Title of the y axis.
    legend
        What the names are values of.

    """
    traces = [
        Trace(
            name,
            [
                (float(f"{value_s * label.factor:.4g}"), float(f"{share:.4g}"))
                for value_s, share in _thinned(of)
            ],
        )
        for name, of in found.items()
    ]
    x_title = f"{small_first(label.title)}, {label.unit}"
    return Curves(
        traces,
        Axis(Label(label.axis), is_log=True, numbers="delay"),
        Axis(Label(y_title), high=1, is_log=True, numbers="part"),
        [("x", x_title, ".4~r"), ("y", "take longer", ".3~%"), ("curve", legend, "")],
        Legend(legend),
        palette="ramp" if all(quantity(name) for name in found) else "distinct",
        is_clipped=False,
        box=Box(right=10),
    )


def _thinned(of: Distribution) -> list[tuple[float, float]]:
    """Points with a time and a share above 0, thinned for logarithmic axes.

    A point is left out if it is next to the one before and the one after.
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
