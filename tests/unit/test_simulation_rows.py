"""What the simulation engine makes of the core's counts, against hand calculation."""

import math
from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
from counted import buckets, changed, exact, integers, of_segment, squares
from ethermeter.counts import (
    Buckets,
    Counts,
    Floats,
    MediumCounts,
    StationBatches,
    StationCounts,
    zeros,
)
from ethermeter.engines.simulation import result_of
from ethermeter.metrics import Caution, EntityKind, Metric, metrics_of
from ethermeter.metrics.statistics import RANKS, pooled, quantiles, sd_of_sums
from ethermeter.scenario import Scenario
from ethermeter.store.trial_result import TrialResult
from hypothesis import given
from hypothesis import strategies as st
from result_values import cautions_in, values_in
from segments import segment

METRICS = metrics_of(EntityKind.STATION)
WINDOW_PS = 10**12
MS = 10**9
CHARGED_PS = (544 + 64 + 96) * 100_000


def scenario(*, stations=2, arrivals="saturated", frames=None):
    mean = {"mean_ps": 1e9} if arrivals == "poisson" else {}
    return segment(
        {
            "points": [0] * stations,
            "arrivals": {"kind": arrivals, **mean},
            "frames": frames or {"kind": "fixed", "bits": 544},
        }
    )


def result():
    """Two stations: 300 and 100 frames of 544 bits in a second."""
    stations = replace(
        zeros(StationCounts, 2),
        frames=integers(300, 100),
        bits=integers(300 * 544, 100 * 544),
        charged_ps=integers(300 * CHARGED_PS, 100 * CHARGED_PS),
        collisions=integers(60, 60),
        late_collisions=integers(0, 1),
        discarded=integers(0, 25),
        resumed=integers(2, 3),
        offered=integers(310, 200),
        dropped=integers(10, 75),
        delay_ps=integers(300 * MS, 100 * 3 * MS),
        delay_ps2=exact(squares(300, MS, MS // 2), squares(100, 3 * MS, MS)),
        access_ps=integers(300 * 9 * MS // 10, 100 * 29 * MS // 10),
        response_ps=integers(300 * 2 * MS, 100 * 4 * MS),
        waiting_ps=integers(WINDOW_PS * 3 // 4, WINDOW_PS // 2),
        offered_load=np.array([0.5, 0.25]),
        batches=StationBatches(
            np.array([[150, 50], [150, 50]]),
            np.array([[1, 2], [3, 4]]),
            np.array([[100, 200], [300, 400]]) * MS,
            np.array([[1.0, 2.0], [3.0, 4.0]]) * 1e24,
        ),
    )
    medium = replace(
        zeros(MediumCounts),
        time_ps=integers(
            WINDOW_PS // 2, WINDOW_PS // 10, WINDOW_PS // 10, WINDOW_PS // 5, WINDOW_PS // 10
        ),
        transmission_delay=buckets((10**6, 2 * 10**6, 300), (10**9, 3 * 10**9, 100)),
    )
    return of_segment(stations, medium, window_ps=WINDOW_PS)


Of = tuple[Scenario, TrialResult]


def observe(of: Scenario, counts: Counts) -> Of:
    return of, result_of(of, counts, core_s=0)


def whole(of: Of) -> dict[Metric, float]:
    return {metric: value for (at, metric), value in values_in(*of).items() if at < 0}


def whole_cautions(of: Of) -> dict[Metric, str]:
    return {metric: words for (at, metric), words in cautions_in(*of).items() if at < 0}


def per_station(of: Of) -> dict[Metric, Floats]:
    found: dict[Metric, list[float]] = {}
    for (at, metric), value in values_in(*of).items():
        if at >= 0:
            found.setdefault(metric, []).append(value)
    return {metric: np.array(values) for metric, values in found.items()}


def test_the_values_of_the_whole_segment_are_those_of_a_hand_calculation():
    found = whole(observe(scenario(), result()))
    utilisation = (300 * CHARGED_PS / WINDOW_PS, 100 * CHARGED_PS / WINDOW_PS)
    mean_delay_s = (300 * 1e-3 + 100 * 3e-3) / 400
    squares = (
        299 * 5e-4**2
        + 99 * 1e-3**2
        + 300 * (1e-3 - mean_delay_s) ** 2
        + 100 * (3e-3 - mean_delay_s) ** 2
    )
    expected = {
        Metric.UTILISATION: sum(utilisation),
        Metric.BIT_RATE: 1e7 * sum(utilisation),
        # Of two values the sample standard deviation is their difference over the root of two.
        Metric.BIT_RATE_SD: 1e7 * (utilisation[0] - utilisation[1]) / math.sqrt(2),
        Metric.PACKET_RATE: 400,
        Metric.PACKET_RATE_SD: 200 / math.sqrt(2),
        Metric.TRANSMISSION_DELAY: mean_delay_s,
        Metric.TRANSMISSION_DELAY_SD: math.sqrt(squares / 399),
        Metric.EXCESS_DELAY: mean_delay_s - 2 * 70.4e-6,
        Metric.UTILISATION_SD_OVER_MEAN: 200 / math.sqrt(2) / 200,
        Metric.GOODPUT: 400 * 544,
        Metric.ACCESS_DELAY: (300 * 9e-4 + 100 * 29e-4) / 400,
        Metric.RESPONSE_TIME: (300 * 2e-3 + 100 * 4e-3) / 400,
        # Rank 200 of 400 is two thirds through the first bucket of 300; rank 360 is 60 of 100 into
        # the second.
        Metric.DELAY_P50: 1e-6 + 200 / 300 * 1e-6,
        Metric.DELAY_P90: 1e-3 + 60 / 100 * 2e-3,
        Metric.DELAY_P99: 1e-3 + 96 / 100 * 2e-3,
        Metric.DELAY_P999: 1e-3 + 99.6 / 100 * 2e-3,
        Metric.DELAY_MAX: 3e-3,
        Metric.JAIN_INDEX: 400**2 / (2 * (300**2 + 100**2)),
        Metric.ATTEMPTS_PER_FRAME: 520 / 400,
        Metric.COLLISIONS_PER_FRAME: 120 / 400,
        Metric.OFFERED_LOAD_G: 0.75,
        Metric.OFFERED_LOAD_Q: 1.25,
        Metric.LOSS: (10 + 75 + 25) / (300 + 100 + 25),
        Metric.DISCARDED: 25,
        Metric.DROPPED: 85,
        Metric.RESUMED: 5,
        Metric.LATE_COLLISIONS: 1,
        Metric.DAMAGED: 0,
        Metric.FRAMES: 400,
        Metric.TIME_FRAME: 0.5,
        Metric.TIME_PREAMBLE: 0.1,
        Metric.TIME_GAP: 0.1,
        Metric.TIME_COLLISION: 0.2,
        Metric.TIME_IDLE: 0.1,
    }
    assert set(expected) == set(METRICS)
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_values_of_each_station_are_its_own():
    found = per_station(observe(scenario(), result()))
    assert found[Metric.UTILISATION] == pytest.approx(
        [300 * CHARGED_PS / WINDOW_PS, 100 * CHARGED_PS / WINDOW_PS]
    )
    assert found[Metric.COLLISIONS_PER_FRAME] == pytest.approx([0.2, 0.6])
    assert found[Metric.ATTEMPTS_PER_FRAME] == pytest.approx([1.2, 1.6])
    assert found[Metric.TRANSMISSION_DELAY] == pytest.approx([1e-3, 3e-3])
    assert found[Metric.FRAMES].tolist() == [300, 100]


def test_loss_of_a_source_counts_against_what_it_offered():
    found = observe(scenario(arrivals="poisson"), result())
    assert whole(found)[Metric.LOSS] == pytest.approx(110 / 510)
    assert per_station(found)[Metric.LOSS] == pytest.approx([10 / 310, 100 / 200])


def test_excess_delay_charges_each_station_the_frames_it_sends():
    lengths = {"kind": "mix", "bits": [544, 1088], "weights": [3, 1]}
    counts = changed(
        result(),
        frames=integers(300, 0),
        bits=integers(300 * 1000, 0),
        delay_ps=integers(300 * MS, 0),
        delay_ps2=exact(300 * MS**2, 0),
    )
    found = whole(observe(scenario(frames=lengths), counts))
    # The first by what it delivered; the second, which delivered nothing, by the mean of its mix,
    # 680 bits.
    assert found[Metric.EXCESS_DELAY] == pytest.approx(1e-3 - (1160 + 840) * 1e-7)


def test_one_station_has_no_spread():
    counts = result()
    alone = {
        of.name: getattr(counts.stations, of.name)[:1]
        for of in fields(counts.stations)
        if of.name not in ("batches", "voice", "calls", "generator")
    }
    batches = zeros(StationBatches, 2, 1)
    found = whole(observe(scenario(stations=1), changed(counts, **alone, batches=batches)))
    assert found[Metric.BIT_RATE_SD] == 0
    assert found[Metric.UTILISATION_SD_OVER_MEAN] == 0
    assert found[Metric.JAIN_INDEX] == pytest.approx(1)


def test_without_a_frame_means_are_undefined_and_say_so():
    nothing = integers(0, 0)
    counts = changed(
        replace(result(), media=(replace(result().media[0], transmission_delay=buckets()),)),
        **dict.fromkeys(
            ("frames", "bits", "charged_ps", "discarded", "collisions", "delay_ps", "access_ps"),
            nothing,
        ),
        response_ps=nothing,
        delay_ps2=exact(0, 0),
    )
    rows = observe(scenario(), counts)
    found, cautions = whole(rows), whole_cautions(rows)
    for metric in (
        Metric.TRANSMISSION_DELAY,
        Metric.DELAY_P99,
        Metric.DELAY_MAX,
        Metric.JAIN_INDEX,
        Metric.LOSS,
        Metric.ATTEMPTS_PER_FRAME,
    ):
        assert math.isnan(found[metric])
        assert cautions[metric] == Caution.NO_SAMPLES
    assert found[Metric.UTILISATION] == 0
    assert cautions[Metric.UTILISATION] == Caution.FEW_SAMPLES
    assert cautions[Metric.TIME_IDLE] == cautions[Metric.DROPPED] == ""


def test_ratios_to_frames_of_a_station_that_delivered_none_are_unknown():
    counts = changed(result(), frames=integers(300, 0), collisions=integers(4, 5))
    rows = observe(scenario(), counts)
    for metric, of_first, of_all in (
        (Metric.ATTEMPTS_PER_FRAME, 304 / 300, 309 / 300),
        (Metric.COLLISIONS_PER_FRAME, 4 / 300, 9 / 300),
    ):
        first, second = per_station(rows)[metric]
        assert first == pytest.approx(of_first, rel=1e-12)
        assert math.isnan(second)
        assert whole(rows)[metric] == pytest.approx(of_all, rel=1e-12)


@pytest.mark.parametrize(("frames", "cautious"), [(29, True), (30, False)])
def test_below_thirty_frames_a_station_is_cautioned_and_not_the_segment(frames, cautious):
    rows = observe(scenario(), changed(result(), frames=integers(300, frames)))
    few = {key for key, words in cautions_in(*rows).items() if Caution.FEW_SAMPLES in words}
    assert ((1, Metric.TRANSMISSION_DELAY) in few) == cautious
    assert (1, Metric.FRAMES) not in few
    assert (0, Metric.TRANSMISSION_DELAY) not in few
    assert (-1, Metric.TRANSMISSION_DELAY) not in few


def test_cautions_of_the_trial_stand_in_every_row():
    rows = observe(scenario(), replace(result(), cautions=("late-collision", "beyond-round-trip")))
    assert set(cautions_in(*rows).values()) == {"beyond-round-trip late-collision"}


def test_a_trial_has_every_metric_once_and_of_stations_only_those_that_are_theirs():
    found = [*values_in(*observe(scenario(), result()))]
    asked = {
        (metric, of.is_of_each)
        for metric in Metric
        for of in metric.definitions
        if of.kind is EntityKind.STATION
    }
    assert {metric for at, metric in found if at < 0} == {metric for metric, _ in asked}
    assert {metric for at, metric in found if at == 1} == {
        metric for metric, is_of_each in asked if is_of_each
    }


@pytest.mark.parametrize(
    ("offered", "left", "word"),
    [
        # More than 1% of 1000 frames of two stations, and more than two a station.
        ((500, 500), (494, 495), "growing-queue"),
        ((500, 500), (495, 495), ""),
        ((20, 20), (19, 18), ""),
    ],
)
def test_stations_whose_queues_grow_are_cautioned(offered, left, word):
    none = integers(0, 0)
    counts = changed(
        result(), offered=integers(*offered), frames=integers(*left), discarded=none, dropped=none
    )
    found = whole_cautions(observe(scenario(arrivals="poisson"), counts))
    assert found[Metric.UTILISATION] == word
    assert whole_cautions(observe(scenario(), counts))[Metric.UTILISATION] == ""


def test_a_quantile_at_the_edge_of_a_bucket_is_not_in_the_next():
    # One time below 10 ps and one from 100 ps on: half of them do not exceed 10 ps. The last bucket
    # ends a picosecond after the largest time, 109 ps.
    low, high, one = np.array([0, 100]), np.array([10, 110]), np.ones(2, np.int64)
    found = quantiles(Buckets(np.zeros(2, np.int64), low, high, one))
    assert found == pytest.approx([10e-12, 108e-12, 109e-12, 109e-12, 109e-12], abs=0)


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=40), st.integers(1, 4))
def test_no_quantile_lies_outside_the_times(times, parts):
    # Buckets as the core has them, of several entities together: 128 an octave, those at the ends
    # cut to the least and the largest time.
    def buckets(of: list[int]) -> list[tuple[int, int, int]]:
        widths = [1 << max(time.bit_length() - 8, 0) for time in of]
        lows = Counter(time // width * width for time, width in zip(of, widths, strict=True))
        width = {time // w * w: w for time, w in zip(of, widths, strict=True)}
        return [
            (max(low, min(of)), min(low + width[low], max(of) + 1), lows[low])
            for low in sorted(lows)
        ]

    rows = [row for at in range(parts) if (of := times[at::parts]) for row in buckets(of)]
    low, high, count = np.array(rows, np.int64).T
    together = pooled(Buckets(np.zeros(len(low), np.int64), low, high, count))
    assert together.count.sum() == len(times)
    assert (together.low_ps[1:] >= together.high_ps[:-1]).all()
    *ranks, largest = quantiles(together)
    assert largest == max(times) / 1e12
    assert min(times) / 1e12 <= min(ranks)
    assert max(ranks) <= largest
    assert ranks == sorted(ranks)
    # Nearest rank: within the width of a bucket.
    for share, found in zip(RANKS, ranks, strict=True):
        exact = sorted(times)[max(math.ceil(share * len(times)) - 1, 0)]
        assert round(found * 1e12, 3) == pytest.approx(exact, rel=1 / 128, abs=1)


@pytest.mark.parametrize("sd_ps", [1, 1000])
def test_a_standard_deviation_keeps_its_digits_however_little_delays_differ(sd_ps):
    # Half of a million delays of 0.1 s are longer by twice the standard deviation than the others:
    # the sum of squares has 29 digits, of which a float keeps 16.
    half, mean_ps = 5 * 10**5, 10**11
    low, high = mean_ps - sd_ps, mean_ps + sd_ps
    total, total2 = half * (low + high), half * (low**2 + high**2)
    sums = (integers(2 * half), integers(total), exact(total2))
    expected = sd_ps * math.sqrt(2 * half / (2 * half - 1))
    assert sd_of_sums(*sums)[0] == pytest.approx(expected, rel=1e-14)
    # In floats nothing is left of it.
    lost = sd_of_sums(sums[0], sums[1], sums[2].astype(np.float64))[0]
    assert lost != pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("squares", [exact(0, 25, 52), np.array([0.0, 25.0, 52.0])])
def test_the_standard_deviation_of_one_value_is_0_and_of_none_undefined(squares):
    found = sd_of_sums(integers(0, 1, 2), integers(0, 5, 10), squares)
    assert found == pytest.approx([math.nan, 0, math.sqrt(2)], nan_ok=True)
