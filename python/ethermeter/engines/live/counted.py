"""Counted: counts of a flow by the agents of a test.

Rates are of messages that came for the first time within the measured window. Counts that exist of
the whole transmission only stand for the window: `offered_rate`, losses, and all of exchanges.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ethermeter.engines.flow_voice import is_voice
from ethermeter.engines.live import by_batch, lateness
from ethermeter.engines.live.description import around_octets
from ethermeter.engines.live.spoken import Spoken, spoken
from ethermeter.framing import AROUND_DATA_OCTETS, frame_octets, lengths_of
from ethermeter.metrics import Caution
from ethermeter.scenario import Flow, Scenario
from ethermeter.store.result import (
    AnyCounts,
    Buckets,
    BulkReceiver,
    BulkSender,
    Client,
    FlowResult,
    Histogram,
    Losses,
    ReceiverResult,
    Requester,
    Responder,
    Result,
    Role,
    Sender,
    Server,
    Sink,
)
from ethermeter.store.rows import Floats
from ethermeter.trial import Trial

T = TypeVar("T", float, Floats)
C = TypeVar("C", Responder, Sink)
PS_PER_S = 1e12
IPV6 = 6
AT_HOSTS = ("sender-interface", "receiver-interface", "socket")
"""Places of losses at which a host, not the network, was too slow.

The sender's queue is not one of them: it waits for the wire.
"""


@dataclass(slots=True)
class Counted:
    """Counts of a flow.

    Parameters
    ----------
    sent, arrived, waiting
        Messages over the whole transmission; those that came to several receivers count for each;
        and those that had come to the source and waited for the answers to others when it ended.
    messages, octets, data_octets, frames
        That came in the window; NaN where lengths of frames are unknown.
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
        Counts of the samples of a coder; None of other flows.
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


def window_s(scenario: Scenario) -> float:
    """Length of the measured window in s."""
    return (scenario.phases.measure_to_ps - scenario.phases.measure_from_ps) / PS_PER_S


def count(trial: Trial, number: int, flow_result: FlowResult, result: Result) -> Counted:
    """Return the counts of a flow.

    Parameters
    ----------
    trial
        The trial.
    number
        The flow's index in it.
    flow_result, result
        Results of the flow and of its test.

    """
    scenario = trial.scenario
    flow, phases = scenario.flows[number], scenario.phases
    times = ((phases.stop_ps - phases.begin_ps) / PS_PER_S, window_s(scenario))
    received = _receivers(flow, flow_result)
    sending, receiving = _counts(flow_result.sending), [_counts(one.receiving) for one in received]
    match sending, receiving:
        case BulkSender(), [BulkReceiver() as receiver]:
            counted = _transfer(flow, sending, receiver, *times)
        case Client(), [Server() as server]:
            counted = _file(sending, server, *times)
        case Requester(), _ if responders := _all_of(Responder, receiving):
            counted = _exchange(flow, sending, responders, times[0])
            of_each = trial.settings().exchanges
            wanted = None if of_each is None else of_each[number]
            counted.few = wanted is not None and counted.exchanges < wanted
        case Sender(), _ if sinks := _all_of(Sink, receiving):
            counted = _stream(sending, sinks, *times, is_voice=is_voice(flow))
        case _:
            return Counted(*times, voice=Spoken() if is_voice(flow) else None)
    known = set(Caution)
    counted.cautions = {Caution(word) for word in flow_result.cautions if word in known}
    if counted.dropped or any(_is_lost_at_a_host(one.losses) for one in received):
        counted.cautions.add(Caution.HOST_LIMITED)
    if isinstance(sending, Requester | Sender):
        counted.late_spacing = lateness.changes_spacing(sending.pacing, flow)
        counted.late_counts = lateness.changes_counts(sending.pacing, window_s=times[1])
        agent = result.agents.get(flow.from_)
        address = "0.0.0.0" if agent is None else agent.address
        _measure(counted, flow, trial.settings().ports[number], address)
    return counted


def _all_of(kind: type[C], receiving: Sequence[AnyCounts | None]) -> list[C]:
    """Return the counts of all receivers; nothing if some are of another role or missing."""
    found = [one for one in receiving if isinstance(one, kind)]
    return found if len(found) == len(receiving) else []


def _counts(role: Role | None) -> AnyCounts | None:
    return None if role is None else role.counted


def _is_lost_at_a_host(losses: Losses | None) -> bool:
    # Drops without missing messages were of other frames, or were tried again.
    return (
        losses is not None
        and losses.missing > 0
        and any(place in AT_HOSTS for place, _ in losses.seen)
    )


def _receivers(flow: Flow, result: FlowResult) -> list[ReceiverResult]:
    if flow.address == "unicast":
        return [result]
    each = result.receivers or {}
    return [each.get(name) or ReceiverResult() for name in flow.to]


def _stream(
    sending: Sender,
    sinks: Sequence[Sink],
    transmit_s: float,
    window_s: float,
    *,
    is_voice: bool,
) -> Counted:
    streams = [stream for sink in sinks for stream in sink.streams]
    measured = [stream.measured for stream in streams]
    counted = Counted(
        transmit_s,
        window_s,
        sent=float(sending.frames),
        arrived=float(sum(stream.received for stream in streams)),
        messages=float(sum(one.frames for one in measured)),
        data_octets=float(sum(one.payload_octets for one in measured)),
        reordered=float(sum(stream.reordered for stream in streams)),
        duplicates=float(sum(stream.duplicate for stream in streams)),
        timed_out=0.0,
        exchanges=0.0,
        dropped=float(sending.unsent),
        one_way=_merged([one.delay for one in measured]),
        between=_merged([one.spacing for one in measured]),
        parts=by_batch.of_stream(measured, is_voice=is_voice, has_dropped=sending.unsent > 0),
    )
    if counted.parts is not None and not is_voice:
        batches = [batch for one in measured for batch in one.batches]
        counted.means_s["one_way"] = by_batch.mean_s(
            sum(batch.delay_ns for batch in batches) / 1e9,
            sum(batch.delays for batch in batches),
        )
    gaps = [
        (one.last_ns - one.first_ns, one.frames - 1)
        for one in measured
        if one.frames > 1 and one.last_ns is not None and one.first_ns is not None
    ]
    if gaps:
        counted.between_s = sum(ns for ns, _ in gaps) / sum(count for _, count in gaps) / 1e9
    if is_voice:
        (sink,) = sinks
        counted.voice = spoken(sending, sink)
        # As of simulated packets: those whose oldest sample was made in the window, from the
        # making of that.
        counted.sent, counted.arrived = counted.voice.packets_sent, counted.voice.packets_came
        counted.offered_s = counted.counted_s
        counted.one_way = counted.voice.delays["voice_delay"]
    return counted


def _exchange(
    flow: Flow, sending: Requester, responders: Sequence[Responder], transmit_s: float
) -> Counted:
    """Of requests; both ends count over the whole transmission."""
    came = float(sum(one.requests for one in responders))
    is_group = flow.address != "unicast"
    answered = float(sending.complete if is_group else sending.answered)
    round_trip_s = sum(batch.since_arrival_ps for batch in sending.batches) / PS_PER_S
    complete = sum(batch.complete for batch in sending.batches)
    return Counted(
        transmit_s,
        transmit_s,
        sent=float(sending.requests),
        arrived=came,
        waiting=float(sending.queued),
        messages=came,
        data_octets=float(sum(one.request_octets for one in responders)),
        timed_out=float(sending.requests) - answered,
        exchanges=answered,
        dropped=0.0,
        round_trip=_merged([sending.since_arrival]),
        means_s={"round_trip": by_batch.mean_s(round_trip_s, complete)},
        parts=by_batch.of_exchange(sending),
    )


def _transfer(
    flow: Flow, sender: BulkSender, receiver: BulkReceiver, transmit_s: float, window_s: float
) -> Counted:
    """Of octets over TCP: at the rate from the first read in the window to the last."""
    rate_bps = receiver.measured.data_rate_bps
    stream = None if flow.transfer is None else flow.transfer.job.stream
    octets = None if stream is None else stream.octets
    last_ns = receiver.last_ns if octets is not None and receiver.octets == octets else None
    return Counted(
        transmit_s,
        window_s,
        transfer_octets=0.0 if rate_bps is None else rate_bps / 8 * window_s,
        transfer_whole_s=np.nan if last_ns is None else last_ns / 1e9,
        exchanges=0.0,
        sent_again=sender.tcp.sent_again,
        parts=by_batch.of_octets(receiver.measured),
    )


def _file(client: Client, server: Server, transmit_s: float, window_s: float) -> Counted:
    """Of a file: blocks whose answers were read in the window."""
    measured = client.measured
    round_trip_s = sum(batch.round_trip_ns for batch in measured.batches) / 1e9
    blocks = sum(batch.blocks for batch in measured.batches)
    return Counted(
        transmit_s,
        window_s,
        exchanges=float(measured.blocks),
        round_trip=_merged([measured.round_trip]),
        means_s={"round_trip": by_batch.mean_s(round_trip_s, blocks)},
        parts=by_batch.of_file(measured),
        transfer_octets=float(measured.octets),
        transfer_whole_s=np.nan if client.completion_ns is None else client.completion_ns / 1e9,
        sent_again=client.tcp.sent_again + server.tcp.sent_again,
    )


def _measure(counted: Counted, flow: Flow, port: str, address: str) -> None:
    """Count octets and frames of the messages that came; NaN where their frames are unknown."""
    framing, sizes = flow.framing, lengths_of(flow.frames)
    is_ipv6 = port == "udp" and ipaddress.ip_address(address).version == IPV6
    pieces = [frame_octets(framing, bits // 8, is_ipv6=is_ipv6) for bits in sizes]

    def measured(messages: T, data_octets: T) -> tuple[T, T, T]:
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


def _merged(histograms: Iterable[Histogram]) -> Buckets:
    together: dict[tuple[int, int], int] = {}
    for histogram in histograms:
        for low_ps, high_ps, count in histogram.buckets:
            together[low_ps, high_ps] = together.get((low_ps, high_ps), 0) + count
    return [(low_ps, high_ps, count) for (low_ps, high_ps), count in sorted(together.items())]
