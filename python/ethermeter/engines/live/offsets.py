"""Offsets: delays of messages less the declared delay of the emulated media on their path.

Hosts get each frame a constant time after its time on an emulated medium
(docs/explanation/emulation.md). One-way delays of a network are those without it. Exchanges and
transfers contain it, for their hosts wait for each other.
"""

from typing import TypeVar

from msgspec import structs

from ethermeter.engines.live.media import hops_of, shared_media
from ethermeter.live_reports import Distribution, SinkReport, StreamCounts
from ethermeter.scenario import Flow, Scenario
from ethermeter.store.result import FlowResult, ReceiverResult, Result, path_of

PS_PER_NS = 1000
R = TypeVar("R", ReceiverResult, FlowResult)


def without_offsets(
    scenario: Scenario, flow: Flow, found: FlowResult, result: Result
) -> FlowResult:
    """Return a flow's result with one-way delays that lack the offsets of the media on its path."""
    offsets_ns = {name: of.offset_ns for name, of in result.media.items()}
    names = {shared.medium.name for shared in shared_media(scenario)}
    hops = hops_of(scenario)

    def offset_ns(receiver: str) -> int:
        path = path_of(hops, flow.from_, receiver)
        return sum(offsets_ns.get(to, 0) for _, to in path if to in names)

    if not found.receivers:
        return _earlier(found, offset_ns(flow.to[0]))
    receivers = {name: _earlier(one, offset_ns(name)) for name, one in found.receivers.items()}
    return structs.replace(found, receivers=receivers)


def _earlier(receiver: R, offset_ns: int) -> R:
    role = receiver.receiving
    if role is None or not isinstance(role.counted, SinkReport) or not offset_ns:
        return receiver
    streams = tuple(_stream(stream, offset_ns) for stream in role.counted.streams)
    counted = structs.replace(role.counted, streams=streams)
    return structs.replace(receiver, receiving=structs.replace(role, counted=counted))


def _stream(stream: StreamCounts, offset_ns: int) -> StreamCounts:
    batches = tuple(
        structs.replace(batch, delay_ns=max(0, batch.delay_ns - offset_ns * batch.delays))
        for batch in stream.measured.batches
    )
    measured = structs.replace(
        stream.measured, delay=_times(stream.measured.delay, offset_ns), batches=batches
    )
    voice = stream.voice
    if voice is not None:
        delays = {
            name: _times(getattr(voice.measured, name), offset_ns)
            for name in ("voice_delay", "sample_delay")
        }
        voice = structs.replace(voice, measured=structs.replace(voice.measured, **delays))
    return structs.replace(stream, measured=measured, voice=voice)


def _times(histogram: Distribution, offset_ns: int) -> Distribution:
    """Return times that are so much shorter; none is below 0."""
    offset_ps = offset_ns * PS_PER_NS
    buckets = tuple(
        (max(0, low_ps - offset_ps), max(1, high_ps - offset_ps), count)
        for low_ps, high_ps, count in histogram.buckets
    )
    quantiles_ps = {
        share: None if at_ps is None else max(0, at_ps - offset_ps)
        for share, at_ps in histogram.quantiles_ps.items()
    }
    return structs.replace(histogram, buckets=buckets, quantiles_ps=quantiles_ps)
