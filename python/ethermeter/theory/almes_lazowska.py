"""Almes and Lazowska 1979: response time of an Ethernet under Poisson load."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, choice, plain
from ethermeter.theory.arguments import LOAD, SAME, TIME_S, stable
from ethermeter.theory.entry import Output, Symbol, Unstable, catalogued, read
from ethermeter.theory.metcalfe_boggs import (
    ASSUMED,
    PacketBits,
    RateBps,
    acquisition,
    waiting_slots,
)
from ethermeter.theory.probability import poisson

MODEL = "almes-lazowska-1979"
METHODS = ("chain", "birth-death")
MOST_PACKETS = 20_000
"""Largest number of packets present that is followed; reached about 0.1 % below the limit."""

_NEGLIGIBLE = 1e-13
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Response:
    """How long packets take; NaN where the load is not stable or too near the limit."""

    response_s: Annotated[
        Array, Output("R", "mean time from arrival to the end of transmission", "s")
    ]
    waiting: Annotated[
        Array, Output("N", "mean number of packets in the system, the one being sent included")
    ]
    outside_range: Flags


@catalogued(
    "response time against load",
    {
        **ASSUMED,
        "population": "infinite",
        "arrivals": "Poisson",
        "retransmission": "with n packets present each is tried with probability 1/n in a slot",
        "buffers": "unlimited, one queue for all",
        "packet_lengths": "fixed (chain) or exponential (birth-death)",
    },
    source="G. T. Almes, E. D. Lazowska, The behaviour of Ethernet-like computer communications"
    " networks, 7th SOSP, 1979",
    confidence="mathematics solid: simulation of the chain within 0.4 %, birth-death 8 to 11 % high"
    " for 512 bit and 0.6 to 2 % from 2048 bit; a reconstruction, whose identity with the paper's"
    " formula is doubtful, but it agrees with what Boggs et al. report of it",
    validity="loads below (P/C)/(P/C + (e-1)T); packets at least a slot long",
)
def almes_lazowska_1979(
    load: Annotated[Numbers, Symbol("G", "packets offered per packet time", LOAD)],
    *,
    packet_bits: PacketBits,
    rate_bps: RateBps,
    slot_s: Annotated[Numbers, Symbol("T", "contention slot", TIME_S, "s")],
    method: Annotated[
        str,
        Symbol(
            "",
            "method; chain: fixed lengths, slot by slot; birth-death: exponential times "
            "with the same means",
            METHODS,
        ),
    ] = "chain",
    unstable: Unstable = "error",
) -> Response:
    """Response time against load.

    The chain is that of the packets present at every slot of a contention; "birth-death" is a
    server whose mean time depends on the packets present.

    Poisson arrivals in one queue that all stations share; n packets contend as n stations of
    Metcalfe and Boggs, a single one starts at once. A reconstruction: it agrees with what is
    reported of the paper, whose own formula was not at hand.
    """
    g, bits, rate, slot = read(
        almes_lazowska_1979, load=load, packet_bits=packet_bits, rate_bps=rate_bps, slot_s=slot_s
    )
    choice(MODEL, "method", method, METHODS)
    packet_s = bits / rate
    ratio = slot / packet_s
    good = stable(MODEL, "load", g, 1 / (1 + np.expm1(1.0) * ratio), unstable)
    present = np.where(good, 0.0, np.nan)
    busy = good & (g > 0)
    solve = _chain if method == "chain" else _birth_death
    if busy.any():
        loads, ratios, found = g[busy], ratio[busy], np.empty(int(busy.sum()))
        order = np.argsort(loads * (1 + np.expm1(1.0) * ratios))
        # Neighbours in stability need about as many states.
        for first in range(0, order.size, _BLOCK):
            block = order[first : first + _BLOCK]
            found[block] = solve(loads[block], ratios[block])
        present[busy] = found
    with np.errstate(invalid="ignore"):
        # Little: the mean number is the rate times the mean time.
        response = np.where(
            busy, present * packet_s / np.where(g > 0, g, 1.0), np.where(good, packet_s, np.nan)
        )
    outside = ~good | (packet_s < slot * (1 - SAME)) | np.isnan(response)
    return Response(
        response_s=plain(response), waiting=plain(present), outside_range=plain(outside)
    )


def _chain(load: Array, ratio: Array) -> Array:
    """Return the mean number left behind at departures.

    At every decision n packets are present. With probability A(n) one of them gets through: n - 1 +
    Poisson(load) after a packet time. Otherwise a slot passes: n + Poisson(load ratio). Falling by
    at most one, the chain is solved through its cuts, as in `markov`.
    """
    after_packet, after_slot = load, load * ratio
    most = max(after_packet.max(), after_slot.max())
    span = int(np.ceil(most + 9 * np.sqrt(most) + 24))
    above_packet, above_slot = _tails(after_packet, span + 1), _tails(after_slot, span)
    # Column -1-k holds the weight of k packets fewer than now, times the probability to succeed or
    # to fail there.
    success, failure = np.zeros((load.size, span + 1)), np.zeros((load.size, span + 1))
    total, weighted = np.zeros(load.size), np.zeros(load.size)
    # State 0, of weight 1, is left by an arrival, which finds the channel free: state 1, and A(1) =
    # 1.
    state, chance = np.exp(after_packet), 1.0
    for n in range(1, MOST_PACKETS):
        success, failure = np.roll(success, -1, axis=1), np.roll(failure, -1, axis=1)
        success[:, -1], failure[:, -1] = state * chance, state * (1 - chance)
        share = state * chance * (n - 1 + after_packet)
        total, weighted = total + state * chance, weighted + share
        # Up through the cut above n, from n - k: a success must bring more than k + 1, a failure
        # more than k.
        up = np.einsum("ij,ij->i", success, above_packet[:, :0:-1]) + np.einsum(
            "ij,ij->i", failure, above_slot[:, ::-1]
        )
        chance = float(acquisition(np.asarray(n + 1.0)))
        state = up / (chance * np.exp(-after_packet))
        if n % 16 == 0 and _is_small(share, weighted, state * chance * (n + after_packet)):
            return np.asarray(weighted / total)
    return np.full(load.size, np.nan)


def _is_small(share: Array, weighted: Array, following: Array) -> bool:
    """Whether the remaining terms are negligible; they fall about geometrically."""
    fall = np.divide(following, share, out=np.zeros_like(share), where=share > 0)
    return bool(np.all((fall < 1) & (share <= _NEGLIGIBLE * (1 - fall) * weighted)))


def _tails(mean: Array, span: int) -> Array:
    """Return the probabilities of more than 0, 1, … span events, shape (points, span + 1)."""
    masses = poisson(np.arange(span + 40, dtype=np.float64)[None, :], mean[:, None])
    return np.asarray(np.cumsum(masses[:, ::-1], axis=1)[:, ::-1][:, 1 : span + 2])


def _birth_death(load: Array, ratio: Array) -> Array:
    """Return the mean number present at a service rate of 1/(1 + W(n) ratio) a packet time."""
    weight = np.ones(load.size)
    total, weighted = np.ones(load.size), np.zeros(load.size)
    for n in range(1, MOST_PACKETS):
        fall = load * (1 + waiting_slots(np.asarray(float(n))) * ratio)
        weight = weight * fall
        total += weight
        weighted += n * weight
        if n % 16 == 0 and np.all(
            (fall < 1) & (n * weight <= _NEGLIGIBLE * (1 - np.minimum(fall, 1)) ** 2 * weighted)
        ):
            return np.asarray(weighted / total)
    return np.full(load.size, np.nan)
