"""Searches of a rate: what is searched and found, and halving as in RFC 2544."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LEAST_SHARE = 1e-3
"""Lowest rate of a search, as a share of the highest."""


class Counted(Protocol):
    """Frames of a trial."""

    @property
    def intended(self) -> int:
        """Frames that should have been sent."""

    @property
    def sent(self) -> int:
        """Frames that were sent."""

    @property
    def received(self) -> int:
        """Frames that arrived."""


Measure = Callable[[float, float], Counted]
"""From duration in s and rate in frames/s to the frames of a trial."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Parameters
    ----------
    rate
        Highest rate that was found good, in frames/s; None if the lowest rate already loses frames.
    above
        Lowest rate that was found bad; None if the highest rate is good.
    conditional_rate
        Conditional throughput of MLRsearch: the good rate less the frames lost at it; the rate
        itself of a search by halving.
    trials
        Trials that it took.

    """

    rate: float | None
    above: float | None
    conditional_rate: float | None
    trials: int


@dataclass(frozen=True, slots=True)
class Goal:
    """What is searched.

    Parameters
    ----------
    loss
        Largest share of lost frames of a good trial.
    width
        Relative width within which the rate is found.
    trial_s, first_trial_s
        Duration of the deciding trials, and of the first ones of MLRsearch, in s.
    sum_s, exceeding
        Sum of the durations of trials that decide about a rate, in s, and the share of it in which
        trials may be bad.
    preceding
        Coarser targets that MLRsearch inserts before.

    """

    loss: float = 0.0
    width: float = 0.005
    trial_s: float = 1.0
    first_trial_s: float = 1.0
    sum_s: float = 1.0
    exceeding: float = 0.0
    preceding: int = 2


def halving_search(measure: Measure, goal: Goal, *, least: float, most: float) -> Found:
    """Search a rate by halving, with trials of one duration, from the highest rate on.

    Parameters
    ----------
    measure
        Runs a trial.
    goal
        What is searched.
    least, most
        Lowest and highest rate of a trial, in frames/s.

    """
    trials = 0

    def is_good(rate: float) -> bool:
        nonlocal trials
        trials += 1
        counted = measure(goal.trial_s, rate)
        whole = max(counted.intended, counted.sent)
        return whole - counted.received <= goal.loss * whole

    if is_good(most):
        return Found(most, None, most, trials)
    low, high = 0.0, most
    while high - low > goal.width * high and high > least:
        middle = max(least, (low + high) / 2)
        low, high = (middle, high) if is_good(middle) else (low, middle)
    rate = low or None
    return Found(rate, high, rate, trials)


FIRST = 16
"""First number that `longest` tries."""


def longest(is_whole: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to `most` that is good, if all below it are; 0 if not one is."""
    low, high = 0, min(FIRST, most)
    while is_whole(high):
        if high == most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_whole(middle) else (low, middle)
    return low
