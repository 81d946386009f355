"""[segment]: the standard, and what the experiment changes about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Literal

from ethermeter import scenario
from ethermeter.experiment import plca
from ethermeter.experiment.plca import HIGHEST_BIT_ERROR_RATE, Phy, SegmentPlca
from ethermeter.experiment.quantity import (
    BitsOrTime,
    BitTime,
    Delay,
    Length,
    PositiveTime,
    Time,
    Velocity,
    integer,
    number,
    text,
)
from ethermeter.experiment.tables import FileTable, ListOf, file_keys, most_of, reader_of
from ethermeter.faults import Faults, KeyPath, choices, dotted
from ethermeter.scenario import CsmaCd, FileKey


@cache
def standards() -> Mapping[str, Mapping[str, int]]:
    """Return the constants of every standard, by its name."""
    from ethermeter import _core

    return {
        name: {key: value for key, value in constants.items() if key != "sources"}
        for name, constants in _core.standards().items()
    }


MOST_PLACES = 1024
"""Places a segment may have; no standard has room for more stations."""


def _unknown(name: str) -> str:
    return "" if name in standards() else choices(name, standards(), "expected one of ")


class Star(FileTable, frozen=True, kw_only=True):
    """A star: a repeater with a branch for each station."""

    radius: Length | None = None
    """Length of every branch; instead of `radii`."""
    radii: Annotated[tuple[Fraction, ...], ListOf(reader_of(Length), 1, MOST_PLACES)] | None = None
    """Lengths of the branches, assigned to stations in rotation; instead of `radius`."""
    repeater_delay: Delay
    """One-way delay through the repeater, from branch to branch."""


class CableFault(FileTable, frozen=True, kw_only=True):
    """An open or shorted cable: what a station sends comes back to it, as a collision."""

    position: Length
    """Position along the `length` of the segment at which the cable is open or shorted."""
    at: Time
    """Start of the fault, from the start of the trial."""
    lasts: Annotated[PositiveTime | None, FileKey(name="for")] = None
    """Length of the fault; to the end of the trial if absent."""


class Segment(FileTable, frozen=True, kw_only=True):
    """The shared medium: its standard, its extent, and constants that differ from the standard."""

    standard: Annotated[str, text(0, 40, known=_unknown)]
    """Name of the standard whose constants apply."""
    rate: BitTime | None = None
    """Line rate; that of the standard if absent."""
    slot: BitsOrTime | None = None
    """Slot time, the unit of backoff; that of the standard if absent."""
    gap: BitsOrTime | None = None
    """Inter-frame gap; that of the standard if absent."""
    gap_part1: BitsOrTime | None = None
    """First part of the gap, in which a sensed carrier restarts the gap; at most `gap`. That of the
    standard if absent.
    """
    preamble: BitsOrTime | None = None
    """Preamble with start-of-frame delimiter; that of the standard if absent."""
    jam: BitsOrTime | None = None
    """Jam that a station sends after it has detected a collision; that of the standard if absent.
    """
    turnaround: Annotated[int, file_keys(CsmaCd)["turnaround_ps"]] = 0
    """Turnaround time: from a station's decision to transmit to its first bit. The station senses
    nothing meanwhile. Always "0 s" on 10BASE-T1S.
    """
    length: Length | None = None
    """Length of the cable. Exactly one of `length`, `round_trip`, `star` and `delays` is required.
    """
    velocity: Velocity | None = None
    """Propagation velocity over the speed of light, with `length` or `star`. If absent: 0.77 for a
    `length` (coaxial cable), 0.667 for one of 10BASE-T1S, 0.585 for a `star` (twisted pair).
    """
    round_trip: Delay | None = None
    """Round-trip time between the two ends of the cable, taps included; instead of `length`."""
    clusters: Annotated[int, integer(1, MOST_PLACES)] | None = None
    """Number of equally spaced clusters from end to end, to which stations are assigned in
    rotation; with `length` or `round_trip`. Stations are spread evenly if absent.
    """
    star: Star | None = None
    """Repeater with branches; instead of `length`."""
    delays: (
        Annotated[
            tuple[tuple[int, ...], ...],
            ListOf(ListOf(reader_of(Delay), 0, MOST_PLACES), 1, MOST_PLACES),
        ]
        | None
    ) = None
    """One-way delays between attachment points, as a matrix; stations are assigned to the points in
    rotation. The diagonal is the delay between two stations at one point. Instead of `length`.
    """
    tap_delay: Delay | None = None
    """One-way delay between a station and the cable; it counts at both ends of a path. If absent 0
    s, or a quarter of `round_trip` with one cluster.
    """
    cable_fault: CableFault | None = None
    """Open or shorted cable, with `length`; not on 10BASE-T1S. Never if absent."""
    plca: SegmentPlca | None = None
    """PLCA settings of all stations; 10BASE-T1S only. Without it stations use CSMA/CD unless their
    group has `plca`.
    """
    phy: Phy | None = None
    """Latencies of the PHYs; 10BASE-T1S only. 0 s if absent."""
    end_delimiter: BitsOrTime | None = None
    """End delimiter that a PHY sends after each frame and jam, at most `gap`; 10BASE-T1S only. 8
    bit if absent.
    """
    rules: Literal["standard", "inet"] | None = None
    """Rules of the MAC: "standard" follows 802.3 clause 4, "inet" follows the model of INET;
    10BASE-T1S only. "standard" if absent.
    """
    bit_error_rate: Annotated[
        float, number("a probability", least=0, most=HIGHEST_BIT_ERROR_RATE)
    ] = 0
    """Probability that a bit of a frame is wrong; 10BASE-T1S only."""


ONLY_10BASE_T1S = ("plca", "phy", "end_delimiter", "rules", "bit_error_rate")
"""Keys of a segment that only 10BASE-T1S has."""
INET_GAP_PART1_BITS = 0
"""First part of the gap in INET's MAC: the state WAIT_IFG ignores carrier (EthernetCsmaMac.cc)."""


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of a segment: its standard with what the file changes about it."""

    bit_ps: int
    csma_cd: CsmaCd
    mac: scenario.Mac
    fcs_bits: int
    attempt_limit: int
    backoff_limit: int
    max_stations: int


def constants_of(segment: Segment, *, file: str, path: KeyPath = ("segment",)) -> Constants:
    """Return the constants of a segment, whose table is at `path`.

    Raises
    ------
    InputError
        If a time is no whole number of bits, or the gap contradicts itself.

    """
    faults = Faults(file, path)
    standard = standards()[segment.standard]
    bit_ps = standard["bit_ps"] if segment.rate is None else segment.rate
    bits = {key: standard[f"{key}_bits"] for key in ("slot", "gap", "gap_part1", "preamble", "jam")}
    has_plca = segment.standard == plca.STANDARD
    if has_plca:
        bits["end_delimiter"] = plca.timing()["end_delimiter_bits"]
    is_inet = segment.rules == "inet"
    if is_inet:
        bits["gap_part1"] = INET_GAP_PART1_BITS
    for key in bits:
        if (given := getattr(segment, key)) is not None:
            unit, number = given
            bits[key], rest = divmod(number, bit_ps) if unit == "ps" else (number, 0)
            if rest:
                allowed = f"expected a whole number of bits, each {bit_ps} ps"
                faults.add((key,), f"{number} ps", allowed)
    # Without a gap and a turnaround time, a station could start in the very instant in which it
    # hears silence and carrier at once.
    least = {"slot": 1, "gap": 0 if segment.turnaround else 1, "jam": 1}
    most = most_of(CsmaCd, "slot_bits")
    for key, number in bits.items():
        if not least.get(key, 0) <= number <= most:
            unless = ", or a turnaround time" if key == "gap" and not segment.turnaround else ""
            allowed = f"expected from {least.get(key, 0)} to {most} bit{unless}"
            faults.add((key,), f"{number} bit", allowed)
    for shorter in ("gap_part1", "end_delimiter"):
        if bits.get(shorter, 0) > bits["gap"]:
            key = "gap" if segment.gap is not None else shorter
            allowed = (
                f"expected {shorter}, {bits[shorter]} bit, to be at most gap, {bits['gap']} bit"
            )
            faults.add((key,), f"{bits[key]} bit", allowed)
    if not has_plca:
        for key in ONLY_10BASE_T1S:
            if getattr(segment, key) not in (None, 0):
                allowed = f'expected "{plca.STANDARD}" with {dotted((*path, key))}'
                faults.add(("standard",), f'"{segment.standard}"', allowed)
    elif segment.cable_fault is not None:
        allowed = "expected a standard of CSMA/CD alone with cable_fault"
        faults.add(("standard",), f'"{segment.standard}"', allowed)
    elif segment.turnaround:
        allowed = "expected 0 s on a segment of 10BASE-T1S; see segment.phy"
        faults.add(("turnaround",), f"{segment.turnaround} ps", allowed)
    faults.raise_all()
    end_delimiter_bits = bits.pop("end_delimiter", 0)
    csma_cd = CsmaCd(
        turnaround_ps=segment.turnaround,
        **{f"{key}_bits": number for key, number in bits.items()},
    )
    bus = plca.medium_of(
        csma_cd,
        segment.plca,
        segment.phy,
        end_delimiter_bits=end_delimiter_bits,
        is_inet=is_inet,
        bit_error_rate=segment.bit_error_rate,
    )
    return Constants(
        bit_ps=bit_ps,
        csma_cd=csma_cd,
        mac=scenario.Mac(plca=bus) if has_plca else scenario.Mac(csma_cd=csma_cd),
        **{
            key: standard[key]
            for key in ("fcs_bits", "attempt_limit", "backoff_limit", "max_stations")
        },
    )
