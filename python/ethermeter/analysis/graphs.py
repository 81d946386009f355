"""The study's graphs as functions of four sums a station.

Frames, charged channel time, delay and squared delay.

The eight graphs of Boggs, Mogul and Kent (1988, section 3.3 and appendix I) need nothing else.
Written over whole arrays, the same functions give the value of a measurement and its values with
one batch left out.
"""

from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.interval import Floats
from ethermeter.metrics import Group, Metric, definition_of
from ethermeter.metrics.formulas import PS_PER_S
from ethermeter.metrics.station_formulas import StationSums

GRAPHS = (
    *(Metric.UTILISATION, Metric.BIT_RATE, Metric.BIT_RATE_SD, Metric.PACKET_RATE),
    *(Metric.PACKET_RATE_SD, Metric.UTILISATION_SD_OVER_MEAN, Metric.JAIN_INDEX),
    *(Metric.TRANSMISSION_DELAY, Metric.TRANSMISSION_DELAY_SD, Metric.EXCESS_DELAY),
)
"""Metrics of the whole segment that follow from these sums."""
SPREADS = (Metric.BIT_RATE_SD, Metric.PACKET_RATE_SD, Metric.UTILISATION_SD_OVER_MEAN)
"""Of these, those over stations."""


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
    """Return the whole-segment value of every metric that follows from the sums; shape `(…)`.

    NaN where it is undefined. Spreads over stations and over frames are sample standard deviations
    (divisor n - 1).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        charged_s, frames = sums.charged_s.sum(axis=-1), sums.frames.sum(axis=-1)
        found = StationSums(
            window_ps=sums.window_s[..., None] * PS_PER_S,
            bit_ps=PS_PER_S / sums.line_rate_bps[..., None],
            # Bits are not counted by batch: stations are charged the mean of all.
            packet_s=np.broadcast_to((charged_s / frames)[..., None], sums.frames.shape),
            frames=sums.frames,
            charged_ps=sums.charged_s * PS_PER_S,
            delay_ps=sums.delay_sum_s * PS_PER_S,
            delay_ps2=sums.delay_square_sum_s2 * PS_PER_S**2,
        )
        with_total = found.with_total()
        values = {
            metric: definition_of(metric, Group.SEGMENT).of_all(found, with_total)
            for metric in GRAPHS
        }
    if sums.frames.shape[-1] == 1:  # 0 by definition: batches do not estimate it
        values |= {metric: np.full_like(values[metric], np.nan) for metric in SPREADS}
    return values


def left_out(sums: Sums) -> Sums:
    """Sum all batches but one, for each, from sums by batch; same shapes.

    Given are arrays of shape `(trials, batches, stations)`, and `window_s`, the length of one
    batch, and `line_rate_bps` of shape `(trials,)`; the window becomes as much longer as there are
    batches left.
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
