"""Pollaczek and Khinchine 1932: the mean wait of one server with Poisson arrivals, M/G/1."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Flags, Numbers, plain, same_shape
from ethermeter.theory.arguments import (
    ARRIVAL_RATE,
    LENGTHS,
    PACKET_S,
    WEIGHT,
    packet_times,
    stable,
)
from ethermeter.theory.entry import OF_QUEUES, Output, Symbol, Unstable, catalogued
from ethermeter.theory.waiting import m_g_1

MODEL = "pollaczek-khinchine-1932"

WaitS = Annotated[Array, Output("W", "mean time from arrival to the start of service", "s")]
ArrivalRate = Annotated[Numbers, Symbol("lambda", "arrival rate of frames", ARRIVAL_RATE, "1/s")]


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait against arrival rate; NaN and outside the range where the queue is not stable."""

    wait_s: WaitS
    delay_s: Annotated[Array, Output("T", "mean time from arrival to the end of service", "s")]
    utilisation: Annotated[Array, Output("rho", "arrival rate times mean service time")]
    outside_range: Flags


@catalogued(
    "wait of one server with Poisson arrivals: M/G/1, with M/D/1 and M/M/1",
    {
        "arrivals": "Poisson",
        "service": "independent: fixed, exponential, or a mix; with preamble and gap",
        "discipline": "first come, first served; the mean is that of any order without regard to"
        " lengths",
        "buffers": "unlimited",
    },
    aspects=OF_QUEUES,
    source="F. Pollaczek, Mathematische Zeitschrift 32, 1930; A. Y. Khinchine, Matematicheskii"
    " Sbornik 39(4), 1932; L. Kleinrock, Queueing Systems I, 1975, eq. 5.63",
    confidence="mathematics solid: exact",
    validity="rates below 1/E1",
)
def pollaczek_khinchine_1932(
    arrival_rate: ArrivalRate,
    *,
    service_s: Annotated[
        Numbers,
        Symbol(
            "E1",
            "service time: the fixed one, the mean of exponential ones, or those of a mix",
            PACKET_S,
            "s",
            row=True,
        ),
    ],
    weights: Annotated[
        Numbers | None, Symbol("", "weights of the times of a mix", WEIGHT, row=True)
    ] = None,
    lengths: Annotated[str, Symbol("", "distribution of the service times", LENGTHS)] = "fixed",
    unstable: Unstable = "error",
) -> Wait:
    """Mean wait of M/G/1: W = lambda E[S^2] / (2 (1 - rho)).

    Examples
    --------
    >>> found = pollaczek_khinchine_1932(500, service_s=1e-3)
    >>> round(float(found.wait_s), 9)
    0.0005

    """
    rate = ARRIVAL_RATE.read(MODEL, "arrival_rate", arrival_rate)
    times = packet_times(MODEL, service_s, weights, lengths, name="service_s")
    names = ["arrival_rate", "service_s"]
    rate, mean, square = same_shape(
        MODEL, [*names, names[-1]], [rate, times.mean_s, times.square_s2]
    )
    good = stable(MODEL, "arrival_rate", rate, 1 / mean, unstable)
    load = rate * mean
    wait = np.where(good, m_g_1(rate, mean, square), np.nan)
    return Wait(plain(wait), plain(wait + mean), plain(load), plain(~good))
