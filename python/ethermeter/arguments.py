"""Arguments of pure functions over arrays: ranges, checks, and broadcasting to one shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.faults import Fault, InputError, choices, shown

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.ArrayLike

OUTSIDE = "outside-model-range"
"""Caution of points that are outside the range of a model."""
NOTHING = 1e-250
"""What is nearer to 0 counts as 0, so that no quotient overflows."""


class ArgumentError(InputError):
    """An argument that a function has no value for; the function's name has hyphens."""

    def __init__(self, function: str, name: str, value: str, allowed: str) -> None:
        super().__init__([Fault(function, name, value, allowed)])


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers an argument may be, from `low` to `high`."""

    low: float
    high: float
    whole: bool = False
    """Whether it counts something, and so is an integer."""

    def __str__(self) -> str:
        """Return what is allowed, in words."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low:g} to {self.high:g}"

    def read(self, function: str, name: str, value: Numbers) -> Array:
        """Return the value as an array of floats.

        A value nearer to 0 than 1e-250 becomes 0, so that no quotient of two overflows.

        Raises
        ------
        ArgumentError
            If any of it is not a number of this range; NaN and infinity never are.

        """
        array = _floats(function, name, value, self)
        good = self.holds(array)
        if not good.all():
            raise ArgumentError(function, name, f"{array[~good].flat[0]:.12g}", str(self))
        return np.where(np.abs(array) < NOTHING, 0.0, array)

    def holds(self, array: Array) -> Flags:
        """Return where the numbers are of this range."""
        good = np.isfinite(array) & (array >= self.low) & (array <= self.high)
        return good & (array == np.rint(array)) if self.whole else good


def _floats(function: str, name: str, value: Numbers, allowed: Range) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        raise ArgumentError(function, name, shown(value), str(allowed)) from None
    if (
        array.dtype == object
        and array.size
        and all(isinstance(item, int) and not isinstance(item, bool) for item in array.flat)
    ):
        array = np.array(
            [min(max(item, -(2**1000)), 2**1000) for item in array.flat], dtype=np.float64
        ).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise ArgumentError(function, name, shown(value), str(allowed))
    return array.astype(np.float64)


def together(function: str, **given: tuple[Numbers, Range]) -> tuple[Array, ...]:
    """Check arguments against their ranges and bring them to one shape, read-only.

    Raises
    ------
    ArgumentError
        If one is out of its range, or their shapes do not broadcast.

    """
    arrays = [allowed.read(function, name, value) for name, (value, allowed) in given.items()]
    return same_shape(function, list(given), arrays)


def same_shape(function: str, names: Sequence[str], arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Bring arrays to one shape; raise `ArgumentError` if their shapes do not broadcast."""
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ArgumentError(
            function, ", ".join(names), f"arrays of shapes {shapes}", "shapes that broadcast"
        ) from None


def choice(function: str, name: str, value: object, allowed: Sequence[str]) -> str:
    """Return the value if it is one of those allowed; raise `ArgumentError` otherwise."""
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(function, name, shown(value), choices(value, allowed))
    return value


def flag(function: str, name: str, value: object) -> bool:
    """Return the value if it is true or false; raise `ArgumentError` otherwise."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(function, name, shown(value), "true or false")
    return bool(value)


def plain(array: Any) -> Any:
    """Return an array unchanged, and an array without dimensions as its single value."""
    return np.asarray(array)[()]
