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
from ethermeter.store.rows import (
    CLASS_COLUMNS,
    FLOW_METRICS,
    NOT_COUNTED,
    PORT_COLUMNS,
    Remark,
    TrialRows,
    formula_rows,
    remarks_text,
)
from ethermeter.theory.assumptions import BOUNDS, MEANS
from ethermeter.theory.bounds import Backlog, Bounds, DelayBound, PortBound, bounds_of
from ethermeter.theory.queueing import FlowMean, Means, PortMean, means_of
from ethermeter.trial import Trial

_NONE = np.empty(0, np.int64)
_NO_SAMPLES, _NO_BOUND = (caution_mask([of]) for of in (Caution.NO_SAMPLES, Caution.NO_BOUND))


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
        As in `TrialRows`.

    """

    of_each: Mapping[Metric, Floats]
    of_all: Mapping[Metric, float]
    cautions: Masks
    remarks: Sequence[Remark]
    lacking: Mapping[Metric, npt.NDArray[np.bool_]] = field(default_factory=dict)
    ports: Integers = field(default_factory=lambda: _NONE)
    port_classes: Integers = field(default_factory=lambda: _NONE)


def run_trial(trial: Trial, model: str) -> TrialRows:
    """Return the rows of a theory of networks.

    Only of the metrics of flows; what it does not speak of is NaN with the caution `no-samples`.
    """
    begin_s = time.perf_counter()
    answer = _MODELS[model](trial.scenario)
    values, cautions = _values(answer, len(trial.scenario.flows))
    return formula_rows(
        values,
        cautions,
        flows=len(trial.scenario.flows),
        ports=answer.ports,
        port_classes=answer.port_classes,
        remarks=remarks_text(answer.remarks),
        core_s=time.perf_counter() - begin_s,
    )


def _values(answer: _Answer, flows: int) -> tuple[Floats, Masks]:
    """Return values and cautions in the order of the rows: of all flows, then of each."""
    of_all = np.full((len(FLOW_METRICS), 1), math.nan)
    of_each = np.full((len(FLOW_METRICS), flows), math.nan)
    lacking = np.zeros((len(FLOW_METRICS), flows), np.bool_)
    for metric, values in answer.of_each.items():
        at = FLOW_METRICS.index(metric)
        of_all[at], of_each[at] = answer.of_all[metric], values
        if metric in answer.lacking:
            lacking[at] = answer.lacking[metric]
    together = np.array([np.bitwise_or.reduce(answer.cautions)])
    pairs = (
        (of_all, together, np.asarray(lacking.any(axis=1, keepdims=True))),
        (of_each, answer.cautions, lacking),
    )
    masks = [_masks(values, cautions, is_lacking) for values, cautions, is_lacking in pairs]
    return (
        np.concatenate([of_all.ravel(), of_each.ravel()]),
        np.concatenate([mask.ravel() for mask in masks]),
    )


def _masks(values: Floats, cautions: Masks, is_lacking: npt.NDArray[np.bool_]) -> Masks:
    """Return the cautions of values: of those that are NaN only why."""
    missing = np.where(is_lacking, _NO_BOUND, _NO_SAMPLES)
    return np.where(np.isnan(values), missing, cautions)


# Worst cases by network calculus


def _bounds(scenario: Scenario) -> _Answer:
    found: Bounds = bounds_of(scenario)
    remarks: list[Remark] = []
    delays = np.array([_largest(flow.delay) for flow in found.flows])
    trips = np.array([_largest(flow.round_trip) for flow in found.flows])
    has_trip = np.array([flow.round_trip is not None for flow in found.flows])
    for number, flow in enumerate(found.flows):
        remarks.append(_remark("flow", number, flow.delay, flow.method))
        if flow.round_trip is not None:
            remarks.append(_remark("round-trip", number, flow.round_trip, flow.method))
    for port in found.ports:
        reasons = dict.fromkeys(reason for reason in port.reasons if reason)
        if reasons:
            remarks.append(Remark("port", port.port, "reason", "; ".join(reasons)))
    return _Answer(
        of_each={Metric.ONE_WAY_DELAY_MAX: delays, Metric.ROUND_TRIP_MAX: trips},
        of_all={
            # NaN if a flow has none.
            Metric.ONE_WAY_DELAY_MAX: float(delays.max()),
            Metric.ROUND_TRIP_MAX: float(trips[has_trip].max()) if has_trip.any() else math.nan,
        },
        cautions=np.full(len(found.flows), caution_mask([Caution.UPPER_BOUND])),
        remarks=remarks,
        lacking={
            Metric.ONE_WAY_DELAY_MAX: np.isnan(delays),
            Metric.ROUND_TRIP_MAX: np.isnan(trips) & has_trip,
        },
        ports=_port_rows(found.ports),
        port_classes=_class_rows(scenario, found.ports),
    )


def _remark(
    about: Literal["flow", "round-trip"], number: int, delay: DelayBound, method: str
) -> Remark:
    if delay.largest_s is None:
        reason = delay.reason or "network calculus has no bound"
        return Remark(about, number, "reason", reason)
    return Remark(about, number, "method", method)


def _largest(delay: DelayBound | None) -> float:
    return math.nan if delay is None or delay.largest_s is None else delay.largest_s


def _port_rows(ports: Sequence[PortBound]) -> Integers:
    rows = np.full((len(ports), len(PORT_COLUMNS)), NOT_COUNTED)
    for row, port in zip(rows, ports, strict=True):
        _fill(row, PORT_COLUMNS, port.total)
    return rows.ravel()


def _class_rows(scenario: Scenario, ports: Sequence[PortBound]) -> Integers:
    """Return bounds by class of the ports that have classes."""
    owners = [end.node for link in over_links(scenario).links for end in link.ends]
    with_classes = {
        node.name
        for node in scenario.nodes
        if (kind := node.kind.host or node.kind.switch or node.kind.router) and kind.classes
    }
    rows = []
    for port in ports:
        if owners[port.port] not in with_classes:
            continue
        for number, backlog in enumerate(port.classes):
            row = np.full(len(CLASS_COLUMNS), NOT_COUNTED)
            row[CLASS_COLUMNS.index("port")], row[CLASS_COLUMNS.index("class")] = port.port, number
            _fill(row, CLASS_COLUMNS, backlog)
            rows.append(row)
    return np.concatenate(rows) if rows else _NONE


def _fill(row: Integers, columns: Sequence[str], backlog: Backlog | None) -> None:
    if backlog is not None:
        row[columns.index("queue_most")] = backlog.held_frames
        row[columns.index("queue_octets_most")] = backlog.held_octets


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
        remarks=[
            *(
                Remark("flow", number, "reason", flow.reason)
                for number, flow in enumerate(found.flows)
                if flow.reason is not None
            ),
            *(
                Remark("queue", port.port, "load", _load(port))
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


def _saturation(found: Means) -> list[Remark]:
    """Say at how many times this load a resource is full; nothing if not all flows are open."""
    scale = found.saturation.scale
    if not math.isfinite(scale):
        return []
    return [Remark("saturation", 0, "scale", f"{scale:.6g} {found.saturation.resource}")]


def _load(port: PortMean) -> str:
    """Return the load of a port and the mean number of frames in its queue, as words."""
    frames = math.nan if port.queue_frames is None else port.queue_frames
    return f"{port.utilisation:.6g} {frames:.6g}"


METRICS: Mapping[str, tuple[Metric, ...]] = {
    BOUNDS: (Metric.ONE_WAY_DELAY_MAX, Metric.ROUND_TRIP_MAX),
    MEANS: (
        *(Metric.ONE_WAY_DELAY, Metric.LOSS, Metric.MESSAGE_RATE, Metric.ROUND_TRIP),
        Metric.DATA_RATE,
    ),
}
"""Metrics that each theory speaks of."""

_MODELS: Mapping[str, Callable[[Scenario], _Answer]] = {BOUNDS: _bounds, MEANS: _means}
