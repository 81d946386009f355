"""Metcalfe and Boggs 1976: how much of a channel is left when every station always has a packet."""

from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, plain, together
from ethermeter.theory.arguments import PACKET_BITS, RATE_BPS, SAME, STATIONS, TIME_S

MODEL = "metcalfe-boggs-1976"


@dataclass(frozen=True, slots=True)
class Saturation:
    """What continuously queued stations achieve.

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
    """Return the mean number of slots without a success, 1/A - 1, for a number of stations of at
    least 1.
    """
    return np.asarray(np.expm1(0.0 - _log_acquisition(stations)))


def acquisition(stations: Array) -> Array:
    """Return the probability that exactly one of the stations starts in a slot, each with
    probability 1/Q.
    """
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
