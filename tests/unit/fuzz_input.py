"""What fuzzing an input may end in: something sound, or faults, and nothing else."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ethermeter import plan
from ethermeter.experiment import Experiment, load
from ethermeter.faults import InputError


def outcome_of_load(data: bytes, *, overrides: Sequence[str] = ()) -> Experiment | InputError:
    """Load these bytes; any other exception than `InputError` is a failure of the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.toml"
        path.write_bytes(data)
        try:
            return load(path, overrides=overrides)
        except InputError as error:
            _are_lines(error)
            return error


def outcome_of_read(data: bytes) -> plan.Plan | InputError:
    """Read these bytes as a plan; the same rule."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.jsonl"
        path.write_bytes(data)
        try:
            return plan.read(path)
        except InputError as error:
            _are_lines(error)
            return error


def _are_lines(error: InputError) -> None:
    assert error.faults
    for fault in error.faults:
        assert str(fault).isprintable()
