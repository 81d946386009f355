"""HTML: text made safe, and the few elements the report is built from."""

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ethermeter.report.thinning import MOST_ROWS, spread


def safe(text: object) -> str:
    """Escape a text for use in HTML, attributes included."""
    return html.escape(str(text), quote=True)


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    kind: str = "",
    headers: int = 1,
) -> str:
    """Table in a box that scrolls by itself; of very many rows, `MOST_ROWS` at even distances.

    Parameters
    ----------
    head, rows
        HTML of the cells.
    caption
        Text that names the table; shown to screen readers, and to everybody where the style says
        so.
    kind
        Class of the table.
    headers
        Leading cells of a row that are its headers.
    """
    every = list(rows)
    shown = spread(every, MOST_ROWS)
    left_out = (
        f"<p>{len(shown)} of {len(every):,} rows, at even distances.</p>"
        if len(shown) < len(every)
        else ""
    )
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{cell}</th>' if at < headers else f"<td>{cell}</td>"
            for at, cell in enumerate(row)
        )
        + "</tr>\n"
        for row in shown
    )
    # A box that scrolls must be reachable by keyboard (WCAG 2.1.1).
    return (
        f'{left_out}<div class="box" tabindex="0" role="region" aria-label="{safe(caption)}"><table class="{safe(kind)}">'
        f"<caption>{safe(caption)}</caption><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )


def section(identity: str, title: str, body: str, *, level: int = 2) -> str:
    """Section with its heading and an anchor."""
    return f'<section id="{safe(identity)}"><h{level}>{safe(title)}</h{level}>\n{body}</section>\n'
