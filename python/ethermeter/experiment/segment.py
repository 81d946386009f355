"""[segment]: the standard, and what the experiment changes about it."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from ethermeter.experiment.quantity import BitsOrTime, BitTime, Delay, Length, Velocity
from ethermeter.experiment.table import Table, complaint
from ethermeter.faults import Fault, InputError, dotted
from ethermeter.scenario import CsmaCd


@cache
def standards() -> Mapping[str, Mapping[str, Any]]:
    """Return every standard by name: its constants, and their sources under "sources"."""
    from ethermeter import _core

    known: Mapping[str, Mapping[str, Any]] = _core.standards()
    return known


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
    turnaround: Delay = Field(default="0 s", validate_default=True)
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


MOST_BITS = 1 << 24
"""Bits that a slot, gap, preamble or jam may have.

No jam, or neither gap nor turnaround time, would leave it open who heard whom first.
"""


def csma_cd(constants: Mapping[str, Any]) -> CsmaCd:
    """Return the constants of the medium access; `constants` are those of `medium`."""
    bits = {name: constants[name] for name in CsmaCd.__struct_fields__ if name.endswith("_bits")}
    return CsmaCd(turnaround_ps=constants["turnaround_ps"], **bits)


def _unless(key: str, segment: Segment) -> str:
    return ", or a turnaround time" if key == "gap" and not segment.turnaround else ""


def medium(segment: Segment, *, file: str) -> dict[str, Any]:
    """Return the constants of a segment by their names in `_core.standards()`.

    Raises
    ------
    InputError
        If a time is no whole number of bits, or the gap contradicts itself.

    """
    constants = {
        name: value for name, value in standards()[segment.standard].items() if name != "sources"
    }
    if segment.rate is not None:
        constants["bit_ps"] = segment.rate
    faults = []
    for key in ("slot", "gap", "gap_part1", "preamble", "jam"):
        given = getattr(segment, key)
        if given is None:
            continue
        unit, number = given
        bits, rest = divmod(number, constants["bit_ps"]) if unit == "ps" else (number, 0)
        if rest:
            allowed = f"expected a whole number of bits, each {constants['bit_ps']} ps"
            faults.append(Fault(file, dotted(("segment", key)), f"{number} ps", allowed))
        constants[f"{key}_bits"] = bits
    constants["turnaround_ps"] = segment.turnaround
    # Without a gap and a turnaround time, a station could start in the very instant in which it hears
    # silence and carrier at once.
    for key, least in (
        ("slot", 1),
        ("gap", 0 if segment.turnaround else 1),
        ("gap_part1", 0),
        ("preamble", 0),
        ("jam", 1),
    ):
        bits = constants[f"{key}_bits"]
        if not least <= bits <= MOST_BITS:
            faults.append(
                Fault(
                    file,
                    dotted(("segment", key)),
                    f"{bits} bit",
                    f"expected from {least} to {MOST_BITS} bit" + _unless(key, segment),
                )
            )
    if constants["gap_part1_bits"] > constants["gap_bits"]:
        key = "gap" if segment.gap is not None else "gap_part1"
        value = f"{constants[f'{key}_bits']} bit"
        allowed = f"expected gap_part1, {constants['gap_part1_bits']} bit, to be at most gap, {constants['gap_bits']} bit"
        faults.append(Fault(file, dotted(("segment", key)), value, allowed))
    if faults:
        raise InputError(faults)
    return constants
