"""Fields of an experiment file: tables, choices between kinds of them, and quantities."""

import functools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ethermeter import units
from ethermeter.units import Dimension, UnitError

T = TypeVar("T")
ALLOWED = "allowed"
"""Type of our own complaints; their context says what was allowed."""


class Table(BaseModel):
    """A table of an experiment file: strict types, no unknown keys, not changed after reading."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


def complaint(allowed: str) -> PydanticCustomError:
    """Return the error of a value that is not what was allowed."""
    # The text is passed as context, not as the template: what people write may hold braces.
    return PydanticCustomError(ALLOWED, "{allowed}", {"allowed": allowed})


def distinct(values: list[T]) -> list[T]:
    """Return a list in which nothing stands twice.

    Raises
    ------
    PydanticCustomError
        If something does.

    """
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
    """Return a choice between a plain text and tables known by their one key.

    Parameters
    ----------
    keys
        The key that marks each kind of table.
    allowed
        What to tell a person whose value is none of them.

    """

    def kind(value: Any) -> str | None:
        if isinstance(value, str):
            return tag("text")
        if isinstance(value, Mapping):
            return next((tag(key) for key in keys if key in value), None)
        if isinstance(value, BaseModel):
            return next((tag(key) for key in keys if hasattr(value, key)), None)
        return None

    return _Choice(
        kind,
        custom_error_type=ALLOWED,
        custom_error_message="{allowed}",
        custom_error_context={"allowed": allowed},
    )


def _reader(read: Callable[[object], Any]) -> PlainValidator:
    def validate(value: object) -> Any:
        try:
            return read(value)
        except UnitError as error:
            raise complaint(str(error)) from None

    return PlainValidator(validate)


def _text(dimension: Dimension, *, signed: bool = False) -> WithJsonSchema:
    names = "|".join(name.replace("/", r"\/") for name in units.units_of(dimension))
    sign = "[+-]?" if signed else r"\+?"
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*{sign}[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*({names})\s*$",
            "description": f'{dimension}, such as "{dimension.example}"',
        }
    )


def _positive_time_ps(value: object) -> int:
    return units.time_ps(value, positive=True)


def _delay_ps(value: object) -> int:
    return units.time_ps(value, most_ps=units.LONGEST_DELAY_PS)


def _phase_ps(value: object) -> int:
    return units.time_ps(value, most_ps=units.LONGEST_TRIAL_PS)


def _positive_size_bits(value: object) -> int:
    return units.size_bits(value, positive=True)


def limited_size(most_bits: int) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the reader of a size above zero in bits, at most so large, and its schema."""

    def read(value: object) -> int:
        bits = units.size_bits(value, positive=True)
        if bits > most_bits:
            raise UnitError(f"expected at most {most_bits} bit")
        return bits

    return _reader(read), _text(Dimension.SIZE)


def limited_time(most_ps: int) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the reader of a time above zero in ps, at most so long, and its schema."""
    return _reader(lambda value: units.time_ps(value, positive=True, most_ps=most_ps)), _text(
        Dimension.TIME
    )


def octets(*, least: int, most: int) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the reader of a size in whole octets and its schema; bounds may be below zero."""
    schema = _text(Dimension.SIZE, signed=least < 0)

    def read(value: object) -> int:
        bits = units.parse(value, Dimension.SIZE, signed=least < 0)
        if bits.denominator != 1 or bits % 8:
            raise UnitError("expected a whole number of octets")
        if not least <= bits / 8 <= most:
            raise UnitError(f"expected from {least} B to {most} B")
        return int(bits / 8)

    return _reader(read), schema


def _octet_ps(value: object) -> int:
    return units.octet_ps(value)


def short_time(most_ps: int) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the reader of a time in ps, at most so long, and its schema."""
    return _reader(lambda value: units.time_ps(value, most_ps=most_ps)), _text(Dimension.TIME)


def _bits_or_time(value: object) -> tuple[str, int]:
    """Read a size in bits, or a time that becomes one when the bit rate is known."""
    if isinstance(value, str):
        read = units.quantity(value, expected='a size such as "96 bit" or a time such as "9.6 us"')
        if read.dimension is Dimension.TIME:
            return "ps", units.time_ps(value)
        if read.dimension is not Dimension.SIZE:
            raise UnitError(
                f'expected a size such as "96 bit" or a time such as "9.6 us", not {read.dimension}'
            )
        return "bits", units.size_bits(value)
    raise UnitError('expected a size such as "96 bit" or a time such as "9.6 us"')


def number(*, least: float | None, above: float | None = None, most: float) -> PlainValidator:
    """Return the reader of a number without a unit, between bounds, as an exact fraction."""
    lower = f"above {above:g}" if above is not None else f"from {least:g}"

    def read(value: object) -> Fraction:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            raise complaint(f"expected a number {lower} to {most:g}, without a unit")
        # Compared before it is made exact, so that no huge integer is worked with.
        if (
            (least is not None and value < least)
            or (above is not None and value <= above)
            or value > most
        ):
            raise complaint(f"expected a number {lower} to {most:g}")
        return units.exact(value)

    return PlainValidator(read)


Time = Annotated[int, _reader(units.time_ps), _text(Dimension.TIME)]
"""A time in ps."""

Delay = Annotated[int, _reader(_delay_ps), _text(Dimension.TIME)]
"""A propagation delay in ps."""

PositiveDelay = Annotated[int, *limited_time(units.LONGEST_DELAY_PS)]
"""A time above zero in ps, no longer than a propagation delay."""

PhaseTime = Annotated[int, _reader(_phase_ps), _text(Dimension.TIME)]
"""The length of a phase in ps."""

PositiveTime = Annotated[int, _reader(_positive_time_ps), _text(Dimension.TIME)]
"""A time above zero in ps."""

_RANDOM = "random"


def _time_or_random(value: object) -> int | str:
    if value == _RANDOM:
        return _RANDOM
    try:
        return units.time_ps(value)
    except UnitError as error:
        raise UnitError(f'{error}; or "{_RANDOM}"') from None


TIME_OR_RANDOM = (
    _reader(_time_or_random),
    WithJsonSchema({"anyOf": [{"const": _RANDOM}, _text(Dimension.TIME).json_schema]}),
)
"""Reader and schema of a time in ps, or the word "random"."""

Size = Annotated[int, _reader(_positive_size_bits), _text(Dimension.SIZE)]
"""A size above zero in bits."""

AnySize = Annotated[int, _reader(units.size_bits), _text(Dimension.SIZE)]
"""A size in bits, zero too."""

BitsOrTime = Annotated[
    tuple[str, int],
    _reader(_bits_or_time),
    WithJsonSchema(
        {
            "type": "string",
            "description": 'a size such as "96 bit", or a time that is a whole number of bits',
        }
    ),
]
"""A size in bits, or a time: ("bits", n) or ("ps", n)."""

Length = Annotated[Fraction, _reader(units.length_m), _text(Dimension.LENGTH)]
"""A length in metres."""

BitTime = Annotated[int, _reader(units.bit_ps), _text(Dimension.RATE)]
"""A bit rate, as the time of one bit in ps."""

_OCTET_TIME = (
    r"^\s*\+?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*"
    r"((bit|kbit|Mbit|Gbit|b|kb|Mb|Gb)\/s|(ps|ns|us|µs|μs|ms|s)\/B)\s*$"
)

OctetTime = Annotated[
    int,
    _reader(_octet_ps),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _OCTET_TIME,
            "description": 'a bit rate such as "10 Mb/s", or an octet\'s time such as "800 ns/B"',
        }
    ),
]
"""A bit rate, as the time of one octet in ps."""

BitRate = Annotated[Fraction, _reader(units.rate_bps), _text(Dimension.RATE)]
"""A bit rate above zero in bit/s."""

Frequency = Annotated[Fraction, _reader(units.interval_ps), _text(Dimension.FREQUENCY)]
"""A frequency, as the mean time between events in ps."""

ClockError = Annotated[int, _reader(units.clock_error_ppb), _text(Dimension.CLOCK_ERROR)]
"""How much too fast or too slow a clock may be, in parts of 10^9."""

ClockOffset = Annotated[int, _reader(units.clock_offset_ps), _text(Dimension.TIME, signed=True)]
"""How far a clock is ahead, in ps; behind with a minus."""

ClockDrift = Annotated[
    int, _reader(units.clock_drift_ppb), _text(Dimension.CLOCK_ERROR, signed=True)
]
"""By how much a clock goes too fast, in parts of 10^9; too slow with a minus."""

OffsetSpread = Annotated[
    int, _reader(functools.partial(units.clock_offset_ps, signed=False)), _text(Dimension.TIME)
]
"""Largest random deviation of a clock's offset, in ps."""

DriftSpread = Annotated[
    int,
    _reader(functools.partial(units.clock_drift_ppb, signed=False)),
    _text(Dimension.CLOCK_ERROR),
]
"""The same of a drift, in parts of 10^9."""

Weight = Annotated[
    Fraction,
    number(least=0, most=1e12),
    WithJsonSchema(
        {
            "type": "number",
            "minimum": 0,
            "maximum": 1e12,
            "description": "a weight, relative to the others",
        }
    ),
]
"""A weight, relative to the others of its list."""

Load = Annotated[
    Fraction,
    number(least=None, above=0, most=100),
    WithJsonSchema(
        {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 100,
            "description": "offered load, a share of the line rate",
        }
    ),
]
"""Offered load as a share of the line rate."""

Velocity = Annotated[
    Fraction,
    number(least=0.01, most=1),
    WithJsonSchema(
        {
            "type": "number",
            "minimum": 0.01,
            "maximum": 1,
            "description": "propagation velocity, a share of the speed of light",
        }
    ),
]
"""Propagation velocity as a share of the speed of light."""
