"""Values: those of a range that a search tries, as an experiment file has them."""

from dataclasses import dataclass
from fractions import Fraction

from ethermeter.units import UNITS, Quantity, UnitError, decimal_text, exact, quantity

MOST_VALUES = 10**9
PARTS = 100
"""Steps into which a range is divided that has no step and no integers."""

Value = int | float | str


class RangeError(ValueError):
    """A range without values.

    `key`: from, to or step. `value`: what is wrong there.
    """

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(allowed)
        self.key, self.value, self.allowed = key, value, allowed


@dataclass(frozen=True, slots=True)
class Values:
    """Values at equal distances, from the easiest on.

    `first`, `step`: in `unit`; the step is negative where the largest value is the easiest.
    `count`: how many. `unit`: as written; empty for numbers. `is_whole`: whether they are integers.
    """

    first: Fraction
    step: Fraction
    count: int
    unit: str
    is_whole: bool

    def number(self, position: int) -> Fraction:
        """Return a value in the unit."""
        return self.first + position * self.step

    def at(self, position: int) -> Value:
        """Return a value as an experiment file has it."""
        number = self.number(position)
        if self.unit:
            return f"{decimal_text(number)} {self.unit}"
        return int(number) if self.is_whole else float(number)

    def text(self, position: int) -> str:
        """Return a value as text."""
        return str(self.at(position))

    @property
    def step_text(self) -> str:
        """The distance of neighbours, as text."""
        number = abs(self.step)
        return f"{decimal_text(number)} {self.unit}".strip()


def values_of(first: Value, last: Value, step: Value | None, *, is_rising: bool) -> Values:
    """Return the values from the first to the last, at most.

    `step`: their distance; 1 for integers and a hundredth of the range for others if None.
    `is_rising`: whether the smallest is the easiest. Raises RangeError.
    """
    units = {key: _read(key, value) for key, value in (("from", first), ("to", last))}
    if step is not None:
        units["step"] = _read("step", step)
    unit = units["step" if step is not None else "from"].unit
    numbers = {}
    for key, each in units.items():
        if bool(each.unit) != bool(unit) or (unit and each.dimension is not UNITS[unit][0]):
            given = {"from": first, "to": last, "step": step}[key]
            raise RangeError(key, given, f"expected {_kind(unit)}, as from, to and step together")
        numbers[key] = each.base / UNITS[unit][1] if unit else each.number
    is_whole = not unit and all(isinstance(each, int) for each in (first, last, step or 1))
    span = numbers["to"] - numbers["from"]
    if span <= 0:
        raise RangeError("to", last, f"expected a value above from, {first}")
    distance = numbers.get("step", Fraction(1) if is_whole else span / PARTS)
    if distance <= 0 or distance > span:
        raise RangeError("step", step, "expected a step above zero, at most from to to")
    count = int(span // distance) + 1
    if count > MOST_VALUES:
        raise RangeError("step", step or 1, f"expected at most {MOST_VALUES} values, got {count}")
    low, high = numbers["from"], numbers["from"] + (count - 1) * distance
    try:
        for number in (low, distance):
            decimal_text(number)
    except ValueError:
        raise RangeError("to", last, f"expected the unit of from, {unit or 'none'}") from None
    return Values(
        low if is_rising else high, distance if is_rising else -distance, count, unit, is_whole
    )


def _read(key: str, value: Value) -> Quantity:
    if not isinstance(value, str):
        return Quantity(exact(value), "")
    try:
        return quantity(value)
    except UnitError as error:
        raise RangeError(key, value, str(error)) from None


def _kind(unit: str) -> str:
    return f'{UNITS[unit][0]} such as "10 {unit}"' if unit else "a number without a unit"
