"""Stations: values of every metric of the stations on a medium, and of voice on it."""

import math

import numpy as np

from ethermeter.counts import Counts, Floats, StationCounts
from ethermeter.engines.table import Table
from ethermeter.metrics import Caution, Group, Metric, caution_mask, definition_of, percentiles
from ethermeter.metrics.formulas import PS_PER_S, quantiles, weighted_mean
from ethermeter.metrics.station_formulas import StationSums
from ethermeter.scenario import Arrivals, CoderArrivals, SamplesLengths, SaturatedArrivals, Scenario
from ethermeter.station_groups import constants_of, mean_bits, medium_of, per_station, talking_share
from ethermeter.store.rows import METRICS, STATION_METRICS, VOICE_METRICS, VOICE_STATION_METRICS

DEFINITIONS = {metric: definition_of(metric, Group.SEGMENT) for metric in METRICS}
EXACT = {metric for metric, found in DEFINITIONS.items() if not found.is_estimate}
OF_EACH, OF_ALL = (
    [
        (metric, found.formula)
        for metric, found in DEFINITIONS.items()
        if found.formula is not None and found.is_of_each is is_of_each
    ]
    for is_of_each in (True, False)
)
"""Metrics of each station and of all, and metrics of all only, with their formulas."""


COUNTS = (
    Metric.SAMPLES_OFFERED,
    Metric.SAMPLES_DELIVERED,
    Metric.SAMPLES_LOST,
    Metric.SAMPLES_BUFFERED,
)
"""Counts of samples: exact, however few frames there were."""
GROWTH_SHARE, LEAST_GROWTH = 0.01, 2.0
"""Growth of queues from which they are not in balance: over the frames that came, and by station.
"""


def station_table(scenario: Scenario, counts: Counts) -> Table:
    """Return the value of every metric of a medium and of its stations."""
    sums = station_sums(scenario, counts)
    with_total = sums.with_total()
    of_each: dict[Metric, Floats] = {}
    of_all = dict(
        zip(percentiles("delay"), quantiles(counts.medium.transmission_delay), strict=True)
    )
    for metric, formula in OF_EACH:
        found = formula(with_total)
        of_each[metric] = found[:-1]
        of_all[metric] = float(found[-1])
    of_all |= {metric: float(formula(sums)) for metric, formula in OF_ALL}
    frames = np.asarray(counts.stations.frames, np.float64)
    mask = np.uint64(caution_mask(counts.cautions))
    if Caution.UNBOUNDED_QUEUE not in counts.cautions and is_growing(scenario, counts.stations):
        mask |= caution_mask([Caution.GROWING_QUEUE])
    return Table(
        METRICS,
        STATION_METRICS,
        of_all,
        of_each,
        lambda metric: None if metric in EXACT else frames,
        mask,
        np.full(len(frames), mask),
    )


def is_growing(scenario: Scenario, counts: StationCounts) -> bool:
    """Return whether queues of stations grew in the window.

    What a medium carries beside contention is not known before. So its queues grew if more frames
    came than left by `GROWTH_SHARE` of those that came, and by `LEAST_GROWTH` a station.
    """
    has_queue = per_station(
        scenario,
        lambda group: not isinstance(group.flow.arrivals, SaturatedArrivals | CoderArrivals),
    ).astype(bool)
    left = counts.frames + counts.discarded + counts.dropped
    came, grown = (float(of[has_queue].sum()) for of in (counts.offered, counts.offered - left))
    return grown > GROWTH_SHARE * came and grown >= LEAST_GROWTH * int(has_queue.sum())


def station_sums(scenario: Scenario, counts: Counts) -> StationSums:
    """Return what formulas need of stations: their counts in the window, and their parameters."""
    it = counts.stations
    saturated = per_station(
        scenario, lambda group: isinstance(group.flow.arrivals, SaturatedArrivals)
    )
    mac, bit_ps = constants_of(scenario), medium_of(scenario).bit_ps
    # From the bits delivered and not from the charged time in the window, which begins and ends
    # within a packet. A station that delivered nothing is charged the mean of what it would have
    # sent.
    meant = per_station(scenario, lambda group: mean_bits(group.flow.frames))
    bits = np.where(it.frames > 0, it.bits / it.frames, meant)
    return StationSums(
        window_ps=np.array([float(counts.window_ps)]),
        bit_ps=np.array([float(bit_ps)]),
        packet_s=(bits + mac.preamble_bits + mac.gap_bits) * (bit_ps / PS_PER_S),
        frames=it.frames,
        charged_ps=it.charged_ps,
        delay_ps=it.delay_ps,
        delay_ps2=it.delay_ps2,
        bits=it.bits,
        collisions=it.collisions,
        late_collisions=it.late_collisions,
        discarded=it.discarded,
        resumed=it.resumed,
        dropped=it.dropped,
        damaged=it.damaged,
        access_ps=it.access_ps,
        response_ps=it.response_ps,
        waiting_ps=it.waiting_ps,
        wanted=np.where(saturated > 0, it.frames + it.discarded, it.offered),
        offered_load=it.offered_load,
        medium=counts.medium,
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
    overhead = per_station(
        scenario,
        lambda group: (
            of.overhead_bits if isinstance(of := group.flow.frames, SamplesLengths) else 0
        ),
    )
    payload = np.where(talks, stations.bits - stations.frames * overhead, 0.0)
    bit_ps = medium_of(scenario).bit_ps
    samples = voice.samples, voice.samples_delivered, voice.samples_lost, voice.samples_buffered
    of_each = dict(zip(COUNTS, np.array(samples, np.float64), strict=True))
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
    sample_bits = per_station(
        scenario,
        lambda group: of.sample_bits if isinstance(of := group.flow.arrivals, CoderArrivals) else 1,
    )
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
    ratios = [known.min(), known.max()] / known.mean() if known.size else (math.nan, math.nan)
    metrics = (Metric.VOICE_DELAY_RATIO_MIN, Metric.VOICE_DELAY_RATIO_MAX)
    return dict(zip(metrics, map(float, ratios), strict=True))
