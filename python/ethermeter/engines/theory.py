"""The theory engine: a trial answered by a model of its stations or of its flows."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats, Integers
from ethermeter.entities import receiver_flows, stations_in
from ethermeter.metrics import Caution, Masks, Metric, caution_mask
from ethermeter.metrics.formulas import least_margin_s, margin_s
from ethermeter.metrics.parameters import deadlines_s
from ethermeter.nodes import links_in
from ethermeter.scenario import Scenario
from ethermeter.store.columns import NOT_COUNTED, PORT_CLASSES, PORTS, VALUES, Columns
from ethermeter.store.trial_result import Fact, TrialResult, values_table
from ethermeter.theory.assumptions import BOUNDS, MEANS
from ethermeter.trial import Trial

if TYPE_CHECKING:
    from ethermeter.theory.bounds import Backlog, DelayBound, PortBound
    from ethermeter.theory.predictions import Verdict
    from ethermeter.theory.queueing import FlowMean, Means

_NO_BOUND = caution_mask([Caution.NO_BOUND])


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a model says of a trial.

    Parameters
    ----------
    of_each, of_all
        Values of the metrics it speaks of, of each station or flow and of all together; NaN without
        one.
    cautions
        Of the values of each.
    facts
        What it says besides.
    lacking
        Of a metric, the flows that have no bound of it although it is one of theirs.
    ports, port_classes
        As in `TrialResult`.

    """

    of_each: Mapping[Metric, Floats]
    of_all: Mapping[Metric, float]
    cautions: Masks
    facts: Sequence[Fact] = ()
    lacking: Mapping[Metric, npt.NDArray[np.bool_]] = field(default_factory=dict)
    ports: Columns = field(default_factory=dict)
    port_classes: Columns = field(default_factory=dict)


def run_trial(trial: Trial, model: str) -> TrialResult:
    """Return what a model says: values, bounds of ports, and facts.

    ValueError if there is no such model, or it does not apply.
    """
    begin_s = time.perf_counter()
    answer = _OF_FLOWS[model](trial.scenario) if model in _OF_FLOWS else _of_stations(trial, model)
    together = np.bitwise_or.reduce(answer.cautions)
    cautions = {}
    for metric, of_each in answer.of_each.items():
        lacking = answer.lacking.get(metric, np.zeros(len(of_each), np.bool_))
        of_all = np.array([answer.of_all[metric]])
        cautions[metric] = (
            np.uint64(_masks(of_all, together, lacking.any())[0]),
            _masks(of_each, answer.cautions, lacking),
        )
    values = {metric: (answer.of_all[metric], of) for metric, of in answer.of_each.items()}
    tables = {VALUES: values_table(values, cautions)}
    if answer.ports:
        tables |= {PORTS: answer.ports, PORT_CLASSES: answer.port_classes}
    return TrialResult(tables, tuple(answer.facts), core_s=time.perf_counter() - begin_s)


def metrics_of_model(trial: Trial, model: str) -> list[Metric]:
    """Return the metrics that a model speaks of; ValueError as `run_trial`."""
    if model in METRICS:
        return list(METRICS[model])
    verdict = _verdict(trial, model)
    return list({**verdict.values, **verdict.of_stations})


# Stations on a medium


def _verdict(trial: Trial, model: str) -> "Verdict":
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import judge

    return judge(model, model_inputs(trial.scenario, trial.assumptions()))


def _of_stations(trial: Trial, model: str) -> _Answer:
    """Return the values of a medium; of single stations only of models that distinguish them."""
    verdict = _verdict(trial, model)
    if not verdict.applies:
        raise ValueError(f"{model} does not apply: {verdict.obstacles[0]}")
    nothing = np.full(stations_in(trial.scenario), math.nan)
    metrics = {**verdict.values, **verdict.of_stations}
    return _Answer(
        of_each={metric: verdict.of_stations.get(metric, nothing) for metric in metrics},
        of_all={metric: verdict.values.get(metric, math.nan) for metric in metrics},
        cautions=np.full(len(nothing), caution_mask(verdict.cautions)),
    )


def _masks(
    values: Floats, cautions: Masks | np.uint64, is_lacking: npt.NDArray[np.bool_] | np.bool_
) -> Masks:
    """Return the cautions of values: of those that are NaN only that there is no bound."""
    missing = np.where(is_lacking, _NO_BOUND, np.uint64(0))
    return np.where(np.isnan(values), missing, cautions)


# Worst cases by network calculus


def _bounds(scenario: Scenario) -> _Answer:
    from ethermeter.theory.bounds import bounds_of

    found = bounds_of(scenario)
    facts: list[Fact] = []
    delays = np.array([_largest(flow.delay) for flow in found.flows])
    trips = np.array([_largest(flow.round_trip) for flow in found.flows])
    has_trip = np.array([flow.round_trip is not None for flow in found.flows])
    for number, flow in enumerate(found.flows):
        facts.append(_fact("flow", number, flow.delay, flow.method))
        if flow.round_trip is not None:
            facts.append(_fact("round-trip", number, flow.round_trip, flow.method))
    for port in found.ports:
        reasons = dict.fromkeys(reason for reason in port.reasons if reason)
        if reasons:
            facts.append(Fact("port", port.port, reason="; ".join(reasons)))
    of_each = {Metric.ONE_WAY_DELAY_MAX: delays, Metric.ROUND_TRIP_MAX: trips}
    of_all = {
        # NaN if a flow has none.
        Metric.ONE_WAY_DELAY_MAX: float(delays.max()),
        Metric.ROUND_TRIP_MAX: float(trips[has_trip].max()) if has_trip.any() else math.nan,
    }
    lacking = {
        Metric.ONE_WAY_DELAY_MAX: np.isnan(delays),
        Metric.ROUND_TRIP_MAX: np.isnan(trips) & has_trip,
    }
    due_s = deadlines_s(scenario)
    if not np.isnan(due_s).all():
        margins = margin_s(due_s, delays)
        of_each[Metric.DEADLINE_MARGIN] = margins
        of_all[Metric.DEADLINE_MARGIN] = float(least_margin_s(due_s, margins))
        lacking[Metric.DEADLINE_MARGIN] = np.isnan(delays) & ~np.isnan(due_s)
    return _Answer(
        of_each=of_each,
        of_all=of_all,
        cautions=np.full(len(found.flows), caution_mask([Caution.UPPER_BOUND])),
        facts=facts,
        lacking=lacking,
        ports=_port_rows(found.ports),
        port_classes=_class_rows(scenario, found.ports),
    )


def _fact(
    about: Literal["flow", "round-trip"], number: int, delay: "DelayBound", method: str
) -> Fact:
    if delay.largest_s is None:
        return Fact(about, number, reason=delay.reason or "network calculus has no bound")
    return Fact(about, number, method=method)


def _largest(delay: "DelayBound | None") -> float:
    return math.nan if delay is None or delay.largest_s is None else delay.largest_s


def _port_rows(ports: "Sequence[PortBound]") -> Columns:
    """Return bounds of all ports; what is not bounded was not counted."""
    return _backlogs([port.total for port in ports])


def _backlogs(backlogs: "Sequence[Backlog | None]") -> dict[str, Integers]:
    return {
        "queue_most": np.array([NOT_COUNTED if of is None else of.held_frames for of in backlogs]),
        "queue_octets_most": np.array(
            [NOT_COUNTED if of is None else of.held_octets for of in backlogs]
        ),
    }


def _class_rows(scenario: Scenario, ports: "Sequence[PortBound]") -> Columns:
    """Return bounds by class of the ports that have classes."""
    links = links_in(scenario)
    owners = [end.node for link in links for end in link.ends]
    with_classes = {
        node.name
        for node in scenario.nodes
        if (kind := node.kind.host or node.kind.switch or node.kind.router) and kind.classes
    }
    some = [
        (port.port, number, backlog)
        for port in ports
        if owners[port.port] in with_classes and not links[port.port // 2].half_duplex
        for number, backlog in enumerate(port.classes)
    ]
    numbers = {
        name: np.array([row[at] for row in some], np.int64)
        for at, name in enumerate(("port", "class"))
    }
    return numbers | _backlogs([backlog for _, _, backlog in some])


# Means by queueing theory


def _means(scenario: Scenario) -> _Answer:
    from ethermeter.theory.queueing import means_of

    found = means_of(scenario)
    receivers = np.array([len(flow.to) for flow in receiver_flows(scenario)])
    delays, losses, rates, trips, data = (
        np.array([math.nan if one is None else one for one in values])
        for values in zip(*map(_values_of, found.flows), strict=True)
    )
    has_trip, moves = ~np.isnan(trips), ~np.isnan(data)
    messages = rates * receivers
    return _Answer(
        of_each={
            Metric.ONE_WAY_DELAY: delays,
            Metric.LOSS: losses,
            Metric.MESSAGE_RATE: messages,
            Metric.ROUND_TRIP: trips,
            Metric.DATA_RATE: data,
        },
        of_all={
            # Of messages as they are received; NaN if a flow has none.
            Metric.ONE_WAY_DELAY: float((messages * delays).sum() / messages.sum()),
            Metric.LOSS: float(1 - messages.sum() / (messages / (1 - losses)).sum()),
            Metric.MESSAGE_RATE: float(messages.sum()),
            # Of the flows that have such a thing, if all of these have a value.
            Metric.ROUND_TRIP: (
                float((messages * trips)[has_trip].sum() / messages[has_trip].sum())
                if has_trip.any() and _all_have(scenario, has_trip, "response")
                else math.nan
            ),
            Metric.DATA_RATE: float(data.sum()) if moves.all() else math.nan,
        },
        cautions=np.array([caution_mask(flow.cautions) for flow in found.flows]),
        facts=[
            *(
                Fact("flow", number, reason=flow.reason)
                for number, flow in enumerate(found.flows)
                if flow.reason is not None
            ),
            *(
                Fact("queue", port.port, load=port.utilisation, queue_frames=port.queue_frames)
                for port in found.ports
                if port.utilisation > 0
            ),
            *_saturation(found),
        ],
    )


def _values_of(flow: "FlowMean") -> tuple[float | None, ...]:
    return flow.delay_s, flow.loss, flow.message_rate, flow.round_trip_s, flow.data_rate_bps


def _all_have(scenario: Scenario, has: npt.NDArray[np.bool_], what: str) -> bool:
    wanted = np.array([getattr(flow, what) is not None for flow in receiver_flows(scenario)])
    return bool((has | ~wanted).all())


def _saturation(found: "Means") -> list[Fact]:
    """Say at how many times this load a resource is full; nothing if not all flows are open."""
    of = found.saturation
    if not math.isfinite(of.scale):
        return []
    return [Fact("saturation", scale=of.scale, resource=of.resource)]


METRICS: Mapping[str, tuple[Metric, ...]] = {
    BOUNDS: (Metric.ONE_WAY_DELAY_MAX, Metric.ROUND_TRIP_MAX, Metric.DEADLINE_MARGIN),
    MEANS: (
        *(Metric.ONE_WAY_DELAY, Metric.LOSS, Metric.MESSAGE_RATE, Metric.ROUND_TRIP),
        Metric.DATA_RATE,
    ),
}
"""Metrics that each model of flows speaks of."""

_OF_FLOWS: Mapping[str, Callable[[Scenario], _Answer]] = {BOUNDS: _bounds, MEANS: _means}
