"""Bux 1981: delay of CSMA/CD, token rings and slotted rings."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, Range, choice, plain, same_shape
from ethermeter.theory.arguments import (
    ARRIVAL_RATE,
    PACKET_BITS,
    PACKET_S,
    SAME,
    STATIONS,
    TIME_S,
    packet_times,
    stable,
)
from ethermeter.theory.entry import (
    NOT_MODELLED,
    Delay,
    Output,
    Symbol,
    Unstable,
    catalogued,
    read,
)
from ethermeter.theory.lam import (
    QUEUE_ASSUMED,
    QUEUE_VALIDITY,
    ArrivalRate,
    Distribution,
    PacketTime,
    PropagationTau,
    Weights,
    finish,
    printed_delay_s,
    read_queue,
)

CSMA_CD, TOKEN_RING, SLOTTED_RING = (
    "bux-1981-csma-cd",
    "bux-1981-token-ring",
    "bux-1981-slotted-ring",
)
DISCIPLINES = ("exhaustive", "gated", "limited")
_SOURCE = (
    "W. Bux, Local-area subnetworks: a performance comparison, IEEE Trans. Communications 29(10),"
    " 1981"
)
_RING_ASSUMED = {
    "topology": "a ring, receivers half of it away on the average",
    "persistence": "none: access in turn",
    "arrivals": "Poisson, the same at all stations",
    "retransmission": "none: no collisions",
    "collision_length": "none: no collisions",
    "buffers": "unlimited",
    **NOT_MODELLED,
}


@dataclass(frozen=True, slots=True)
class RingDelay:
    """Delay on a ring; NaN and outside the range where the queues are not stable."""

    delay_s: Annotated[Array, Output("t_f", "mean time from arrival to the end of reception", "s")]
    wait_s: Annotated[
        Array, Output("W", "mean time from arrival to the start of transmission", "s")
    ]
    utilisation: Annotated[Array, Output("S", "arrival rate times mean packet time")]
    outside_range: Flags


@catalogued(
    "delay of CSMA/CD, corrected for the effects of slots",
    {"slotting": "slots of one round trip, their effect taken out afterwards", **QUEUE_ASSUMED},
    source=_SOURCE,
    confidence="mathematics solid; the printed formula as remembered, which proved to be an exact"
    " form of a precise model; its knee at 0.4 for 10 Mb/s agrees with what Boggs et al. report",
    validity=QUEUE_VALIDITY,
)
def bux_1981_csma_cd(
    arrival_rate: ArrivalRate,
    *,
    packet_s: PacketTime,
    propagation_s: PropagationTau,
    weights: Weights = None,
    lengths: Distribution = "fixed",
    unstable: Unstable = "error",
) -> Delay:
    """Mean delay of CSMA/CD as printed: Lam's, corrected for the effects of the slots.

    As `lam_1980` with exponential contention, less 2 tau, plus tau/2: no wait for a slot to begin,
    and the mean propagation counted once. The receiver is tau/2 away on the average.
    """
    queue = read_queue(CSMA_CD, arrival_rate, packet_s, propagation_s, weights, lengths, unstable)
    return finish(queue, printed_delay_s(queue) + queue.tau_s / 2)


@catalogued(
    "delay of a token ring",
    {
        **_RING_ASSUMED,
        "slotting": "none",
        "population": "finite, all stations alike",
        "packet_lengths": "fixed, exponential, or a mix",
    },
    source=_SOURCE,
    confidence="waits exact (simulation within 0.2 %); the paper's formula as remembered for"
    " exhaustive service",
    validity="packets longer than the ring: a shorter one would hold the token until it came back",
)
def bux_1981_token_ring(
    arrival_rate: ArrivalRate,
    *,
    stations: Annotated[
        Numbers, Symbol("N", "number of stations on the ring, all alike", STATIONS)
    ],
    packet_s: PacketTime,
    latency_s: Annotated[
        Numbers,
        Symbol(
            "R",
            "time of the token around the idle ring, station delays included",
            TIME_S,
            "s",
        ),
    ],
    discipline: Annotated[
        str,
        Symbol(
            "",
            "service discipline; a station that receives the token sends all its packets "
            "(exhaustive), those present when the token arrives (gated), or one (limited)",
            DISCIPLINES,
        ),
    ] = "exhaustive",
    weights: Weights = None,
    lengths: Distribution = "fixed",
    unstable: Unstable = "error",
) -> RingDelay:
    """Mean delay of a token ring with equal stations; exact waits for all three disciplines.

    The token is released with the end of the packet.
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


@catalogued(
    "delay of a slotted ring: doubtful",
    {
        **_RING_ASSUMED,
        "slotting": "slots that circulate",
        "population": "infinite",
        "packet_lengths": "any; cut into slots",
    },
    source=_SOURCE,
    confidence="doubtful: formula from memory; no published value was available to check it",
    validity="an unknown range",
    notes=("Doubtful: not validated by any simulation or printed value.",),
)
def bux_1981_slotted_ring(
    arrival_rate: ArrivalRate,
    *,
    packet_s: Annotated[
        Numbers, Symbol("E1", "mean packet time at line rate, without headers", PACKET_S, "s")
    ],
    latency_s: Annotated[Numbers, Symbol("R", "time around the ring", TIME_S, "s")],
    header_bits: Annotated[
        Numbers, Symbol("L_h", "length of the header of a slot", Range(0, 1e12), "bit")
    ],
    data_bits: Annotated[
        Numbers, Symbol("L_d", "length of the data of a slot", PACKET_BITS, "bit")
    ],
    unstable: Unstable = "error",
) -> Delay:
    """Mean delay of a slotted ring; doubtful, as no published value was available to check it.

    All packets under way share the ring equally (processor sharing), and a slot returns to its
    sender, who frees it, so that half of the carried load is useful.
    """
    rate, mean, ring, header, data = read(
        bux_1981_slotted_ring,
        arrival_rate=arrival_rate,
        packet_s=packet_s,
        latency_s=latency_s,
        header_bits=header_bits,
        data_bits=data_bits,
    )
    service = mean * (header + data) / data
    good = stable(SLOTTED_RING, "arrival_rate", rate, 1 / service, unstable)
    with np.errstate(divide="ignore", invalid="ignore"):
        delay = np.where(good, 2 * service / (1 - rate * service) + ring / 2, np.nan)
    return Delay(delay_s=plain(delay), utilisation=plain(rate * mean), outside_range=plain(~good))
