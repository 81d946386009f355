"""What flows counted in a whole measured window."""

from dataclasses import replace

import numpy as np
from ethermeter.analysis.sums import FlowSums


def together(sums: FlowSums) -> FlowSums:
    """Sum all batches, from sums by batch; there is one of them then."""
    total = {
        name: np.asarray(values.sum(axis=1, keepdims=True), np.float64)
        for name, values in sums.sums.items()
    }
    return replace(
        sums,
        sums=total,
        counted_s=sums.counted_s[:, :1] * sums.counted_s.shape[1],
        window_s=sums.window_s[:, :1],
    )
