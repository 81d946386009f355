"""Estimated: means with their intervals, as answers of strategies have them."""

import math

import msgspec

from ethermeter.results.interval import Estimate


class Interval(msgspec.Struct, frozen=True):
    """A mean with its 95% interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, estimate: Estimate) -> "Interval":
        """Return the interval of an estimate."""
        return cls(
            *(
                number if math.isfinite(number) else None
                for number in (estimate.value, estimate.low, estimate.high)
            )
        )

    @property
    def half_width(self) -> float | None:
        """Half of its width."""
        return None if self.high is None or self.value is None else self.high - self.value
