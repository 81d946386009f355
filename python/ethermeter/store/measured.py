"""Measured: the results of the tests of a run, file by file."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import DecodeError

from ethermeter.faults import InputError
from ethermeter.store.files import LIVE
from ethermeter.store.integrity import read_verified
from ethermeter.store.result import Result, read

COMPLETE = "complete"
"""Outcome of a test that no agent and no user ended early; others have no values."""


def result_file(directory: Path, trial: str) -> Path:
    """Path of the result of a trial's test."""
    return directory / LIVE / f"{trial}.json"


def read_text(directory: Path, trial: str) -> bytes:
    """Read the text of the file in `live/` of a trial, which is JSON.

    Raises InputError if the file is missing or is not what was written.
    """
    path = result_file(directory, trial)
    try:
        return read_verified(directory, path.relative_to(directory).as_posix())
    except OSError as error:
        raise _fault(path, error) from error


def read_result(directory: Path, trial: str) -> Result:
    """Read the result of a trial's test.

    Raises InputError if the file is missing or is not what `ethermeter measure` writes.
    """
    try:
        return read(read_text(directory, trial))
    except DecodeError as error:
        raise _fault(result_file(directory, trial), error) from error


def _fault(path: Path, error: Exception) -> InputError:
    allowed = "the result of a test, as measure writes it"
    return InputError.of(str(path), "(file)", f"{type(error).__name__}: {error}", allowed)


def complete_results(directory: Path, trials: list[str]) -> Iterator[tuple[str, Result]]:
    """Read the results of those trials that were measured to their end, one by one.

    Each can have some megabytes. A trial without a file is left out: files may be removed to save
    room. Raises InputError if a file is not what `ethermeter measure` writes.
    """
    for trial in trials:
        if result_file(directory, trial).is_file():
            found = read_result(directory, trial)
            if found.outcome == COMPLETE:
                yield trial, found
