"""Checks of results: conditions that they must not meet, and files of them for other programs."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ethermeter.analysis.checks import Check
    from ethermeter.api.experiments import Loaded
    from ethermeter.api.runs import Run

JUNIT, OPEN_METRICS, MARKDOWN = "checks.xml", "checks.prom", "checks.md"
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable of the file that GitHub shows as the summary of a job."""


def require(texts: Sequence[str], loaded: "Loaded") -> None:
    """Refuse conditions that the first trial of an experiment cannot have, before it is run.

    Raises
    ------
    InputError
        If a text is no condition, or there is no such metric, flow or group.

    """
    if not texts:
        return
    from ethermeter.analysis.checks import require_in
    from ethermeter.trial import LIVE, SIMULATION

    trials = [trial for trial in loaded.plan().trials if trial.engine in (SIMULATION, LIVE)]
    require_in(texts, trials[:1])


def checked(run: "Run", texts: Sequence[str]) -> "Run":
    """Return a run with its checks, which are written into its directory.

    They are appended to the summary of a job on GitHub, too.

    Raises
    ------
    RunError
        If a file cannot be written.

    """
    if not texts:
        return run
    found = run.check(*texts)
    write(found, run.path.name, run.path)
    return replace(run, checks=found)


def write(found: "Sequence[Check]", name: str, folder: Path | None) -> None:
    """Write the files of checks into a directory, and append them to the summary of a job.

    `name`: of what was checked. `folder`: None of an answer without a directory, whose checks only
    a job on GitHub shows.
    """
    from ethermeter.render import check_files
    from ethermeter.store import write_whole

    summary = check_files.markdown(name, found)
    if folder is not None:
        write_whole(folder / JUNIT, check_files.junit(name, found))
        write_whole(folder / OPEN_METRICS, check_files.open_metrics(found))
        write_whole(folder / MARKDOWN, summary)
    if file := os.environ.get(SUMMARY):
        with Path(file).open("a", encoding="utf-8") as shown:
            shown.write(summary)
