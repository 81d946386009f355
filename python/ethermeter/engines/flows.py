"""Flows: values of every metric of the flows of a network."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from ethermeter.counts import (
    LOSSES,
    Counts,
    Delays,
    Floats,
    FlowCounts,
    TransferCounts,
    zeros,
)
from ethermeter.engines.table import Table
from ethermeter.framing import lengths_of, message_octets
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles
from ethermeter.metrics.flow_formulas import flow_loss, flow_rates
from ethermeter.metrics.formulas import PS_PER_S, of_entity, pooled, quantiles, weighted_mean
from ethermeter.scenario import Flow, Job, Scenario
from ethermeter.store.rows import FLOW_METRICS
from ethermeter.theory.load import loads_of

TIMES: Mapping[Metric, Callable[[FlowCounts], Delays]] = {
    Metric.ONE_WAY_DELAY: lambda flows: flows.one_way,
    Metric.ROUND_TRIP: lambda flows: flows.round_trip,
    Metric.INTER_ARRIVAL: lambda flows: flows.between_arrivals,
}
"""Counts of every time that has a histogram."""
ENDED = {
    Metric.LOST_QUEUE: "queue",
    Metric.LOST_BUFFER: "buffer",
    Metric.LOST_ATTEMPTS: "attempts",
    Metric.LOST_DAMAGED: "damaged",
    Metric.FILTERED: "filtered",
    Metric.IGNORED: "ignored",
}
"""Where copies of frames end before their destination, by the cause in `LOSSES`."""
LOST = (Metric.LOST_QUEUE, Metric.LOST_BUFFER, Metric.LOST_ATTEMPTS, Metric.LOST_DAMAGED)
"""Of these, those where the destination misses a copy."""
COUNTS = (
    *(Metric.REORDERED, Metric.DUPLICATES, Metric.TIMED_OUT, Metric.MESSAGES, Metric.DROPPED),
    *(Metric.RETRANSMITTED, Metric.TIMEOUTS, Metric.EXCHANGES),
    *ENDED,
)
ADDED = (
    *(Metric.OFFERED_RATE, Metric.MESSAGE_RATE, Metric.FRAME_RATE, Metric.GOODPUT),
    *(Metric.DATA_RATE, *COUNTS),
)
"""Metrics of all flows together that are sums over flows."""
SHORTEST, LONGEST = 64, 2000
"""Octets of legal frames, destination address to FCS (802.3-2022 § 3.2.7, § 4.4.2); the longest are
envelope frames.
"""
AROUND_PACKET = 18
"""Octets of a frame around its IP packet: addresses, type, check sequence (802.3-2022 § 3.2)."""
UNDER_WAY_SHARE = 0.05
"""Messages still under way over those that did not come, beyond which the loss carries a caution:
it may then be too high by so much.
"""
FILLING_SHARE = 0.05
"""Share of the measured window in which the queue of an overload may still fill."""
SETTLING_SHARE = 0.2
"""Share of the measured window in which a queue may come into balance: one without limit that is
measured from its beginning is then, on average over the window, shorter than in the long run by a
quarter of this.
"""
GROWTH_ERROR, LEAST_GROWTH, LEAST_BATCHES = 1e-4, 2.0, 5
"""Probability with which a flow of a trial whose queues are in balance is taken for one whose
backlog grows; the least growth, in messages; and the fewest batches of which it is known.
"""
NOT_ESTIMATED = {Metric.OFFERED_RATE, Metric.TRANSFER_RATE, *COUNTS}
Measured = Callable[[Mapping[Metric, Floats]], Mapping[Metric, Floats]]
"""From the values of flows by their counts to those that replace them in a measurement."""


def flow_table(scenario: Scenario, counts: Counts, measured: Measured | None = None) -> Table:
    """Return the value of every metric of flows, of each flow and of all."""
    flows = counts.flows
    wanted = _floats(flows.offered) * [len(flow.to) for flow in scenario.flows]
    of_each = _of_each(scenario, counts, wanted)
    if measured is not None:
        of_each |= measured(of_each)
    messages, offered = _floats(flows.messages), _floats(flows.offered)
    completed = np.nan_to_num(_floats(flows.completed))
    round_trip = (Metric.ROUND_TRIP, *percentiles(Metric.ROUND_TRIP))

    def samples(metric: Metric) -> Floats | None:
        if metric in NOT_ESTIMATED:
            return None
        return offered if metric == Metric.LOSS else completed if metric in round_trip else messages

    # What was lost is known; of what was under way at the end of the trial it is not.
    missing = wanted - flows.arrived
    under_way = (flows.balance.in_flight > UNDER_WAY_SHARE * missing) & (of_each[Metric.LOSS] > 0)
    masks = of_flow_cautions(scenario)
    if measured is None:
        unbounded, growing_queue = (
            caution_mask([word]) for word in (Caution.UNBOUNDED_QUEUE, Caution.GROWING_QUEUE)
        )
        copies = np.array([float(len(flow.to)) for flow in scenario.flows])
        grows = growing(flows, copies) & (masks & unbounded == 0)
        masks = masks | np.where(grows, growing_queue, np.uint64(0))
    return Table(
        FLOW_METRICS,
        FLOW_METRICS,
        _of_all(flows, of_each, wanted),
        of_each,
        samples,
        np.bitwise_or.reduce(masks),
        masks,
        {Metric.LOSS: (Caution.UNDER_WAY, under_way)},
    )


def _of_each(scenario: Scenario, counts: Counts, wanted: Floats) -> dict[Metric, Floats]:
    """Value of every metric of every flow, shape (flows,)."""
    flows, transfer = counts.flows, _transfers(counts.flows)
    names = ("offered", "messages", "frames", "octets", "data_octets")
    found = {
        **flow_rates(
            {name: _floats(getattr(flows, name)) for name in names}
            | {"moved_octets": _floats(transfer.octets)},
            np.array([counts.window_ps / PS_PER_S]),
            is_transfer=np.array([flow.transfer is not None for flow in scenario.flows]),
        ),
        # Between two hosts of a forest there is one path, and every stage of it keeps the order.
        Metric.REORDERED: np.zeros(len(scenario.flows)),
        Metric.DUPLICATES: np.zeros(len(scenario.flows)),
        Metric.TIMED_OUT: _floats(flows.timed_out),
        Metric.MESSAGES: _floats(flows.messages),
        Metric.EXCHANGES: _floats(flows.completed),
        Metric.DROPPED: _floats(flows.dropped),
        **_of_transfers(scenario, transfer),
    }
    for metric, cause in ENDED.items():
        found[metric] = _floats(flows.balance.lost[:, LOSSES.index(cause)])
    lost = sum((found[metric] for metric in LOST), found[Metric.DROPPED])
    found[Metric.LOSS] = flow_loss(wanted, _floats(flows.arrived), is_lossless=lost == 0)
    for metric, pick in TIMES.items():
        found |= times_of_each(metric, pick(flows))
    return found


def times_of_each(metric: Metric, delays: Delays) -> dict[Metric, Floats]:
    """Return the mean of some times, their quantiles and the largest, of each flow, in s."""
    ranked = np.array(
        [quantiles(buckets)[:-1] for buckets in of_entity(delays.buckets, len(delays.count))]
    )
    *ranks, largest = percentiles(metric)
    max_s = np.where(delays.count > 0, delays.max_ps / PS_PER_S, np.nan)
    return {
        metric: delays.sum_ps / delays.count / PS_PER_S,
        # Within the last bucket no quantile is above the largest time.
        **{of: np.minimum(ranked[:, at], max_s) for at, of in enumerate(ranks)},
        largest: max_s,
    }


def times_of_all(metric: Metric, delays: Delays) -> dict[Metric, float]:
    """Return the mean of some times, their quantiles and the largest, of all flows, in s."""
    mean_s = weighted_mean(_floats(delays.count), delays.sum_ps / delays.count / PS_PER_S)
    *ranks, largest = percentiles(metric)
    ranked = quantiles(pooled(delays.buckets))[:-1]
    has_some = delays.count > 0
    max_s = float(delays.max_ps[has_some].max()) / PS_PER_S if has_some.any() else float("nan")
    return {
        metric: float(mean_s),
        **{of: min(value, max_s) for of, value in zip(ranks, ranked, strict=True)},
        largest: max_s,
    }


def _transfers(flows: FlowCounts) -> TransferCounts:
    return flows.transfer or zeros(TransferCounts, len(flows.offered))


def _of_transfers(scenario: Scenario, transfer: TransferCounts) -> dict[Metric, Floats]:
    """Value of every metric that only transfers have, of every flow.

    NaN, or a count of 0, where a flow is none.
    """
    jobs = [None if flow.transfer is None else flow.transfer.job for flow in scenario.flows]
    octets = np.array([_octets_of(job) for job in jobs], np.float64)
    is_response = np.array(
        [job is not None and job.file is not None and job.file.direction == "read" for job in jobs]
    )
    delay = transfer.ends.acknowledgement_delay
    delay_s = delay.sum_ps / delay.count / PS_PER_S
    return {
        Metric.TRANSFER_RATE: 8 * octets / (transfer.whole_ps / PS_PER_S),
        Metric.ACKNOWLEDGEMENT_DELAY: np.where(is_response, delay_s[:, 1], delay_s[:, 0]),
        Metric.RETRANSMITTED: _floats(transfer.ends.retransmitted).sum(axis=1),
        Metric.TIMEOUTS: _floats(transfer.ends.timeouts).sum(axis=1),
    }


def _octets_of(job: Job | None) -> float:
    """Octets that a transfer moves; NaN if it goes on until the trial ends, or there is none."""
    moves = None if job is None else job.file or job.stream
    return float("nan") if moves is None or moves.octets is None else moves.octets


def _of_all(
    flows: FlowCounts, of_each: Mapping[Metric, Floats], wanted: Floats
) -> dict[Metric, float]:
    """Value of every metric of all flows together."""
    found = {metric: float(of_each[metric].sum()) for metric in ADDED}
    found[Metric.LOSS] = float(weighted_mean(wanted, of_each[Metric.LOSS]))
    # Several transfers do not begin and end together.
    rates = of_each[Metric.TRANSFER_RATE]
    found[Metric.TRANSFER_RATE] = float(rates[0]) if len(rates) == 1 else float("nan")
    # Of both directions.
    acknowledged = _transfers(flows).ends.acknowledgement_delay.count
    found[Metric.ACKNOWLEDGEMENT_DELAY] = float(
        weighted_mean(_floats(acknowledged).sum(axis=1), of_each[Metric.ACKNOWLEDGEMENT_DELAY])
    )
    for metric, pick in TIMES.items():
        found |= times_of_all(metric, pick(flows))
    return found


def _floats(values: object) -> Floats:
    return np.asarray(values, np.float64)


def of_flow_cautions(scenario: Scenario) -> Masks:
    """Cautions that hold for all values of a flow, by its parameters; shape (flows,)."""
    found = np.zeros(len(scenario.flows), np.uint64)
    phases = scenario.phases
    before_ps = phases.measure_from_ps - phases.begin_ps
    window_ps = phases.measure_to_ps - phases.measure_from_ps
    loads = loads_of(scenario)
    for number, (flow, overloads, settling_ps) in enumerate(
        zip(scenario.flows, loads.overloads, loads.settling_ps, strict=True)
    ):
        is_filling = any(each.fill_ps > before_ps + FILLING_SHARE * window_ps for each in overloads)
        words = [] if _is_legal(flow) else [Caution.ILLEGAL_FRAME_LENGTH]
        if any(overload.is_endless for overload in overloads):
            words.append(Caution.UNBOUNDED_QUEUE)
        elif is_filling or settling_ps > before_ps + SETTLING_SHARE * window_ps:
            words.append(Caution.GROWING_QUEUE)
        found[number] = caution_mask(words)
    return found


def growing(flows: FlowCounts, copies: Floats) -> npt.NDArray[np.bool_]:
    """Return whether the backlog of each flow grew over the batches of the window.

    In a batch the backlog grows by what was offered and neither lost nor received; losses are taken
    as even. It grew over the window if the mean over batches is above 0, by Student's t with the
    probability `GROWTH_ERROR` over all flows, and if it grew by `LEAST_GROWTH` messages or more: of
    the flow alone, or of all flows together and the flow is one of those that grew. A backlog in
    balance may be long and vary slowly, but its differences have no mean.

    `copies`: receivers of each flow.
    """
    offered = _floats(flows.batches.offered) * copies
    wanted = offered.sum(axis=0)
    lost = _floats(flows.balance.lost)[:, [LOSSES.index(ENDED[metric]) for metric in LOST]]
    lost = np.minimum(lost.sum(axis=1) + flows.dropped * copies, wanted - flows.arrived)
    kept = 1 - lost / np.where(wanted > 0, wanted, 1.0)
    steps = offered * kept - flows.batches.messages
    error = GROWTH_ERROR / (len(copies) + 1)
    is_one = steps.sum(axis=0) >= LEAST_GROWTH
    together = steps.sum(axis=1, keepdims=True)
    found: npt.NDArray[np.bool_] = is_one & (_has_mean(steps, error) | _has_mean(together, error))
    return found


def _has_mean(steps: Floats, error: float) -> npt.NDArray[np.bool_]:
    """Return of which columns the mean is above 0, by Student's t with a one-sided error."""
    count = len(steps)
    if count < LEAST_BATCHES:
        return np.zeros(steps.shape[1], np.bool_)
    limit = stdtrit(count - 1, 1 - error) * steps.std(axis=0, ddof=1) / np.sqrt(count)
    return np.asarray(steps.mean(axis=0) > limit)


def _is_legal(flow: Flow) -> bool:
    """Whether all frames of a flow have a length that the standard allows."""
    if flow.transfer is not None:
        return flow.transfer.tcp.mtu_octets + AROUND_PACKET <= LONGEST
    lengths = [flow.frames, *([flow.response.frames] if flow.response is not None else [])]
    return all(
        SHORTEST <= octets <= LONGEST
        for of in lengths
        for bits in lengths_of(of)
        for octets in message_octets(flow, bits)
    )
