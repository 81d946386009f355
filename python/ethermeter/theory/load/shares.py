"""Shares: what a port carries of each traffic class in the long run."""

import math
from collections.abc import Sequence
from itertools import takewhile

from ethermeter.theory.bounds.schedulers import ClassOfServer

ROUNDING = 1e-9
"""A source that fills its own wire is at a load of 1 there, give or take a rounding."""


def shares(
    offered: Sequence[float], classes: Sequence[ClassOfServer]
) -> tuple[list[float], list[float]]:
    """Return the share of each class that a port carries in the long run, and the load of each.

    `offered`: work of each class in a unit of time, the highest first. The load of a class is its
    work with that of the classes before it; of one with an idle slope its work over the slope.

    Examples
    --------
    Strict priority, and two classes of which the first has an idle slope:

    >>> plain = ClassOfServer()
    >>> list(shares([0.5, 0.75], [plain, plain]))
    [[1.0, 0.6666666666666666], [0.5, 1.25]]
    >>> list(shares([0.5, 0.5], [ClassOfServer(idle_slope=0.25), plain]))
    [[0.5, 1.0], [2.0, 0.75]]

    Deficit round robin: the second class needs less than its turn, so that the first has the rest.

    >>> twice = [ClassOfServer(quantum=2.0), ClassOfServer(quantum=2.0)]
    >>> list(shares([1.25, 0.375], twice))
    [[0.5, 1.0], [1.625, 1.625]]
    """
    carried, loads, used, level = [1.0] * len(offered), [0.0] * len(offered), 0.0, 0
    while level < len(offered):
        slope = classes[level].idle_slope
        group = [level]
        if classes[level].quantum is not None:
            turns = takewhile(lambda one: one.quantum is not None, classes[level:])
            group = list(range(level, level + len(list(turns))))
        left = max(1 - used, 0.0)
        if slope is not None:
            left = min(left, slope)
        works = [offered[at] for at in group]
        room = _in_turns(works, [classes[at].quantum or 1.0 for at in group], left)
        for at, work, most in zip(group, works, room, strict=True):
            if work > most * (1 + ROUNDING):
                carried[at] = most / work
            loads[at] = used + sum(works) if slope is None else work / left if left else math.inf
        used += sum(map(min, works, room))
        level = group[-1] + 1
    return carried, loads


def goes_before(classes: Sequence[ClassOfServer], other: int, level: int) -> bool:
    """Whether a class waits for another one: for those above it, or those it takes turns with.

    One with an idle slope has that for itself.
    """
    if classes[level].idle_slope is not None:
        return False
    takes_turns = classes[level].quantum is not None and classes[other].quantum is not None
    return other < level or takes_turns


def _in_turns(offered: Sequence[float], quanta: Sequence[float], room: float) -> list[float]:
    """Return what each class may have of some room by deficit round robin: max-min fair."""
    found = [0.0] * len(offered)
    waiting = list(range(len(offered)))
    while waiting:
        turn = max(room, 0.0) / sum(quanta[at] for at in waiting)
        content = [at for at in waiting if offered[at] <= turn * quanta[at]]
        for at in content or waiting:
            found[at] = offered[at] if content else turn * quanta[at]
            room -= found[at]
        waiting = [at for at in waiting if content and at not in content]
    return found
