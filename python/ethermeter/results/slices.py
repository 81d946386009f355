"""Slices of the trials of a run: what their stations or flows counted, trials alike together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from ethermeter.counts import Buckets, Column, Integers
from ethermeter.entities import Entity, flows_in, is_bus, stations_on
from ethermeter.metrics import EntityKind, Masks
from ethermeter.metrics.counted import flow_batches, flow_slice, station_batches, station_slice
from ethermeter.metrics.formulas import lossless
from ethermeter.metrics.slices import Histogram, Slice
from ethermeter.scenario import Scenario
from ethermeter.store.columns import (
    CAUTION,
    FLOW_BATCHES,
    FLOWS,
    HISTOGRAMS,
    MEDIA,
    STATION_BATCHES,
    STATIONS,
    TIMES,
    kinds_in,
)
from ethermeter.store.gathered import Gathered, of_results
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

    `trials` are their positions among those asked for, `kinds` those of their metrics that are of
    `entity`: "station" of the stations of one medium, or "flow". `of_trial` are the kinds of all
    their metrics. `medium` is the number of the medium among `media`, and `first` that of the first
    station among those of all media; both 0 of flows. `cautions` are masks by column, each of shape
    (trials, entities).
    """

    trials: Integers
    entity: Entity
    kinds: tuple[EntityKind, ...]
    of_trial: tuple[EntityKind, ...]
    slice: Slice
    cautions: Mapping[str, Masks]
    medium: int = 0
    media: int = 1
    first: int = 0


_TABLES: Mapping[Entity, tuple[str, str]] = {
    "station": (STATIONS, STATION_BATCHES),
    "flow": (FLOWS, FLOW_BATCHES),
}
"""The table of entities of a kind, and that of their batches."""
_Layout = tuple[tuple[EntityKind, ...], tuple[int, ...], tuple[bool, ...]]
"""Kinds of the metrics of a trial, its number of stations on each medium, or of flows, and which
media are buses.
"""


def whole_slices(source: Source, trials: Sequence[Trial]) -> Iterator[Alike]:
    """Yield what was counted in the whole windows of trials, those that are alike together.

    Trials of which nothing was counted are left out. Stations are taken medium by medium.
    """
    ids = [trial.id for trial in trials]
    for entity, (name, _) in _TABLES.items():
        entities = source.gathered(name, ids)
        histograms = source.gathered(HISTOGRAMS, ids) if entities.rows.any() else entities
        media = source.gathered(MEDIA, ids) if name == STATIONS else entities
        for (kinds, widths, buses), members in _alike(trials, entity, entities).items():
            chosen = np.array(members, np.int64)
            columns = entities.alike(chosen, sum(widths))
            cautions = {
                column: columns.pop(column) for column in [*columns] if column.startswith(CAUTION)
            }
            scenarios = [trials[at].scenario for at in members]
            own = tuple(kind for kind in kinds if kind.entity == entity)
            if entity == "flow":
                buckets = _histograms(histograms, chosen, *widths)
                found = flow_slice(scenarios, columns, histograms=buckets)
                yield Alike(chosen, entity, own, kinds, found, cautions)
                continue
            columns["delay_ps2"] = exact(columns, "delay_ps2")
            of_media, firsts = media.alike(chosen, len(widths)), np.cumsum((0, *widths)).tolist()
            for number, (first, end) in enumerate(pairwise(firsts)):
                here = {name: values[:, first:end] for name, values in columns.items()}
                here |= {name: values[:, number : number + 1] for name, values in of_media.items()}
                buckets = _histograms(histograms, chosen, 1, medium=number)
                found = station_slice(scenarios, here, histograms=buckets, medium=number)
                masks = {name: values[:, first:end] for name, values in cautions.items()}
                here_too = [kind for kind in own if buses[number] or kind is not EntityKind.BUS]
                of_medium = Alike(chosen, entity, tuple(here_too), kinds, found, masks)
                yield replace(of_medium, medium=number, media=len(widths), first=first)


def batch_slices(
    source: Source, trials: Sequence[Trial]
) -> Iterator[tuple[EntityKind, Integers, Slice]]:
    """Yield what was counted by batch, of trials with equal numbers of batches and of entities.

    With the kind of entities whose metrics may follow, and positions of the trials, which have
    metrics of the same kinds. Trials of which nothing was counted by batch are left out, and
    stations of trials with several media. What agents did not count by batch is NaN, and so is
    whatever would follow from it.
    """
    ids = [trial.id for trial in trials]
    for entity, (name, of_batches) in _TABLES.items():
        batches = source.gathered(of_batches, ids)
        alike = _alike(trials, entity, batches)
        shapes: dict[tuple[_Layout, int], list[int]] = {}
        for layout, several in alike.items():
            for at in several:
                shapes.setdefault((layout, int(batches.rows[at])), []).append(at)
        for ((kinds, widths, _), rows), members in sorted(shapes.items(), key=lambda item: item[1]):
            chosen, width = np.array(members, np.int64), sum(widths)
            columns: dict[str, Column] = {
                column: np.asarray(values, np.float64).reshape(-1, rows // width, width)
                for column, values in batches.alike(chosen, rows).items()
            }
            scenarios = [trials[at].scenario for at in members]
            if entity == "station":
                if len(widths) == 1:
                    yield EntityKind.STATION, chosen, station_batches(scenarios, columns)
                continue
            entities = source.gathered(name, [ids[at] for at in members])
            whole = flow_slice(
                scenarios, entities.alike(np.arange(len(members)), width), histograms={}
            )
            batched = flow_batches(scenarios, columns, lossless(whole))
            yield EntityKind.FLOW, chosen, batched
            if EntityKind.DUE in kinds:
                yield EntityKind.DUE, chosen, batched


def _alike(trials: Sequence[Trial], entity: Entity, table: Gathered) -> dict[_Layout, list[int]]:
    """Return positions of the trials that have rows in a table, by what they have in common."""
    found: dict[_Layout, list[int]] = {}
    for at in np.flatnonzero(table.rows).tolist():
        scenario = trials[at].scenario
        media = scenario.media if entity == "station" else ()
        widths = [stations_on(medium) for medium in media] or [flows_in(scenario)]
        kinds = kinds_in(scenario, trials[at].engine)
        layout = kinds, tuple(widths), tuple(map(is_bus, media))
        found.setdefault(layout, []).append(at)
    return found


def _histograms(
    table: Gathered, trials: Integers, entities: int, *, medium: int | None = None
) -> dict[str, Histogram]:
    """Return the histograms of trials, whose entities count through them; or of one medium."""
    trial, columns = table.each(trials)
    found = {}
    for code, (time, (name, is_read)) in enumerate(TIMES.items()):
        if time == "responder_round_trip":
            continue  # of responders, which have no slices
        if not columns:
            buckets = Buckets(*(np.empty(0, np.int64) for _ in range(4)))
        else:
            is_here = columns["time"] == code
            if medium is not None:
                is_here &= columns["entity"] == medium
            rows = np.flatnonzero(is_here)
            number = columns["entity"][rows] if medium is None else 0
            numbers = (columns[entry][rows] for entry in ("low_ps", "high_ps", "count"))
            buckets = Buckets(trial[rows] * entities + number, *numbers)
        histogram = Histogram(buckets, entities, is_read)
        # The formulas of a medium know them by their names.
        found[time] = found[name] = histogram
    return found
