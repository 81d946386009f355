"""Series: the page of quick measurements of a host over time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ethermeter.chart import Axis, Box, Curves, Legend, Look, Points, Trace
from ethermeter.document import Block, Figure, Label, Section, Table, Text, number
from ethermeter.metrics import Metric
from ethermeter.report.render import Page, render
from ethermeter.report.thinning import spread
from ethermeter.results.interval import Estimate

MOST_DRAWN = 2000
MOST_FINDINGS = 5
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
        Figure(_curves(metric, moments), title, metric.meaning("flow"))
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
    facts = [("Measurements", str(len(moments))), ("Failed", str(len(failed)))]
    if moments:
        facts += [("From", moments[0].at), ("To", moments[-1].at)]
    page = Page(
        f"Measurements of {to}",
        "quick measurement",
        sections,
        "Intervals are 95%. This file works offline.",
        facts,
        findings=_findings(moments)[:MOST_FINDINGS],
        warnings=[f"{len(failed)} of {len(moments)} measurements failed."] if failed else [],
    )
    return render(page)


def _findings(moments: Sequence[Moment]) -> list[str]:
    """Say what the median of every drawn metric is, and between which values it varied."""
    found: list[str] = []
    for (flow, metric), values in _values(moments).items():
        if metric not in dict(_DRAWN):
            continue
        unit = f" {metric.label.unit}" if metric.label.unit else ""
        low, middle, high = _ends(values)
        text = "{} of {}: <strong>{}{}</strong> in the median, {} to {} in {} measurements."
        found.append(
            Markup(text).format(dict(_DRAWN)[metric], flow, middle, unit, low, high, len(values))
        )
    return found


def _curves(metric: Metric, moments: Sequence[Moment]) -> Curves:
    curves: dict[str, list[tuple[str, Estimate]]] = {}
    for moment in spread(moments, MOST_DRAWN):
        for (flow, found), (value, low, high) in moment.values.items():
            if found is metric and math.isfinite(value):
                ends = (low, high) if math.isfinite(low) and math.isfinite(high) else None
                estimate = Estimate(value, math.nan, math.nan, ends=ends)
                curves.setdefault(flow, []).append((moment.at, estimate))
    look = Look(width=2, interval="whiskers", size=30)
    when, label = "time (UTC)", metric.label
    return Curves(
        [Trace(flow, points, look) for flow, points in curves.items()],
        Axis(Label(when), is_date=True),
        Axis(label, from_zero=True, is_nice=True),
        [("x", when, "%Y-%m-%d %H:%M:%S"), ("value", label.title, ".5~r"), ("curve", "flow", "")],
        Legend("flow"),
        Points(is_filled=True, opacity=1, pointer="none"),
        is_clipped=False,
        box=Box(height=240),
    )


def _values(moments: Sequence[Moment]) -> dict[tuple[str, Metric], list[float]]:
    """Return the values of every flow and metric, in the unit shown, the smallest first."""
    found: dict[tuple[str, Metric], list[float]] = {}
    for moment in moments:
        for key, (value, _, _) in moment.values.items():
            if math.isfinite(value):
                found.setdefault(key, []).append(value * key[1].label.factor)
    return {key: sorted(values) for key, values in found.items()}


def _ends(ordered: Sequence[float]) -> tuple[str, str, str]:
    """Write the smallest value, the median and the largest."""
    median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return number(ordered[0]), number(median), number(ordered[-1])


def _summary(moments: Sequence[Moment]) -> list[tuple[str, ...]]:
    return [
        (flow, metric.label.title, str(len(values)), *_ends(values), metric.label.unit)
        for (flow, metric), values in _values(moments).items()
    ]
