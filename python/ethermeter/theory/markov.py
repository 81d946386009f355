"""Stationary distributions of Markov chains, computed without subtraction."""

import numpy as np

from ethermeter.arguments import Array

_LARGEST = 1e200


def stationary_falling_by_one(transition: Array) -> Array:
    """Return the stationary distribution of a chain whose state falls by at most one in a step.

    Parameters
    ----------
    transition
        Probabilities of a step, rows from, columns to, shape (n, n); zero below the first
        subdiagonal.

    Returns
    -------
    :
        Shape (n,); sums to 1. If the chain cannot leave its upper states, all of it is there.

    Notes
    -----
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

    Parameters
    ----------
    transition
        Probabilities of a step, rows from, columns to, shape (n, n).

    Returns
    -------
    :
        Shape (n,); sums to 1. States without a path back to lower ones count as
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
