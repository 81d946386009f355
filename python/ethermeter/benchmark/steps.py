"""Steps of a suite: functions that ask for trials, run again with each new result.

A step is written as straight code: it asks a `Ledger` for the outcome of a stimulus and goes on. If
the outcome is not known yet, the ledger raises `UnansweredError`, the stimulus becomes a trial, and
the step is run again from its beginning when the trial has its result. So a step must be
deterministic, and holds nothing between its runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ethermeter.analysis.benchmark import Refusal, Test
from ethermeter.benchmark.bench import Bench, Stimulus
from ethermeter.benchmark.outcome import Outcome


class UnansweredError(Exception):
    """The next trials of a step."""

    def __init__(self, stimuli: Sequence[Stimulus]) -> None:
        super().__init__(f"{len(stimuli)} stimuli without an outcome")
        self.stimuli = tuple(stimuli)


class Ledger:
    """Outcomes of the trials of a step, in the order in which it asked for them."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._outcomes = outcomes
        self._asked = 0

    def measure(self, stimulus: Stimulus) -> Outcome:
        """Return the outcome of a stimulus; raises `UnansweredError` if it was not applied yet."""
        (outcome,) = self.measure_all([stimulus])
        return outcome

    def measure_all(self, stimuli: Sequence[Stimulus]) -> Sequence[Outcome]:
        """Return the outcomes of several stimuli, which may be applied at once."""
        begin, end = self._asked, self._asked + len(stimuli)
        if end > len(self._outcomes):
            raise UnansweredError(stimuli)
        self._asked = end
        return self._outcomes[begin:end]


Results = Mapping[str, Any]
"""Results of finished steps by their keys; each has the type that its step returns."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a suite.

    Parameters
    ----------
    key
        Its name, unique in the suite.
    run
        Asks the ledger for outcomes, and returns the result of the step.
    needs
        Keys of the steps whose results it reads.
    expected_trials
        About how many trials it needs.

    """

    key: str
    run: Callable[[Ledger, Results], object]
    needs: tuple[str, ...] = ()
    expected_trials: int = 1


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite for one device: its steps, and the tables that their results make.

    `tables` is called with the results of all steps. `refused` are tests that cannot be run here.
    """

    name: str
    title: str
    bench: Bench
    steps: tuple[Step, ...]
    tables: Callable[[Results], tuple[Test, ...]]
    conditions: Mapping[str, str]
    refused: tuple[Refusal, ...] = ()
    culprit: Callable[[Results], str] = field(default=lambda _: "")
