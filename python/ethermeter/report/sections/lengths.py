"""Lengths: lines of times against lengths, residuals, and differences between paths."""

import math
from collections.abc import Sequence

from ethermeter.analysis.lengths import BREAK_PROBABILITY, Extra, OfLengths, extras
from ethermeter.document import Block, Heading, Section, Table, Text, cell, number, plain
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title
from ethermeter.results.interval import Estimate

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


LEAD = (
    "Straight lines through the means at every length, by least squares; 95% intervals come from "
    "the scatter about the line. The slope is what an octet costs on the whole path, the intercept "
    "what a message costs without its octets. Two lines stand where dividing the points makes "
    "their scatter so much less that chance alone would do it with less than "
    f"{BREAK_PROBABILITY:.0%}."
)
DIFFERENCES = (
    "Differences of the lines that were drawn at the same lengths: what lies on the one path and "
    "not on the other, such as a switch."
)


def build(data: ReportData) -> Section | None:
    """Lines of every time of every flow that was answered at several lengths."""
    if not data.lengths:
        return None
    lines = data.lengths
    several = len({each.series for each in lines}) > 1
    rows = [_row(each, several=several) for each in lines]
    blocks: list[Block] = [
        Text(LEAD, "lead"),
        Table(_HEAD, rows, "Lines", "data names3", 3, OPEN_ROWS),
        _residuals(lines),
    ]
    if found := extras(lines):
        blocks += [Heading("One path against another"), Text(DIFFERENCES), _differences(found)]
    return Section("lengths", "Times against lengths", "Times against lengths", blocks)


def _of(each: OfLengths, *, several: bool) -> str:
    """Say which line it is."""
    words = [f"{key_title(key)}: {plain(value)}" for key, value in each.fixed.items()]
    return ", ".join([*([each.series] if several else []), each.flow, *words])


def _row(each: OfLengths, *, several: bool) -> list[str]:
    farthest = float(abs(each.residuals_s).max())
    return [
        _of(each, several=several),
        each.engine,
        each.metric.label.title,
        f"{each.octets[0]:g} to {each.octets[-1]:g}",
        cell(each.whole.intercept, _US),
        cell(each.whole.slope, _NS),
        f"{each.whole.determination:.4f}",
        number(_rounded(farthest) * _US),
        _two_lines(each),
    ]


def _rounded(seconds: float) -> float:
    """Leave out what is less than a picosecond: it is rounding."""
    return 0.0 if seconds < 1e-12 else seconds


def _two_lines(each: OfLengths) -> str:
    if not each.pieces:
        return "no"
    slopes = [_with_half_width(piece.slope, _NS) for piece in each.pieces]
    intercepts = [_with_half_width(piece.intercept, _US) for piece in each.pieces]
    return (
        f"up to {each.break_octets:g} B {intercepts[0]} µs, {slopes[0]} ns/B; from there on"
        f" {intercepts[1]} µs, {slopes[1]} ns/B"
    )


def _with_half_width(estimate: Estimate, factor: float) -> str:
    return cell(estimate, factor)


def _residuals(lines: Sequence[OfLengths]) -> Table:
    """Tabulate what lies between points and lines."""
    several = len({each.series for each in lines}) > 1
    rows = [
        [
            _of(each, several=several),
            each.engine,
            each.metric.label.title,
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
    return Table(head, rows, "Residuals", "data names4", 4, 0)


def _differences(found: Sequence[Extra]) -> Table:
    several = len({line.series for each in found for line in (each.one, each.other)}) > 1
    rows = [
        [
            _of(each.one, several=several),
            _of(each.other, several=several),
            each.one.engine,
            each.one.metric.label.title,
            cell(each.intercept, _US),
            cell(each.slope, _NS),
        ]
        for each in found
    ]
    head = ["Flow", "minus", "Engine", "Time", "Intercept (µs)", "Slope (ns/B)"]
    return Table(head, rows, "Differences of lines", "data names3", 3, OPEN_ROWS)
