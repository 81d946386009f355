"""Bux 1981: delay of CSMA/CD, token rings and slotted rings."""

from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, choice, plain, same_shape, together
from ethermeter.theory.arguments import (
    ARRIVAL_RATE,
    PACKET_BITS,
    PACKET_S,
    SAME,
    STATIONS,
    TIME_S,
    stable,
)
from ethermeter.theory.entry import (
    NOT_MODELLED,
    WHEN_UNSTABLE,
    Delay,
    Model,
    Output,
    Symbol,
    assuming,
)
from ethermeter.theory.lam import (
    ARRIVALS,
    DELAY,
    DISTRIBUTION,
    PACKET_TIME,
    PROPAGATION_TAU,
    QUEUE_ASSUMES,
    UTILISATION,
    WEIGHTS_OF_MIX,
    finish,
    printed_delay_s,
    read_queue,
)
from ethermeter.theory.lengths import packet_times

CSMA_CD, TOKEN_RING, SLOTTED_RING = (
    "bux-1981-csma-cd",
    "bux-1981-token-ring",
    "bux-1981-slotted-ring",
)
DISCIPLINES = ("exhaustive", "gated", "limited")
HEADER_BITS = Range(0, 1e12)


@dataclass(frozen=True, slots=True)
class RingDelay:
    """Delay on a ring.

    Parameters
    ----------
    delay_s
        Mean time from the arrival of a packet to the end of its reception [s].
    wait_s
        Mean time from the arrival to the start of transmission [s].
    utilisation
        Arrival rate times mean packet time.
    outside_range
        Where a packet is shorter than the ring, or the queues are not stable (NaN).

    """

    delay_s: Array
    wait_s: Array
    utilisation: Array
    outside_range: Flags


def bux_1981_csma_cd(
    arrival_rate: Numbers,
    *,
    packet_s: Numbers,
    propagation_s: Numbers,
    weights: Numbers | None = None,
    lengths: str = "fixed",
    unstable: str = "error",
) -> Delay:
    """Mean delay of CSMA/CD as printed: Lam's, corrected for the effects of the slots.

    Parameters
    ----------
    arrival_rate
        lambda, of all stations together [1/s]; at least 0.
    packet_s
        Packet time: the fixed one, the mean, or those of a mix, shape (lengths,) [s]; from 1e-15 to
        1e6.
    propagation_s
        tau, one-way end-to-end propagation [s]; at least 0.
    weights
        Weights of the lengths of a mix, shape (lengths,).
    lengths
        "fixed", "exponential" or "mix".
    unstable
        "error" or "nan": what happens to rates beyond the limit.

    Returns
    -------
    :
        To the end of the packet at its receiver, tau/2 away on the average; of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, the shapes do not broadcast, or a rate is not stable and
        `unstable` is "error".

    Assumptions
    -----------
    As `lam_1980` with exponential contention, less 2 tau, plus tau/2: no wait for a slot to begin,
    and the mean propagation counted once.

    Source
    ------
    Bux, IEEE T-COM 29(10), 1981, from memory.

    """
    queue = read_queue(CSMA_CD, arrival_rate, packet_s, propagation_s, weights, lengths, unstable)
    return finish(queue, printed_delay_s(queue) + queue.tau_s / 2)


def bux_1981_token_ring(
    arrival_rate: Numbers,
    *,
    stations: Numbers,
    packet_s: Numbers,
    latency_s: Numbers,
    discipline: str = "exhaustive",
    weights: Numbers | None = None,
    lengths: str = "fixed",
    unstable: str = "error",
) -> RingDelay:
    """Mean delay of a token ring with equal stations.

    Parameters
    ----------
    arrival_rate
        lambda, of all stations together [1/s]; at least 0.
    stations
        N; whole, at least 1.
    packet_s
        Packet time: the fixed one, the mean, or those of a mix, shape (lengths,) [s]; from 1e-15 to
        1e6.
    latency_s
        R, time of the token around the quiet ring, station delays included [s]; at least 0.
    discipline
        What a station sends when the token comes: all it has until it has none ("exhaustive"), what
        it had then ("gated"), or one packet ("limited").
    weights
        Weights of the lengths of a mix, shape (lengths,).
    lengths
        "fixed", "exponential" or "mix".
    unstable
        "error" or "nan": what happens to rates beyond the limit.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, the shapes do not broadcast, or a rate is not stable and
        `unstable` is "error".

    Assumptions
    -----------
    Poisson arrivals, the same at all stations; the token is released with the end of the packet;
    receivers are half a ring away on the average.

    Source
    ------
    Bux, IEEE T-COM 29(10), 1981, from memory (exhaustive); the waits of all three disciplines are
    exact.

    """
    choice(TOKEN_RING, "discipline", discipline, DISCIPLINES)
    packet = packet_times(TOKEN_RING, packet_s, weights, lengths)
    rate, n, mean, square, ring = same_shape(
        TOKEN_RING,
        ["arrival_rate", "stations", "packet_s", "packet_s", "latency_s"],
        [
            ARRIVAL_RATE.read(TOKEN_RING, "arrival_rate", arrival_rate),
            STATIONS.read(TOKEN_RING, "stations", stations),
            packet.mean_s,
            packet.square_s2,
            TIME_S.read(TOKEN_RING, "latency_s", latency_s),
        ],
    )
    # With one packet a visit, every packet costs a walk to the next station too.
    walk = ring / n if discipline == "limited" else np.zeros_like(ring)
    good = stable(TOKEN_RING, "arrival_rate", rate, 1 / (mean + walk), unstable)
    busy = rate * mean
    visit = ring * (1 - busy / n if discipline == "exhaustive" else 1 + busy / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = np.where(good, (rate * square + visit) / (2 * (1 - busy - rate * walk)), np.nan)
    return RingDelay(
        delay_s=plain(wait + mean + ring / 2),
        wait_s=plain(wait),
        utilisation=plain(busy),
        outside_range=plain(~good | (mean < ring * (1 - SAME))),
    )


def bux_1981_slotted_ring(
    arrival_rate: Numbers,
    *,
    packet_s: Numbers,
    latency_s: Numbers,
    header_bits: Numbers,
    data_bits: Numbers,
    unstable: str = "error",
) -> Delay:
    """Mean delay of a slotted ring; doubtful, and checked against nothing.

    Parameters
    ----------
    arrival_rate
        lambda, of all stations together [1/s]; at least 0.
    packet_s
        Mean packet time at line rate, without headers [s]; from 1e-15 to 1e6.
    latency_s
        R, time around the ring [s]; at least 0.
    header_bits, data_bits
        Of a slot [bit]; at least 0, and at least 0.001.
    unstable
        "error" or "nan": what happens to rates beyond the limit.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, the shapes do not broadcast, or a rate is not stable and
        `unstable` is "error".

    Assumptions
    -----------
    All packets under way share the ring equally (processor sharing), and a slot returns to its
    sender, who frees it, so that half of the carried load is useful.

    Source
    ------
    Bux, IEEE T-COM 29(10), 1981, from memory: doubtful.

    """
    rate, mean, ring, header, data = together(
        SLOTTED_RING,
        arrival_rate=(arrival_rate, ARRIVAL_RATE),
        packet_s=(packet_s, PACKET_S),
        latency_s=(latency_s, TIME_S),
        header_bits=(header_bits, HEADER_BITS),
        data_bits=(data_bits, PACKET_BITS),
    )
    service = mean * (header + data) / data
    good = stable(SLOTTED_RING, "arrival_rate", rate, 1 / service, unstable)
    with np.errstate(divide="ignore", invalid="ignore"):
        delay = np.where(good, 2 * service / (1 - rate * service) + ring / 2, np.nan)
    return Delay(delay_s=plain(delay), utilisation=plain(rate * mean), outside_range=plain(~good))


_SOURCE = (
    "W. Bux, Local-area subnetworks: a performance comparison, IEEE Trans. Communications 29(10),"
    " 1981"
)
_RING_ASSUMES = {
    "persistence": "none: access in turn",
    "arrivals": "Poisson, the same at all stations",
    "retransmission": "none: no collisions",
    "collision_length": "none: no collisions",
    "buffers": "unlimited",
    **NOT_MODELLED,
}

ENTRIES = (
    Model(
        CSMA_CD,
        "delay of CSMA/CD, corrected for the effects of slots",
        1981,
        bux_1981_csma_cd,
        (ARRIVALS, PACKET_TIME, PROPAGATION_TAU, WEIGHTS_OF_MIX, DISTRIBUTION, WHEN_UNSTABLE),
        (DELAY, UTILISATION),
        assuming(
            slotting="slots of one round trip, their effect taken out afterwards", **QUEUE_ASSUMES
        ),
        _SOURCE,
        "mathematics solid; the printed formula as remembered, which proved to be an exact form of"
        " a precise model; its knee at 0.4 for 10 Mb/s agrees with what Boggs et al. report",
        "rates below 1/(E1 + tau + 2e tau); packets at least a round trip long; no value where"
        " even an empty slot is improbable",
    ),
    Model(
        TOKEN_RING,
        "delay of a token ring",
        1981,
        bux_1981_token_ring,
        (
            ARRIVALS,
            Symbol("stations", "N", "", "stations on the ring, all alike", STATIONS),
            PACKET_TIME,
            Symbol(
                "latency_s",
                "R",
                "s",
                "time of the token around the quiet ring, station delays included",
                TIME_S,
            ),
            Symbol(
                "discipline",
                "",
                "",
                "what a station sends when the token comes: all, what it had then, or one packet",
                DISCIPLINES,
                "exhaustive",
            ),
            WEIGHTS_OF_MIX,
            DISTRIBUTION,
            WHEN_UNSTABLE,
        ),
        (
            DELAY,
            Output("wait_s", "W", "s", "mean time from arrival to the start of transmission"),
            UTILISATION,
        ),
        assuming(
            slotting="none",
            population="finite, all stations alike",
            topology="a ring, receivers half of it away on the average",
            packet_lengths="fixed, exponential, or a mix",
            **_RING_ASSUMES,
        ),
        _SOURCE,
        "waits exact (simulation within 0.2 %); the paper's formula as remembered for exhaustive"
        " service",
        "packets longer than the ring: a shorter one would hold the token until it came back",
    ),
    Model(
        SLOTTED_RING,
        "delay of a slotted ring: doubtful",
        1981,
        bux_1981_slotted_ring,
        (
            ARRIVALS,
            Symbol(
                "packet_s", "E1", "s", "mean packet time at line rate, without headers", PACKET_S
            ),
            Symbol("latency_s", "R", "s", "time around the ring", TIME_S),
            Symbol("header_bits", "L_h", "bit", "header of a slot", HEADER_BITS),
            Symbol("data_bits", "L_d", "bit", "data of a slot", PACKET_BITS),
            WHEN_UNSTABLE,
        ),
        (DELAY, UTILISATION),
        assuming(
            slotting="slots that circulate",
            population="infinite",
            topology="a ring, receivers half of it away on the average",
            packet_lengths="any; cut into slots",
            **_RING_ASSUMES,
        ),
        _SOURCE,
        "doubtful: from memory, and checked against nothing",
        "unknown",
        ("Doubtful: not validated by any simulation or printed value.",),
    ),
)
