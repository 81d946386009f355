"""What the functions of this room take: ranges, declared once, and how arguments are checked and brought to one shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.faults import Fault, InputError, shown

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.ArrayLike


class VoiceError(InputError):
    """An argument that a function of this room has no value for.

    Parameters
    ----------
    function
        Name of the function or command, with hyphens.
    name
        Name of the argument.
    value
        What was given, or the first of its values that is wrong.
    allowed
        What was allowed instead.

    """

    def __init__(self, function: str, name: str, value: str, allowed: str) -> None:
        super().__init__([Fault(function, name, value, allowed)])


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers an argument may be.

    Parameters
    ----------
    low, high
        Smallest and largest number.
    whole
        Whether it counts something, and so is an integer.

    """

    low: float
    high: float
    whole: bool = False

    def __str__(self) -> str:
        """Return what is allowed, in words."""
        return f"{'a whole number' if self.whole else 'a number'} from {self.low:g} to {self.high:g}"

    def read(self, function: str, name: str, value: Numbers) -> Array:
        """Return the value as an array of floats.

        Raises
        ------
        VoiceError
            If any of it is not a number of this range; NaN and infinity never are.

        """
        try:
            array = np.asarray(value)
        except ValueError:  # rows of unequal length
            raise VoiceError(function, name, shown(value), str(self)) from None
        if array.dtype.kind not in "iuf":
            raise VoiceError(function, name, shown(value), str(self))
        array = array.astype(np.float64)
        good = self.holds(array)
        if not good.all():
            raise VoiceError(function, name, f"{array[~good].flat[0]:.12g}", str(self))
        return array

    def holds(self, array: Array) -> Flags:
        """Return where the numbers are of this range."""
        good = np.isfinite(array) & (array >= self.low) & (array <= self.high)
        return good & (array == np.rint(array)) if self.whole else good


DELAY_S = Range(0, 10)
"""Delays that are computed with; those beyond the recommendation's 0.5 s are outside its range."""
SHARE = Range(0, 1)
BURST_RATIO = Range(1, 1000)
IMPAIRMENT = Range(0, 95)
ROBUSTNESS = Range(0.01, 1000)
ADVANTAGE = Range(0, 20)
RATING = Range(-1000, 1000)
MOS = Range(1, 4.5)
BASE = Range(0, 100)
PACKET_S = Range(1e-4, 1)
BIT_RATE_BPS = Range(1, 1e12)
TALK_S = Range(1e-6, 1e6)
ACTIVITY = Range(0, 1)
TALKERS = Range(0, 10_000, whole=True)
PLACES = Range(0, 10_000, whole=True)
SOME_PLACES = Range(1, 10_000, whole=True)
ERLANGS = Range(0, 1e9)
PROBABILITY = Range(1e-12, 1 - 1e-9)
BLOCKING = Range(1e-12, 0.999)
"""Beyond, a logarithm near 0 no longer tells the load."""


def together(function: str, **given: tuple[Numbers, Range]) -> tuple[Array, ...]:
    """Check arguments against their ranges and bring them to one shape.

    Returns
    -------
    :
        Read-only arrays of the common shape, in the order given.

    Raises
    ------
    VoiceError
        If one is out of its range, or their shapes do not broadcast.

    """
    return same_shape(function, list(given), [allowed.read(function, name, value) for name, (value, allowed) in given.items()])


def same_shape(function: str, names: Sequence[str], arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Bring arrays to one shape.

    Raises
    ------
    VoiceError
        If their shapes do not broadcast.

    """
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise VoiceError(function, ", ".join(names), f"arrays of shapes {shapes}", "shapes that broadcast") from None


def choice(function: str, name: str, value: object, allowed: Sequence[str]) -> str:
    """Return the value if it is one of the words allowed.

    Raises
    ------
    VoiceError
        If it is none of them.

    """
    if not isinstance(value, str) or value not in allowed:
        raise VoiceError(function, name, shown(value), f"one of {', '.join(allowed)}")
    return value


def plain(array: Any) -> Any:
    """Return an array as it is, and the one value of an array without dimensions."""
    return np.asarray(array)[()]
