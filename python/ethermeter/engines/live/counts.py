"""Counts: the result of a test as the counts of an engine; NaN where agents do not count.

A stream is counted by its receivers in the measured window, an exchange at both ends over the
whole transmission. Batches are those of the same time; a request belongs to the batch in which it
was sent.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from msgspec import Struct

from ethermeter.counts import (
    LOSSES,
    NO_CLOCK_PAIRS,
    NO_NODES,
    Buckets,
    Counts,
    Delays,
    Floats,
    FlowBatch,
    FlowCounts,
    FlowVoice,
    HostSamples,
    Numbers,
    TransferCounts,
    joined,
    unknown,
    zeros,
)
from ethermeter.engines.live.description import around_octets, flow_names, tag_octets
from ethermeter.engines.live.offsets import without_offsets
from ethermeter.engines.live.ports import media_counts, port_counts
from ethermeter.entities import is_voice
from ethermeter.framing import AROUND_DATA_OCTETS, frame_octets, lengths_of
from ethermeter.live_reports import (
    BulkReceiverCounts,
    BulkSenderCounts,
    ClientCounts,
    Distribution,
    RequesterCounts,
    ResponderCounts,
    RoleCounts,
    RoleReport,
    SenderCounts,
    ServerCounts,
    SinkReport,
    StreamBatch,
    StreamCounts,
    StreamWindow,
    TcpColumnsSeries,
    VoiceSenderWindow,
    VoiceWindow,
)
from ethermeter.metrics.statistics import merged
from ethermeter.scenario import Flow, Scenario
from ethermeter.store.result import FlowResult, ReceiverResult, Result
from ethermeter.trial import Trial

IPV6 = 6
NS_PER_S, PS_PER_NS, PS_PER_S = 1e9, 1e3, 1e12
RECEIVERS: Mapping[type[RoleCounts], type[RoleCounts]] = {
    SenderCounts: SinkReport,
    RequesterCounts: ResponderCounts,
    BulkSenderCounts: BulkReceiverCounts,
    ClientCounts: ServerCounts,
}
"""Role of the receivers of a flow, by the role of its sender."""

Batches = Mapping[str, Floats]
"""Counts and sums by batch, by the names of `FlowBatch`, shape `(batches,)`."""


def counts_of(trial: Trial, result: Result) -> Counts:
    """Return the counts of a test."""
    scenario = trial.scenario
    flows = joined(
        [
            _flow(trial, number, result.flows.get(name, FlowResult()), result)
            for number, name in enumerate(flow_names(scenario))
        ]
    )
    flows = replace(flows, responder_round_trip=_responder_round_trips(scenario, result))
    if np.isnan(flows.batches.completed).all():
        flows = replace(flows, batches=zeros(FlowBatch, 0, len(scenario.flows)))
    media, stations = media_counts(scenario, result.media)
    return Counts(
        window_ps=scenario.phases.measure_to_ps - scenario.phases.measure_from_ps,
        events=int(np.nansum(flows.offered)),
        media=media,
        stations=stations,
        flows=flows,
        ports=port_counts(scenario, result.media),
        nodes=NO_NODES,
        clock_pairs=NO_CLOCK_PAIRS,
        cautions=(),
    )


def _responder_round_trips(scenario: Scenario, result: Result) -> Buckets:
    """Return the round trips of each responder, by its number in the scenario."""
    rows: list[tuple[int, int, int, int]] = []
    first = 0
    for name, flow in zip(flow_names(scenario), scenario.flows, strict=True):
        if flow.response is None or len(flow.to) == 1:
            continue
        sending, _ = roles_of(flow, result.flows.get(name, FlowResult()))
        stations = sending.by_station if isinstance(sending, RequesterCounts) else ()
        # Stations are in the order of the receivers, which are numbered in it.
        for number, station in enumerate(stations, first):
            rows += [(number, *bucket) for bucket in station.round_trip.buckets]
        first += len(flow.to)
    return Buckets(*np.array(rows, np.int64).reshape(-1, 4).T)


def receivers_of(flow: Flow, result: FlowResult) -> list[ReceiverResult | FlowResult]:
    """Return the results of a flow's receivers, empty ones for those that are missing."""
    if flow.address == "unicast":
        return [result]
    each = result.by_receiver()
    return [each.get(name) or ReceiverResult() for name in flow.to]


def roles_of(flow: Flow, result: FlowResult) -> tuple[RoleCounts | None, list[RoleCounts | None]]:
    """Return the counts of a flow's sender and receivers; None and [] unless all are known."""
    sending = _counted(result.sending)
    receiving = [_counted(one.receiving) for one in receivers_of(flow, result)]
    wanted = None if sending is None else RECEIVERS.get(type(sending))
    if wanted is None or not all(isinstance(one, wanted) for one in receiving):
        return None, []
    return sending, receiving


def _counted(role: RoleReport | None) -> RoleCounts | None:
    return None if role is None else role.counted


def streams_of(flow: Flow, result: FlowResult) -> list[StreamCounts] | None:
    """Return what receivers counted of a stream; None of other flows."""
    sending, receiving = roles_of(flow, result)
    return _streams(receiving) if isinstance(sending, SenderCounts) else None


def _streams(receiving: Iterable[RoleCounts | None]) -> list[StreamCounts]:
    return [stream for one in receiving if isinstance(one, SinkReport) for stream in one.streams]


def _flow(trial: Trial, number: int, flow_result: FlowResult, result: Result) -> FlowCounts:
    """Return the counts of a flow."""
    scenario, port = trial.scenario, trial.settings().ports[number]
    flow, phases = scenario.flows[number], scenario.phases
    window_ps = phases.measure_to_ps - phases.measure_from_ps
    transmit_ps = phases.stop_ps - phases.begin_ps
    base = replace(
        unknown(FlowCounts, 1),
        # Messages are offered over the whole transmission, except voice, and all of an exchange is
        # counted over it.
        offered_ps=_one(window_ps if is_voice(flow) else transmit_ps),
        received_ps=_one(window_ps if flow.response is None else transmit_ps),
        queued=_one(0),
        batches=unknown(FlowBatch, scenario.batches, 1),
        # TCP counts retransmissions of a connection, not of its messages.
        transfer=unknown(TransferCounts, 1),
        voice=_voice(None, None) if is_voice(flow) else None,
        one_way=_times(()),
        round_trip=_times(()),
        between_arrivals=_times(()),
    )
    if result.media:
        flow_result = without_offsets(scenario, flow, flow_result, result)
    agent = result.agents.get(flow.from_)
    address = "0.0.0.0" if agent is None or not agent.address else agent.address
    match roles_of(flow, flow_result):
        case BulkSenderCounts() as sending, [BulkReceiverCounts() as receiving]:
            return _bulk(base, flow, sending, receiving, window_ps / PS_PER_S)
        case ClientCounts() as sending, [ServerCounts() as receiving]:
            return _file(base, sending, receiving)
        case RequesterCounts() as sending, receiving:
            responders = [one for one in receiving if isinstance(one, ResponderCounts)]
            found = _exchange(base, flow, sending, responders)
        case SenderCounts() as sending, receiving:
            found = _stream(base, flow, sending, _streams(receiving))
        case _:
            return base
    batches = found.batches
    frames = partial(_frames, flow, port, address)
    each, octets, data_octets = frames(batches.messages, batches.data_octets)
    batches = replace(batches, frames=each, octets=octets, data_octets=data_octets)
    each, octets, data_octets = frames(found.messages, found.data_octets)
    return replace(
        found,
        transfer=found.transfer if port == "tcp" else None,
        frames=each,
        octets=octets,
        data_octets=data_octets,
        batches=batches,
    )


def _stream(
    base: FlowCounts, flow: Flow, sending: SenderCounts, streams: Sequence[StreamCounts]
) -> FlowCounts:
    """Return the counts of messages without responses."""
    measured = [stream.measured for stream in streams]
    messages = _one(sum(one.frames for one in measured))
    gaps = [
        (one.last_ns - one.first_ns, one.frames - 1)
        for one in measured
        if one.frames > 1 and one.last_ns is not None and one.first_ns is not None
    ]
    between_s = _mean(sum(ns for ns, _ in gaps), sum(count for _, count in gaps)) / NS_PER_S
    of_batches = stream_batches(measured, is_voice=is_voice(flow), has_dropped=sending.unsent > 0)
    delay_s = np.nan
    if of_batches and not is_voice(flow):
        batches = [batch for one in measured for batch in one.batches]
        delay_s = _mean(
            sum(batch.delay_ns for batch in batches) / NS_PER_S,
            sum(batch.delays for batch in batches),
        )
    found = replace(
        base,
        offered=_one(sending.frames),
        reordered=_one(sum(stream.reordered for stream in streams)),
        duplicates=_one(sum(stream.duplicate for stream in streams)),
        resent=_one(0),
        arrived=_one(sum(stream.received for stream in streams)),
        messages=messages,
        data_octets=_one(sum(one.payload_octets for one in measured)),
        timed_out=_one(0),
        completed=_one(0),
        dropped=_one(sending.unsent),
        one_way=_times([one.delay for one in measured], messages, delay_s),
        round_trip=_times((), _one(0)),
        between_arrivals=_times([one.spacing for one in measured], mean_s=between_s),
        batches=_by_batch(base.batches, of_batches),
    )
    if not is_voice(flow):
        return found
    assert sending.voice is not None, "a coder's sender counts samples"
    sent = sending.voice.measured
    speech = streams[0].voice if streams else None
    # A receiver that received nothing counts no samples.
    received = VoiceWindow() if speech is None else speech.measured
    # As of simulated packets: those whose oldest sample was made in the window, from then on.
    return replace(
        found,
        offered=_one(sent.packets),
        arrived=_one(received.packets),
        one_way=_times([received.voice_delay], messages),
        voice=_voice(sent, received),
    )


def stream_batches(
    measured: Sequence[StreamWindow], *, is_voice: bool, has_dropped: bool
) -> Batches:
    """Return the batches of a stream at its receivers; {} unless all of them have some.

    A coder's one-way delays are counted by the making of samples, not by arrival. Messages that the
    port never took are not counted by batch.
    """
    if not measured or not all(one.batches for one in measured):
        return {}
    read = {
        name: np.array([_column(one.batches, name) for one in measured]).sum(axis=0)
        for name in StreamBatch.__struct_fields__
    }
    none = np.zeros_like(read["frames"])
    found = {
        "messages": read["frames"],
        "data_octets": read["payload_octets"],
        "arrivals_between": read["spacings"],
        "between_arrivals_ps": read["spacing_ns"] * PS_PER_NS,
        **dict.fromkeys(("completed", "timed_out", "moved_octets", "round_trip_ps"), none),
    }
    if not has_dropped:
        found["dropped"] = none
    # The mean is over delays that are known; it follows from the sums if these are all.
    if not is_voice and (read["delays"] == read["frames"]).all():
        found["one_way_ps"] = read["delay_ns"] * PS_PER_NS
    return found


def _exchange(
    base: FlowCounts, flow: Flow, sending: RequesterCounts, responders: Sequence[ResponderCounts]
) -> FlowCounts:
    """Return the counts of messages with responses, complete when all receivers responded."""
    requests = _one(sum(one.requests for one in responders))
    completed = _one(sending.answered if flow.address == "unicast" else sending.complete)
    round_trip_s = _mean(
        sum(batch.since_arrival_ps for batch in sending.batches) / PS_PER_S,
        sum(batch.complete for batch in sending.batches),
    )
    complete = _column(sending.batches, "complete")
    of_batches = {
        "completed": complete,
        "timed_out": _column(sending.batches, "requests") - complete,
        "round_trip_ps": _column(sending.batches, "since_arrival_ps"),
        **dict.fromkeys(
            ("dropped", "moved_octets", "arrivals_between", "between_arrivals_ps"),
            np.zeros_like(complete),
        ),
    }
    return replace(
        base,
        offered=_one(sending.requests),
        queued=_one(sending.queued),
        arrived=requests,
        messages=requests,
        data_octets=_one(sum(one.request_octets for one in responders)),
        timed_out=_one(sending.requests) - completed,
        resent=_one(0),
        completed=completed,
        dropped=_one(0),
        one_way=_times((), requests),
        round_trip=_times([sending.since_arrival], completed, round_trip_s),
        batches=_by_batch(base.batches, of_batches),
    )


def _bulk(
    base: FlowCounts,
    flow: Flow,
    sending: BulkSenderCounts,
    receiving: BulkReceiverCounts,
    window_s: float,
) -> FlowCounts:
    """Return the counts of octets over TCP, at the rate from the first read to the last.

    That rate does not follow from the octets of batches, which are unknown therefore.
    """
    rate_bps = receiving.measured.data_rate_bps
    stream = None if flow.transfer is None else flow.transfer.job.stream
    octets = None if stream is None else stream.octets
    last_ns = receiving.last_ns if octets is not None and receiving.octets == octets else None
    of_batches = dict.fromkeys(
        ("completed", "round_trip_ps", "arrivals_between", "between_arrivals_ps"),
        np.zeros(len(receiving.measured.batches)),
    )
    return replace(
        base,
        completed=_one(0),
        round_trip=_times((), _one(0)),
        transfer=_transfer(
            0.0 if rate_bps is None else rate_bps / 8 * window_s, last_ns, _sent_again(sending.tcp)
        ),
        batches=_by_batch(base.batches, of_batches),
    )


def _file(base: FlowCounts, client: ClientCounts, server: ServerCounts) -> FlowCounts:
    """Return the counts of a file over TCP: of blocks whose answers were read in the window."""
    measured = client.measured
    blocks = _column(measured.batches, "blocks")
    round_trip_ns = sum(batch.round_trip_ns for batch in measured.batches)
    completed = _one(measured.blocks)
    of_batches = {
        "completed": blocks,
        "moved_octets": _column(measured.batches, "octets"),
        "round_trip_ps": _column(measured.batches, "round_trip_ns") * PS_PER_NS,
        **dict.fromkeys(("arrivals_between", "between_arrivals_ps"), np.zeros_like(blocks)),
    }
    return replace(
        base,
        completed=completed,
        round_trip=_times(
            [measured.round_trip],
            completed,
            _mean(round_trip_ns / NS_PER_S, sum(batch.blocks for batch in measured.batches)),
        ),
        transfer=_transfer(
            float(measured.octets),
            client.completion_ns,
            _sent_again(client.tcp) + _sent_again(server.tcp),
        ),
        batches=_by_batch(base.batches, of_batches),
    )


def _sent_again(tcp: TcpColumnsSeries) -> float:
    """Return the segments sent again by the end of a connection."""
    return float(tcp.columns.sent_again[-1]) if tcp.columns.sent_again else 0.0


def _transfer(octets: float, whole_ns: int | None, sent_again: float) -> TransferCounts:
    none = unknown(TransferCounts, 1)
    return replace(
        none,
        octets=_one(octets),
        whole_ps=_one(np.nan if whole_ns is None else whole_ns / NS_PER_S * PS_PER_S),
        ends=replace(none.ends, retransmitted=np.array([[sent_again, 0.0]])),
    )


def _voice(sent: VoiceSenderWindow | None, received: VoiceWindow | None) -> FlowVoice:
    """Return what became of the samples that a coder made in the window.

    Those not received were lost in the network: the sum stands for the first cause.
    """
    none = unknown(FlowVoice, 1)
    if sent is None or received is None:
        return replace(none, voice_delay=_times(()), sample_delay=_times(()))
    lost = np.zeros((1, len(LOSSES)))
    lost[:, 0] = sent.sent - received.samples
    return FlowVoice(
        host=HostSamples(_one(sent.made), _one(sent.sent), _one(sent.lost), _one(sent.left)),
        delivered=_one(received.samples),
        lost=lost,
        under_way=_one(0),
        voice_delay=_times([received.voice_delay]),
        sample_delay=_times([received.sample_delay]),
    )


def _one(count: float) -> Floats:
    """Return a count of one flow."""
    return np.array([count], np.float64)


def _mean(total: float, count: float) -> float:
    return total / count if count else np.nan


def _column(batches: Sequence[Struct], name: str) -> Floats:
    """Return one count of every batch, shape `(batches,)`."""
    return np.array([getattr(batch, name) for batch in batches], np.float64)


def _by_batch(base: FlowBatch, counted: Batches) -> FlowBatch:
    """Return the batches of a flow; unknown if its agents counted other batches."""
    if any(len(column) != len(base.frames) for column in counted.values()):
        return base
    return replace(base, **{name: column[:, None] for name, column in counted.items()})


def _times(
    histograms: Iterable[Distribution], count: Floats | None = None, mean_s: float = np.nan
) -> Delays:
    """Return the times of a flow from the histograms of its receivers.

    `count` says how many, if not all in buckets. The mean is `mean_s` where it is known exactly;
    else that of the middles of buckets, which are narrower than 0.8% of the time. So is the largest
    time where an agent does not know it.
    """
    rows: list[tuple[int, int, int]] = []
    largest = 0.0
    for histogram in histograms:
        if histogram.buckets:
            last_ps = histogram.buckets[-1][1] - 1
            largest = max(largest, histogram.quantiles_ps.get("1") or last_ps)
        rows += histogram.buckets
    low, high, numbers = merged(*np.array(rows, np.int64).reshape(-1, 3).T)
    entity = np.zeros(len(low), np.int64)
    total, sum_ps = (
        np.bincount(entity, weights=weights, minlength=1).astype(np.float64)
        for weights in (numbers, (low + high) / 2 * numbers)
    )
    many = total if count is None else count
    with np.errstate(invalid="ignore"):
        mean_ps = sum_ps / total if np.isnan(mean_s) else mean_s * PS_PER_S
        sums = mean_ps * many
        return Delays(many, sums, np.array([largest]), Buckets(entity, low, high, numbers))


def _frames(
    flow: Flow, port: str, address: str, received: Numbers, data: Numbers
) -> tuple[Floats, Floats, Floats]:
    """Return frames, octets and octets of data of the messages received.

    NaN where their frames are unknown.
    """
    messages, data_octets = np.asarray(received, np.float64), np.asarray(data, np.float64)
    framing, sizes = flow.framing, lengths_of(flow.frames)
    is_ipv6 = port == "udp" and ipaddress.ip_address(address).version == IPV6
    frames = [frame_octets(framing, bits // 8, is_ipv6=is_ipv6) for bits in sizes]
    tag = tag_octets(flow, port)
    if len(sizes) == 1:
        inside = sizes[0] // 8 if framing != "frame" else frames[0][0] - AROUND_DATA_OCTETS
        each = sum(octets + tag for octets in frames[0])
        return messages * len(frames[0]), messages * each, messages * inside
    if any(len(fragments) > 1 for fragments in frames):
        none = np.full_like(messages, np.nan)
        return none, none, data_octets if framing != "frame" else none
    # A message is a frame: the port's data, which were counted, and what is around them.
    octets = data_octets + messages * (around_octets(port, address) + tag)
    inside = tag + (AROUND_DATA_OCTETS if framing == "frame" else around_octets("udp", address))
    return messages, octets, octets - messages * inside
