"""What commands print on stdout."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ethermeter.cli.guard import say
from ethermeter.json_values import plain

if TYPE_CHECKING:
    from ethermeter.experiment import Experiment


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


def print_text(text: str) -> None:
    """Print a text, its lines broken at the width of the terminal."""
    from ethermeter.blocks import Text

    show([Text(text)])


def say_assumed(experiment: "Experiment") -> None:
    """Print on stderr what an experiment file leaves out, and what stands for it."""
    for key, text in experiment.written.assumed.items():
        say(f"{experiment.path}: {key}: {text}")


def first_point(experiment: "Experiment") -> dict[str, str]:
    """Return the keys that an experiment varies, with the values of its first point."""
    return {sweep.key: sweep.texts[0] for sweep in experiment.sweeps}


def point_text(point: Mapping[str, str]) -> str:
    """Say at which point of an experiment what follows holds; the first one."""
    at = ", ".join(f"{key} = {value}" for key, value in point.items())
    return f"At the first point{f' ({at})' if at else ''}"


def require_room(option: str, out: Path) -> None:
    """Refuse a file that cannot be made: a directory, or one in a directory that is not there.

    Raises
    ------
    InputError
        With the option.
    """
    from ethermeter.faults import InputError

    if not out.parent.is_dir():
        allowed = "a file in a directory that is there"
        raise InputError.of("command line", option, str(out), allowed)
    if out.is_dir():
        raise InputError.of("command line", option, str(out), "a file, not a directory")


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
