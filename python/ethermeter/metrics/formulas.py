"""Formulas of metrics over arrays, for simulated and live trials.

Intervals apply them to the counts with one batch left out.

The last axis is that of stations or of flows; axes before it are those of trials and batches.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ethermeter.metrics.registry import Metric

Floats = npt.NDArray[np.float64]


def sample_sd(values: Floats) -> Floats:
    """Sample standard deviation (divisor n - 1) over the last axis; NaN for a single value."""
    if values.shape[-1] < 2:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.std(axis=-1, ddof=1), dtype=np.float64)


def weighted_mean(weights: Floats, means: Floats) -> Floats:
    """Mean over all samples of the last axis, from counts and means of stations or flows.

    Parameters
    ----------
    weights
        Samples of each; those without any, or NaN, are left out, whatever their mean.
    means
        Mean of each, the same shape.

    Returns
    -------
    :
        NaN if there are no samples at all.

    """
    some = weights > 0
    weights = np.where(some, weights, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            (weights * np.where(some, means, 0.0)).sum(axis=-1) / weights.sum(axis=-1),
            dtype=np.float64,
        )


def jain_index(shares: Floats) -> Floats:
    """Jain's index of the last axis: 1 when all shares are equal, 1/n when one has everything.

    Parameters
    ----------
    shares
        Not negative; shape `(…, stations)`.

    Returns
    -------
    :
        (sum x)^2 / (n sum x^2), dimensionless, shape `(…)`; NaN where every share is 0.

    Source
    ------
    Jain, Chiu and Hawe, DEC-TR-301, 1984, equation 2.

    Examples
    --------
    >>> float(jain_index(np.array([2.0, 2.0, 2.0, 2.0])))
    1.0
    >>> float(jain_index(np.array([1.0, 0.0, 0.0, 0.0])))
    0.25
    """
    if shares.shape[-1] < 1:
        raise ValueError("shares must be at least one, got none")
    # Scaled first, so that squares of very large or small shares neither overflow nor vanish.
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = shares / shares.max(axis=-1, keepdims=True)
        return np.asarray(
            scaled.sum(axis=-1) ** 2 / (shares.shape[-1] * np.square(scaled).sum(axis=-1)),
            dtype=np.float64,
        )


def station_rates(
    utilisation: Floats, bit_rate: Floats, packet_rate: Floats
) -> dict[Metric, Floats]:
    """Return what follows for a whole segment from the rates of its stations."""
    bit_rate_sd = sample_sd(bit_rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            Metric.UTILISATION: utilisation.sum(axis=-1),
            Metric.BIT_RATE: bit_rate.sum(axis=-1),
            Metric.BIT_RATE_SD: bit_rate_sd,
            Metric.PACKET_RATE: packet_rate.sum(axis=-1),
            Metric.PACKET_RATE_SD: sample_sd(packet_rate),
            Metric.UTILISATION_SD_OVER_MEAN: bit_rate_sd / bit_rate.mean(axis=-1),
            Metric.JAIN_INDEX: jain_index(bit_rate),
        }


def flow_rates(
    counts: Mapping[str, Floats], counted_s: Floats, *, is_transfer: npt.NDArray[np.bool_]
) -> dict[Metric, Floats]:
    """Return the rates of flows.

    Parameters
    ----------
    counts
        By the names of `ethermeter.store.rows.BATCH_COUNTS`; shape `(…, flows)`.
    counted_s
        Time in which they were counted, in s; shape `(…, 1)`.
    is_transfer
        Whether a flow is a transfer, whose data are those of its job.

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

    Parameters
    ----------
    wanted, arrived
        Messages offered times receivers, and messages delivered.
    is_lossless
        Whether a flow lost nothing in the whole trial, so that what did not arrive was under way.

    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(is_lossless, 0.0, 1 - arrived / wanted)
    return np.where(wanted > 0, share, np.nan)
