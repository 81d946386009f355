"""What commands print on stdout."""

import json
from collections.abc import Sequence
from typing import Any

import typer


def print_json(value: Any) -> None:
    """Print a value as JSON. What is undefined is null: NaN is no JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, numbers to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    right = [bool(rows) and all(_is_number(row[column]) for row in rows) for column in range(len(head))]
    for row in [head, *rows]:
        cells = [cell.rjust(width) if flush else cell.ljust(width) for cell, width, flush in zip(row, widths, right, strict=True)]
        typer.echo("  ".join(cells).rstrip())


def number(value: float | None, *, digits: int = 4) -> str:
    """Write a number for a table; a dash for what is undefined."""
    return "–" if value is None or value != value else f"{value:.{digits}g}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in {"", "–"}
    return True
