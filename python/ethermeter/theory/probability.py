"""Probabilities without the cancellation of their textbook forms, and stationary distributions."""

import numpy as np
from scipy import special

from ethermeter.arguments import Array

_LARGEST = 1e200


def mean_decay(x: Array) -> Array:
    """Return (1 - e^-x)/x, which is 1 at 0."""
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, -np.expm1(-safe) / safe, 1.0)


def two_or_more(x: Array) -> Array:
    """Return the probability of two or more events where x are expected: 1 - e^-x - x e^-x."""
    return np.asarray(special.gammainc(2.0, x), dtype=np.float64)


def some_of(trials: Array, probability: Array | float) -> Array:
    """Return 1 - (1-p)^n without cancellation."""
    return np.asarray(
        -np.expm1(special.xlog1py(trials, -np.asarray(probability))), dtype=np.float64
    )


def two_or_more_of(trials: Array, probability: Array | float) -> Array:
    """Return the probability that two or more of n independent trials succeed; 0 for n below 2."""
    enough = np.maximum(trials, 2.0)
    return np.where(trials >= 2, special.betainc(2.0, enough - 1.0, probability), 0.0)


def binomial(successes: Array, trials: Array, probability: Array | float) -> Array:
    """Return the probability of k successes among n trials; 0 where k is not in 0..n."""
    possible = (successes >= 0) & (successes <= trials)
    k, n = np.where(possible, successes, 0.0), np.maximum(trials, 0.0)
    p = np.asarray(probability)
    ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    with np.errstate(under="ignore"):
        found = np.exp(ways + special.xlogy(k, p) + special.xlog1py(n - k, -p))
    return np.where(possible, found, 0.0)


def poisson(count: Array, mean: Array) -> Array:
    """Return the probability of k events where `mean` are expected."""
    with np.errstate(under="ignore"):
        return np.asarray(
            np.exp(special.xlogy(count, mean) - mean - special.gammaln(count + 1)), dtype=np.float64
        )


def stationary_falling_by_one(transition: Array) -> Array:
    """Return the stationary distribution of a chain whose state falls by at most one in a step.

    `transition` has the probabilities of a step, rows from, columns to, shape (n, n); it is zero
    below the first subdiagonal. If the chain cannot leave its upper states, all of it is there.

    The flow up through the cut between j and j+1 equals the flow down, which has one term: pi[j+1]
    P[j+1, j]. All terms are positive, so that even states of probability 1e-200 are right to many
    digits.
    """
    states = len(transition)
    # rises[i, j]: the probability to go from i to above j.
    rises = np.zeros_like(transition)
    rises[:, :-1] = np.cumsum(transition[:, :0:-1], axis=1)[:, ::-1]
    found = np.zeros(states)
    found[0] = 1.0
    for j in range(states - 1):
        up = float(found[: j + 1] @ rises[: j + 1, j])
        down = float(transition[j + 1, j])
        if up == 0.0:
            break
        if up > down * _LARGEST:
            found[: j + 1] = 0.0
            found[j + 1] = 1.0
            continue
        found[j + 1] = up / down
        if found[j + 1] > _LARGEST:
            with np.errstate(under="ignore"):
                found /= found[j + 1]
    return np.asarray(found / found.sum())


def stationary(transition: Array) -> Array:
    """Return the stationary distribution of a chain that is begun in its first state.

    `transition` is as above, without the zeros. States without a path back to lower ones count as
    unreachable.

    Source
    ------
    Grassmann, Taksar and Heyman, Operations Research 33(5), 1985: states are eliminated one by one,
    the last first.

    """
    left = transition.copy()
    for last in range(len(left) - 1, 0, -1):
        leaves = float(left[last, :last].sum())
        left[:last, last] = left[:last, last] / leaves if leaves > 0 else 0.0
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    found = np.ones(len(left))
    for state in range(1, len(left)):
        found[state] = found[:state] @ left[:state, state]
    return np.asarray(found / found.sum())
