"""Reference values as they are printed: the tolerance is half a unit of the last digit."""

import math
from collections.abc import Iterable
from decimal import Decimal

# A printed value may itself have been rounded from a half, and doubles are not decimals.
SLACK = 1e-9


def half_unit(text: str) -> float:
    """Half a unit of the last digit of a printed number."""
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


def off(value: float, text: str) -> float:
    """How far a value is from a printed one, in half units of its last digit; at most 1 if it
    rounds to it.
    """
    return abs(float(value) - float(text)) / half_unit(text)


def rounds_to(value: float, text: str) -> bool:
    return not math.isnan(float(value)) and off(value, text) <= 1 + SLACK


def unlike(values: Iterable[float], texts: Iterable[str]) -> list[str]:
    """Printed values to which their value does not round; "_" is not known."""
    pairs = zip(values, texts, strict=True)
    return [text for value, text in pairs if text != "_" and not rounds_to(value, text)]
