"""Paths: values of the flows of a run of switched networks, by series, point and flow."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.analysis.interval import Estimate, Floats, student
from ethermeter.analysis.tables import Trial, codes
from ethermeter.metrics import Metric
from ethermeter.metrics.formulas import merged
from ethermeter.scenario import Scenario
from ethermeter.studies.judging import MissingError
from ethermeter.studies.trials import Trials, Where

if TYPE_CHECKING:
    import pyarrow as pa


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
        observations: "pa.Table",
        histograms: "pa.Table",
        *,
        engine: str = "simulation",
    ) -> None:
        """Index the results of one engine in a run; the tables are those of `RunDirectory`."""
        self._trials = Trials(trials, engine=engine)
        ids = [trial.id for trial in trials]
        trial_at, _ = codes(observations["trial"], ids)
        every = list(Metric)
        metric, _ = codes(observations["metric"], [of.value for of in every])
        flow, value = observations["station"].to_numpy(), observations["value"].to_numpy()
        self._values: dict[tuple[int, int, Metric], float] = {
            (int(t), int(f), every[m]): float(v)
            for t, f, m, v in zip(trial_at, flow, metric, value, strict=True)
            if t >= 0 and m >= 0
        }
        self._histograms = histograms
        self._ids = ids

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
        try:
            return np.array(
                [self._values[at, number, metric] for at in self._trials.at(series, where)]
            )
        except KeyError:
            raise MissingError(
                f"no {metric.value} of {flow or 'all flows'} in {series}, {dict(where)}"
            ) from None

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
        table = self._histograms
        if "station" not in table.column_names:
            raise MissingError(f"no histograms of flows in {series}")
        trial, _ = codes(table["trial"], self._ids)
        kind, _ = codes(table["metric"], [metric])
        wanted = (
            np.isin(trial, self._trials.at(series, where))
            & (kind == 0)
            & (table["station"].to_numpy() == number)
        )
        if not wanted.any():
            raise MissingError(f"no histogram of {metric} of {flow} in {series}, {dict(where)}")
        columns = (table[name].to_numpy()[wanted] for name in ("low_s", "high_s", "count"))
        low_s, high_s, count = (column.astype(np.float64) for column in columns)
        return Histogram(*merged(low_s, high_s, count))

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
    return Paths(run.replications(), run.observations(), run.histograms(), engine=engine)
