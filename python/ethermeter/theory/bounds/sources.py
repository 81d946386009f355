"""Sources of a scenario: how many messages a flow may send in any time, and of which lengths.

A flow has at most one message at a time between its host's call and the end of the host's first
stage; a flow with responses has one outstanding request. Such a loop bounds the calls of any
source, also of one without an arrival curve, for instance a Poisson process.
"""

import math
from dataclasses import dataclass

from ethermeter.framing import (
    AROUND_DATA_OCTETS,
    SHORTEST_FRAME_OCTETS,
    TAG_OCTETS,
    lengths_of,
    message_octets,
    packet_octets,
)
from ethermeter.scenario import (
    CoderArrivals,
    ConstantTimes,
    Flow,
    Host,
    Lengths,
    MeasuredTimes,
    MixLengths,
    OnOffArrivals,
    PoissonArrivals,
    RegularArrivals,
    SamplesLengths,
    SaturatedArrivals,
    Times,
    TokenBucketArrivals,
    TraceArrivals,
    UniformTimes,
)

PS_PER_S = 1e12

Message = tuple[int, ...]
"""Octets of the frames of a message, destination address to FCS, tag included."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How much a flow releases in a window of t picoseconds: the least of burst + rate · t.

    `buckets`: (rate in 1/ps, burst), in units of `measure`; empty where there is no bound, with
    `reason`. `measure`: units of each message of `messages`. `wait_ps`: longest time from the
    arrival of a message at its source to its release, within the source; None without bound.
    """

    messages: tuple[Message, ...]
    measure: tuple[float, ...]
    buckets: tuple[tuple[float, float], ...]
    wait_ps: float | None = 0.0
    reason: str | None = None

    def least_span_ps(self, messages: int) -> float:
        """Return the shortest window in which so many messages are released."""
        smallest = min(self.measure)
        return max(
            ((messages * smallest - burst) / rate for rate, burst in self.buckets), default=0.0
        )


def leaves_at_once(flow: Flow, host: Host) -> bool:
    """Whether messages do not wait at their source until those before them have gone.

    They do not behind a token bucket, nor at a host with traffic classes.
    """
    if flow.shaper is not None or isinstance(flow.arrivals, TokenBucketArrivals):
        return True
    waits = isinstance(flow.arrivals, SaturatedArrivals | CoderArrivals)
    return bool(host.classes) and not waits


def is_made_when_called(flow: Flow) -> bool:
    """Whether a message arrives at its source in the instant in which its host sends it."""
    return isinstance(flow.arrivals, SaturatedArrivals | TokenBucketArrivals)


def messages_of(flow: Flow, lengths: Lengths) -> tuple[Message, ...]:
    """Return the messages of a flow, or its responses, one for each length."""
    return tuple(sorted({tuple(message_octets(flow, bits)) for bits in lengths_of(lengths)}))


def transfer_messages(flow: Flow) -> tuple[Message, ...]:
    """Return the shortest and the longest frame of a transfer."""
    assert flow.transfer is not None
    tag = TAG_OCTETS if flow.priority is not None else 0
    longest = packet_octets(flow.transfer) + AROUND_DATA_OCTETS
    return ((SHORTEST_FRAME_OCTETS + tag,), (longest + tag,))


def limits_of(times: Times) -> tuple[float, float]:
    """Return the shortest and the longest time of a distribution; the longest may be infinite."""
    match times:
        case ConstantTimes(ps=ps):
            return ps, ps
        case UniformTimes(low_ps=low, high_ps=high):
            return low, high
        case MeasuredTimes(values_ps=values, weights=weights):
            known = [value for value, weight in zip(values, weights, strict=True) if weight > 0]
            return min(known), max(known)
        case _:
            return times.offset_ps, float("inf")


def arrivals_of(flow: Flow, *, around_octets: int) -> Arrivals:
    """Return what a flow of messages without a coder releases.

    `around_octets`: preamble and gap of its host's link.
    """
    messages = messages_of(flow, flow.frames)
    volumes = tuple(sum(o + around_octets for o in message) for message in messages)
    once = (1.0,) * len(messages)
    shaper = flow.shaper
    inner = _released(flow.arrivals, messages, volumes)
    if shaper is None:
        return inner
    bucket = _bucket(shaper.rate_bps, shaper.burst_octets, messages, volumes)
    return _shaped(inner, bucket, once)


def _released(arrivals: object, messages: tuple[Message, ...], volumes: Message) -> Arrivals:
    """Return what a source releases without a shaper."""
    once = (1.0,) * len(messages)
    match arrivals:
        case RegularArrivals(period_ps=period, jitter_ps=jitter):
            return Arrivals(messages, once, ((1 / (period - (jitter or 0)), 1.0),))
        case PoissonArrivals():
            return Arrivals(messages, once, (), None, "Poisson arrivals have no arrival curve")
        case OnOffArrivals():
            reason = "on and off times are exponential, so that on times may follow at once"
            return Arrivals(messages, once, (), None, f"no arrival curve: {reason}")
        case SaturatedArrivals():
            reason = "saturated arrivals have no arrival curve without a shaper"
            return Arrivals(messages, once, (), 0.0, reason)
        case TokenBucketArrivals(rate_bps=rate_bps, burst_octets=burst):
            return _bucket(rate_bps, burst, messages, volumes)
        case TraceArrivals(envelope=envelope):
            # Counted in messages, each of which may be the longest.
            buckets = tuple([(each.rate_per_s / PS_PER_S, each.burst) for each in envelope])
            return Arrivals(messages, once, buckets)
    raise TypeError(f"a coder gathers samples: {arrivals}")


def _bucket(
    rate_bps: int, burst_octets: int, messages: tuple[Message, ...], volumes: Message
) -> Arrivals:
    """Return the messages that a token bucket releases.

    They are counted in messages if they have one length, else in octets on the wire. With one
    length L, floor(burst / L) messages come at once and the next one when the bucket has
    L again, which is a second, faster bucket below the first.
    """
    rate = rate_bps / 8e12
    if len(volumes) > 1:
        measure = tuple(float(volume) for volume in volumes)
        return Arrivals(messages, measure, ((rate, float(burst_octets)),))
    volume = volumes[0]
    at_once = burst_octets // volume
    next_ps = ((at_once + 1) * volume - burst_octets) / rate
    buckets = ((1 / next_ps, float(at_once)), (rate / volume, burst_octets / volume))
    return Arrivals(messages, (1.0,), buckets)


def _shaped(inner: Arrivals, bucket: Arrivals, once: tuple[float, ...]) -> Arrivals:
    """Return the output of a shaper: its bucket; the wait in it is bounded by what comes in."""
    rate, burst = bucket.buckets[-1]
    largest = max(bucket.measure)
    if not inner.buckets:
        # A saturated source makes its next message when the shaper releases it.
        reason = inner.reason if inner.wait_ps is None else None
        return Arrivals(inner.messages, bucket.measure, bucket.buckets, inner.wait_ps, reason)
    unit = largest if inner.measure == once else 1.0  # messages, or octets as in the bucket
    inner_rate, inner_burst = (value * unit for value in inner.buckets[-1])
    if inner_rate > rate * (1 + 1e-12):
        reason = "the rate of its shaper is below its own"
        return Arrivals(inner.messages, bucket.measure, bucket.buckets, None, reason)
    wait_ps = max(inner_burst - burst, 0.0) / rate
    if wait_ps == 0:
        return inner
    return Arrivals(inner.messages, bucket.measure, bucket.buckets, wait_ps)


def on_off(period_ps: float, on_ps: float, off_ps: float) -> tuple[float, float]:
    """Return the rate [1/ps] and the squared variation of the times between arrivals.

    An exponential on time of mean A has n = 1 / (1 − e^{−P/A}) arrivals on average, one each period
    P and the first at its begin: of its arrivals a share 1/n is followed by what is left of the on
    time, and by an exponential off time.
    """
    per_on = -1 / math.expm1(-period_ps / on_ps)
    rate = per_on / (on_ps + off_ps)
    left_ps = on_ps - (per_on - 1) * period_ps  # mean from the last arrival to the end
    square = (1 - 1 / per_on) * period_ps**2
    square += (left_ps**2 + 2 * left_ps * off_ps + 2 * off_ps**2) / per_on
    return rate, square * rate**2 - 1


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets of a coder.

    `least`: samples with which a packet is ready; `slots`: least sample times between two packets.
    With talk spurts a packet is ready when the first sample fails to come, so that packets of one
    sample may follow every other sample time. `messages`: of `least` samples, and the longest.
    """

    least: int
    slots: int
    messages: tuple[Message, ...]


def packets_of(flow: Flow, arrivals: CoderArrivals) -> Packets:
    """Return the packets of a coder (crates/traffic/src/packets.rs)."""
    frames = flow.frames
    assert isinstance(frames, SamplesLengths)
    least = max(-(-max(frames.min_bits - frames.overhead_bits, 0) // arrivals.sample_bits), 1)
    ready_bits = max(frames.overhead_bits + least * arrivals.sample_bits, frames.min_bits)
    lengths = (ready_bits, max(frames.max_bits, ready_bits))
    messages = messages_of(flow, MixLengths(bits=lengths, weights=(1.0, 1.0)))
    return Packets(least, min(least, 2) if arrivals.spurts else least, messages)


def gathering_coder(flow: Flow, arrivals: CoderArrivals, *, around_octets: int) -> Arrivals:
    """Return the packets of a coder that gather while its host is busy.

    The first one may have all samples of the longest; the others have those made since.
    """
    packets = packets_of(flow, arrivals)
    frames = flow.frames
    assert isinstance(frames, SamplesLengths)
    room = max((frames.max_bits - frames.overhead_bits) // arrivals.sample_bits, 1)
    volumes = [sum(octets + around_octets for octets in one) for one in packets.messages]
    measure = tuple(volume / volumes[0] for volume in volumes)
    bucket = (1 / (packets.slots * arrivals.sample_ps), measure[-1] + 1 / packets.slots)
    if arrivals.spurts:
        reason = "samples of several talk spurts may gather while its host is busy"
        return Arrivals(packets.messages, measure, (bucket,), None, reason)
    return Arrivals(packets.messages, measure, (bucket,), float(room * arrivals.sample_ps))


def prompt_coder(flow: Flow, arrivals: CoderArrivals) -> Arrivals:
    """Return the packets of a coder whose host is always ready for the next one: the shortest."""
    packets = packets_of(flow, arrivals)
    wait_ps = float((packets.least - 1) * arrivals.sample_ps)
    bucket = (1 / (packets.slots * arrivals.sample_ps), 1.0)
    return Arrivals(packets.messages[:1], (1.0,), (bucket,), wait_ps)
