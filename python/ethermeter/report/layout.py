"""Layout: the order of a page's sections and of their groups, and which of them are folded.

Figures come before tables. What would make a page longer than `MOST_HEIGHT` is folded: a person who
opens a page sees its answer and the first figures, and unfolds what else is wanted.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ethermeter.document import (
    Block,
    Bullets,
    Explorer,
    Figure,
    Grid,
    Heading,
    Picture,
    Row,
    Section,
    Table,
    Text,
)

MOST_HEIGHT = 5500
"""Estimated height in pixels of a page as opened, at a width of 1280 pixels."""
OPEN_FIGURES = 4
"""Figures of a grid that are not folded."""
_FOLD = 50
_LINE, _LETTERS = 25, 110
_FIGURE, _LOW_FIGURE = 450, 410
_CHOICES = 200
_ROW, _HIGHEST_TABLE = 29, 420
_TEXT_LINE, _TEXT_LETTERS = 20, 28
"""Height and letters of a line in a cell of text."""
_UNBOXED = ("claims", "prose")
"""Tables that have no scroll bars of their own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks under a heading of level 3, or those before the first; then `title` is empty."""

    anchor: str
    title: str
    blocks: Sequence[Block]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Folded:
    """A section as it stands on the page."""

    anchor: str
    label: str
    title: str
    groups: Sequence[Group]
    is_open: bool


def arrange(sections: Sequence[Section], room: int) -> list[Folded]:
    """Order the sections, figures first, and fold those for which there is no room.

    `room`: estimated height of what is not folded, in pixels.
    """
    ordered = sorted(sections, key=lambda section: not _has_figures(section.blocks))
    most = room
    room -= _FOLD * len(ordered)
    found: list[Folded] = []
    for section in ordered:
        parts = _parts(section)
        room -= _FOLD * sum(bool(title) for _, title, _ in parts)
        # The first section is what the page is about.
        is_open = not found or height(parts[0][2]) <= room
        left = room if is_open else most // 2
        groups = []
        for at, (anchor, title, blocks) in enumerate(parts):
            need = height(blocks)
            # What stands before the first heading is folded with its section only.
            fits = at == 0 or need <= left
            left -= need if fits else 0
            groups.append(Group(anchor, title, blocks, fits))
        room = left if is_open else room + _FOLD * sum(bool(title) for _, title, _ in parts)
        found.append(Folded(section.anchor, section.label, section.title, groups, is_open))
    return found


def above(title: str, question: str, sentences: Sequence[str]) -> int:
    """Estimate the height of what is above the sections: title, question, findings and warnings."""
    return 420 + _lines(title) * 2 + _lines(question) + sum(map(_lines, sentences))


def _parts(section: Section) -> list[tuple[str, str, list[Block]]]:
    """Cut a section at its headings of level 3: anchor, title and blocks, those with figures first.

    The first part has no title, and may be empty.
    """
    parts: list[tuple[str, str, list[Block]]] = [(section.anchor, "", [])]
    for block in section.blocks:
        if isinstance(block, Heading) and block.level == 3:
            parts.append((f"{section.anchor}-{len(parts)}", block.text, []))
        else:
            parts[-1][2].append(block)
    first, *others = parts
    return [first, *sorted(others, key=lambda part: not _has_figures(part[2]))]


def _has_figures(blocks: Sequence[Block]) -> bool:
    return any(isinstance(block, Figure | Explorer | Grid | Picture) for block in blocks)


def split(figures: Sequence[Figure]) -> tuple[Sequence[Figure], Sequence[Figure]]:
    """Return the figures of a grid that are in sight, and those that are folded."""
    # A fold for one or two saves nothing.
    most = len(figures) if len(figures) <= OPEN_FIGURES + 2 else OPEN_FIGURES
    return figures[:most], figures[most:]


def height(blocks: Sequence[Block]) -> int:
    """Estimate the height of blocks in pixels, at a width of 1280 pixels."""
    return sum(map(_height, blocks))


def _height(block: Block) -> int:
    match block:
        case Text(text=text):
            return 15 + _lines(text)
        case Heading():
            return 45
        case Bullets(items=items):
            return 30 + sum(map(_lines, items))
        case Table():
            return _table(block)
        case Figure():
            return _figure(block)
        case Explorer():
            return _FIGURE + _CHOICES
        case Grid(figures=figures):
            shown, folded = split(figures)
            rows = [shown[at : at + 2] for at in range(0, len(shown), 2)]
            return sum(max(map(_figure, row)) for row in rows) + (_FOLD if folded else 0)
        case Picture(svg=svg):
            found = re.search(r'height="(\d+)', svg)
            return 30 + (int(found[1]) if found else _FIGURE)


def _lines(text: str) -> int:
    return _LINE * math.ceil(len(text) / _LETTERS)


def _figure(figure: Figure) -> int:
    own = _LOW_FIGURE if figure.kind == "low" else _FIGURE
    return own + (0 if figure.after is None else _table(figure.after))


def is_folded(table: Table) -> bool:
    """Whether a table is folded away by its number of rows."""
    return table.open_rows is not None and len(table.rows) > table.open_rows


def _table(table: Table) -> int:
    if is_folded(table):
        return 30
    if table.kind in _UNBOXED:
        return 40 + sum(map(_text_row, table.rows))
    return min(40 + _ROW * len(table.rows), _HIGHEST_TABLE)


def _text_row(row: Row) -> int:
    longest = max((len(re.sub(r"<[^>]+>", "", cell)) for cell in row), default=0)
    return 15 + _TEXT_LINE * max(2, math.ceil(longest / _TEXT_LETTERS))
