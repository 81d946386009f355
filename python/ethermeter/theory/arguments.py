"""What a model takes: ranges, how they are checked, and how arguments are brought to one shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.faults import Fault, InputError, shown

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.ArrayLike

SAME = 1e-9
"""Relative difference up to which two lengths count as equal where a range ends at one of them."""

NOTHING = 1e-250
"""What is nearer to 0 counts as 0, so that no quotient overflows."""


class TheoryError(InputError):
    """An argument that a model has no value for.

    Parameters
    ----------
    model
        Name of the model.
    name
        Name of the argument.
    value
        What was given, or the first of its values that is wrong.
    allowed
        What was allowed instead.

    """

    def __init__(self, model: str, name: str, value: str, allowed: str) -> None:
        super().__init__([Fault(model, name, value, allowed)])


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
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low:g} to {self.high:g}"

    def read(self, model: str, name: str, value: Numbers) -> Array:
        """Return the value as an array of floats; what is nearer to 0 than 1e-250 is 0, so that no quotient of two overflows.

        Raises
        ------
        TheoryError
            If any of it is not a number of this range; NaN and infinity never are.

        """
        array = _floats(model, name, value, self)
        good = np.isfinite(array) & (array >= self.low) & (array <= self.high)
        if self.whole:
            good &= array == np.rint(array)
        if not good.all():
            raise TheoryError(model, name, f"{array[~good].flat[0]:.12g}", str(self))
        return np.where(np.abs(array) < NOTHING, 0.0, array)


def _floats(model: str, name: str, value: Numbers, allowed: Range) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        raise TheoryError(model, name, shown(value), str(allowed)) from None
    if array.dtype == object and array.size and all(isinstance(item, int) and not isinstance(item, bool) for item in array.flat):
        array = np.array([min(max(item, -(2**1000)), 2**1000) for item in array.flat], dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise TheoryError(model, name, shown(value), str(allowed))
    return array.astype(np.float64)


LOAD = Range(0, 1e9)
SHARE = Range(0, 1)
PROPAGATION = Range(0, 1)
STATIONS = Range(1, 1e15, whole=True)
CHAIN_STATIONS = Range(1, 2000, whole=True)
PACKET_BITS = Range(1e-3, 1e12)
RATE_BPS = Range(1e-3, 1e15)
TIME_S = Range(0, 1e6)
PACKET_S = Range(1e-15, 1e6)
ARRIVAL_RATE = Range(0, 1e15)
COLLISION_SLOTS = Range(1, 1e9)
WHOLE_SLOTS = Range(1, 1e9, whole=True)
SLOTS = Range(1e-6, 1e9)
PROBABILITY = Range(1e-12, 1)
WEIGHT = Range(0, 1e9)


def together(model: str, **given: tuple[Numbers, Range]) -> tuple[Array, ...]:
    """Check arguments against their ranges and bring them to one shape.

    Returns
    -------
    :
        Read-only arrays of the common shape, in the order given.

    Raises
    ------
    TheoryError
        If one is out of its range, or their shapes do not broadcast.

    """
    arrays = [allowed.read(model, name, value) for name, (value, allowed) in given.items()]
    return same_shape(model, list(given), arrays)


def same_shape(model: str, names: Sequence[str], arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Bring arrays to one shape.

    Raises
    ------
    TheoryError
        If their shapes do not broadcast.

    """
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise TheoryError(model, ", ".join(names), f"arrays of shapes {shapes}", "shapes that broadcast") from None


def choice(model: str, name: str, value: object, allowed: Sequence[str]) -> str:
    """Return the value if it is one of the words allowed.

    Raises
    ------
    TheoryError
        If it is none of them.

    """
    if not isinstance(value, str) or value not in allowed:
        raise TheoryError(model, name, shown(value), f"one of {', '.join(allowed)}")
    return value


def flag(model: str, name: str, value: object) -> bool:
    """Return the value if it is true or false.

    Raises
    ------
    TheoryError
        If it is anything else.

    """
    if not isinstance(value, bool | np.bool_):
        raise TheoryError(model, name, shown(value), "true or false")
    return bool(value)


UNSTABLE = ("error", "nan")
"""What a delay model does where the queue grows without bound: refuse, or give NaN."""


def stable(model: str, name: str, value: Array, limit: Array, unstable: str) -> Flags:
    """Return where the queue is stable, that is `value` < `limit`.

    Raises
    ------
    TheoryError
        If it is not everywhere and `unstable` is "error".

    """
    choice(model, "unstable", unstable, UNSTABLE)
    good: Flags = np.asarray(value < limit)
    if unstable == "error" and not good.all():
        at, most = value[~good].flat[0], np.broadcast_to(limit, value.shape)[~good].flat[0]
        raise TheoryError(model, name, f"{at:.12g}", f'below {most:.6g}, from where the delay has no limit; unstable="nan" gives NaN there')
    return good


def plain(array: Any) -> Any:
    """Return an array as it is, and the one value of an array without dimensions."""
    return np.asarray(array)[()]
