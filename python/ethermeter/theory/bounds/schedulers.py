"""Schedulers of a port: the time to serve work of each traffic class.

Work is time on the wire, preamble and gap included, so that the port's rate is 1. Class 0 is the
highest. A frame is not interrupted: arrivals of higher classes delay it until it starts only.

Sources
-------
Strict priority: Le Boudec and Thiran, Network Calculus, 2001, section 1.3.2 and proposition 1.3.4.
Deficit round robin: Boyer, Stea and Sofack, Deficit Round Robin with network calculus, VALUETOOLS
2012, theorem 1. Credit-based shaper: De Azua and Boyer, Complete modelling of AVB in network
calculus framework, RTNS 2014; with more than two classes Zhao, Pop, Zheng, Daigmorte and Boyer,
Latency analysis of multiple classes of AVB traffic in TSN, IEEE Access 2020. What goes ahead of a
shaped class may be shaped itself or not, and is followed message by message.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.theory.bounds.curves import (
    RELATIVE,
    Concave,
    largest_delay,
    line,
    minimum_with_line,
)
from ethermeter.theory.bounds.stairs import Ahead, Stairs, residual

_TICK = 1.0
"""A frame begins in the first whole picosecond in which the credit is not negative."""


@dataclass(frozen=True, slots=True)
class ClassOfServer:
    """A traffic class at a server.

    `idle_slope`: share of the server's rate that its credit-based shaper gives it, 0 to 1; None
    without one. `quantum`: work that deficit round robin gives it a turn; None without one.
    """

    idle_slope: float | None = None
    quantum: float | None = None


@dataclass(frozen=True, slots=True)
class Demand:
    """What comes in a class: its arrivals, and its shortest and longest frame, as work.

    `arrivals` None: without bound. A class without frames has zero arrivals and frames. `stairs`:
    the same arrivals, message by message, without what the lines before them limit. `wait`:
    longest time from the arrival of a frame until it may begin.
    """

    arrivals: Concave | None
    shortest: float
    longest: float
    stairs: Stairs | None = None
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """Times in which work of a class is served at least.

    `times`: since the class was empty, with a credit of at least 0; all of them hold; none if
    others may starve it. `waiting`: since any time from which on the class waits, or None.
    """

    times: tuple[Concave, ...]
    waiting: Concave | None


def times_to_serve(classes: Sequence[ClassOfServer], demands: Sequence[Demand]) -> list[Served]:
    """Return for each class the times in which work of it is served at least."""
    found: list[Served] = []
    ahead: list[Ahead | None] = []  # what each class sends at most while those below it wait
    for number, one in enumerate(classes):
        first, last = _group(number, classes)
        blocking = max((demand.longest for demand in demands[last + 1 :]), default=0.0)
        base = _residual(ahead[:first], blocking)
        demand = demands[number]
        if one.idle_slope is not None:
            latency = _credit_latency(base, one.idle_slope) + demand.wait
            has_bound = latency < float("inf")
            found.append(Served((line(1 / one.idle_slope, latency),) if has_bound else (), None))
            ahead.append(_shaped_output(demand, one.idle_slope, latency))
            continue
        ahead.append(_all_of(demand))
        others = [each for each in range(first, last + 1) if each != number]
        if not others or base is None:
            found.append(Served((base,) if base else (), base))
            continue
        alone = _residual([*ahead[:first], *(_all_of(demands[each]) for each in others)], blocking)
        turns = _round_robin(base, number, others, classes, demands)
        found.append(Served((alone, turns) if alone else (turns,), turns))
    return found


def _all_of(demand: Demand) -> Ahead | None:
    return None if demand.arrivals is None else Ahead(demand.arrivals, demand.stairs)


def _residual(ahead: Sequence[Ahead | None], blocking: float) -> Concave | None:
    known = [each for each in ahead if each is not None]
    return residual(known, blocking) if len(known) == len(ahead) else None


def _group(number: int, classes: Sequence[ClassOfServer]) -> tuple[int, int]:
    """Return the first and the last class of the round-robin group of a class, or itself."""
    first = last = number
    if classes[number].quantum is not None:
        while first > 0 and classes[first - 1].quantum is not None:
            first -= 1
        while last + 1 < len(classes) and classes[last + 1].quantum is not None:
            last += 1
    return first, last


def _round_robin(
    base: Concave,
    number: int,
    others: Sequence[int],
    classes: Sequence[ClassOfServer],
    demands: Sequence[Demand],
) -> Concave:
    """Return the time by deficit round robin of a class within a group that has `base`.

    While the class is served x it has at most (x + its longest frame) / its quantum full turns;
    each other class has one turn more, and a longest frame of deficit from before.
    """
    quantum, longest = classes[number].quantum, demands[number].longest
    assert quantum is not None
    active = [each for each in others if demands[each].longest > 0]
    their_quanta = sum(classes[each].quantum or 0.0 for each in active)
    constant = sum(demands[each].longest for each in active) + their_quanta * (
        longest / quantum + 1
    )
    growth = 1 + their_quanta / quantum
    shifted = base.delayed(constant)
    return Concave(shifted.at / growth, shifted.value, shifted.slope * growth)


def _credit_latency(base: Concave | None, idle_slope: float) -> float:
    """Return the latency of a shaped class: its highest credit over its idle slope.

    `base`: time to serve work of the class behind one frame of a lower class and all that goes
    ahead of it. Its credit was at most 0 when these began. After a time u in which x of the class
    was sent it is idle_slope · u − x at most, and the class waits for others as long as u is below
    base(x). Infinite if those ahead leave the class less than its idle slope.
    """
    if base is None or base.slope * idle_slope > 1 + RELATIVE:
        return float("inf")
    return float(np.max(base.value - base.at / idle_slope)) + _TICK


def _shaped_output(demand: Demand, idle_slope: float, latency: float) -> Ahead:
    """Return what a shaped class sends at most while a lower class waits, or a frame of one goes.

    Its credit was at most 0 when that began, and it is not below that of one longest frame behind
    it. Frames begin with a credit of at least 0: of one length, the n-th after n − 1 of them have
    been given back. Behind the latency the class sends no more than has come to it.
    """
    if demand.longest == 0:
        return Ahead(line(0.0, 0.0))
    saved = idle_slope * demand.wait  # of a frame that could not begin yet
    curve = line(idle_slope, saved + demand.longest * (1 - idle_slope))
    if demand.arrivals is not None and latency < float("inf"):
        delay = largest_delay(demand.arrivals, line(1 / idle_slope, latency), demand.shortest)
        if delay < float("inf"):
            late = demand.arrivals.delayed(delay)
            curve = minimum_with_line(late, curve.slope, float(curve.value[0]))
    if demand.shortest < demand.longest:
        return Ahead(curve)
    frames = Stairs(
        rates=np.full((1, 2), idle_slope),
        bursts=np.full((1, 2), demand.longest + saved),
        message=np.array([demand.longest]),
        is_whole=np.ones(1, dtype=bool),
    )
    return Ahead(curve, frames)
