"""The command that writes the report of a run again, or figures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter import json_values
from ethermeter.api.report import Figures, report
from ethermeter.blocks import Code
from ethermeter.cli.command import Command

if TYPE_CHECKING:
    from ethermeter.api.runs import Run

EXAMPLES = """\
  ethermeter report runs/poisson-load-0123456789ab
  ethermeter report runs/poisson-load-0123456789ab --metric goodput --metric loss \
--format svg --out figures"""


def blocks(found: "Run | Figures", _: object) -> Iterator[object]:
    """Yield the files that were written."""
    files = found.figures if isinstance(found, Figures) else found.files.values()
    return (Code(str(file)) for file in files)


def plain(found: "Run | Figures") -> object:
    """Return the files that were written as JSON values, of a run with its answers."""
    if isinstance(found, Figures):
        return json_values.plain(found)
    files = {name: str(path) for name, path in found.files.items()}
    return {"run": str(found.path), "files": files, **found.contents()}


COMMAND = Command(report, EXAMPLES, blocks=blocks, plain=plain)
