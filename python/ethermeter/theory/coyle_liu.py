"""Coyle and Liu 1983: unslotted non-persistent CSMA/CD with a finite population; stability."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from scipy import special

from ethermeter.arguments import NOTHING, ArgumentError, Array, Flags, Numbers, Range, plain
from ethermeter.theory.arguments import CHAIN_STATIONS, SAME
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    NOT_MODELLED,
    Output,
    Symbol,
    catalogued,
    padded,
    read,
)
from ethermeter.theory.probability import binomial, mean_decay, stationary_falling_by_one

MODEL = "coyle-liu-1983"
PACKET_RATE = Range(1e-12, 1e6)
WINDOW = Range(0, 1)
COLLISION = Range(0, 1e3)


@dataclass(frozen=True, slots=True)
class Drift:
    """Performance and drift of a finite population. Times are in packet times.

    `delay` is NaN if nothing gets through. `drift` is for n = 0 … stations, NaN beyond. The zeros
    of the drift are interpolated, NaN after the last; two stable ones with an unstable one between
    them mean that the channel is bistable.
    """

    throughput: Annotated[Array, Output("S", "successful packets per packet time")]
    backlog: Annotated[
        Array,
        Output("N_b", "mean number of stations with a packet, the one being sent included"),
    ]
    delay: Annotated[Array, Output("D", "mean time from generation to success", "packet times")]
    drift: Annotated[
        Array,
        Output(
            "d",
            "mean change of the backlog from one busy period to the next",
            axis="backlog, from 0 to stations",
        ),
    ]
    stable: Annotated[
        Array,
        Output(
            "",
            "stable backlogs, where the drift changes from positive to negative",
            axis="crossings",
        ),
    ]
    unstable: Annotated[
        Array,
        Output(
            "",
            "unstable backlogs, where the drift changes from negative to positive",
            axis="crossings",
        ),
    ]
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Cycles:
    """The chain of the ends of busy periods; of every state n, shapes (stations + 1,).

    `transition` is square, `success` a probability, `length` the mean time to the next end [packet
    times], and `area` the mean of the backlog's integral over it.
    """

    transition: Array
    success: Array
    length: Array
    area: Array


@catalogued(
    "stability of unslotted non-persistent CSMA/CD with a finite population",
    {
        "slotting": "none",
        "persistence": "non-persistent",
        "population": "finite, all stations alike",
        "arrivals": "exponential, only at stations without a packet",
        "retransmission": "exponential at a fixed rate: no backoff",
        "collision_length": "fixed: collision",
        "topology": EQUALLY_FAR,
        "buffers": "one packet",
        "packet_lengths": "fixed",
        **NOT_MODELLED,
    },
    source="E. J. Coyle, B. Liu, Finite population CSMA/CD networks, IEEE Trans. Communications"
    " 31(11), 1983; A matrix representation of CSMA/CD networks, 33(1), 1985",
    confidence="mathematics solid: simulation within 0.5 % where there is one equilibrium; the"
    " structure is the paper's, details such as the length of a collision are doubtful",
    validity="a collision no longer than a success",
    notes=(
        "With two stable backlogs the means are of both together, over very long times; a"
        " measurement sees one or the other.",
    ),
)
def coyle_liu_1983(
    stations: Annotated[Numbers, Symbol("N", "stations", CHAIN_STATIONS)],
    *,
    generation: Annotated[
        Numbers,
        Symbol(
            "lambda",
            "packets per packet time that a station without a packet generates",
            PACKET_RATE,
        ),
    ],
    retransmission: Annotated[
        Numbers, Symbol("mu", "attempts per packet time of a station with a packet", PACKET_RATE)
    ],
    window: Annotated[
        Numbers,
        Symbol(
            "a",
            "time after the start of a transmission in which other stations do not sense it",
            WINDOW,
            "packet times",
        ),
    ],
    collision: Annotated[
        Numbers,
        Symbol(
            "c",
            "time for which a collision occupies the channel; at least the window",
            COLLISION,
            "packet times",
        ),
    ],
) -> Drift:
    """Throughput, delay, drift and equilibria of N stations with one packet each.

    A collision always takes the same time, from the first start. Where the authors embed their
    chain, and how long their collisions take, is doubtful (reconstruction).
    """
    n, lam, mu, a, c = read(
        coyle_liu_1983,
        stations=stations,
        generation=generation,
        retransmission=retransmission,
        window=window,
        collision=collision,
    )
    if (c < a).any():
        given, least = c[c < a].flat[0], a[c < a].flat[0]
        raise ArgumentError(MODEL, "collision", f"{given:g}", f"at least the window, {least:g}")
    throughput, backlog = np.empty(n.size), np.empty(n.size)
    drifts, falls, climbs = [], [], []
    for at, (users, *point) in enumerate(
        zip(n.flat, lam.flat, mu.flat, a.flat, c.flat, strict=True)
    ):
        cycles = cycles_of(int(users), *(float(value) for value in point))
        pi = stationary_falling_by_one(cycles.transition)
        length = pi @ cycles.length
        throughput[at], backlog[at] = (pi @ cycles.success) / length, (pi @ cycles.area) / length
        drifts.append(drift_of(cycles.transition))
        down, up = _crossings(drifts[-1])
        falls.append(down)
        climbs.append(up)
    delay = np.where(throughput > NOTHING, backlog / np.maximum(throughput, NOTHING), np.nan)
    return Drift(
        throughput=plain(throughput.reshape(n.shape)),
        backlog=plain(backlog.reshape(n.shape)),
        delay=plain(delay.reshape(n.shape)),
        drift=padded(drifts, n.shape),
        stable=padded(falls, n.shape),
        unstable=padded(climbs, n.shape),
        outside_range=plain(c > (1 + a) * (1 + SAME)),
    )


def cycles_of(
    stations: int, generation: float, retransmission: float, window: float, collision: float
) -> Cycles:
    """Return the chain of the backlogs at the ends of busy periods.

    From backlog n the next start is after an exponential time of rate r = (N-n) lambda + n mu, by a
    new packet or an old one. It succeeds if no other station starts within the window.
    """
    n = np.arange(stations + 1.0)
    rate = (stations - n) * generation + n * retransmission
    total = np.zeros((stations + 1, stations + 1))
    success, area = np.zeros(stations + 1), n / rate
    made = -np.expm1(-generation)  # in a packet time
    made_in_collision = -np.expm1(-generation * collision)
    # Of the stations that get a packet during a collision, the share that get it after the window.
    after_window = np.exp(-generation * window) * -np.expm1(-generation * (collision - window))
    late = np.divide(after_window, made_in_collision) if made_in_collision > 0 else 1.0
    column = n[None, :]
    # The starter had no packet, or had one; then so many others are without and with one.
    for share, without, with_one in (
        ((stations - n) * generation, stations - n - 1, n),
        (n * retransmission, stations - n, n - 1),
    ):
        by, without, with_one = share / rate, np.maximum(without, 0.0), np.maximum(with_one, 0.0)
        passes = np.exp(-window * (without * generation + with_one * retransmission))
        others = with_one[:, None]
        total += (by * passes)[:, None] * binomial(column - others, without[:, None], made)
        # k others get a packet during the collision; it is one because one of them did so within
        # the window, or an old one started.
        k = column - others - 1
        cause = special.xlogy(np.maximum(k, 0.0), late) - window * retransmission * others
        total += by[:, None] * binomial(k, without[:, None], made_in_collision) * -np.expm1(cause)
        success += by * passes
        during = (with_one + 1) * collision + without * _arrived(generation, collision)
        area += by * passes * ((with_one + 1) * (1 + window) + without * _arrived(generation, 1.0))
        area += by * (
            during
            - passes
            * ((with_one + 1) * collision + without * _arrived(generation, collision - window))
        )
    length = 1 / rate + success * (1 + window) + (1 - success) * collision
    return Cycles(total, success, length, area)


def _arrived(rate: float, time: float) -> float:
    """Return the integral over a time of the probability that a packet has arrived."""
    x = rate * time
    # t (1 - (1 - e^-x)/x), by its series where that cancels.
    return float(
        time * x * (0.5 - x / 6 + x * x / 24)
        if x < 1e-4
        else time * (1 - mean_decay(np.asarray(x)))
    )


def drift_of(transition: Array) -> Array:
    """Return the mean change of every state of a chain."""
    n = np.arange(len(transition), dtype=np.float64)
    return np.asarray(((n[None, :] - n[:, None]) * transition).sum(axis=1))


def _crossings(drift: Array) -> tuple[list[float], list[float]]:
    """Return where the drift passes zero downwards and upwards, linearly between backlogs.

    A backlog of 0 or of all stations is a crossing too if the drift there is 0 and points to it
    from its neighbour.
    """
    down: list[float] = []
    up: list[float] = []
    moving = np.nonzero(drift)[0]
    if moving.size and moving[0] > 0 and drift[moving[0]] < 0:
        down.append(0.0)
    for n, following in pairwise(moving):
        here, there = drift[n], drift[following]
        if np.sign(here) != np.sign(there):
            (down if here > 0 else up).append(float(n + (following - n) * here / (here - there)))
    if moving.size and moving[-1] < drift.size - 1 and drift[moving[-1]] > 0:
        down.append(float(drift.size - 1))
    return down, up
