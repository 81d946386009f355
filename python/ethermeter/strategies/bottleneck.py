"""Bottleneck search: every change of a transfer in rounds of random order, until it is decided."""

from collections.abc import Sequence
from dataclasses import asdict, astuple

import numpy as np

from ethermeter.analysis.bottleneck import BottleneckAnswer, Changed, Outcome
from ethermeter.analysis.estimated import Interval
from ethermeter.analysis.roofline import RooflineEntry
from ethermeter.bottleneck.document import TransferFile
from ethermeter.bottleneck.interventions import CONNECTIONS, interventions
from ethermeter.bottleneck.roofline import roofline
from ethermeter.bottleneck.trials import CHANGED, Result, base_trial, experiment, trial
from ethermeter.bottleneck.verdict import ERROR, LOOKS, RULE, Tried, judge
from ethermeter.experiment import Experiment
from ethermeter.results.interval import Floats
from ethermeter.strategies.strategy import Finished, Observed, question_text
from ethermeter.trial import Trial

UNCHANGED = "unchanged"
"""Word for the unchanged transfer."""


class BottleneckSearch:
    """Finds the stage that holds a transfer back, by changing one stage at a time.

    `document`: the file of the transfer. `seed`, `repetitions`: instead of the file's own; what is
    undecided after the repetitions is tried as often again, and once more.
    """

    name = "bottleneck"

    def __init__(
        self, document: TransferFile, *, seed: int | None = None, repetitions: int | None = None
    ) -> None:
        self._title, self._setup = document.title, document.setup()
        self._rounds = document.repetitions if repetitions is None else repetitions
        self._seed = document.seed if seed is None else seed
        self._changes, self._not_tried = interventions(self._setup)
        setups = {
            UNCHANGED: self._setup,
            **{change.stage: change.setup for change in self._changes},
        }
        self._base = {
            name: (base_trial(setup, title=self._title, seed=self._seed), setup)
            for name, setup in setups.items()
        }

    @property
    def seed(self) -> int:
        """Seed of the order."""
        return self._seed

    @property
    def question(self) -> str:
        """The transfer, the number of rounds and the seed of their order, as JSON text."""
        return question_text(
            {
                "strategy": self.name,
                "title": self._title,
                "setup": asdict(self._setup),
                "repetitions": self._rounds,
                "seed": self._seed,
            }
        )

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The unchanged transfer."""
        return (experiment(self._setup, title=self._title, seed=self._seed),)

    @property
    def expected_trials(self) -> int:
        """Trials after which it is judged for the first time."""
        return self._rounds * len(self._base)

    def propose(
        self, observed: Sequence[Observed]
    ) -> tuple[Trial, ...] | Finished[BottleneckAnswer]:
        """Return the trials of as many rounds more, or the answer."""
        looks = len(observed) // self.expected_trials
        if looks:
            answer = self._answer(observed)
            if answer.bottleneck is not None or looks == LOOKS:
                return Finished(answer)
        order = self._order()[looks * self._rounds : (looks + 1) * self._rounds]
        places = [
            (looks * self._rounds + round_, name)
            for round_, names in enumerate(order)
            for name in names
        ]
        return tuple(
            trial(*self._base[name], number=number, changed=name, replication=round_)
            for number, (round_, name) in enumerate(places, len(observed))
        )

    def _order(self) -> list[list[str]]:
        """Return what is run in each of the rounds that there are at most."""
        random, names = np.random.default_rng(self._seed), list(self._base)
        return [
            [names[at] for at in random.permutation(len(names)).tolist()]
            for _ in range(LOOKS * self._rounds)
        ]

    def _answer(self, observed: Sequence[Observed]) -> BottleneckAnswer:
        outcomes: dict[str, list[Outcome]] = {name: [] for name in self._base}
        means: dict[str, None] = {}
        for each in observed:
            result = Result.of(each.result)
            outcomes[each.trial.point[CHANGED]].append(result.outcome)
            means[result.processors_limited_by] = None
        unchanged = outcomes[UNCHANGED]
        verdict = judge(
            _throughput(unchanged),
            [
                Tried(
                    change.stage,
                    change.factor,
                    _throughput(outcomes[change.stage]),
                    change.stage == CONNECTIONS,
                )
                for change in self._changes
            ],
            looks=LOOKS,
        )
        return BottleneckAnswer(
            title=self._title,
            seed=self._seed,
            rounds=len(unchanged),
            error=ERROR,
            rule=RULE,
            processors_limited_by=", ".join(means),
            bottleneck=verdict.bottleneck,
            why=verdict.why,
            unchanged=tuple(unchanged),
            changes=tuple(
                Changed(
                    change.stage,
                    change.way,
                    change.factor,
                    change.what,
                    response.is_evidence_only,
                    response.gain,
                    Interval(*astuple(response.interval)),
                    tuple(outcomes[change.stage]),
                )
                for change, response in zip(self._changes, verdict.responses, strict=True)
            ),
            not_tried=tuple(self._not_tried),
            order=tuple(each.trial.point[CHANGED] for each in observed),
            roofline=RooflineEntry.of(roofline(self._title, self._setup, unchanged)),
        )


def _throughput(outcomes: Sequence[Outcome]) -> Floats:
    return np.asarray([outcome.throughput_bps for outcome in outcomes], dtype=np.float64)
