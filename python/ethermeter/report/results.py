"""Results: claims, cautions and estimates as HTML tables."""

import math
from collections.abc import Mapping, Sequence

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.estimates import Point, run_cautions
from ethermeter.analysis.interval import Estimate
from ethermeter.document import Label, number, plain
from ethermeter.metrics import Caution, Metric
from ethermeter.report.axes import Axes, Panel, keys
from ethermeter.report.chart import axis_title
from ethermeter.report.html import safe, table
from ethermeter.report.labels import key_title

_GAUGE_RANGE, _WIDE_RANGE = 0.1, 1.0
UNSEEN = 5e-5
"""Half width of an interval, relative to its value, that five digits do not show."""


def claims_table(claims: Sequence[Claim]) -> str:
    """Every published claim against ours."""
    head = (
        "Claim",
        "Published",
        "Ours and 95% interval",
        f"Deviation, ±{_GAUGE_RANGE:.0%}",
        "Verdict and basis",
        "Note",
    )
    return table(
        head,
        (_claim_row(claim) for claim in claims),
        caption="Published claims against this run",
        kind="claims",
    )


def _claim_row(claim: Claim) -> list[str]:
    half = (claim.high - claim.low) / 2
    unit = f" {claim.unit}" if claim.unit else ""
    ours = (
        ""
        if math.isnan(claim.ours)
        else f'<span class="nowrap">{number(claim.ours, half)}{safe(unit)}</span>'
    )
    if half > 0:
        ours += (
            f'<small class="nowrap">{number(claim.low, half)} to {number(claim.high, half)}</small>'
        )
    deviation = "" if math.isnan(claim.deviation) else f"{claim.deviation:+.1%}".replace("-", "−")
    if claim.prediction:
        deviation += f", drawn to ±{_WIDE_RANGE:.0%}"
    measure = f"<small>Ours: {safe(claim.measure)}</small>" if claim.measure else ""
    return [
        f"{safe(claim.what)}<small>{'section ' if claim.where[:1].isdigit() else ''}{safe(claim.where)}</small>",
        _published(claim),
        ours,
        f"{_gauge(claim)}<small>{deviation}</small>",
        f'<span class="tag {safe(claim.verdict)}">{safe(claim.verdict.replace("-", " "))}</span> '
        f'<span class="tag {safe(claim.basis)}">{safe(claim.basis)}</span>',
        f"{safe(_sentence(claim.note))}{measure}",
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _published(claim: Claim) -> str:
    if math.isnan(claim.published):
        return "stated"
    unit = f" {claim.unit}" if claim.unit else ""
    text = f'<span class="nowrap">{claim.published:,g}{safe(unit)}</span>'
    if claim.rounding:
        text += f"<small>{claim.rounding[0]:,g} to {claim.rounding[1]:,g}</small>"
    return text


def _reach(claim: Claim) -> float:
    """Return the largest deviation that is drawn; a difference of single runs needs more room."""
    return _WIDE_RANGE if claim.prediction else _GAUGE_RANGE


def _gauge(claim: Claim) -> str:
    """Draw the deviation with its interval over the band in which the claim is met."""
    if math.isnan(claim.deviation) or not claim.rounding:
        return ""
    reach = _reach(claim)
    width, height = 120, 18

    def place(deviation: float) -> float:
        return round(60 + max(-reach, min(reach, deviation)) / reach * 60, 1)

    # The band is the deviations that count as met. A published single run within its prediction is
    # as far from ours as ours from it.
    spread = (claim.prediction[1] - claim.ours) / claim.published if claim.prediction else 0.0
    low = place(min(-claim.near, claim.rounding[0] / claim.published - 1, -spread))
    high = place(max(claim.near, claim.rounding[1] / claim.published - 1, spread))
    ends = [claim.low / claim.published - 1, claim.high / claim.published - 1]
    at = place(claim.deviation)
    out = " out" if claim.verdict == "missed" else ""
    mark = f'<circle class="dot{out}" cx="{at}" cy="9" r="4"/>'
    if abs(claim.deviation) > reach:
        tip, back = (119, 112) if claim.deviation > 0 else (1, 8)
        mark = f'<path class="off{out}" d="M{back} 4L{tip} 9L{back} 14"/>'
    whisker = (
        f'<path class="whisker" d="M{place(min(ends))} 9H{place(max(ends))}"/>'
        if all(map(math.isfinite, ends))
        else ""
    )
    # Beside the number it draws, it says nothing new to a screen reader.
    return (
        f'<svg class="gauge" width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true">'
        f'<rect class="band" x="{low}" y="2" width="{round(high - low, 1)}" height="14" rx="3"/>'
        f'<path class="mid" d="M60 1V17"/>{whisker}{mark}</svg>'
    )


def cell(estimate: Estimate | None, factor: float) -> str:
    """Value and half width of its interval, or the ends of one that is not symmetrical; a dash
    without a value.

    Only the value if the interval is narrower than the digits shown.
    """
    if estimate is None or not math.isfinite(estimate.value):
        return "–"
    value, half = estimate.value * factor, estimate.half_width * factor
    is_seen = math.isfinite(half) and half >= UNSEEN * abs(value)
    if estimate.ends is not None and is_seen and half > 0:
        low, high = (number(end * factor, half) for end in estimate.ends)
        ends = (
            f"up to {high}"
            if estimate.low == estimate.value
            else f"from {low}"
            if estimate.high == estimate.value
            else f"{low} to {high}"
        )
        return f"{number(value, half)} <small>{ends}</small>"
    return number(value, half) + (
        f" <small>±{number(half, half)}</small>" if is_seen and half > 0 else ""
    )


def figure_table(
    panel: Panel, metric: Metric, axes: Axes, *, title: str, label: Label | None = None
) -> str:
    """Numbers of a figure: x by curve, value and half width of the interval; `label` instead of the
    metric's own.
    """
    label = label or metric.label
    places = sorted({x for curve in panel.curves for x, _ in curve.points})
    cells = [{x: estimate for x, estimate in curve.points} for curve in panel.curves]
    rows = []
    for x in places:
        row = [f"{x:g}"]
        for curve in cells:
            row.append(cell(curve.get(x), label.factor))
        rows.append(row)
    head = [
        safe(axis_title(axes.x or "", axes.x_unit)),
        *(safe(curve.name or label.axis) for curve in panel.curves),
    ]
    return table(head, rows, caption=f"{title}: {label.axis}", kind="data")


def estimates_table(
    points: Sequence[Point],
    metrics: Sequence[Metric],
    *,
    labels: Mapping[Metric, Label] | None = None,
) -> str:
    """Every point of a series with some metrics, in the units of the labels."""
    labels = {metric: metric.label for metric in metrics} | dict(labels or {})
    varied = {key: {keys(point)[key] for point in points} for key in keys(points[0])}
    shown = [key for key, values in varied.items() if len(values) > 1] or list(points[0].point)
    rows = []
    for point in points:
        row = [safe(plain(keys(point)[key])) for key in shown]
        for metric in metrics:
            row.append(cell(point.estimates.get(metric), labels[metric].factor))
        rows.append(row)
    head = [safe(key_title(key)) for key in shown] + [
        safe(labels[metric].axis) for metric in metrics
    ]
    return table(
        head, rows, caption=f"Estimates of {points[0].series}", kind="data", headers=len(shown)
    )


def cautions_table(points: Sequence[Point]) -> str:
    """Every caution of values: what it means, and at which points of which series; values that do
    not exist are dashes already.
    """
    found: dict[tuple[str, str], list[Point]] = {}
    totals: dict[str, int] = {}
    for point in points:
        totals[point.series] = totals.get(point.series, 0) + 1
        for word in {
            word
            for estimate in point.estimates.values()
            for word in estimate.cautions
            if word != Caution.NO_SAMPLES
        }:
            found.setdefault((word, point.series), []).append(point)
    if not found:
        return "<p>No value of this run carries a caution.</p>"
    rows = [
        [
            f"<code>{safe(word)}</code>",
            safe(Caution(word).meaning),
            safe(series),
            f"{len(members)} of {totals[series]}",
            safe(_where(members)),
        ]
        for (word, series), members in sorted(found.items(), key=lambda item: item[0])
    ]
    return table(
        ("Caution", "Meaning", "Series", "Points", "Where"), rows, caption="Cautions", kind="plain"
    )


def cautions_of_run(points: Sequence[Point]) -> str:
    """Every caution of the whole run, in a sentence each."""
    return "".join(
        f"<p><code>{safe(word)}</code>: {safe(Caution(word).meaning)}.</p>"
        for word in run_cautions(points)
    )


def _where(points: Sequence[Point]) -> str:
    parts = []
    for key in points[0].point:
        values = list(dict.fromkeys(point.point[key] for point in points))
        text = (
            ", ".join(values)
            if len(values) <= 4
            else f"{len(values)} values from {values[0]} to {values[-1]}"
        )
        parts.append(f"{key_title(key)}: {text}")
    return "; ".join(parts)
