"""Lam 1980: delay of a slotted CSMA/CD channel with adaptive backoff, as one queue."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, choice, plain, same_shape
from ethermeter.theory.arguments import (
    ARRIVAL_RATE,
    LENGTHS,
    PACKET_S,
    SAME,
    TIME_S,
    WEIGHT,
    packet_times,
    stable,
)
from ethermeter.theory.entry import NOT_MODELLED, Delay, Symbol, Unstable, catalogued
from ethermeter.theory.probability import mean_decay

MODEL = "lam-1980"
CONTENTIONS = ("geometric", "exponential")
_E = np.e

ArrivalRate = Annotated[
    Numbers,
    Symbol("lambda", "arrival rate of packets at all stations together", ARRIVAL_RATE, "1/s"),
]
PacketTime = Annotated[
    Numbers,
    Symbol(
        "E1",
        "packet time: the fixed one, the mean of exponential ones, or those of a mix",
        PACKET_S,
        "s",
        row=True,
    ),
]
PropagationTau = Annotated[
    Numbers, Symbol("tau", "one-way propagation delay from end to end", TIME_S, "s")
]
Weights = Annotated[Numbers | None, Symbol("", "weights of the lengths of a mix", WEIGHT, row=True)]
Distribution = Annotated[str, Symbol("", "distribution of the packet times", LENGTHS)]

QUEUE_ASSUMED = {
    "population": "infinite",
    "arrivals": "Poisson",
    "buffers": "none: each packet is a station of its own",
    "packet_lengths": "fixed, exponential, or a mix",
    "persistence": "1-persistent",
    "retransmission": "adaptive: a slot of a contention succeeds with probability 1/e",
    "collision_length": "one round trip",
    "topology": "a bus by its ends: the round trip",
    **NOT_MODELLED,
}
QUEUE_VALIDITY = (
    "rates below 1/(E1 + tau + 2e tau); packets at least a round trip long; no value where even an"
    " empty slot is improbable"
)


@catalogued(
    "delay of slotted CSMA/CD with adaptive backoff",
    {"slotting": "slots of one round trip from the end of each success", **QUEUE_ASSUMED},
    source="S. S. Lam, A carrier sense multiple access protocol for local networks, Computer"
    " Networks 4(1), 1980",
    confidence="mathematics solid: exact for its assumptions, simulation within 0.5 %; the form"
    " with exponential contention is the remembered printed formula without the correction for"
    " slots",
    validity=QUEUE_VALIDITY,
)
def lam_1980(
    arrival_rate: ArrivalRate,
    *,
    packet_s: PacketTime,
    propagation_s: PropagationTau,
    weights: Weights = None,
    lengths: Distribution = "fixed",
    contention: Annotated[
        str, Symbol("", "distribution of the time to resolve a collision", CONTENTIONS)
    ] = "geometric",
    unstable: Unstable = "error",
) -> Delay:
    """Mean delay of a slotted CSMA/CD channel, to the end of the packet everywhere.

    Slots of 2 tau begin after each success; a single packet succeeds at once, several collide for
    2 tau and then contend with adaptive backoff; a success takes the packet time and tau. With
    "geometric" contention each slot succeeds with probability 1/e, a form derived from these
    assumptions; "exponential" is a time of the same mean beyond the first slot, the model that the
    printed formula solves exactly.
    """
    choice(MODEL, "contention", contention, CONTENTIONS)
    queue = read_queue(MODEL, arrival_rate, packet_s, propagation_s, weights, lengths, unstable)
    if contention == "exponential":
        delay = printed_delay_s(queue) + 2 * queue.tau_s
    else:
        rate, tau = queue.rate, queue.tau_s
        # E[N^2] = 2 e^2 - e of the contention slots, where the exponential has 2 e^2 - 2 e + 1.
        square = (
            queue.square_s2
            + (4 * _E + 2) * tau * queue.mean_s
            + (1 + 4 * _E + 4 * _E * (2 * _E - 1)) * tau**2
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            delay = (
                rate * square / (2 * (1 - queue.busy))
                + (queue.mean_s + 2 * _E * tau + 2 * tau)
                - queue.slot_s * (1 - 2 * rate * tau) / queue.none_in_slot
            )
    return finish(queue, delay)


@dataclass(frozen=True, slots=True)
class Queue:
    """What the two forms share; all of the broadcast shape."""

    rate: Array
    tau_s: Array
    mean_s: Array
    square_s2: Array
    busy: Array  # rate times mean service time, contention included; below 1 where stable
    slot_s: Array  # (1 - w)/lambda with w = e^(-2 lambda tau), without cancellation
    # B(lambda) e^(-1 - lambda tau) - 1 + e^(-2 lambda tau), which must be above 0
    none_in_slot: Array
    good: Flags
    fits: Flags  # Where the formula has a value, and a packet is as long as a round trip


def read_queue(
    model: str,
    arrival_rate: Numbers,
    packet_s: Numbers,
    propagation_s: Numbers,
    weights: Numbers | None,
    lengths: str,
    unstable: str,
) -> Queue:
    """Check what both forms take."""
    packet = packet_times(model, packet_s, weights, lengths)
    rate, mean, square, tau = same_shape(
        model,
        ["arrival_rate", "packet_s", "packet_s", "propagation_s"],
        [
            ARRIVAL_RATE.read(model, "arrival_rate", arrival_rate),
            packet.mean_s,
            packet.square_s2,
            TIME_S.read(model, "propagation_s", propagation_s),
        ],
    )
    service = mean + tau + 2 * _E * tau
    good = stable(model, "arrival_rate", rate, 1 / service, unstable)
    none = packet.transform(rate) * np.exp(-1 - rate * tau) + np.expm1(-2 * rate * tau)
    fits = np.asarray((none > 0) & (mean >= 2 * tau * (1 - SAME)))
    slot = 2 * tau * mean_decay(2 * rate * tau)
    return Queue(rate, tau, mean, square, rate * service, slot, none, good, fits)


def printed_delay_s(queue: Queue) -> Array:
    """Return the printed form without its term for the propagation from sender to receiver [s]."""
    rate, tau = queue.rate, queue.tau_s
    square = (
        queue.square_s2 + (4 * _E + 2) * tau * queue.mean_s + (5 + 4 * _E * (2 * _E - 1)) * tau**2
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            rate * square / (2 * (1 - queue.busy))
            - queue.slot_s * (1 + rate * tau / _E - 3 * rate * tau) / queue.none_in_slot
            + queue.mean_s
            + 2 * _E * tau
        )


def finish(queue: Queue, delay: Array) -> Delay:
    """Return the delay where there is one, NaN elsewhere."""
    return Delay(
        delay_s=plain(np.where(queue.good & (queue.none_in_slot > 0), delay, np.nan)),
        utilisation=plain(queue.rate * queue.mean_s),
        outside_range=plain(~queue.good | ~queue.fits),
    )
