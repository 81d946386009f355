"""Swept: values that an experiment varies, as their text and as quantities."""

import math
import re
from collections.abc import Mapping, Sequence

_PREFIXES = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9}
_BASES = ("s", "m", "B", "b", "bit", "b/s", "bit/s", "/s", "Hz")


def quantity(text: str) -> tuple[float, str] | None:
    """Read a number with a unit as a value in the base unit; None for a text that is none.

    Examples
    --------
    >>> quantity("24"), quantity("64 B"), quantity("10 Mb/s")
    ((24.0, ''), (64.0, 'B'), (10000000.0, 'b/s'))
    >>> quantity("saturated") is None
    True
    """
    match = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d]*)\s*", text)
    if match is None:
        return None
    value, unit = float(match[1]), match[2]
    if unit == "%":
        return value / 100, ""
    if unit and unit not in _BASES and unit[0] in _PREFIXES and unit[1:] in _BASES:
        return value * _PREFIXES[unit[0]], unit[1:]
    return value, unit


class Swept(str):
    """The text of a value that an experiment varies, and the value itself.

    Examples
    --------
    >>> value = Swept("10 Mb/s")
    >>> value, value.number, value.unit
    ('10 Mb/s', 10000000.0, 'b/s')
    >>> Swept("saturated").number
    nan

    """

    __slots__ = ()

    @property
    def number(self) -> float:
        """The value in the base unit of its text; NaN of a text that is no quantity."""
        found = quantity(self)
        return math.nan if found is None else found[0]

    @property
    def unit(self) -> str:
        """The base unit; empty without one."""
        found = quantity(self)
        return "" if found is None else found[1]


def varied_keys(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys that have several values, in the order in which they first appear."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for key, text in row.items():
            values.setdefault(key, set()).add(text)
    return [key for key, found in values.items() if len(found) > 1]
