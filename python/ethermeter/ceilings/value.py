"""Results of a survey of ceilings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ethermeter.results.interval import Estimate, exact, quantile, student

Basis = Literal["measured", "reported by the system", "computed"]
"""Source of a number."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Rate of one stage alone.

    Parameters
    ----------
    name, title
        Name of the stage, with hyphens, and its title.
    bit_per_s
        Rate of the stage's input [bit/s].
    low_bit_per_s, high_bit_per_s
        Its 95% interval, of the mean of its repetitions; the rate itself if it was not measured,
        None if nothing is known.
    repetitions
        Samples behind the rate; 0 if it was not measured.
    octets
        Octets of a packet, frame or datagram; None if the stage does not work in these.
    pieces_per_s
        Packets, frames or datagrams a second; None if the stage does not work in these.
    basis
        Source of the rate.
    how
        The procedure, or the formula.

    """

    name: str
    title: str
    bit_per_s: float
    low_bit_per_s: float | None
    high_bit_per_s: float | None
    repetitions: int
    octets: int | None
    pieces_per_s: float | None
    basis: Basis
    how: str

    @property
    def estimate(self) -> Estimate:
        """The rate [bit/s] with its interval."""
        if self.low_bit_per_s is None or self.high_bit_per_s is None:
            return Estimate(self.bit_per_s, math.nan, math.nan)
        if self.repetitions == 0:
            return exact(self.bit_per_s)
        degrees = self.repetitions - 1
        half = (self.high_bit_per_s - self.low_bit_per_s) / 2
        return Estimate(self.bit_per_s, half / quantile(degrees), degrees)


def _ceiling(
    name: str,
    title: str,
    estimate: Estimate,
    basis: Basis,
    *,
    how: str,
    octets: int | None = None,
    repetitions: int = 0,
) -> Ceiling:
    low, high = (estimate.low, estimate.high) if estimate.has_interval else (None, None)
    pieces_per_s = None if octets is None else estimate.value / (8 * octets)
    return Ceiling(
        name, title, estimate.value, low, high, repetitions, octets, pieces_per_s, basis, how
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A stage without a ceiling."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Settings of an interface as the system reports them; None where it does not."""

    driver: str | None
    rings: dict[str, int] | None
    offloads: dict[str, bool] | None


@dataclass(slots=True)
class Survey:
    """Ceilings in the order of a path, from source to sink, and stages left out."""

    ceilings: list[Ceiling] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)
    """By interface."""
    others: float | None = None
    """Mean number of processors that other processes used meanwhile; None if not reported."""


def measured(
    name: str, title: str, samples: Sequence[float], *, how: str, octets: int | None = None
) -> Ceiling:
    """Return the ceiling of samples in bit/s: their mean with Student's t interval.

    Assumptions
    -----------
    Samples are independent. Other processes on the processor make the ceiling lower and the
    interval wider.
    """
    mean = student(np.asarray(samples, dtype=np.float64))
    return _ceiling(name, title, mean, "measured", how=how, octets=octets, repetitions=len(samples))


def computed(
    name: str, title: str, bit_per_s: float, *, how: str, octets: int | None = None
) -> Ceiling:
    """Return a ceiling that follows from constants."""
    return _ceiling(name, title, exact(bit_per_s), "computed", how=how, octets=octets)


def reported(name: str, title: str, bit_per_s: float, *, how: str) -> Ceiling:
    """Return a ceiling that the system reports."""
    return _ceiling(name, title, exact(bit_per_s), "reported by the system", how=how)
