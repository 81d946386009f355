"""Grid: what formulas give at all combinations of the values of their arguments."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ethermeter.arguments import OUTSIDE


@dataclass(frozen=True, slots=True)
class Grid:
    """Results at all combinations of the given values.

    Parameters
    ----------
    given
        Values by name, one a point, in SI units.
    found
        Results by name, likewise.
    units
        Units of both by name; empty without one.
    outside
        Whether each point is outside the model's range.

    """

    given: dict[str, list[float]]
    found: dict[str, list[float]]
    units: Mapping[str, str]
    outside: list[bool] = field(default_factory=list)

    @property
    def points(self) -> int:
        """How many there are."""
        return len(next(iter(self.found.values())))

    @property
    def any_outside(self) -> bool:
        """Whether any point is outside the model's range."""
        return any(self.outside)

    def as_json(self) -> dict[str, object]:
        """Return the results as JSON, point by point; an undefined value is null."""
        points = [
            {
                "given": {name: values[at] for name, values in self.given.items()},
                "found": {
                    name: values[at] if math.isfinite(values[at]) else None
                    for name, values in self.found.items()
                },
                "cautions": [OUTSIDE] if self.outside and self.outside[at] else [],
            }
            for at in range(self.points)
        ]
        return {"units": dict(self.units), "points": points}
