"""Voice: what the core counted of samples, turned into observations."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ethermeter.engines.quantiles import quantiles
from ethermeter.metrics import Metric, percentiles
from ethermeter.metrics.formulas import weighted_mean
from ethermeter.scenario import Arrivals, CoderArrivals, Lengths, SamplesLengths, Scenario
from ethermeter.stations import medium_of, per_station, talking_share
from ethermeter.store.rows import VOICE_HISTOGRAMS, Floats

COUNTS = {
    Metric.SAMPLES_OFFERED: "station_samples",
    Metric.SAMPLES_DELIVERED: "station_samples_delivered",
    Metric.SAMPLES_LOST: "station_samples_lost",
    Metric.SAMPLES_BUFFERED: "station_samples_buffered",
}
NOT_ESTIMATED_FROM_FRAMES = {*COUNTS, Metric.VOICE_LOAD}
"""Counts and parameters are what they are, however few frames came through."""


def talks(scenario: Scenario) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each station has a coder, shape (stations,)."""
    return per_station(scenario, lambda group: group.has_coder) > 0


def station_values(scenario: Scenario, result: Mapping[str, Any]) -> dict[Metric, Floats]:
    """Value of every per-station metric of voice, shape (stations,).

    Stations without a coder have counts and shares of 0; what is a mean of theirs is NaN.
    """
    count = {metric: np.asarray(result[name]).astype(np.float64) for metric, name in COUNTS.items()}
    lost = count[Metric.SAMPLES_LOST]
    bit_ps = medium_of(scenario).bit_ps
    return count | {
        Metric.SAMPLE_LOSS: lost / (lost + count[Metric.SAMPLES_DELIVERED]),
        Metric.VOICE_DELAY: np.asarray(result["station_voice_delay_s"], np.float64),
        Metric.SAMPLE_DELAY: np.asarray(result["station_sample_delay_s"], np.float64),
        Metric.VOICE_LOAD: per_station(
            scenario, lambda group: _coder_load(group.flow.arrivals, bit_ps=bit_ps)
        ),
        Metric.VOICE_UTILISATION: _payload_bits(scenario, result) * bit_ps / result["window_ps"],
    }


def whole_values(
    scenario: Scenario, result: Mapping[str, Any], station: Mapping[Metric, Floats]
) -> dict[Metric, float]:
    """Value of every metric of voice for all stations together."""
    frames = np.where(talks(scenario), np.asarray(result["station_frames"]).astype(np.float64), 0.0)
    # Samples, and what a spurt left a frame short of: the core says how many samples there were of
    # all stations together only.
    samples = _payload_bits(scenario, result) / per_station(
        scenario, lambda group: _sample_bits(group.flow.arrivals)
    )
    added = {
        metric: float(station[metric].sum())
        for metric in (*COUNTS, Metric.VOICE_LOAD, Metric.VOICE_UTILISATION)
    }
    decided = added[Metric.SAMPLES_LOST] + added[Metric.SAMPLES_DELIVERED]
    values = added | {
        Metric.SAMPLE_LOSS: added[Metric.SAMPLES_LOST] / decided if decided else float("nan"),
        Metric.VOICE_DELAY: float(weighted_mean(frames, station[Metric.VOICE_DELAY])),
        Metric.SAMPLE_DELAY: float(weighted_mean(samples, station[Metric.SAMPLE_DELAY])),
        **_unfairness(station[Metric.VOICE_DELAY]),
    }
    for name in VOICE_HISTOGRAMS:
        values |= dict(
            zip(percentiles(name), quantiles(result["histograms"].get(name)), strict=True)
        )
    return values


def _sample_bits(arrivals: Arrivals) -> int:
    return arrivals.sample_bits if isinstance(arrivals, CoderArrivals) else 1


def _overhead_bits(frames: Lengths) -> int:
    return frames.overhead_bits if isinstance(frames, SamplesLengths) else 0


def _coder_load(arrivals: Arrivals, *, bit_ps: int) -> float:
    """Share of the line rate that a coder's samples alone would take, silence included in the mean;
    0 for other arrivals.
    """
    if not isinstance(arrivals, CoderArrivals):
        return 0.0
    return talking_share(arrivals) * arrivals.sample_bits * bit_ps / arrivals.sample_ps


def _payload_bits(scenario: Scenario, result: Mapping[str, Any]) -> Floats:
    """Bits of the voice frames that ended in the window, without their overhead; 0 for other
    stations. Shape (stations,).
    """
    bits, frames = (
        np.asarray(result[f"station_{name}"]).astype(np.float64) for name in ("bits", "frames")
    )
    overhead = per_station(scenario, lambda group: _overhead_bits(group.flow.frames))
    payload: Floats = np.where(talks(scenario), bits - frames * overhead, 0.0)
    return payload


def _unfairness(delay_s: Floats) -> dict[Metric, float]:
    """Smallest and largest mean delay of a station over the mean of these means, those that
    delivered something.
    """
    known = delay_s[np.isfinite(delay_s)]
    least, most = (
        (known.min() / known.mean(), known.max() / known.mean())
        if known.size
        else (float("nan"), float("nan"))
    )
    return {Metric.VOICE_DELAY_RATIO_MIN: float(least), Metric.VOICE_DELAY_RATIO_MAX: float(most)}
