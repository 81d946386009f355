"""The command that writes the report of a run again, figures, or tables."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter import json_values
from ethermeter.api.report import Figures, Tables, report
from ethermeter.blocks import Code, Text
from ethermeter.cli.command import Command

if TYPE_CHECKING:
    from ethermeter.api.runs import Run

EXAMPLES = """\
  ethermeter report runs/poisson-load-0123456789ab
  ethermeter report runs/poisson-load-0123456789ab --metric goodput --metric loss \
--format svg --out figures
  ethermeter report runs/office --tables office.xlsx"""


def blocks(found: "Run | Figures | Tables", _: object) -> Iterator[object]:
    """Yield the files that were written."""
    match found:
        case Figures(figures=figures):
            yield from (Code(str(file)) for file in figures)
        case Tables(rows=rows, files=files):
            yield Text(", ".join(f"{name}: {count} rows" for name, count in rows.items()))
            yield from (Code(str(file)) for file in files)
        case _:
            yield from (Code(str(file)) for file in found.files.values())


def plain(found: "Run | Figures | Tables") -> object:
    """Return the files that were written as JSON values, of a run with its answers."""
    if isinstance(found, Figures | Tables):
        return json_values.plain(found)
    files = {name: str(path) for name, path in found.files.items()}
    return {"run": str(found.path), "files": files, **found.contents()}


COMMAND = Command(report, EXAMPLES, blocks=blocks, plain=plain)
