"""Capture: how unequally two stations share a segment, and for how long."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.analysis.batches import unknown, within
from ethermeter.analysis.estimates import Point, grouped, summarised
from ethermeter.analysis.groups import PART
from ethermeter.analysis.tables import Trial, batch_sums
from ethermeter.metrics import Metric

if TYPE_CHECKING:
    import pyarrow as pa


def larger_shares(trials: Sequence[Trial], batches: "pa.Table") -> tuple[Point, ...]:
    """Estimate the larger of two stations' shares of the channel time they used.

    Over the measured window, and over each of its batches: two points for every point, "the window"
    and "one batch" under `PART`; the share stands as `Metric.UTILISATION`. Half is a fair division.
    A share that is near half over the window and near one over a batch is capture that changes
    sides.

    Every trial has two stations. The interval is by replications; from fewer than three there is
    one for a batch only, whose share is a mean over the batches.
    """
    window, batch = np.full(len(trials), np.nan), np.full(len(trials), np.nan)
    errors = unknown(len(trials))
    for positions, sums in batch_sums(batches, trials):
        with np.errstate(divide="ignore", invalid="ignore"):
            total = sums.charged_s.sum(axis=1)
            window[positions] = total.max(axis=-1) / total.sum(axis=-1)
            shares = sums.charged_s.max(axis=-1) / sums.charged_s.sum(axis=-1)
        count = shares.shape[1]
        batch[positions] = shares.mean(axis=-1)
        if count > 1:
            errors.put(
                positions, within((shares.sum(axis=-1, keepdims=True) - shares) / (count - 1))
            )
    points, firsts, replications = grouped(trials)
    found = {
        "the window": summarised(window, points, replications, within=None),
        "one batch": summarised(batch, points, replications, within=errors),
    }
    return tuple(
        Point(
            trials[first].series,
            {**trials[first].point, PART: name},
            trials[first].engine,
            replications[at],
            {Metric.UTILISATION: values[at]},
        )
        for at, first in enumerate(firsts)
        for name, values in found.items()
    )
