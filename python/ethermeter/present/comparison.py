"""Comparison of two runs, or files of other programs: what differs, point by point."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ethermeter.analysis.comparison import ALIKE, DIFFERS, ONLY, Change, Row, changes
from ethermeter.blocks import Heading, Table, Text
from ethermeter.document import plain
from ethermeter.metrics import Metric
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import UNDEFINED, Scale, number, with_ends
from ethermeter.swept import varied_keys

Block = Heading | Table | Text

GROUPS = (
    ("Differences beyond their intervals", DIFFERS, 40),
    ("Differences without an interval", ("undecided",), 40),
    ("Values of one run only", ONLY, 0),
    ("No differences", ALIKE, 0),
)
"""Rows of a comparison: their heading, their verdicts, and how many a page shows at once."""
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
    head = ["metric", *keys, "first", "second", "difference", "relative (%)", "verdict"]
    for (caption, _, open_rows), group in zip(groups, members, strict=True):
        if group:
            cells = [_cells(row, keys, marks) for row in group]
            yield Heading(caption)
            yield Table(head, cells, caption, _KIND, 1 + len(keys), open_rows)
    yield from legend(marks.legend())


def verdicts(found: Sequence[Change]) -> Table:
    """Tabulate at how many points each metric has a verdict, and its largest difference."""
    shown = (*DIFFERS, *ALIKE, "undecided")
    rows = [
        [
            change.metric.label.axis,
            *(f"{change.verdicts[verdict]:,}" for verdict in shown),
            texts(change.most).difference if change.most else UNDEFINED,
        ]
        for change in found
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
    """Values of a row, in the unit of its metric; the difference with its interval."""

    first: str
    second: str
    difference: str
    relative: str  # In per cent of the first


def texts(row: Row) -> Texts:
    """Write the values of a row."""
    factor = Metric(row["metric"]).label.factor
    first, second, difference, low, high = (
        math.nan if value is None else value
        for value in (row["a"], row["b"], row["difference"], row["low"], row["high"])
    )
    half = (high - low) / 2 * factor
    has_interval = not math.isnan(half)
    shown = with_ends(difference, low if has_interval else None, high, Scale("", 1 / factor))
    sign = "+" if difference > 0 else ""
    is_ratio = math.isfinite(difference) and math.isfinite(first) and first != 0
    return Texts(
        number(first * factor, half),
        number(second * factor, half),
        sign + shown,
        f"{100 * difference / abs(first):+.3g}" if is_ratio else UNDEFINED,
    )


def distinguished(row: Row) -> dict[str, str]:
    """Return what tells the point of a row from the others."""
    return {"series": row["series"], "engine": row["engine"], **row["point"]}


def _cells(row: Row, keys: Sequence[str], marks: Marks) -> list[str]:
    values, shown = distinguished(row), texts(row)
    return [
        Metric(row["metric"]).label.axis,
        *(plain(values.get(key, UNDEFINED)) for key in keys),
        shown.first,
        shown.second,
        shown.difference,
        shown.relative,
        f"{row['verdict']} {marks.at(row['cautions'])}".rstrip(),
    ]
