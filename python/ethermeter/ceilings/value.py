"""Results of a survey of ceilings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ethermeter.results.interval import Estimate, exact, student

Basis = Literal["measured", "reported by the system", "computed"]
"""Source of a number."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Rate of one stage alone.

    `name`: name of the stage, with hyphens. `title`: title of the stage. `estimate`: rate of the
    stage's input in bit/s, with the 95% interval of the mean of its repetitions; exact if it was
    not measured. `basis`: source of the estimate. `how`: the procedure, or the formula. `octets`:
    octets of a packet, frame or datagram; None if the stage does not work in these. `repetitions`:
    samples behind the estimate; 0 if it was not measured.
    """

    name: str
    title: str
    estimate: Estimate
    basis: Basis
    how: str
    octets: int | None = None
    repetitions: int = 0

    @property
    def pieces_per_s(self) -> float | None:
        """Packets, frames or datagrams a second; None if the stage does not work in these."""
        return None if self.octets is None else self.estimate.value / (8 * self.octets)

    def as_json(self) -> dict[str, object]:
        """Return the ceiling as JSON; an unknown value is null."""
        low, high = (
            (self.estimate.low, self.estimate.high) if self.estimate.has_interval else (None, None)
        )
        return {
            "name": self.name,
            "title": self.title,
            "bit_per_s": self.estimate.value,
            "low_bit_per_s": low,
            "high_bit_per_s": high,
            "repetitions": self.repetitions,
            "octets": self.octets,
            "pieces_per_s": self.pieces_per_s,
            "basis": self.basis,
            "how": self.how,
        }


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
    return Ceiling(name, title, mean, "measured", how, octets, len(samples))


def computed(
    name: str, title: str, bit_per_s: float, *, how: str, octets: int | None = None
) -> Ceiling:
    """Return a ceiling that follows from constants."""
    return Ceiling(name, title, exact(bit_per_s), "computed", how, octets)


def reported(name: str, title: str, bit_per_s: float, *, how: str) -> Ceiling:
    """Return a ceiling that the system reports."""
    return Ceiling(name, title, exact(bit_per_s), "reported by the system", how)
