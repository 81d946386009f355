"""PLCA: values of every metric of a segment of 10BASE-T1S and of its nodes."""

import math

import numpy as np

from ethermeter.counts import Buckets, Counts, Delays, Floats
from ethermeter.engines.table import Table
from ethermeter.metrics import Group, Metric, caution_mask, definition_of, percentiles
from ethermeter.metrics.formulas import PS_PER_S, quantiles
from ethermeter.store.rows import PLCA_METRICS, PLCA_STATION_METRICS

_OF_NODES = {
    Metric.OPPORTUNITIES_USED: "used",
    Metric.OPPORTUNITIES_YIELDED: "yielded",
    Metric.OPPORTUNITIES_MISSED: "missed",
    Metric.LOGICAL_COLLISIONS: "logical_collisions",
    Metric.BURST_FRAMES: "burst_frames",
    Metric.BEACONS_LOST: "beacons_lost",
    Metric.STATUS_CHANGES: "status_changes",
}
"""Counts of nodes by their field of `PlcaNodeCounts`."""
_SHARES = (Metric.TIME_BEACON, Metric.TIME_COMMIT, Metric.TIME_OPPORTUNITY)
"""Shares of channel time in the order of `PlcaCounts.time_ps`."""
_EXACT = {metric for metric in PLCA_METRICS if not definition_of(metric, Group.PLCA).is_estimate}


def plca_table(counts: Counts) -> Table:
    """Return the value of every metric of PLCA, of each node and of all together."""
    plca = counts.medium.plca
    assert plca is not None, "the core counts cycles of such a segment"
    frames = np.asarray(counts.stations.frames, np.float64)
    of_each = {
        metric: np.asarray(getattr(plca.nodes, name), np.float64)
        for metric, name in _OF_NODES.items()
    }
    of_all = {metric: float(values.sum()) for metric, values in of_each.items()}
    longest_ps = plca.nodes.access_max_ps, plca.nodes.attempt_max_ps
    access_max_s, attempt_max_s = (
        np.where(frames > 0, times_ps / PS_PER_S, np.nan) for times_ps in longest_ps
    )
    of_each |= {Metric.ACCESS_DELAY_MAX: access_max_s, Metric.ATTEMPT_DELAY_MAX: attempt_max_s}
    ok = np.asarray(plca.nodes.ok_ps, np.float64) / counts.window_ps
    of_each[Metric.TIME_STATUS_OK] = ok
    of_all |= {
        Metric.TIME_STATUS_OK: float(ok.mean()),
        Metric.OPPORTUNITIES: float(plca.opportunities[0]),
        Metric.CYCLES: float(plca.cycle.count[0]),
        Metric.ATTEMPT_DELAY: _mean_s(plca.access_from_attempt),
        Metric.CYCLE_TIME: _mean_s(plca.cycle),
        **_ranks("access_delay", counts.medium.access_delay, max(longest_ps[0])),
        **_ranks("attempt_delay", plca.access_from_attempt.buckets, max(longest_ps[1])),
        **_ranks("cycle_time", plca.cycle.buckets, plca.cycle.max_ps[0]),
        **dict(zip(_SHARES, (plca.time_ps / counts.window_ps).tolist(), strict=True)),
    }
    cycles = np.asarray(plca.cycle.count, np.float64)
    mask = np.uint64(caution_mask(counts.cautions))

    def samples(metric: Metric) -> Floats | None:
        if metric in _EXACT:
            return None
        return cycles if metric.startswith("cycle_time") else frames

    return Table(
        PLCA_METRICS,
        PLCA_STATION_METRICS,
        of_all,
        of_each,
        samples,
        mask,
        np.full(len(frames), mask),
    )


def _mean_s(delays: Delays) -> float:
    return float(delays.sum_ps[0] / delays.count[0] / PS_PER_S)


def _ranks(time: str, buckets: Buckets, longest_ps: float) -> dict[Metric, float]:
    """Return percentiles of a time, and its largest value, which is known exactly."""
    *ranks, _ = quantiles(buckets)
    largest = float(longest_ps) / PS_PER_S if buckets.count.any() else math.nan
    return dict(zip(percentiles(time), (*ranks, largest), strict=True))
