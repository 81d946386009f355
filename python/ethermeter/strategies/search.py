"""Search: the largest or smallest value of a key with which conditions hold."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ethermeter.analysis.conditions import Condition, Judged, margins_of
from ethermeter.analysis.estimated import Interval
from ethermeter.analysis.sequential import SequentialTest, sequential_test
from ethermeter.analysis.value_search import Kept, Outcome, Point, SearchAnswer
from ethermeter.experiment import Experiment
from ethermeter.json_values import number as known
from ethermeter.metrics import ALL
from ethermeter.quantities import Scale, with_ends
from ethermeter.results.interval import Floats, student
from ethermeter.search.bounds import bound_of
from ethermeter.search.question import Question
from ethermeter.strategies.bisection import Bisection, Ends, Tried, most_positions
from ethermeter.strategies.strategy import Finished, Observed, question_text
from ethermeter.theory.load import loads_of
from ethermeter.trial import Trial, renumbered
from ethermeter.units import LONGEST_TRIAL_PS, PS_PER_S

USUAL_REPLICATIONS = 12
"""Trials of a value, for the progress."""
REVERSAL = 0.1
"""Of the limit: how much better a harder value must be to be noticed."""
REVERSAL_ERROR = 0.001
"""Probability with which equal means are taken for a reversal."""
REVERSAL_SAMPLES = 5
"""Fewest trials of both values, those of the first look."""
MOST_TIMES = 16
"""How many times longer than in the file trials become at most, as long as queues grow in them."""


@dataclass(frozen=True, slots=True)
class _Samples:
    """What the longest trials of a value say: of each, of each condition, what was judged.

    `times`: how many times longer than the file says they transmit. `transmit_ps`: how long.
    """

    trials: list[list[list[Judged]]]
    times: int
    transmit_ps: int

    @property
    def is_growing(self) -> bool:
        """Whether a queue grew in most trials, so that longer ones have other values."""
        growing = sum(any(each.is_growing for of in trial for each in of) for trial in self.trials)
        return 2 * growing > len(self.trials)

    @property
    def reason(self) -> str:
        """Why the value fails whatever the trials saw; empty otherwise."""
        every = (each.reason for trial in self.trials for of in trial for each in of)
        return next(filter(None, every), "")

    def margins(self) -> Floats:
        """Margins of all conditions and flows, shape `(margins, trials)`."""
        rows = [[each.margin for of in trial for each in of] for trial in self.trials]
        width = min(map(len, rows), default=0)
        return np.array([row[:width] for row in rows], np.float64).reshape(len(rows), width).T


class ValueSearch:
    """Finds the last value of a range at which conditions hold, for replications with chance.

    `question`: what is wanted. It is taken for granted that conditions hold less and less along the
    values.
    """

    name = "search"

    def __init__(self, question: Question) -> None:
        self._question = question
        count = question.values.count
        most = most_positions(count)
        test = (
            sequential_test((1 - question.confidence) / most, most=question.replications)
            if question.has_chance
            else SequentialTest((1,), 0.0)
        )
        self._bisection = Bisection(count, test, has_ends=True, most=most)
        self._judged: dict[str, list[list[Judged]]] = {}
        self._expected = USUAL_REPLICATIONS * self._bisection.positions_left({})

    @property
    def question(self) -> str:
        """The experiment at its easiest value, the range, and what must hold, as JSON text."""
        asked = self._question
        return question_text(
            {
                "strategy": self.name,
                "experiment": asked.at(0).source_text,
                "direction": asked.direction,
                "key": asked.key,
                "first": asked.values.text(0),
                "last": asked.values.text(asked.values.count - 1),
                "step": asked.values.step_text,
                "conditions": [str(each) for each in asked.conditions],
                "engine": asked.engine,
                "confidence": asked.confidence,
                "replications": asked.replications,
            }
        )

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiment at its easiest value."""
        return (self._question.at(0),)

    @property
    def expected_trials(self) -> int:
        """About how many trials it needs, by those so far."""
        return self._expected

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[SearchAnswer]:
        """Return the next replications, or the answer."""
        samples, runs = self._sorted(observed)
        margins = {at: of.margins() for at, of in samples.items()}
        growing = {at for at, of in samples.items() if of.is_growing}
        tried = self._bisection.tried(margins, runs, growing)
        fails = {at for at, each in tried.items() if each.verdict == "fails"}
        longer = [at for at in sorted(growing - fails) if self._may_be_longer(samples[at])]
        if longer:
            first = self._bisection.test.looks[0]
            return self._numbered(
                [
                    trial
                    for at in longer
                    for trial in self._question.trials(at, 0, first, times=2 * samples[at].times)
                ],
                len(observed),
            )
        steps = self._bisection.steps(margins, runs, growing)
        if not steps:
            return Finished(self._answer(self._bisection.ends(tried), tried, samples, runs))
        usual = len(observed) / len(runs) if runs else USUAL_REPLICATIONS
        left = self._bisection.positions_left(tried) * usual if self._question.has_chance else 0
        self._expected = round(len(observed) + sum(step.end - step.begin for step in steps) + left)
        times = {at: of.times for at, of in samples.items()}
        trials = [
            trial
            for step in steps
            for trial in self._question.trials(
                step.position, step.begin, step.end, times=times.get(step.position, 1)
            )
        ]
        return self._numbered(trials, len(observed))

    @staticmethod
    def _numbered(trials: Sequence[Trial], begin: int) -> tuple[Trial, ...]:
        return tuple(
            renumbered(trial, number, point=trial.point)
            for number, trial in enumerate(trials, begin)
        )

    def _may_be_longer(self, samples: _Samples) -> bool:
        """Whether trials of a value may be twice as long."""
        is_free = not self._question.key.startswith("phases.")
        # Settling and drain are shorter than the transmission, or little is left to search.
        is_short = 4 * samples.transmit_ps <= LONGEST_TRIAL_PS
        return is_free and is_short and 2 * samples.times <= MOST_TIMES

    def _sorted(self, observed: Sequence[Observed]) -> tuple[dict[int, _Samples], Counter[int]]:
        """Return the samples of each position, of its longest trials, and the number of these."""
        samples: dict[int, _Samples] = {}
        runs: Counter[int] = Counter()
        shortest: dict[int, int] = {}
        for each in observed:
            position = self._position(each.trial)
            phases = each.trial.scenario.phases
            transmit_ps = phases.stop_ps - phases.begin_ps
            times = round(transmit_ps / shortest.setdefault(position, transmit_ps))
            if position not in samples or times > samples[position].times:
                samples[position], runs[position] = _Samples([], times, transmit_ps), 0
            if each.trial.id not in self._judged:
                self._judged[each.trial.id] = margins_of(
                    self._question.conditions, each.trial, each.results
                )
            runs[position] += 1
            if judged := self._judged[each.trial.id]:
                samples[position].trials.append(judged)
        return samples, runs

    def _position(self, trial: Trial) -> int:
        """Return the position of the value of a trial."""
        values = self._question.values
        text = next(iter(trial.point.values()))
        number = text.partition(" ")[0]
        return round((float(number) - float(values.first)) / float(values.step))

    def _answer(
        self,
        ends: Ends,
        tried: Mapping[int, Tried],
        samples: Mapping[int, _Samples],
        runs: Mapping[int, int],
    ) -> SearchAnswer:
        asked = self._question
        values, last = asked.values, asked.values.count - 1
        outcome: Outcome = "undecided"
        if ends.fails == 0:
            outcome = "none"
        elif ends.sure == last:
            outcome = "all"
        elif ends.fails - ends.sure == 1:
            outcome = "answered"
        within = [
            values.text(at) if 0 <= at <= last else None
            for at in (ends.estimate, ends.sure, ends.fails - 1)
        ]
        points = tuple(
            self._point(at, tried[at], samples[at], runs[at])
            for at in sorted(tried, key=values.number)
        )
        return SearchAnswer(
            sentence=self._sentence(ends, outcome, points),
            outcome=outcome,
            key=asked.key,
            direction=asked.direction,
            estimate=within[0],
            at_least=within[1] if asked.direction == "largest" else within[2],
            at_most=within[2] if asked.direction == "largest" else within[1],
            step=values.step_text,
            unit=values.unit,
            conditions=tuple(map(str, asked.conditions)),
            engine=asked.engine,
            confidence=asked.confidence,
            most_replications=asked.replications,
            seed=asked.seed,
            cautions=tuple(self._cautions(tried, samples)),
            bound=bound_of(asked),
            points=points,
        )

    def _sentence(self, ends: Ends, outcome: Outcome, points: Sequence[Point]) -> str:
        """Say what was found, in one sentence."""
        asked = self._question
        failed = sum(point.failed for point in points)
        by_value = {point.value: point for point in points}
        values, last = asked.values, asked.values.count - 1
        how = f" at {100 * asked.confidence:g}%" if asked.has_chance else f" by {asked.engine}"
        held = " and ".join(map(str, asked.conditions))
        begin = f"{asked.direction} {asked.key} with {held}"
        if outcome == "none":
            why = self._why(0, by_value[values.text(0)])
            return f"{begin}: no value holds, not even {values.text(0)}{how}{why}"
        if outcome == "all":
            return f"{begin}: {values.text(last)}, the end of the range{how}; perhaps beyond"
        if outcome == "answered":
            harder = values.text(ends.fails)
            why = self._why(ends.fails, by_value[harder])
            return f"{begin}: {values.text(ends.sure)}{how}; {harder} fails{why}"
        low, high = (
            values.text(at) if 0 <= at <= last else None for at in (ends.sure, ends.fails - 1)
        )
        if asked.direction == "smallest":
            low, high = high, low
        known = (
            f"between {low} and {high}"
            if low is not None and high is not None
            else f"at least {low}"
            if low is not None
            else f"at most {high}"
            if high is not None
            else "nowhere known"
        )
        less = f", of which {failed} in all failed" if failed else ""
        return (
            f"{begin}: {known}{how}, undecided there after {asked.replications} trials of a value"
            f"{less}"
        )

    def _why(self, at: int, point: Point) -> str:
        """Say why a value fails, after a colon: an overload, or the conditions that do not hold.

        Of each the flow that keeps it least, its value, and the busiest resource on its path.
        """
        if point.reason:
            return f": {point.reason}"
        trial = self._question.trials(at, 0, 1)[0]
        texts = [
            f"{_beyond(condition, kept)}{_busiest(condition.members(trial).get(kept.flow), trial)}"
            for condition, kept in zip(self._question.conditions, point.conditions, strict=True)
            if condition.margin(known(kept.estimate.value)) < 0
        ]
        return f": {' and '.join(texts)}" if texts else ""

    def _point(self, at: int, tried: Tried, samples: _Samples, runs: int) -> Point:
        values, trials = self._question.values, samples.trials
        kept = []
        words: dict[str, None] = {}
        for number, condition in enumerate(self._question.conditions):
            of_trials = [trial[number] for trial in trials]
            kept.append(_least_kept(condition, of_trials))
            words |= dict.fromkeys(
                word for of in of_trials for each in of for word in each.cautions
            )
        return Point(
            values.text(at),
            float(values.number(at)),
            tried.verdict,
            len(trials),
            runs - len(trials),
            tuple(kept),
            tuple(words),
            samples.reason,
            samples.transmit_ps / PS_PER_S,
        )

    def _cautions(self, tried: Mapping[int, Tried], samples: Mapping[int, _Samples]) -> list[str]:
        """Say where results are not as it was taken for granted, and what keeps from deciding."""
        found, values = [], self._question.values
        for at, each in sorted(tried.items()):
            if samples[at].is_growing and each.verdict == "undecided":
                found.append(
                    f"{values.text(at)} is not decided by trials of "
                    f"{samples[at].transmit_ps / PS_PER_S:g} s: a queue still grows in them"
                )
        least, most = self._bisection.test.equal, self._question.replications
        if most < least and any(each.verdict == "undecided" for each in tried.values()):
            found.append(
                f"values whose trials all agree, as without loss, need {least} trials to be "
                f"decided about; at most {most} were allowed"
            )
        holds = [at for at in tried if tried[at].verdict == "holds"]
        fails = [at for at in tried if tried[at].verdict == "fails"]
        if holds and fails and max(holds) > min(fails):
            found.append(
                f"not monotone: {values.text(max(holds))} holds though {values.text(min(fails))} "
                "fails; the answer is the last value before the first that fails"
            )
        for number, condition in enumerate(self._question.conditions):
            if pair := self._reversal(number, condition, samples):
                easy, hard, name = pair
                of = f" of {name}" if name else ""
                found.append(
                    f"not monotone: {condition.metric}{of} is worse at {values.text(easy)} than "
                    f"at {values.text(hard)}; the search takes for granted that it is not"
                )
        return found

    def _reversal(
        self, number: int, condition: Condition, samples: Mapping[int, _Samples]
    ) -> tuple[int, int, str] | None:
        """Return two neighbours of which the harder one keeps a condition better, and the flow."""
        series: dict[str, dict[int, Floats]] = {}
        for at in sorted(samples):
            of_trials = [trial[number] for trial in samples[at].trials]
            for name in dict.fromkeys(each.name for of in of_trials for each in of):
                known = [each.margin for of in of_trials for each in of if each.name == name]
                if known and np.isfinite(known).all():
                    series.setdefault(name, {})[at] = np.array(known)
        tests = sum(max(0, len(of) - 1) for of in series.values())
        for name, of in series.items():
            places = list(of)
            for easy, hard in itertools.pairwise(places):
                gain = float(of[hard].mean() - of[easy].mean())
                if gain <= REVERSAL * abs(condition.limit):
                    continue
                if _is_above(of[hard], of[easy], REVERSAL_ERROR / tests):
                    return easy, hard, name
        return None


_BEYOND = {
    "<=": "more than",
    "<": "not less than",
    ">=": "less than",
    ">": "not more than",
    "==": "not",
}
"""What a value is that does not keep a relation."""


def _beyond(condition: Condition, kept: Kept) -> str:
    """Say which value of which flow does not keep a condition."""
    label, of = condition.metric.label, f" of {kept.flow}" if kept.flow else ""
    name = f"{condition.metric.value}{of}"
    if kept.estimate.value is None:
        return f"{name} has no value"
    ends = kept.estimate.value, kept.estimate.low, kept.estimate.high
    value, low, high = (None if end is None else label.factor * end for end in ends)
    text = with_ends(value, low, high, Scale(label.unit))
    return f"{name} is {text}, {_BEYOND[condition.relation]} {condition.shown}"


def _busiest(flows: NDArray[np.int64] | None, trial: Trial) -> str:
    """Name the busiest resource on the path of flows; empty if nothing is known of their load."""
    if flows is None or ALL in flows:
        return ""
    numbers = set(flows.tolist())
    for each in loads_of(trial.scenario).resources:
        if numbers & each.limits[0].keys():
            return f" (busiest on its path: {each.resource}, {100 * each.load:.4g}% of its time)"
    return ""


def _is_above(first: Floats, second: Floats, error: float) -> bool:
    """Whether a mean is above another one, by Welch's test with a one-sided error."""
    if first.size == second.size == 1:  # of a theory
        return True
    if min(first.size, second.size) < REVERSAL_SAMPLES:
        return False
    parts = [(float(of.var(ddof=1)) / of.size, of.size - 1) for of in (first, second)]
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return True
    degrees = variance**2 / sum(part**2 / of for part, of in parts)
    statistic = (first.mean() - second.mean()) / np.sqrt(variance)
    return bool(statistic > stdtrit(degrees, 1 - error))


def _least_kept(condition: Condition, of_trials: Sequence[Sequence[Judged]]) -> Kept:
    """Return the estimate of the flow or group that keeps a condition least."""
    by_name: dict[str, list[Judged]] = {}
    for of in of_trials:
        for each in of:
            by_name.setdefault(each.name, []).append(each)
    metric = condition.metric.value
    if not by_name:
        return Kept(str(condition), metric, "", Interval(None, None, None), condition.limit)
    means = {name: float(np.mean([each.margin for each in of])) for name, of in by_name.items()}
    worst = min(means, key=means.__getitem__)
    values = np.array([each.value for each in by_name[worst]])
    return Kept(str(condition), metric, worst, Interval.of(student(values)), condition.limit)
