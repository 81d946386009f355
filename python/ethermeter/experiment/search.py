"""[search]: the largest or smallest value of a key with which conditions hold."""

import math
from fractions import Fraction
from typing import Annotated

from ethermeter.experiment.quantity import Form, complaint, integer, number, text
from ethermeter.experiment.tables import FileTable, ListOf, reader_of
from ethermeter.scenario import FileKey

LONGEST_CONDITION = 200
MOST_CONDITIONS = 64
LARGEST_LIMIT = 1000
"""Replications a point of a search may have."""

Text = Annotated[str, text(1, LONGEST_CONDITION)]


def _value(value: object) -> int | float | str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not isinstance(value, str):
        raise complaint('expected a number, or a text with a unit such as "10 Mb/s"')
    if isinstance(value, float) and not math.isfinite(value):
        raise complaint("expected a finite number")
    return value  # type: ignore[return-value]


Value = Annotated[int | float | str, Form(_value, {"type": ["number", "string"]})]


class Search(FileTable, frozen=True, kw_only=True):
    """Question of `ethermeter find value`: a key, the range of its values, and conditions."""

    largest: Text | None = None
    """Dotted path of the key whose largest value is wanted; instead of `smallest`."""
    smallest: Text | None = None
    """Dotted path of the key whose smallest value is wanted; instead of `largest`."""
    first: Annotated[Value | None, FileKey("from"), reader_of(Value)] = None
    """First value of the range, as the key takes it."""
    last: Annotated[Value | None, FileKey("to"), reader_of(Value)] = None
    """Last value of the range; its unit may be another one of the same dimension."""
    step: Value | None = None
    """Distance between tried values; if absent 1 for integers, else a hundredth of the range."""
    conditions: Annotated[
        tuple[str, ...] | None, FileKey("while"), ListOf(reader_of(Text), 1, MOST_CONDITIONS)
    ] = None
    """Conditions, all of which must hold, such as "loss <= 0.1%" or "call: one_way_delay.p99 <= 20
    ms".
    """
    engine: Text | None = None
    """Engine that answers: "simulation", "live", "theory/MODEL" or "idealised/MODEL"; "simulation"
    if absent.
    """
    confidence: Annotated[Fraction, number("confidence", least=0.5, most=0.9999)] = Fraction(
        95, 100
    )
    """Probability that the answer lies between the two stated values."""
    replications: Annotated[int, integer(1, LARGEST_LIMIT)] = 64
    """Largest number of trials of one value."""
