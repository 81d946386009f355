"""The segment: which standard, what is changed about it, and how far its stations are apart."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from ethermeter.experiment.quantity import BitsOrTime, BitTime, Delay, Length, Velocity
from ethermeter.experiment.standards import standards
from ethermeter.experiment.table import Table, complaint

MOST_PLACES = 1024
"""Places a segment may have; no standard has room for more stations."""


def _known(name: str) -> str:
    if name not in standards():
        raise complaint(f"expected one of {', '.join(standards())}")
    return name


class Star(Table):
    """Stations on branches of a repeater."""

    radius: Length | None = None
    """Length of every branch."""
    radii: Annotated[list[Length], Field(min_length=1, max_length=MOST_PLACES)] | None = None
    """Length of each branch; stations are dealt to them in rotation."""
    repeater_delay: Delay
    """One-way delay through the repeater, from branch to branch."""


class Segment(Table):
    """The shared medium."""

    standard: Annotated[str, StringConstraints(max_length=40), AfterValidator(_known)]
    """Name of the standard whose constants hold."""
    rate: BitTime | None = None
    """Line rate."""
    slot: BitsOrTime | None = None
    """Slot time, the unit of backoff."""
    gap: BitsOrTime | None = None
    """Inter-frame gap."""
    gap_part1: BitsOrTime | None = None
    """First part of the gap, in which carrier starts it anew."""
    preamble: BitsOrTime | None = None
    """Preamble with start-of-frame delimiter."""
    jam: BitsOrTime | None = None
    """Jam sent after a collision is seen."""
    deaf: Delay = Field(default="0 s", validate_default=True)
    """Time from a station's decision to start to its first bit, in which it hears nothing."""
    length: Length | None = None
    """Length of the cable."""
    velocity: Velocity | None = None
    """Propagation velocity over the speed of light; 0.77 for a length, 0.585 for a star."""
    round_trip: Delay | None = None
    """Round trip between the two ends of the segment, taps included."""
    clusters: Annotated[int, Field(ge=1, le=MOST_PLACES)] | None = None
    """Equally spaced clusters from end to end; stations are dealt to them in rotation."""
    star: Star | None = None
    """Branches of a repeater."""
    delays: (
        Annotated[
            list[Annotated[list[Delay], Field(max_length=MOST_PLACES)]],
            Field(min_length=1, max_length=MOST_PLACES),
        ]
        | None
    ) = None
    """One-way delays between places; the diagonal is between two stations of one place."""
    tap_delay: Delay | None = None
    """One-way delay between a station and the cable; counts once at each end."""
