"""Text: blocks in lines as wide as a terminal at most; rows of a table in columns."""

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ethermeter.blocks import Bullets, Code, Heading, Row, Step, Table, Text

GAP = "  "
LEAST_TEXT = 18
"""Width that a column of text keeps where its table is too wide."""
NARROWEST_TEXT = 12
"""Width that it keeps where its table would be too wide all the same."""
LONGEST_WORD = 36
"""Longer words, such as paths, are broken where their table is too wide."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|inf)|–|", re.ASCII)
_CELL = re.compile(
    r"(?P<number>[^ \[]*)"
    r"(?P<tail>(?: ?[a-zA-Zµ%/]{1,12})?(?: ± [0-9.e+-]+)?(?: \([^()]*\))?(?: ?\[[a-z]+\])?)"
)
_BREAK = re.compile(r"(?<=[._])(?=[^ ])")
"""Where names of metrics and keys may be broken in a head."""


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    cells: Sequence[str]
    is_number: bool

    @property
    def widest(self) -> int:
        """Width of the widest cell."""
        return max(map(len, self.cells), default=0)

    @property
    def most(self) -> int:
        """Width without any line broken."""
        return max(len(self.head), self.widest)

    @property
    def least(self) -> int:
        """Width below which numbers, or words, would be broken."""
        head = max(map(len, _broken(self.head)), default=0)
        if self.is_number:
            return max(head, self.widest)
        word = min(self.word, LONGEST_WORD)
        return max(head, min(self.widest, max(word, LEAST_TEXT)))

    @property
    def word(self) -> int:
        """Width of the longest word."""
        return max((len(word) for cell in self.cells for word in cell.split()), default=0)


def lines(blocks: Iterable[object], width: int) -> Iterator[str]:
    """Yield blocks in lines of at most `width` columns; what only a page can show is left out."""
    is_first = True
    for block in blocks:
        match block:
            case Text(text=text, indent=indent):
                yield from _wrapped(_bare(text), width, indent)
            case Heading(text=text):
                yield from [] if is_first else [""]
                yield from _wrapped(f"{_bare(text)}:", width)
            case Bullets(items=items):
                for item in items:
                    yield from _wrapped(f"- {_bare(item)}", width, "  ")
            case Code(text=text):
                yield from text.split("\n")
            case Step(found=found, command=command):
                yield from _wrapped(f"next: {found}:", width, "      ")
                yield from (f"  {line}" for line in command_lines(command, width - 2))
            case Table(head=head, rows=rows, headers=keys):
                yield from table_lines(
                    _cells(head), [_cells(row) for row in rows], keys=keys, width=width
                )
        is_first = False


def _bare(text: str) -> str:
    return text.striptags() if isinstance(text, Markup) else text


def _cells(row: Row) -> list[str]:
    return [_bare(cell) for cell in row]


def _wrapped(text: str, width: int, indent: str = "") -> Iterator[str]:
    """Break the lines of a text at the width."""
    for line in text.split("\n"):
        before = line[: len(line) - len(line.lstrip())]
        yield from textwrap.wrap(
            line,
            width,
            subsequent_indent=before + indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]


def command_lines(words: Sequence[str], width: int) -> list[str]:
    """Return a command in lines that a shell reads as one; an option stays with its value."""
    found = [""]
    for words_of_option in with_values(words):
        text = shlex.join(words_of_option)
        joined = f"{found[-1]} {text}" if found[-1] else text
        if len(joined) + 2 <= width or not found[-1]:
            found[-1] = joined
        else:
            found[-1] += " \\"
            found.append(f"  {text}")
    return found


def with_values(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield each word, an option together with the value that follows it."""
    at = 0
    while at < len(words):
        has_value = words[at].startswith("--") and at + 1 < len(words)
        length = 2 if has_value and not words[at + 1].startswith("--") else 1
        yield list(words[at : at + length])
        at += length


def table_lines(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    keys: int = 1,
    is_steady: bool = False,
) -> list[str]:
    """Return rows in columns, numbers flush right by their digits.

    A table that is too wide has its heads and texts broken into lines. If that is not enough,
    columns with the same cell in every row become a line above it; what is still too wide is split
    into several tables, one below the other.

    Parameters
    ----------
    head, rows
        Titles of the columns, and the cells of each row.
    width
        Columns of the terminal.
    keys
        Leading columns that say which row it is; each of several tables has them.
    is_steady
        Whether columns stay where they are whatever the cells, for a table that is drawn again.

    """
    columns = [_column(title, [row[at] for row in rows]) for at, title in enumerate(head)]
    found: list[str] = []
    if not is_steady and len(rows) > 1 and _total([column.least for column in columns]) > width:
        same = [column for column in columns if len(set(column.cells)) == 1]
        same = same if len(same) < len(columns) else []
        columns, keys = (
            [column for column in columns if column not in same],
            keys - sum(column in same for column in columns[:keys]),
        )
        text = "; ".join(f"{column.head}: {column.cells[0].strip()}" for column in same)
        found += textwrap.wrap(f"All rows: {text}", width) if same else []
    for at, block in enumerate(_blocks(columns, keys, width)):
        found += [""] * bool(at)
        found += _lines(block, _widths(block, width))
    return found


def _column(head: str, cells: Sequence[str]) -> _Column:
    """Return a column; unit, interval and mark behind a number do not move its digits."""
    found = [_CELL.fullmatch(cell) for cell in cells]
    parts = [(match["number"], match["tail"]) for match in found if match is not None]
    is_number = (
        bool(cells)
        and len(parts) == len(cells)
        and all(_NUMBER.fullmatch(digits) for digits, _ in parts)
    )
    if not is_number:
        return _Column(head, cells, is_number=False)
    room = max(len(tail) for _, tail in parts)
    return _Column(head, [digits + tail.ljust(room) for digits, tail in parts], is_number=True)


def _broken(head: str) -> list[str]:
    """Return the shortest pieces of a head."""
    return [piece for word in head.split() for piece in _BREAK.split(word)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _blocks(columns: Sequence[_Column], keys: int, width: int) -> Iterator[Sequence[_Column]]:
    """Split columns into tables that fit, each with the columns that say which row it is."""
    if _total([column.least for column in columns]) <= width:
        yield columns
        return
    leading, rest = list(columns[:keys]), columns[keys:]
    block = list(leading)
    for column in rest:
        is_full = _total([each.least for each in (*block, column)]) > width
        if is_full and len(block) > len(leading):
            yield block
            block = list(leading)
        block.append(column)
    yield block


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Share out the width: what each column needs, then room for words, cells and heads."""
    widths = [column.least for column in columns]
    room = width - _total(widths)
    for wanted in (
        [column.word for column in columns],
        [column.widest for column in columns],
        [column.most for column in columns],
    ):
        while room > 0 and (missing := max(map(int.__sub__, wanted, widths), default=0)) > 0:
            neediest = next(at for at, of in enumerate(widths) if wanted[at] - of == missing)
            widths[neediest] += 1
            room -= 1
    # Texts give way where even their longest words do not fit.
    while room < 0:
        texts = [at for at, column in enumerate(columns) if not column.is_number]
        widest = max(texts, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= NARROWEST_TEXT:
            break
        widths[widest] -= 1
        room += 1
    return widths


def _lines(columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    heads = [
        _wrapped_head(column.head, width) for column, width in zip(columns, widths, strict=True)
    ]
    deepest = max(map(len, heads))
    grid = [[head[at] if at < len(head) else "" for head in heads] for at in range(deepest)]
    for row in zip(*(column.cells for column in columns), strict=True):
        cells = [
            [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_on_hyphens=False)
            for cell, width in zip(row, widths, strict=True)
        ]
        grid += [
            [cell[at] if at < len(cell) else "" for cell in cells]
            for at in range(max(map(len, cells)))
        ]
    return [
        GAP.join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in grid
    ]


def _wrapped_head(head: str, width: int) -> list[str]:
    """Break a head into lines, at spaces, or within names."""
    lines: list[str] = [""]
    for word in head.split():
        for at, piece in enumerate(_BREAK.split(word) if len(word) > width else [word]):
            joined = f"{lines[-1]}{' ' if at == 0 and lines[-1] else ''}{piece}"
            if len(joined) <= width or not lines[-1]:
                lines[-1] = joined
            else:
                lines.append(piece)
    return lines
