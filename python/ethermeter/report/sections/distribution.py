"""Distribution of the delay: the share of frames that take longer, with percentiles.

It is shown for a few points of a series.
"""

from collections.abc import Sequence

from ethermeter.analysis.distribution import Distribution
from ethermeter.document import Block, Figure, Grid, Heading, Label, Table, Text, cell, large_first
from ethermeter.report.charts.distribution import exceedance
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title
from ethermeter.report.selection import Selection

_HEADS = ("Median", "90%", "99%", "99.9%", "Largest")
LONGER = {
    "whose delay is larger": "that take longer",
    "that come longer after the one before": "with a longer gap",
}
"""Wording of the axis where it differs from that of the caption."""


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
    kind, label = selection.kind, selection.kind.percentiles[0].label
    key = key_title(selection.key)
    title = f"Distribution of the {kind.delay} by {key[:1].lower()}{key[1:]}"
    text = f"Share of {kind.counted} {kind.longer}, both axes logarithmic."
    rows = []
    for (name, point), of in zip(selection.points.items(), found, strict=True):
        estimates = (point.estimates.get(metric) for metric in kind.percentiles)
        cells = [cell(estimate, label.factor) for estimate in estimates]
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
