"""Sources: what a flow offers, through its shaper and its host."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ethermeter.entities import lengths_of, talking_share
from ethermeter.framing import message_octets
from ethermeter.scenario import (
    CoderArrivals,
    Flow,
    OnOffArrivals,
    PoissonArrivals,
    PythonArrivals,
    RegularArrivals,
    SaturatedArrivals,
    Shaper,
    TokenBucketArrivals,
    TraceArrivals,
)
from ethermeter.theory.bounds.sources import Message, on_off, packets_of
from ethermeter.theory.load.growth import Growth
from ethermeter.theory.load.results import Overload
from ethermeter.theory.load.shares import ROUNDING


def one_message(message: Message) -> int:
    """Return the size of a message in a queue of messages."""
    del message
    return 1


@dataclass(slots=True)
class Source:
    """What a flow offers: the octets of the frames of its messages, and how often each comes.

    `rate`: messages in a picosecond. `scv`: squared coefficient of variation of the times between
    them. `waits`: whether messages arrive whatever became of those before, and
    wait at their source. `is_greedy`: whether there is always a next message, so that
    it takes what others leave. `overloads`: within the source. `most`: the most that its shaper and
    its host's time between messages let pass.
    """

    messages: Sequence[tuple[Message, float]]
    rate: float
    scv: float
    waits: bool
    is_greedy: bool
    overloads: list[Overload] = field(default_factory=list)
    most: float = math.inf

    def growth(self, measure: Callable[[Message], int], rate: float, share: float) -> Growth:
        """Return how a queue grows to which messages come at a rate, of which a share is carried.

        `measure`: of a message, in the unit of the queue.
        """
        mean = self.mean(measure)
        spread = sum(weight * (measure(message) - mean) ** 2 for message, weight in self.messages)
        return Growth(rate * (1 - share) * mean, rate * (self.scv * mean**2 + spread))

    def mean(self, measure: Callable[[Message], int]) -> float:
        """Return the mean size of a message."""
        return sum(weight * measure(message) for message, weight in self.messages)

    def thin(self, step: str, limit: float, flow: Flow) -> None:
        """Let no more than a rate pass a step of the source of a flow."""
        if min(self.rate, self.most) <= limit * (1 + ROUNDING):
            return
        if self.waits:
            load = self.rate / limit
            fill_ps = self.growth(one_message, self.rate, 1 / load).fill_ps(flow.queue_frames)
            name = f"{step} of flow {flow.name!r}"
            self.overloads.append(Overload(name, flow.from_, load, 1 - 1 / load, fill_ps))
        self.most = limit
        if not self.is_greedy:
            self.rate = limit

    def take(self, rate: float) -> float:
        """Approach a rate by half, or take the first one; return the relative change."""
        before = rate if math.isinf(self.rate) else self.rate
        self.rate = (before + rate) / 2
        return abs(self.rate - before) / max(self.rate, before) if before > 0 else 0.0


def messages_of(flow: Flow) -> list[tuple[Message, float]]:
    """Return the octets of the frames of each message that a flow may send, and its share."""
    if isinstance(flow.arrivals, CoderArrivals):
        return [(packets_of(flow, flow.arrivals).messages[0], 1.0)]
    sizes, weights = lengths_of(flow.frames)
    return [
        (tuple(message_octets(flow, bits)), weight / sum(weights))
        for bits, weight in zip(sizes, weights, strict=True)
    ]


def source_of(flow: Flow) -> Source:
    """Return what a flow offers to its shaper or its host."""
    messages = messages_of(flow)
    match flow.arrivals:
        case PoissonArrivals(mean_ps=mean_ps) | TraceArrivals(mean_ps=mean_ps):
            rate, scv = 1 / mean_ps, getattr(flow.arrivals, "scv", 1.0)
        case OnOffArrivals() as arrivals:
            rate, scv = on_off(arrivals.period_ps, arrivals.on_mean_ps, arrivals.off_mean_ps)
        case RegularArrivals(period_ps=period_ps, jitter_ps=jitter_ps):
            # Uniform within twice the jitter.
            rate, scv = 1 / period_ps, ((jitter_ps or 0) / period_ps) ** 2 / 3
        case CoderArrivals() as coder:
            # It has one packet at a time, which grows until the host takes it.
            rate = talking_share(coder) / (packets_of(flow, coder).least * coder.sample_ps)
            return Source(messages, rate, 0.0, waits=False, is_greedy=False)
        case _:
            return Source(messages, math.inf, 0.0, waits=False, is_greedy=True)
    return Source(messages, rate, scv, waits=True, is_greedy=False)


def is_open(flow: Flow) -> bool:
    """Whether messages come whatever became of those before."""
    return flow.transfer is None and flow.response is None and flow.generator is None


def has_rate(flow: Flow) -> bool:
    """Whether messages come at a rate of their own."""
    is_endless = flow.shaper is None and isinstance(
        flow.arrivals, SaturatedArrivals | PythonArrivals
    )
    return is_open(flow) and not is_endless


def bucket_of(flow: Flow) -> TokenBucketArrivals | Shaper | None:
    """Return the token bucket that a flow passes."""
    return flow.arrivals if isinstance(flow.arrivals, TokenBucketArrivals) else flow.shaper
