"""Helpers for tests of faults."""

from collections.abc import Callable

import pytest

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
