"""Forms of values in an experiment file: quantities with units, numbers and words."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from ethermeter import units
from ethermeter.experiment.toml import Tables
from ethermeter.scenario import ConstantTimes, FileKey
from ethermeter.units import Dimension, UnitError

Schema = Mapping[str, object]
"""A JSON Schema."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How a file writes a value."""

    read: Callable[[Any], Any]
    """Reads what the file has; raises `UnitError`, which says what is allowed."""
    schema: Schema
    """JSON Schema of what the file has."""
    unit: str | None = None
    """Unit in which a default is shown, such as "time"."""

    def schema_in(self, _: Tables) -> Tables:
        """Return the JSON Schema."""
        return dict(self.schema)


def complaint(allowed: str) -> UnitError:
    """Return the error of a value that is not what was allowed."""
    return UnitError(allowed)


def plural(words: Sequence[str]) -> str:
    """Return words in quotes, the last one behind "or"."""
    quoted = [f'"{word}"' for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# Plain values.


def is_integer(value: object) -> bool:
    """Whether a value is an integer, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def integer(least: int | None = None, most: int | None = None) -> Form:
    """Return the form of an integer in a range."""

    def read(value: Any) -> int:
        if not is_integer(value):
            raise UnitError("expected an integer")
        if least is not None and value < least:
            raise UnitError(f"expected at least {least}")
        if most is not None and value > most:
            raise UnitError(f"expected at most {most}")
        return int(value)

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Form(read, {key: each for key, each in schema.items() if each is not None})


def integer_of(allowed: str, *, least: int, most: int) -> Form:
    """Return the form of an integer in a range, of which all is said where it is wrong."""

    def read(value: Any) -> int:
        if is_integer(value) and least <= value <= most:
            return int(value)
        raise UnitError(allowed)

    return Form(read, {"type": "integer", "minimum": least, "maximum": most})


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnitError("expected true or false")
    return value


TRUTH = Form(_truth, {"type": "boolean"})
"""true or false."""


def text(
    least: int = 0,
    most: int | None = None,
    *,
    known: Callable[[str], str | None] | None = None,
    **schema: object,
) -> Form:
    """Return the form of a text; `known` says what is allowed where a text is not."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise UnitError("expected a text in quotes")
        if len(value) < least:
            raise UnitError(f"expected at least {least} characters")
        if most is not None and len(value) > most:
            raise UnitError(f"expected at most {most} characters")
        if known is not None and (allowed := known(value)):
            raise UnitError(allowed)
        return value

    limits = {"minLength": least or None, "maxLength": most}
    given = {key: each for key, each in limits.items() if each is not None}
    return Form(read, {"type": "string", **given, **schema})


def words(*known: str, allowed: str = "") -> Form:
    """Return the form of one of some words; `allowed` is said where it is none of them."""
    allowed = allowed or f"expected {plural(known)}"
    # The word itself, not its equal: defaults of a plan are told by identity.
    same = {word: word for word in known}

    def read(value: object) -> str:
        if isinstance(value, str) and value in same:
            return same[value]
        raise UnitError(allowed)

    schema = {"const": known[0]} if len(known) == 1 else {"enum": list(known)}
    return Form(read, {**schema, "type": "string"})


def _name_fault(value: str) -> str | None:
    head, rest = value[:1], value[1:]
    is_name = head.isalpha() and all(each.isalnum() or each in "_-" for each in rest)
    if is_name and value.isascii() and len(value) <= 32:
        return None
    return "expected a letter, then letters, digits, - or _, at most 32 in all"


NAME = text(known=_name_fault, pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")
"""Name of a node, a model, a flow or a group."""
TITLE = text(
    1,
    200,
    known=lambda value: None if value.isprintable() else "expected one line of printable text",
)


def distinct(values: Collection[object]) -> None:
    """Refuse values of which some are equal."""
    if len(set(values)) < len(values):
        raise UnitError("expected each of them once")


# Quantities.


_NUMBER = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*"


def _schema(dimension: Dimension, *, signed: bool = False) -> Schema:
    names = "|".join(name.replace("/", r"\/") for name in units.units_of(dimension))
    sign = "[+-]?" if signed else r"\+?"
    return {
        "type": "string",
        "pattern": rf"^\s*{sign}{_NUMBER}({names})\s*$",
        "description": f'{dimension}, such as "{dimension.example}"',
    }


_UNITS = {
    Dimension.TIME: "time",
    Dimension.SIZE: "bits",
    Dimension.RATE: "rate",
    Dimension.CLOCK_ERROR: "clock error",
}


def whole(dimension: Dimension, *, most: int, positive: bool = False, signed: bool = False) -> Form:
    """Return the form of a whole number of ps, bits, bit/s or ppb, at most `most`."""

    def read(value: object) -> int:
        return units.whole(value, dimension, most=most, positive=positive, signed=signed)

    return Form(read, _schema(dimension, signed=signed), _UNITS[dimension])


def time_up_to(most_ps: int, *, positive: bool = False) -> Form:
    """Return the form of a time in ps, at most so long."""
    return whole(Dimension.TIME, most=most_ps, positive=positive)


def size_up_to(most_bits: int) -> Form:
    """Return the form of a size above zero in bits, at most so large."""
    return whole(Dimension.SIZE, most=most_bits, positive=True)


def room(most: int) -> Form:
    """Return the form of "unlimited" (None) or a number of frames up to `most`."""

    def read(value: Any) -> int | None:
        if value == "unlimited":
            return None
        if is_integer(value) and 1 <= value <= most:
            return int(value)
        raise UnitError(f'expected "unlimited" or a number of frames from 1 to {most}')

    schema = {"oneOf": [{"const": "unlimited"}, {"type": "integer", "minimum": 1, "maximum": most}]}
    return Form(read, schema, "room")


def octets(*, least: int, most: int) -> Form:
    """Return the form of a size in whole octets; bounds may be below zero."""

    def read(value: object) -> int:
        bits = units.parse(value, Dimension.SIZE, signed=least < 0)
        if bits.denominator != 1 or bits % 8:
            raise UnitError("expected a whole number of octets")
        if not least <= bits / 8 <= most:
            raise UnitError(f"expected from {least} B to {most} B")
        return int(bits / 8)

    return Form(read, _schema(Dimension.SIZE, signed=least < 0), "size")


def number(what: str, *, least: float | None = None, above: float = 0, most: float) -> Form:
    """Return the form of a number without a unit, an exact fraction.

    It is at least `least` or, if there is no `least`, greater than `above`.
    """
    lower = f"above {above:g}" if least is None else f"from {least:g}"
    bound = {"exclusiveMinimum": above} if least is None else {"minimum": least}

    def read(value: Any) -> Fraction:
        if not (is_integer(value) or (isinstance(value, float) and math.isfinite(value))):
            raise UnitError(f"expected a number {lower} to {most:g}, without a unit")
        # Compared before it is made exact, so that no huge integer is worked with.
        if value > most or (value <= above if least is None else value < least):
            raise UnitError(f"expected a number {lower} to {most:g}")
        return units.exact(value)

    return Form(read, {"type": "number", **bound, "maximum": most, "description": what})


def floating(form: Form) -> Form:
    """Return a form whose numbers become floats."""
    return Form(lambda value: float(form.read(value)), form.schema, form.unit)


def or_word(form: Form, word: str) -> Form:
    """Return a form in whose place a word may stand, which becomes None."""

    def read(value: object) -> Any:
        if value == word:
            return None
        try:
            return form.read(value)
        except UnitError as error:
            raise UnitError(f'{error}; or "{word}"') from None

    return Form(read, {"anyOf": [{"const": word}, form.schema]}, word)


def or_none(form: Form) -> Form:
    """Return a form whose zero becomes None."""
    return Form(lambda value: form.read(value) or None, form.schema, "time or 0")


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


TIME = time_up_to(units.LONGEST_PS)
POSITIVE_TIME = time_up_to(units.LONGEST_PS, positive=True)
LENGTH = Form(units.length_m, _schema(Dimension.LENGTH))
RATE = Form(units.rate_bps, _schema(Dimension.RATE))
FREQUENCY = Form(units.interval_ps, _schema(Dimension.FREQUENCY))
OCTET_TIME = Form(
    units.octet_ps,
    {
        "type": "string",
        "pattern": rf"^\s*\+?{_NUMBER}"
        r"((bit|kbit|Mbit|Gbit|b|kb|Mb|Gb)\/s|(ps|ns|us|µs|μs|ms|s)\/B)\s*$",
        "description": 'a bit rate such as "10 Mb/s", or an octet\'s time such as "800 ns/B"',
    },
)
BITS_OR_TIME = Form(
    _bits_or_time,
    {
        "type": "string",
        "description": 'a size such as "96 bit", or a time that is a whole number of bits',
    },
)
WEIGHT = number("a weight, relative to the others", least=0, most=1e12)

Time = Annotated[int, TIME]
"""A time in ps."""
PositiveTime = Annotated[int, POSITIVE_TIME]
"""A time above zero in ps."""
Delay = Annotated[int, time_up_to(units.LONGEST_DELAY_PS)]
"""A propagation delay in ps."""
PhaseTime = Annotated[int, time_up_to(units.LONGEST_TRIAL_PS)]
"""The length of a phase in ps."""
Size = Annotated[int, size_up_to(units.LARGEST_BITS)]
"""A size above zero in bits."""
AnySize = Annotated[int, whole(Dimension.SIZE, most=units.LARGEST_BITS)]
"""A size in bits, zero too."""
BitsOrTime = Annotated[tuple[str, int], BITS_OR_TIME]
"""A size in bits, or a time: ("bits", n) or ("ps", n)."""
Length = Annotated[Fraction, LENGTH]
"""A length in metres."""
BitTime = Annotated[int, Form(units.bit_ps, _schema(Dimension.RATE))]
"""A bit rate, as the time of one bit in ps."""
OctetTime = Annotated[int, OCTET_TIME]
"""A bit rate, as the time of one octet in ps."""
BitRate = Annotated[Fraction, RATE]
"""A bit rate above zero in bit/s."""
Weight = Annotated[Fraction, WEIGHT]
"""A weight, relative to the others of its list."""
Velocity = Annotated[
    Fraction, number("propagation velocity, a share of the speed of light", least=0.01, most=1)
]
"""Propagation velocity as a share of the speed of light."""
Name = Annotated[str, NAME]
"""Name of a node, a model, a flow or a group."""


def form_of(key: FileKey, *, is_float: bool = False) -> Form | None:
    """Return the form of a value by its unit and range in a scenario; None if it has neither."""
    form = _form_of(key)
    return floating(form) if form is not None and is_float else form


def _form_of(key: FileKey) -> Form | None:
    least, most = key.least or 0, key.most or units.LONGEST_PS
    match key.unit:
        case "time":
            return whole(Dimension.TIME, most=most, positive=least > 0, signed=least < 0)
        case "time or random":
            return or_word(TIME, "random")
        case "time or 0":
            return or_none(TIME)
        case "clock error":
            return whole(Dimension.CLOCK_ERROR, most=most, signed=least < 0)
        case "rate":
            return whole(Dimension.RATE, most=most, positive=True)
        case "octet time":
            return OCTET_TIME
        case "frequency":
            return FREQUENCY
        case "size":
            return octets(least=least, most=most)
        case "bits":
            return whole(Dimension.SIZE, most=most, positive=least > 0)
        case "room":
            return room(most)
        case "weight":
            return WEIGHT
        case "name":
            return NAME
        case None:
            return None if key.most is None else integer(key.least, key.most)
        case unit:
            raise AssertionError(f"no form of {unit}")


def as_written(value: object, unit: str | None) -> object:
    """Return a value of a scenario as a file writes it, such as "1 ms" for 10^9 ps of time."""
    if value is None:
        return {"room": "unlimited", "random": "random", "time or 0": "0 s"}.get(unit or "")
    if isinstance(value, ConstantTimes):
        return as_written(value.ps, "time")
    if not isinstance(value, int) or (scales := _SCALES.get(unit or "")) is None:
        if isinstance(value, Fraction):
            return value.numerator if value.denominator == 1 else float(value)
        return value
    if value == 0:
        return _ZEROS[unit or ""]
    scale, name = next(each for each in scales if value % each[0] == 0)
    return f"{value // scale} {name}"


_ZEROS = {
    "time": "0 s",
    "octet time": "0 s/B",
    "size": "0 B",
    "bits": "0 bit",
    "rate": "0 bit/s",
    "clock error": "0 ppm",
}
_SCALES: Mapping[str, Sequence[tuple[int, str]]] = {
    "time": ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps")),
    "octet time": ((10**12, "s/B"), (10**9, "ms/B"), (10**6, "us/B"), (10**3, "ns/B"), (1, "ps/B")),
    "size": ((10**6, "MB"), (10**3, "kB"), (1, "B")),
    "bits": ((1, "bit"),),
    "rate": ((10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "bit/s")),
    "clock error": ((10**3, "ppm"), (1, "ppb")),
}
"""Units of a file for integers of a scenario in ps, octets, bit, bit/s or ppb, largest first."""
