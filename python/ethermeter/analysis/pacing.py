"""Pacing: how well the senders of a test kept the times of their sources, and how the clocks of
both ends are related.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

RANKS = (0.5, 0.99, 0.999)
"""Quantiles of the lateness that are told."""
_PS, _NS = 1e-12, 1e-9
Buckets = tuple[tuple[int, int, int], ...]
"""Low and high in ps, count; in the order of low."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """How late the messages of a flow left that had a time; saturated sources have none.

    Parameters
    ----------
    flow
        Name.
    messages
        That had a time.
    on_time
        Share of them that left within 5 µs of it.
    worst_s
        How late the latest was.
    breaths
        Rests that a sender at real-time priority took though something was due.
    is_real_time
        Whether it had that priority; None where it did not ask for it.
    buckets
        Histogram of the lateness.

    """

    flow: str
    messages: int
    on_time: float
    worst_s: float
    breaths: int
    is_real_time: bool | None
    buckets: Buckets

    def quantile_s(self, rank: float) -> float:
        """Lateness that a share of the messages does not exceed: the end of its bucket, in s, and
        no more than the worst.
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
    """How a sender's clock is related to a receiver's, at the middle of the measured window.

    Parameters
    ----------
    flow, receiver
        Names.
    is_shared
        Whether it is the same clock: then there is nothing else to tell, and all else is NaN. False
        with NaN: nothing is known of it.
    ahead_s, ahead_bound_s
        How far the sender's clock is ahead, and by how much that is wrong at most.
    drift, drift_bound
        What it gains, dimensionless, and by how much that is wrong at most.
    delay_bound_s
        By how much any measured delay is wrong at most; NaN where a relation was not known at all
        times.
    contradictions
        Exchanges that contradict the line beyond their bounds.

    """

    flow: str
    receiver: str
    is_shared: bool
    ahead_s: float = math.nan
    ahead_bound_s: float = math.nan
    drift: float = math.nan
    drift_bound: float = math.nan
    delay_bound_s: float = math.nan
    contradictions: float = math.nan


def pacings(result: Mapping[str, Any]) -> tuple[Pacing, ...]:
    """Tell how well the sender of every flow of a test kept its times; flows without times are left
    out.
    """
    found = []
    for name, flow in result["flows"].items():
        said = ((flow.get("sending") or {}).get("counted") or {}).get("pacing") or {}
        if not said.get("frames"):
            continue
        found.append(
            Pacing(
                flow=name,
                messages=int(said["frames"]),
                on_time=float(said["share_on_time"]),
                worst_s=said["worst_ns"] * _NS,
                breaths=int(said["breaths"]),
                is_real_time=said["real_time"],
                buckets=tuple(
                    (low, high, count) for low, high, count in said["lateness"]["buckets"]
                ),
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
        breaths=sum(of.breaths for of in found),
        buckets=tuple((low, high, count) for (low, high), count in sorted(counts.items())),
    )


def clocks(result: Mapping[str, Any]) -> tuple[Clock, ...]:
    """Tell how the clocks of both ends of every stream of a test are related; exchanges and
    transfers measure no delay between clocks.
    """
    found = []
    for name, flow in result["flows"].items():
        receivers = flow.get("receivers") or {str(flow.get("to")): flow}
        for receiver, said in receivers.items():
            clock = said.get("clock")
            if clock is None:
                continue
            if "offset_ns" not in clock:
                found.append(Clock(name, receiver, is_shared=bool(clock.get("shared"))))
                continue
            bound_ns = clock.get("delay_uncertainty_ns")
            found.append(
                Clock(
                    flow=name,
                    receiver=receiver,
                    is_shared=False,
                    ahead_s=clock["offset_ns"] * _NS,
                    ahead_bound_s=clock["uncertainty_ns"] * _NS,
                    drift=float(clock["drift"]),
                    drift_bound=float(clock["drift_uncertainty"]),
                    delay_bound_s=math.nan if bound_ns is None else bound_ns * _NS,
                    contradictions=float(clock["contradictions"]),
                )
            )
    return tuple(found)
