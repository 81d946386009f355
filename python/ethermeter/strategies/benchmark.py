"""Benchmark: the steps of a suite as a strategy, those that do not need each other at once."""

from collections.abc import Sequence
from dataclasses import asdict

from ethermeter.analysis.benchmark import Answer
from ethermeter.benchmark.bench import FRAME, STIMULUS, TEST, TRIAL, Stimulus
from ethermeter.benchmark.outcome import Outcome, outcome_of
from ethermeter.benchmark.steps import Ledger, Step, Suite, UnansweredError
from ethermeter.benchmark.tables import losses_table
from ethermeter.experiment import Experiment
from ethermeter.strategies.strategy import Finished, Observed, question_text
from ethermeter.trial import Trial


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
        self._outcomes: dict[str, list[Outcome]] = {step.key: [] for step in suite.steps}
        self._proposed: list[tuple[str, Stimulus]] = []
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

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[Answer]:
        """Return the next trials of every step that can go on, or the answer."""
        self._take(observed)
        waiting: dict[str, tuple[Stimulus, ...]] = {}
        went_on = True
        while went_on:
            went_on = False
            for step in self._suite.steps:
                if step.key in self._results or step.key in waiting or not self._is_ready(step):
                    continue
                try:
                    result = step.run(Ledger(self._outcomes[step.key]), self._results)
                except UnansweredError as error:
                    waiting[step.key] = error.stimuli
                else:
                    self._results[step.key] = result
                    went_on = True
        if not waiting:
            return Finished(self._answer())
        trials: list[Trial] = []
        for key, stimuli in waiting.items():
            for at, stimulus in enumerate(stimuli, len(self._outcomes[key])):
                point = _point(key, at, stimulus)
                number = len(observed) + len(trials)
                trials.append(self._suite.bench.trial(stimulus, number, point))
                self._proposed.append((key, stimulus))
        return tuple(trials)

    def _is_ready(self, step: Step) -> bool:
        return all(need in self._results for need in step.needs)

    def _take(self, observed: Sequence[Observed]) -> None:
        """Count the frames of new results."""
        for each in observed[self._read :]:
            key, stimulus = self._proposed[self._read]
            outcome = outcome_of(each.trial, each.rows, each.result, stimulus.streams)
            self._outcomes[key].append(outcome)
            self._read += 1

    def _answer(self) -> Answer:
        suite = self._suite
        by_test: dict[str, list[Outcome]] = {}
        for step in suite.steps:
            by_test.setdefault(_test_of(step.key), []).extend(self._outcomes[step.key])
        measured = {name: outcomes for name, outcomes in by_test.items() if outcomes}
        return Answer(
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
