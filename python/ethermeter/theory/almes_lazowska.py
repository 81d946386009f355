"""Almes and Lazowska 1979: response time of an Ethernet under Poisson load."""

from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, choice, plain, together
from ethermeter.theory.arguments import LOAD, PACKET_BITS, RATE_BPS, SAME, TIME_S, stable
from ethermeter.theory.entry import NOT_MODELLED, WHEN_UNSTABLE, Model, Output, Symbol, assuming
from ethermeter.theory.metcalfe_boggs import acquisition, waiting_slots
from ethermeter.theory.special import poisson

MODEL = "almes-lazowska-1979"
METHODS = ("chain", "birth-death")
MOST_PACKETS = 20_000
"""Largest number of packets present that is followed; reached about 0.1 % below the limit."""

_NEGLIGIBLE = 1e-13
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Response:
    """How long packets take.

    Parameters
    ----------
    response_s
        Mean time from arrival to the end of transmission [s].
    waiting
        Mean number of packets present, the one being sent included.
    outside_range
        Where a packet is shorter than a slot, or the load is not stable, or so near the limit that
        no value can be had (NaN).

    """

    response_s: Array
    waiting: Array
    outside_range: Flags


def almes_lazowska_1979(
    load: Numbers,
    *,
    packet_bits: Numbers,
    rate_bps: Numbers,
    slot_s: Numbers,
    method: str = "chain",
    unstable: str = "error",
) -> Response:
    """Response time against load.

    Parameters
    ----------
    load
        G, packets offered a packet time; at least 0, below (P/C)/(P/C + (e-1)T).
    packet_bits
        P, length of a packet [bit]; from 0.001 to 1e12.
    rate_bps
        C, line rate [bit/s]; from 0.001 to 1e15.
    slot_s
        T, contention slot [s]; at least 0.
    method
        "chain": fixed lengths, the chain of the packets present at every slot of a contention.
        "birth-death": a server whose mean time depends on the packets present, with exponential
        lengths and contentions.
    unstable
        "error" or "nan": what happens to loads beyond the limit.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, the shapes do not broadcast, or a load is not stable and
        `unstable` is "error".

    Assumptions
    -----------
    Poisson arrivals in one queue that all stations share; n packets contend as n stations of
    Metcalfe and Boggs, a single one starts at once. A reconstruction: it agrees with what is
    reported of the paper, whose own formula was not at hand.

    Source
    ------
    Almes and Lazowska, 7th SOSP, 1979.

    """
    g, bits, rate, slot = together(
        MODEL,
        load=(load, LOAD),
        packet_bits=(packet_bits, PACKET_BITS),
        rate_bps=(rate_bps, RATE_BPS),
        slot_s=(slot_s, TIME_S),
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
    span = int(
        np.ceil(
            max(after_packet.max(), after_slot.max())
            + 9 * np.sqrt(max(after_packet.max(), after_slot.max()))
            + 24
        )
    )
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


ENTRIES = (
    Model(
        MODEL,
        "response time against load",
        1979,
        almes_lazowska_1979,
        (
            Symbol("load", "G", "", "packets offered a packet time", LOAD),
            Symbol("packet_bits", "P", "bit", "length of a packet", PACKET_BITS),
            Symbol("rate_bps", "C", "bit/s", "line rate", RATE_BPS),
            Symbol("slot_s", "T", "s", "contention slot", TIME_S),
            Symbol(
                "method",
                "",
                "",
                "chain: fixed lengths, slot by slot; birth-death: exponential times of the same"
                " means",
                METHODS,
                "chain",
            ),
            WHEN_UNSTABLE,
        ),
        (
            Output("response_s", "R", "s", "mean time from arrival to the end of transmission"),
            Output(
                "waiting", "N", "", "mean number of packets present, the one being sent included"
            ),
        ),
        assuming(
            slotting="slots of one collision time, between packets",
            persistence="1-persistent",
            population="infinite",
            arrivals="Poisson",
            retransmission="with n packets present each is tried with probability 1/n in a slot",
            collision_length="one slot",
            topology="all stations hear alike",
            buffers="unlimited, one queue for all",
            packet_lengths="fixed (chain) or exponential (birth-death)",
            **NOT_MODELLED,
        ),
        "G. T. Almes, E. D. Lazowska, The behaviour of Ethernet-like computer communications"
        " networks, 7th SOSP, 1979",
        "mathematics solid: simulation of the chain within 0.4 %, birth-death 8 to 11 % high for"
        " 512 bit and 0.6 to 2 % from 2048 bit; a reconstruction, whose identity with the paper's"
        " formula is doubtful, but it agrees with what Boggs et al. report of it",
        "loads below (P/C)/(P/C + (e-1)T); packets at least a slot long",
    ),
)
