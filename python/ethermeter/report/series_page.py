"""Series: the page of quick measurements of a host over time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethermeter.document import Block, Figure, Section, Table, Text, VegaLite, number
from ethermeter.metrics import Metric
from ethermeter.report.render import Page, render
from ethermeter.report.thinning import spread

MOST_DRAWN = 2000
_DRAWN = (
    (Metric.DATA_RATE, "Throughput"),
    (Metric.ROUND_TRIP, "Round trip"),
    (Metric.ROUND_TRIP_P99, "Round trip, 99th percentile"),
    (Metric.LOSS, "Loss"),
    (Metric.JITTER, "Jitter"),
    (Metric.ONE_WAY_DELAY, "One-way delay"),
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A measurement: when, why it failed if it did, and value, low and high by flow and metric."""

    at: str
    error: str | None
    values: Mapping[tuple[str, Metric], tuple[float, float, float]]


def series_page(to: str, moments: Sequence[Moment]) -> str:
    """Return the page, which needs no network."""
    failed = [moment for moment in moments if moment.error is not None]
    sections = []
    figures: list[Block] = [
        Figure(_lines(metric, moments), title, metric.meaning(of_flows=True))
        for metric, title in _DRAWN
        if any(key[1] is metric for moment in moments for key in moment.values)
    ]
    if figures:
        sections.append(Section("time", "Over time", "Over time", figures))
    if rows := _summary(moments):
        head = ("Flow", "Metric", "Measurements", "Smallest", "Median", "Largest", "Unit")
        lead = "Smallest, median and largest of the measurements."
        blocks: list[Block] = [Text(lead, "lead"), Table(head, rows, "Values of the series")]
        sections.append(Section("values", "Values", "Values", blocks))
    if failed:
        rows = [(moment.at, moment.error or "") for moment in failed]
        table = Table(("When", "Why"), rows, "Measurements that failed", open_rows=20)
        sections.append(Section("failed", "Failed", "Measurements that failed", [table]))
    facts = [("measurements", str(len(moments))), ("failed", str(len(failed)))]
    if moments:
        facts += [("from", moments[0].at), ("to", moments[-1].at)]
    footer = "Intervals are 95%. This file works offline."
    return render(Page(f"Measurements of {to}", "quick measurement", sections, footer, facts))


def _lines(metric: Metric, moments: Sequence[Moment]) -> VegaLite:
    factor = metric.label.factor
    rows = []
    for moment in spread(moments, MOST_DRAWN):
        for (flow, found), (value, low, high) in moment.values.items():
            if found is metric and math.isfinite(value):
                row = {"at": moment.at, "flow": flow, "value": value * factor}
                if math.isfinite(low) and math.isfinite(high):
                    row |= {"low": low * factor, "high": high * factor}
                rows.append(row)
    x = {"field": "at", "type": "temporal", "title": "time (UTC)", "scale": {"type": "utc"}}
    colour = {"field": "flow", "type": "nominal", "title": "flow"}
    y = {"field": "value", "type": "quantitative", "title": metric.label.axis}
    return {
        "data": {"values": rows},
        "width": "container",
        "height": 240,
        "layer": [
            {
                "mark": {"type": "rule", "opacity": 0.4},
                "encoding": {
                    "x": x,
                    "y": {"field": "low", "type": "quantitative", "title": metric.label.axis},
                    "y2": {"field": "high"},
                    "color": colour,
                },
            },
            {
                "mark": {"type": "line", "point": True, "tooltip": True},
                "encoding": {"x": x, "y": y, "color": colour},
            },
        ],
    }


def _summary(moments: Sequence[Moment]) -> list[tuple[str, ...]]:
    found: dict[tuple[str, Metric], list[float]] = {}
    for moment in moments:
        for key, (value, _, _) in moment.values.items():
            if math.isfinite(value):
                found.setdefault(key, []).append(value)
    rows = []
    for (flow, metric), values in found.items():
        ordered = sorted(value * metric.label.factor for value in values)
        median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        numbers = (number(each) for each in (ordered[0], median, ordered[-1]))
        rows.append((flow, metric.label.title, str(len(values)), *numbers, metric.label.unit))
    return rows
