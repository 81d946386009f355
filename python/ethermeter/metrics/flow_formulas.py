"""Formulas of the metrics of flows, for simulated and live trials.

Intervals apply them to the counts with one batch left out. The last axis is that of flows; axes
before it are those of trials and batches.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats
from ethermeter.metrics.registry import Metric


def flow_rates(
    counts: Mapping[str, Floats], counted_s: Floats, *, is_transfer: npt.NDArray[np.bool_]
) -> dict[Metric, Floats]:
    """Return the rates of flows, from counts by the names of `ethermeter.store.rows.BATCH_COUNTS`.

    Counts have the shape `(…, flows)`, the time in which they were counted `(…, 1)`. The data of a
    transfer are those of its job.
    """
    data_octets = np.where(is_transfer, counts["moved_octets"], counts["data_octets"])
    return {
        Metric.OFFERED_RATE: counts["offered"] / counted_s,
        Metric.MESSAGE_RATE: counts["messages"] / counted_s,
        Metric.FRAME_RATE: counts["frames"] / counted_s,
        Metric.GOODPUT: 8 * counts["octets"] / counted_s,
        Metric.DATA_RATE: 8 * data_octets / counted_s,
    }


def flow_loss(wanted: Floats, arrived: Floats, *, is_lossless: npt.NDArray[np.bool_]) -> Floats:
    """Return the share of messages that did not arrive, of each flow; NaN if none was wanted.

    `wanted` is messages offered times receivers. Whatever did not arrive of a lossless flow, which
    lost nothing in the whole trial, was under way.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(is_lossless, 0.0, 1 - arrived / wanted)
    return np.where(wanted > 0, share, np.nan)
