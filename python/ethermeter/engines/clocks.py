"""What is read of hosts' clocks in a simulated network: delays as a live test sees them, turned
into observations of flows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.engines.quantiles import quantiles
from ethermeter.engines.simulation import FEW_FRAMES
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, percentiles, without_samples
from ethermeter.metrics.formulas import weighted_mean
from ethermeter.store.rows import (
    CLOCK_METRICS,
    HISTOGRAMS,
    Floats,
    Integers,
    clock_metrics,
)

TIMES = {Metric.CLOCK_DELAY: "clock", Metric.SYNCHRONISED_DELAY: "synchronised"}
"""Name in the core of every time that has a histogram."""
FIGURES = {
    Metric.DELAY_ERROR: "error_s",
    Metric.DELAY_UNCERTAINTY: "delay_uncertainty_s",
    Metric.CLOCK_OFFSET: "offset_s",
    Metric.CLOCK_OFFSET_UNCERTAINTY: "offset_uncertainty_s",
    Metric.CLOCK_DRIFT: "drift",
    Metric.CLOCK_DRIFT_UNCERTAINTY: "drift_uncertainty",
}
"""Name in the core of every other figure."""
LARGEST = (Metric.DELAY_ERROR, Metric.DELAY_UNCERTAINTY)
"""Of these, those of which the largest speaks for all flows; a clock is not that of all flows."""


@dataclass(frozen=True, slots=True, eq=False)
class ClockRows:
    """What a trial's rows have besides, as in `TrialRows`."""

    values: Floats
    cautions: Masks
    flow: Any
    histogram: Any
    low_ps: Integers
    high_ps: Integers
    count: Integers


def observe(said: Mapping[str, Any], flows: int, *, read: int, of_flow: Masks) -> ClockRows:
    """Turn what was read of clocks into the rows of `clock_metrics`: of all flows, then of each.

    Parameters
    ----------
    said
        What the core gave back under `clocks`; empty if no flow was read.
    flows
        Flows of the trial.
    read
        What is read, as of `clocks_of`.
    of_flow
        Caution mask of every flow, shape (flows,).

    Returns
    -------
    :
        Values, cautions and histograms. Flows that are not read, and figures that nobody knows,
        have the caution `no-samples`; what is told by a comparison that was not there all the time,
        or that contradicts itself, has `clock-uncertain`.

    """
    metrics = clock_metrics(read)
    counts = {
        key: np.asarray(said.get(f"flow_{key}", np.zeros(flows))).astype(np.float64)
        for key in TIMES.values()
    }
    each: dict[Metric, Floats] = {}
    whole: dict[Metric, float] = {}
    for metric, key in TIMES.items():
        columns = [np.asarray(column).astype(np.int64) for column in said.get(key, [()] * 4)]
        mean = np.asarray(said.get(f"flow_{key}_s", np.full(flows, np.nan)), np.float64)
        names = percentiles(metric)
        ranked = np.array([_ranked(columns, columns[0] == number) for number in range(flows)])
        each |= {metric: mean, **{name: ranked[:, at] for at, name in enumerate(names)}}
        whole[metric] = float(weighted_mean(counts[key], mean))
        whole |= dict(zip(names, _ranked(columns, np.ones(len(columns[0]), np.bool_)), strict=True))
    synchronised = counts["synchronised"] > 0
    for metric, key in FIGURES.items():
        each[metric] = np.asarray(said.get(f"flow_{key}", np.full(flows, np.nan)), np.float64)
        known = each[metric][synchronised]
        is_told = len(known) > 0 and (metric in LARGEST or len(known) == 1)
        whole[metric] = float(known.max()) if is_told else float("nan")
    values = np.concatenate(
        [[whole[metric] for metric in metrics], *(each[metric] for metric in metrics)]
    ).astype(np.float64)
    present = [
        (HISTOGRAMS.index(metric.value), said[key]) for metric, key in TIMES.items() if key in said
    ]
    flow, low_ps, high_ps, count = (
        np.concatenate(
            [np.asarray(columns[part]).astype(np.int64) for _, columns in present]
            or [np.empty(0, np.int64)]
        )
        for part in range(4)
    )
    return ClockRows(
        values=values,
        cautions=_cautions(metrics, said, counts, each, of_flow, values),
        flow=flow.astype(np.int32),
        histogram=np.repeat(
            np.array([place for place, _ in present], np.uint8),
            [len(columns[3]) for _, columns in present],
        ),
        low_ps=low_ps,
        high_ps=high_ps,
        count=count,
    )


def _ranked(columns: list[Integers], chosen: Any) -> tuple[float, ...]:
    """Quantiles of some buckets in s.

    Of several receivers they may overlap: then a quantile is known to the width of a bucket.
    """
    _, low_ps, high_ps, count = (column[chosen] for column in columns)
    order = np.argsort(low_ps, kind="stable")
    *found, last = quantiles((low_ps[order], high_ps[order], count[order]))
    return (*found, float(high_ps.max()) / 1e12 if len(high_ps) else last)


def _cautions(
    metrics: tuple[Metric, ...],
    said: Mapping[str, Any],
    counts: Mapping[str, Floats],
    each: Mapping[Metric, Floats],
    of_flow: Masks,
    values: Floats,
) -> Masks:
    """Caution mask of every row."""
    flows = len(of_flow)
    heard = counts["synchronised"] + np.asarray(said.get("flow_unrelated", np.zeros(flows)))
    contradicts = np.asarray(said.get("flow_contradictions", np.zeros(flows))) > 0
    uncertain = (heard > 0) & (np.isnan(each[Metric.DELAY_UNCERTAINTY]) | contradicts)
    whole = np.full(len(metrics), np.bitwise_or.reduce(of_flow), np.uint64)
    rows = np.tile(of_flow, (len(metrics), 1))
    few, doubt = (
        caution_mask([Caution.FEW_SAMPLES]),
        caution_mask([Caution.CLOCK_UNCERTAIN]),
    )
    for at, metric in enumerate(metrics):
        is_read = metric in CLOCK_METRICS
        behind = counts["clock" if is_read else "synchronised"]
        if metric.value.startswith(tuple(TIMES)):
            rows[at] |= np.where(behind < FEW_FRAMES, few, np.uint64(0))
            whole[at] |= few if behind.sum() < FEW_FRAMES else np.uint64(0)
        if not is_read:
            rows[at] |= np.where(uncertain, doubt, np.uint64(0))
            whole[at] |= doubt if uncertain.any() else np.uint64(0)
    return without_samples(np.concatenate([whole, rows.ravel()]), values)
