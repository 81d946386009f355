"""Evaluation: a model's values at all combinations of the values of its arguments."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model's values at all combinations of what was given.

    Parameters
    ----------
    varied
        The arguments that have several values, one for each point.
    fixed
        The others.
    fields
        What was found, the points along the first axis.
    outside
        Where the model's assumptions do not hold, shape (points,).
    points
        How many there are.

    """

    varied: dict[str, list[float]]
    fixed: dict[str, object]
    fields: dict[str, npt.NDArray[np.float64]]
    outside: npt.NDArray[np.bool_]
    points: int

    def value(self, field: str, at: int) -> Any:
        """Return a number at a point, or a row of them without the filling at its end.

        What is undefined is None.
        """
        return _plain(self.fields[field][at])


def _plain(value: Any) -> Any:
    if getattr(value, "ndim", 0):
        row = [_plain(item) for item in value]
        while row and row[-1] is None:
            row.pop()
        return row
    return float(value) if math.isfinite(value) else None
