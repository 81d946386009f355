"""Means of flows that wait for their network: saturated sources, requests, and transfers.

Only of a flow that has all resources on its path to itself. Then nothing but itself delays it, and
its times are sums along the path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ethermeter.framing import (
    AROUND_DATA_OCTETS,
    IP_HEADER_OCTETS,
    SHORTEST_FRAME_OCTETS,
    TAG_OCTETS,
    TCP_HEADER_OCTETS,
    lengths_of,
    message_octets,
)
from ethermeter.metrics import Caution
from ethermeter.scenario import (
    ConstantTimes,
    Flow,
    Lengths,
    MixLengths,
    RegularArrivals,
    SaturatedArrivals,
)
from ethermeter.theory.bounds.sources import Message
from ethermeter.theory.bounds.stages import Timing
from ethermeter.theory.queueing.alone import alone_ps, mean_alone_ps
from ethermeter.theory.queueing.results import FlowMean

PS_PER_S = 1e12
_HEADERS_OCTETS = IP_HEADER_OCTETS + TCP_HEADER_OCTETS


@dataclass(frozen=True, slots=True)
class Way:
    """The stages of a flow there and back: times of its messages, and names of the resources."""

    there: Sequence[Timing]
    back: Sequence[Timing]
    names: Sequence[str]


def mean_of(flow: Flow, way: Way) -> FlowMean | str:
    """Return the means of a closed flow that is alone on its way, or why it has none."""
    if flow.transfer is not None:
        return _transfer(flow, way)
    if flow.generator is not None or flow.service != ConstantTimes(ps=0):
        return "its host needs time between messages"
    if flow.shaper is not None:
        return "its shaper holds it back"
    if flow.response is not None:
        return _requests(flow, way)
    return _saturated(flow, way)


def _saturated(flow: Flow, way: Way) -> FlowMean | str:
    """Return the means of a source that always has a next message: its first stage is busy."""
    messages, shares = _messages(flow, flow.frames)
    works = [[sum(map(timing.work_ps, one)) for one in messages] for timing in way.there]
    for name, of_stage in zip(way.names, works, strict=False):
        if any(work > first for work, first in zip(of_stage, works[0], strict=True)):
            return f"{name} is slower than it sends: its queue grows"
    rate = PS_PER_S / sum(s * work for s, work in zip(shares, works[0], strict=True))
    if len(messages) > 1 and sum(any(of_stage) for of_stage in works) > 1:
        why = "behind its first stage short messages wait for long ones before them"
        return FlowMean(flow.name, None, 0.0, rate, (), why)
    delay_ps = mean_alone_ps(way.there, messages, shares)
    return FlowMean(flow.name, delay_ps / PS_PER_S, 0.0, rate)


def _requests(flow: Flow, way: Way) -> FlowMean | str:
    """Return the means of requests, one at a time: a round trip is there, thought, and back."""
    response = flow.response
    assert response is not None
    if not isinstance(response.think, ConstantTimes):
        return "its responses take times that vary"
    there, back = (_messages(flow, lengths) for lengths in (flow.frames, response.frames))
    there_ps, back_ps = (
        [alone_ps(timings, one) for one in messages]
        for timings, (messages, _) in ((way.there, there), (way.back, back))
    )
    longest_ps = max(there_ps) + response.think.ps + max(back_ps)
    if response.timeout_ps is not None and longest_ps >= response.timeout_ps:
        return "its responses come behind its timeout"
    if response.retransmit is not None and longest_ps >= response.retransmit.after_ps:
        return "its requests are sent again"
    mean_there_ps, mean_back_ps = (
        sum(s * time for s, time in zip(shares, times, strict=True))
        for times, (_, shares) in ((there_ps, there), (back_ps, back))
    )
    trip_ps = mean_there_ps + response.think.ps + mean_back_ps
    match flow.arrivals:
        case SaturatedArrivals():
            rate = PS_PER_S / trip_ps
        case RegularArrivals(period_ps=period_ps, jitter_ps=jitter_ps) if (
            period_ps - (jitter_ps or 0) >= longest_ps
        ):
            rate = PS_PER_S / period_ps
        case _:
            return "its requests wait for responses to those before"
    return FlowMean(flow.name, mean_there_ps / PS_PER_S, 0.0, rate, round_trip_s=trip_ps / PS_PER_S)


def _transfer(flow: Flow, way: Way) -> FlowMean | str:
    """Return the rate of a stream over TCP without loss: a window each round trip, or its wire."""
    transfer = flow.transfer
    assert transfer is not None
    if transfer.job.stream is None:
        return "its file goes block by block"
    tcp = transfer.tcp
    if tcp is None:
        return "its ends take turns"
    tag = 0 if flow.priority is None else TAG_OCTETS
    segment_octets = tcp.mtu_octets - _HEADERS_OCTETS - tcp.option_octets
    frame = tcp.mtu_octets + AROUND_DATA_OCTETS + tag
    bare = (
        max(_HEADERS_OCTETS + tcp.option_octets + AROUND_DATA_OCTETS, SHORTEST_FRAME_OCTETS) + tag
    )
    window = min(tcp.window_octets, tcp.send_buffer_octets or tcp.window_octets)
    segments = window // segment_octets
    if not segments:
        return "its window holds no segment"
    trip_ps = alone_ps(way.there, (frame,)) + alone_ps(way.back, (bare,))
    slowest_ps = max(timing.work_ps(frame) for timing in way.there)
    # An acknowledgement covers several segments: the last of them comes so much behind the first.
    held = min(tcp.acknowledge.segments, segments) - 1
    turn_ps = trip_ps + held * slowest_ps
    is_full = (segments - held) * slowest_ps >= turn_ps
    if not is_full and segments % (held + 1):
        return "its window is no whole number of acknowledgements"
    rate = 8 * segment_octets * PS_PER_S / max(turn_ps / segments, slowest_ps)
    return FlowMean(
        flow.name, None, None, None, (Caution.APPROXIMATION,), _NO_DELAY, data_rate_bps=rate
    )


_NO_DELAY = "segments of a transfer have a rate only"


def _messages(flow: Flow, lengths: Lengths) -> tuple[list[Message], list[float]]:
    """Return the messages of a flow, or of its responses, with their shares."""
    weights = lengths.weights if isinstance(lengths, MixLengths) else (1.0,)
    messages = [tuple(message_octets(flow, bits)) for bits in lengths_of(lengths)]
    return messages, [weight / sum(weights) for weight in weights]
