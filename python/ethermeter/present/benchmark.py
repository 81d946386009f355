"""Benchmarks: the suites, the tests of one, and two compared."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ethermeter.analysis.benchmark import (
    Answer,
    Column,
    Difference,
    Test,
    is_regression,
    point_text,
)
from ethermeter.blocks import Table, Text

if TYPE_CHECKING:
    from ethermeter.api.find.benchmark import ListedSuite

Block = Table | Text


def suites(found: Sequence["ListedSuite"]) -> Iterator[Block]:
    """Tabulate suites, with their tests in words."""
    rows = [[each.name, each.tests] for each in found]
    yield Table(["suite", "tests"], rows, "Benchmark suites")


def benchmark(found: Answer) -> Iterator[Block]:
    """Lay out every test of a suite."""
    yield Text(f"{found.title}: {found.network}, {found.venue}")
    yield Text("; ".join(f"{name}: {text}" for name, text in found.conditions.items()))
    for test in found.tests:
        yield Text("")
        yield Text(f"{test.title} ({test.clause})")
        yield from _test(test)
    for refusal in found.refused:
        yield Text(f"{refusal.test}: refused: {refusal.why}")


def _test(test: Test) -> Iterator[Block]:
    """Lay out the table of a test with its remarks."""
    keys = list(dict.fromkeys(key for row in test.rows for key in row.point))
    columns = [column for column in test.columns if _is_shown(column, test)]
    head = [*keys, *(f"{column.title} {_unit(column)}".rstrip() for column in columns)]
    rows = [
        [
            *(row.point.get(key, "") for key in keys),
            *(_value(row.values.get(column.key)) for column in columns),
        ]
        for row in test.rows
    ]
    if rows and columns:
        yield Table(head, rows, test.title, headers=len(keys))
    for remark in test.remarks:
        yield Text(remark)
    for caution in test.cautions:
        yield Text(f"caution: {caution}")


def _is_shown(column: Column, test: Test) -> bool:
    """Whether the table has a column: locations only where frames were lost."""
    if column.is_detail:
        return False
    values = [row.values.get(column.key) for row in test.rows]
    return any(values) if column.key.startswith("lost_") else any(v is not None for v in values)


def _unit(column: Column) -> str:
    return "" if column.unit == "frames" else column.unit


def _value(value: float | str | None) -> str:
    """Write a value for a table: whole from a thousand on, four digits below."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def comparison(found: Sequence[Difference], *, tolerance: float) -> Iterator[Block]:
    """Lay out the values of two benchmarks that differ by more than a relative tolerance."""
    judged = [each for each in found if each.verdict]
    changed = [each for each in judged if each.verdict != "same"]
    if changed:
        head = ["test", "point", "value", "first", "second", "change", "verdict"]
        yield Table(head, [_difference(each) for each in changed], "Values that differ")
    yield Text(
        f"{len(judged)} values compared, {len(changed)} differ by more than "
        f"{100 * tolerance:g}%: {'a regression' if is_regression(found) else 'no regression'}"
    )


def _difference(each: Difference) -> list[str]:
    return [
        each.test,
        point_text(each.point),
        each.key,
        _value(each.first),
        _value(each.second),
        "–" if each.change is None else f"{100 * each.change:+.2f}%",
        each.verdict,
    ]
