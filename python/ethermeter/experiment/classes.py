"""Traffic classes of output ports, and token buckets of flows; the same as in a plan."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ethermeter import scenario
from ethermeter.experiment.origin import lowered
from ethermeter.experiment.quantity import Table, complaint, most_of, read_as

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
_ALLOWED_PRIORITY = "expected a priority from 0 to 7"


class Class(Table):
    """A traffic class: a queue of its own at each output port of a node."""

    priorities: Annotated[
        list[Annotated[int, Field(ge=0, lt=PRIORITIES)]],
        Field(min_length=1, max_length=PRIORITIES),
    ]
    """Priorities of the frames of the class; a frame without a tag has priority 0."""
    quantum: Annotated[int, *read_as(scenario.Class, "quantum_octets")] | None = None
    """Quantum of deficit round robin among adjacent classes that have one, in octets on the wire:
    preamble, frame and gap. Strict priority if absent.
    """
    idle_slope: Annotated[int, *read_as(scenario.Class, "idle_slope_bps")] | None = None
    """Rate of the credit-based shaper; no shaper if absent."""
    queue: Annotated[int, *read_as(scenario.Class, "queue_frames")] | None = None
    """Room of the queue in frames, the one being sent included; that of the node if absent."""
    queue_size: Annotated[int, *read_as(scenario.Class, "queue_octets")] | None = None
    """Room of the queue in octets; that of the node if absent."""


class TokenBucket(Table):
    """A token bucket, full at the start; it counts the octets of preambles, frames and gaps."""

    rate: Annotated[int, *read_as(scenario.Shaper, "rate_bps")]
    """Rate at which the bucket fills."""
    burst: Annotated[int, *read_as(scenario.Shaper, "burst_octets")]
    """Capacity of the bucket; at least the longest message."""


def _expanded(value: object) -> object:
    """Return the recommended classes of a number, highest first."""
    if isinstance(value, bool) or not isinstance(value, int | list):
        raise complaint(_ALLOWED)
    if isinstance(value, list):
        return value
    if not 1 <= value <= PRIORITIES:
        raise complaint(_ALLOWED)
    class_of = RECOMMENDED[value - 1]
    return [
        {"priorities": [each for each in range(PRIORITIES) if class_of[each] == str(number)]}
        for number in reversed(range(value))
    ]


def _checked(classes: list[Class]) -> list[Class]:
    """Refuse classes that contradict each other."""
    given = [priority for each in classes for priority in each.priorities]
    for priority in range(PRIORITIES):
        if (count := given.count(priority)) != 1:
            where = "no class" if count == 0 else f"{count} classes"
            raise complaint(
                f"expected every priority from 0 to 7 in one class; {priority} is in {where}"
            )
    slopes = [each.idle_slope is not None for each in classes]
    quanta = [each.quantum is not None for each in classes]
    if any(slope and quantum for slope, quantum in zip(slopes, quanta, strict=True)):
        raise complaint("expected at most one of idle_slope and quantum in a class")
    if "".join("q" if quantum else " " for quantum in quanta).strip().count(" "):
        raise complaint("expected classes with quantum next to each other")
    return classes


class _NumberOrClasses:
    """JSON Schema of classes: a number of them, or a list."""

    def __get_pydantic_json_schema__(
        self, classes: CoreSchema, of: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number = {"type": "integer", "minimum": 1, "maximum": PRIORITIES}
        return {
            "oneOf": [number, {**of(classes), "minItems": 1}],
            "description": "a number of classes, or classes with the highest first",
        }


Classes = Annotated[
    list[Class], BeforeValidator(_expanded), AfterValidator(_checked), _NumberOrClasses()
]
"""Classes of output ports, highest first; a number stands for those that 802.1Q recommends."""


def _priority(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < PRIORITIES:
        raise complaint(_ALLOWED_PRIORITY)
    return value


Priority = Annotated[int, BeforeValidator(_priority), Field(ge=0, lt=PRIORITIES)]
"""Priority code point of a frame."""


def classes_plan(classes: list[Class] | None) -> tuple[scenario.Class, ...]:
    """Return classes as in a plan; none if absent."""
    return tuple(
        lowered(scenario.Class, each, priorities=tuple(each.priorities)) for each in classes or []
    )
