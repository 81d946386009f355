"""Tobagi and Hunt 1980: slotted p-persistent CSMA/CD with an infinite population."""

import numpy as np
from scipy import special

from ethermeter.arguments import Array, Numbers, Range, plain, together
from ethermeter.theory.arguments import COLLISION_SLOTS, LOAD
from ethermeter.theory.special import poisson
from ethermeter.theory.throughput import Throughput
from ethermeter.theory.tobagi_hunt import not_a_collision

MODEL = "tobagi-hunt-1980-p-persistent"
PROPAGATION = Range(1e-6, 1)
PERSISTENCE = Range(1e-3, 1)

_BLOCK = 128
_SURE = 40.0
"""e^-40 is nothing beside 1 in double precision."""


def tobagi_hunt_1980_p_persistent(
    load: Numbers, *, propagation: Numbers, persistence: Numbers, collision_slots: Numbers = 2
) -> Throughput:
    """Throughput of slotted p-persistent CSMA/CD.

    Parameters
    ----------
    load
        G, attempts a packet time; at least 0.
    propagation
        a, slot over packet time; from 1e-6 to 1.
    persistence
        p, probability that a ready station starts in a slot; from 0.001 to 1.
    collision_slots
        gam, length of a collision [slots]; at least 1, sensible from 2 to 1/a + 1.

    Returns
    -------
    :
        Of the broadcast shape. For small p it may have two humps over the load.

    Raises
    ------
    ArgumentError
        If an argument is out of its range or the shapes do not broadcast.

    Assumptions
    -----------
    Infinite Poisson population; at the end of a period those who arrived in it are ready, in every
    slot each ready station starts with probability p, and if nobody does, the arrivals of the slot
    become ready too.

    Source
    ------
    Tobagi and Hunt, Computer Networks 4(5), 1980. With p = 1 it is the 1-persistent form.

    """
    g, a, p, gam = together(
        MODEL,
        load=(load, LOAD),
        propagation=(propagation, PROPAGATION),
        persistence=(persistence, PERSISTENCE),
        collision_slots=(collision_slots, COLLISION_SLOTS),
    )
    value = np.zeros(g.shape)
    busy = g > 0
    if busy.any():
        points = [array[busy] for array in (g * a, a, p, gam)]
        most = _most_ready(*points)
        order, found = np.argsort(most), np.empty(most.size)
        # Points that need about as many states together, so that none is carried through the states
        # of another.
        for first in range(0, order.size, _BLOCK):
            block = order[first : first + _BLOCK]
            found[block] = _throughput(
                *(array[block] for array in points), most=int(most[block].max())
            )
        value[busy] = found
    return Throughput(throughput=plain(value), outside_range=plain(not_a_collision(a, gam)))


def _most_ready(g: Array, a: Array, p: Array, gam: Array) -> Array:
    """Return a number of ready stations that is not exceeded, or so large that one of them starts
    for sure.
    """
    longest = np.maximum(1 / a + 1, gam)
    ready = g * longest
    # While nobody starts for k slots, g k join; p (k + g k^2/2) is at most 40, or it has not
    # happened.
    joining = np.minimum(g * _SURE / p, np.sqrt(2 * _SURE * g / p))
    likely = ready + joining + 9 * np.sqrt(ready + joining) + 30
    sure = np.ceil(_SURE / -np.log1p(-np.minimum(p, 1 - 1e-15))) + 2
    return np.asarray(np.ceil(np.minimum(likely, sure)))


def _throughput(g: Array, a: Array, p: Array, gam: Array, *, most: int) -> Array:
    joins = min(most, int(np.ceil(g.max() + 9 * np.sqrt(g.max()) + 30)))
    joining = poisson(np.arange(1.0, joins + 1)[None, :], g[:, None])
    # Column n: from n ready stations, the probability that exactly one starts, and the mean number
    # of slots until some do.
    single = np.zeros((g.size, most + joins + 1))
    idle = np.zeros((g.size, most + joins + 1))
    n = np.arange(most + 1.0, most + joins + 1)
    with np.errstate(under="ignore"):
        single[:, most + 1 :] = n * p[:, None] * np.exp(special.xlog1py(n - 1, -p[:, None]))
        for ready in range(most, -1, -1):
            nobody = np.exp(special.xlog1py(float(ready), -p))
            started = -np.expm1(special.xlog1py(float(ready), -p) - g)
            alone = ready * p * np.exp(special.xlog1py(float(max(ready - 1, 0)), -p))
            later = slice(ready + 1, ready + 1 + joins)
            single[:, ready] = (
                alone + nobody * np.einsum("ij,ij->i", joining, single[:, later])
            ) / started
            idle[:, ready] = nobody * (1 + np.einsum("ij,ij->i", joining, idle[:, later])) / started
        at_end = np.arange(most + 1.0)[None, :]
        after_success, after_collision = (
            poisson(at_end, (g * slots)[:, None]) for slots in (1 / a + 1, gam)
        )
        single, idle = single[:, : most + 1], idle[:, : most + 1]
        from_success, from_collision = (
            np.einsum("ij,ij->i", ends, single) for ends in (after_success, after_collision)
        )
        idle_success, idle_collision = (
            np.einsum("ij,ij->i", ends, idle) for ends in (after_success, after_collision)
        )
        success = from_collision / (1 - from_success + from_collision)
        cycle = success * (1 / a + 1 + idle_success) + (1 - success) * (gam + idle_collision)
    return np.asarray(success / a / cycle)
