"""How values show themselves in a Python session: one line, or a table in a notebook."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from ethermeter.faults import counted

MOST_ROWS = 60
"""Rows of a table in a notebook; the number of the others follows it."""


def html_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with its caption as HTML; at most `MOST_ROWS` rows."""
    head = _row("th", columns)
    body = Markup().join(_row("td", row) for row in rows[:MOST_ROWS])
    rest = len(rows) - MOST_ROWS
    more = Markup("<p>{} more</p>").format(counted(rest, "row")) if rest > 0 else ""
    return str(
        Markup("<table><caption>{}</caption><thead>{}</thead><tbody>{}</tbody></table>{}").format(
            caption, head, body, more
        )
    )


def _row(tag: str, cells: Iterable[object]) -> Markup:
    cell = Markup("<{0}>{1}</{0}>")
    return Markup("<tr>{}</tr>").format(
        Markup().join(cell.format(Markup(tag), str(each)) for each in cells)
    )
