"""Metcalfe and Boggs 1976: efficiency of a channel whose stations always have a packet."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, plain
from ethermeter.theory.arguments import PACKET_BITS, RATE_BPS, SAME, STATIONS, TIME_S
from ethermeter.theory.entry import NOT_MODELLED, Output, Symbol, catalogued, read

PacketBits = Annotated[Numbers, Symbol("P", "length of a packet", PACKET_BITS, "bit")]
RateBps = Annotated[Numbers, Symbol("C", "line rate", RATE_BPS, "bit/s")]
ASSUMED = {
    "slotting": "slots of one collision time, between packets",
    "persistence": "1-persistent",
    "collision_length": "one slot",
    "topology": "all stations hear alike",
    **NOT_MODELLED,
}


@dataclass(frozen=True, slots=True)
class Saturation:
    """Performance of continuously queued stations; collisions of a short packet may go unseen."""

    acquisition: Annotated[
        Array, Output("A", "probability that exactly one station starts in a slot")
    ]
    waiting_slots: Annotated[
        Array, Output("W", "mean slots without success before a packet", "slots")
    ]
    efficiency: Annotated[Array, Output("E", "fraction of time in which packets are sent")]
    outside_range: Flags


def waiting_slots(stations: Array) -> Array:
    """Return the mean number of slots without a success, 1/A - 1, of at least one station."""
    return np.asarray(np.expm1(0.0 - _log_acquisition(stations)))


def acquisition(stations: Array) -> Array:
    """Return the probability that exactly one of Q stations starts, each with probability 1/Q."""
    return np.asarray(np.exp(_log_acquisition(stations)))


def _log_acquisition(stations: Array) -> Array:
    several = np.maximum(stations, 2.0)
    return np.where(stations > 1, (several - 1) * np.log1p(-1 / several), 0.0)


@catalogued(
    "efficiency with continuously queued stations",
    {
        **ASSUMED,
        "population": "finite",
        "arrivals": "saturated",
        "retransmission": "each station starts with probability 1/Q in a slot",
        "buffers": "never empty",
        "packet_lengths": "fixed",
    },
    source="R. M. Metcalfe, D. R. Boggs, Ethernet: distributed packet switching for local computer"
    " networks, CACM 19(7), 1976, section 6",
    confidence="mathematics solid: simulation within 0.14 %; the paper's formula, its table"
    " compared from memory",
    validity="packets at least a slot long",
    notes=(
        "The slot is the round trip of the cable in use; with the 51.2 µs of the standard it is far"
        " too pessimistic for a shorter one.",
    ),
)
def metcalfe_boggs_1976(
    stations: Annotated[
        Numbers, Symbol("Q", "number of stations, which always have a packet", STATIONS)
    ],
    *,
    packet_bits: PacketBits,
    rate_bps: RateBps,
    slot_s: Annotated[Numbers, Symbol("T", "time to detect a collision", TIME_S, "s")],
) -> Saturation:
    """Efficiency with Q continuously queued stations; A is from 1/e to 1, W from 0 to e - 1.

    In every slot of the contention each station starts with probability exactly 1/Q; then one
    packet, without gap or preamble.

    Examples
    --------
    >>> found = metcalfe_boggs_1976([2, 64], packet_bits=512, rate_bps=3e6, slot_s=16e-6)
    >>> [f"{value:.4f}" for value in found.efficiency]
    ['0.9143', '0.8627']

    """
    q, bits, rate, slot = read(
        metcalfe_boggs_1976,
        stations=stations,
        packet_bits=packet_bits,
        rate_bps=rate_bps,
        slot_s=slot_s,
    )
    packet_s, waiting = bits / rate, waiting_slots(q)
    return Saturation(
        acquisition=plain(acquisition(q)),
        waiting_slots=plain(waiting),
        efficiency=plain(packet_s / (packet_s + waiting * slot)),
        outside_range=plain(packet_s < slot * (1 - SAME)),
    )
