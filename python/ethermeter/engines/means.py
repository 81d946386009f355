"""Means of parts together: of flows, of stations."""

from ethermeter.store.rows import Floats


def weighted_mean(weights: Floats, means: Floats) -> float:
    """Mean over all that parts counted, from the parts' means.

    Parameters
    ----------
    weights
        How much each part counted, shape (parts,). Those with nothing, or NaN, are left out,
        whatever their mean.
    means
        Mean of each part, the same shape.

    Returns
    -------
    :
        NaN if no part counted anything.

    """
    some = weights > 0
    total = float(weights[some].sum())
    return float((weights[some] * means[some]).sum()) / total if total else float("nan")
