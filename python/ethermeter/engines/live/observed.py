"""Observed: the counts of a test as rows of flows."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from ethermeter.counts import Counts, Floats, Numbers
from ethermeter.engines import simulation
from ethermeter.engines.flow_voice import is_voice
from ethermeter.engines.live.cautions import live_cautions, segment_cautions
from ethermeter.engines.live.counts import counts_of, streams_of
from ethermeter.engines.live.description import flow_names
from ethermeter.engines.live.segments import without_traces
from ethermeter.metrics import Caution, Metric, caution_mask
from ethermeter.metrics.formulas import PS_PER_S
from ethermeter.nodes import is_segment
from ethermeter.scenario import Scenario
from ethermeter.store.result import FlowResult, Requester, Result
from ethermeter.store.rows import (
    FLOW_METRICS,
    FLOW_VOICE_METRICS,
    TrialRows,
    has_voice,
)
from ethermeter.trial import Trial, core_trial


def observe(trial: Trial, result: Result, *, took_s: float, has_wires: bool = True) -> TrialRows:
    """Compute every metric from the counts of agents, of each flow and of all.

    `took_s` is the time of the trial, in s; `has_wires` is whether something between hosts carries
    no more than a wire. Rows are in the order of `ethermeter.store.rows.layout`. A value
    without counts is NaN and has the caution `no-samples`.
    """
    if is_segment(trial.scenario):
        return _of_segment(trial, result, took_s=took_s)
    scenario, counts = trial.scenario, counts_of(trial, result)
    rows = simulation.observe(
        scenario,
        counts,
        core_s=took_s,
        measured=lambda values: _measured(trial, result, counts.flows.offered, values),
    )
    tables = [FLOW_METRICS, *([FLOW_VOICE_METRICS] if has_voice(scenario) else [])]
    # The queues of real hosts are not those of the scenario.
    cautions = rows.cautions & ~caution_mask([Caution.UNBOUNDED_QUEUE, Caution.GROWING_QUEUE])
    cautions |= live_cautions(trial, result, counts.flows, tables, has_wires=has_wires)
    cautions[np.isnan(rows.values)] = caution_mask([Caution.NO_SAMPLES])
    return replace(rows, cautions=cautions)


def _of_segment(trial: Trial, result: Result, *, took_s: float) -> TrialRows:
    """Compute every metric from the counts of the emulated medium."""
    from ethermeter import _core

    scenario, segment = trial.scenario, result.segment
    text = None if segment is None else segment.counts
    counts = _nothing(scenario) if text is None else _core.read_counts(text)
    rows = simulation.observe(scenario, counts, core_s=took_s)
    cautions = rows.cautions | segment_cautions(trial, result)
    values = rows.values
    if text is None:
        values = np.full_like(values, np.nan)
        cautions = np.zeros_like(cautions)
    cautions[np.isnan(values)] = caution_mask([Caution.NO_SAMPLES])
    return replace(rows, values=values, cautions=cautions)


def _nothing(scenario: Scenario) -> Counts:
    """Return counts of a segment on which nothing was counted."""
    from ethermeter import _core

    phases = scenario.phases
    silent = structs.replace(phases, stop_ps=phases.begin_ps, spread_ps=0)
    made = structs.replace(without_traces(scenario), phases=silent)
    return _core.simulate_trial(core_trial(made))


def failed(trial: Trial, *, took_s: float) -> TrialRows:
    """Rows of a trial in which an agent was lost: its values are NaN, what it offered included."""
    rows = observe(trial, Result(outcome="", agents={}, flows={}), took_s=took_s)
    nothing = np.full_like(rows.cautions, caution_mask([Caution.NO_SAMPLES]))
    return replace(rows, values=np.full_like(rows.values, np.nan), cautions=nothing)


def _measured(
    trial: Trial, result: Result, offered: Numbers, values: Mapping[Metric, Floats]
) -> dict[Metric, Floats]:
    """Return the values of flows that do not follow from counts of the measured window.

    Messages are offered over the whole transmission, except voice, and all of an exchange is
    counted over it. Messages that wait for the responses to others were offered too.
    """
    scenario = trial.scenario
    phases = scenario.phases
    window_s, transmit_s = (
        (end_ps - begin_ps) / PS_PER_S
        for begin_ps, end_ps in (
            (phases.measure_from_ps, phases.measure_to_ps),
            (phases.begin_ps, phases.stop_ps),
        )
    )
    results = [result.flows.get(name, FlowResult()) for name in flow_names(scenario)]
    sending = [one.sending and one.sending.counted for one in results]
    waiting = [one.queued if isinstance(one, Requester) else 0 for one in sending]
    offered_s = [window_s if is_voice(flow) else transmit_s for flow in scenario.flows]
    share = np.array(
        [1.0 if flow.response is None else window_s / transmit_s for flow in scenario.flows]
    )
    streams = [streams_of(flow, one) for flow, one in zip(scenario.flows, results, strict=True)]
    return {
        Metric.OFFERED_RATE: (offered + waiting) / offered_s,
        **{
            metric: values[metric] * share
            for metric in (
                Metric.MESSAGE_RATE,
                Metric.FRAME_RATE,
                Metric.GOODPUT,
                Metric.DATA_RATE,
            )
        },
        **{
            metric: np.array(
                [np.nan if of is None else sum(getattr(one, name) for one in of) for of in streams],
                np.float64,
            )
            for metric, name in (
                (Metric.REORDERED, "reordered"),
                (Metric.DUPLICATES, "duplicate"),
            )
        },
    }
