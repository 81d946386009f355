"""Units: quantities written as text, such as "12 us", turned into exact numbers.

Decimal prefixes only, and exact arithmetic only: a time is a whole number of picoseconds or it is
refused.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
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

FARTHEST_CLOCK_PS = 10 * PS_PER_S
"""Farthest that a clock may be ahead or behind: 10 s."""

LARGEST_DRIFT_PPB = 10**6
"""The largest drift of a clock, in ppb: 1000 ppm."""

LONGEST_M = 10**5
"""The longest cable an experiment may name, in metres."""

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

UNITS: dict[str, tuple[Dimension, Fraction]] = {
    **{
        name: (Dimension.TIME, Fraction(ps))
        for name, ps in (("ps", 1), ("ns", 10**3), ("us", 10**6), ("µs", 10**6), ("μs", 10**6))
    },
    "ms": (Dimension.TIME, Fraction(10**9)),
    "s": (Dimension.TIME, Fraction(PS_PER_S)),
    "mm": (Dimension.LENGTH, Fraction(1, 1000)),
    "cm": (Dimension.LENGTH, Fraction(1, 100)),
    "m": (Dimension.LENGTH, Fraction(1)),
    "km": (Dimension.LENGTH, Fraction(1000)),
    "ft": (Dimension.LENGTH, Fraction(3048, 10_000)),
    **{f"{prefix}bit": (Dimension.SIZE, Fraction(factor)) for prefix, factor in _PREFIXES.items()},
    **{
        f"{prefix}B": (Dimension.SIZE, Fraction(8 * factor)) for prefix, factor in _PREFIXES.items()
    },
    **{
        f"{prefix}bit/s": (Dimension.RATE, Fraction(factor)) for prefix, factor in _PREFIXES.items()
    },
    **{f"{prefix}b/s": (Dimension.RATE, Fraction(factor)) for prefix, factor in _PREFIXES.items()},
    "/s": (Dimension.FREQUENCY, Fraction(1)),
    "/min": (Dimension.FREQUENCY, Fraction(1, 60)),
    "ppb": (Dimension.CLOCK_ERROR, Fraction(1)),
    "ppm": (Dimension.CLOCK_ERROR, Fraction(1000)),
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
    return [name for name, (of, _) in UNITS.items() if of is dimension]


def quantity(
    text: str, *, expected: str = "a number with a unit", known: Sequence[str] = tuple(UNITS)
) -> Quantity:
    """Read a number with a unit; `known` units are named when it has none of them.

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
        raise UnitError(
            f"expected {expected}; unknown unit {unit}; known are "
            f"{', '.join(name for name in known if name.isascii())}"
        )
    if exponent is not None and (len(exponent) > 3 or abs(int(exponent)) > _MOST_EXPONENT):
        raise UnitError(
            f"expected {expected}; exponents from -{_MOST_EXPONENT} to {_MOST_EXPONENT}"
        )
    number = Fraction(f"{sign}{digits}e{exponent or 0}")
    return Quantity(number, unit)


def parse(value: object, dimension: Dimension, *, signed: bool = False) -> Fraction:
    """Read a quantity of one dimension.

    Returns
    -------
    :
        In ps, m, bit, bit/s or 1/s; not negative unless `signed`.

    Raises
    ------
    UnitError
        If it is anything else; the message has what is expected.

    """
    if isinstance(value, bool) or not isinstance(value, str):
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


def time_ps(value: object, *, positive: bool = False, most_ps: int = LONGEST_PS) -> int:
    """Read a time as a whole number of picoseconds, at most `most_ps`.

    Raises
    ------
    UnitError
        If it is no such time, or zero where `positive` is asked for.

    """
    ps = parse(value, Dimension.TIME)
    if ps.denominator != 1:
        raise UnitError("expected a whole number of picoseconds")
    if ps > most_ps:
        raise UnitError(f"expected at most {most_ps / PS_PER_S:g} s")
    if positive and ps == 0:
        raise UnitError("expected a time above zero")
    return int(ps)


def size_bits(value: object, *, positive: bool = False) -> int:
    """Read a size as a whole number of bits, at most 10^9.

    Raises
    ------
    UnitError
        If it is no such size, or zero where `positive` is asked for.

    """
    bits = parse(value, Dimension.SIZE)
    if bits.denominator != 1:
        raise UnitError("expected a whole number of bits")
    if bits > LARGEST_BITS:
        raise UnitError(f"expected at most {LARGEST_BITS} bit")
    if positive and bits == 0:
        raise UnitError("expected a size above zero")
    return int(bits)


def length_m(value: object) -> Fraction:
    """Read a length in metres, at most 100 km."""
    metres = parse(value, Dimension.LENGTH)
    if metres > LONGEST_M:
        raise UnitError(f"expected at most {LONGEST_M // 1000} km")
    return metres


def bit_ps(value: object) -> int:
    """Read a bit rate as the time of one bit, a whole number of picoseconds from 1 ps to 1 ms."""
    rate_bps = parse(value, Dimension.RATE)
    if rate_bps == 0:
        raise UnitError("expected a bit rate above zero")
    ps = PS_PER_S / rate_bps
    if ps.denominator != 1:
        raise UnitError("expected a bit rate at which a bit lasts a whole number of picoseconds")
    if ps > PS_PER_S // 1000:
        raise UnitError("expected at least 1 kb/s")
    return int(ps)


def octet_ps(value: object) -> int:
    """Read a bit rate as the time of one octet in whole picoseconds, or that time: "800 ns/B".

    A rate that was measured is seldom one at which an octet lasts whole picoseconds, which its time
    always can.
    """
    if isinstance(value, str) and value.rstrip().endswith("/B") and "b" not in value:
        return time_ps(value.rstrip().removesuffix("/B"), positive=True, most_ps=PS_PER_S // 1000)
    rate = rate_bps(value)
    ps = 8 * PS_PER_S / rate
    if ps.denominator != 1:
        raise UnitError("expected a bit rate at which an octet lasts a whole number of picoseconds")
    if ps > PS_PER_S // 1000:
        raise UnitError("expected at least 8 kb/s")
    return int(ps)


def rate_bps(value: object) -> Fraction:
    """Read a bit rate in bit/s, exactly; above zero."""
    rate = parse(value, Dimension.RATE)
    if rate == 0:
        raise UnitError("expected a bit rate above zero")
    return rate


def interval_ps(value: object) -> Fraction:
    """Read a frequency as the mean time between two events in picoseconds, from 1 ns to 1000 s."""
    per_s = parse(value, Dimension.FREQUENCY)
    if per_s == 0:
        raise UnitError("expected a frequency above zero")
    ps = PS_PER_S / per_s
    if not 1000 <= ps <= LONGEST_PS:
        raise UnitError("expected from 0.001 /s to 1e9 /s")
    return ps


def clock_error_ppb(value: object) -> int:
    """Read the largest error of a clock in integer ppb, at most 1%.

    Raises
    ------
    UnitError
        If it is no such error.

    """
    ppb = parse(value, Dimension.CLOCK_ERROR)
    if ppb.denominator != 1:
        raise UnitError("expected a whole number of ppb")
    if ppb > LARGEST_CLOCK_ERROR_PPB:
        raise UnitError(f"expected at most {LARGEST_CLOCK_ERROR_PPB // 1000} ppm")
    return int(ppb)


def clock_offset_ps(value: object, *, signed: bool = True) -> int:
    """Read the offset of a clock in whole picoseconds, positive if it is ahead, at most 10 s.

    Raises
    ------
    UnitError
        If it is no such time, or below zero where it is not `signed`.

    """
    ps = parse(value, Dimension.TIME, signed=signed)
    if ps.denominator != 1:
        raise UnitError("expected a whole number of picoseconds")
    if abs(ps) > FARTHEST_CLOCK_PS:
        raise UnitError(f"expected {'from -10 s to' if signed else 'at most'} 10 s")
    return int(ps)


def clock_drift_ppb(value: object, *, signed: bool = True) -> int:
    """Read the drift of a clock in integer ppb, positive if too fast, at most 1000 ppm.

    Raises
    ------
    UnitError
        If it is no such drift, or below zero where it is not `signed`.

    """
    ppb = parse(value, Dimension.CLOCK_ERROR, signed=signed)
    if ppb.denominator != 1:
        raise UnitError("expected a whole number of ppb")
    if abs(ppb) > LARGEST_DRIFT_PPB:
        raise UnitError(f"expected {'from -1000 ppm to' if signed else 'at most'} 1000 ppm")
    return int(ppb)


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
    denominator, decimals = number.denominator, 0
    while denominator % 10 == 0:
        denominator, decimals = denominator // 10, decimals + 1
    while denominator % 2 == 0 or denominator % 5 == 0:
        denominator, decimals = (
            (denominator // 2 if denominator % 2 == 0 else denominator // 5),
            decimals + 1,
        )
    if denominator != 1:
        raise ValueError(f"{number} has no finite decimal form")
    scaled = abs(number) * 10**decimals
    digits = str(int(scaled)).rjust(decimals + 1, "0")
    text = digits[: len(digits) - decimals] + (
        "." + digits[len(digits) - decimals :] if decimals else ""
    )
    text = text.rstrip("0").rstrip(".") if decimals else text
    return ("-" if number < 0 else "") + text
