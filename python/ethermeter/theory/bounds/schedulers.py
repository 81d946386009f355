"""Schedulers of a port: the time to serve work of each traffic class.

Work is time on the wire, preamble and gap included, so that the port's rate is 1. Class 0 is the
highest. A frame is not interrupted: arrivals of higher classes delay it until it starts only.

Sources
-------
Strict priority: Le Boudec and Thiran, Network Calculus, 2001, section 1.3.2 and proposition 1.3.4.
Deficit round robin: Boyer, Stea and Sofack, Deficit Round Robin with network calculus, VALUETOOLS
2012, theorem 1. Credit-based shaper: De Azua and Boyer, Complete modelling of AVB in network
calculus framework, RTNS 2014; with more than two classes Zhao, Pop, Zheng, Daigmorte and Boyer,
Latency analysis of multiple classes of AVB traffic in TSN, IEEE Access 2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ethermeter.theory.bounds.curves import (
    Concave,
    largest_delay,
    left_over,
    line,
    minimum_with_line,
    total,
)

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

    `arrivals` None: without bound. A class without frames has zero arrivals and frames.
    """

    arrivals: Concave | None
    shortest: float
    longest: float


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
    shaped = [number for number, one in enumerate(classes) if one.idle_slope is not None]
    found: list[Served] = []
    for number, one in enumerate(classes):
        if one.idle_slope is not None:
            latency = _credit_latency(number, classes, demands)
            found.append(Served((line(1 / one.idle_slope, latency),), None))
            continue
        first, last = _group(number, classes)
        blocking = max((demand.longest for demand in demands[last + 1 :]), default=0.0)
        above: list[Concave | None] = [_shaped_output(each, classes, demands) for each in shaped]
        above += [demands[each].arrivals for each in range(len(shaped), first)]
        base = _residual(above, blocking)
        others = [each for each in range(first, last + 1) if each != number]
        if not others or base is None:
            found.append(Served((base,) if base else (), base))
            continue
        alone = _residual([*above, *(demands[each].arrivals for each in others)], blocking)
        turns = _round_robin(base, number, others, classes, demands)
        found.append(Served((alone, turns) if alone else (turns,), turns))
    return found


def _residual(above: Sequence[Concave | None], blocking: float) -> Concave | None:
    known = [curve for curve in above if curve is not None]
    return left_over(total(known), blocking) if len(known) == len(above) else None


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


def _credit_latency(
    number: int, classes: Sequence[ClassOfServer], demands: Sequence[Demand]
) -> float:
    """Return the latency of a shaped class: its highest credit over its idle slope.

    The credit rises while a frame of a lower class is sent, and while classes above send what
    their idle slopes and their lowest credits, one frame each, allow.
    """
    higher = range(number)
    lower = max((demand.longest for demand in demands[number + 1 :]), default=0.0)
    slopes = [classes[each].idle_slope or 0.0 for each in higher]
    debts = sum(
        demands[each].longest * (1 - slope) for each, slope in zip(higher, slopes, strict=True)
    )
    return (lower + debts) / (1 - sum(slopes)) + _TICK


def _shaped_output(
    number: int, classes: Sequence[ClassOfServer], demands: Sequence[Demand]
) -> Concave:
    """Return the arrival curve of what a shaped class sends: by its credits, and its arrivals."""
    slope, demand = classes[number].idle_slope, demands[number]
    assert slope is not None
    latency = _credit_latency(number, classes, demands)
    burst = slope * latency + demand.longest * (1 - slope)
    credits = line(slope, burst if demand.longest > 0 else 0.0)
    if demand.arrivals is None or demand.longest == 0:
        return credits if demand.longest > 0 else line(0.0, 0.0)
    delay = largest_delay(demand.arrivals, line(1 / slope, latency), demand.shortest)
    if delay == float("inf"):
        return credits
    return minimum_with_line(demand.arrivals.delayed(delay), credits.slope, credits.value[0])
