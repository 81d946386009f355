"""Flows of networks: lines of times against lengths, and how fairly flows share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.analysis import groups
from ethermeter.analysis.bounds import FLOW
from ethermeter.analysis.lengths import METRICS as TIMES
from ethermeter.entities import flows_in
from ethermeter.metrics import EntityKind, Metric, percentiles
from ethermeter.metrics.evaluation import of_each_part
from ethermeter.metrics.statistics import jain_index
from ethermeter.results.batches import Within, within
from ethermeter.results.estimates import (
    ENOUGH_REPLICATIONS,
    Point,
    grouped,
    in_blocks,
    summarised,
)
from ethermeter.results.interval import Estimate, Floats
from ethermeter.results.slices import Source, batch_slices
from ethermeter.results.trials import Trial, point_of
from ethermeter.results.values import values_of_each
from ethermeter.scenario import Scenario
from ethermeter.trial import THEORY

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory


MOST_FLOWS = 16
"""Flows that have estimates of their own; with more, those of one table of the experiment file go
together.
"""
MOST_TABLES = 200
"""Tables of flows that have estimates of their own; trials with more have none by flow."""
SHARED = (Metric.DATA_RATE, Metric.MESSAGE_RATE)
"""What flows share: data; messages where lengths of data are unknown."""
OF_MESSAGES = frozenset(of for time in TIMES for of in (time, *percentiles(time)))
"""Times of messages. Over flows of several tables their mean is the time of none of them, and moves
with the number of messages of each: such flows have values of their own.
"""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How fairly flows share at a point."""

    # series, point, engine, replications: Which point
    series: str
    point: Mapping[str, str]
    engine: str
    replications: int
    # Name of the table of the experiment file that the flows come from; empty for all flows of the
    # network
    flows: str
    metric: Metric  # What they share
    jain_index: Estimate  # Mean over the replications of Jain's index of the flows' rates
    # By flow, the mean over the replications of its share of all their rates
    shares: Mapping[str, Estimate]


def of_networks(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials of networks whose flows were simulated or measured."""
    return [
        trial
        for trial in trials
        if flows_in(trial.scenario) and not trial.engine.startswith(THEORY)
    ]


def each_flow(
    run: "RunDirectory",
    trials: Sequence[Trial],
    *,
    metrics: Sequence[Metric] = groups.FLOW_METRICS,
) -> Iterator[Point]:
    """Yield estimates of every flow of trials, or of every table of flows if there are many.

    Trials with more than `MOST_TABLES` are left out then.
    """
    most = max((len(trial.scenario.flows) for trial in trials), default=0)
    if most <= MOST_FLOWS:
        return of_parts(run, trials, groups.by_flow, metrics=metrics)
    few = [trial for trial in trials if len(groups.by_table(trial.scenario)) <= MOST_TABLES]
    return of_parts(run, few, groups.by_table, metrics=metrics)


def of_tables(run: "RunDirectory", trials: Sequence[Trial]) -> Iterator[Point]:
    """Yield estimates of every table of flows of the experiment file, of trials with several.

    Trials with more than `MOST_TABLES` are left out.
    """
    several = [trial for trial in trials if 1 < len(groups.by_table(trial.scenario)) <= MOST_TABLES]
    yield from of_parts(run, several, groups.by_table)


def with_tables(run_dir: Path, points: Sequence[Point]) -> list[Point]:
    """Return points of a run, and of those with several tables of flows the points of each table.

    Only these have the times of messages then. Trials are read only if some point has such times.
    """
    from ethermeter.store import RunDirectory

    if not any(OF_MESSAGES & point.estimates.keys() for point in points):
        return [*points]
    run = RunDirectory(run_dir)
    trials = of_networks(run.replications())
    by_table: dict[tuple[object, ...], list[Point]] = {}
    for point in of_tables(run, trials):
        others = {key: text for key, text in point.point.items() if key != groups.PART}
        key = point_of(replace(point, point=others)), point.engine
        of_table = replace(point, point={**others, FLOW: point.point[groups.PART]})
        by_table.setdefault(key, []).append(of_table)
    found = []
    for point in points:
        tables = by_table.get((point_of(point), point.engine), [])
        if tables:
            kept = {of: each for of, each in point.estimates.items() if of not in OF_MESSAGES}
            point = replace(point, estimates=kept)
        found += [point, *tables]
    return found


def of_parts(
    run: "RunDirectory",
    trials: Sequence[Trial],
    divide: Callable[[Any], groups.Parts],
    *,
    metrics: Sequence[Metric] = groups.FLOW_METRICS,
) -> Iterator[Point]:
    """Yield estimates of groups of flows of trials, such as `groups.by_table` makes."""
    for block in in_blocks(trials):
        yield from groups.estimate(block, run, divide, metrics=metrics)


def of_sharing(run: "RunDirectory", trials: Sequence[Trial]) -> Iterator[Sharing]:
    """Yield how fairly flows of trials of networks share, as `sharing` finds it."""
    for block in in_blocks(trials):
        yield from sharing(block, run)


def sharing(trials: Sequence[Trial], source: Source) -> tuple[Sharing, ...]:
    """Find how fairly flows share at every point of networks, in the order of the plan.

    Flows of one table of the experiment file share, where it has several; in a network without such
    a table all flows do, if all send messages without answers, or all are transfers. Points at
    which no two flows share are left out.
    """
    if not trials:
        return ()
    points, firsts, replications = grouped(trials)
    values = values_of_each(source, trials, SHARED)
    few = min(replications) < ENOUGH_REPLICATIONS
    left = _rates_left_out(source, trials) if few else {}
    found = []
    for at, first in enumerate(firsts):
        members = np.flatnonzero(points == at).tolist()
        for name, flows in _sharers(trials[first].scenario).items():
            found_rates = _rates([values[member] for member in members], flows)
            if found_rates is None:
                continue
            metric, rates, known = found_rates
            indices, shares = jain_index(rates), rates / rates.sum(axis=1, keepdims=True)
            by_batch = [
                left[members[replication]][metric][:, flows]
                for replication in known
                if members[replication] in left
            ]
            complete = by_batch if len(by_batch) == len(known) else []
            index_errors, share_errors = _errors_within(complete, len(flows))
            example = trials[first]
            estimates = map(_estimate, shares.T, share_errors)
            names = [example.scenario.flows[flow].name for flow in flows]
            found.append(
                Sharing(
                    series=example.series,
                    point=dict(example.point),
                    engine=example.engine,
                    replications=replications[at],
                    flows=name,
                    metric=metric,
                    jain_index=_estimate(indices, index_errors),
                    shares=dict(zip(names, estimates, strict=True)),
                )
            )
    return tuple(found)


def _sharers(scenario: Scenario) -> dict[str, list[int]]:
    """Numbers of the flows that share, by the name of their table."""
    divided = groups.by_table(scenario).items()
    if tables := {name: members.tolist() for name, members in divided if len(members) > 1}:
        return tables
    kinds = {(flow.transfer is not None, flow.response is not None) for flow in scenario.flows}
    every = list(range(len(scenario.flows)))
    return {"": every} if len(every) > 1 and kinds in ({(False, False)}, {(True, False)}) else {}


def _rates(
    values: Sequence[Mapping[Metric, Floats]], flows: Sequence[int]
) -> tuple[Metric, Floats, list[int]] | None:
    """Rates of flows in replications in which any arrived, and which these are; None if none.

    Shape `(replications, flows)`.
    """
    for metric in SHARED:
        rates = np.array([of[metric][flows] for of in values])
        known = np.flatnonzero(np.isfinite(rates).all(axis=1) & (rates.sum(axis=1) > 0))
        if known.size:
            return metric, rates[known], known.tolist()
    return None


def _rates_left_out(source: Source, trials: Sequence[Trial]) -> dict[int, dict[Metric, Floats]]:
    """Rates of every flow, shape `(batches, flows)`, with one batch left out, by trial."""
    found = {}
    for kind, positions, of in batch_slices(source, trials):
        if kind is not EntityKind.FLOW or of.parts < 2:
            continue
        values = of_each_part(SHARED, kind, of.left_out())
        for at, position in enumerate(positions.tolist()):
            found[position] = {metric: values[metric][at] for metric in SHARED}
    return found


def _errors_within(
    rates: Sequence[Floats], flows: int
) -> tuple[Within | None, list[Within | None]]:
    """Find the uncertainty of Jain's index and of every flow's share within each replication.

    None where batches do not show it. `rates` are of every replication with one batch left out,
    shape `(batches, flows)`; empty where they are not known.
    """
    if not rates or min(len(of) for of in rates) < 2:
        return None, [None] * flows
    with np.errstate(divide="ignore", invalid="ignore"):
        indices = within(np.array([jain_index(of) for of in rates]))
        shares = np.array([of / of.sum(axis=1, keepdims=True) for of in rates])
    return indices, [within(shares[:, :, flow]) for flow in range(flows)]


def _estimate(values: Floats, errors: Within | None) -> Estimate:
    """Estimate the mean over replications by the rule of `ethermeter.results.estimates`."""
    return summarised(values, np.zeros(values.size, np.int64), [values.size], within=errors)[0]
