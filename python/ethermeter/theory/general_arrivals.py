"""Kingman 1962 and Marchal 1976: the mean wait of one server with any independent arrivals."""

from typing import Annotated

import numpy as np

from ethermeter.arguments import Array, Numbers, Range, plain
from ethermeter.theory.arguments import PACKET_S, stable
from ethermeter.theory.entry import OF_QUEUES, Symbol, Unstable, catalogued, read
from ethermeter.theory.pollaczek_khinchine import ArrivalRate, Wait
from ethermeter.theory.waiting import marchal

_SCV = Range(0, 1e6)
ServiceTime = Annotated[Numbers, Symbol("E1", "mean service time", PACKET_S, "s")]
ArrivalScv = Annotated[
    Numbers, Symbol("c_a^2", "variance of times between arrivals over their squared mean", _SCV)
]
ServiceScv = Annotated[
    Numbers, Symbol("c_s^2", "variance of service times over their squared mean", _SCV)
]
_ASSUMED = {
    "arrivals": "independent times between arrivals, known by mean and variance",
    "service": "independent times, known by mean and variance",
    "discipline": "first come, first served",
    "buffers": "unlimited",
}


@catalogued(
    "upper bound of the mean wait of one server: GI/G/1",
    _ASSUMED,
    aspects=OF_QUEUES,
    source="J. F. C. Kingman, Some inequalities for the queue GI/G/1, Biometrika 49, 1962",
    confidence="mathematics solid: never below the mean wait",
    validity="rates above 0 and below 1/E1",
)
def kingman_1962(
    arrival_rate: ArrivalRate,
    *,
    service_s: ServiceTime,
    arrival_scv: ArrivalScv,
    service_scv: ServiceScv,
    unstable: Unstable = "error",
) -> Wait:
    """Upper bound of the mean wait of GI/G/1: lambda (sigma_a^2 + sigma_s^2) / (2 (1 - rho))."""
    rate, mean, of_arrivals, of_services = read(
        kingman_1962,
        arrival_rate=arrival_rate,
        service_s=service_s,
        arrival_scv=arrival_scv,
        service_scv=service_scv,
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = of_arrivals / rate + rate * mean**2 * of_services
        return _wait("kingman-1962", rate, mean, spread / (2 * (1 - rate * mean)), unstable)


@catalogued(
    "approximate mean wait of one server: GI/G/1",
    _ASSUMED,
    aspects=OF_QUEUES,
    source="W. G. Marchal, An approximate formula for waiting time in single server queues, AIIE"
    " Transactions 8(4), 1976",
    confidence="an approximation; exact for Poisson arrivals, and without any variance",
    validity="rates above 0 and below 1/E1",
)
def marchal_1976(
    arrival_rate: ArrivalRate,
    *,
    service_s: ServiceTime,
    arrival_scv: ArrivalScv,
    service_scv: ServiceScv,
    unstable: Unstable = "error",
) -> Wait:
    """Mean wait of GI/G/1: that of M/G/1 times (c_a^2 + rho^2 c_s^2) / (1 + rho^2 c_s^2)."""
    rate, mean, of_arrivals, of_services = read(
        marchal_1976,
        arrival_rate=arrival_rate,
        service_s=service_s,
        arrival_scv=arrival_scv,
        service_scv=service_scv,
    )
    wait = marchal(rate, mean, of_services, of_arrivals)
    return _wait("marchal-1976", rate, mean, wait, unstable)


def _wait(model: str, rate: Array, mean: Array, wait: Array, unstable: str) -> Wait:
    """Return the wait where the queue is stable and something arrives."""
    good = stable(model, "arrival_rate", rate, 1 / mean, unstable)
    found = np.where(good & (rate > 0), wait, np.nan)
    return Wait(plain(found), plain(found + mean), plain(rate * mean), plain(np.isnan(found)))
