"""Observed: what agents counted in a test, as observations of flows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ethermeter.engines import network
from ethermeter.engines.live import by_batch
from ethermeter.engines.live.counted import Counted, count, window_s
from ethermeter.engines.live.description import (
    flow_names,
    is_saturated,
    is_transfer,
)
from ethermeter.engines.live.result import Buckets, FlowResult, Result
from ethermeter.engines.live.spoken import as_core, mean_s
from ethermeter.engines.live.steal import has_steal
from ethermeter.engines.network import ADDED, TIMES
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles
from ethermeter.scenario import Scenario
from ethermeter.store.rows import (
    FLOW_METRICS,
    FLOW_VOICE_METRICS,
    PORT_COLUMNS,
    VOICE_HISTOGRAMS,
    Floats,
    Integers,
    TrialRows,
    has_voice,
)
from ethermeter.trial import Trial

LOSSES = ("queue", "buffer", "filtered", "ignored", "attempts")
"""Causes in a simulation, in the core's order; of what is measured only the sum is known."""
UNKNOWN = (
    Metric.LOST_QUEUE,
    Metric.LOST_BUFFER,
    Metric.LOST_ATTEMPTS,
    Metric.FILTERED,
    Metric.IGNORED,
)

ACKNOWLEDGEMENTS = ("acknowledgement", "answer_acknowledgement")


def observe(trial: Trial, result: Result, *, took_s: float, has_wires: bool = True) -> TrialRows:
    """Turn what the agents of a test counted into every metric, of each flow and of all.

    Parameters
    ----------
    trial
        The trial.
    result
        What came of the test.
    took_s
        Time it took, in s.
    has_wires
        Whether something between hosts carries no more than a wire.

    Returns
    -------
    :
        The rows in the order of `ethermeter.store.rows.flow_layout`. What nobody counted is NaN and
        has the caution `no-samples`.

    """
    scenario = trial.scenario
    flows = [
        count(trial, number, result.flows.get(name) or FlowResult(), result)
        for number, name in enumerate(flow_names(scenario))
    ]
    for sent, counted in zip(scenario.flows, flows, strict=True):
        if (
            not has_wires
            and (counted.sent > 0 or counted.transfer_octets > 0)
            and is_saturated(sent)
        ):
            counted.cautions.add(Caution.HOST_LIMITED)
    if has_steal(result):
        for counted in flows:
            counted.cautions.add(Caution.CPU_STEAL)
    measured_s = window_s(scenario)
    rows = network.observe(scenario, _as_core(scenario, flows), core_s=took_s, has_clocks=False)
    values, cautions = rows.values.copy(), rows.cautions.copy()
    whole = len(FLOW_METRICS)
    # The queues of real hosts are not without limit, whatever the simulated ones are.
    cautions &= ~caution_mask([Caution.UNBOUNDED_QUEUE])
    of_each = {
        metric: values[whole + at * len(flows) :][: len(flows)]
        for at, metric in enumerate(FLOW_METRICS)
    }
    of_all = {metric: at for at, metric in enumerate(FLOW_METRICS)}
    for number, flow in enumerate(flows):
        of_each[Metric.OFFERED_RATE][number] = (flow.sent + flow.waiting) / flow.offered_s
        for metric in (Metric.MESSAGE_RATE, Metric.FRAME_RATE, Metric.GOODPUT, Metric.DATA_RATE):
            of_each[metric][number] *= measured_s / flow.counted_s
        for metric, value in (
            (Metric.REORDERED, flow.reordered),
            (Metric.DUPLICATES, flow.duplicates),
            (Metric.TIMED_OUT, flow.timed_out),
            (Metric.EXCHANGES, flow.exchanges),
            (Metric.DROPPED, flow.dropped),
        ):
            of_each[metric][number] = value
    for metric in UNKNOWN:
        of_each[metric][:] = np.nan
    for number, port in enumerate(trial.settings().ports):
        if port == "tcp" or np.isnan(flows[number].sent):
            # What TCP sent again is in what its sender was told of the connection, not by message,
            # nor why it did.
            for metric in (Metric.RETRANSMITTED, Metric.TIMEOUTS):
                of_each[metric][number] = np.nan
        if is_transfer(scenario.flows[number]):
            of_each[Metric.RETRANSMITTED][number] = flows[number].sent_again
    for metric in ADDED:
        values[of_all[metric]] = of_each[metric].sum()
    words = [
        _words(flows, metrics)
        for metrics in (
            (FLOW_METRICS, FLOW_VOICE_METRICS) if has_voice(scenario) else (FLOW_METRICS,)
        )
    ]
    cautions |= np.concatenate(words)
    none = np.isnan(values)
    cautions[none] = caution_mask([Caution.NO_SAMPLES])
    counts, sums_s = by_batch.rows([flow.parts for flow in flows], scenario.batches)
    return replace(
        rows, values=values, cautions=cautions, flow_batch_counts=counts, flow_batch_sums_s=sums_s
    )


def failed(trial: Trial, *, took_s: float) -> TrialRows:
    """Rows of a trial in which an agent was lost: its values are NaN.

    Parameters
    ----------
    trial
        The trial.
    took_s
        Time it took, in s.

    """
    return observe(trial, Result(outcome=""), took_s=took_s)


def _as_core(scenario: Scenario, flows: list[Counted]) -> dict[str, Any]:
    """Return what was counted in the form in which the simulator gives it, so that both become rows
    in the same way.
    """

    def column(pick: Callable[[Counted], float]) -> Floats:
        return np.array([pick(flow) for flow in flows], np.float64)

    lost = np.zeros((len(flows), len(LOSSES)))
    # Whatever is missing: then the loss is what did not come of all that was sent.
    lost[:, 0] = column(lambda flow: flow.sent) * [
        len(flow.to) for flow in scenario.flows
    ] - column(lambda flow: flow.arrived)
    buckets = {
        "one_way": [flow.one_way for flow in flows],
        "round_trip": [flow.round_trip for flow in flows],
        "between_arrivals": [flow.between for flow in flows],
    }
    buckets |= {
        name: [[] if flow.voice is None else flow.voice.delays[name] for flow in flows]
        for name in VOICE_HISTOGRAMS
        if has_voice(scenario)
    }
    means = {name: np.array([mean_s(of) for of in every]) for name, every in buckets.items()}
    between_s = column(lambda flow: flow.between_s)
    for name in ("one_way", "round_trip"):
        exact_s = [flow.means_s.get(name, np.nan) for flow in flows]
        means[name] = np.where(np.isnan(exact_s), means[name], exact_s)
    means["between_arrivals"] = np.where(np.isnan(between_s), means["between_arrivals"], between_s)
    phases = scenario.phases
    return {
        "flow_offered": column(lambda flow: flow.sent),
        "flow_arrived": column(lambda flow: flow.arrived),
        "flow_messages": column(lambda flow: flow.messages),
        "flow_frames": column(lambda flow: flow.frames),
        "flow_octets": column(lambda flow: flow.octets),
        "flow_data_octets": column(lambda flow: flow.data_octets),
        "flow_timed_out": column(lambda flow: flow.timed_out),
        "flow_completed": column(lambda flow: np.nan_to_num(flow.exchanges)),
        "flow_dropped": np.zeros(len(flows)),
        "flow_in_flight": np.zeros(len(flows)),
        "flow_lost": lost,
        "losses": LOSSES,
        **{f"flow_{name}_s": mean for name, mean in means.items()},
        **_of_transfers(flows),
        **(as_core([flow.voice for flow in flows], len(LOSSES)) if has_voice(scenario) else {}),
        "histograms": {
            name: _columns(every)
            for name, every in {**buckets, **{key: [] for key in ACKNOWLEDGEMENTS}}.items()
        },
        **{f"port_{name}": np.empty(0, np.int64) for name in PORT_COLUMNS},
        "window_ps": phases.measure_to_ps - phases.measure_from_ps,
        "events": int(sum(flow.sent for flow in flows if flow.sent == flow.sent)),
    }


def _of_transfers(flows: list[Counted]) -> dict[str, Any]:
    """Return what the simulator says of transfers; acknowledgements are not seen, and what was sent
    again is told elsewhere.
    """
    unknown = np.full(len(flows), np.nan)
    return {
        "transfer_octets": np.array([flow.transfer_octets for flow in flows]),
        "transfer_whole_s": np.array([flow.transfer_whole_s for flow in flows]),
        "transfer_retransmitted": np.zeros((len(flows), 2)),
        "transfer_timeouts": np.zeros((len(flows), 2)),
        **{f"flow_{name}_s": unknown for name in ACKNOWLEDGEMENTS},
    }


def _columns(every: list[Buckets]) -> tuple[Integers, ...]:
    rows = np.array(
        [(number, *bucket) for number, buckets in enumerate(every) for bucket in buckets], np.int64
    ).reshape(-1, 4)
    return tuple(rows[:, part] for part in range(4))


def _words(flows: list[Counted], metrics: tuple[Metric, ...]) -> Masks:
    """Live cautions of some metrics, of all flows and of each: of clocks, lateness and few
    exchanges only with what they change.
    """
    round_trip = {Metric.EXCHANGES, Metric.ROUND_TRIP, *percentiles(Metric.ROUND_TRIP)}
    assert Metric.ONE_WAY_DELAY in TIMES
    by_clocks = {Metric.ONE_WAY_DELAY, *percentiles(Metric.ONE_WAY_DELAY)}
    by_clocks |= {Metric(name) for name in VOICE_HISTOGRAMS} | {
        of for name in VOICE_HISTOGRAMS for of in percentiles(Metric(name))
    }
    by_clocks |= {Metric.MOUTH_TO_EAR, Metric.SPEECH_LOSS, Metric.RATING, Metric.MOS}
    by_spacing = (
        by_clocks
        | round_trip - {Metric.EXCHANGES}
        | {Metric.INTER_ARRIVAL, *percentiles(Metric.INTER_ARRIVAL)}
    )
    by_spacing |= {Metric.LOSS, Metric.SAMPLE_LOSS}
    each = np.zeros((len(metrics), len(flows)), np.uint64)
    for at, metric in enumerate(metrics):
        for number, flow in enumerate(flows):
            words = (
                flow.cautions if metric in by_clocks else flow.cautions - {Caution.CLOCK_UNCERTAIN}
            )
            few = {Caution.FEW_SAMPLES} if flow.few and metric in round_trip else set()
            is_late = flow.late_spacing if metric in by_spacing else flow.late_counts
            late = {Caution.LATE_SEND} if is_late else set()
            each[at, number] = caution_mask(words | few | late)
    whole = np.bitwise_or.reduce(each, axis=1)
    return np.concatenate([whole, each.ravel()])
