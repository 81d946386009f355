"""Blocks: what an answer consists of, on a page and in a terminal.

Text is escaped when a page is rendered; `markupsafe.Markup` is taken as HTML, and a terminal shows
it without its tags.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Row = Sequence[str]
"""Cells of a table."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; a lead explains how to read what follows.

    Parameters
    ----------
    text
        Lines. In a terminal, the spaces before one stand before all that it is broken into.
    kind
        Class of the paragraph.
    indent
        In a terminal, stands before all but the first of these, too.

    """

    text: str
    kind: Literal["", "lead"] = ""
    indent: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section, of level 3 or 4."""

    text: str
    level: Literal[3, 4] = 3


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of texts."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Parameters
    ----------
    head, rows
        Cells.
    caption
        Name of the table, for screen readers and where it is folded away.
    kind
        Class of the table.
    headers
        Leading cells of a row that are its headers.
    open_rows
        Most rows that are shown at once; a longer table is folded away. None: never folded.

    """

    head: Row
    rows: Sequence[Row]
    caption: str
    kind: str = "data"
    headers: int = 1
    open_rows: int | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to be copied, which a terminal does not break."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """What was found, and the command that follows from it."""

    found: str
    command: Sequence[str]
