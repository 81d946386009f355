"""All published studies: their list, and the index page and table of a run of all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ethermeter.analysis.claims import FILE
from ethermeter.cli.guard import FAILED, explain, say
from ethermeter.cli.output import print_json, show
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.cli.summary import Summary
    from ethermeter.present.studies import Failed, Reproduced

ALL = "all"
"""Every study, on the command line."""
INDEX = "studies.html"


def list_studies(*, as_json: bool) -> None:
    """Print every study with one line of what it is."""
    from ethermeter.present.studies import published

    titles = {name: registry.find(name).presentation.title for name in registry.names()}
    if as_json:
        print_json([{"study": name, "title": title} for name, title in titles.items()])
        return
    show(published(titles))


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

    def reproduced(self) -> "Reproduced | Failed":
        """Return the outcome as it is laid out."""
        from ethermeter.present.studies import Failed, Reproduced

        if self.summary is None:
            return Failed(self.study, self.error)
        wall_s = self.summary.run.provenance().get("wall_s")
        return Reproduced(
            self.study,
            self.summary.claims(FILE),
            wall_s if isinstance(wall_s, float) else None,
            self.summary.written.get("report", self.summary.run.path),
        )


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
    from ethermeter.present.studies import reproduced

    if as_json:
        print_json({"index": str(index), "studies": [each.as_json() for each in outcomes]})
    else:
        show(reproduced([outcome.reproduced() for outcome in outcomes], index))
    if any(outcome.summary is None for outcome in outcomes):
        raise typer.Exit(FAILED)
