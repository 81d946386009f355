"""Benchmark: the steps of a suite as a strategy, those that do not need each other at once."""

from collections.abc import Sequence
from dataclasses import asdict

from ethermeter.analysis.benchmark import BenchmarkAnswer
from ethermeter.benchmark.bench import FRAME, STIMULUS, TEST, TRIAL, Stimulus
from ethermeter.benchmark.outcome import Outcome, outcome_of
from ethermeter.benchmark.steps import Ledger, Step, Suite, UnansweredError
from ethermeter.benchmark.tables import losses_table
from ethermeter.engines.work import TrialError
from ethermeter.experiment import Experiment
from ethermeter.store.result import read
from ethermeter.strategies.strategy import Finished, Observed, question_text
from ethermeter.trial import LIVE, Trial

MOST_FAILURES = 3
"""Trials one after the other that may fail, because an agent was lost, before the run ends."""


class Benchmark:
    """Runs the steps of a suite.

    Parameters
    ----------
    suite
        The suite for a device.
    venue
        Where trials are run, in words.

    """

    def __init__(self, suite: Suite, *, venue: str) -> None:
        self._suite, self._venue = suite, venue
        # By step, in the order in which it asked for them; None of a trial that failed or is
        # awaited.
        self._stimuli: dict[str, list[Stimulus]] = {step.key: [] for step in suite.steps}
        self._outcomes: dict[str, list[Outcome | None]] = {step.key: [] for step in suite.steps}
        self._proposed: list[tuple[str, int]] = []
        self._failures = 0  # one after the other
        self._results: dict[str, object] = {}
        self._read = 0

    @property
    def name(self) -> str:
        """Name of the run."""
        return f"benchmark-{self._suite.name}"

    @property
    def question(self) -> str:
        """The network, the testers and the settings of the suite, as JSON text."""
        bench = self._suite.bench
        return question_text(
            {
                "strategy": "benchmark",
                "suite": self._suite.name,
                "network": bench.text(),
                "testers": bench.testers,
                "settings": asdict(bench.settings),
                "conditions": dict(self._suite.conditions),
                "venue": self._venue,
            }
        )

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The first trial of the first step."""
        suite = self._suite
        try:
            suite.steps[0].run(Ledger(()), {})
        except UnansweredError as first:
            return (suite.bench.experiment(first.stimuli[0]),)
        return ()

    @property
    def expected_trials(self) -> int:
        """About how many trials it needs: those of finished steps, and as many as others expect."""
        return sum(
            len(self._outcomes[step.key])
            if step.key in self._results
            else max(step.expected_trials, len(self._outcomes[step.key]) + 1)
            for step in self._suite.steps
        )

    def propose(
        self, observed: Sequence[Observed]
    ) -> tuple[Trial, ...] | Finished[BenchmarkAnswer]:
        """Return the next trials of every step that can go on, or the answer.

        A trial that failed is proposed again. Raises TrialError after `MOST_FAILURES` of them, one
        after the other.
        """
        self._take(observed)
        waiting: dict[str, None] = {}
        went_on = True
        while went_on:
            went_on = False
            for step in self._suite.steps:
                outcomes = self._outcomes[step.key]
                if step.key in self._results or step.key in waiting or not self._is_ready(step):
                    continue
                if None in outcomes:
                    waiting[step.key] = None
                    continue
                try:
                    result = step.run(Ledger(_known(outcomes)), self._results)
                except UnansweredError as error:
                    self._stimuli[step.key] += error.stimuli
                    outcomes += [None] * len(error.stimuli)
                    waiting[step.key] = None
                else:
                    self._results[step.key] = result
                    went_on = True
        if not waiting:
            return Finished(self._answer())
        trials: list[Trial] = []
        for key in waiting:
            for at, (stimulus, outcome) in enumerate(
                zip(self._stimuli[key], self._outcomes[key], strict=True)
            ):
                if outcome is None:
                    number = len(observed) + len(trials)
                    point = _point(key, at, stimulus)
                    trials.append(self._suite.bench.trial(stimulus, number, point))
                    self._proposed.append((key, at))
        return tuple(trials)

    def _is_ready(self, step: Step) -> bool:
        return all(need in self._results for need in step.needs)

    def _take(self, observed: Sequence[Observed]) -> None:
        """Count the frames of new results."""
        for each in observed[self._read :]:
            key, at = self._proposed[self._read]
            self._read += 1
            if each.trial.engine == LIVE and not each.results.is_known():
                self._failures += 1
                if self._failures == MOST_FAILURES:
                    why = read(each.result).failure
                    raise TrialError(f"trial {each.trial.id} and {MOST_FAILURES - 1} before: {why}")
                continue
            self._failures = 0
            stimulus = self._stimuli[key][at]
            self._outcomes[key][at] = outcome_of(
                each.trial,
                each.results,
                each.result,
                stimulus.streams,
                is_emptied=stimulus.drain_s is not None,
            )

    def _answer(self) -> BenchmarkAnswer:
        suite = self._suite
        by_test: dict[str, list[Outcome]] = {}
        for step in suite.steps:
            by_test.setdefault(_test_of(step.key), []).extend(_known(self._outcomes[step.key]))
        measured = {name: outcomes for name, outcomes in by_test.items() if outcomes}
        return BenchmarkAnswer(
            suite=suite.name,
            title=suite.title,
            network=str(suite.bench.path),
            venue=self._venue,
            testers=suite.bench.testers,
            conditions=dict(suite.conditions),
            tests=(*suite.tables(self._results), losses_table(measured)),
            refused=suite.refused,
            culprit=suite.culprit(self._results),
        )


def _known(outcomes: Sequence[Outcome | None]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome is not None]


def _point(key: str, number: int, stimulus: Stimulus) -> dict[str, str]:
    """Return the point of a trial; all trials of a suite have the same keys."""
    others = [f"{name} {text}" for name, text in stimulus.label.items() if name != FRAME]
    return {
        TEST: _test_of(key),
        FRAME: stimulus.label.get(FRAME, "–"),
        STIMULUS: ", ".join(others) or "–",
        TRIAL: str(number),
    }


def _test_of(key: str) -> str:
    """Return the name of the test of a step."""
    return key.split(" ")[0]
