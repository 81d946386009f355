"""Verdicts: whether a value keeps its bound, and whether a statement is decided by intervals."""

import math
from collections.abc import Iterable
from typing import Literal

from ethermeter.results.interval import Estimate

PS_PER_S = 1e12
Verdict = Literal["holds", "exceeded", "unknown"]
Decision = Literal["holds", "fails", "undecided"]
"""Whether a statement is true, false, or not decided by what is known."""


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


def decision(value: Estimate, relation: str, limit: float) -> Decision:
    """Decide whether a value meets a relation (`<`, `<=`, `>`, `>=`) to a limit, by its interval.

    It holds if the whole 95% interval meets it, fails if no part does, and is undecided in between
    or without an interval.

    Examples
    --------
    >>> loss = Estimate(0.004, 0.001, float("inf"))
    >>> [decision(loss, ">", limit) for limit in (0.001, 0.004, 0.01)]
    ['holds', 'undecided', 'fails']
    """
    if not value.has_interval:
        return "undecided"
    low, high = value.low, value.high
    if relation[0] == "<":
        low, high, limit = -high, -low, -limit
    includes = relation.endswith("=")
    if low > limit or (includes and low == limit):
        return "holds"
    return "fails" if high < limit or (not includes and high == limit) else "undecided"


def every(decisions: Iterable[Decision | bool]) -> Decision:
    """Decide whether all statements are true: fails if one does, undecided if one is.

    A statement without chance in it is true or false.

    Examples
    --------
    >>> every(["holds", "undecided"]), every(["undecided", False]), every([True])
    ('undecided', 'fails', 'holds')
    """
    found = set(decisions)
    if found & {"fails", False}:
        return "fails"
    return "undecided" if "undecided" in found else "holds"
