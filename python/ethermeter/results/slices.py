"""Slices of the trials of a run: what their stations or flows counted, trials alike together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ethermeter.counts import Buckets, Column, Integers
from ethermeter.metrics import Group, Masks
from ethermeter.metrics.counted import flow_batches, flow_slice, station_batches, station_slice
from ethermeter.metrics.formulas import lossless
from ethermeter.metrics.slices import Histogram, Slice
from ethermeter.nodes import is_segment
from ethermeter.scenario import Scenario
from ethermeter.station_groups import entities_in
from ethermeter.store.columns import (
    CAUTION,
    FLOW_BATCHES,
    FLOWS,
    HISTOGRAMS,
    MEDIA,
    STATION_BATCHES,
    STATIONS,
    TIMES,
    groups_of,
)
from ethermeter.store.gathered import Gathered, gathered, of_results
from ethermeter.store.trial_result import Fact, TrialResult, exact


class Trial(Protocol):
    """What results need of a trial."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def engine(self) -> str: ...  # noqa: D102
    @property
    def scenario(self) -> Scenario: ...  # noqa: D102


class Source(Protocol):
    """A run directory, or results in memory."""

    def gathered(self, name: str, trials: Sequence[str], /) -> Gathered:
        """Return a table of some trials by their ids."""

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Yield what theories say besides values, with the id of the trial."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """Results in memory, by the ids of their trials."""

    results: Mapping[str, TrialResult]

    def gathered(self, name: str, trials: Sequence[str]) -> Gathered:
        """Return a table of some trials by their ids."""
        return of_results([self.results[trial] for trial in trials], name)

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Yield what theories say besides values, with the id of the trial."""
        return ((trial, fact) for trial, result in self.results.items() for fact in result.facts)


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Trials with the same metrics and as many entities, and what these counted.

    `trials` are their positions among those asked for, `cautions` masks by column, each of shape
    (trials, entities).
    """

    trials: Integers
    groups: tuple[Group, ...]
    slice: Slice
    cautions: Mapping[str, Masks]


def whole_slices(source: Source, trials: Sequence[Trial]) -> Iterator[Alike]:
    """Yield what was counted in the whole windows of trials, those that are alike together.

    Trials of which nothing was counted are left out.
    """
    for name, of_kind in _by_kind(trials):
        ids = [trials[at].id for at in of_kind]
        entities = source.gathered(name, ids)
        media = source.gathered(MEDIA, ids) if name == STATIONS else gathered([], ids)
        histograms = source.gathered(HISTOGRAMS, ids)
        for rows, groups, members in _alike(trials, of_kind, entities):
            chosen = np.array(members, np.int64)
            columns = entities.alike(chosen, rows)
            cautions = {
                column: columns.pop(column) for column in [*columns] if column.startswith(CAUTION)
            }
            scenarios = [trials[of_kind[at]].scenario for at in members]
            buckets = _histograms(histograms, chosen, rows if name == FLOWS else 1)
            if name == STATIONS:
                columns["delay_ps2"] = exact(columns, "delay_ps2")
                columns |= media.alike(chosen, 1)
                found = station_slice(scenarios, columns, histograms=buckets)
            else:
                found = flow_slice(scenarios, columns, histograms=buckets)
            positions = np.array(of_kind, np.int64)[chosen]
            yield Alike(positions, groups, found, cautions)


def batch_slices(
    source: Source, trials: Sequence[Trial]
) -> Iterator[tuple[Group, Integers, Slice]]:
    """Yield what was counted by batch, of trials with equal numbers of batches and of entities.

    With the group of metrics that may follow, and positions of the trials. Trials of which nothing
    was counted by batch are left out. What agents did not count by batch is NaN, and so is whatever
    would follow from it.
    """
    for name, of_kind in _by_kind(trials):
        ids = [trials[at].id for at in of_kind]
        batches = source.gathered(STATION_BATCHES if name == STATIONS else FLOW_BATCHES, ids)
        shapes: dict[tuple[int, int], list[int]] = {}
        for at, rows in enumerate(batches.rows.tolist()):
            if rows:
                width = entities_in(trials[of_kind[at]].scenario)
                shapes.setdefault((rows // width, width), []).append(at)
        for (count, width), members in sorted(shapes.items()):
            chosen = np.array(members, np.int64)
            columns: dict[str, Column] = {
                column: np.asarray(values, np.float64).reshape(-1, count, width)
                for column, values in batches.alike(chosen, count * width).items()
            }
            scenarios = [trials[of_kind[at]].scenario for at in members]
            positions = np.array(of_kind, np.int64)[chosen]
            if name == STATIONS:
                yield Group.SEGMENT, positions, station_batches(scenarios, columns)
                continue
            entities = source.gathered(name, [trials[at].id for at in positions.tolist()])
            whole = flow_slice(
                scenarios, entities.alike(np.arange(len(members)), width), histograms={}
            )
            yield Group.FLOW, positions, flow_batches(scenarios, columns, lossless(whole))


def _by_kind(trials: Sequence[Trial]) -> Iterator[tuple[str, list[int]]]:
    """Yield the table of entities, and the positions of trials that may have rows in it."""
    of_segments = [is_segment(trial.scenario) for trial in trials]
    for name, is_of in ((STATIONS, True), (FLOWS, False)):
        if found := [at for at, is_so in enumerate(of_segments) if is_so == is_of]:
            yield name, found


def _alike(
    trials: Sequence[Trial], of_kind: Sequence[int], entities: Gathered
) -> list[tuple[int, tuple[Group, ...], list[int]]]:
    """Return numbers of entities, groups of metrics, and positions of trials in `of_kind`."""
    found: dict[tuple[int, tuple[Group, ...]], list[int]] = {}
    for at, rows in enumerate(entities.rows.tolist()):
        if rows:
            trial = trials[of_kind[at]]
            groups = groups_of(trial.scenario, trial.engine)
            found.setdefault((rows, groups), []).append(at)
    return [(rows, groups, members) for (rows, groups), members in found.items()]


def _histograms(table: Gathered, trials: Integers, entities: int) -> dict[str, Histogram]:
    """Return the histograms of trials, whose entities count through them."""
    trial, columns = table.each(trials)
    found = {}
    for code, (time, (name, is_read)) in enumerate(TIMES.items()):
        if not columns:
            buckets = Buckets(*(np.empty(0, np.int64) for _ in range(4)))
        else:
            rows = np.flatnonzero(columns["time"] == code)
            entity = trial[rows] * entities + columns["entity"][rows]
            numbers = (columns[entry][rows] for entry in ("low_ps", "high_ps", "count"))
            buckets = Buckets(entity, *numbers)
        histogram = Histogram(buckets, entities, is_read)
        # The formulas of a medium know them by their names.
        found[time] = found[name] = histogram
    return found
