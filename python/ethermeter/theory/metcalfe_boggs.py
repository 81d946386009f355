"""Metcalfe and Boggs 1976: efficiency of a channel whose stations always have a packet."""

from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, plain, together
from ethermeter.theory.arguments import PACKET_BITS, RATE_BPS, SAME, STATIONS, TIME_S
from ethermeter.theory.entry import NOT_MODELLED, Model, Output, Symbol, assuming

MODEL = "metcalfe-boggs-1976"


@dataclass(frozen=True, slots=True)
class Saturation:
    """Performance of continuously queued stations.

    Parameters
    ----------
    acquisition
        Probability that exactly one station starts in a slot; from 1/e to 1.
    waiting_slots
        Mean slots without a success before a packet; from 0 to e - 1.
    efficiency
        Fraction of time in which packets are sent.
    outside_range
        Where a packet is shorter than a slot, so that its collisions may go unseen.

    """

    acquisition: Array
    waiting_slots: Array
    efficiency: Array
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


def metcalfe_boggs_1976(
    stations: Numbers, *, packet_bits: Numbers, rate_bps: Numbers, slot_s: Numbers
) -> Saturation:
    """Efficiency with Q continuously queued stations.

    Parameters
    ----------
    stations
        Q, stations that always have a packet; whole, at least 1.
    packet_bits
        P, length of a packet [bit]; from 0.001 to 1e12.
    rate_bps
        C, line rate [bit/s]; from 0.001 to 1e15.
    slot_s
        T, time to detect a collision [s]; at least 0.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range or the shapes do not broadcast.

    Assumptions
    -----------
    In every slot of the contention each station starts with probability exactly 1/Q; then one
    packet, without gap or preamble.

    Source
    ------
    Metcalfe and Boggs, CACM 19(7), 1976, section 6.

    Examples
    --------
    >>> found = metcalfe_boggs_1976([2, 64], packet_bits=512, rate_bps=3e6, slot_s=16e-6)
    >>> [f"{value:.4f}" for value in found.efficiency]
    ['0.9143', '0.8627']

    """
    q, bits, rate, slot = together(
        MODEL,
        stations=(stations, STATIONS),
        packet_bits=(packet_bits, PACKET_BITS),
        rate_bps=(rate_bps, RATE_BPS),
        slot_s=(slot_s, TIME_S),
    )
    packet_s, waiting = bits / rate, waiting_slots(q)
    return Saturation(
        acquisition=plain(acquisition(q)),
        waiting_slots=plain(waiting),
        efficiency=plain(packet_s / (packet_s + waiting * slot)),
        outside_range=plain(packet_s < slot * (1 - SAME)),
    )


ENTRIES = (
    Model(
        MODEL,
        "efficiency with continuously queued stations",
        1976,
        metcalfe_boggs_1976,
        (
            Symbol("stations", "Q", "", "stations that always have a packet", STATIONS),
            Symbol("packet_bits", "P", "bit", "length of a packet", PACKET_BITS),
            Symbol("rate_bps", "C", "bit/s", "line rate", RATE_BPS),
            Symbol("slot_s", "T", "s", "time to detect a collision", TIME_S),
        ),
        (
            Output("acquisition", "A", "", "probability that exactly one station starts in a slot"),
            Output("waiting_slots", "W", "slots", "mean slots without success before a packet"),
            Output("efficiency", "E", "", "fraction of time in which packets are sent"),
        ),
        assuming(
            slotting="slots of one collision time, between packets",
            persistence="1-persistent",
            population="finite",
            arrivals="saturated",
            retransmission="each station starts with probability 1/Q in a slot",
            collision_length="one slot",
            topology="all stations hear alike",
            buffers="never empty",
            packet_lengths="fixed",
            **NOT_MODELLED,
        ),
        "R. M. Metcalfe, D. R. Boggs, Ethernet: distributed packet switching for local computer"
        " networks, CACM 19(7), 1976, section 6",
        "mathematics solid: simulation within 0.14 %; the paper's formula, its table compared from"
        " memory",
        "packets at least a slot long",
        (
            "The slot is the round trip of the cable in use; with the 51.2 us of the standard it"
            " is far too pessimistic for a shorter one.",
        ),
    ),
)
