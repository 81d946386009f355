"""Searches of a rate: MLRsearch, and halving as in RFC 2544."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ethermeter.faults import InputError

LEAST_SHARE = 1e-3
"""Lowest rate of a search, as a share of the highest."""
_NO_LIMIT_S = 1e12
"""Time of a search by the wall clock: a search that is replayed must not depend on it."""


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


def library() -> Any:  # it has no types
    """Return MLRsearch, which the extra `benchmark` installs.

    Raises
    ------
    InputError
        If it is not installed.

    """
    try:
        import MLRsearch
    except ImportError as error:
        allowed = "search=binary, or MLRsearch installed: pip install 'ethermeter[benchmark]'"
        raise InputError.of_argument("search", "mlr", allowed) from error
    return MLRsearch


class _Measurer:
    """Hands the trials of MLRsearch to a function: its `AbstractMeasurer`."""

    def __init__(self, measure: Measure, result: Callable[..., Any]) -> None:
        self._measure, self._result = measure, result
        self.trials = 0

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """Return the result of a trial."""
        counted = self._measure(intended_duration, intended_load)
        self.trials += 1
        return self._result(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=counted.intended,
            offered_count=counted.sent,
            forwarding_count=counted.received,
        )


def mlr_search(
    measure: Measure, goals: tuple[Goal, ...], *, least: float, most: float
) -> tuple[Found, ...]:
    """Search the rates of some goals by MLRsearch, all with the same trials.

    Parameters
    ----------
    measure
        Runs a trial.
    goals
        What is searched.
    least, most
        Lowest and highest rate of a trial, in frames/s.

    Raises
    ------
    InputError
        If MLRsearch is not installed.

    """
    mlr = library()
    measurer = _Measurer(measure, mlr.MeasurementResult)
    of = [
        mlr.SearchGoal(
            loss_ratio=goal.loss,
            exceed_ratio=goal.exceeding,
            relative_width=goal.width,
            initial_trial_duration=goal.first_trial_s,
            final_trial_duration=goal.trial_s,
            duration_sum=goal.sum_s,
            preceding_targets=goal.preceding,
            fail_fast=False,
        )
        for goal in goals
    ]
    config = mlr.Config()
    config.min_load = least  # Below the default of the highest load, which is 1e9.
    config.max_load = most
    config.goals = of
    config.search_duration_max = _NO_LIMIT_S
    config.warmup_duration = 0.0
    search = mlr.MultipleLossRatioSearch(config=config)
    results = search.search(measurer, debug=lambda _: None)
    found = []
    for goal in of:
        result = results[goal]
        low, high = result.relevant_lower_bound, result.relevant_upper_bound
        conditional = result.conditional_throughput
        found.append(
            Found(
                None if low is None else float(low),
                None if high is None else float(high),
                None if conditional is None else float(conditional),
                measurer.trials,
            )
        )
    return tuple(found)


def halving_search(measure: Measure, goal: Goal, *, least: float, most: float) -> Found:
    """Search a rate by halving, with trials of one duration, from the highest rate on.

    The arguments are those of `mlr_search`.
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
