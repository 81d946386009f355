"""What the simulation engine makes of the core's counts, against hand calculation."""

import math

import numpy as np
import pytest
from ethermeter.engines.simulation import observe
from ethermeter.metrics import Caution, Group, Metric, caution_text
from ethermeter.store.rows import (
    METRICS,
    STATION_METRICS,
    layout,
    observations_of,
)
from segments import segment

WINDOW_PS = 10**12
CHARGED_PS = (544 + 64 + 96) * 100_000


def u64(*values):
    return np.array(values, np.uint64)


def scenario(*, stations=2, arrivals="saturated", frames=None):
    mean = {"mean_ps": 1e9} if arrivals == "poisson" else {}
    return segment(
        {
            "points": [0] * stations,
            "arrivals": {"kind": arrivals, **mean},
            "frames": frames or {"kind": "fixed", "bits": 544},
        }
    )


def result(**changes):
    """Two stations: 300 and 100 frames of 544 bits in a second."""
    counts = {
        "station_frames": u64(300, 100),
        "station_bits": u64(300 * 544, 100 * 544),
        "station_charged_ps": u64(300 * CHARGED_PS, 100 * CHARGED_PS),
        "station_attempts": u64(360, 160),
        "station_collisions": u64(60, 60),
        "station_late_collisions": u64(0, 1),
        "station_discarded": u64(0, 25),
        "station_resumed": u64(2, 3),
        "station_offered": u64(310, 200),
        "station_dropped": u64(10, 75),
        "station_damaged": u64(0, 0),
        "station_delay_s": np.array([1e-3, 3e-3]),
        "station_delay_sd_s": np.array([5e-4, 1e-3]),
        "station_access_s": np.array([9e-4, 29e-4]),
        "station_response_s": np.array([2e-3, 4e-3]),
        "station_waiting": np.array([0.75, 0.5]),
        "station_offered_load": np.array([0.5, 0.25]),
        "batch_frames": np.array([[150, 50], [150, 50]], np.uint32),
        "batch_charged_ps": np.array([[1, 2], [3, 4]], np.uint64),
        "batch_delay_sum_s": np.array([[0.1, 0.2], [0.3, 0.4]]),
        "batch_delay_square_sum_s2": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "time_ps": u64(
            WINDOW_PS // 2, WINDOW_PS // 10, WINDOW_PS // 10, WINDOW_PS // 5, WINDOW_PS // 10
        ),
        "window_ps": WINDOW_PS,
        "histograms": {
            "transmission_delay": (u64(10**6, 10**9), u64(2 * 10**6, 3 * 10**9), u64(300, 100))
        },
        "cautions": [],
        "events": 520,
    }
    return counts | changes


def whole(rows):
    return dict(zip(METRICS, rows.values, strict=False))


def whole_cautions(rows):
    return {
        metric: caution_text(int(mask))
        for metric, mask in zip(METRICS, rows.cautions, strict=False)
    }


def per_station(rows):
    return dict(
        zip(STATION_METRICS, rows.values[len(METRICS) :].reshape(-1, rows.stations), strict=True)
    )


def test_the_values_of_the_whole_segment_are_those_of_a_hand_calculation():
    found = whole(observe(scenario(), result(), core_s=0))
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
    found = per_station(observe(scenario(), result(), core_s=0))
    assert found[Metric.UTILISATION] == pytest.approx(
        [300 * CHARGED_PS / WINDOW_PS, 100 * CHARGED_PS / WINDOW_PS]
    )
    assert found[Metric.COLLISIONS_PER_FRAME] == pytest.approx([0.2, 0.6])
    assert found[Metric.ATTEMPTS_PER_FRAME] == pytest.approx([1.2, 1.6])
    assert found[Metric.TRANSMISSION_DELAY] == pytest.approx([1e-3, 3e-3])
    assert found[Metric.FRAMES].tolist() == [300, 100]


def test_loss_of_a_source_counts_against_what_it_offered():
    found = observe(scenario(arrivals="poisson"), result(), core_s=0)
    assert whole(found)[Metric.LOSS] == pytest.approx(110 / 510)
    assert per_station(found)[Metric.LOSS] == pytest.approx([10 / 310, 100 / 200])


def test_excess_delay_charges_each_station_the_frames_it_sends():
    lengths = {"kind": "mix", "bits": [544, 1088], "weights": [3, 1]}
    frames = {
        "station_frames": u64(300, 0),
        "station_bits": u64(300 * 1000, 0),
        "station_delay_s": np.array([1e-3, np.nan]),
    }
    found = whole(observe(scenario(frames=lengths), result(**frames), core_s=0))
    # The first by what it delivered; the second, which delivered nothing, by the mean of its mix,
    # 680 bits.
    assert found[Metric.EXCESS_DELAY] == pytest.approx(1e-3 - (1160 + 840) * 1e-7)


def test_one_station_has_no_spread():
    alone = {key: value[:1] for key, value in result().items() if key.startswith("station_")}
    batches = {key: value[:, :1] for key, value in result().items() if key.startswith("batch_")}
    found = whole(observe(scenario(stations=1), result(**alone, **batches), core_s=0))
    assert found[Metric.BIT_RATE_SD] == 0
    assert found[Metric.UTILISATION_SD_OVER_MEAN] == 0
    assert found[Metric.JAIN_INDEX] == pytest.approx(1)


def test_without_a_frame_means_are_undefined_and_say_so():
    nothing = {
        f"station_{name}": u64(0, 0)
        for name in ("frames", "bits", "charged_ps", "discarded", "collisions")
    }
    undefined = {
        f"station_{name}": np.array([np.nan, np.nan])
        for name in ("delay_s", "delay_sd_s", "access_s", "response_s")
    }
    rows = observe(scenario(), result(**nothing, **undefined, histograms={}), core_s=0)
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


@pytest.mark.parametrize(("frames", "cautious"), [(29, True), (30, False)])
def test_below_thirty_frames_a_station_is_cautioned_and_not_the_segment(frames, cautious):
    rows = observe(scenario(), result(station_frames=u64(300, frames)), core_s=0)
    station, metric = layout(2, voice=False)
    few = {
        (int(s), METRICS[m])
        for s, m, mask in zip(station, metric, rows.cautions, strict=True)
        if mask & Caution.FEW_SAMPLES.bit
    }
    assert ((1, Metric.TRANSMISSION_DELAY) in few) == cautious
    assert (1, Metric.FRAMES) not in few
    assert (0, Metric.TRANSMISSION_DELAY) not in few
    assert (-1, Metric.TRANSMISSION_DELAY) not in few


def test_cautions_of_the_trial_stand_in_every_row():
    rows = observe(scenario(), result(cautions=["late-collision", "beyond-round-trip"]), core_s=0)
    assert {caution_text(int(mask)) for mask in rows.cautions} == {
        "beyond-round-trip late-collision"
    }


@pytest.mark.parametrize("voice", [False, True])
def test_the_layout_has_every_metric_once_and_stations_only_where_the_metric_is_theirs(voice):
    station, metric = layout(3, voice=voice)
    pairs = list(zip(station.tolist(), metric.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs) == observations_of(3, voice=voice)
    groups = [Group.SEGMENT, Group.SEGMENT_VOICE] if voice else [Group.SEGMENT]
    asked = {
        (metric, of.is_of_each)
        for metric in Metric
        for of in metric.definitions
        if of.group in groups
    }
    assert {list(Metric)[m] for s, m in pairs if s == -1} == {metric for metric, _ in asked}
    assert {list(Metric)[m] for s, m in pairs if s == 2} == {
        metric for metric, is_of_each in asked if is_of_each
    }


def test_what_voice_adds_comes_after_all_else():
    without, with_voice = layout(3, voice=False), layout(3, voice=True)
    assert all(np.array_equal(a, b[: len(a)]) for a, b in zip(without, with_voice, strict=True))
