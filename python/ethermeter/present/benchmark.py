"""Benchmarks: the tests of a suite, and two benchmarks compared."""

from collections.abc import Iterator, Sequence

from ethermeter.analysis.benchmark import (
    BenchmarkAnswer,
    Column,
    Difference,
    Test,
    is_regression,
    point_text,
)
from ethermeter.blocks import Bullets, Table, Text
from ethermeter.quantities import UNDEFINED, number

OPEN_ROWS = 16
"""Rows of a page that are shown at once."""


def benchmark(found: BenchmarkAnswer) -> Iterator[Table | Text | Bullets]:
    """Lay out every test of a suite, with its conditions."""
    yield Text(found.title)
    yield setting(found)
    yield conditions(found)
    for each in found.tests:
        yield Text("")
        yield Text(f"{each.title} ({each.clause})")
        yield from test(each)
    yield from refusals(found)


def setting(found: BenchmarkAnswer) -> Text:
    """Say which network was measured, where, and between which testers."""
    return Text(f"{found.network}, {found.venue}; testers: {', '.join(found.testers)}", "lead")


def conditions(found: BenchmarkAnswer) -> Table:
    """Tabulate the settings of the trials."""
    rows = [[name, text] for name, text in found.conditions.items()]
    return Table(["condition", "value"], rows, "Conditions", "plain")


def test(found: Test) -> Iterator[Table | Bullets]:
    """Lay out the values of a test, its remarks and its cautions."""
    keys = list(dict.fromkeys(key for row in found.rows for key in row.point))
    columns = [column for column in found.columns if _is_shown(column, found)]
    head = [*keys, *(f"{column.title} {_unit(column)}".rstrip() for column in columns)]
    rows = [
        [
            *(row.point.get(key, "") for key in keys),
            *(_cell(row.values.get(column.key)) for column in columns),
        ]
        for row in found.rows
    ]
    if rows and columns:
        yield Table(head, rows, found.title, headers=len(keys), open_rows=OPEN_ROWS)
    notes = [*found.remarks, *(f"caution: {caution}" for caution in found.cautions)]
    if notes:
        yield Bullets(notes)


def refusals(found: BenchmarkAnswer) -> Iterator[Text]:
    """Say which tests were refused, and why."""
    return (Text(f"refused: {each.test}: {each.why}") for each in found.refused)


def _is_shown(column: Column, test: Test) -> bool:
    """Whether the table has a column: locations only where frames were lost."""
    if column.is_detail:
        return False
    values = [row.values.get(column.key) for row in test.rows]
    return any(values) if column.key.startswith("lost_") else any(v is not None for v in values)


def _unit(column: Column) -> str:
    return "" if column.unit == "frames" else column.unit


def _cell(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value)


def comparison(found: Sequence[Difference], *, tolerance: float) -> Iterator[Table | Text]:
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
        number(each.first),
        number(each.second),
        UNDEFINED if each.change is None else f"{100 * each.change:+.2f}%",
        each.verdict,
    ]
