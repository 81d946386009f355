"""The simulation engine for networks: one trial through the compiled core, its result turned into
observations of flows and ports.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ethermeter.engines import clocks, talk
from ethermeter.engines.offered import overloaded
from ethermeter.engines.quantiles import quantiles
from ethermeter.engines.simulation import FEW_FRAMES, PS_PER_S, timed
from ethermeter.framing import frame_octets, lengths_of
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles, without_samples
from ethermeter.metrics.formulas import flow_loss, flow_rates, weighted_mean
from ethermeter.scenario import (
    Flow,
    Job,
    Scenario,
)
from ethermeter.store.rows import (
    BATCH_COUNTS,
    BATCH_SUMS,
    FLOW_HISTOGRAMS,
    FLOW_METRICS,
    FLOW_VOICE_METRICS,
    HISTOGRAMS,
    PORT_COLUMNS,
    VOICE_HISTOGRAMS,
    Floats,
    Integers,
    TrialRows,
    clocks_of,
    has_voice,
)
from ethermeter.trial import core_trial_of

if TYPE_CHECKING:
    from ethermeter._core import Watch

TIMES = {
    Metric.ONE_WAY_DELAY: ("one_way", "messages"),
    Metric.ROUND_TRIP: ("round_trip", "completed"),
    Metric.INTER_ARRIVAL: ("between_arrivals", "messages"),
}
"""Name in the core of every time that has a histogram, and the count that it is estimated from."""
ENDED = {
    Metric.LOST_QUEUE: "queue",
    Metric.LOST_BUFFER: "buffer",
    Metric.LOST_ATTEMPTS: "attempts",
    Metric.FILTERED: "filtered",
    Metric.IGNORED: "ignored",
}
"""Where copies of frames end before their destination, by the core's word for it."""
LOSSES = (Metric.LOST_QUEUE, Metric.LOST_BUFFER, Metric.LOST_ATTEMPTS)
"""Of these, those that cost somebody something."""
COUNTS = (
    *(Metric.REORDERED, Metric.DUPLICATES, Metric.TIMED_OUT, Metric.MESSAGES, Metric.DROPPED),
    *(Metric.RETRANSMITTED, Metric.TIMEOUTS, Metric.EXCHANGES),
    *ENDED,
)
ADDED = (
    Metric.OFFERED_RATE,
    Metric.MESSAGE_RATE,
    Metric.FRAME_RATE,
    Metric.GOODPUT,
    Metric.DATA_RATE,
    *COUNTS,
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
NOT_ESTIMATED_FROM_MESSAGES = {Metric.OFFERED_RATE, Metric.TRANSFER_RATE, *COUNTS}


def run_trial(line: str, scenario: Scenario, watch: "Watch | None" = None) -> TrialRows:
    """Simulate one trial of a network and return its rows.

    Parameters
    ----------
    line
        The trial as JSON text, a line of `plan.jsonl`.
    scenario
        The trial's scenario, from the same text.
    watch
        For another thread: progress of the simulation, and how to stop it.

    Returns
    -------
    :
        The rows, which depend on `line` alone, except for `core_s`.

    Raises
    ------
    ValueError
        If the core refuses the trial; the message has the key. Or if it was stopped.
    RuntimeError
        If the core breaks off because of a fault of its own.

    """
    from ethermeter import _core

    result, core_s = timed(_core.simulate_trial, core_trial_of(line), watch)
    return observe(scenario, result, core_s=core_s)


def observe(
    scenario: Scenario,
    result: Mapping[str, Any],
    *,
    core_s: float,
    has_clocks: bool = True,
) -> TrialRows:
    """Turn what the core counted into every metric, of each flow and of all.

    Parameters
    ----------
    scenario
        The trial's scenario as in `plan.jsonl`.
    result
        What `ethermeter._core.simulate_trial` gave back for it.
    core_s
        Time the simulator took, in s.
    has_clocks
        Whether the scenario's clocks were read; not by agents, whose hosts have their own.

    Returns
    -------
    :
        The rows in the order of `ethermeter.store.rows.flow_layout`. A value without a sample is
        NaN and has the caution `no-samples`; one that is estimated from fewer than 30 messages has
        `few-samples`.

    """
    count = {
        name.removeprefix("flow_"): np.asarray(values).astype(np.float64)
        for name, values in result.items()
        if name.startswith("flow_") and not name.endswith("_s")
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        each = _of_each(scenario, result, count)
        whole = _of_all(scenario, result, count, each)
    values = np.concatenate(
        [[whole[metric] for metric in FLOW_METRICS], *(each[metric] for metric in FLOW_METRICS)]
    )
    cautions = _cautions(scenario, count, values)
    if voice := has_voice(scenario):
        spoken, spoken_cautions = voice_rows(
            scenario, talk.of_core(result, len(result["losses"])), of_flow_cautions(scenario)
        )
        values, cautions = (
            np.concatenate([values, spoken]),
            np.concatenate([cautions, spoken_cautions]),
        )
    flow, histogram, low_ps, high_ps, buckets = _histogram_rows(result["histograms"], voice=voice)
    read = clocks_of(scenario) if has_clocks else 0
    if read:
        more = clocks.observe(
            result.get("clocks", {}),
            len(scenario.flows),
            read=read,
            of_flow=of_flow_cautions(scenario),
        )
        values, cautions = (
            np.concatenate([values, more.values]),
            np.concatenate([cautions, more.cautions]),
        )
        flow, histogram = (
            np.concatenate([flow, more.flow]),
            np.concatenate([histogram, more.histogram]),
        )
        low_ps, high_ps, buckets = (
            np.concatenate(pair)
            for pair in ((low_ps, more.low_ps), (high_ps, more.high_ps), (buckets, more.count))
        )
    ports = np.stack(
        [np.asarray(result[f"port_{name}"]).astype(np.int64) for name in PORT_COLUMNS], axis=-1
    )
    none, nothing = np.empty(0, np.int64), np.empty(0)
    return TrialRows(
        stations=0,
        values=values,
        cautions=cautions,
        batch_frames=none,
        batch_charged_ps=none,
        batch_delay_sum_s=nothing,
        batch_delay_square_sum_s2=nothing,
        histogram=histogram,
        low_ps=low_ps,
        high_ps=high_ps,
        count=buckets,
        events=int(result["events"]),
        core_s=core_s,
        flows=len(scenario.flows),
        histogram_flow=flow,
        ports=ports.ravel(),
        clocks=read,
        flow_batch_counts=_by_batch(result, BATCH_COUNTS).astype(np.int64).ravel(),
        flow_batch_sums_s=_by_batch(result, BATCH_SUMS).astype(np.float64).ravel(),
    )


def _by_batch(result: Mapping[str, Any], columns: Sequence[str]) -> np.ndarray[Any, Any]:
    """Stack what the core counted in every batch, shape (batches, flows, columns); empty if it did
    not. A measured trial has its own.
    """
    names = [f"batch_{name}" for name in columns]
    found = [np.asarray(result[name]) for name in names if name in result]
    return np.stack(found, axis=-1) if found else np.empty((0, 0, len(columns)))


def _of_each(
    scenario: Scenario, result: Mapping[str, Any], count: Mapping[str, Floats]
) -> dict[Metric, Floats]:
    """Value of every metric of every flow, shape (flows,)."""
    flows = len(scenario.flows)
    window_s = np.array([result["window_ps"] / PS_PER_S])
    moved = {"moved_octets": np.asarray(result["transfer_octets"], np.float64)}
    is_transfer = np.array([flow.transfer is not None for flow in scenario.flows])
    causes = {word: at for at, word in enumerate(result["losses"])}
    found = {
        **flow_rates({**count, **moved}, window_s, is_transfer=is_transfer),
        # Between two hosts of a forest there is one way, and every stage of it keeps the order.
        Metric.REORDERED: np.zeros(flows),
        Metric.DUPLICATES: np.zeros(flows),
        Metric.TIMED_OUT: count["timed_out"],
        Metric.MESSAGES: count["messages"],
        Metric.EXCHANGES: count["completed"],
        Metric.DROPPED: count["dropped"],
        **{metric: count["lost"][:, causes[word]] for metric, word in ENDED.items()},
    }
    found |= _of_transfers(scenario, result)
    lost = sum((found[metric] for metric in LOSSES), found[Metric.DROPPED])
    wanted = count["offered"] * _receivers(scenario)
    found[Metric.LOSS] = flow_loss(wanted, count["arrived"], is_lossless=lost == 0)
    for metric, (name, _) in TIMES.items():
        found[metric] = np.asarray(result[f"flow_{name}_s"], np.float64)
        flow, *columns = (np.asarray(column) for column in result["histograms"][name])
        ranked = np.array(
            [quantiles([column[flow == number] for column in columns]) for number in range(flows)]
        )
        found |= {of: ranked[:, at] for at, of in enumerate(percentiles(metric))}
    return found


def _of_transfers(scenario: Scenario, result: Mapping[str, Any]) -> dict[Metric, Floats]:
    """Value of every metric that only transfers have, of every flow; NaN, or a count of 0, where a
    flow is none.
    """
    jobs = [None if flow.transfer is None else flow.transfer.job for flow in scenario.flows]
    octets = np.array([np.nan if job is None else _octets_of(job) for job in jobs], np.float64)
    is_answer = np.array(
        [job is not None and job.file is not None and job.file.direction == "read" for job in jobs]
    )
    return {
        Metric.TRANSFER_RATE: 8 * octets / np.asarray(result["transfer_whole_s"], np.float64),
        Metric.ACKNOWLEDGEMENT_DELAY: np.where(
            is_answer, result["flow_answer_acknowledgement_s"], result["flow_acknowledgement_s"]
        ),
        Metric.RETRANSMITTED: np.asarray(result["transfer_retransmitted"], np.float64).sum(axis=1),
        Metric.TIMEOUTS: np.asarray(result["transfer_timeouts"], np.float64).sum(axis=1),
    }


def _octets_of(job: Job) -> float:
    """Octets that a transfer moves; NaN if it goes on until the trial ends."""
    moves = job.file or job.stream
    return float("nan") if moves is None or moves.octets is None else moves.octets


def _receivers(scenario: Scenario) -> Floats:
    return np.array([len(flow.to) for flow in scenario.flows], np.float64)


def _of_all(
    scenario: Scenario,
    result: Mapping[str, Any],
    count: Mapping[str, Floats],
    each: Mapping[Metric, Floats],
) -> dict[Metric, float]:
    """Value of every metric of all flows together."""
    found = {metric: float(each[metric].sum()) for metric in ADDED}
    wanted = count["offered"] * _receivers(scenario)
    found[Metric.LOSS] = float(weighted_mean(wanted, each[Metric.LOSS]))
    # Several transfers do not begin and end together.
    found[Metric.TRANSFER_RATE] = (
        float(each[Metric.TRANSFER_RATE][0]) if len(scenario.flows) == 1 else float("nan")
    )
    found[Metric.ACKNOWLEDGEMENT_DELAY] = float(
        weighted_mean(_acknowledged(result), each[Metric.ACKNOWLEDGEMENT_DELAY])
    )
    for metric, (name, counted) in TIMES.items():
        flow, low_ps, high_ps, buckets = (
            np.asarray(column).astype(np.int64) for column in result["histograms"][name]
        )
        # Of times between arrivals there is one less than of arrivals, for each receiver that had
        # any.
        samples = count[counted]
        if counted == "messages":
            samples = np.bincount(flow, weights=buckets, minlength=len(each[metric])).astype(
                np.float64
            )
        found[metric] = float(weighted_mean(samples, each[metric]))
        lows, place = np.unique(low_ps, return_inverse=True)
        # Buckets of all flows have the same edges, so that equal lows are equal buckets.
        highs, together = (
            np.zeros(len(lows), np.int64),
            np.bincount(place, weights=buckets, minlength=len(lows)),
        )
        highs[place] = high_ps
        found |= dict(zip(percentiles(metric), quantiles((lows, highs, together)), strict=True))
    return found


def _acknowledged(result: Mapping[str, Any]) -> Floats:
    """Return how many delays of acknowledgements each flow has, both ways."""
    flows = len(result["transfer_whole_s"])
    columns = [result["histograms"][name] for name in ("acknowledgement", "answer_acknowledgement")]
    of_each: Floats = np.array(
        [
            np.bincount(np.asarray(of[0]).astype(np.int64), weights=of[3], minlength=flows)
            for of in columns
        ],
        np.float64,
    ).sum(axis=0)
    return of_each


def _histogram_rows(
    histograms: Mapping[str, Sequence[Any]], *, voice: bool
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Integers, Integers, Integers]:
    """Buckets of all histograms one below the other: flow, index into `HISTOGRAMS`, low and high in
    ps, count.
    """
    kept = {name: histograms[TIMES[Metric(name)][0]] for name in FLOW_HISTOGRAMS}
    kept |= {name: histograms[name] for name in VOICE_HISTOGRAMS if voice}
    columns = list(kept.values())
    index = np.repeat(
        np.array([HISTOGRAMS.index(name) for name in kept], np.uint8),
        [len(column[3]) for column in columns],
    )
    flow, low_ps, high_ps, count = (
        np.concatenate([np.asarray(column[part]).astype(np.int64) for column in columns])
        for part in range(4)
    )
    return flow.astype(np.int32), index, low_ps, high_ps, count


def voice_rows(scenario: Scenario, heard: talk.Heard, of_flow: Masks) -> tuple[Floats, Masks]:
    """Values and cautions of the rows that voice adds, in the order of
    `ethermeter.store.rows.flow_layout`.

    Parameters
    ----------
    scenario
        The trial's scenario, of which some flow has a coder.
    heard
        What was counted of it.
    of_flow
        Cautions of each flow that hold for all of its values; shape (flows,).

    """
    each, whole = talk.observed(scenario, heard)
    values = np.concatenate(
        [
            [whole[metric] for metric in FLOW_VOICE_METRICS],
            *(each[metric] for metric in FLOW_VOICE_METRICS),
        ]
    )
    is_voice = np.array([talk.is_voice(flow) for flow in scenario.flows])
    packets = heard.packets
    few, none = caution_mask([Caution.FEW_SAMPLES]), np.uint64(0)
    estimated = np.array([metric not in talk.NOT_ESTIMATED for metric in FLOW_VOICE_METRICS])
    of_all = np.bitwise_or.reduce(np.where(is_voice, of_flow, none))
    mask = np.concatenate(
        [
            of_all | np.where(estimated & (packets.sum() < FEW_FRAMES), few, none),
            (of_flow | np.where(estimated[:, None] & (packets < FEW_FRAMES), few, none)).ravel(),
        ]
    )
    return values, without_samples(mask, values)


def of_flow_cautions(scenario: Scenario) -> Masks:
    """Cautions that hold for all values of a flow, by its parameters; shape (flows,)."""
    over = overloaded(scenario)
    legal = np.array([_is_legal(flow) for flow in scenario.flows])
    none = np.uint64(0)
    masks: Masks = np.where(over, caution_mask([Caution.UNBOUNDED_QUEUE]), none)
    return masks | np.where(legal, none, caution_mask([Caution.ILLEGAL_FRAME_LENGTH]))


def _cautions(scenario: Scenario, count: Mapping[str, Floats], values: Floats) -> Masks:
    """Caution mask of every row but those of voice."""
    flows = len(scenario.flows)
    of_flow = of_flow_cautions(scenario)
    few, under_way, none = (
        caution_mask([Caution.FEW_SAMPLES]),
        caution_mask([Caution.UNDER_WAY]),
        np.uint64(0),
    )
    whole = np.full(len(FLOW_METRICS), np.bitwise_or.reduce(of_flow), np.uint64)
    each = np.tile(of_flow, (len(FLOW_METRICS), 1))
    for at, metric in enumerate(FLOW_METRICS):
        if metric not in NOT_ESTIMATED_FROM_MESSAGES:
            behind = count[_counted(metric)]
            whole[at] |= few if behind.sum() < FEW_FRAMES else none
            each[at] |= np.where(behind < FEW_FRAMES, few, none)
        if metric == Metric.LOSS:
            # What was lost is known; of what was under way when all was over it is not.
            missing = count["offered"] * _receivers(scenario) - count["arrived"]
            waits = (count["in_flight"] > UNDER_WAY_SHARE * missing) & (
                values[len(FLOW_METRICS) + at * flows :][:flows] > 0
            )
            each[at] |= np.where(waits, under_way, none)
            whole[at] |= under_way if waits.any() else none
    return without_samples(np.concatenate([whole, each.ravel()]), values)


def _is_legal(flow: Flow) -> bool:
    """Whether all frames of a flow have a length that the standard allows."""
    if flow.transfer is not None:
        return flow.transfer.tcp.mtu_octets + AROUND_PACKET <= LONGEST
    lengths = [flow.frames, *([flow.response.frames] if flow.response is not None else [])]
    every = [bits for of in lengths for bits in lengths_of(of)]
    return all(
        SHORTEST <= octets <= LONGEST
        for bits in every
        for octets in frame_octets(flow.framing, bits // 8)
    )


def _counted(metric: Metric) -> str:
    """Name of the count that a metric is estimated from."""
    if metric == Metric.LOSS:
        return "offered"
    return next(
        (counted for of, (_, counted) in TIMES.items() if metric in (of, *percentiles(of))),
        "messages",
    )
