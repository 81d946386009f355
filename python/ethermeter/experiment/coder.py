"""Coder: voice as arrivals, samples that gather in the frame that is sent next (Gonsalves 1982, section 3.3)."""

from fractions import Fraction
from typing import Annotated

from pydantic import model_validator

from ethermeter import units
from ethermeter.experiment.quantity import BitRate, PositiveTime, limited_size, limited_time
from ethermeter.experiment.table import Table, complaint

LARGEST_SAMPLE_BITS = 4096
"""The largest sample, in bits."""

SampleSize = Annotated[int, *limited_size(LARGEST_SAMPLE_BITS)]
"""Size of a sample in bits."""

SampleTime = Annotated[int, *limited_time(units.PS_PER_S)]
"""Time from sample to sample in ps, at most 1 s."""


class Coder(Table):
    """What a coder makes."""

    sample: SampleSize
    """Size of a sample."""
    every: SampleTime | None = None
    """Time from one sample to the next; or else rate."""
    rate: BitRate | None = None
    """Bits of samples a second; or else every."""
    talk: PositiveTime | None = None
    """Mean time of talk, exponential; without it there is talk all the time."""
    silence: PositiveTime | None = None
    """Mean time of silence between talk, exponential."""

    @model_validator(mode="after")
    def _is_complete(self) -> "Coder":
        if (self.every is None) == (self.rate is None):
            raise complaint("expected exactly one of every and rate")
        if (self.talk is None) != (self.silence is None):
            raise complaint("expected talk and silence together, or neither")
        return self

    @property
    def every_ps(self) -> Fraction:
        """Time from one sample to the next in ps; by a rate it need not be whole."""
        if self.every is not None:
            return Fraction(self.every)
        assert self.rate is not None  # one of the two is there
        return units.PS_PER_S * self.sample / self.rate


class Coded(Table):
    """Samples at a steady rate."""

    coder: Coder
    """What makes them."""
