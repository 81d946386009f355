"""[search]: the largest or smallest value of a key with which conditions hold."""

import math
from fractions import Fraction
from typing import Annotated

from pydantic import Field, PlainValidator, StringConstraints, WithJsonSchema

from ethermeter.experiment.quantity import Table, complaint, number, written

LONGEST_CONDITION = 200
MOST_CONDITIONS = 64
LARGEST_LIMIT = 1000
"""Replications a point of a search may have."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_CONDITION)]


def _value(value: object) -> int | float | str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not isinstance(value, str):
        raise complaint('expected a number, or a text with a unit such as "10 Mb/s"')
    if isinstance(value, float) and not math.isfinite(value):
        raise complaint("expected a finite number")
    return value  # type: ignore[return-value]


Value = Annotated[
    int | float | str, PlainValidator(_value), WithJsonSchema({"type": ["number", "string"]})
]


class Search(Table):
    """Question of `ethermeter search`: a key, the range of its values, and conditions."""

    largest: Text | None = None
    """Dotted path of the key whose largest value is wanted; instead of `smallest`."""
    smallest: Text | None = None
    """Dotted path of the key whose smallest value is wanted; instead of `largest`."""
    first: Value | None = Field(None, alias="from")
    """First value of the range, as the key takes it."""
    last: Value | None = Field(None, alias="to")
    """Last value of the range; its unit may be another one of the same dimension."""
    step: Value | None = None
    """Distance between tried values; if absent 1 for integers, else a hundredth of the range."""
    conditions: Annotated[list[Text], Field(min_length=1, max_length=MOST_CONDITIONS)] | None = (
        Field(None, alias="while")
    )
    """Conditions, all of which must hold, such as "loss <= 0.1%" or "call: one_way_delay.p99 <= 20
    ms".
    """
    engine: Text | None = None
    """Engine that answers: "simulation", "live", "theory/MODEL" or "idealised/MODEL"; "simulation"
    if absent.
    """
    confidence: Annotated[Fraction, *number("confidence", least=0.5, most=0.9999)] = written(0.95)
    """Probability that the answer lies between the two stated values."""
    replications: Annotated[int, Field(ge=1, le=LARGEST_LIMIT)] = 64
    """Largest number of trials of one value."""
