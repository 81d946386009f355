"""Tobagi and Hunt 1980: slotted CSMA/CD with an infinite population, of three persistences.

All stations are synchronised to slots of one propagation time. A packet takes 1/a slots, a success
one slot more, a collision `gam` slots: one until it is seen, the jam, one until the channel is
quiet. gam = 2 + jam/slot, and gam = 1/a + 1 is CSMA without collision detection.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import special

from ethermeter.arguments import ArgumentError, Array, Flags, Numbers, Range, choice, plain
from ethermeter.theory.arguments import COLLISION_SLOTS, SAME, SHARE, SLOTS
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    NOT_MODELLED,
    POISSON_INFINITE,
    STABLE_RETRANSMISSION,
    Load,
    Output,
    Propagation,
    Symbol,
    Throughput,
    catalogued,
    read,
)
from ethermeter.theory.probability import mean_decay, poisson, two_or_more

NON_PERSISTENT = "tobagi-hunt-1980-non-persistent"
BIMODAL = "tobagi-hunt-1980-bimodal"
IDLE = ("same-slot", "whole-slot")
"""Whether a packet that arrives in the last slot of a period may start in the next slot, or every
idle period has a slot of its own.
"""

P_PROPAGATION = Range(1e-6, 1)
PERSISTENCE = Range(1e-3, 1)
SOURCE = (
    "F. A. Tobagi, V. B. Hunt, Performance analysis of carrier sense multiple access with"
    " collision detection, Computer Networks 4(5), 1980"
)

LEAST_COLLISION_SLOTS = 2
"""One slot until a collision is seen, one until the channel is quiet."""

_CONFIDENCE = (
    "mathematics solid: simulations of exactly these assumptions agree within 0.6 %; very probably"
    " the paper's, except that its convention for the idle slot is doubtful (1.4 % at a = 0.01)"
)
_VALIDITY = "collisions from 2 slots to 1/a + 1, where there is no collision detection left"
_ASSUMED = {
    "slotting": "slots of one propagation time",
    "retransmission": STABLE_RETRANSMISSION,
    "collision_length": "fixed: collision_slots",
    "topology": EQUALLY_FAR,
    "packet_lengths": "fixed",
    **POISSON_INFINITE,
    **NOT_MODELLED,
}
CollisionSlots = Annotated[
    Numbers, Symbol("gam", "length of a collision: 2 slots and the jam", COLLISION_SLOTS, "slots")
]
Idle = Annotated[
    str,
    Symbol(
        "I",
        "idle periods; same-slot: an arrival in the last slot of a busy period may "
        "start in the next slot; whole-slot: every idle period has a whole slot",
        IDLE,
    ),
]


@dataclass(frozen=True, slots=True)
class Bimodal:
    """Capacity with packets of two lengths; `short` and `long` sum to it."""

    capacity: Annotated[Array, Output("C", "largest throughput over all loads")]
    short: Annotated[Array, Output("C1", "part of the capacity that short packets carry")]
    long: Annotated[Array, Output("C2", "part of the capacity that long packets carry")]
    load: Annotated[
        Array, Output("G", "attempts per mean packet time at which the capacity is reached")
    ]
    outside_range: Flags


def not_a_collision(propagation: Array, collision_slots: Array) -> Flags:
    """Return where a collision is shorter than can be, or longer than a success."""
    return np.asarray(
        (collision_slots < LEAST_COLLISION_SLOTS)
        | (collision_slots * propagation > (1 + propagation) * (1 + SAME))
    )


@catalogued(
    "slotted non-persistent CSMA/CD",
    {"persistence": "non-persistent", **_ASSUMED},
    source=SOURCE,
    confidence=_CONFIDENCE,
    validity=_VALIDITY,
)
def tobagi_hunt_1980_non_persistent(
    load: Load,
    *,
    propagation: Propagation,
    collision_slots: CollisionSlots = 2,
    idle: Idle = "same-slot",
) -> Throughput:
    """Throughput of slotted non-persistent CSMA/CD.

    A station that finds the channel busy tries again much later. "same-slot" is the usual
    convention; the paper's own is doubtful.
    """
    g, a, gam = read(
        tobagi_hunt_1980_non_persistent,
        load=load,
        propagation=propagation,
        collision_slots=collision_slots,
    )
    x = a * g
    with np.errstate(under="ignore"):
        one = np.exp(-x)
        quiet = (
            one if choice(NON_PERSISTENT, "idle", idle, IDLE) == "same-slot" else np.ones_like(x)
        )
        # Divided by a, so that there is a value at a = 0.
        value = g * one / (g * one * (1 + a) + two_or_more(x) * gam + quiet)
    return Throughput(throughput=plain(value), outside_range=plain(not_a_collision(a, gam)))


@catalogued(
    "slotted 1-persistent CSMA/CD",
    {"persistence": "1-persistent", **_ASSUMED},
    source=SOURCE,
    confidence=_CONFIDENCE,
    validity=_VALIDITY,
    notes=(
        "Also Takagi and Kleinrock's slotted 1-persistent CSMA/CD, with collision_slots = 2 + b/a.",
    ),
)
def tobagi_hunt_1980_one_persistent(
    load: Load, *, propagation: Propagation, collision_slots: CollisionSlots = 2
) -> Throughput:
    """Throughput of slotted 1-persistent CSMA/CD.

    A station that finds the channel busy starts in the first slot after it. With gam = 1/a + 1 it
    is Kleinrock and Tobagi, IEEE T-COM 23(12), 1975.
    """
    g, a, gam = read(
        tobagi_hunt_1980_one_persistent,
        load=load,
        propagation=propagation,
        collision_slots=collision_slots,
    )
    with np.errstate(under="ignore"):
        # x is (1 - e^-aG)/a; everything is multiplied by it, so that there is a value without load.
        x, alone = g * mean_decay(a * g), np.exp(-a * g) / mean_decay(a * g)
        after_success, after_collision = g * (1 + a), g * a * gam
        quiet_s, quiet_c = np.exp(-after_success), np.exp(-after_collision)
        from_success, from_collision = (
            quiet_s * (after_success + alone),
            quiet_c * (after_collision + alone),
        )
        success = from_collision / (1 - from_success + from_collision)
        below = success * ((1 + a) * x + quiet_s) + (1 - success) * (a * gam * x + quiet_c)
        value = np.divide(success * x, below, out=np.zeros_like(x), where=below > 0)
    return Throughput(throughput=plain(value), outside_range=plain(not_a_collision(a, gam)))


@catalogued(
    "capacity of slotted non-persistent CSMA/CD with packets of two lengths",
    {
        **_ASSUMED,
        "persistence": "non-persistent",
        "packet_lengths": "short or long, independently",
    },
    source=SOURCE,
    confidence=_CONFIDENCE,
    validity="collisions from 2 slots to that of a short packet",
    notes=("A collision takes the same time whatever collides, so only the mean length matters.",),
)
def tobagi_hunt_1980_bimodal(
    short_fraction: Annotated[
        Numbers, Symbol("alpha", "fraction of the packets that are short", SHARE)
    ],
    *,
    short_slots: Annotated[Numbers, Symbol("T1", "length of a short packet", SLOTS, "slots")],
    long_slots: Annotated[Numbers, Symbol("T2", "length of a long packet", SLOTS, "slots")],
    collision_slots: CollisionSlots = 2,
    idle: Idle = "same-slot",
) -> Bimodal:
    """Capacity of slotted non-persistent CSMA/CD with packets of two lengths.

    Short packets may not be the longer ones. With T slots a mean packet, C = T/(T + kappa), and the
    attempts a slot at the maximum do not depend on T. Its condition has a solution by Lambert's
    function.
    """
    alpha, short, long, gam = read(
        tobagi_hunt_1980_bimodal,
        short_fraction=short_fraction,
        short_slots=short_slots,
        long_slots=long_slots,
        collision_slots=collision_slots,
    )
    if (short > long).any():
        given, most = short[short > long].flat[0], long[short > long].flat[0]
        raise ArgumentError(BIMODAL, "short_slots", f"{given:g}", f"at most long_slots, {most:g}")
    mean = alpha * short + (1 - alpha) * long
    if choice(BIMODAL, "idle", idle, IDLE) == "same-slot":
        g = 1 + _lambert((1 / gam - 1) / np.e)
        kappa = 1 + gam * np.expm1(g)
    else:
        g = 1 + _lambert(-gam / (gam + 1) / np.e)
        kappa = 1 + gam * np.expm1(g) + np.exp(g)
    capacity = mean / (mean + kappa)
    in_short = capacity * alpha * short / mean
    return Bimodal(
        capacity=plain(capacity),
        short=plain(in_short),
        long=plain(capacity - in_short),
        load=plain(g * mean),
        outside_range=plain(not_a_collision(1 / short, gam)),
    )


def _lambert(x: Array) -> Array:
    return np.asarray(special.lambertw(x).real, dtype=np.float64)


_BLOCK = 128
_SURE = 40.0
"""e^-40 is below the double precision of 1."""


@catalogued(
    "slotted p-persistent CSMA/CD",
    {"persistence": "p-persistent", **_ASSUMED},
    source=SOURCE,
    confidence=_CONFIDENCE,
    validity=_VALIDITY,
    notes=("For small p the throughput has two humps over the load; `capacity` finds the higher.",),
)
def tobagi_hunt_1980_p_persistent(
    load: Load,
    *,
    propagation: Annotated[
        Numbers, Symbol("a", "one-way propagation delay over packet time", P_PROPAGATION)
    ],
    persistence: Annotated[
        Numbers, Symbol("p", "probability that a ready station starts in a slot", PERSISTENCE)
    ],
    collision_slots: CollisionSlots = 2,
) -> Throughput:
    """Throughput of slotted p-persistent CSMA/CD; with p = 1 it is the 1-persistent form.

    At the end of a period the stations that arrived in it are ready; in every slot each ready
    station starts with probability p; if none starts, the arrivals of the slot become ready too.
    """
    g, a, p, gam = read(
        tobagi_hunt_1980_p_persistent,
        load=load,
        propagation=propagation,
        persistence=persistence,
        collision_slots=collision_slots,
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
            found[block] = _p_throughput(
                *(array[block] for array in points), most=int(most[block].max())
            )
        value[busy] = found
    return Throughput(throughput=plain(value), outside_range=plain(not_a_collision(a, gam)))


def _most_ready(g: Array, a: Array, p: Array, gam: Array) -> Array:
    """Return a bound of the number of ready stations, or a number of which one surely starts."""
    longest = np.maximum(1 / a + 1, gam)
    ready = g * longest
    # While no station starts for k slots, g k join; p (k + g k^2/2) is at most 40, or it has not
    # happened.
    joining = np.minimum(g * _SURE / p, np.sqrt(2 * _SURE * g / p))
    likely = ready + joining + 9 * np.sqrt(ready + joining) + 30
    sure = np.ceil(_SURE / -np.log1p(-np.minimum(p, 1 - 1e-15))) + 2
    return np.asarray(np.ceil(np.minimum(likely, sure)))


def _p_throughput(g: Array, a: Array, p: Array, gam: Array, *, most: int) -> Array:
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
            none = np.exp(special.xlog1py(float(ready), -p))
            started = -np.expm1(special.xlog1py(float(ready), -p) - g)
            alone = ready * p * np.exp(special.xlog1py(float(max(ready - 1, 0)), -p))
            later = slice(ready + 1, ready + 1 + joins)
            single[:, ready] = (
                alone + none * np.einsum("ij,ij->i", joining, single[:, later])
            ) / started
            idle[:, ready] = none * (1 + np.einsum("ij,ij->i", joining, idle[:, later])) / started
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
