"""Rows as CSV: a column for each number or text, also for those within another value."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping


def lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    r"""Yield the lines of a table, the first with the names of the columns.

    Columns stand in the order in which rows have them first. What is within a mapping is a column
    with a dotted name; a list is one text, with spaces. What is undefined is empty. Of no
    rows there is no line.

    Examples
    --------
    >>> print(*lines([{"flow": "call", "delay": {"mean": 0.5, "max": None}}]), sep="\n")
    flow,delay.mean,delay.max
    call,0.5,

    """
    flat = [dict(_flat("", row)) for row in rows]
    if not flat:
        return
    columns = list(dict.fromkeys(name for row in flat for name in row))
    yield _line(columns)
    for row in flat:
        yield _line([row.get(name, "") for name in columns])


def _flat(above: str, row: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        column = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _flat(f"{column}.", value)
        elif isinstance(value, list | tuple):
            yield column, " ".join(map(str, value))
        else:
            yield column, "" if value is None or value != value else value


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
