"""Fairness of shares."""

import numpy as np

from ethermeter.analysis.interval import Floats


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
