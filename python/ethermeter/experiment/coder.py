"""Coder: voice as arrivals, samples that gather in the frame that is sent next (Gonsalves 1982,
section 3.3).
"""

from fractions import Fraction
from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema, model_validator

from ethermeter import units
from ethermeter.experiment.quantity import BitRate, PositiveTime, limited_size, limited_time
from ethermeter.experiment.table import Table, complaint
from ethermeter.voice import CODECS

LARGEST_SAMPLE_BITS = 4096
"""The largest sample, in bits."""

SampleSize = Annotated[int, *limited_size(LARGEST_SAMPLE_BITS)]
"""Size of a sample in bits."""

SampleTime = Annotated[int, *limited_time(units.PS_PER_S)]
"""Time from sample to sample in ps, at most 1 s."""


NAMED = {
    name: codec for name, codec in CODECS.items() if codec.frame_octets and len(codec.frames_s) == 1
}
"""Codecs that a coder may be called by: those that make frames of one size at one rate."""


def _codec(value: object) -> str:
    if not isinstance(value, str) or value not in NAMED:
        raise complaint(f"expected a codec whose frames are all alike: {', '.join(NAMED)}")
    return value


class Coder(Table):
    """What a coder makes."""

    codec: Annotated[str, PlainValidator(_codec), WithJsonSchema({"enum": list(NAMED)})] | None = (
        None
    )
    """Name of a codec, whose frames are the samples; or else sample with every or rate."""
    sample: SampleSize | None = None
    """Size of a sample; required where no codec is named."""
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
        if self.codec is not None:
            if any(value is not None for value in (self.sample, self.every, self.rate)):
                raise complaint("expected either codec, or sample with every or rate")
        elif (self.every is None) == (self.rate is None):
            raise complaint("expected exactly one of every and rate")
        if (self.talk is None) != (self.silence is None):
            raise complaint("expected talk and silence together, or neither")
        return self

    @property
    def sample_bits(self) -> int:
        """Size of a sample in bits."""
        if self.codec is not None:
            return 8 * NAMED[self.codec].frame_octets
        assert self.sample is not None, "checked"
        return self.sample

    @property
    def every_ps(self) -> Fraction:
        """Time from one sample to the next in ps; by a rate it need not be whole."""
        if self.codec is not None:
            return Fraction(round(NAMED[self.codec].frames_s[0] * units.PS_PER_S))
        if self.every is not None:
            return Fraction(self.every)
        assert self.rate is not None  # one of the two is there
        return units.PS_PER_S * self.sample_bits / self.rate


class Coded(Table):
    """Samples at a steady rate."""

    coder: Coder
    """What makes them."""
