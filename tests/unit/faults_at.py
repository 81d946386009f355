"""Helpers for tests of faults."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ethermeter.experiment import load
from ethermeter.faults import Fault, InputError


def faults_of(call: Callable[[], object]) -> tuple[Fault, ...]:
    """Return the faults that a call raises; each must be one printable line."""
    with pytest.raises(InputError) as caught:
        call()
    for fault in caught.value.faults:
        assert str(fault).isprintable()
        assert len(str(fault)) < 2000
    assert caught.value.faults
    return caught.value.faults


def expect_fault(folder: Path, text: str, *, key: str, allowed: str) -> None:
    """Load this text as a file and expect a fault at the key that says what was allowed."""
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    faults = faults_of(lambda: load(path))
    found = [fault for fault in faults if fault.key == key]
    assert found, [str(fault) for fault in faults]
    assert any(allowed in fault.allowed for fault in found), [str(fault) for fault in found]
