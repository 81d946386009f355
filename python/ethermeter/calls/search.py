"""The search for the largest number of calls that is good enough."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from ethermeter.analysis.interval import Estimate, student
from ethermeter.calls.network import NetworkQuestion
from ethermeter.calls.quality import Quality, Wanted, rated
from ethermeter.calls.question import Question
from ethermeter.engines import local
from ethermeter.engines.work import Finished, Work
from ethermeter.metrics import Caution


@dataclass(frozen=True, slots=True)
class Rated:
    """A number of calls, and the quality of each of its trials.

    Parameters
    ----------
    calls
        How many.
    qualities
        One a replication.
    margin
        Mean of what is better than wanted, with its interval; negative where worse.

    """

    calls: int
    qualities: tuple[Quality, ...]
    margin: Estimate

    @property
    def is_enough(self) -> bool:
        """Whether it is good enough on the mean, in a trial of any length."""
        return self.is_carried and self.margin.value >= 0

    @property
    def is_carried(self) -> bool:
        """Whether no unlimited queue is offered more than its wire carries, in which delays would
        grow with the length of the trial.
        """
        return Caution.UNBOUNDED_QUEUE not in self.cautions

    @property
    def cautions(self) -> tuple[str, ...]:
        """Words of the closed list that one of the trials has."""
        return tuple(dict.fromkeys(word for each in self.qualities for word in each.cautions))

    def mean(self, field: str) -> Estimate:
        """Mean of a field of the qualities over the replications, with its interval."""
        return student(np.array([getattr(each, field) for each in self.qualities]))


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found.

    Parameters
    ----------
    calls
        The largest number that is good enough on the mean and all of whose fewer that were tried
        are too; 0 if not even one is.
    sure, possible
        Numbers tried whose interval is on the good side, the largest of them; and the largest whose
        interval reaches it.
    tried
        Every number that was tried, by size.
    is_limited_by_stations
        Whether the answer is the most that was tried: what the bits, or the number of stations or
        flows, leave room for.

    """

    calls: int
    sure: int
    possible: int
    tried: tuple[Rated, ...]
    is_limited_by_stations: bool


Follow = Callable[[int, int], None]
"""Is told the number of calls that is tried, and how many numbers have been tried before."""


def most_calls(
    question: Question | NetworkQuestion,
    wanted: Wanted,
    *,
    buffer_s: float | None = None,
    beyond_s: float = 0.0,
    jobs: int = 1,
    follow: Follow | None = None,
) -> Answer:
    """Find how many calls fit: by halving, which takes for granted that more calls are no better.

    Parameters
    ----------
    question
        Which calls, on which segment or between which hosts of a network.
    wanted
        What is good enough.
    buffer_s
        Delay of network and jitter buffer that the receivers have set [s]; None for the best of
        each trial.
    beyond_s
        Delay beyond the segment or network [s].
    jobs
        Threads.
    follow
        Is called before each number is tried.

    Raises
    ------
    InputError
        If the segment or network has faults.
    ArgumentError
        If the codec cannot be cut like this.
    TrialError
        If a trial breaks off.

    """
    tried: dict[int, Rated] = {}

    def enough(calls: int) -> bool:
        if calls not in tried:
            if follow is not None:
                follow(calls, len(tried))
            tried[calls] = _rated(
                question, wanted, calls, buffer_s=buffer_s, beyond_s=beyond_s, jobs=jobs
            )
        return tried[calls].is_enough

    most = question.most
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    # What is next to the answer shows how sure it is.
    for calls in (low + 1, low - 1):
        if 1 <= calls <= most:
            enough(calls)
    listed = tuple(tried[calls] for calls in sorted(tried))
    sure = max(
        (
            each.calls
            for each in listed
            if each.calls <= low and each.is_carried and each.margin.low >= 0
        ),
        default=0,
    )
    possible = max(
        (
            each.calls
            for each in listed
            if each.is_carried and each.margin.high >= 0 and each.calls >= low
        ),
        default=low,
    )
    return Answer(low, sure, possible, listed, is_limited_by_stations=low == most)


def _rated(
    question: Question | NetworkQuestion,
    wanted: Wanted,
    calls: int,
    *,
    buffer_s: float | None,
    beyond_s: float,
    jobs: int,
) -> Rated:
    trials = question.trials(calls)
    work = [Work(place, trial.id, trial.line) for place, trial in enumerate(trials)]
    found: dict[int, Quality] = {}
    with closing(local.run(work, jobs=jobs)) as results:
        for result in results:
            if isinstance(result, Finished):
                every = [
                    rated(
                        heard,
                        codec=question.codec,
                        packet_s=question.packet_s,
                        buffer_s=buffer_s,
                        beyond_s=beyond_s,
                        wanted=wanted,
                    )
                    for heard in question.heard(result.rows, trials[result.place], calls)
                ]
                # Of a network, the worst pair of hosts and direction, with the cautions of all.
                worst = min(every, key=lambda each: (wanted.margin(each), -each.delay_s))
                words = dict.fromkeys(word for each in every for word in each.cautions)
                found[result.place] = replace(worst, cautions=tuple(words))
    qualities = tuple(found[place] for place in range(len(trials)))
    return Rated(calls, qualities, student(np.array([wanted.margin(each) for each in qualities])))
