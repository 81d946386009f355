"""Mean waiting times of single queues.

All functions take arrays that broadcast and return an array. Rates are in 1/s (or any unit of
inverse time), services are moments of the time that a frame occupies the server. Waiting is
infinite where the server is overloaded.
"""

import numpy as np

from ethermeter.arguments import Array, Numbers

_NEARLY_NONE = 1e-12
"""Probabilities below are those of rounding."""


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
    wait = _stable(first * (c_a + load**2 * c_s), 2 * rate * (1 - load))
    # Without any variance nothing waits up to a load of 1, which rounding may pass.
    return np.where(load > 1 + _NEARLY_NONE, np.inf, wait)


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


def second_queue(rates: Array, works: Array) -> Array:
    """Return the mean waiting time of frames, by class and work, in a queue behind an M/G/1 queue.

    Frames need the same time at both, and come in the order in which the first one served them: by
    strict priority without preemption, first come, first served within a class. Then the time S
    that a frame spends at the second is the larger of its own work and of S of the frame before
    less the idle time between them. With θ(x) the probability that a busy period of the first has
    no frame longer than x, v(x) = exp(−λ ∫_x (1 − θ)) of busy periods find nothing longer left from
    before. Exact for one class. With several, a frame that waits at the second may overtake one of
    a lower class there.

    Parameters
    ----------
    rates
        Frames in a unit of time, by class (the highest first) and work; shape (classes, works).
    works
        Different works in rising order.

    Returns
    -------
    :
        Waits, shape (classes, works).

    Source
    ------
    Boxma 1979, Advances in Applied Probability 11(3), pages 616-643, for one class.
    """
    waits = np.zeros(rates.shape)
    nothing_left = 1.0  # v, from above
    for at in reversed(range(len(works) - 1)):
        none_before, theta = _none_longer(rates, works, at + 1)
        step, decay = works[at + 1] - works[at], rates.sum() * (1 - theta)
        none = none_before * nothing_left * (-np.expm1(-decay * step) / decay if decay else step)
        waits[:, at] = waits[:, at + 1] + step - none
        nothing_left *= np.exp(-decay * step)
    return waits


def _none_longer(rates: Array, works: Array, short: int) -> tuple[Array, float]:
    """Return what a busy period of an M/G/1 queue serves before its first long frame.

    For each class (1 the highest) the share of its frames that have no long one before them in
    their busy period; and the probability that a busy period has no long one. `short`: works that
    are not long.

    By delay cycles: that of the classes 1 to k begins with a delay w, and serves what comes of
    these classes until nothing of them is left. With λ_k the rate of the classes 1 to k:

    - θ_k, the probability that a busy period of them has no long frame, is the mean of φ_k(S) over
      their frames, 0 for long ones. φ_k(w) = exp(−λ_k (1 − θ_k) w) is that of a cycle.
    - The cycle is one of the classes 1 to k − 1, then frames of class k, each of which is the delay
      of another cycle of the classes 1 to k − 1. The first long frame is in one of these with the
      probability φ_{k−1}(w) − φ_k(w): by Wald's equation that is x_k(w), the mean number of frames
      of class k up to it, times the probability that such a frame is long or has a long one in its
      cycle. Each short one adds x_j of its own work to the frames of the classes j < k.
    - A busy period is a cycle after its first frame, and has 1 / (1 − ρ) frames.

    Source
    ------
    Conway, Maxwell and Miller, Theory of Scheduling (1967), chapter 8, for delay cycles.
    """
    totals = rates.sum(axis=1)
    begun = rates[:, :short] / np.where(totals > 0, totals, 1.0)[:, None]
    times, shares = works[:short], begun.sum(axis=1)
    upto, served = 0.0, 0.0
    above = np.ones(short)  # φ of the classes above, by the delay
    found = np.zeros((len(totals), short))  # x, by class and delay
    theta = 1.0
    for level in np.flatnonzero(totals):
        upto += float(totals[level])
        served += float(rates[level] @ works)
        theta = _busy_without(rates[: level + 1, :short].sum(axis=0) / upto, times, upto)
        here = np.exp(-upto * (1 - theta) * times)
        ends = 1 - shares[level] + float(begun[level] @ (1 - above))
        # Without any long frame cycles have their mean length.
        frames = (
            (above - here) / ends
            if ends > _NEARLY_NONE
            else totals[level] * times / max(1 - served, _NEARLY_NONE)
        )
        found[:level] += np.outer(found[:level] @ begun[level], frames)
        found[level] = frames
        above = here
    first = totals / upto
    each = first + found @ (first @ begun)
    all_of = np.where(totals > 0, first, 1.0) / max(1 - served, _NEARLY_NONE)
    return np.clip(each / all_of, 0.0, 1.0), theta


def _busy_without(shares: Array, works: Array, rate: float) -> float:
    """Return the probability that a busy period has frames of these works only.

    `shares`: of all frames, those with each of the works, so that their sum is below 1.
    """
    theta = 0.0
    for _ in range(10_000):
        found = float(shares @ np.exp(-rate * (1 - theta) * works))
        if abs(found - theta) < 1e-15:
            break
        theta = found
    return theta


def _floats(value: Numbers) -> Array:
    return np.asarray(value, np.float64)


def _stable(numerator: Array, denominator: Array) -> Array:
    """Return a quotient, infinite where the denominator is not above 0 and frames come."""
    found = np.full(np.broadcast(numerator, denominator).shape, np.inf)
    np.divide(numerator, denominator, out=found, where=denominator > 0)
    return np.where(numerator == 0, 0.0, found)
