"""Values of metrics in trials, from what was counted or from what a theory says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats
from ethermeter.entities import Entity, number_of, receiver_flows
from ethermeter.metrics import Caution, EntityKind, Masks, Metric, caution_mask
from ethermeter.metrics.evaluation import Values, evaluated
from ethermeter.results.slices import Alike, Source, Trial, whole_slices
from ethermeter.store.columns import CAUTION, METRIC_CODES, VALUES, entity_by_metric, kinds_in

_NO_SAMPLES = caution_mask([Caution.NO_SAMPLES])
_METRICS = list(METRIC_CODES)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Values of all stations or flows together, shape `(trials, metrics)`, and their cautions.

    NaN where undefined; `is_there` says which trials have a metric at all.
    """

    metrics: tuple[Metric, ...]
    values: Floats
    cautions: Masks
    is_there: npt.NDArray[np.bool_]

    def place(self, metric: Metric) -> int:
        """Return the column of a metric."""
        return self.metrics.index(metric)

    def column(self, metric: Metric) -> Floats:
        """Return the values of a metric, shape `(trials,)`."""
        return self.values[:, self.place(metric)]


@dataclass(frozen=True, slots=True, eq=False)
class OfEach:
    """Values of a metric of each station or flow of a trial, and their cautions."""

    values: Floats
    cautions: Masks


def metrics_in(trial: Trial) -> Mapping[Metric, Entity]:
    """Return the metrics that a trial has, in the order of their list, and of which entities."""
    return entity_by_metric(kinds_in(trial.scenario, trial.engine))


def metrics_of_all(trial: Trial) -> frozenset[Metric]:
    """Return the metrics that have a value of all stations, or of all flows, together.

    Stations of several media have nothing together: their metrics are those of each medium.
    """
    has_one_medium = len(trial.scenario.media) == 1
    return _of_all(kinds_in(trial.scenario, trial.engine), has_one_medium)


@lru_cache
def _of_all(kinds: tuple[EntityKind, ...], has_one_medium: bool) -> frozenset[Metric]:  # noqa: FBT001
    there = entity_by_metric(kinds).items()
    return frozenset(metric for metric, entity in there if entity == "flow" or has_one_medium)


def of_all(
    source: Source, trials: Sequence[Trial], metrics: Iterable[Metric] | None = None
) -> Whole:
    """Return the values of all stations or flows together, of some metrics or all there are."""
    there = [metrics_of_all(trial) for trial in trials]
    of_any: set[Metric] = set().union(*set(there))
    asked = of_any if metrics is None else of_any & set(metrics)
    wanted = tuple(metric for metric in _METRICS if metric in asked)
    place = {metric: at for at, metric in enumerate(wanted)}
    shape = (len(trials), len(wanted))
    values, cautions = np.full(shape, np.nan), np.full(shape, _NO_SAMPLES)
    known = {entry: [metric in entry for metric in wanted] for entry in set(there)}
    is_there = np.array([known[entry] for entry in there], np.bool_)
    for alike in whole_slices(source, trials):
        if alike.media > 1:
            continue
        for metric, found in _evaluated(alike, wanted).items():
            values[alike.trials, place[metric]] = found.all
            cautions[alike.trials, place[metric]] = found.all_cautions
    for at, metric, entity, value, mask in _said(source, trials):
        if metric in place:
            rows = entity == -1
            values[at, place[metric]] = value[rows][0] if rows.any() else np.nan
            cautions[at, place[metric]] = mask[rows][0] if rows.any() else _NO_SAMPLES
    return Whole(wanted, values, cautions, is_there.reshape(shape))


def of_each(
    source: Source, trials: Sequence[Trial], metrics: Sequence[Metric]
) -> list[dict[Metric, OfEach]]:
    """Return the values of single stations or flows, by trial and metric, in order of the scenario.

    NaN where there is none.
    """
    found: list[dict[Metric, OfEach]] = [_nothing(trial, metrics) for trial in trials]
    for alike in whole_slices(source, trials):
        members = slice(alike.first, alike.first + alike.slice.entities)
        for metric, entry in _evaluated(alike, metrics).items():
            if entry.each is None or entry.each_cautions is None:
                continue
            for row, at in enumerate(alike.trials.tolist()):
                if alike.media == 1:
                    found[at][metric] = OfEach(entry.each[row], entry.each_cautions[row])
                    continue
                values, cautions = found[at][metric].values, found[at][metric].cautions
                values, cautions = values.copy(), cautions.copy()
                values[members], cautions[members] = entry.each[row], entry.each_cautions[row]
                found[at][metric] = OfEach(values, cautions)
    for at, metric, entity, value, mask in _said(source, trials):
        if metric in found[at]:
            of_metric, rows = found[at][metric], entity >= 0
            values, cautions = of_metric.values.copy(), of_metric.cautions.copy()
            values[entity[rows]], cautions[entity[rows]] = value[rows], mask[rows]
            found[at][metric] = OfEach(values, cautions)
    return found


def _nothing(trial: Trial, metrics: Sequence[Metric]) -> dict[Metric, OfEach]:
    """Return no value of each entity that a metric may be of."""
    of_kind: dict[Entity, OfEach] = {}
    for entity in ("station", "flow"):
        count = number_of(entity, trial.scenario)
        of_kind[entity] = OfEach(np.full(count, np.nan), np.full(count, _NO_SAMPLES))
    there = metrics_in(trial)
    usual: Entity = "flow" if receiver_flows(trial.scenario) else "station"
    return {metric: of_kind[there.get(metric, usual)] for metric in metrics}


def of_media(
    source: Source, trials: Sequence[Trial], metrics: Iterable[Metric] | None = None
) -> list[dict[Metric, OfEach]]:
    """Return the values of single media, all their stations together, by trial and metric.

    NaN where there is none, and no metrics of flows.
    """
    found: list[dict[Metric, OfEach]] = []
    wanted = list(Metric) if metrics is None else list(metrics)
    for trial in trials:
        count, there = len(trial.scenario.media), metrics_in(trial)
        nothing = OfEach(np.full(count, np.nan), np.full(count, _NO_SAMPLES))
        found.append({metric: nothing for metric in wanted if there.get(metric) == "station"})
    for alike in whole_slices(source, trials):
        if alike.entity != "station":
            continue
        for metric, entry in _evaluated(alike, wanted).items():
            for row, at in enumerate(alike.trials.tolist()):
                of_metric = found[at][metric]
                values, cautions = of_metric.values.copy(), of_metric.cautions.copy()
                values[alike.medium] = entry.all[row]
                cautions[alike.medium] = entry.all_cautions[row]
                found[at][metric] = OfEach(values, cautions)
    return found


def values_of_each(
    source: Source, trials: Sequence[Trial], metrics: Sequence[Metric]
) -> list[dict[Metric, Floats]]:
    """Return the values of `of_each` without their cautions."""
    return [
        {metric: entry.values for metric, entry in found.items()}
        for found in of_each(source, trials, metrics)
    ]


def _evaluated(alike: Alike, metrics: Sequence[Metric]) -> Mapping[Metric, Values]:
    there = entity_by_metric(alike.of_trial)
    wanted = [metric for metric in metrics if there.get(metric) == alike.entity]
    found: dict[Metric, Values] = {}
    for kind in alike.kinds:
        found |= evaluated(kind, alike.slice, alike.cautions, wanted)
    return found


def _said(
    source: Source, trials: Sequence[Trial]
) -> Iterable[tuple[int, Metric, npt.NDArray[np.int64], Floats, Masks]]:
    """Yield what theories say: position of the trial, metric, entities (-1: all), values, masks."""
    table = source.gathered(VALUES, [trial.id for trial in trials])
    for at in np.flatnonzero(table.rows).tolist():
        _, columns = table.each(np.array([at]))
        masks = np.where(
            np.isnan(columns["value"]) & (columns[CAUTION] == 0), _NO_SAMPLES, columns[CAUTION]
        )
        for code in np.unique(columns["metric"]).tolist():
            rows = columns["metric"] == code
            entity = columns["entity"][rows].astype(np.int64)
            yield at, _METRICS[code], entity, columns["value"][rows], masks[rows]
