"""Standards: the constants of each, read from the one place that has them."""

from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def standards() -> Mapping[str, Mapping[str, Any]]:
    """Return every standard by name: its constants, and their sources under "sources"."""
    from ethermeter import _core

    known: Mapping[str, Mapping[str, Any]] = _core.standards()
    return known
