"""Benchmark: the tables and figures of a suite, with its conditions."""

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from ethermeter.analysis.benchmark import BenchmarkAnswer, Column, Row, Test
from ethermeter.chart import Trace
from ethermeter.document import Block, Figure, Heading, Label, Section, Text, large_first, number
from ethermeter.present import benchmark as layout
from ethermeter.report.data import ReportData
from ethermeter.report.plots import annotated

_FIGURES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "throughput": (("rate", "line_rate"), "Frame rate"),
    "latency": (("latency", "delay"), "Time"),
    "frame-loss": (("loss",), "Lost frames"),
    "back-to-back": (("burst", "buffer"), "Frames"),
}
"""Tests with a figure: its columns, and the name of its y axis."""


def answer_of(data: ReportData) -> BenchmarkAnswer | None:
    """Return the answer of a run of a benchmark; None of other runs."""
    answer = None if data.search is None else data.search.answer
    return answer if isinstance(answer, BenchmarkAnswer) else None


def build(data: ReportData) -> Section | None:
    """Tabulate and draw the tests of a suite; None of other runs."""
    answer = answer_of(data)
    if answer is None:
        return None
    blocks: list[Block] = [layout.setting(answer)]
    for test in answer.tests:
        blocks += [Heading(test.title), Text(test.clause), *_figure(test), *layout.test(test)]
    blocks += [Heading("Conditions"), layout.conditions(answer)]
    return Section("benchmark", "Benchmark", answer.title, blocks)


def findings(data: ReportData) -> list[str]:
    """Say of each test what its first judged column has, from the lowest to the highest."""
    answer = answer_of(data)
    return (
        []
        if answer is None
        else [text for test in answer.tests if test.name != "generator" for text in _ends(test)]
    )


def _ends(test: Test) -> list[str]:
    column = next((column for column in test.columns if column.better), None)
    values = (
        []
        if column is None
        else [
            (value, ", ".join(row.point.values()))
            for row in test.rows
            if isinstance(value := row.values.get(column.key), int | float)
        ]
    )
    if column is None or not values:
        return []
    (low, at_low), (high, at_high) = min(values), max(values)
    unit = f" {column.unit}" if column.unit else ""
    what = test.title if column.title in test.title.lower() else f"{test.title}: {column.title}"
    if low == high:
        return [Markup("{}: <strong>{}{}</strong>.").format(what, number(low), unit)]
    text = Markup("{}: <strong>{}{}</strong> ({}) to <strong>{}{}</strong> ({}).")
    return [text.format(what, number(low), unit, at_low, number(high), unit, at_high)]


def warnings(data: ReportData) -> list[str]:
    """Say where the testers lose frames, and what was refused."""
    answer = answer_of(data)
    if answer is None:
        return []
    found = []
    if answer.culprit:
        found.append(f"The testers lose frames without the device: {answer.culprit}.")
    found += [f"{test.title}: {text}." for test in answer.tests for text in test.cautions]
    return found + [f"{large_first(each.text)}." for each in layout.refusals(answer)]


def _figure(test: Test) -> Iterator[Figure]:
    """Draw a test with a figure against the length of frames, or the loss against the load."""
    columns, y_title = _FIGURES.get(test.name, ((), ""))
    is_loss = test.name == "frame-loss"
    lines: list[Trace] = []
    unit = ""
    for column in test.columns:
        if column.key not in columns:
            continue
        unit = column.unit
        if is_loss:
            lengths = list(dict.fromkeys(row.point["frame"] for row in test.rows))
            for length in lengths:
                rows = [row for row in test.rows if row.point["frame"] == length]
                lines += _line(length, rows, "load", "%", column)
        else:
            lines += _line(column.title, test.rows, "frame", " B", column)
    if not any(len(line.points) > 1 for line in lines):
        return
    x = Label("Offered load", "% of line rate") if is_loss else Label("Frame", "B")
    chart = annotated(lines, (), x, Label(y_title, unit), "Frame" if is_loss else "")
    yield Figure(chart, test.title)


def _line(name: str, rows: Sequence[Row], key: str, unit: str, column: Column) -> list[Trace]:
    """Return the curve of a column, without its missing values; none without a value."""
    points = []
    for row in rows:
        value = row.values.get(column.key)
        if isinstance(value, int | float):
            x = float(row.point[key].removesuffix(unit))
            points.append((x, float(value)))
    return [Trace(name, sorted(points))] if points else []
