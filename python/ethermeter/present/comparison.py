"""Comparison of two runs, or files of other programs: what differs, point by point."""

import math
from collections.abc import Iterator, Sequence

from ethermeter.blocks import Table, Text
from ethermeter.metrics import Metric
from ethermeter.present.marks import Marks
from ethermeter.quantities import number
from ethermeter.report.compare import Row, by_chance


def comparison(rows: Sequence[Row]) -> Iterator[Table | Text]:
    """Lay out the rows that differ, are undecided or stand alone, and count every verdict."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    shown = [row for row in rows if row["verdict"] not in ("same", "no difference")]
    marks = Marks(row["cautions"] for row in shown)
    if shown:
        head = ("point", "metric", "first", "second", "difference", "verdict")
        yield Table(head, [_cells(row, marks) for row in shown], "What differs", headers=2)
    yield from map(Text, marks.legend())
    summary = ", ".join(
        f"{count} {verdict}" for verdict, count in sorted(counts.items(), key=lambda item: -item[1])
    )
    yield Text(f"{len(rows)} comparisons: {summary}")
    if chance := by_chance(rows):
        yield Text(chance)


def _cells(row: Row, marks: Marks) -> tuple[str, ...]:
    label = Metric(row["metric"]).label
    half = (
        math.nan
        if row["low"] is None or row["high"] is None
        else (row["high"] - row["low"]) / 2 * label.factor
    )

    def shown(value: float | None) -> str:
        return number(math.nan if value is None else value * label.factor, half)

    interval = "" if math.isnan(half) else f" ± {number(half, half)}"
    point = " ".join([row["series"], *(f"{key}={value}" for key, value in row["point"].items())])
    verdict = f"{row['verdict']} {marks.at(row['cautions'])}".rstrip()
    return (
        point,
        label.axis,
        shown(row["a"]),
        shown(row["b"]),
        f"{shown(row['difference'])}{interval}",
        verdict,
    )
