"""What strategies have in common."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import msgspec

from ethermeter.engines import local
from ethermeter.engines import work as engine_work
from ethermeter.experiment import Experiment
from ethermeter.results.query import Results
from ethermeter.store.trial_result import TrialResult
from ethermeter.trial import Trial

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Observed:
    """A finished trial and its result.

    `trial`: the trial. `results`: its values. `result`: the text of its file in `live/`, which
    is JSON; empty if it was not measured.
    """

    trial: Trial
    results: Results
    result: bytes = b""


@dataclass(frozen=True, slots=True)
class Finished(Generic[A_co]):
    """The strategy proposes no more trials.

    `answer`: what was found: a value that msgspec can encode.
    """

    answer: A_co


class Strategy(Protocol[A_co]):
    """Decides from the results so far which trials are run next.

    A strategy must be deterministic: equal results give equal proposals. A run is resumed by asking
    it again from the beginning, with the results that are stored.
    """

    @property
    def name(self) -> str:
        """Name of the plan, fit for a directory."""

    @property
    def question(self) -> str:
        """All that the proposals and the answer depend on, besides the results, as JSON text."""

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """Experiments from which the trials are made; their text is kept with the run."""

    @property
    def expected_trials(self) -> int:
        """About how many trials it needs, for the progress."""

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[A_co]:
        """Return the next trials, at least one, or the answer.

        `observed`: results of all trials proposed before, in the order in which they were proposed.
        """


def question_text(question: Mapping[str, object]) -> str:
    """Return a question as JSON text."""
    return msgspec.json.format(msgspec.json.encode(question), indent=1).decode() + "\n"


def question_hash(question: str) -> str:
    """First 12 hexadecimal digits of the SHA-256 of a question: the identity of its run."""
    return hashlib.sha256(question.encode()).hexdigest()[:12]


def answered(strategy: Strategy[A], *, jobs: int = 1) -> A:
    """Answer by simulation in memory, without a run directory.

    `strategy`: the strategy. `jobs`: threads.
    """
    observed: list[Observed] = []
    while not isinstance(proposed := strategy.propose(observed), Finished):
        work = [
            engine_work.Work(place, trial.id, trial.line) for place, trial in enumerate(proposed)
        ]
        found: dict[int, TrialResult] = {}
        with closing(local.run(work, jobs=jobs)) as results:
            for result in results:
                if isinstance(result, engine_work.Finished):
                    found[result.place] = result.result
        observed += [
            Observed(trial, Results.of_trial(trial, found[place]))
            for place, trial in enumerate(proposed)
        ]
    return proposed.answer
