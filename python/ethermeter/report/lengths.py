"""Lengths: the section with the lines of times against lengths, what lies beside them, and what one
way costs more than another.
"""

import math
from collections.abc import Sequence

from ethermeter.analysis.interval import Estimate
from ethermeter.analysis.lengths import BREAK_PROBABILITY, Extra, OfLengths, extras, of_lengths
from ethermeter.document import number, plain
from ethermeter.report.content import Content
from ethermeter.report.html import safe, section, table
from ethermeter.report.labels import key_title
from ethermeter.report.results import cell

OPEN_ROWS = 20
_US, _NS = 1e6, 1e9
_HEAD = (
    "Flow",
    "Engine",
    "Time",
    "Lengths (B)",
    "Intercept (µs)",
    "Slope (ns/B)",
    "R²",
    "Farthest from it (µs)",
    "Two lines",
)


def lengths_section(content: Content) -> str:
    """Lines of every time of every flow that was answered at several lengths; empty where there is
    none.
    """
    lines = of_lengths(content.flows)
    if not lines:
        return ""
    lead = (
        "Straight lines through the means at every length, by least squares; 95% intervals come from the scatter about the line. The slope "
        " is what an octet costs on the whole way, the intercept what a message costs without its octets. Two lines stand where "
        f"dividing the points makes their scatter so much less that chance alone would do it with less than {BREAK_PROBABILITY:.0%}."
    )
    body = f'<p class="lead">{lead}</p>' + _folded(
        _HEAD, [_row(each, lines) for each in lines], "Lines"
    )
    body += _residuals(lines)
    if found := extras(lines):
        body += (
            "<h3>One way against another</h3><p>Differences of the lines that were drawn at the same lengths: what lies on the one way and "
            "not on the other, such as a switch.</p>" + _differences(found)
        )
    return section("lengths", "Times against lengths", body)


def _of(each: OfLengths, *, several: bool) -> str:
    """Say which line it is."""
    words = [
        *([each.series] if several else []),
        each.flow,
        *(f"{key_title(key)}: {plain(value)}" for key, value in each.fixed.items()),
    ]
    return safe(", ".join(words))


def _row(each: OfLengths, lines: Sequence[OfLengths]) -> list[str]:
    farthest = float(abs(each.residuals_s).max())
    return [
        _of(each, several=len({line.series for line in lines}) > 1),
        safe(each.engine),
        safe(each.metric.label.title),
        f"{each.octets[0]:g} to {each.octets[-1]:g}",
        cell(each.whole.intercept, _US),
        cell(each.whole.slope, _NS),
        f"{each.whole.determination:.4f}",
        number(_rounded(farthest) * _US),
        _pieces(each),
    ]


def _rounded(seconds: float) -> float:
    """Leave out what is less than a picosecond: it is rounding."""
    return 0.0 if seconds < 1e-12 else seconds


def _pieces(each: OfLengths) -> str:
    if not each.pieces:
        return "no"
    slopes = [_plain(piece.slope, _NS) for piece in each.pieces]
    intercepts = [_plain(piece.intercept, _US) for piece in each.pieces]
    return f"up to {each.break_octets:g} B {intercepts[0]} µs, {slopes[0]} ns/B; from there on {intercepts[1]} µs, {slopes[1]} ns/B"


def _plain(estimate: Estimate, factor: float) -> str:
    half = estimate.half_width * factor
    value = number(estimate.value * factor, half if half > 0 else math.nan)
    return value + (
        f" ±{number(half, half)}"
        if math.isfinite(half) and half > 1e-6 * abs(estimate.value * factor)
        else ""
    )


def _residuals(lines: Sequence[OfLengths]) -> str:
    """Tabulate what lies between points and lines."""
    several = len({each.series for each in lines}) > 1
    rows = [
        [
            _of(each, several=several),
            safe(each.engine),
            safe(each.metric.label.title),
            f"{octets:g}",
            number(time_s * _US),
            number(math.copysign(_rounded(abs(left_s)), left_s) * _US),
        ]
        for each in lines
        for octets, time_s, left_s in zip(
            each.octets.tolist(), each.times_s.tolist(), each.residuals_s.tolist(), strict=True
        )
    ]
    head = ["Flow", "Engine", "Time", "Length (B)", "Time (µs)", "Above the line (µs)"]
    text = table(head, rows, caption="Residuals", kind="data names4", headers=4)
    return f'<details><summary>Residuals of {len(rows)} points</summary><div class="panel">{text}</div></details>'


def _differences(found: Sequence[Extra]) -> str:
    several = len({line.series for each in found for line in (each.one, each.other)}) > 1
    rows = [
        [
            _of(each.one, several=several),
            _of(each.other, several=several),
            safe(each.one.engine),
            safe(each.one.metric.label.title),
            cell(each.intercept, _US),
            cell(each.slope, _NS),
        ]
        for each in found
    ]
    return _folded(
        ["Flow", "minus", "Engine", "Time", "Intercept (µs)", "Slope (ns/B)"],
        rows,
        "Differences of lines",
    )


def _folded(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    text = f'<div class="panel">{table(head, rows, caption=caption, kind="data names3", headers=3)}</div>'
    return (
        text
        if len(rows) <= OPEN_ROWS
        else f"<details><summary>{len(rows)} rows</summary>{text}</details>"
    )
