"""Voice of stations on a medium: what was counted of samples as values of metrics."""

import numpy as np

from ethermeter.counts import Counts, Floats
from ethermeter.engines.table import Table
from ethermeter.metrics import Metric, caution_mask, percentiles
from ethermeter.metrics.formulas import PS_PER_S, quantiles, weighted_mean
from ethermeter.scenario import Arrivals, CoderArrivals, Lengths, SamplesLengths, Scenario
from ethermeter.stations import medium_of, per_station, talking_share
from ethermeter.store.rows import VOICE_METRICS, VOICE_STATION_METRICS

COUNTS = (
    Metric.SAMPLES_OFFERED,
    Metric.SAMPLES_DELIVERED,
    Metric.SAMPLES_LOST,
    Metric.SAMPLES_BUFFERED,
)


def station_voice_table(scenario: Scenario, counts: Counts) -> Table:
    """Return the value of every metric of voice, of each station and of all together.

    Stations without a coder have counts and shares of 0; means of theirs are NaN.
    """
    stations = counts.stations
    voice = stations.voice
    assert voice is not None, "the core counts the samples of coders"
    talks = per_station(scenario, lambda group: group.has_coder) > 0
    frames = np.where(talks, stations.frames, 0.0)
    overhead = per_station(scenario, lambda group: _overhead_bits(group.flow.frames))
    payload = np.where(talks, stations.bits - stations.frames * overhead, 0.0)
    bit_ps = medium_of(scenario).bit_ps
    counted = (
        voice.samples,
        voice.samples_delivered,
        voice.samples_lost,
        voice.samples_buffered,
    )
    of_each = {
        metric: np.asarray(values, np.float64)
        for metric, values in zip(COUNTS, counted, strict=True)
    }
    of_each |= {
        Metric.VOICE_DELAY: voice.voice_delay_ps / voice.voice_frames / PS_PER_S,
        Metric.SAMPLE_DELAY: voice.sample_delay_ps / voice.samples_sent / PS_PER_S,
        Metric.VOICE_LOAD: per_station(
            scenario, lambda group: _coder_load(group.flow.arrivals, bit_ps=bit_ps)
        ),
        Metric.VOICE_UTILISATION: payload * bit_ps / counts.window_ps,
    }
    added = (*COUNTS, Metric.VOICE_LOAD, Metric.VOICE_UTILISATION)
    of_all = {metric: float(of_each[metric].sum()) for metric in added}
    lost, delivered = of_each[Metric.SAMPLES_LOST], of_each[Metric.SAMPLES_DELIVERED]
    of_each[Metric.SAMPLE_LOSS] = lost / (lost + delivered)
    of_all[Metric.SAMPLE_LOSS] = float(lost.sum() / (lost.sum() + delivered.sum()))
    # Samples of the frames, and what a spurt left a frame short of.
    sample_bits = per_station(scenario, lambda group: _sample_bits(group.flow.arrivals))
    of_all |= {
        Metric.VOICE_DELAY: float(weighted_mean(frames, of_each[Metric.VOICE_DELAY])),
        Metric.SAMPLE_DELAY: float(
            weighted_mean(payload / sample_bits, of_each[Metric.SAMPLE_DELAY])
        ),
        **_unfairness(of_each[Metric.VOICE_DELAY]),
        **dict(zip(percentiles("voice_delay"), quantiles(voice.voice_delay), strict=True)),
        **dict(zip(percentiles("sample_delay"), quantiles(voice.sample_delay), strict=True)),
    }
    mask = np.uint64(caution_mask(counts.cautions))
    return Table(
        VOICE_METRICS,
        VOICE_STATION_METRICS,
        of_all,
        of_each,
        lambda metric: None if metric in (*COUNTS, Metric.VOICE_LOAD) else frames,
        mask,
        np.full(len(frames), mask),
    )


def _sample_bits(arrivals: Arrivals) -> int:
    return arrivals.sample_bits if isinstance(arrivals, CoderArrivals) else 1


def _overhead_bits(frames: Lengths) -> int:
    return frames.overhead_bits if isinstance(frames, SamplesLengths) else 0


def _coder_load(arrivals: Arrivals, *, bit_ps: int) -> float:
    """Return the share of the line rate that a coder's samples take; 0 for other arrivals.

    Silence is included in the mean.
    """
    if not isinstance(arrivals, CoderArrivals):
        return 0.0
    return talking_share(arrivals) * arrivals.sample_bits * bit_ps / arrivals.sample_ps


def _unfairness(delay_s: Floats) -> dict[Metric, float]:
    """Return the least and the largest mean delay of a station, over the mean of these means."""
    known = delay_s[np.isfinite(delay_s)]
    least, most = (
        (known.min() / known.mean(), known.max() / known.mean())
        if known.size
        else (float("nan"), float("nan"))
    )
    return {Metric.VOICE_DELAY_RATIO_MIN: float(least), Metric.VOICE_DELAY_RATIO_MAX: float(most)}
