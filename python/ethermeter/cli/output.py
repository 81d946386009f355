"""What commands print on stdout."""

import json
import shutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from ethermeter.json_values import plain

if TYPE_CHECKING:
    pass


USUAL_WIDTH = 80
"""Columns where there is no terminal, and `COLUMNS` is not set."""


def terminal_width() -> int:
    """Return the columns of the terminal, or of `COLUMNS`."""
    return shutil.get_terminal_size((USUAL_WIDTH, 24)).columns


def print_values(value: Any) -> None:
    """Print a value as JSON. What is undefined is null: NaN is no JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def show(blocks: Iterable[object]) -> None:
    """Print the blocks of an answer, as wide as the terminal at most."""
    from ethermeter.render.text import lines

    for line in lines(blocks, terminal_width()):
        click.echo(line)


def print_rows(rows: Iterable[Mapping[str, object]]) -> None:
    """Print rows as CSV."""
    from ethermeter.render.csv import lines

    for line in lines(rows):
        click.echo(line)


def row(value: object) -> dict[str, object]:
    """Return the fields of a dataclass as a row of a table."""
    return dict(cast("Mapping[str, object]", plain(value)))


def point_text(point: Mapping[str, str]) -> str:
    """Say at which point of an experiment what follows holds; the first one."""
    at = ", ".join(f"{key} = {value}" for key, value in point.items())
    return f"At the first point{f' ({at})' if at else ''}"
