"""Document: JSON of another program, whose values are checked where they are read."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
_NOT_A_NUMBER = re.compile(r"(?<=[:\[,\s])-?(?:nan|inf)\b", re.IGNORECASE)
"""How C prints what is no number, which is no JSON."""
_TWICE = ("sum", "sum_sent", "sum_received")
"""Keys that iperf3 3.7 writes twice: the second are those of the other direction."""


def documents(text: str) -> list[Any]:
    """Read the JSON documents of a text, one after the other.

    What is no number becomes one that is not finite. Raises ValueError, RecursionError.
    """
    try:
        return _read(text.strip())
    except json.JSONDecodeError:
        other = _NOT_A_NUMBER.sub("NaN", text.strip())
        if other == text.strip():
            raise
    return _read(other)


def _read(text: str) -> list[Any]:
    decoder = json.JSONDecoder(object_pairs_hook=_table)
    found, at = [], 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def finite(value: object) -> float | None:
    """Return a number as a float; None if it is none, or beyond all floats."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _table(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        name = f"{key}_bidir_reverse" if key in found and key in _TWICE else key
        if name in found:
            raise ValueError(f"the key {key} is there twice")
        found[name] = value
    return found
