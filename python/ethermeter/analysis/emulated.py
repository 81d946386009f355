"""Emulated: how well the medium of a measured segment kept to its time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ethermeter.store.result import Result

_NS = 1e-9


@dataclass(frozen=True, slots=True)
class EmulatedMedium:
    """What the relay of a testbed reported of the medium that it emulated in a trial.

    Parameters
    ----------
    arrived
        Frames that came to the cards of all stations.
    violations
        Those of which the relay learnt after it had decided what happened at their time.
    starved
        Times that a saturated host had no frame ready.
    lost
        Frames that did not reach the medium or a host.
    processors
        Processor time of the relay over the time meanwhile.
    offset_s, lag_s
        Declared delay of deliveries, and that of decisions.
    noticed_p99_s
        How long after the kernel's timestamp a frame was noticed; 99th percentile.
    buckets
        How long after its due time a frame reached its host: low and high in s, and count, in
        rising order.
    worst_s
        The largest of these times.

    """

    arrived: int
    violations: int
    starved: int
    lost: int
    processors: float
    offset_s: float
    lag_s: float
    noticed_p99_s: float
    buckets: tuple[tuple[float, float, int], ...]
    worst_s: float

    @property
    def violated(self) -> float:
        """Violations over the frames that arrived; NaN without frames."""
        return self.violations / self.arrived if self.arrived else math.nan

    def late_s(self, rank: float) -> float:
        """Lateness that a share of the deliveries does not exceed, in s; NaN without deliveries.

        It is the end of a bucket, and no more than the worst.
        """
        total = sum(count for _, _, count in self.buckets)
        below = 0
        for _, high_s, count in self.buckets:
            below += count
            if below >= rank * total:
                return min(high_s, self.worst_s)
        return math.nan


def emulated(result: Result) -> EmulatedMedium | None:
    """Return what was reported of the emulated medium of a test; None without one."""
    segment = result.segment
    if segment is None:
        return None
    late, noticed_ns = segment.late_ns, segment.noticed_after_ns.p99
    return EmulatedMedium(
        arrived=sum(station.arrived for station in segment.stations),
        violations=segment.violations,
        starved=sum(station.starved for station in segment.stations),
        lost=sum(segment.dropped.values()),
        processors=segment.worked_ns / segment.over_ns if segment.over_ns else math.nan,
        offset_s=segment.offset_ns * _NS,
        lag_s=segment.lag_ns * _NS,
        noticed_p99_s=math.nan if noticed_ns is None else noticed_ns * _NS,
        buckets=tuple((low * _NS, high * _NS, count) for low, high, count in late.buckets),
        worst_s=math.nan if late.max is None else late.max * _NS,
    )


def together(found: Sequence[EmulatedMedium]) -> EmulatedMedium:
    """All trials of a point as one: counts add up, times are the largest of any."""
    counts: dict[tuple[float, float], int] = {}
    for each in found:
        for low_s, high_s, count in each.buckets:
            counts[low_s, high_s] = counts.get((low_s, high_s), 0) + count
    return EmulatedMedium(
        arrived=sum(each.arrived for each in found),
        violations=sum(each.violations for each in found),
        starved=sum(each.starved for each in found),
        lost=sum(each.lost for each in found),
        processors=max(each.processors for each in found),
        offset_s=found[0].offset_s,
        lag_s=found[0].lag_s,
        noticed_p99_s=max(each.noticed_p99_s for each in found),
        buckets=tuple((low, high, count) for (low, high), count in sorted(counts.items())),
        worst_s=max(each.worst_s for each in found),
    )
