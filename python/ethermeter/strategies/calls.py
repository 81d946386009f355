"""How many calls fit: bisection over the number of calls."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from ethermeter.analysis.interval import Estimate, student
from ethermeter.calls.quality import Quality, Wanted, rated
from ethermeter.calls.question import Question
from ethermeter.experiment import Experiment
from ethermeter.metrics import Caution
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


class Interval(msgspec.Struct, frozen=True):
    """A mean with its 95% interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, estimate: Estimate) -> "Interval":
        """Return the interval of an estimate."""
        return cls(
            *(
                number if math.isfinite(number) else None
                for number in (estimate.value, estimate.low, estimate.high)
            )
        )

    @property
    def half_width(self) -> float | None:
        """Half of its width."""
        return None if self.high is None or self.value is None else self.high - self.value


class Rated(msgspec.Struct, frozen=True):
    """A number of calls and its quality, as the mean over the replications.

    `calls`: how many. `margin`: by how much the quality is better than wanted; negative where
    worse. `mos`, `rating`, `loss`, `delay_s`, `buffer_s`, `network_p50_s`, `network_p99_s`,
    `utilisation`: as of `Quality`. `cautions`: words of the closed list that one of the trials has.
    """

    calls: int
    margin: Interval
    mos: Interval
    rating: Interval
    loss: Interval
    delay_s: Interval
    buffer_s: Interval
    network_p50_s: Interval
    network_p99_s: Interval
    utilisation: Interval
    cautions: tuple[str, ...]

    @classmethod
    def of(cls, calls: int, qualities: Sequence[Quality], wanted: Wanted) -> "Rated":
        """Return the mean of the qualities of the replications."""

        def mean(values: Sequence[float]) -> Interval:
            return Interval.of(student(np.array(values)))

        return cls(
            calls,
            mean([wanted.margin(each) for each in qualities]),
            **{field: mean([getattr(each, field) for each in qualities]) for field in QUALITIES},
            cautions=tuple(dict.fromkeys(word for each in qualities for word in each.cautions)),
        )

    @property
    def is_enough(self) -> bool:
        """Whether the mean is good enough, in a trial of any length."""
        return self.is_carried and _is_good(self.margin.value)

    @property
    def is_carried(self) -> bool:
        """Whether no unlimited queue is offered more than its link carries.

        Delays in such a queue would grow with the length of the trial.
        """
        return Caution.UNBOUNDED_QUEUE not in self.cautions


class Answer(msgspec.Struct, frozen=True, rename={"is_limited_by_stations": "limited_by_stations"}):
    """The largest number of calls that is good enough: `answer.json` of a run.

    `subject`: the segment, or the hosts and the links between them, and the other traffic. `calls`:
    the largest number that is good enough on the mean and all of whose fewer that were tried are
    too; 0 if not even one is. `sure`, `possible`: numbers tried whose interval is on the good side,
    the largest of them; and the largest whose interval reaches it. `is_limited_by_stations`:
    whether the answer is the most that was tried: the room of the bits, or of the number of
    stations or flows. `codec`, `packet_s`, `talkers`, `activity`, `replications`, `seed`: as of
    `Question`. `load_of_a_call`, `segment`: of a segment: share of its line rate that a call needs
    on the mean, and its table. `network`, `pairs`: of a network: its file, and caller and called
    host of each pair. `wanted`: what is good enough: `mos`, or `loss` and `delay_s`. `tried`: every
    number that was tried, by size.
    """

    subject: str
    calls: int
    sure: int
    possible: int
    is_limited_by_stations: bool
    codec: str
    packet_s: float
    talkers: int
    activity: float
    wanted: dict[str, float]
    replications: int
    seed: int
    tried: tuple[Rated, ...]
    load_of_a_call: float | UnsetType = UNSET
    segment: dict[str, object] | UnsetType = UNSET
    network: str | UnsetType = UNSET
    pairs: tuple[tuple[str, str], ...] | UnsetType = UNSET


class CallSearch:
    """Finds how many calls fit: by halving, which takes for granted that more calls are no better.

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
                "wanted": self._wanted.as_json(),
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

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[Answer]:
        """Return the trials of the next number of calls, or the answer."""
        tried = self._tried(observed)
        numbers = next_numbers(tried, self._most)
        if not numbers:
            return Finished(self._answer(tried))
        trials = [(calls, trial) for calls in numbers for trial in self._question.trials(calls)]
        return tuple(
            renumbered(trial, len(observed) + at, point={CALLS: str(calls)})
            for at, (calls, trial) in enumerate(trials)
        )

    def _tried(self, observed: Sequence[Observed]) -> dict[int, Rated]:
        qualities: dict[int, list[Quality]] = {}
        for each in observed:
            qualities.setdefault(int(each.trial.point[CALLS]), []).append(self._quality(each))
        return {calls: Rated.of(calls, of, self._wanted) for calls, of in qualities.items()}

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
                for heard in self._question.heard(observed.rows, trial, int(trial.point[CALLS]))
            ]
            # Of a network, the worst pair of hosts and direction, with the cautions of all.
            worst = min(every, key=lambda each: (self._wanted.margin(each), -each.delay_s))
            words = dict.fromkeys(word for each in every for word in each.cautions)
            self._qualities[trial.id] = replace(worst, cautions=tuple(words))
        return self._qualities[trial.id]

    def _answer(self, tried: Mapping[int, Rated]) -> Answer:
        calls, sure, possible = judged(tried, self._most)
        asked = self._question
        facts = asked.venue.facts(asked)
        return Answer(
            subject=asked.subject,
            calls=calls,
            sure=sure,
            possible=possible,
            is_limited_by_stations=calls == self._most,
            codec=asked.codec,
            packet_s=asked.packet_s,
            talkers=asked.talkers,
            activity=asked.activity,
            wanted=self._wanted.as_json(),
            replications=asked.replications,
            seed=asked.seed,
            tried=tuple(tried[number] for number in sorted(tried)),
            load_of_a_call=facts.load_of_a_call,
            segment=facts.segment,
            network=facts.network,
            pairs=facts.pairs,
        )


def next_numbers(tried: Mapping[int, Rated], most: int) -> tuple[int, ...]:
    """Return the numbers of calls to try next; none when the search is over."""
    low, high = _bounds(tried, most)
    if high - low > 1:
        return ((low + high) // 2,)
    # What is next to the answer shows how sure it is.
    beside = (low + 1, low - 1)
    return tuple(calls for calls in beside if 1 <= calls <= most and calls not in tried)


def judged(tried: Mapping[int, Rated], most: int) -> tuple[int, int, int]:
    """Return the largest number of calls that is good enough, surely so, and possibly so.

    The last two are by the intervals.
    """
    calls, _ = _bounds(tried, most)
    listed = [each for each in tried.values() if each.is_carried]
    sure = [each.calls for each in listed if each.calls <= calls and _is_good(each.margin.low)]
    possible = [each.calls for each in listed if each.calls >= calls and _is_good(each.margin.high)]
    return calls, max(sure, default=0), max(possible, default=calls)


def _bounds(tried: Mapping[int, Rated], most: int) -> tuple[int, int]:
    """Return how far halving has come: the answer is at least the first and below the second."""
    low, high = 0, most + 1
    while high - low > 1 and (middle := (low + high) // 2) in tried:
        low, high = (middle, high) if tried[middle].is_enough else (low, middle)
    return low, high


def _is_good(margin: float | None) -> bool:
    return margin is not None and margin >= 0
