"""What commands print on stdout."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ethermeter.experiment import Experiment


def print_json(value: Any) -> None:
    """Print a value as JSON. What is undefined is null: NaN is no JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns."""
    for line in table_lines(head, rows):
        typer.echo(line)


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows in columns, numbers flush right; a mark such as [a] does not move the digits."""
    right = [
        bool(rows) and all(_is_number(row[column]) for row in rows) for column in range(len(head))
    ]
    rows = [
        list(cells)
        for cells in zip(
            *(_marks_aligned([row[at] for row in rows]) for at in range(len(head))), strict=True
        )
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def number(value: float | None, *, digits: int = 4) -> str:
    """Write a number for a table; a dash for what is undefined."""
    return "–" if value is None or value != value else f"{value:.{digits}g}"


def first_point(experiment: "Experiment") -> dict[str, str]:
    """Return the keys that an experiment varies, with the values of its first point."""
    return {sweep.key: sweep.texts[0] for sweep in experiment.sweeps}


def point_text(point: Mapping[str, str]) -> str:
    """Say at which point of an experiment what follows holds; the first one."""
    at = ", ".join(f"{key} = {value}" for key, value in point.items())
    return f"At the first point{f' ({at})' if at else ''}"


def require_drawing(option: str, out: Path | None) -> None:
    """Refuse a file that no page and no figure can be written to.

    Raises
    ------
    InputError
        If its suffix is that of no format.
    """
    if out is None:
        return
    from ethermeter.faults import InputError
    from ethermeter.report.export import FORMATS

    if out.suffix.lower() not in FORMATS:
        allowed = f"a file ending in one of {', '.join(FORMATS)}"
        raise InputError.of("command line", option, str(out), allowed)


_MARKED = re.compile(r"([^\[\]]*)(\[[a-z]+\])")


def _marks_aligned(cells: Sequence[str]) -> list[str]:
    """Return the cells of a column with room for the longest mark after every number."""
    marks = [
        found[2] if (found := _MARKED.fullmatch(cell)) and _is_number(cell) else ""
        for cell in cells
    ]
    room = max(map(len, marks), default=0)
    return (
        [cell + " " * (room - len(mark)) for cell, mark in zip(cells, marks, strict=True)]
        if room
        else list(cells)
    )


def _is_number(cell: str) -> bool:
    found = _MARKED.fullmatch(cell)
    bare = found[1] if found else cell
    try:
        float(bare)
    except ValueError:
        return bare in {"", "–"}
    return True
