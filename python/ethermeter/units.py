"""Units: quantities written as text, such as "12 us", turned into exact numbers.

Decimal prefixes only, and exact arithmetic only: a time is a whole number of picoseconds or it is
refused.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, Inexact, localcontext
from enum import StrEnum
from fractions import Fraction

PS_PER_S = 10**12
"""Picoseconds in a second."""

LIGHT_M_PER_S = 299_792_458
"""Speed of light in a vacuum, metres per second (SI, exact)."""

LONGEST_TRIAL_PS = 10_000 * PS_PER_S
"""The longest a trial may last: 10 000 s."""

LONGEST_PS = 1000 * PS_PER_S
"""The longest time of a host, source or packet: 1000 s."""

LONGEST_DELAY_PS = PS_PER_S // 10
"""The longest propagation delay an experiment may name: 0.1 s."""

LARGEST_BITS = 10**9
"""The largest frame or gap an experiment may name, in bits."""

LARGEST_CLOCK_ERROR_PPB = 10**7
"""The largest error of a host's clock, in ppb: 1%."""

LONGEST_M = 10**5
"""The longest cable an experiment may name, in metres."""

MOST_ROUNDING = Fraction(2, 10_000)
"""Largest relative error of the time of a bit or an octet, which is a whole number of picoseconds.

At 3 Mb/s it is 1e-7, at 155.52 Mb/s 7e-6.
"""
_LONGEST_TEXT = 48
_MOST_EXPONENT = 40


class Dimension(StrEnum):
    """What a quantity measures."""

    TIME = "a time"
    LENGTH = "a length"
    SIZE = "a size"
    RATE = "a bit rate"
    FREQUENCY = "a frequency"
    CLOCK_ERROR = "an error of a clock"

    @property
    def example(self) -> str:
        """How a quantity of this dimension is written."""
        return _EXAMPLES[self]


_EXAMPLES = {
    Dimension.TIME: "12 us",
    Dimension.LENGTH: "910 m",
    Dimension.SIZE: "64 B",
    Dimension.RATE: "10 Mb/s",
    Dimension.FREQUENCY: "100 /s",
    Dimension.CLOCK_ERROR: "50 ppm",
}

_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}

_UNITS: Mapping[Dimension, Mapping[str, int | Fraction]] = {
    Dimension.TIME: {
        "ps": 1,
        "ns": 10**3,
        "us": 10**6,
        "µs": 10**6,
        "μs": 10**6,
        "ms": 10**9,
        "s": PS_PER_S,
    },
    Dimension.LENGTH: {
        "mm": Fraction(1, 1000),
        "cm": Fraction(1, 100),
        "m": 1,
        "km": 1000,
        "ft": Fraction(3048, 10_000),
    },
    Dimension.SIZE: {
        prefix + unit: bits * factor
        for unit, bits in (("bit", 1), ("B", 8))
        for prefix, factor in _PREFIXES.items()
    },
    Dimension.RATE: {
        f"{prefix}{unit}/s": factor for unit in ("bit", "b") for prefix, factor in _PREFIXES.items()
    },
    Dimension.FREQUENCY: {"/s": 1, "/min": Fraction(1, 60)},
    Dimension.CLOCK_ERROR: {"ppb": 1, "ppm": 1000},
}

UNITS: dict[str, tuple[Dimension, Fraction]] = {
    name: (dimension, Fraction(size))
    for dimension, sizes in _UNITS.items()
    for name, size in sizes.items()
}
"""Every unit, with its dimension and its size in ps, m, bit, bit/s, 1/s or ppb."""

_QUANTITY = re.compile(
    r"\s*([+-]?)([0-9]+(?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]+))?\s*(\S*)\s*", re.ASCII
)


class UnitError(ValueError):
    """A text that is not the expected quantity; the message has what is allowed."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, as written."""

    number: Fraction
    unit: str

    @property
    def dimension(self) -> Dimension:
        """What it measures."""
        return UNITS[self.unit][0]

    @property
    def base(self) -> Fraction:
        """The quantity in ps, m, bit, bit/s or 1/s."""
        return self.number * UNITS[self.unit][1]


def units_of(dimension: Dimension) -> list[str]:
    """Return the names of the units of a dimension."""
    return list(_UNITS[dimension])


def quantity(
    text: str, *, expected: str = "a number with a unit", known: Sequence[str] = tuple(UNITS)
) -> Quantity:
    """Read a number with a unit; `known` units are named if it has another one.

    Raises
    ------
    UnitError
        If there is no number, no unit, or an unknown unit.

    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise UnitError(f"expected {expected}")
    sign, digits, exponent, unit = match.groups()
    if unit == "":
        raise UnitError(f"expected {expected}; the unit is missing")
    if unit not in UNITS:
        names = ", ".join(name for name in known if name.isascii())
        raise UnitError(f"expected {expected}; unknown unit {unit}; known are {names}")
    if exponent is not None and (len(exponent) > 3 or abs(int(exponent)) > _MOST_EXPONENT):
        raise UnitError(
            f"expected {expected}; exponents from -{_MOST_EXPONENT} to {_MOST_EXPONENT}"
        )
    return Quantity(Fraction(f"{sign}{digits}e{exponent or 0}"), unit)


def parse(value: object, dimension: Dimension, *, signed: bool = False) -> Fraction:
    """Read a quantity of one dimension, in ps, m, bit, bit/s, 1/s or ppb; ≥ 0 unless signed.

    Raises
    ------
    UnitError
        If it is anything else.

    """
    if not isinstance(value, str):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        hint = "; the unit is missing" if is_number else ""
        raise UnitError(f'expected {dimension} such as "{dimension.example}"{hint}')
    return _parsed(value, dimension, signed)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str, dimension: Dimension, signed: bool) -> Fraction:  # noqa: FBT001
    """Return the quantity of a text; points of an experiment repeat the same few texts."""
    expected = f'{dimension} such as "{dimension.example}"'
    read = quantity(text, expected=expected, known=units_of(dimension))
    if read.dimension is not dimension:
        raise UnitError(f"expected {expected}, not {read.dimension}")
    if read.number < 0 and not signed:
        raise UnitError(f"expected {expected}; it must not be negative")
    return read.base


_WHOLE = {
    Dimension.TIME: ("picoseconds", "s", PS_PER_S),
    Dimension.SIZE: ("bits", "bit", 1),
    Dimension.CLOCK_ERROR: ("ppb", "ppm", 1000),
    Dimension.RATE: ("bit/s", "Gb/s", 10**9),
}
"""The unit of whole numbers of a dimension, and the unit of their bounds with its size."""


def whole(
    value: object,
    dimension: Dimension,
    *,
    most: int,
    positive: bool = False,
    signed: bool = False,
) -> int:
    """Read a whole number of ps, bits, ppb or bit/s up to `most`, and from -`most` if signed.

    Raises
    ------
    UnitError
        If it is no such number, or zero where `positive` is required.

    """
    unit, bound_unit, bound_size = _WHOLE[dimension]
    found = parse(value, dimension, signed=signed)
    if found.denominator != 1:
        raise UnitError(f"expected a whole number of {unit}")
    if abs(found) > most:
        bound = f"{most / bound_size:.12g} {bound_unit}"
        raise UnitError(f"expected {f'from -{bound} to' if signed else 'at most'} {bound}")
    if positive and found == 0:
        raise UnitError(f"expected {dimension} above zero")
    return int(found)


def time_ps(value: object, *, positive: bool = False, most_ps: int = LONGEST_PS) -> int:
    """Read a time in whole picoseconds."""
    return whole(value, Dimension.TIME, most=most_ps, positive=positive)


def size_bits(value: object, *, positive: bool = False) -> int:
    """Read a size in whole bits, at most 10^9."""
    return whole(value, Dimension.SIZE, most=LARGEST_BITS, positive=positive)


def share(text: str, *, most: float) -> float:
    """Read a share such as "0.5%": above 0, and up to `most`.

    Raises
    ------
    UnitError
        If it is none, or another.

    Examples
    --------
    >>> share("0.5%", most=1.0)
    0.005

    """
    number = text.strip()
    allowed = f'expected a share above 0% and up to {100 * most:g}%, such as "0.5%"'
    try:
        value = float(number.removesuffix("%")) / 100
    except ValueError:
        raise UnitError(allowed) from None
    if not number.endswith("%") or not 0 < value <= most:
        raise UnitError(allowed)
    return value


def clock_error_ppb(value: object) -> int:
    """Read the largest error of a clock in integer ppb, at most 1%."""
    return whole(value, Dimension.CLOCK_ERROR, most=LARGEST_CLOCK_ERROR_PPB)


def length_m(value: object) -> Fraction:
    """Read a length in metres, at most 100 km."""
    metres = parse(value, Dimension.LENGTH)
    if metres > LONGEST_M:
        raise UnitError(f"expected at most {LONGEST_M // 1000} km")
    return metres


def rate_bps(value: object) -> Fraction:
    """Read a bit rate in bit/s, exactly; above zero."""
    rate = parse(value, Dimension.RATE)
    if rate == 0:
        raise UnitError("expected a bit rate above zero")
    return rate


def bit_ps(value: object) -> int:
    """Read a bit rate as the time of one bit, to the nearest picosecond, from 1 ps to 1 ms."""
    return _time_of(rate_bps(value), bits=1, what="a bit")


def octet_ps(value: object) -> int:
    """Read a bit rate as the time of one octet to the nearest picosecond, or that time: "800 ns/B".

    A rate that was measured is seldom one at which an octet lasts whole picoseconds, which its time
    always can.
    """
    if isinstance(value, str) and value.rstrip().endswith("/B") and "b" not in value:
        return time_ps(value.rstrip().removesuffix("/B"), positive=True, most_ps=PS_PER_S // 1000)
    return _time_of(rate_bps(value), bits=8, what="an octet")


def _time_of(rate_bps: Fraction, *, bits: int, what: str) -> int:
    """Return the time of some bits to the nearest picosecond, at most 1 ms."""
    exact_ps = bits * PS_PER_S / rate_bps
    ps = max(1, round(exact_ps))
    if abs(ps - exact_ps) > MOST_ROUNDING * exact_ps:
        near = sorted({max(1, math.floor(exact_ps)), math.ceil(exact_ps)})
        rates = " or ".join(f"{float(Fraction(bits * 1000, each)):.9g} Gb/s" for each in near)
        raise UnitError(
            f"expected a bit rate at which {what} lasts a whole number of picoseconds to within"
            f" 0.02%; the nearest is {rates}"
        )
    if exact_ps > PS_PER_S // 1000:
        raise UnitError(f"expected at least {bits} kb/s")
    return ps


def interval_ps(value: object) -> Fraction:
    """Read a frequency as the mean time between two events in picoseconds, from 1 ns to 1000 s."""
    per_s = parse(value, Dimension.FREQUENCY)
    if per_s == 0:
        raise UnitError("expected a frequency above zero")
    ps = PS_PER_S / per_s
    if not 1000 <= ps <= LONGEST_PS:
        raise UnitError("expected from 0.001 /s to 1e9 /s")
    return ps


def exact(value: float) -> Fraction:
    """Return a number of an experiment file as the decimal that was written.

    The shortest text that reads back as the same double is the one a person wrote, up to 15 digits.
    """
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def decimal_text(number: Fraction) -> str:
    """Return a terminating decimal fraction in full, without exponent.

    Raises
    ------
    ValueError
        If the fraction has no finite decimal form.

    """
    with localcontext(prec=1000) as context:
        context.traps[Inexact] = True
        try:
            return format(Decimal(number.numerator) / number.denominator, "f")
        except Inexact:
            raise ValueError(f"{number} has no finite decimal form") from None
