"""Time of a message that meets no other on its way."""

from collections.abc import Sequence

from ethermeter.theory.bounds.sources import Message
from ethermeter.theory.bounds.stages import Timing


def alone_ps(timings: Sequence[Timing], message: Message) -> int:
    """Return how long a message takes that meets no other, frame behind frame; exact."""
    free = [0] * len(timings)
    complete = 0
    for octets in message:
        ready = complete = 0
        for at, timing in enumerate(timings):
            service = timing.service_ps(octets)
            start = max(ready, free[at], complete - service)
            free[at] = start + service + timing.gap_ps
            ready = start + timing.head_ps(octets) + timing.delay_ps
            complete = start + service + timing.delay_ps
    return complete


def mean_alone_ps(
    timings: Sequence[Timing], messages: Sequence[Message], shares: Sequence[float]
) -> float:
    """Return the same in the mean over messages with their shares."""
    pairs = zip(shares, messages, strict=True)
    return sum(share * alone_ps(timings, message) for share, message in pairs)
