"""All published studies: their list, and the index page and table of a run of all."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from ethermeter.cli.guard import FAILED, explain, say
from ethermeter.cli.output import print_json, print_table
from ethermeter.studies import registry

ALL = "all"
"""Every study, on the command line."""
INDEX = "studies.html"


def list_studies(*, as_json: bool) -> None:
    """Print every study with one line of what it is."""
    titles = {name: registry.find(name).presentation.title for name in registry.names()}
    if as_json:
        print_json([{"study": name, "title": title} for name, title in titles.items()])
        return
    width = max(map(len, titles))
    for name, title in titles.items():
        typer.echo(f"{name:{width}}  {title}")


def outcome(name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run one study; an error is printed and kept instead of the summary.

    Returns
    -------
    :
        `study`, and `summary` of its run, or `error` and its exit code as `code`.

    """
    try:
        return {"study": name, "summary": run()}
    except (typer.Exit, KeyboardInterrupt):
        raise
    except Exception as error:  # one study's failure must not hide the others
        say(f"{name}:")
        return {"study": name, "error": _first_line(error), "code": explain(error)}


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def write_index(outcomes: Sequence[Mapping[str, Any]], folder: Path, *, quick: bool) -> Path:
    """Write one page with every claim of every study and links to their reports; the path of the
    file.
    """
    from ethermeter import report

    entries = [
        report.Reproduced(
            study=outcome["study"],
            presentation=registry.find(outcome["study"]).presentation,
            run=Path(outcome["summary"]["run"]) if "summary" in outcome else None,
            error=outcome.get("error", ""),
        )
        for outcome in outcomes
    ]
    folder.mkdir(parents=True, exist_ok=True)
    return report.write_index(folder / INDEX, entries, quick=quick)


def print_outcomes(outcomes: Sequence[Mapping[str, Any]], index: Path, *, as_json: bool) -> None:
    """Print the outcome of every study; exit with code 1 if one of them failed."""
    if as_json:
        print_json(
            {"index": str(index), "studies": [_without_points(outcome) for outcome in outcomes]}
        )
    else:
        print_table(
            ["study", "met or holding", "missed or failing", "not run", "s", "report"],
            [_row(outcome) for outcome in outcomes],
        )
        typer.echo(f"all claims: {index}")
    if any("error" in outcome for outcome in outcomes):
        raise typer.Exit(FAILED)


def _without_points(outcome: Mapping[str, Any]) -> dict[str, Any]:
    if "summary" not in outcome:
        return dict(outcome)
    return {
        **outcome,
        "summary": {key: value for key, value in outcome["summary"].items() if key != "estimates"},
    }


def _row(outcome: Mapping[str, Any]) -> list[str]:
    if "error" in outcome:
        return [outcome["study"], "–", "–", "–", "–", f"failed: {outcome['error']}"]
    summary = outcome["summary"]
    verdicts = [
        claim["verdict"] for claim in summary["claims"]["claims"] if claim["basis"] != "reference"
    ]
    counts = [
        sum(verdict in words for verdict in verdicts)
        for words in (("met", "holds"), ("missed", "fails"), ("not-run",))
    ]
    wall_s = summary["wall_s"]
    return [
        outcome["study"],
        *map(str, counts),
        f"{wall_s:.0f}" if isinstance(wall_s, int | float) else "–",
        os.path.relpath(summary["files"].get("report", summary["run"])),
    ]
