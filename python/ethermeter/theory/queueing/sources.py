"""Open sources: the rate of a flow's messages, how variable it is, and their frames."""

import math
from dataclasses import dataclass

from ethermeter.framing import message_octets
from ethermeter.scenario import (
    CoderArrivals,
    ConstantTimes,
    FixedLengths,
    Flow,
    Link,
    MixLengths,
    OnOffArrivals,
    PoissonArrivals,
    RegularArrivals,
    SaturatedArrivals,
    TokenBucketArrivals,
    TraceArrivals,
)
from ethermeter.theory.bounds.sources import Message, on_off, packets_of


@dataclass(frozen=True, slots=True)
class Source:
    """What a flow offers: messages with their shares, and the process of their arrivals.

    `rate`: messages in a picosecond. `scv`: squared coefficient of variation of the times between
    them; 1 of Poisson arrivals. `is_poisson`: whether they are a Poisson process. `gathering_ps`:
    mean time from the oldest sample of a coder's packet until the packet is ready; 0 of messages.
    `room`: messages for which there is room at the source, the one being sent included, if it may
    be full; None if it is no limit.
    """

    messages: tuple[Message, ...]
    shares: tuple[float, ...]
    rate: float
    scv: float
    is_poisson: bool = False
    gathering_ps: float = 0.0
    room: int | None = None


def source_of(flow: Flow, link: Link) -> Source | str:
    """Return what a flow offers by its host's link, or why it has no open source."""
    if flow.transfer is not None:
        return "its transfer goes as fast as its protocol and the network let it"
    if flow.response is not None:
        return "its requests wait for responses"
    if flow.generator is not None or isinstance(flow.arrivals, SaturatedArrivals):
        return "its source is saturated: it always has a next message"
    if flow.service != ConstantTimes(ps=0):
        return "its host needs time between messages"
    if isinstance(flow.arrivals, CoderArrivals):
        return _coder(flow, flow.arrivals)
    sizes, weights = _sizes(flow)
    messages = tuple(tuple(message_octets(flow, bits)) for bits in sizes)
    shares = tuple(weight / sum(weights) for weight in weights)
    around = link.preamble_octets + link.gap_octets
    volume = sum(
        share * sum(octets + around for octets in message)
        for share, message in zip(shares, messages, strict=True)
    )
    bucket = flow.arrivals if isinstance(flow.arrivals, TokenBucketArrivals) else flow.shaper
    bucket_rate = math.inf if bucket is None else bucket.rate_bps / (8e12 * volume)
    match flow.arrivals:
        case PoissonArrivals(mean_ps=mean_ps):
            rate, scv = 1 / mean_ps, 1.0
        case RegularArrivals(period_ps=period_ps, jitter_ps=jitter_ps):
            # Uniform within twice the jitter.
            rate, scv = 1 / period_ps, ((jitter_ps or 0) / period_ps) ** 2 / 3
        case TraceArrivals(mean_ps=mean_ps, scv=scv):
            rate = 1 / mean_ps
        case OnOffArrivals(period_ps=period_ps, on_mean_ps=on_ps, off_mean_ps=off_ps):
            rate, scv = on_off(period_ps, on_ps, off_ps)
        case _:
            rate, scv = bucket_rate, 0.0
    if flow.shaper is not None and rate >= bucket_rate:
        return "its shaper lets less pass than it offers"
    is_poisson = isinstance(flow.arrivals, PoissonArrivals) and flow.shaper is None
    return Source(messages, shares, min(rate, bucket_rate), scv, is_poisson)


def _sizes(flow: Flow) -> tuple[tuple[int, ...], tuple[float, ...]]:
    match flow.frames:
        case MixLengths(bits=bits, weights=weights):
            return bits, weights
        case FixedLengths(bits=bits):
            return (bits,), (1.0,)
        case _:
            raise AssertionError("only packets of a coder hold samples")


def _coder(flow: Flow, arrivals: CoderArrivals) -> Source:
    """Return the packets of a coder, as short as they may be."""
    packets = packets_of(flow, arrivals)
    period_ps = packets.least * arrivals.sample_ps
    rate, scv, talk_mean_ps = 1 / period_ps, 0.0, math.inf
    if arrivals.spurts is not None:
        spurts = arrivals.spurts
        rate, scv = on_off(period_ps, spurts.talk_mean_ps, spurts.silence_mean_ps)
        talk_mean_ps = spurts.talk_mean_ps
    gathering_ps = _gathering_ps(packets.least, arrivals.sample_ps, talk_mean_ps)
    return Source(packets.messages[:1], (1.0,), rate, scv, gathering_ps=gathering_ps)


def _gathering_ps(least: int, sample_ps: int, talk_mean_ps: float) -> float:
    """Return the mean time from the oldest sample of a packet until the packet is ready.

    With `least` samples it is ready, or when the first one fails to come: it takes min(least − 1,
    n) sample times, with n samples from the oldest to the end of the talk. A talk of mean A goes on
    to the next sample with q = e^{−P/A}, so that n is at least k with q^{k−1}, and the mean time is
    P (1 − q^{least − 1}) / (1 − q).
    """
    further = least - 1
    if math.isinf(talk_mean_ps):
        return float(further * sample_ps)
    return (
        sample_ps
        * math.expm1(-further * sample_ps / talk_mean_ps)
        / math.expm1(-sample_ps / talk_mean_ps)
    )
