"""Tobagi and Hunt 1980: slotted CSMA/CD with an infinite population.

All stations are synchronised to slots of one propagation time. A packet takes 1/a slots, a success
one slot more, a collision `gam` slots: one until it is seen, the jam, one until the channel is
quiet. gam = 2 + jam/slot, and gam = 1/a + 1 is CSMA without collision detection.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from ethermeter.arguments import ArgumentError, Array, Flags, Numbers, choice, plain, together
from ethermeter.theory.arguments import COLLISION_SLOTS, LOAD, PROPAGATION, SAME, SHARE, SLOTS
from ethermeter.theory.special import mean_decay, two_or_more
from ethermeter.theory.throughput import Throughput

NON_PERSISTENT = "tobagi-hunt-1980-non-persistent"
ONE_PERSISTENT = "tobagi-hunt-1980-one-persistent"
BIMODAL = "tobagi-hunt-1980-bimodal"
IDLE = ("same-slot", "whole-slot")
"""Whether a packet that arrives in the last slot of a period may start in the next slot, or every
idle period has a slot of its own.
"""

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
    Infinite Poisson population; who finds the channel busy tries again much later.

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
    Infinite Poisson population; who finds the channel busy starts in the first slot after it.

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
