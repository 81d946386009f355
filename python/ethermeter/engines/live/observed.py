"""Observed: what agents counted in a test, as observations of flows.

Rates are of messages that came for the first time within the measured window. What only the whole
transmission is counted of stands for the window: `offered_rate`, losses, and all of exchanges.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ethermeter.engines import network
from ethermeter.engines.live import by_batch, lateness
from ethermeter.engines.live.description import (
    around_octets,
    flow_names,
    is_exchange,
    is_file,
    is_saturated,
    is_transfer,
)
from ethermeter.engines.live.spoken import Buckets, Spoken, as_core, mean_s, spoken
from ethermeter.engines.live.taken import is_taken
from ethermeter.engines.network import ADDED, TIMES
from ethermeter.engines.talk import is_voice
from ethermeter.framing import AROUND_DATA_OCTETS, frame_octets
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles
from ethermeter.store.rows import (
    FLOW_METRICS,
    FLOW_VOICE_METRICS,
    PORT_COLUMNS,
    VOICE_HISTOGRAMS,
    TrialRows,
    has_voice,
)
from ethermeter.trial import Trial

PS_PER_S = 1e12
IPV6 = 6
AT_HOSTS = ("sender-interface", "receiver-interface", "socket")
"""Places of losses at which a host, not the network, was too slow.

The sender's queue is none: it waits for the wire.
"""
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


@dataclass(slots=True)
class Counted:
    """What was counted of a flow.

    Parameters
    ----------
    sent, arrived, waiting
        Messages over the whole transmission; those that came to several receivers count for each;
        and those that had come to the source and waited for the answers to others when it ended.
    messages, octets, data_octets, frames
        That came in the window; NaN where lengths of frames cannot be told.
    offered_s, counted_s
        Time over which `sent` and `messages` were counted, in s.
    reordered, duplicates, timed_out, exchanges, dropped
        Messages; exchanges are those to which all have answered, or blocks of a file.
    one_way, round_trip, between
        Histograms: low and high in ps, count.
    between_s
        Mean time between arrivals, in s; NaN without any.
    transfer_octets, transfer_whole_s, sent_again
        Of a transfer: data that came in the window, the time until all of it had come in s, and
        segments that TCP sent again in all.
    means_s
        Means of `one_way` and `round_trip` in s that are known exactly; of others that of the
        buckets is taken.
    parts
        The same by batch, as far as it is counted so; None where nothing is.
    voice
        Of a coder: what became of its samples; None of other flows.
    few
        Whether there were fewer exchanges than were wanted.
    late_spacing, late_counts
        Whether messages left so late that times and losses, or rates and counts, are of other
        traffic than was asked for.
    cautions
        Words of the flow.

    """

    offered_s: float
    counted_s: float
    sent: float = np.nan
    arrived: float = np.nan
    waiting: float = 0.0
    messages: float = np.nan
    octets: float = np.nan
    data_octets: float = np.nan
    frames: float = np.nan
    reordered: float = np.nan
    duplicates: float = np.nan
    timed_out: float = np.nan
    exchanges: float = np.nan
    dropped: float = np.nan
    one_way: Buckets = field(default_factory=list)
    round_trip: Buckets = field(default_factory=list)
    between: Buckets = field(default_factory=list)
    between_s: float = np.nan
    transfer_octets: float = 0.0
    transfer_whole_s: float = np.nan
    sent_again: float = 0.0
    means_s: dict[str, float] = field(default_factory=dict)
    parts: by_batch.Parts | None = None
    voice: Spoken | None = None
    few: bool = False
    late_spacing: bool = False
    late_counts: bool = False
    cautions: set[Caution] = field(default_factory=set)


def observe(
    trial: Trial, result: Mapping[str, Any], *, took_s: float, has_wires: bool = True
) -> TrialRows:
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
        _counted(trial, number, result["flows"].get(name) or {}, result)
        for number, name in enumerate(flow_names(scenario))
    ]
    for flow, counted in zip(scenario["flows"], flows, strict=True):
        if (
            not has_wires
            and (counted.sent > 0 or counted.transfer_octets > 0)
            and is_saturated(flow)
        ):
            counted.cautions.add(Caution.HOST_LIMITED)
    if is_taken(result):
        for counted in flows:
            counted.cautions.add(Caution.CPU_STEAL)
    window_s = _window_s(scenario)
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
            of_each[metric][number] *= window_s / flow.counted_s
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
        if is_transfer(scenario["flows"][number]):
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
    counts, sums_s = by_batch.rows([flow.parts for flow in flows], scenario["batches"])
    return replace(
        rows, values=values, cautions=cautions, flow_batch_counts=counts, flow_batch_sums_s=sums_s
    )


def failed(trial: Trial, *, took_s: float) -> TrialRows:
    """Rows of a trial in which an agent was lost: nothing is known, and nothing is made of what the
    others counted.

    Parameters
    ----------
    trial
        The trial.
    took_s
        Time it took, in s.

    """
    return observe(trial, {"flows": {}, "agents": {}}, took_s=took_s)


def _window_s(scenario: Mapping[str, Any]) -> float:
    return (
        float(scenario["phases"]["measure_to_ps"] - scenario["phases"]["measure_from_ps"])
        / PS_PER_S
    )


def _counted(
    trial: Trial, number: int, said: Mapping[str, Any], result: Mapping[str, Any]
) -> Counted:
    scenario = trial.scenario
    flow, phases = scenario["flows"][number], scenario["phases"]
    transmit_s = (phases["stop_ps"] - phases["begin_ps"]) / PS_PER_S
    sending = _role(said.get("sending"))
    received = list(_receivers(flow, said))
    if not sending or not all(_role(one.get("receiving")) for one in received):
        return Counted(transmit_s, _window_s(scenario), voice=Spoken() if is_voice(flow) else None)
    cautions = {Caution(word) for word in said.get("cautions", ()) if word in set(Caution)}
    if is_transfer(flow):
        (receiver,) = received
        count = _file if is_file(flow) else _transfer
        counted = count(
            flow, sending, _role(receiver["receiving"]), transmit_s, _window_s(scenario)
        )
    elif is_exchange(flow):
        counted = _exchange(flow, sending, received, transmit_s)
        of_each = trial.settings().exchanges
        wanted = None if of_each is None else of_each[number]
        counted.few = wanted is not None and counted.exchanges < wanted
    else:
        counted = _stream(
            sending, received, transmit_s, _window_s(scenario), is_voice=is_voice(flow)
        )
        if is_voice(flow):
            (receiver,) = received
            counted.voice = spoken(sending, _role(receiver["receiving"]))
            # As of simulated packets: those whose oldest sample was made in the window, from the
            # making of that.
            counted.sent, counted.arrived = counted.voice.packets_sent, counted.voice.packets_came
            counted.offered_s = counted.counted_s
            counted.one_way = counted.voice.delays["voice_delay"]
    if not is_transfer(flow):
        pacing = sending.get("pacing") or {}
        counted.late_spacing = lateness.changes_spacing(pacing, flow)
        counted.late_counts = lateness.changes_counts(pacing, window_s=_window_s(scenario))
    if counted.dropped or any(_is_lost_at_a_host(one.get("losses") or {}) for one in received):
        cautions.add(Caution.HOST_LIMITED)
    counted.cautions = cautions
    if is_transfer(flow):
        return counted
    port = trial.settings().ports[number]
    address = str((result["agents"].get(flow["from"]) or {}).get("address", "0.0.0.0"))
    _measure(counted, flow, port, address)
    return counted


def _is_lost_at_a_host(losses: Mapping[str, Any]) -> bool:
    # Drops without missing messages were somebody else's, or were tried again.
    return losses.get("missing", 0) > 0 and any(
        place in AT_HOSTS for place, _ in losses.get("seen", ())
    )


def _receivers(flow: Mapping[str, Any], said: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if flow.get("address", "unicast") == "unicast":
        yield said
    else:
        for name in flow["to"]:
            yield (said.get("receivers") or {}).get(name) or {}


def _role(said: Any) -> Mapping[str, Any]:
    """Return what a role counted; empty if it did not come to its end."""
    return (said or {}).get("counted") or {}


def _stream(
    sending: Mapping[str, Any],
    received: Iterable[Mapping[str, Any]],
    transmit_s: float,
    window_s: float,
    *,
    is_voice: bool,
) -> Counted:
    streams = [_role(one["receiving"])["stream"] for one in received]
    measured = [stream["measured"] for stream in streams]
    counted = Counted(
        transmit_s,
        window_s,
        sent=float(sending["frames"]),
        arrived=float(sum(stream["received"] for stream in streams)),
        messages=float(sum(one["frames"] for one in measured)),
        data_octets=float(sum(one["payload_octets"] for one in measured)),
        reordered=float(sum(stream["reordered"] for stream in streams)),
        duplicates=float(sum(stream["duplicate"] for stream in streams)),
        timed_out=0.0,
        exchanges=0.0,
        dropped=float(sending["untaken"]),
        one_way=_merged(one["delay"] for one in measured),
        between=_merged(one["spacing"] for one in measured),
        parts=by_batch.of_stream(measured, is_voice=is_voice, has_dropped=sending["untaken"] > 0),
    )
    if counted.parts is not None and not is_voice:
        sums_ns, counts = (
            [part for one in measured for part in one["batches"][name]]
            for name in ("delay_sum_ns", "delays")
        )
        counted.means_s["one_way"] = by_batch.mean_s(sums_ns, counts)
    gaps = [
        (one["last_ns"] - one["first_ns"], one["frames"] - 1)
        for one in measured
        if one["frames"] > 1
    ]
    if gaps:
        counted.between_s = sum(ns for ns, _ in gaps) / sum(count for _, count in gaps) / 1e9
    return counted


def _exchange(
    flow: Mapping[str, Any],
    sending: Mapping[str, Any],
    received: Iterable[Mapping[str, Any]],
    transmit_s: float,
) -> Counted:
    """Of requests; both ends count over the whole transmission."""
    answering = [_role(one["receiving"]) for one in received]
    came = float(sum(one["requests"] for one in answering))
    is_group = flow.get("address", "unicast") != "unicast"
    answered = float(sending["complete"] if is_group else sending["answered"])
    return Counted(
        transmit_s,
        transmit_s,
        sent=float(sending["requests"]),
        arrived=came,
        waiting=float(sending["unasked"]),
        messages=came,
        data_octets=float(sum(one["request_octets"] for one in answering)),
        timed_out=float(sending["requests"]) - answered,
        exchanges=answered,
        dropped=0.0,
        round_trip=_merged([sending["since_arrival"]]),
        means_s=_mean_round_trip(sending, "since_arrival_sum_ns", "complete"),
        parts=by_batch.of_exchange(sending),
    )


def _mean_round_trip(said: Mapping[str, Any], sums: str, counts: str) -> dict[str, float]:
    parts = said.get("batches")
    return {"round_trip": by_batch.mean_s(parts[sums], parts[counts])} if parts else {}


def _transfer(
    flow: Mapping[str, Any],
    given: Mapping[str, Any],
    taken: Mapping[str, Any],
    transmit_s: float,
    window_s: float,
) -> Counted:
    """Of octets over TCP: what was read in the window, at the rate from its first read to its last."""
    rate_bps = taken["measured"]["data_rate_bps"]
    octets = flow["transfer"]["job"]["stream"].get("octets")
    is_whole = octets is not None and taken["octets"] == octets
    again = given["tcp"]["columns"]["sent_again"]
    return Counted(
        transmit_s,
        window_s,
        transfer_octets=0.0 if rate_bps is None else rate_bps / 8 * window_s,
        transfer_whole_s=taken["last_ns"] / 1e9 if is_whole else np.nan,
        exchanges=0.0,
        sent_again=float(again[-1]) if again else 0.0,
        parts=by_batch.of_octets(taken["measured"]),
    )


def _file(
    flow: Mapping[str, Any],
    client: Mapping[str, Any],
    server: Mapping[str, Any],
    transmit_s: float,
    window_s: float,
) -> Counted:
    """Of a file: blocks whose answers were read in the window."""
    again = [end["tcp"]["columns"]["sent_again"] for end in (client, server)]
    return Counted(
        transmit_s,
        window_s,
        exchanges=float(client["measured"]["blocks"]),
        round_trip=_merged([client["measured"]["round_trip"]]),
        means_s=_mean_round_trip(client["measured"], "round_trip_sum_ns", "blocks"),
        parts=by_batch.of_file(client["measured"]),
        transfer_octets=float(client["measured"]["octets"]),
        transfer_whole_s=np.nan if client["whole_ns"] is None else client["whole_ns"] / 1e9,
        sent_again=float(sum(of_end[-1] for of_end in again if of_end)),
    )


def _measure(counted: Counted, flow: Mapping[str, Any], port: str, address: str) -> None:
    """Octets and frames of the messages that came; NaN where messages are of several numbers of
    frames.
    """
    framing, lengths = flow.get("framing", "frame"), flow["frames"]
    match lengths["kind"]:
        case "fixed":
            sizes = [lengths["bits"]]
        case "samples":
            sizes = [lengths["min_bits"], lengths["max_bits"]]  # each in one frame
        case _:
            sizes = lengths["bits"]
    is_ipv6 = port == "udp" and ipaddress.ip_address(address).version == IPV6
    pieces = [frame_octets(framing, bits // 8, is_ipv6=is_ipv6) for bits in sizes]

    def measured(messages: Any, data_octets: Any) -> tuple[Any, Any, Any]:
        if len(sizes) == 1:
            data = sizes[0] // 8 if framing != "frame" else pieces[0][0] - AROUND_DATA_OCTETS
            return messages * len(pieces[0]), messages * sum(pieces[0]), messages * data
        if any(len(piece) > 1 for piece in pieces):
            unknown = messages * np.nan
            return unknown, unknown, data_octets if framing != "frame" else unknown
        # A message is a frame: the port's data, which was counted, and what is around it.
        octets = data_octets + messages * around_octets(port, address)
        inside = AROUND_DATA_OCTETS if framing == "frame" else around_octets("udp", address)
        return messages, octets, octets - messages * inside

    counted.frames, counted.octets, counted.data_octets = measured(
        counted.messages, counted.data_octets
    )
    if counted.parts is not None and "messages" in counted.parts:
        of_parts = measured(counted.parts["messages"], counted.parts["data_octets"])
        counted.parts = {
            **counted.parts,
            **dict(zip(("frames", "octets", "data_octets"), of_parts, strict=True)),
        }


def _merged(histograms: Iterable[Mapping[str, Any]]) -> Buckets:
    together: dict[tuple[int, int], int] = {}
    for histogram in histograms:
        for low_ps, high_ps, count in histogram["buckets"]:
            together[low_ps, high_ps] = together.get((low_ps, high_ps), 0) + count
    return [(low_ps, high_ps, count) for (low_ps, high_ps), count in sorted(together.items())]


def _as_core(scenario: Mapping[str, Any], flows: list[Counted]) -> dict[str, Any]:
    """Return what was counted in the form in which the simulator gives it, so that both become rows
    in the same way.
    """

    def column(pick: Any) -> np.ndarray[Any, Any]:
        return np.array([pick(flow) for flow in flows], np.float64)

    lost = np.zeros((len(flows), len(LOSSES)))
    # Whatever is missing: then the loss is what did not come of all that was sent.
    lost[:, 0] = column(lambda flow: flow.sent) * [
        len(flow["to"]) for flow in scenario["flows"]
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
    phases = scenario["phases"]
    return {
        "flow_offered": column(lambda flow: flow.sent),
        "flow_arrived": column(lambda flow: flow.arrived),
        "flow_messages": column(lambda flow: flow.messages),
        "flow_frames": column(lambda flow: flow.frames),
        "flow_octets": column(lambda flow: flow.octets),
        "flow_data_octets": column(lambda flow: flow.data_octets),
        "flow_timed_out": column(lambda flow: flow.timed_out),
        "flow_completed": column(lambda flow: np.nan_to_num(flow.exchanges)),
        "flow_refused": np.zeros(len(flows)),
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
        "window_ps": phases["measure_to_ps"] - phases["measure_from_ps"],
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


def _columns(every: list[Buckets]) -> tuple[np.ndarray[Any, Any], ...]:
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
