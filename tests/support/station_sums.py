"""What stations counted, made by hand: frames, channel time and delays, of windows or by batch."""

from dataclasses import dataclass

import numpy as np
from ethermeter.counts import Floats
from ethermeter.metrics import EntityKind, Metric
from ethermeter.metrics.evaluation import of_all_parts
from ethermeter.metrics.slices import Slice

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Sums:
    """Of stations in the time `window_s`; shape (…, stations), of the last two fields (…)."""

    frames: Floats
    charged_s: Floats
    delay_sum_s: Floats
    delay_square_sum_s2: Floats
    window_s: Floats
    line_rate_bps: Floats


def graphs(sums: Sums) -> dict[Metric, Floats]:
    """Values of all stations together, shape (…)."""
    return of_all_parts(EntityKind.STATION, slice_of(sums, parts=1))


def graphs_left_out(sums: Sums) -> dict[Metric, Floats]:
    """The same with one batch left out, from sums of the shape (trials, batches, stations)."""
    return of_all_parts(EntityKind.STATION, slice_of(sums, parts=sums.frames.shape[1]).left_out())


def slice_of(sums: Sums, *, parts: int) -> Slice:
    """A slice of windows of so many parts."""
    lengths, rates = (
        np.reshape(of, (*np.shape(of), *[1] * (sums.frames.ndim - np.ndim(of))))
        for of in (sums.window_s, sums.line_rate_bps)
    )
    counters = {
        "frames": sums.frames,
        "charged_ps": sums.charged_s * PS_PER_S,
        "delay_ps": sums.delay_sum_s * PS_PER_S,
        "delay_ps2": sums.delay_square_sum_s2 * PS_PER_S**2,
        "bit_ps": PS_PER_S / rates,
    }
    counted_ps = lengths * PS_PER_S
    return Slice(sums.frames.shape[-1], counted_ps * parts, counters, counted_ps=counted_ps)
