"""Traffic classes of output ports."""

from typing import Any

from ethermeter import scenario
from ethermeter.experiment.quantity import complaint, is_integer
from ethermeter.experiment.tables import FORMS, ListOf, Schema, most_of, table_reader

PRIORITIES = most_of(scenario.Flow, "priority") + 1
"""Priorities of frames: three bits (802.1Q-2022 § 6.9.3)."""
RECOMMENDED = (
    "00000000",
    "00001111",
    "00001122",
    "00112233",
    "00112234",
    "10223345",
    "10234456",
    "10234567",
)
"""Traffic class of each priority, 0 to 7, by the number of classes (802.1Q-2022 table 8-5)."""

_ALLOWED = (
    "expected a number of classes from 1 to 8, or a list of classes, highest first, such as"
    " [{ priorities = [5, 6, 7] }, { priorities = [0, 1, 2, 3, 4] }]"
)
Classes = tuple[scenario.Class, ...]
"""Classes of output ports, highest first; a number stands for those that 802.1Q recommends."""


def recommended(number: int) -> Classes:
    """Return the classes that 802.1Q recommends for a number of them, highest first."""
    class_of = RECOMMENDED[number - 1]
    return tuple(
        scenario.Class(
            priorities=tuple(each for each in range(PRIORITIES) if class_of[each] == str(index))
        )
        for index in reversed(range(number))
    )


def _check(classes: list[scenario.Class]) -> None:
    """Refuse classes that contradict each other."""
    given = [priority for each in classes for priority in each.priorities]
    for priority in range(PRIORITIES):
        if (count := given.count(priority)) != 1:
            where = "no class" if count == 0 else f"{count} classes"
            raise complaint(
                f"expected every priority from 0 to 7 in one class; {priority} is in {where}"
            )
    slopes = [each.idle_slope_bps is not None for each in classes]
    quanta = [each.quantum_octets is not None for each in classes]
    if any(slope and quantum for slope, quantum in zip(slopes, quanta, strict=True)):
        raise complaint("expected at most one of idle_slope and quantum in a class")
    if "".join("q" if quantum else " " for quantum in quanta).strip().count(" "):
        raise complaint("expected classes with quantum next to each other")


class _NumberOrList:
    """Reads a number of classes, or a list of them."""

    item = table_reader(scenario.Class)
    _list = ListOf(item, check=_check)

    def read(self, value: Any) -> Classes:
        """Return the classes, highest first."""
        if is_integer(value) and 1 <= value <= PRIORITIES:
            return recommended(value)
        if isinstance(value, list):
            return self._list.read(value)
        raise complaint(_ALLOWED)

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema."""
        number = {"type": "integer", "minimum": 1, "maximum": PRIORITIES}
        return {
            "oneOf": [number, {**self._list.schema_in(tables), "minItems": 1}],
            "description": "a number of classes, or classes with the highest first",
        }


FORMS[Classes] = _NumberOrList()
