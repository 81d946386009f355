"""Formulas of the metrics of stations on a medium, from what the stations counted.

A formula of a station takes `StationSums` of shape `(…, stations)` and returns that shape; of the
total of the stations it gives the value of all together. A formula of the segment returns the shape
`(…)`. From the counts of the window they give the value, from the sums of its batches with
one of them left out the estimate of its error.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ethermeter.counts import Exact, Floats, MediumCounts, Numbers
from ethermeter.metrics.formulas import jain_index, sample_sd, sd_of_sums

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True, eq=False)
class StationSums:
    """What stations counted in a time, and their parameters; NaN what is not counted by batch.

    The shape of counts is `(…, stations)`, as in `ethermeter.counts.StationCounts`.

    Parameters
    ----------
    window_ps, bit_ps
        The time, and that of a bit on the medium; shape `(…, 1)`.
    packet_s
        Mean charged time of a frame in s: preamble, frame and gap.
    wanted
        Frames that losses are counted against: what a source offered, or what a saturated
        transmitter finished with.
    offered_load
        Share of the line rate that a station would use alone.
    medium
        What the medium counted; None of batches.
    """

    window_ps: Floats
    bit_ps: Floats
    packet_s: Floats
    frames: Numbers
    charged_ps: Numbers
    delay_ps: Numbers
    delay_ps2: Exact | Floats
    bits: Numbers | float = math.nan
    collisions: Numbers | float = math.nan
    late_collisions: Numbers | float = math.nan
    discarded: Numbers | float = math.nan
    resumed: Numbers | float = math.nan
    dropped: Numbers | float = math.nan
    damaged: Numbers | float = math.nan
    access_ps: Numbers | float = math.nan
    response_ps: Numbers | float = math.nan
    waiting_ps: Numbers | float = math.nan
    wanted: Numbers | float = math.nan
    offered_load: Numbers | float = math.nan
    medium: MediumCounts | None = None

    def with_total(self) -> "StationSums":
        """Add the total of the stations as the last of them; shape `(…, stations + 1)`."""
        counted = [name for name in _COUNTS if np.ndim(getattr(self, name))]
        values = np.array([getattr(self, name) for name in counted], np.float64)
        added = dict(zip(counted, _with_sum(values), strict=True))
        # Exactly, for the standard deviation.
        added |= {name: _with_sum(getattr(self, name)) for name in ("delay_ps", "delay_ps2")}
        return replace(self, **added)


_COUNTS = tuple(
    of.name
    for of in fields(StationSums)
    if of.name not in ("window_ps", "bit_ps", "packet_s", "delay_ps", "delay_ps2", "medium")
)


def _with_sum(values: Any) -> Any:
    return np.concatenate([values, values.sum(axis=-1, keepdims=True)], axis=-1)


Formula = Callable[[StationSums], Floats]


def count(name: str) -> Formula:
    """Return what is counted under a name."""
    return lambda sums: np.asarray(getattr(sums, name), np.float64)


def per_frame(name: str) -> Formula:
    """Return what is counted under a name for each frame delivered."""
    return lambda sums: _ratio(getattr(sums, name), sums.frames)


def mean_s(name: str) -> Formula:
    """Return the mean over frames delivered of a time that is summed in ps under a name."""
    return lambda sums: _ratio(getattr(sums, name), sums.frames) / PS_PER_S


def per_second(name: str) -> Formula:
    """Return the rate of what is counted under a name."""
    return lambda sums: _floats(getattr(sums, name)) / (sums.window_ps / PS_PER_S)


def share_of_window(name: str) -> Formula:
    """Return the share of the window that a sum of times in ps is."""
    return lambda sums: _floats(getattr(sums, name)) / sums.window_ps


def share_of_medium(kind: int) -> Formula:
    """Return the share of the window that the medium spent on a kind of time."""

    def share(sums: StationSums) -> Floats:
        assert sums.medium is not None, "no times of the medium by batch"
        return np.asarray(float(sums.medium.time_ps[kind]) / sums.window_ps[..., 0])

    return share


def bit_rate(sums: StationSums) -> Floats:
    """Return the utilisation times the line rate."""
    rate: Floats = _floats(sums.charged_ps) / sums.window_ps * (PS_PER_S / sums.bit_ps)
    return rate


def delay_sd(sums: StationSums) -> Floats:
    """Return the sample standard deviation of the transmission delay over frames, in s."""
    return sd_of_sums(sums.frames, sums.delay_ps, sums.delay_ps2) / PS_PER_S


def excess_delay(sums: StationSums) -> Floats:
    """Return the mean delay beyond the time in which each station sends a frame, in s."""
    delay_ps = _floats(sums.delay_ps).sum(axis=-1) / _floats(sums.frames).sum(axis=-1)
    found: Floats = delay_ps / PS_PER_S - sums.packet_s.sum(axis=-1)
    return found


def attempts_per_frame(sums: StationSums) -> Floats:
    """Return the attempts ended for each frame delivered.

    An attempt ends as a frame or as a collision; those begun but not ended are not counted.
    """
    return _ratio(_floats(sums.frames) + sums.collisions, sums.frames)


def loss(sums: StationSums) -> Floats:
    """Return the frames dropped or discarded over those wanted."""
    return _ratio(_floats(sums.dropped) + sums.discarded, sums.wanted)


def spread(of: Formula) -> Formula:
    """Return the sample standard deviation over stations; 0 of one station."""

    def sd(sums: StationSums) -> Floats:
        values = of(sums)
        return sample_sd(values) if values.shape[-1] > 1 else np.zeros(values.shape[:-1])

    return sd


def spread_over_mean(sums: StationSums) -> Floats:
    """Return the standard deviation of the stations' bit rates over their mean."""
    found: Floats = spread(bit_rate)(sums) / bit_rate(sums).mean(axis=-1)
    return found


def fairness(sums: StationSums) -> Floats:
    """Return Jain's index of the stations' bit rates."""
    return jain_index(bit_rate(sums))


def _floats(values: Numbers | float) -> Floats:
    return np.asarray(values, np.float64)


def _ratio(counted: Numbers | float, samples: Numbers | float) -> Floats:
    """Return what was counted for each sample; NaN without any."""
    return np.where(np.asarray(samples) > 0, _floats(counted) / samples, np.nan)
