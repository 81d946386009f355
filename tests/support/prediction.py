"""Interval for one more value of the same chance."""

import numpy as np
from scipy import stats


def prediction(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """Mean and half-width of the interval for one more value like these, by Student's t."""
    count = len(values)
    quantile = stats.t.ppf((1 + confidence) / 2, count - 1)
    return values.mean(), quantile * values.std(ddof=1) * np.sqrt(1 + 1 / count)
