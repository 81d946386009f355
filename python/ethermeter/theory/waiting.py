"""Mean waiting times of single queues.

All functions take arrays that broadcast and return an array. Rates are in 1/s (or any unit of
inverse time), services are moments of the time that a frame occupies the server. Waiting is
infinite where the server is overloaded.
"""

import numpy as np

from ethermeter.arguments import Array, Numbers


def m_g_1(rate: Numbers, mean: Numbers, square: Numbers) -> Array:
    """Return the mean waiting time of M/G/1: λ E[S²] / (2 (1 − ρ)).

    Source
    ------
    Pollaczek 1930, Khinchine 1932; Kleinrock, Queueing Systems I (1975), equation 5.66.
    """
    rate, mean, square = map(_floats, (rate, mean, square))
    return _stable(rate * square / 2, 1 - rate * mean)


def cobham(rates: Array, means: Array, squares: Array) -> Array:
    """Return the mean waiting time of each class of M/G/1 with non-preemptive priorities.

    W_k = R / ((1 − σ_{k−1}) (1 − σ_k)) with R = Σ λ_i E[S_i²] / 2, of which lower classes count
    with the frame in service only. Classes stand on the last axis, the highest first. An overloaded
    lower class always has a frame in service: it counts with the load that is left to it.

    Source
    ------
    Cobham 1954, Operations Research 2(1), pages 70-76.
    """
    loads = rates * means
    upto = np.cumsum(loads, axis=-1)
    before = upto - loads
    # Share of its arrivals that a class can serve: less than 1 where it is overloaded.
    served = np.clip((1 - before) / np.where(loads > 0, loads, 1), 0, 1)
    rest = np.sum(np.where(loads > 0, served, 0) * rates * squares, axis=-1, keepdims=True) / 2
    return _stable(_stable(rest, 1 - before), 1 - upto)


def marchal(rate: Numbers, mean: Numbers, service_scv: Numbers, arrival_scv: Numbers) -> Array:
    """Return Marchal's approximation of the mean waiting time of GI/G/1.

    An approximation: ρ² (1 + c_s²) / (1 + ρ² c_s²) · (c_a² + ρ² c_s²) / (2 λ (1 − ρ)), with the
    squared coefficients of variation of services and of times between arrivals. It is exact for
    Poisson arrivals.

    Source
    ------
    Marchal 1976, AIIE Transactions 8(4), pages 473-478.
    """
    rate, mean, c_s, c_a = map(_floats, (rate, mean, service_scv, arrival_scv))
    load = rate * mean
    first = load**2 * (1 + c_s) / (1 + load**2 * c_s)
    return _stable(first * (c_a + load**2 * c_s), 2 * rate * (1 - load))


def superposed(rates: Array, scvs: Array, load: float) -> float:
    """Return the squared variation of the times between arrivals of streams that meet.

    w Σ (λ_i / λ) c_i² + 1 − w, with w = 1 / (1 + 4 (1 − ρ)² (v − 1)) and v = λ² / Σ λ_i²: that of
    the stream if there is one; of many, at a low load, nearly that of a Poisson process.

    Source
    ------
    Whitt 1983, The queueing network analyzer, Bell System Technical Journal 62(9), equations 33
    and 34.
    """
    rate = float(rates.sum())
    streams = rate**2 / float(rates @ rates)
    weight = 1 / (1 + 4 * (1 - min(load, 1.0)) ** 2 * (streams - 1))
    return weight * float(rates @ scvs) / rate + 1 - weight


def second_queue(rate: float, works: Array, shares: Array) -> Array:
    """Return the mean waiting time of frames by their work in a queue behind an M/G/1 queue.

    Frames need the same time at both. Then the time S that one spends at the second is the larger
    of its own work and of S of the frame before less the idle time between them. With p the share
    of frames of work up to x, and θ = E[e^{−λ (1 − θ) S}; S ≤ x] the probability that a busy period
    has no longer one: (1 − ρ) (1 − θ) / (1 − p) of all frames have had no longer one before them in
    theirs, and v(x) = exp(−λ ∫_x (1 − θ)) of busy periods find nothing longer left from before.

    Parameters
    ----------
    rate
        Frames in a unit of time, ρ = rate · mean work below 1.
    works, shares
        Different works in rising order, and the share of frames with each; shape (works,).

    Source
    ------
    Boxma 1979, Advances in Applied Probability 11(3), pages 616-643.
    """
    load = rate * float(works @ shares)
    if load >= 1:
        return np.full(len(works), np.inf)
    waits = np.zeros(len(works))
    nothing_left = 1.0  # v, from above
    for at in reversed(range(len(works) - 1)):
        upto, theta = float(shares[: at + 1].sum()), 0.0
        for _ in range(10_000):
            found = float(shares[: at + 1] @ np.exp(-rate * (1 - theta) * works[: at + 1]))
            if abs(found - theta) < 1e-15:
                break
            theta = found
        none_before = (1 - load) * (1 - theta) / (1 - upto)
        step, decay = works[at + 1] - works[at], rate * (1 - theta)
        none = none_before * nothing_left * -np.expm1(-decay * step) / decay
        waits[at] = waits[at + 1] + step - none
        nothing_left *= np.exp(-decay * step)
    return waits


def _floats(value: Numbers) -> Array:
    return np.asarray(value, np.float64)


def _stable(numerator: Array, denominator: Array) -> Array:
    """Return a quotient, infinite where the denominator is not above 0 and frames come."""
    found = np.full(np.broadcast(numerator, denominator).shape, np.inf)
    np.divide(numerator, denominator, out=found, where=denominator > 0)
    return np.where(numerator == 0, 0.0, found)
