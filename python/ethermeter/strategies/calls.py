"""How many calls fit: a search over the number of calls."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ethermeter.analysis.call_search import CallsAnswer, Rated
from ethermeter.analysis.estimated import Interval
from ethermeter.analysis.sequential import SequentialTest
from ethermeter.calls.quality import Quality, Wanted, rated
from ethermeter.calls.question import Question
from ethermeter.experiment import Experiment
from ethermeter.results.interval import LEVEL, Floats, student
from ethermeter.strategies.bisection import Bisection, Ends
from ethermeter.strategies.strategy import Finished, Observed, question_text
from ethermeter.trial import Trial, renumbered

CALLS = "calls"
"""Key of a trial's point that holds its number of calls."""
QUALITIES = (
    "mos",
    "rating",
    "loss",
    "delay_s",
    "buffer_s",
    "network_p50_s",
    "network_p99_s",
    "utilisation",
)
"""Fields of `Quality` of which an answer has the mean over the replications."""


class CallSearch:
    """Finds how many calls fit, which takes for granted that more calls are no better.

    Every number that is tried has the same replications, and is decided about by the 95% interval
    of its own margin.

    `question`: which calls, and where. `wanted`: what is good enough. `buffer_s`: delay of network
    and jitter buffer that the receivers have set [s]; None for the best of each trial. `beyond_s`:
    delay beyond the segment or network [s].
    Raises InputError if the segment or network has faults. Raises ArgumentError if the codec cannot
    be cut like this.
    """

    name = "calls"

    def __init__(
        self,
        question: Question,
        wanted: Wanted,
        *,
        buffer_s: float | None = None,
        beyond_s: float = 0.0,
    ) -> None:
        self._question, self._wanted = question, wanted
        self._buffer_s, self._beyond_s = buffer_s, beyond_s
        self._most = question.most
        # Equal margins are decided about as soon as there is an interval.
        test = SequentialTest((question.replications,), (1 - LEVEL) / 2, equal=2)
        self._bisection = Bisection(self._most, test)
        self._qualities: dict[str, Quality] = {}

    @property
    def question(self) -> str:
        """The experiment of one call, what is wanted, and how buffers are set, as JSON text."""
        return question_text(
            {
                "strategy": self.name,
                "experiment": self._question.text(1),
                "codec": self._question.codec,
                "packet_s": self._question.packet_s,
                "wanted": self._wanted.used(),
                "buffer_s": self._buffer_s,
                "beyond_s": self._beyond_s,
            }
        )

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiment of one call."""
        return (self._question.experiment(1),)

    @property
    def expected_trials(self) -> int:
        """Trials of as many numbers as halving takes, and of one beside the answer."""
        return (math.ceil(math.log2(self._most + 1)) + 1) * self._question.replications

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[CallsAnswer]:
        """Return the trials of the next number of calls, or the answer."""
        qualities: dict[int, list[Quality]] = {}
        for each in observed:
            qualities.setdefault(int(each.trial.point[CALLS]), []).append(self._quality(each))
        samples = {calls - 1: self._margins(of) for calls, of in qualities.items()}
        runs = {calls - 1: len(of) for calls, of in qualities.items()}
        # A queue in balance grows in few trials by chance.
        growing = {
            calls - 1
            for calls, of in qualities.items()
            if 2 * sum(not each.is_settled for each in of) > len(of)
        }
        steps = self._bisection.steps(samples, runs, growing)
        if not steps:
            tried = self._bisection.tried(samples, runs, growing)
            return Finished(self._answer(self._bisection.ends(tried), qualities))
        numbers = [step.position + 1 for step in steps]
        trials = [(calls, trial) for calls in numbers for trial in self._question.trials(calls)]
        return tuple(
            renumbered(trial, len(observed) + at, point={CALLS: str(calls)})
            for at, (calls, trial) in enumerate(trials)
        )

    def _margins(self, qualities: Sequence[Quality]) -> Floats:
        """Return the margins of the trials of a number of calls, shape `(1, trials)`.

        Calls beside which an unlimited queue is overloaded are not good enough, whatever a trial
        saw.
        """
        if not all(each.is_carried for each in qualities):
            return np.full((1, len(qualities)), -np.inf)
        return np.array([[self._wanted.margin(each) for each in qualities]])

    def _quality(self, observed: Observed) -> Quality:
        trial = observed.trial
        if trial.id not in self._qualities:
            every = [
                rated(
                    heard,
                    codec=self._question.codec,
                    packet_s=self._question.packet_s,
                    buffer_s=self._buffer_s,
                    beyond_s=self._beyond_s,
                    wanted=self._wanted,
                )
                for heard in self._question.heard(observed.results, trial, int(trial.point[CALLS]))
            ]
            # Of a network, the worst pair of hosts and direction, with the cautions of all.
            worst = min(every, key=lambda each: (self._wanted.margin(each), -each.delay_s))
            words = dict.fromkeys(word for each in every for word in each.cautions)
            self._qualities[trial.id] = replace(worst, cautions=tuple(words))
        return self._qualities[trial.id]

    def _answer(self, ends: Ends, qualities: Mapping[int, Sequence[Quality]]) -> CallsAnswer:
        asked, calls = self._question, ends.estimate + 1
        facts = asked.venue.facts(asked)
        return CallsAnswer(
            subject=asked.subject,
            calls=calls,
            sure=ends.sure + 1,
            possible=ends.fails,
            is_limited_by_stations=calls == self._most,
            codec=asked.codec,
            packet_s=asked.packet_s,
            talkers=asked.talkers,
            activity=asked.activity,
            wanted=self._wanted.used(),
            replications=asked.replications,
            seed=asked.seed,
            tried=tuple(
                _rated(number, qualities[number], self._wanted) for number in sorted(qualities)
            ),
            load_of_a_call=facts.load_of_a_call,
            segment=facts.segment,
            network=facts.network,
            pairs=facts.pairs,
        )


def _rated(calls: int, qualities: Sequence[Quality], wanted: Wanted) -> Rated:
    """Return the mean of the qualities of the replications."""

    def mean(values: Sequence[float]) -> Interval:
        return Interval.of(student(np.array(values)))

    return Rated(
        calls,
        mean([wanted.margin(each) for each in qualities]),
        **{field: mean([getattr(each, field) for each in qualities]) for field in QUALITIES},
        cautions=tuple(dict.fromkeys(word for each in qualities for word in each.cautions)),
    )
