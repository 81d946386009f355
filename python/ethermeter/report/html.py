"""HTML: text made safe, and the few elements the report is built from."""

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any


def safe(text: object) -> str:
    """Escape a text for use in HTML, attributes included."""
    return html.escape(str(text), quote=True)


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, kind: str = "", headers: int = 1) -> str:
    """Table in a box that scrolls by itself.

    Parameters
    ----------
    head, rows
        HTML of the cells.
    caption
        Text that names the table; shown to screen readers, and to everybody where the style says so.
    kind
        Class of the table.
    headers
        Leading cells of a row that are its headers.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(f'<th scope="row">{cell}</th>' if at < headers else f"<td>{cell}</td>" for at, cell in enumerate(row)) + "</tr>\n"
        for row in rows
    )
    # A box that scrolls must be reachable by keyboard (WCAG 2.1.1).
    return (
        f'<div class="box" tabindex="0" role="region" aria-label="{safe(caption)}"><table class="{safe(kind)}">'
        f"<caption>{safe(caption)}</caption><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )


def section(identity: str, title: str, body: str, *, level: int = 2) -> str:
    """Section with its heading and an anchor."""
    return f'<section id="{safe(identity)}"><h{level}>{safe(title)}</h{level}>\n{body}</section>\n'
