"""Tobagi and Hunt 1980: slotted CSMA/CD with an infinite population, of three persistences.

All stations are synchronised to slots of one propagation time. A packet takes 1/a slots, a success
one slot more, a collision `gam` slots: one until it is seen, the jam, one until the channel is
quiet. gam = 2 + jam/slot, and gam = 1/a + 1 is CSMA without collision detection.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from ethermeter.arguments import (
    ArgumentError,
    Array,
    Flags,
    Numbers,
    Range,
    choice,
    plain,
    together,
)
from ethermeter.theory.arguments import COLLISION_SLOTS, LOAD, PROPAGATION, SAME, SHARE, SLOTS
from ethermeter.theory.entry import (
    EQUALLY_FAR,
    LOAD_G,
    NOT_MODELLED,
    POISSON_INFINITE,
    PROPAGATION_A,
    THROUGHPUT_S,
    Model,
    Output,
    Symbol,
    Throughput,
    assuming,
)
from ethermeter.theory.special import mean_decay, poisson, two_or_more

NON_PERSISTENT = "tobagi-hunt-1980-non-persistent"
ONE_PERSISTENT = "tobagi-hunt-1980-one-persistent"
P_PERSISTENT = "tobagi-hunt-1980-p-persistent"
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


@dataclass(frozen=True, slots=True)
class Bimodal:
    """Capacity with packets of two lengths.

    Parameters
    ----------
    capacity
        Largest throughput over all loads.
    short, long
        What of it is carried in short and in long packets; their sum is the capacity.
    load
        G, attempts a mean packet time, at which it is reached.
    outside_range
        Where the model's own assumptions do not hold.

    """

    capacity: Array
    short: Array
    long: Array
    load: Array
    outside_range: Flags


def not_a_collision(propagation: Array, collision_slots: Array) -> Flags:
    """Return where a collision is shorter than can be, or longer than a success."""
    return np.asarray(
        (collision_slots < LEAST_COLLISION_SLOTS)
        | (collision_slots * propagation > (1 + propagation) * (1 + SAME))
    )


def tobagi_hunt_1980_non_persistent(
    load: Numbers, *, propagation: Numbers, collision_slots: Numbers = 2, idle: str = "same-slot"
) -> Throughput:
    """Throughput of slotted non-persistent CSMA/CD.

    Parameters
    ----------
    load
        G, attempts a packet time; at least 0.
    propagation
        a, slot over packet time; from 0 to 1.
    collision_slots
        gam, length of a collision [slots]; at least 1, sensible from 2 to 1/a + 1.
    idle
        "same-slot": an arrival in the last slot of a period may start in the slot after it.
        "whole-slot": every idle period has at least one slot. The first is the usual convention;
        the paper's own is doubtful.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range or the shapes do not broadcast.

    Assumptions
    -----------
    Infinite Poisson population; a station that finds the channel busy tries again much later.

    Source
    ------
    Tobagi and Hunt, Computer Networks 4(5), 1980.

    """
    g, a, gam = together(
        NON_PERSISTENT,
        load=(load, LOAD),
        propagation=(propagation, PROPAGATION),
        collision_slots=(collision_slots, COLLISION_SLOTS),
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


def tobagi_hunt_1980_one_persistent(
    load: Numbers, *, propagation: Numbers, collision_slots: Numbers = 2
) -> Throughput:
    """Throughput of slotted 1-persistent CSMA/CD.

    Parameters
    ----------
    load
        G, attempts a packet time; at least 0.
    propagation
        a, slot over packet time; from 0 to 1.
    collision_slots
        gam, length of a collision [slots]; at least 1, sensible from 2 to 1/a + 1.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range or the shapes do not broadcast.

    Assumptions
    -----------
    Infinite Poisson population; a station that finds the channel busy starts in the first slot
    after it.

    Source
    ------
    Tobagi and Hunt, Computer Networks 4(5), 1980; with gam = 1/a + 1 Kleinrock and Tobagi, IEEE
    T-COM 23(12), 1975.

    """
    g, a, gam = together(
        ONE_PERSISTENT,
        load=(load, LOAD),
        propagation=(propagation, PROPAGATION),
        collision_slots=(collision_slots, COLLISION_SLOTS),
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


def tobagi_hunt_1980_bimodal(
    short_fraction: Numbers,
    *,
    short_slots: Numbers,
    long_slots: Numbers,
    collision_slots: Numbers = 2,
    idle: str = "same-slot",
) -> Bimodal:
    """Capacity of slotted non-persistent CSMA/CD with packets of two lengths.

    Parameters
    ----------
    short_fraction
        alpha, fraction of the packets that are short; from 0 to 1.
    short_slots, long_slots
        T1 and T2, their lengths [slots]; at least 1e-6.
    collision_slots
        gam, length of a collision, whatever collides [slots]; at least 1.
    idle
        As for `tobagi_hunt_1980_non_persistent`.

    Returns
    -------
    :
        Of the broadcast shape.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, short packets are the longer ones, or the shapes do not
        broadcast.

    Assumptions
    -----------
    As for `tobagi_hunt_1980_non_persistent`. Since a collision takes the same time whatever
    collides, only the mean length matters.

    Notes
    -----
    With T slots a mean packet, C = T/(T + kappa), and the attempts a slot at the maximum do not
    depend on T. Its condition has a solution by Lambert's function.

    Source
    ------
    Tobagi and Hunt, Computer Networks 4(5), 1980.

    """
    alpha, short, long, gam = together(
        BIMODAL,
        short_fraction=(short_fraction, SHARE),
        short_slots=(short_slots, SLOTS),
        long_slots=(long_slots, SLOTS),
        collision_slots=(collision_slots, COLLISION_SLOTS),
    )
    if (short > long).any():
        wrong = short > long
        raise ArgumentError(
            BIMODAL,
            "short_slots",
            f"{short[wrong].flat[0]:g}",
            f"at most long_slots, {long[wrong].flat[0]:g}",
        )
    mean = alpha * short + (1 - alpha) * long
    if choice(BIMODAL, "idle", idle, IDLE) == "same-slot":
        g = 1 + _lambert((1 / gam - 1) / np.e)
        kappa = 1 + gam * np.expm1(g)
    else:
        g = 1 + _lambert(-gam / (gam + 1) / np.e)
        kappa = 1 + gam * np.expm1(g) + np.exp(g)
    capacity = mean / (mean + kappa)
    in_short = capacity * alpha * short / mean
    outside = not_a_collision(1 / short, gam)
    return Bimodal(
        capacity=plain(capacity),
        short=plain(in_short),
        long=plain(capacity - in_short),
        load=plain(g * mean),
        outside_range=plain(outside),
    )


def _lambert(x: Array) -> Array:
    return np.asarray(special.lambertw(x).real, dtype=np.float64)


_BLOCK = 128
_SURE = 40.0
"""e^-40 is below the double precision of 1."""


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
    Infinite Poisson population; at the end of a period the stations that arrived in it are ready;
    in every slot each ready station starts with probability p; if none starts, the arrivals of the
    slot become ready too.

    Source
    ------
    Tobagi and Hunt, Computer Networks 4(5), 1980. With p = 1 it is the 1-persistent form.

    """
    g, a, p, gam = together(
        P_PERSISTENT,
        load=(load, LOAD),
        propagation=(propagation, P_PROPAGATION),
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


_COLLISION = Symbol(
    "collision_slots", "gam", "slots", "length of a collision: 2 and the jam", COLLISION_SLOTS, 2
)
_IDLE = Symbol(
    "idle",
    "I",
    "",
    "whether an arrival in the last slot of a period may start in the next, or every idle period"
    " has a whole slot",
    IDLE,
    "same-slot",
)
_CONFIDENCE = (
    "mathematics solid: simulations of exactly these assumptions agree within 0.6 %; very probably"
    " the paper's, except that its convention for the idle slot is doubtful (1.4 % at a = 0.01)"
)
_VALIDITY = "collisions from 2 slots to 1/a + 1, where there is no collision detection left"
_ASSUMES = {
    "slotting": "slots of one propagation time",
    "retransmission": "a stable rate, part of the load",
    "collision_length": "fixed: collision_slots",
    "topology": EQUALLY_FAR,
    "packet_lengths": "fixed",
    **POISSON_INFINITE,
    **NOT_MODELLED,
}

ENTRIES = (
    Model(
        NON_PERSISTENT,
        "slotted non-persistent CSMA/CD",
        1980,
        tobagi_hunt_1980_non_persistent,
        (LOAD_G, PROPAGATION_A, _COLLISION, _IDLE),
        (THROUGHPUT_S,),
        assuming(persistence="non-persistent", **_ASSUMES),
        SOURCE,
        _CONFIDENCE,
        _VALIDITY,
    ),
    Model(
        ONE_PERSISTENT,
        "slotted 1-persistent CSMA/CD",
        1980,
        tobagi_hunt_1980_one_persistent,
        (LOAD_G, PROPAGATION_A, _COLLISION),
        (THROUGHPUT_S,),
        assuming(persistence="1-persistent", **_ASSUMES),
        SOURCE,
        _CONFIDENCE,
        _VALIDITY,
        (
            "Also Takagi and Kleinrock's slotted 1-persistent CSMA/CD, with collision_slots = 2 +"
            " b/a.",
        ),
    ),
    Model(
        P_PERSISTENT,
        "slotted p-persistent CSMA/CD",
        1980,
        tobagi_hunt_1980_p_persistent,
        (
            LOAD_G,
            Symbol("propagation", "a", "", "one-way propagation over packet time", P_PROPAGATION),
            Symbol(
                "persistence",
                "p",
                "",
                "probability that a ready station starts in a slot",
                PERSISTENCE,
            ),
            _COLLISION,
        ),
        (THROUGHPUT_S,),
        assuming(persistence="p-persistent", **_ASSUMES),
        SOURCE,
        _CONFIDENCE,
        _VALIDITY,
        ("For small p the throughput has two humps over the load; `capacity` finds the higher.",),
    ),
    Model(
        BIMODAL,
        "capacity of slotted non-persistent CSMA/CD with packets of two lengths",
        1980,
        tobagi_hunt_1980_bimodal,
        (
            Symbol("short_fraction", "alpha", "", "fraction of the packets that are short", SHARE),
            Symbol("short_slots", "T1", "slots", "length of a short packet", SLOTS),
            Symbol("long_slots", "T2", "slots", "length of a long packet", SLOTS),
            _COLLISION,
            _IDLE,
        ),
        (
            Output("capacity", "C", "", "largest throughput over all loads"),
            Output("short", "C1", "", "what of it short packets carry"),
            Output("long", "C2", "", "what of it long packets carry"),
            Output("load", "G", "", "attempts a mean packet time at which it is reached"),
        ),
        assuming(
            persistence="non-persistent",
            **{**_ASSUMES, "packet_lengths": "short or long, independently"},
        ),
        SOURCE,
        _CONFIDENCE,
        "collisions from 2 slots to that of a short packet",
        ("A collision takes the same time whatever collides, so only the mean length matters.",),
    ),
)
