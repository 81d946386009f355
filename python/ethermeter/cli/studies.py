"""All published studies: their list, and the index page and table of a run of all."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ethermeter.analysis.claims import FILE
from ethermeter.cli.guard import FAILED, explain, say
from ethermeter.cli.output import print_json, print_table, print_text
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.cli.summary import Summary

ALL = "all"
"""Every study, on the command line."""
INDEX = "studies.html"


def list_studies(*, as_json: bool) -> None:
    """Print every study with one line of what it is."""
    titles = {name: registry.find(name).presentation.title for name in registry.names()}
    if as_json:
        print_json([{"study": name, "title": title} for name, title in titles.items()])
        return
    print_table(["study", "what was published"], [[name, title] for name, title in titles.items()])


@dataclass(frozen=True, slots=True)
class Outcome:
    """A study that was run: the summary of its run, or the error with its exit code."""

    study: str
    summary: "Summary | None" = None
    error: str = ""
    code: int = 0

    def as_json(self) -> dict[str, object]:
        """Return the outcome as JSON, without the estimates of every point."""
        if self.summary is None:
            return {"study": self.study, "error": self.error, "code": self.code}
        return {"study": self.study, "summary": self.summary.as_json(leave_out=("estimates",))}

    def row(self) -> list[str]:
        """Return the cells of the outcome in the table of all studies."""
        if self.summary is None:
            return [self.study, "–", "–", "–", "–", f"failed: {self.error}"]
        claims = self.summary.claims(FILE)
        verdicts = [each.verdict for each in claims if each.basis != "reference"]
        wall_s = self.summary.run.provenance().get("wall_s")
        counts = [
            sum(verdict in words for verdict in verdicts)
            for words in (("met", "holds"), ("missed", "fails"), ("not-run",))
        ]
        return [
            self.study,
            *map(str, counts),
            f"{wall_s:.0f}" if isinstance(wall_s, float) else "–",
            os.path.relpath(self.summary.written.get("report", self.summary.run.path)),
        ]


def outcome(name: str, run: "Callable[[], Summary]") -> Outcome:
    """Run one study; an error is printed and kept instead of the summary."""
    try:
        return Outcome(name, run())
    except (typer.Exit, KeyboardInterrupt):
        raise
    except Exception as error:  # one study's failure must not hide the others
        say(f"{name}:")
        return Outcome(name, None, _first_line(error), explain(error))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def write_index(outcomes: Sequence[Outcome], folder: Path, *, quick: bool) -> Path:
    """Write one page with every claim of every study and links to reports; return its path."""
    from ethermeter.report import index

    entries = [
        index.Reproduced(
            study=outcome.study,
            presentation=registry.find(outcome.study).presentation,
            run=None if outcome.summary is None else outcome.summary.run.path,
            error=outcome.error,
        )
        for outcome in outcomes
    ]
    folder.mkdir(parents=True, exist_ok=True)
    return index.write(folder / INDEX, entries, quick=quick)


def print_outcomes(outcomes: Sequence[Outcome], index: Path, *, as_json: bool) -> None:
    """Print the outcome of every study; exit with code 1 if one of them failed."""
    if as_json:
        print_json({"index": str(index), "studies": [each.as_json() for each in outcomes]})
    else:
        print_table(
            ["study", "met or holding", "missed or failing", "not run", "s", "report"],
            [outcome.row() for outcome in outcomes],
        )
        print_text(f"all claims: {index}")
    if any(outcome.summary is None for outcome in outcomes):
        raise typer.Exit(FAILED)
