"""Groups: estimates over some of the stations, such as those of one group of the file; capture.

A value is the mean over the part's stations of a trial; a station without one (it delivered
nothing) is left out. The interval follows the rule of `ethermeter.results.estimates`. From
batches, with fewer than three replications, follows what is counted by batch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethermeter.entities import receiver_flows, senders
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.metrics.evaluation import of_each_part
from ethermeter.results import unseen
from ethermeter.results.batches import Within, unknown
from ethermeter.results.batches import within as within_batches
from ethermeter.results.estimates import (
    ENOUGH_REPLICATIONS,
    Point,
    grouped,
    point_like,
    summarised,
)
from ethermeter.results.interval import Estimate, Floats
from ethermeter.results.slices import Source, batch_slices
from ethermeter.results.trials import Trial
from ethermeter.results.values import metrics_in, values_of_each
from ethermeter.scenario import Scenario

PART = "stations"
"""Key that a point of a part has besides those that the experiment varies; its value is the part's
name.
"""
METRICS = (
    *(Metric.BIT_RATE, Metric.TRANSMISSION_DELAY, Metric.ACCESS_DELAY, Metric.COLLISIONS_PER_FRAME),
    *(Metric.LOSS, Metric.VOICE_DELAY, Metric.SAMPLE_LOSS),
)
"""What is estimated for a part; undefined where it has no voice."""

Stations = NDArray[np.int64]
Parts = Mapping[str, Stations]
"""Stations of every part of a scenario by the part's name."""


def by_group(scenario: Scenario) -> Parts:
    """Divide the stations whose flows have the medium as receiver by their group, by its name."""
    divided = senders(scenario)
    ends = np.cumsum([group.count for group in divided])
    return {
        group.name: np.arange(end - group.count, end, dtype=np.int64)
        for group, end in zip(divided, ends.tolist(), strict=True)
    }


FLOW_METRICS = (
    *(Metric.MESSAGE_RATE, Metric.GOODPUT, Metric.DATA_RATE, Metric.LOSS, Metric.ONE_WAY_DELAY),
    *(Metric.ONE_WAY_DELAY_P99, Metric.ROUND_TRIP, Metric.ROUND_TRIP_P99, Metric.INTER_ARRIVAL),
    *(Metric.EXCHANGES, Metric.TIMED_OUT, Metric.TRANSFER_RATE, Metric.ACKNOWLEDGEMENT_DELAY),
    *(Metric.RETRANSMITTED, Metric.SAMPLE_LOSS, Metric.SAMPLE_DELAY, Metric.SAMPLE_DELAY_P99),
    *(Metric.RATING, Metric.MOS, Metric.OVERDUE_SHARE, Metric.DEADLINE_MARGIN, Metric.CLOCK_DELAY),
    *(Metric.SYNCHRONISED_DELAY, Metric.DELAY_ERROR, Metric.DELAY_UNCERTAINTY),
)
"""What is estimated for a flow; undefined where there is none of it, such as round trips without
answers, or voice.
"""


def by_flow(scenario: Scenario) -> Parts:
    """Tell the flows with receivers apart, by their names."""
    flows = enumerate(receiver_flows(scenario))
    return {flow.name: np.array([at], dtype=np.int64) for at, flow in flows}


def by_table(scenario: Scenario) -> Parts:
    """Divide the flows with receivers by their table of the file: the first word of a name."""
    found: dict[str, list[int]] = {}
    for at, flow in enumerate(receiver_flows(scenario)):
        found.setdefault(flow.name.partition(" ")[0], []).append(at)
    return {name: np.array(members, dtype=np.int64) for name, members in found.items()}


def by_place(scenario: Scenario) -> Parts:
    """Divide the stations of every group by their place: "pupils, place 2".

    Of a single group "place 2".
    """
    found: dict[str, Stations] = {}
    groups = by_group(scenario)
    for group in senders(scenario):
        places = np.array(group.stations.points, dtype=np.int64)
        name = f"{group.name}, " if len(groups) > 1 else ""
        for place in np.unique(places).tolist():
            found[f"{name}place {place + 1}"] = groups[group.name][places == place]
    return found


def estimate(
    trials: Sequence[Trial],
    source: Source,
    divide: Callable[[Any], Parts],
    *,
    metrics: Sequence[Metric] = METRICS,
) -> tuple[Point, ...]:
    """Estimate the metrics of every part at every point, in the order of the plan.

    One point for every part of every point; `point` has the part's name under `PART`. `divide` is
    `by_group`, `by_place`, or another division of a scenario's stations or flows.
    """
    parts = [divide(trial.scenario) for trial in trials]
    names = list(dict.fromkeys(name for found in parts for name in found))
    points, firsts, replications = grouped(trials)
    stations = values_of_each(source, trials, list(dict.fromkeys([*metrics, *unseen.BEHIND])))
    within: dict[tuple[str, Metric], Within] = {}
    if min(replications, default=ENOUGH_REPLICATIONS) < ENOUGH_REPLICATIONS:
        by_batch = [
            (at, of_each_part(_of_kind(metrics, kind, trials[at[0]]), kind, of.left_out()))
            for kind, at, of in batch_slices(source, trials)
            if of.parts > 1
        ]
        within = _errors_within(stations, parts, by_batch, set(metrics))
    found: dict[str, dict[Metric, list[Estimate]]] = {name: {} for name in names}
    for name in names:
        for metric in metrics:
            divided = zip(stations, parts, strict=True)
            values = np.array([_mean(of[metric], each.get(name)) for of, each in divided])
            column = summarised(values, points, replications, within=within.get((name, metric)))
            for at, first in enumerate(firsts):
                if unseen.is_unseen(metric, column[at].value, trials[first].engine):
                    behind = [
                        _exposure(metric, stations[of], parts[of][name], trials[of])
                        for of in np.flatnonzero(points == at).tolist()
                    ]
                    column[at] = unseen.limited(metric, column[at], sum(behind))
            found[name][metric] = column
    return tuple(
        point_like(
            trials[first],
            replications[at],
            {metric: column[at] for metric, column in found[name].items()},
            {PART: name},
        )
        for at, first in enumerate(firsts)
        for name in parts[first]
    )


def _exposure(
    metric: Metric, stations: Mapping[Metric, Floats], members: Stations, trial: Trial
) -> float:
    """Return what `ethermeter.results.unseen` needs of a part of a trial.

    The part's value is a mean over its stations, of which one alone may have what was not seen: as
    many as there are, with the smallest exposure of any.
    """
    known = members[np.isfinite(stations[metric][members])]
    there = metrics_in(trial)
    counted = {
        name: stations[name][known]
        for name in unseen.BEHIND
        if there.get(name) == there.get(metric) and np.isfinite(stations[name]).any()
    }
    if not counted or not known.size:
        return float("nan")
    return float(unseen.exposure(metric, counted, trial.scenario).min() * known.size)


def _mean(values: Floats, members: Stations | None) -> float:
    """Mean over the members that have a value; NaN if none has."""
    if members is None:
        return float("nan")
    of = values[members]
    known = of[np.isfinite(of)]
    return float(known.mean()) if known.size else float("nan")


def _errors_within(
    stations: Sequence[Mapping[Metric, Floats]],
    parts: Sequence[Parts],
    by_batch: Sequence[tuple[Stations, Mapping[Metric, Floats]]],
    metrics: set[Metric],
) -> dict[tuple[str, Metric], Within]:
    """Find how sure every part is within each trial; shape `(trials,)`, NaN without batches.

    `stations` and `parts` are of each trial. `by_batch` has positions of trials, and their
    stations' values with one batch left out, shape `(trials, batches, stations)`.
    """
    errors: dict[tuple[str, Metric], Within] = {}
    for positions, left in by_batch:
        # Most trials are divided alike, and are looked at together.
        alike: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        for at, trial in enumerate(positions.tolist()):
            for name, members in parts[trial].items():
                alike.setdefault((name, tuple(members.tolist())), []).append(at)
        for metric in metrics & left.keys():
            values = left[metric]
            if values.shape[1] < 2:
                continue
            for (name, members), rows in alike.items():
                errors_of = errors.setdefault((name, metric), unknown(len(stations)))
                mine = positions[rows]
                of_members = [stations[each][metric][list(members)] for each in mine.tolist()]
                chosen = values[np.ix_(rows, range(values.shape[1]), members)]
                means = _means_of_known(chosen, np.isfinite(of_members))
                errors_of.put(mine, within_batches(means))
    return errors


def _means_of_known(values: Floats, has_value: NDArray[np.bool_]) -> Floats:
    """Mean over the stations that have a value; shape `(trials, batches)`.

    Values have the shape `(trials, batches, stations)`. Stations without a value, where `has_value`
    of shape `(trials, stations)` is false, are left out. The mean is NaN if a station lacks some of
    its values, or has no batches.
    """
    known = has_value[:, None, :]
    with np.errstate(invalid="ignore"):
        return np.asarray(
            np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1), dtype=np.float64
        )


def _of_kind(metrics: Iterable[Metric], kind: EntityKind, trial: Trial) -> list[Metric]:
    """Return the metrics that are defined for a kind of entities, and are of them in a trial."""
    there, defined = metrics_in(trial), metrics_of(kind)
    return [metric for metric in metrics if metric in defined and there.get(metric) == kind.entity]


def larger_shares(trials: Sequence[Trial], source: Source) -> tuple[Point, ...]:
    """Estimate the larger of two stations' shares of the channel time they used.

    Over the measured window, and over each of its batches: two points for every point, "the window"
    and "one batch" under `PART`; the share stands as `Metric.UTILISATION`. Half is a fair division.
    A share that is near half over the window and near one over a batch is capture that changes
    sides.

    Every trial has two stations. The interval is by replications; from fewer than three there is
    one for a batch only, whose share is a mean over the batches.
    """
    window, batch = np.full(len(trials), np.nan), np.full(len(trials), np.nan)
    errors = unknown(len(trials))
    for _, positions, of in batch_slices(source, trials):
        charged_ps = of["charged_ps"]
        with np.errstate(divide="ignore", invalid="ignore"):
            total = charged_ps.sum(axis=1)
            window[positions] = total.max(axis=-1) / total.sum(axis=-1)
            shares = charged_ps.max(axis=-1) / charged_ps.sum(axis=-1)
        count = shares.shape[1]
        batch[positions] = shares.mean(axis=-1)
        if count > 1:
            errors.put(
                positions,
                within_batches((shares.sum(axis=-1, keepdims=True) - shares) / (count - 1)),
            )
    points, firsts, replications = grouped(trials)
    found = {
        "the window": summarised(window, points, replications, within=None),
        "one batch": summarised(batch, points, replications, within=errors),
    }
    return tuple(
        point_like(trials[first], replications[at], {Metric.UTILISATION: values[at]}, {PART: name})
        for at, first in enumerate(firsts)
        for name, values in found.items()
    )
