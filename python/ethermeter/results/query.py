"""Query: what was found in trials, by metric."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ethermeter.counts import Buckets, Floats, Integers
from ethermeter.metrics import Masks, Metric
from ethermeter.metrics.statistics import pooled
from ethermeter.results.slices import InMemory, Source, Trial
from ethermeter.results.values import OfEach, Whole, metrics_in, of_all, of_each
from ethermeter.store.columns import FLOWS, HISTOGRAMS, STATIONS, TIMES, VALUES
from ethermeter.store.trial_result import TrialResult


@dataclass(frozen=True, eq=False)
class Results:
    """Results of some trials, in memory or of a run directory.

    Parameters
    ----------
    trials, source
        The trials, and where their results are.

    """

    trials: Sequence[Trial]
    source: Source
    _each: dict[Metric, list[OfEach]] = field(default_factory=dict)

    @classmethod
    def of_trial(cls, trial: Trial, result: TrialResult) -> "Results":
        """Return the results of one trial in memory."""
        return cls((trial,), InMemory({trial.id: result}))

    @cached_property
    def whole(self) -> Whole:
        """Values of all stations or flows together, of every metric that a trial has."""
        return of_all(self.source, self.trials)

    def all(self, metric: Metric, trial: int = 0) -> float:
        """Return the value of all stations or flows of a trial together; NaN without one."""
        metrics = self.whole.metrics
        return float(self.whole.column(metric)[trial]) if metric in metrics else float("nan")

    def all_cautions(self, metric: Metric, trial: int = 0) -> np.uint64:
        """Return the mask of the cautions of that value."""
        metrics = self.whole.metrics
        found: np.uint64 = self.whole.cautions[trial, metrics.index(metric)]
        return found

    def each(self, metric: Metric, trial: int = 0) -> Floats:
        """Return the values of single stations or flows, in the order of the scenario."""
        return self._of_each(metric)[trial].values

    def each_cautions(self, metric: Metric, trial: int = 0) -> Masks:
        """Return the masks of the cautions of these values."""
        return self._of_each(metric)[trial].cautions

    def _of_each(self, metric: Metric) -> list[OfEach]:
        if not self._each:
            metrics = [
                entry for entry in Metric if any(entry in metrics_in(each) for each in self.trials)
            ]
            for of_trial in of_each(self.source, self.trials, metrics):
                for name, values in of_trial.items():
                    self._each.setdefault(name, []).append(values)
        return self._each[metric]

    def is_known(self, trial: int = 0) -> bool:
        """Whether anything is known of a trial; of one that failed nothing is."""
        ids = [self.trials[trial].id]
        return any(self.source.gathered(name, ids).rows[0] for name in (STATIONS, FLOWS, VALUES))

    def columns(self, table: str, trial: int = 0) -> dict[str, Floats | Integers]:
        """Return a table of counts of a trial, by the names of its columns; empty without it."""
        gathered = self.source.gathered(table, [self.trials[trial].id])
        return gathered.each(np.array([0]))[1] if gathered.rows[0] else {}

    def buckets(self, time: str, entities: Sequence[int] | None = None, trial: int = 0) -> Buckets:
        """Return the histogram of a time over some flows together; of all, or a medium, if None."""
        columns = self.columns(HISTOGRAMS, trial)
        if not columns:
            return Buckets(*(np.empty(0, np.int64) for _ in range(4)))
        rows = columns["time"] == list(TIMES).index(time)
        if entities is not None:
            rows &= np.isin(columns["entity"], entities)
        names = ("entity", "low_ps", "high_ps", "count")
        return pooled(Buckets(*(columns[name][rows].astype(np.int64) for name in names)))
