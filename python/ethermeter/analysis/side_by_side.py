"""Side by side: what a simulation and a measurement answer for each table of flows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethermeter.analysis import flows, groups
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.interval import Estimate
from ethermeter.analysis.tables import point_of
from ethermeter.metrics import Metric

COMPARED = (
    Metric.MESSAGE_RATE,
    Metric.DATA_RATE,
    Metric.LOSS,
    Metric.ONE_WAY_DELAY,
    Metric.ROUND_TRIP,
    Metric.SAMPLE_DELAY,
    Metric.SAMPLE_LOSS,
    Metric.RATING,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric of the flows of one table at one point, simulated and measured."""

    series: str
    point: Mapping[str, str]
    flows: str
    metric: Metric
    simulation: Estimate
    live: Estimate

    @property
    def ratio(self) -> float:
        """Measured over simulated; NaN where the simulated value is 0."""
        return self.live.value / self.simulation.value if self.simulation.value else math.nan

    def as_json(self) -> dict[str, object]:
        """Return the pair as `live-agreement.json` has it; an undefined number is null."""
        return {
            "series": self.series,
            "point": dict(self.point),
            "flows": self.flows,
            "metric": self.metric.value,
            "simulation": self.simulation.value,
            "live": self.live.value,
            "ratio": self.ratio if math.isfinite(self.ratio) else None,
        }


def read(run_dir: Path) -> tuple[Pair, ...]:
    """Pair the engines of a run that was both simulated and measured, in the order of its plan."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = run.trials()
    if not {"simulation", "live"} <= {trial.engine for trial in trials}:
        return ()
    return tuple(pairs(list(flows.of_parts(run, trials, groups.by_table, metrics=COMPARED))))


def pairs(points: Sequence[Point]) -> Iterator[Pair]:
    """Yield a pair for each metric of which both engines have a value; `points` are of tables."""
    live = {point_of(point): point for point in points if point.engine == "live"}
    for point in points:
        measured = live.get(point_of(point))
        if point.engine != "simulation" or measured is None:
            continue
        where = {key: text for key, text in point.point.items() if key != groups.PART}
        for metric in COMPARED:
            one, other = (each.estimates.get(metric) for each in (point, measured))
            if one is None or other is None:
                continue
            if math.isfinite(one.value) and math.isfinite(other.value):
                yield Pair(point.series, where, point.point[groups.PART], metric, one, other)
