"""Comparison of two runs, or files of other programs: what differs, point by point."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ethermeter.analysis.comparison import ALIKE, DIFFERS, ONLY, Change, Row, changes
from ethermeter.blocks import Heading, Table, Text
from ethermeter.document import plain
from ethermeter.metrics import Label, Metric
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import UNDEFINED, Scale, number, suited, with_ends
from ethermeter.swept import varied_keys

Block = Heading | Table | Text

GROUPS = (
    ("Differences beyond their intervals", DIFFERS, 40),
    ("Differences without an interval", ("undecided",), 40),
    ("Values of one run only", ONLY, 0),
    ("No differences", ALIKE, 0),
)
"""Rows of a comparison: their heading, their verdicts, and how many a page shows at once."""
FROM_FACTOR = 3
"""Second over first from which a factor is written instead of a percentage."""
_KIND = "data names1 metrics"


def comparison(rows: Sequence[Row]) -> Iterator[Block]:
    """Lay out the rows that differ, are undecided or stand alone, and count every verdict."""
    yield from differences(rows, GROUPS[:-1])
    counts = Counter(row["verdict"] for row in rows)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    yield Text(f"{len(rows)} comparisons: {summary}")
    if chance := by_chance(rows):
        yield Text(chance)


def differences(
    rows: Sequence[Row], groups: Sequence[tuple[str, Sequence[str], int]] = GROUPS
) -> Iterator[Block]:
    """Tabulate the rows of some verdicts, those of metrics that differ at most points first."""
    keys = varied_keys([distinguished(row) for row in rows])
    order = [change.metric for change in changes(rows)]
    ordered = sorted(rows, key=lambda row: order.index(Metric(row["metric"])))
    members = [[row for row in ordered if row["verdict"] in verdicts] for _, verdicts, _ in groups]
    marks = Marks(row["cautions"] for group in members for row in group)
    head = ["metric", *keys, "first", "second", "difference", "relative", "verdict"]
    for (caption, _, open_rows), group in zip(groups, members, strict=True):
        if group:
            cells = [_cells(row, keys, marks) for row in group]
            yield Heading(caption)
            yield Table(head, cells, caption, _KIND, 1 + len(keys), open_rows)
    yield from legend(marks.legend())


def verdicts(found: Sequence[Change]) -> Table:
    """Tabulate at how many points each metric has a verdict, and its largest difference."""
    shown = (*DIFFERS, *ALIKE, "undecided")
    largest = [texts(change.most) if change.most else None for change in found]
    rows = [
        [
            (most.label if most else change.metric.label).axis,
            *(f"{change.verdicts[verdict]:,}" for verdict in shown),
            most.difference if most else UNDEFINED,
        ]
        for change, most in zip(found, largest, strict=True)
    ]
    head = ("metric", *shown, "largest difference")
    return Table(head, rows, "Verdicts by metric", _KIND)


def by_chance(rows: Sequence[Row]) -> str:
    """Say how many differences chance alone would make; empty for fewer than 20 intervals."""
    tested = sum(row["verdict"] in (*DIFFERS, "no difference") for row in rows)
    if tested < 20:
        return ""
    return f"Of {tested} intervals, about {tested * 0.05:.0f} would miss zero by chance alone."


@dataclass(frozen=True, slots=True)
class Texts:
    """Values of a row, in the unit of its label; the difference with its interval."""

    label: Label
    first: str
    second: str
    difference: str
    relative: str  # Second against first, as a percentage or as a factor


def texts(row: Row, label: Label | None = None) -> Texts:
    """Write the values of a row, in the unit of a label, or in one that suits them."""
    first, second, difference, low, high = (
        math.nan if value is None else value
        for value in (row["a"], row["b"], row["difference"], row["low"], row["high"])
    )
    label = label or suited(Metric(row["metric"]).label, (first, second))
    factor = label.factor
    half = (high - low) / 2 * factor
    has_interval = not math.isnan(half)
    shown = with_ends(difference, low if has_interval else None, high, Scale("", 1 / factor))
    sign = "+" if difference > 0 else ""
    return Texts(
        label,
        number(first * factor, half),
        number(second * factor, half),
        sign + shown,
        relative(first, second),
    )


def relative(first: float, second: float) -> str:
    """Write a value against another: the difference in per cent, or a factor from three on.

    Examples
    --------
    >>> relative(0.02, 0.021), relative(0.5, 77.5), relative(300.0, 0.3), relative(0.0, 1.0)
    ('+5%', '× 155', '−99.9%', '–')
    """
    if not (math.isfinite(first) and math.isfinite(second)) or first == 0:
        return UNDEFINED
    factor = second / first
    if factor >= FROM_FACTOR:
        return f"× {number(factor, digits=3)}"
    percent = 100 * (second - first) / abs(first)
    sign = "+" if percent > 0 else "−" if percent < 0 else ""
    return f"{sign}{number(abs(percent), digits=3)}%"


def distinguished(row: Row) -> dict[str, str]:
    """Return what tells the point of a row from the others."""
    return {"series": row["series"], "engine": row["engine"], **row["point"]}


def _cells(row: Row, keys: Sequence[str], marks: Marks) -> list[str]:
    values, shown = distinguished(row), texts(row)
    return [
        shown.label.axis,
        *(plain(values.get(key, UNDEFINED)) for key in keys),
        shown.first,
        shown.second,
        shown.difference,
        shown.relative,
        f"{row['verdict']} {marks.at(row['cautions'])}".rstrip(),
    ]
