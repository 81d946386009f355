"""Pacing: lateness of the senders of a test, and the relation of the clocks of both ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ethermeter.live_reports import RequesterCounts, SenderClockState, SenderCounts
from ethermeter.store.result import Result, path_of

_PS, _NS = 1e-12, 1e-9
Buckets = tuple[tuple[int, int, int], ...]
"""Low and high in ps, count; in the order of low."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """Lateness of the messages of a flow that have a time; saturated sources have none."""

    flow: str  # Name
    messages: int  # Messages with a time
    on_time: float  # Share of them that left within 5 µs of it
    worst_s: float  # How late the latest was
    # Times that a sender at real-time priority was forced to sleep although something was due
    forced_sleeps: int
    # Whether it had real-time priority; None where it did not ask for that
    is_real_time: bool | None
    buckets: Buckets  # Histogram of the lateness

    def quantile_s(self, rank: float) -> float:
        """Lateness that a share of the messages does not exceed, in s.

        It is the end of a bucket, and no more than the worst.
        """
        total = sum(count for _, _, count in self.buckets)
        below = 0
        for _, high_ps, count in self.buckets:
            below += count
            if below >= rank * total:
                return min(high_ps * _PS, self.worst_s)
        return math.nan


@dataclass(frozen=True, slots=True)
class Clock:
    """How a sender's clock is related to a receiver's, at the middle of the measured window."""

    # flow, receiver: Names
    flow: str
    receiver: str
    # Whether it is the same clock, of which all else is NaN. False with NaN: the relation is
    # unknown.
    is_shared: bool
    # ahead_s, ahead_bound_s: How far the sender's clock is ahead, and by how much that is wrong at
    # most
    ahead_s: float = math.nan
    ahead_bound_s: float = math.nan
    # drift, drift_bound: What it gains, dimensionless, and by how much that is wrong at most
    drift: float = math.nan
    drift_bound: float = math.nan
    # By how much any measured delay is wrong at most; NaN where a relation was not known at all
    # times
    delay_bound_s: float = math.nan
    contradictions: float = math.nan  # Exchanges that contradict the line beyond their bounds


def pacings(result: Result) -> tuple[Pacing, ...]:
    """Return how late the sender of every flow of a test was; flows without times are left out."""
    found = []
    for name, flow in result.flows.items():
        counts = None if flow.sending is None else flow.sending.counted
        if not isinstance(counts, SenderCounts | RequesterCounts) or not counts.pacing.frames:
            continue
        pacing = counts.pacing
        share = pacing.share_on_time
        found.append(
            Pacing(
                flow=name,
                messages=pacing.frames,
                on_time=math.nan if share is None else share,
                worst_s=pacing.worst_ns * _NS,
                forced_sleeps=pacing.forced_sleeps,
                is_real_time=pacing.real_time,
                buckets=tuple(pacing.lateness.buckets),
            )
        )
    return tuple(found)


def together(found: Sequence[Pacing]) -> Pacing:
    """All messages of a flow in several trials together."""
    messages = sum(of.messages for of in found)
    counts: dict[tuple[int, int], int] = {}
    for of in found:
        for low_ps, high_ps, count in of.buckets:
            counts[low_ps, high_ps] = counts.get((low_ps, high_ps), 0) + count
    return replace(
        found[0],
        messages=messages,
        on_time=sum(of.on_time * of.messages for of in found) / messages,
        worst_s=max(of.worst_s for of in found),
        forced_sleeps=sum(of.forced_sleeps for of in found),
        buckets=tuple((low, high, count) for (low, high), count in sorted(counts.items())),
    )


def clocks(result: Result) -> tuple[Clock, ...]:
    """Return the relation of the clocks of both ends of every stream of a test.

    Exchanges and transfers measure no delay between clocks.
    """
    return tuple(
        _clock(name, receiver, one.clock)
        for name, flow in result.flows.items()
        for receiver, one in flow.by_receiver().items()
        if one.clock is not None
    )


def relay_lateness_s(result: Result) -> dict[str, tuple[float, float]]:
    """Greatest lateness of the relayed wires on the path of every flow, and on the way back.

    The largest of all receivers; 0 without relayed wires, NaN where it was not recorded.
    """
    hops = {
        (wire.from_, wire.towards): math.nan if wire.latest_ns is None else wire.latest_ns * _NS
        for wire in result.wires
    }

    def between(one: str, other: str) -> float:
        return sum(hops.get(hop, 0.0) for hop in path_of(hops, one, other))

    return {
        name: (
            max(between(flow.from_, receiver) for receiver in flow.by_receiver()),
            max(between(receiver, flow.from_) for receiver in flow.by_receiver()),
        )
        for name, flow in result.flows.items()
    }


def _clock(flow: str, receiver: str, clock: SenderClockState) -> Clock:
    if clock.offset_ns is None:
        return Clock(flow, receiver, is_shared=clock.shared)

    def known(value: float | None) -> float:
        return math.nan if value is None else value

    return Clock(
        flow,
        receiver,
        is_shared=False,
        ahead_s=clock.offset_ns * _NS,
        ahead_bound_s=known(clock.uncertainty_ns) * _NS,
        drift=known(clock.drift),
        drift_bound=known(clock.drift_uncertainty),
        delay_bound_s=known(clock.delay_uncertainty_ns) * _NS,
        contradictions=float(clock.contradictions),
    )
