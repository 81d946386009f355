"""Frame lengths: one, a mix, a measured table, or as many samples of a coder as there are."""

from fractions import Fraction
from typing import Annotated

from pydantic import Field, PlainValidator, StringConstraints, Tag, WithJsonSchema, model_validator

from ethermeter import units
from ethermeter.experiment.quantity import AnySize, Size, Weight
from ethermeter.experiment.table import Table, choice, complaint, tag
from ethermeter.units import UnitError

MOST_LENGTHS = 2000
"""Different lengths a mix may have."""

ALLOWED_FRAMES = (
    'expected a length such as "64 B", a mix such as "64 B x 7 + 1536 B x 1", { mix = [ { length = "64 B", weight = 7 }, … ] }, '
    '{ measured = "lengths.csv" } or, with a coder, { samples = { least = "64 B", most = "1024 B", overhead = "6 B" } }'
)


class Mixed(Table):
    """One length of a mix."""

    length: Size
    """Frame length."""
    weight: Weight
    """How often, relative to the other lengths."""


def _mix_of_text(value: object) -> list[Mixed]:
    """Read "64 B" or "64 B x 7 + 1536 B x 1"."""
    if not isinstance(value, str) or len(value) > 4000:
        raise complaint(ALLOWED_FRAMES)
    if "x" not in value:
        return [Mixed.model_construct(length=_size(value), weight=Fraction(1))]
    parts = []
    for part in value.split("+"):
        length, _, weight = part.partition("x")
        if not (weight.strip().isascii() and weight.strip().isdigit() and len(weight.strip()) <= 9):
            raise complaint(
                f'expected parts such as "64 B x 7", each with a whole weight, joined by +; not "{part.strip()[:40]}"'
            )
        parts.append(Mixed.model_construct(length=_size(length), weight=Fraction(int(weight))))
    return _checked(parts)


def _size(text: str) -> int:
    try:
        return units.size_bits(text.strip(), positive=True)
    except UnitError as error:
        raise complaint(str(error)) from None


def _checked(parts: list[Mixed]) -> list[Mixed]:
    """Return the parts that occur at all."""
    kept = [part for part in parts if part.weight > 0]
    if not kept:
        raise complaint("expected at least one weight above zero")
    return kept


class Mix(Table):
    """Frames of several lengths, drawn independently."""

    mix: Annotated[list[Mixed], Field(min_length=1, max_length=MOST_LENGTHS)]
    """The lengths with their weights."""

    @model_validator(mode="after")
    def _has_weight(self) -> "Mix":
        _checked(self.mix)
        return self


class MeasuredFrames(Table):
    """Frame lengths from a CSV file with the columns length_bytes and weight, beside the experiment
    file.
    """

    measured: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Name of the CSV file."""


class Growth(Table):
    """The lengths between which a frame of samples grows."""

    least: Size
    """Length at which a frame is wanted to be sent, overhead included."""
    most: Size
    """Length beyond which it does not grow, overhead included."""
    overhead: AnySize
    """What of a frame is no samples."""


class Samples(Table):
    """Frames of a coder's samples."""

    samples: Growth
    """How long they grow."""


Frames = Annotated[
    Annotated[
        list[Mixed],
        PlainValidator(_mix_of_text),
        WithJsonSchema(
            {
                "type": "string",
                "description": 'a length such as "64 B", or a mix such as "64 B x 7 + 1536 B x 1"',
            }
        ),
        Tag(tag("text")),
    ]
    | Annotated[Mix, Tag(tag("mix"))]
    | Annotated[MeasuredFrames, Tag(tag("measured"))]
    | Annotated[Samples, Tag(tag("samples"))],
    choice("mix", "measured", "samples", allowed=ALLOWED_FRAMES),
]
"""Frame lengths of a group."""
