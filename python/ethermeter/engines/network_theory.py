"""The theory engines of networks: a trial answered by network calculus, or by queueing theory."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats, Integers
from ethermeter.metrics import Caution, Masks, Metric, caution_mask
from ethermeter.nodes import over_links
from ethermeter.scenario import Scenario
from ethermeter.store.columns import NOT_COUNTED, PORT_CLASSES, PORTS, VALUES, Columns
from ethermeter.store.trial_result import Fact, TrialResult, values_table
from ethermeter.theory.assumptions import BOUNDS, MEANS
from ethermeter.theory.bounds import Backlog, Bounds, DelayBound, PortBound, bounds_of
from ethermeter.theory.queueing import FlowMean, Means, means_of
from ethermeter.trial import Trial

_NO_BOUND = caution_mask([Caution.NO_BOUND])


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a theory says of a scenario.

    Parameters
    ----------
    of_each, of_all
        Values of the metrics it speaks of, of each flow and of all together; NaN without one.
    cautions
        Of the values of each flow.
    lacking
        Of a metric, the flows that have no bound of it although it is one of theirs.
    ports, port_classes
        As in `TrialResult`.

    """

    of_each: Mapping[Metric, Floats]
    of_all: Mapping[Metric, float]
    cautions: Masks
    facts: Sequence[Fact]
    lacking: Mapping[Metric, npt.NDArray[np.bool_]] = field(default_factory=dict)
    ports: Columns = field(default_factory=dict)
    port_classes: Columns = field(default_factory=dict)


def run_trial(trial: Trial, model: str) -> TrialResult:
    """Return what a theory of networks says: values of flows, bounds of ports, and facts."""
    begin_s = time.perf_counter()
    answer = _MODELS[model](trial.scenario)
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
    tables = {VALUES: values_table(values, cautions), PORTS: answer.ports}
    return TrialResult(
        {**tables, PORT_CLASSES: answer.port_classes},
        tuple(answer.facts),
        core_s=time.perf_counter() - begin_s,
    )


def _masks(
    values: Floats, cautions: Masks | np.uint64, is_lacking: npt.NDArray[np.bool_] | np.bool_
) -> Masks:
    """Return the cautions of values: of those that are NaN only that there is no bound."""
    missing = np.where(is_lacking, _NO_BOUND, np.uint64(0))
    return np.where(np.isnan(values), missing, cautions)


# Worst cases by network calculus


def _bounds(scenario: Scenario) -> _Answer:
    found: Bounds = bounds_of(scenario)
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
    return _Answer(
        of_each={Metric.ONE_WAY_DELAY_MAX: delays, Metric.ROUND_TRIP_MAX: trips},
        of_all={
            # NaN if a flow has none.
            Metric.ONE_WAY_DELAY_MAX: float(delays.max()),
            Metric.ROUND_TRIP_MAX: float(trips[has_trip].max()) if has_trip.any() else math.nan,
        },
        cautions=np.full(len(found.flows), caution_mask([Caution.UPPER_BOUND])),
        facts=facts,
        lacking={
            Metric.ONE_WAY_DELAY_MAX: np.isnan(delays),
            Metric.ROUND_TRIP_MAX: np.isnan(trips) & has_trip,
        },
        ports=_port_rows(found.ports),
        port_classes=_class_rows(scenario, found.ports),
    )


def _fact(
    about: Literal["flow", "round-trip"], number: int, delay: DelayBound, method: str
) -> Fact:
    if delay.largest_s is None:
        return Fact(about, number, reason=delay.reason or "network calculus has no bound")
    return Fact(about, number, method=method)


def _largest(delay: DelayBound | None) -> float:
    return math.nan if delay is None or delay.largest_s is None else delay.largest_s


def _port_rows(ports: Sequence[PortBound]) -> Columns:
    """Return bounds of all ports; what is not bounded was not counted."""
    return _backlogs([port.total for port in ports])


def _backlogs(backlogs: Sequence[Backlog | None]) -> dict[str, Integers]:
    return {
        "queue_most": np.array([NOT_COUNTED if of is None else of.held_frames for of in backlogs]),
        "queue_octets_most": np.array(
            [NOT_COUNTED if of is None else of.held_octets for of in backlogs]
        ),
    }


def _class_rows(scenario: Scenario, ports: Sequence[PortBound]) -> Columns:
    """Return bounds by class of the ports that have classes."""
    owners = [end.node for link in over_links(scenario).links for end in link.ends]
    with_classes = {
        node.name
        for node in scenario.nodes
        if (kind := node.kind.host or node.kind.switch or node.kind.router) and kind.classes
    }
    some = [
        (port.port, number, backlog)
        for port in ports
        if owners[port.port] in with_classes
        for number, backlog in enumerate(port.classes)
    ]
    numbers = {
        name: np.array([row[at] for row in some], np.int64)
        for at, name in enumerate(("port", "class"))
    }
    return numbers | _backlogs([backlog for _, _, backlog in some])


# Means by queueing theory


def _means(scenario: Scenario) -> _Answer:
    found: Means = means_of(scenario)
    receivers = np.array([len(flow.to) for flow in scenario.flows])
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


def _values_of(flow: FlowMean) -> tuple[float | None, ...]:
    return flow.delay_s, flow.loss, flow.message_rate, flow.round_trip_s, flow.data_rate_bps


def _all_have(scenario: Scenario, has: npt.NDArray[np.bool_], what: str) -> bool:
    wanted = np.array([getattr(flow, what) is not None for flow in scenario.flows])
    return bool((has | ~wanted).all())


def _saturation(found: Means) -> list[Fact]:
    """Say at how many times this load a resource is full; nothing if not all flows are open."""
    of = found.saturation
    if not math.isfinite(of.scale):
        return []
    return [Fact("saturation", scale=of.scale, resource=of.resource)]


METRICS: Mapping[str, tuple[Metric, ...]] = {
    BOUNDS: (Metric.ONE_WAY_DELAY_MAX, Metric.ROUND_TRIP_MAX),
    MEANS: (
        *(Metric.ONE_WAY_DELAY, Metric.LOSS, Metric.MESSAGE_RATE, Metric.ROUND_TRIP),
        Metric.DATA_RATE,
    ),
}
"""Metrics that each theory speaks of."""

_MODELS: Mapping[str, Callable[[Scenario], _Answer]] = {BOUNDS: _bounds, MEANS: _means}
