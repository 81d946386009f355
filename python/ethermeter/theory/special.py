"""Functions that avoid the cancellation of their textbook forms."""

import numpy as np
from scipy import special

from ethermeter.arguments import Array


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
