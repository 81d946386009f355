"""Results of a benchmark suite: tests as tables, and the comparison of two of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ethermeter.faults import InputError
from ethermeter.store import RunDirectory

Better = Literal["higher", "lower", ""]
"""Which values of a column are better; empty for a column that is not judged."""

LOCATIONS = ("generator", "wire", "device", "receiver", "late", "unexplained")
"""Where frames are lost; `late` are those under way when the drain ended."""


class Column(msgspec.Struct, frozen=True):
    """A column of a test."""

    key: str  # Name in JSON and CSV
    title: str  # Title in tables
    unit: str = ""  # Unit of its values
    better: Better = ""  # Whether higher or lower values are better
    is_detail: bool = False  # Whether only JSON and CSV have it


class Row(msgspec.Struct, frozen=True):
    """A point of a test, with the values of its columns; None where there is none."""

    point: dict[str, str]
    values: dict[str, int | float | str | None]


class Test(msgspec.Struct, frozen=True):
    """A test of a suite: a table, with remarks."""

    name: str  # Name in JSON and CSV, such as "throughput"
    title: str  # Title in reports
    clause: str  # Document and clause that define it
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()  # What to know before values are trusted
    may_stop: bool = False  # Whether a run may have fewer rows, because results end the test


class Refusal(msgspec.Struct, frozen=True):
    """A test that was not run, and why."""

    test: str
    why: str


class BenchmarkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a suite: `answer.json` of a run.

    `conditions` are the settings of its trials.
    """

    suite: str
    title: str
    network: str  # File of the device under test
    venue: str  # Where its trials were run
    testers: tuple[str, ...]
    conditions: dict[str, str]
    tests: tuple[Test, ...]
    refused: tuple[Refusal, ...] = ()
    culprit: str = ""  # Location of the tester's own losses, if it has some


def read(text: bytes, *, file: str) -> BenchmarkAnswer:
    """Return the answer of a benchmark.

    Raises
    ------
    InputError
        If the text is that of another answer.

    """
    try:
        return msgspec.json.decode(text, type=BenchmarkAnswer)
    except msgspec.DecodeError:
        allowed = "expected the answer of a benchmark, made by ethermeter find benchmark"
        raise InputError.of(file, "answer.json", "another answer", allowed) from None


def is_benchmark(directory: Path) -> bool:
    """Whether a directory has the finished run of a benchmark."""
    run = RunDirectory(directory)
    try:
        if not run.is_search() or not run.is_finished():
            return False
        read(run.answer(), file=str(directory))
    except (InputError, OSError):
        return False
    return True


class Difference(msgspec.Struct, frozen=True):
    """A value of two benchmarks.

    `change` is second over first minus one; None where it is undefined. `verdict` is `better`,
    `worse` or `same` by the tolerance, `missing` if only the first has it, `new` if only the second
    has it, and empty for values that are not judged.
    """

    test: str
    point: dict[str, str]
    key: str
    unit: str
    better: Better
    first: float | None
    second: float | None
    change: float | None
    verdict: Literal["better", "worse", "same", "missing", "new", ""]


Key = tuple[str, tuple[tuple[str, str], ...], str]


def compare(
    first: BenchmarkAnswer, second: BenchmarkAnswer, *, tolerance: float
) -> tuple[Difference, ...]:
    """Compare every number of two benchmarks of one suite.

    Parameters
    ----------
    first, second
        Answers of the suite, the reference first.
    tolerance
        Relative change up to which values count as the same, at least 0.

    Raises
    ------
    InputError
        If they are of different suites.

    """
    if first.suite != second.suite:
        allowed = f"expected a benchmark of {first.suite}, as the first"
        raise InputError.of_argument("second", second.suite, allowed)
    before, after = (dict(_numbers(answer)) for answer in (first, second))
    stopping = {test.name for test in (*first.tests, *second.tests) if test.may_stop}
    keys = [
        key
        for key in dict.fromkeys((*before, *after))
        if key[0] not in stopping or (key in before and key in after)
    ]
    return tuple(_difference(key, before.get(key), after.get(key), tolerance) for key in keys)


def _difference(
    key: Key,
    before: tuple[Column, float | None] | None,
    after: tuple[Column, float | None] | None,
    tolerance: float,
) -> Difference:
    test, point, name = key
    present = after or before
    assert present is not None, "a key is of one of them"
    column = present[0]
    one = None if before is None else before[1]
    other = None if after is None else after[1]
    change = None
    if one is not None and other is not None:
        # A value that was zero has changed infinitely, which JSON does not know.
        change = other / one - 1 if one else (0.0 if other == one else None)
    verdict = _verdict(column.better, one, other, tolerance)
    return Difference(
        test, dict(point), name, column.unit, column.better, one, other, change, verdict
    )


def _verdict(
    better: Better, before: float | None, after: float | None, tolerance: float
) -> Literal["better", "worse", "same", "missing", "new", ""]:
    if not better or (before is None and after is None):
        return ""
    if after is None:
        return "missing"
    if before is None:
        return "new"
    margin = tolerance * abs(before)
    gain = after - before if better == "higher" else before - after
    if abs(gain) <= margin:
        return "same"
    return "better" if gain > 0 else "worse"


def _numbers(answer: BenchmarkAnswer) -> Iterator[tuple[Key, tuple[Column, float | None]]]:
    """Yield every number of an answer with its key; None where a row has no value."""
    for test in answer.tests:
        for row in test.rows:
            for column in test.columns:
                value = row.values.get(column.key)
                if isinstance(value, str):
                    continue
                number = None if value is None or not math.isfinite(value) else float(value)
                point = tuple(sorted(row.point.items()))
                yield (test.name, point, column.key), (column, number)


def is_regression(found: Sequence[Difference]) -> bool:
    """Whether a judged value is worse beyond the tolerance, or missing."""
    return any(each.verdict in ("worse", "missing") for each in found)


def csv_rows(answer: BenchmarkAnswer) -> Iterator[dict[str, object]]:
    """Yield a row for each value of an answer."""
    for test in answer.tests:
        for row in test.rows:
            for column in test.columns:
                yield {
                    "suite": answer.suite,
                    "test": test.name,
                    "point": point_text(row.point),
                    "metric": column.key,
                    "unit": column.unit,
                    "value": row.values.get(column.key),
                }


def point_text(point: Mapping[str, str]) -> str:
    """Return a point in one line."""
    return ", ".join(f"{key} {value}" for key, value in point.items())
