"""The study's graphs as functions of four sums a station.

Frames, charged channel time, delay and squared delay.

The eight graphs of Boggs, Mogul and Kent (1988, section 3.3 and appendix I) need nothing else.
Written over whole arrays, the same functions give the value of a measurement and its values with
one batch left out.
"""

from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.interval import Floats
from ethermeter.metrics import Metric
from ethermeter.metrics.formulas import station_rates


@dataclass(frozen=True, slots=True)
class Sums:
    """What stations counted in `window_s`.

    Every array has the shape `(…, stations)`, `window_s` and `line_rate_bps` `(…)`.
    """

    frames: Floats
    charged_s: Floats
    delay_sum_s: Floats
    delay_square_sum_s2: Floats
    window_s: Floats
    line_rate_bps: Floats


def graphs(sums: Sums) -> dict[Metric, Floats]:
    """Return the whole-segment value of every metric that follows from the sums.

    NaN where it is undefined; shape `(…)`.

    Spreads over stations and over frames are sample standard deviations (divisor n - 1).
    """
    stations = sums.frames.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate_bps = sums.charged_s / sums.window_s[..., None] * sums.line_rate_bps[..., None]
        frames = sums.frames.sum(axis=-1)
        charged_s = sums.charged_s.sum(axis=-1)
        delay_s = sums.delay_sum_s.sum(axis=-1) / frames
        spread_s2 = np.maximum(sums.delay_square_sum_s2.sum(axis=-1) - frames * delay_s**2, 0.0) / (
            frames - 1
        )
        return {
            **station_rates(
                sums.charged_s / sums.window_s[..., None],
                rate_bps,
                sums.frames / sums.window_s[..., None],
            ),
            Metric.TRANSMISSION_DELAY: delay_s,
            Metric.TRANSMISSION_DELAY_SD: np.where(frames > 1, np.sqrt(spread_s2), np.nan),
            Metric.EXCESS_DELAY: delay_s - stations * charged_s / frames,
        }


def left_out(sums: Sums) -> Sums:
    """Sum all batches but one, for each, from sums by batch.

    Parameters
    ----------
    sums
        By batch: arrays of shape `(trials, batches, stations)`; `window_s` the length of one batch,
        shape `(trials,)`, as `line_rate_bps`.

    Returns
    -------
    :
        Same shapes; element b sums all batches but b, and the window is as much shorter.
    """
    batches = sums.frames.shape[-2]

    def rest(values: Floats) -> Floats:
        return np.asarray(values.sum(axis=-2, keepdims=True) - values, dtype=np.float64)

    return Sums(
        frames=rest(sums.frames),
        charged_s=rest(sums.charged_s),
        delay_sum_s=rest(sums.delay_sum_s),
        delay_square_sum_s2=rest(sums.delay_square_sum_s2),
        window_s=np.repeat(sums.window_s[:, None] * (batches - 1), batches, axis=1),
        line_rate_bps=np.repeat(sums.line_rate_bps[:, None], batches, axis=1),
    )
