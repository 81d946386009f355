"""Verdicts: whether a value keeps its bound."""

import math
from typing import Literal

PS_PER_S = 1e12
Verdict = Literal["holds", "exceeded", "unknown"]


def verdict_of(
    largest: float, bound: float, *, allowance: float = 0.0, scale: float = PS_PER_S
) -> Verdict:
    """Compare a largest value with its bound and an allowance, in whole units.

    `scale` has the units of a value: picoseconds of a second, or 1 of a count. Without a value, a
    bound or an allowance (NaN) the verdict is unknown.
    """
    limit = bound + allowance
    if math.isnan(largest) or math.isnan(limit):
        return "unknown"
    return "exceeded" if round(largest * scale) > round(limit * scale) else "holds"


def together(verdicts: set[Verdict]) -> Verdict:
    """Return the verdict of several values together: exceeded if one is, unknown if all are."""
    if "exceeded" in verdicts:
        return "exceeded"
    return "holds" if "holds" in verdicts else "unknown"
