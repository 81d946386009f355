"""Observed: counts of agents as rows of flows."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ethermeter.counts import (
    LOSSES,
    NO_CLOCK_PAIRS,
    NO_MEDIUM,
    NO_NODES,
    NO_PORTS,
    NO_STATIONS,
    Counts,
    FlowCounts,
    TransferCounts,
    zeros,
)
from ethermeter.engines import simulation
from ethermeter.engines.flows import ADDED, TIMES
from ethermeter.engines.live import by_batch
from ethermeter.engines.live.counted import Counted, count, window_s
from ethermeter.engines.live.description import (
    flow_names,
    is_saturated,
    is_transfer,
)
from ethermeter.engines.live.spoken import PS_PER_S, delays, flow_voice
from ethermeter.engines.live.steal import has_steal
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles
from ethermeter.scenario import Scenario
from ethermeter.store.result import FlowResult, Result
from ethermeter.store.rows import (
    FLOW_METRICS,
    FLOW_VOICE_METRICS,
    VOICE_HISTOGRAMS,
    Floats,
    TrialRows,
    has_voice,
)
from ethermeter.trial import Trial

UNKNOWN = (
    Metric.LOST_QUEUE,
    Metric.LOST_BUFFER,
    Metric.LOST_ATTEMPTS,
    Metric.FILTERED,
    Metric.IGNORED,
)


def observe(trial: Trial, result: Result, *, took_s: float, has_wires: bool = True) -> TrialRows:
    """Compute every metric from the counts of agents, of each flow and of all.

    Parameters
    ----------
    trial
        The trial.
    result
        The result of its test.
    took_s
        Time it took, in s.
    has_wires
        Whether something between hosts carries no more than a wire.

    Returns
    -------
    :
        The rows in the order of `ethermeter.store.rows.flow_layout`. A value without counts is NaN
        and has the caution `no-samples`.

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
    rows = simulation.observe(scenario, _counts(scenario, flows), core_s=took_s, has_clocks=False)
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
            # TCP counts retransmissions of a connection, neither by message nor by cause.
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
    return observe(trial, Result(outcome="", agents={}, flows={}), took_s=took_s)


def _counts(scenario: Scenario, flows: list[Counted]) -> Counts:
    """Return the counts of agents as engines have them; counts that agents do not make are 0."""

    def column(pick: Callable[[Counted], float]) -> Floats:
        return np.array([pick(flow) for flow in flows], np.float64)

    number = len(flows)
    none = zeros(FlowCounts, number)
    lost = np.zeros((number, len(LOSSES)))
    # All that is missing: then the loss is what did not come of all that was sent.
    lost[:, 0] = column(lambda flow: flow.sent) * [
        len(flow.to) for flow in scenario.flows
    ] - column(lambda flow: flow.arrived)
    messages = column(lambda flow: flow.messages)
    completed = column(lambda flow: np.nan_to_num(flow.exchanges))
    phases = scenario.phases
    exact_s = {
        name: column(lambda flow, name=name: flow.means_s.get(name, np.nan))  # type: ignore[misc]
        for name in ("one_way", "round_trip")
    }
    one_way, round_trip, between = (
        [flow.one_way for flow in flows],
        [flow.round_trip for flow in flows],
        [flow.between for flow in flows],
    )
    return Counts(
        window_ps=phases.measure_to_ps - phases.measure_from_ps,
        events=int(sum(flow.sent for flow in flows if flow.sent == flow.sent)),
        medium=NO_MEDIUM,
        stations=NO_STATIONS,
        flows=replace(
            none,
            balance=replace(none.balance, lost=lost),
            offered=column(lambda flow: flow.sent),
            arrived=column(lambda flow: flow.arrived),
            messages=messages,
            frames=column(lambda flow: flow.frames),
            octets=column(lambda flow: flow.octets),
            data_octets=column(lambda flow: flow.data_octets),
            timed_out=column(lambda flow: flow.timed_out),
            completed=completed,
            one_way=delays(one_way, exact_s["one_way"], count=messages),
            round_trip=delays(round_trip, exact_s["round_trip"], count=completed),
            between_arrivals=delays(between, column(lambda flow: flow.between_s)),
            transfer=replace(
                zeros(TransferCounts, number),
                octets=column(lambda flow: flow.transfer_octets),
                whole_ps=column(lambda flow: flow.transfer_whole_s) * PS_PER_S,
            ),
            voice=flow_voice([flow.voice for flow in flows]) if has_voice(scenario) else None,
        ),
        ports=NO_PORTS,
        nodes=NO_NODES,
        clock_pairs=NO_CLOCK_PAIRS,
        cautions=(),
    )


def _words(flows: list[Counted], metrics: tuple[Metric, ...]) -> Masks:
    """Live cautions of some metrics, of all flows and of each.

    Those of clocks, lateness and few exchanges are only with the metrics that they change.
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
