"""Coyle and Liu 1983: unslotted non-persistent CSMA/CD with a finite population; stability."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special

from ethermeter.arguments import (
    NOTHING,
    ArgumentError,
    Array,
    Flags,
    Numbers,
    Range,
    plain,
    together,
)
from ethermeter.theory.arguments import CHAIN_STATIONS, SAME
from ethermeter.theory.entry import EQUALLY_FAR, NOT_MODELLED, Model, Output, Symbol, assuming
from ethermeter.theory.markov import stationary_falling_by_one
from ethermeter.theory.special import binomial, mean_decay

MODEL = "coyle-liu-1983"
PACKET_RATE = Range(1e-12, 1e6)
WINDOW = Range(0, 1)
COLLISION = Range(0, 1e3)


@dataclass(frozen=True, slots=True)
class Drift:
    """Performance and drift of a finite population. Times are in packet times.

    Parameters
    ----------
    throughput
        S, packets a packet time.
    backlog
        Mean number of stations with a packet, the one being sent included.
    delay
        Mean time from the generation of a packet to its success [packet times]; NaN if nothing gets
        through.
    drift
        Mean change of the backlog n from one end of a busy period to the next, for n = 0 …
        stations, along the last axis; NaN beyond.
    stable, unstable
        Backlogs at which the drift passes through zero, interpolated, downwards and upwards, along
        the last axis; NaN after the last. Two stable ones with an unstable one between them: the
        channel is bistable.
    outside_range
        Where a collision lasts longer than a success.

    """

    throughput: Array
    backlog: Array
    delay: Array
    drift: Array
    stable: Array
    unstable: Array
    outside_range: Flags


@dataclass(frozen=True, slots=True)
class Cycles:
    """The chain of the ends of busy periods; of every state n, shapes (stations + 1,).

    Parameters
    ----------
    transition
        Shape (stations + 1, stations + 1).
    success
        Probability of success.
    length
        Mean time to the next end [packet times].
    area
        Mean of the backlog's integral over it.

    """

    transition: Array
    success: Array
    length: Array
    area: Array


def coyle_liu_1983(
    stations: Numbers,
    *,
    generation: Numbers,
    retransmission: Numbers,
    window: Numbers,
    collision: Numbers,
) -> Drift:
    """Throughput, delay, drift and equilibria of N stations with one packet each.

    Times are in packet times.

    Parameters
    ----------
    stations
        N; whole, from 1 to 2000.
    generation
        lambda, packets a packet time of a station that has none; from 1e-12 to 1e6.
    retransmission
        mu, tries a packet time of a station that has one; from 1e-12 to 1e6.
    window
        a, time after a start in which others do not hear it [packet times]; from 0 to 1.
    collision
        c, time a collision takes the channel, from the first start [packet times]; at least
        `window`.

    Returns
    -------
    :
        Of the broadcast shape, three fields with an axis more.

    Raises
    ------
    ArgumentError
        If an argument is out of its range or the shapes do not broadcast.

    Assumptions
    -----------
    Exponential times of generation and of tries, without backoff; a station that finds the channel
    busy tries again later; a collision always takes the same time. Where the authors embed their
    chain, and how long their collisions take, is doubtful.

    Source
    ------
    Coyle and Liu, IEEE T-COM 31(11), 1983, and 33(1), 1985 (reconstruction).

    """
    n, lam, mu, a, c = together(
        MODEL,
        stations=(stations, CHAIN_STATIONS),
        generation=(generation, PACKET_RATE),
        retransmission=(retransmission, PACKET_RATE),
        window=(window, WINDOW),
        collision=(collision, COLLISION),
    )
    if (c < a).any():
        raise ArgumentError(
            MODEL,
            "collision",
            f"{c[c < a].flat[0]:g}",
            f"at least the window, {a[c < a].flat[0]:g}",
        )
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
        drift=_padded(drifts, n.shape),
        stable=_padded(falls, n.shape),
        unstable=_padded(climbs, n.shape),
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
    """Return the integral over a time of the probability that a packet has come."""
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


def _padded(rows: Sequence[Sequence[float] | Array], shape: tuple[int, ...]) -> Array:
    """Return rows as one array, filled up with NaN."""
    padded = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
    for at, row in enumerate(rows):
        padded[at, : len(row)] = row
    return padded.reshape(*shape, padded.shape[1])


ENTRIES = (
    Model(
        MODEL,
        "stability of unslotted non-persistent CSMA/CD with a finite population",
        1983,
        coyle_liu_1983,
        (
            Symbol("stations", "N", "", "stations", CHAIN_STATIONS),
            Symbol(
                "generation",
                "lambda",
                "",
                "packets a packet time of a station that has none",
                PACKET_RATE,
            ),
            Symbol(
                "retransmission",
                "mu",
                "",
                "tries a packet time of a station that has one",
                PACKET_RATE,
            ),
            Symbol(
                "window",
                "a",
                "packet times",
                "time after a start in which others do not hear it",
                WINDOW,
            ),
            Symbol(
                "collision",
                "c",
                "packet times",
                "time a collision takes the channel; at least the window",
                COLLISION,
            ),
        ),
        (
            Output("throughput", "S", "", "packets a packet time"),
            Output(
                "backlog",
                "N_b",
                "",
                "mean number of stations with a packet, the one being sent included",
            ),
            Output("delay", "D", "packet times", "mean time from generation to success"),
            Output(
                "drift",
                "d",
                "",
                "mean change of the backlog from one busy period to the next",
                "backlog, from 0 to stations",
            ),
            Output("stable", "", "", "backlogs where the drift passes zero downwards", "crossings"),
            Output("unstable", "", "", "backlogs where the drift passes zero upwards", "crossings"),
        ),
        assuming(
            slotting="none",
            persistence="non-persistent",
            population="finite, all stations alike",
            arrivals="exponential, only at stations without a packet",
            retransmission="exponential at a fixed rate: no backoff",
            collision_length="fixed: collision",
            topology=EQUALLY_FAR,
            buffers="one packet",
            packet_lengths="fixed",
            **NOT_MODELLED,
        ),
        "E. J. Coyle, B. Liu, Finite population CSMA/CD networks, IEEE Trans. Communications"
        " 31(11), 1983; A matrix representation of CSMA/CD networks, 33(1), 1985",
        "mathematics solid: simulation within 0.5 % where there is one equilibrium; the structure"
        " is the paper's, details such as the length of a collision are doubtful",
        "a collision no longer than a success",
        (
            "With two stable backlogs the means are of both together, over very long times; a"
            " measurement sees one or the other.",
        ),
    ),
)
