"""Results made by hand: a source of values that nobody counted, and of sums by batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from ethermeter.counts import Floats
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial
from ethermeter.results.values import Whole
from ethermeter.store.columns import HISTOGRAMS, STATION_BATCHES, VALUES
from ethermeter.store.gathered import Gathered, gathered, of_arrow
from ethermeter.store.trial_result import Fact

Value = tuple[str, int, Metric, float]
"""Trial, number of the station or flow (-1 of all), metric, value."""


@dataclass(frozen=True, slots=True)
class Made:
    """Tables by their names."""

    tables: Mapping[str, pa.Table]

    def gathered(self, name: str, trials: Sequence[str]) -> Gathered:
        """A table of some trials."""
        table = self.tables.get(name)
        return gathered([], trials) if table is None else of_arrow(name, table, trials)

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Nothing besides values."""
        return iter(())


def made(
    values: Iterable[Value] = (),
    *,
    batches: Mapping[str, tuple[Floats, Floats]] | None = None,
    histograms: Iterable[tuple[str, str, float, float, int]] = (),
) -> Made:
    """A source.

    `batches` are frames and charged ps by trial, of shape (batches, stations), with delays of 1 ms;
    `histograms` are rows of trial, time, low and high in s, and count.
    """
    tables = {VALUES: values_of(values)}
    if batches:
        flat = [(trial, *(of.ravel() for of in both)) for trial, both in batches.items()]
        tables[STATION_BATCHES] = pa.table(
            {
                "trial": np.repeat([trial for trial, *_ in flat], [len(of) for _, of, _ in flat]),
                "frames": np.concatenate([of for _, of, _ in flat]),
                "charged_ps": np.concatenate([of for *_, of in flat]),
                "delay_ps": np.concatenate([of * 1e9 for _, of, _ in flat]),
                "delay_ps2": np.concatenate([of * 1e18 for _, of, _ in flat]),
            }
        )
    if rows := list(histograms):
        tables[HISTOGRAMS] = histograms_of(rows)
    return Made(tables)


def histograms_of(rows: Sequence[tuple[str, str, float, float, int]]) -> pa.Table:
    """The table of histograms from rows of trial, time, low and high in s, and count."""
    names = ("trial", "time", "low_ps", "high_ps", "count")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    edges = {name: [round(1e12 * s) for s in columns[name]] for name in names[2:4]}
    return pa.table({**columns, **edges, "entity": [0] * len(rows)})


def values_of(values: Iterable[Value], cautions: Mapping[str, str] | None = None) -> pa.Table:
    """The table of values, with the cautions of each trial."""
    rows = sorted(values, key=lambda row: row[0])
    return pa.table(
        {
            "trial": pa.array([trial for trial, *_ in rows], pa.string()),
            "entity": pa.array([entity for _, entity, *_ in rows], pa.int64()),
            "metric": pa.array([metric.value for *_, metric, _ in rows], pa.string()),
            "value": pa.array([value for *_, value in rows], pa.float64()),
            "caution": pa.array([(cautions or {}).get(row[0], "") for row in rows], pa.string()),
        }
    )


def whole_of(metrics: Sequence[Metric], values: Floats) -> Whole:
    """Values of all together, shape (trials, metrics); there are those that are finite."""
    nothing = np.zeros(values.shape, np.uint64)
    return Whole(tuple(metrics), values, nothing, np.isfinite(values))


def results_of(
    trials: Sequence[Trial],
    *,
    whole: Whole | None = None,
    each: Sequence[Mapping[Metric, Floats]] = (),
    points: Sequence[Point] | None = None,
) -> Results:
    """Results of trials: values of all together and of each, trial by trial, and estimates."""
    values: list[Value] = []
    if whole is not None:
        for trial, row in zip(trials, whole.values, strict=True):
            values += [
                (trial.id, -1, metric, value)
                for metric, value in zip(whole.metrics, row.tolist(), strict=True)
            ]
    for trial, of_trial in zip(trials, each, strict=bool(each)):
        for metric, column in of_trial.items():
            values += [(trial.id, at, metric, value) for at, value in enumerate(column.tolist())]
    return Results.of(trials, made(values), points=points)
