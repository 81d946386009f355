"""Fields of an experiment file: tables, choices between kinds of them, and quantities."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from ethermeter import units
from ethermeter.scenario import FileKey
from ethermeter.units import Dimension, UnitError

T = TypeVar("T")
Reader = tuple[PlainValidator, WithJsonSchema]
"""How a value is read, and its JSON Schema."""
ALLOWED = "allowed"
"""Type of our own complaints; their context says what was allowed."""


class Table(BaseModel):
    """A table of an experiment file: strict types, no unknown keys, not changed after reading."""

    # `descriptions` reads docstrings on demand: pydantic takes 0.1 s of every command for it.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


def written(default: str | float) -> Any:
    """Return a field with a default as a file has it, which is read as what a file has."""
    return Field(default=default, validate_default=True)


def complaint(allowed: str) -> PydanticCustomError:
    """Return the error of a value that is not what was allowed."""
    # The text is passed as context, not as the template: what people write may hold braces.
    return PydanticCustomError(ALLOWED, "{allowed}", {"allowed": allowed})


def _one_line(text: str) -> str:
    """Return a text without line breaks and other signs that are not printed, or raise."""
    if not text.isprintable():
        raise complaint("expected one line of printable text")
    return text


Title = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_one_line)]


def distinct(values: list[T]) -> list[T]:
    """Return a list of different values, or raise a complaint."""
    if len(set(values)) < len(values):
        raise complaint("expected each of them once")
    return values


def tag(name: str) -> str:
    """Return the label of one kind in a choice; its brackets tell it from a key of the file."""
    return f"<{name}>"


def is_tag(part: object) -> bool:
    """Whether a part of an error's place is a label of a choice and no key of the file."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


class _Choice(Discriminator):
    """A discriminator that may stand in an optional field, for which Python wants it hashed."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.custom_error_message)


def choice(*keys: str, allowed: str) -> Discriminator:
    """Return a choice between a plain text and tables, each marked by one of the keys."""

    def kind(value: Any) -> str | None:
        if isinstance(value, str):
            return tag("text")
        if isinstance(value, Mapping):
            return next((tag(key) for key in keys if key in value), None)
        return next((tag(key) for key in keys if hasattr(value, key)), None)

    return _Choice(
        kind,
        custom_error_type=ALLOWED,
        custom_error_message="{allowed}",
        custom_error_context={"allowed": allowed},
    )


def reader(read: Callable[[Any], Any]) -> PlainValidator:
    """Return a validator of a reader that may raise `UnitError`."""

    def validate(value: object) -> Any:
        try:
            return read(value)
        except UnitError as error:
            raise complaint(str(error)) from None

    return PlainValidator(validate)


_NUMBER = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*"


def _text(dimension: Dimension, *, signed: bool = False) -> WithJsonSchema:
    names = "|".join(name.replace("/", r"\/") for name in units.units_of(dimension))
    sign = "[+-]?" if signed else r"\+?"
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*{sign}{_NUMBER}({names})\s*$",
            "description": f'{dimension}, such as "{dimension.example}"',
        }
    )


def whole(
    dimension: Dimension, *, most: int, positive: bool = False, signed: bool = False
) -> Reader:
    """Return the reader of a whole number of ps, bits or ppb, at most `most`."""

    def read(value: object) -> int:
        return units.whole(value, dimension, most=most, positive=positive, signed=signed)

    return reader(read), _text(dimension, signed=signed)


def time_up_to(most_ps: int, *, positive: bool = False) -> Reader:
    """Return the reader of a time in ps, at most so long."""
    return whole(Dimension.TIME, most=most_ps, positive=positive)


def size_up_to(most_bits: int) -> Reader:
    """Return the reader of a size above zero in bits, at most so large."""
    return whole(Dimension.SIZE, most=most_bits, positive=True)


def room(most: int) -> Reader:
    """Return the reader of "unlimited" (None) or a number of frames up to `most`."""

    def read(value: object) -> int | None:
        if value == "unlimited":
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        raise complaint(f'expected "unlimited" or a number of frames from 1 to {most}')

    return PlainValidator(read), WithJsonSchema(
        {"oneOf": [{"const": "unlimited"}, {"type": "integer", "minimum": 1, "maximum": most}]}
    )


def octets(*, least: int, most: int) -> Reader:
    """Return the reader of a size in whole octets; bounds may be below zero."""

    def read(value: object) -> int:
        bits = units.parse(value, Dimension.SIZE, signed=least < 0)
        if bits.denominator != 1 or bits % 8:
            raise UnitError("expected a whole number of octets")
        if not least <= bits / 8 <= most:
            raise UnitError(f"expected from {least} B to {most} B")
        return int(bits / 8)

    return reader(read), _text(Dimension.SIZE, signed=least < 0)


@functools.cache
def file_keys(struct: type[Struct]) -> Mapping[str, FileKey]:
    """Return what a file calls each field of a struct, how it writes it, and its range."""
    hints = get_type_hints(struct, include_extras=True)
    return {
        name: next(
            (each for each in get_args(hints[name]) if isinstance(each, FileKey)), FileKey(name)
        )
        for name in struct.__struct_fields__
    }


def read_as(struct: type[Struct], field: str) -> tuple[Any, ...]:
    """Return the reader of a value that the core limits, by its unit and its range there."""
    of_file = file_keys(struct)[field]
    least, most = of_file.least, of_file.most
    assert least is not None
    assert most is not None, f"{struct.__name__}.{field} has a range"
    match of_file.unit:
        case "time":
            return whole(Dimension.TIME, most=most, positive=least > 0, signed=least < 0)
        case "clock error":
            return whole(Dimension.CLOCK_ERROR, most=most, signed=least < 0)
        case "rate":
            return whole(Dimension.RATE, most=most, positive=True)
        case "size":
            return octets(least=least, most=most)
        case "room":
            return room(most)
        case None:
            return (Field(ge=least, le=most),)
        case unit:
            raise AssertionError(f"no reader of {unit}")


def most_of(struct: type[Struct], field: str) -> int:
    """Return the largest integer that the core allows."""
    most = file_keys(struct)[field].most
    assert most is not None, f"{struct.__name__}.{field} has a range"
    return most


def as_written(number: int, unit: str | None) -> str:
    """Return an integer of a scenario as a file writes it, such as "1 ms" for 10^9 ps of time."""
    scales = _SCALES.get(unit or "", ((1, ""),))
    scale, name = next(each for each in scales if number % each[0] == 0)
    return f"{number // scale} {name}".rstrip()


_SCALES: Mapping[str, Sequence[tuple[int, str]]] = {
    "time": ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps")),
    "octet time": ((10**12, "s/B"), (10**9, "ms/B"), (10**6, "us/B"), (10**3, "ns/B"), (1, "ps/B")),
    "size": ((10**6, "MB"), (10**3, "kB"), (1, "B")),
    "bits": ((1, "bit"),),
    "rate": ((10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "bit/s")),
    "clock error": ((10**3, "ppm"), (1, "ppb")),
    "room": ((1, ""),),
}
"""Units of a file for integers of a scenario in ps, octets, bit, bit/s or ppb, largest first."""


def _bits_or_time(value: object) -> tuple[str, int]:
    """Read a size in bits, or a time that becomes one when the bit rate is known."""
    expected = 'a size such as "96 bit" or a time such as "9.6 us"'
    if not isinstance(value, str):
        raise UnitError(f"expected {expected}")
    dimension = units.quantity(value, expected=expected).dimension
    if dimension is Dimension.TIME:
        return "ps", units.time_ps(value)
    if dimension is not Dimension.SIZE:
        raise UnitError(f"expected {expected}, not {dimension}")
    return "bits", units.size_bits(value)


def number(what: str, *, least: float | None = None, above: float = 0, most: float) -> Reader:
    """Return the reader of a number without a unit as an exact fraction.

    It is at least `least` or, if there is no `least`, greater than `above`.
    """
    lower = f"above {above:g}" if least is None else f"from {least:g}"
    bound = {"exclusiveMinimum": above} if least is None else {"minimum": least}

    def read(value: object) -> Fraction:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            raise complaint(f"expected a number {lower} to {most:g}, without a unit")
        # Compared before it is made exact, so that no huge integer is worked with.
        if value > most or (value <= above if least is None else value < least):
            raise complaint(f"expected a number {lower} to {most:g}")
        return units.exact(value)

    schema = {"type": "number", **bound, "maximum": most, "description": what}
    return PlainValidator(read), WithJsonSchema(schema)


Time = Annotated[int, *time_up_to(units.LONGEST_PS)]
"""A time in ps."""

PositiveTime = Annotated[int, *time_up_to(units.LONGEST_PS, positive=True)]
"""A time above zero in ps."""

Delay = Annotated[int, *time_up_to(units.LONGEST_DELAY_PS)]
"""A propagation delay in ps."""

PhaseTime = Annotated[int, *time_up_to(units.LONGEST_TRIAL_PS)]
"""The length of a phase in ps."""

_RANDOM = "random"


def _time_or_random(value: object) -> int | str:
    if value == _RANDOM:
        return _RANDOM
    try:
        return units.time_ps(value)
    except UnitError as error:
        raise UnitError(f'{error}; or "{_RANDOM}"') from None


TIME_OR_RANDOM = (
    reader(_time_or_random),
    WithJsonSchema({"anyOf": [{"const": _RANDOM}, _text(Dimension.TIME).json_schema]}),
)
"""Reader and schema of a time in ps, or the word "random"."""

Size = Annotated[int, *size_up_to(units.LARGEST_BITS)]
"""A size above zero in bits."""

AnySize = Annotated[int, *whole(Dimension.SIZE, most=units.LARGEST_BITS)]
"""A size in bits, zero too."""

BitsOrTime = Annotated[
    tuple[str, int],
    reader(_bits_or_time),
    WithJsonSchema(
        {
            "type": "string",
            "description": 'a size such as "96 bit", or a time that is a whole number of bits',
        }
    ),
]
"""A size in bits, or a time: ("bits", n) or ("ps", n)."""

Length = Annotated[Fraction, reader(units.length_m), _text(Dimension.LENGTH)]
"""A length in metres."""

BitTime = Annotated[int, reader(units.bit_ps), _text(Dimension.RATE)]
"""A bit rate, as the time of one bit in ps."""

OctetTime = Annotated[
    int,
    reader(units.octet_ps),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*\+?{_NUMBER}"
            r"((bit|kbit|Mbit|Gbit|b|kb|Mb|Gb)\/s|(ps|ns|us|µs|μs|ms|s)\/B)\s*$",
            "description": 'a bit rate such as "10 Mb/s", or an octet\'s time such as "800 ns/B"',
        }
    ),
]
"""A bit rate, as the time of one octet in ps."""

BitRate = Annotated[Fraction, reader(units.rate_bps), _text(Dimension.RATE)]
"""A bit rate above zero in bit/s."""

Frequency = Annotated[Fraction, reader(units.interval_ps), _text(Dimension.FREQUENCY)]
"""A frequency, as the mean time between events in ps."""

Weight = Annotated[Fraction, *number("a weight, relative to the others", least=0, most=1e12)]
"""A weight, relative to the others of its list."""

Load = Annotated[Fraction, *number("offered load, a share of the line rate", most=100)]
"""Offered load as a share of the line rate."""

Velocity = Annotated[
    Fraction,
    *number("propagation velocity, a share of the speed of light", least=0.01, most=1),
]
"""Propagation velocity as a share of the speed of light."""
