"""Paths: values of the flows of a run of switched networks, by series, point and flow."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethermeter.analysis.interval import Estimate, Floats, student
from ethermeter.analysis.tables import PS_PER_S, Trial
from ethermeter.metrics import Metric
from ethermeter.metrics.statistics import merged
from ethermeter.results.slices import Source
from ethermeter.results.values import of_all, values_of_each
from ethermeter.scenario import Scenario
from ethermeter.store.columns import HISTOGRAMS, TIMES
from ethermeter.studies.judging import MissingError
from ethermeter.studies.trials import Trials, Where


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in buckets [low, high), in s; shape `(buckets,)` each, in the order of low."""

    low_s: Floats
    high_s: Floats
    count: Floats

    @property
    def middle_s(self) -> Floats:
        """Middle of every bucket, in s."""
        return (self.low_s + self.high_s) / 2


class Paths:
    """Values of flows, found by series, point and name of the flow."""

    def __init__(
        self,
        trials: Sequence[Trial],
        source: Source,
        *,
        engine: str = "simulation",
    ) -> None:
        """Index the results of one engine in a run."""
        self._trials = Trials(trials, engine=engine)
        self._source, self._ids = source, [trial.id for trial in trials]
        mine = [at for at, trial in enumerate(trials) if trial.engine == engine]
        chosen = [trials[at] for at in mine]
        self._whole = of_all(source, chosen)
        self._each = values_of_each(source, chosen, self._whole.metrics)
        self._row = {at: row for row, at in enumerate(mine)}

    def flows(self, series: str, where: Where) -> list[str]:
        """Names of the flows of a point, in their order."""
        return [flow.name for flow in self.scenario(series, where).flows]

    def scenario(self, series: str, where: Where) -> Scenario:
        """Return the scenario of a point, as the engines read it."""
        return self._trials.scenario(series, where)

    def values(self, series: str, where: Where, flow: str, metric: Metric) -> Floats:
        """Values of a metric of a flow at a point, shape `(replications,)`.

        Of all flows together where `flow` is empty.

        Raises MissingError if the run does not hold them.
        """
        number = self._number(series, where, flow)
        rows = [self._row[at] for at in self._trials.at(series, where)]
        metrics = self._whole.metrics
        if metric not in metrics or not self._whole.is_there[rows, metrics.index(metric)].all():
            raise MissingError(
                f"no {metric.value} of {flow or 'all flows'} in {series}, {dict(where)}"
            )
        if number < 0:
            return self._whole.column(metric)[rows]
        return np.array([self._each[row][metric][number] for row in rows])

    def value(self, series: str, where: Where, flow: str, metric: Metric) -> float:
        """Mean of `values` over the replications."""
        return float(self.values(series, where, flow, metric).mean())

    def estimate(
        self, series: str, where: Where, flow: str, metric: Metric, *, factor: float = 1.0
    ) -> Estimate:
        """Mean of `values` times a factor, with its interval over the replications.

        Without an interval if there is only one.
        """
        return student(self.values(series, where, flow, metric) * factor)

    def along(self, series: str, key: str, where: Where | None = None) -> list[str]:
        """Values of `key` at points that are otherwise at `where`, in the order of the plan."""
        return self._trials.along(series, key, where or {})

    def histogram(self, series: str, where: Where, flow: str, metric: str) -> Histogram:
        """Return a flow's histogram of a time, all replications together."""
        number = self._number(series, where, flow)
        ids = [self._ids[at] for at in self._trials.at(series, where)]
        _, columns = self._source.gathered(HISTOGRAMS, ids).each(np.arange(len(ids)))
        if not columns:
            raise MissingError(f"no histograms of flows in {series}")
        wanted = (columns["time"] == list(TIMES).index(metric)) & (columns["entity"] == number)
        if not wanted.any():
            raise MissingError(f"no histogram of {metric} of {flow} in {series}, {dict(where)}")
        low_s, high_s = (columns[name][wanted] / PS_PER_S for name in ("low_ps", "high_ps"))
        return Histogram(*merged(low_s, high_s, columns["count"][wanted].astype(np.float64)))

    def _number(self, series: str, where: Where, flow: str) -> int:
        if not flow:
            return -1
        names = self.flows(series, where)
        if flow not in names:
            raise MissingError(f"no flow {flow} in {series}")
        return names.index(flow)


def paths_of(run_dir: Path, *, engine: str = "simulation") -> Paths:
    """Values of the flows of a run, by one engine."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    return Paths(run.replications(), run, engine=engine)
