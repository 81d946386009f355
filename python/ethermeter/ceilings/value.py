"""What a survey of ceilings finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ethermeter.analysis.interval import Estimate, exact, student

Basis = Literal["measured", "told by the system", "computed"]
"""Where a number comes from."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What one stage could do alone.

    Parameters
    ----------
    name
        Of the stage, with hyphens.
    title
        For a person.
    estimate
        Bit/s of the octets that the stage is given, with the 95% interval of the mean of its
        repetitions; exact if it was not measured.
    basis
        Where it comes from.
    how
        What was done, or what it follows from.
    octets
        Octets of a piece (packet, frame, datagram), or None if it is not done in pieces.
    repetitions
        Samples behind the estimate; 0 if it was not measured.

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
        """Pieces a second, or None if it is not done in pieces."""
        return None if self.octets is None else self.estimate.value / (8 * self.octets)

    def as_json(self) -> dict[str, Any]:
        """Return the ceiling as JSON; what is unknown is null."""
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
    """A stage of which nothing is known."""

    name: str
    why: str


@dataclass(slots=True)
class Survey:
    """Ceilings in the order of a path, from source to sink, and what is missing."""

    ceilings: list[Ceiling] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each interface, what the system says of it: driver, rings, offloads."""
    others: float | None = None
    """Processors that others used meanwhile, in the mean; None where the system does not tell."""


def measured(
    name: str, title: str, samples: Sequence[float], *, how: str, octets: int | None = None
) -> Ceiling:
    """Return the ceiling of samples in bit/s: their mean with Student's t interval.

    Assumptions
    -----------
    Samples are independent. Others who use the processor meanwhile make the ceiling lower and the
    interval wider.
    """
    return Ceiling(
        name,
        title,
        student(np.asarray(samples, dtype=np.float64)),
        "measured",
        how,
        octets,
        len(samples),
    )


def computed(
    name: str, title: str, bit_per_s: float, *, how: str, octets: int | None = None
) -> Ceiling:
    """Return a ceiling that follows from constants."""
    return Ceiling(name, title, exact(bit_per_s), "computed", how, octets)


def told(name: str, title: str, bit_per_s: float, *, how: str) -> Ceiling:
    """Return a ceiling that the system tells."""
    return Ceiling(name, title, exact(bit_per_s), "told by the system", how)
