"""Clocks: one-way delays by the clocks of a simulated network's hosts as values of metrics."""

import numpy as np

from ethermeter.counts import Buckets, ClockDelays, Floats, SignedDelays, SynchronisedDelays, zeros
from ethermeter.engines.flows import of_flow_cautions
from ethermeter.engines.table import Table
from ethermeter.metrics import Caution, Metric, percentiles
from ethermeter.metrics.formulas import PS_PER_S, of_entity, quantiles, weighted_mean
from ethermeter.scenario import Scenario
from ethermeter.store.rows import CLOCK_METRICS, clock_metrics

NS_PER_S = 1e9
LARGEST = (Metric.DELAY_ERROR, Metric.DELAY_UNCERTAINTY)
"""Metrics of which the largest value is that of all flows."""
OF_ONE = (
    *(Metric.CLOCK_OFFSET, Metric.CLOCK_OFFSET_UNCERTAINTY),
    *(Metric.CLOCK_DRIFT, Metric.CLOCK_DRIFT_UNCERTAINTY),
)
"""Metrics of a clock, which have a value of all flows if one is synchronised."""


def clock_table(scenario: Scenario, delays: ClockDelays | None, *, clocks: int) -> Table:
    """Return the value of every metric of clocks, of each flow and of all.

    `delays` is None if no flow was a stream between hosts with clocks, `clocks` is that of
    `ethermeter.store.rows.clocks_of`. Flows that are not read have NaN. Values after a
    synchronisation that was not known all the time, or that contradicts itself, have the caution
    `clock-uncertain`.
    """
    flows = len(scenario.flows)
    read = zeros(SignedDelays, flows) if delays is None else delays.clock
    synchronised = None if delays is None else delays.synchronised
    if synchronised is None:
        synchronised = zeros(SynchronisedDelays, flows)
    of_each: dict[Metric, Floats] = {}
    of_all: dict[Metric, float] = {}
    for metric, times in (
        (Metric.CLOCK_DELAY, read),
        (Metric.SYNCHRONISED_DELAY, synchronised.delays),
    ):
        mean_s = times.sum_ps / times.count / PS_PER_S
        names = percentiles(metric)
        ranked = np.array([_quantiles(one) for one in of_entity(times.buckets, flows)])
        of_each |= {metric: mean_s, **{name: ranked[:, at] for at, name in enumerate(names)}}
        of_all[metric] = float(weighted_mean(np.asarray(times.count, np.float64), mean_s))
        of_all |= dict(zip(names, _quantiles(times.buckets), strict=True))
    compared = synchronised.delays.count > 0
    estimate = synchronised.estimate
    of_each |= {
        Metric.DELAY_ERROR: np.where(compared, synchronised.error_most_ps / PS_PER_S, np.nan),
        Metric.DELAY_UNCERTAINTY: synchronised.delay_uncertainty_ns / NS_PER_S,
        Metric.CLOCK_OFFSET: estimate.offset_ns / NS_PER_S,
        Metric.CLOCK_OFFSET_UNCERTAINTY: estimate.uncertainty_ns / NS_PER_S,
        Metric.CLOCK_DRIFT: estimate.drift,
        Metric.CLOCK_DRIFT_UNCERTAINTY: estimate.drift_uncertainty,
    }
    for metric in (*LARGEST, *OF_ONE):
        values = of_each[metric][compared]
        has_one = len(values) > 0 and (metric in LARGEST or len(values) == 1)
        of_all[metric] = float(values.max()) if has_one else float("nan")
    uncertain = (compared | (synchronised.unrelated > 0)) & (
        np.isnan(of_each[Metric.DELAY_UNCERTAINTY]) | (synchronised.contradictions > 0)
    )
    metrics = clock_metrics(clocks)
    timed = (Metric.CLOCK_DELAY.value, Metric.SYNCHRONISED_DELAY.value)

    def samples(metric: Metric) -> Floats | None:
        if not metric.value.startswith(timed):
            return None
        times = read if metric in CLOCK_METRICS else synchronised.delays
        return np.asarray(times.count, np.float64)

    masks = of_flow_cautions(scenario)
    return Table(
        metrics,
        metrics,
        of_all,
        of_each,
        samples,
        np.bitwise_or.reduce(masks),
        masks,
        {
            metric: (Caution.CLOCK_UNCERTAIN, uncertain)
            for metric in metrics
            if metric not in CLOCK_METRICS
        },
    )


def _quantiles(buckets: Buckets) -> tuple[float, ...]:
    """Return the quantiles of some buckets in s.

    Buckets of several receivers may overlap: then a quantile is known to the width of a bucket.
    """
    order = np.argsort(buckets.low_ps, kind="stable")
    ordered = Buckets(
        buckets.entity, buckets.low_ps[order], buckets.high_ps[order], buckets.count[order]
    )
    return quantiles(ordered)
