"""Measured: what came of the tests of a run, file by file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ethermeter.faults import Fault, InputError
from ethermeter.store.files import LIVE
from ethermeter.store.integrity import read_verified

COMPLETE = "complete"
"""Outcome of a test in which no agent was lost and nobody stopped it; others have no values."""


def result_file(directory: Path, trial: str) -> Path:
    """Path of what came of a trial's test."""
    return directory / LIVE / f"{trial}.json"


def read_result(directory: Path, trial: str) -> dict[str, Any]:
    """Read what came of a trial's test, as docs/live.md describes it.

    Raises
    ------
    InputError
        If the file is not there or is not what `ethermeter measure` writes.

    """
    path = result_file(directory, trial)
    try:
        found = json.loads(read_verified(directory, path.relative_to(directory).as_posix()))
        if not all(isinstance(found[key], dict) for key in ("agents", "flows")):
            raise TypeError("agents, flows")
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            [
                Fault(
                    str(path),
                    "(file)",
                    type(error).__name__,
                    "the result of a test, as measure writes it",
                )
            ]
        ) from error
    return dict(found)


def complete_results(directory: Path, trials: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the results of those trials that were measured to their end.

    One by one: each can have some megabytes.

    A trial without a file is left out: files may be removed to save room.

    Raises
    ------
    InputError
        If a file is not what `ethermeter measure` writes.

    """
    for trial in trials:
        if result_file(directory, trial).is_file():
            found = read_result(directory, trial)
            if found.get("outcome") == COMPLETE:
                yield trial, found
