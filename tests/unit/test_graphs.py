"""The eight graphs from batch sums, by hand."""

import math

import numpy as np
import pytest
from ethermeter.metrics import Metric
from station_sums import Sums, graphs, graphs_left_out


def two_stations() -> Sums:
    # Station 0: 3 frames with delays 1, 2, 3 s; station 1: 1 frame with delay 2 s; a frame is
    # charged 0.5 s; 4 s at 10 bit/s.
    return Sums(
        np.array([3.0, 1.0]),
        np.array([1.5, 0.5]),
        np.array([6.0, 2.0]),
        np.array([14.0, 4.0]),
        np.array(4.0),
        np.array(10.0),
    )


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (Metric.UTILISATION, 0.5),
        (Metric.BIT_RATE, 5.0),
        (Metric.BIT_RATE_SD, 2.5 / math.sqrt(2)),  # 3.75 and 1.25 bit/s
        (Metric.PACKET_RATE, 1.0),
        (Metric.PACKET_RATE_SD, 0.5 / math.sqrt(2)),  # 0.75 and 0.25 per s
        (Metric.TRANSMISSION_DELAY, 2.0),
        (
            Metric.TRANSMISSION_DELAY_SD,
            math.sqrt(2 / 3),
        ),  # 1, 2, 3, 2: squares off the mean sum to 2, over n - 1 = 3
        (Metric.EXCESS_DELAY, 2.0 - 2 * 0.5),
        (Metric.UTILISATION_SD_OVER_MEAN, math.sqrt(2) / 2),
        (Metric.JAIN_INDEX, 0.8),  # (3 + 1)^2 / (2 * 10)
    ],
)
def test_every_graph_by_hand(metric, value):
    assert float(graphs(two_stations())[metric]) == pytest.approx(value, rel=1e-12)


def test_one_station_has_no_spread_over_stations():
    one = Sums(
        np.array([2.0]),
        np.array([1.0]),
        np.array([2.0]),
        np.array([3.0]),
        np.array(4.0),
        np.array(10.0),
    )
    values = graphs(one)
    assert math.isnan(float(values[Metric.BIT_RATE_SD]))
    assert math.isnan(float(values[Metric.UTILISATION_SD_OVER_MEAN]))
    assert float(values[Metric.JAIN_INDEX]) == pytest.approx(1)


def test_nothing_delivered_is_undefined_without_a_warning():
    none = Sums(*(np.zeros(2) for _ in range(4)), np.array(4.0), np.array(10.0))
    values = graphs(none)
    assert float(values[Metric.PACKET_RATE]) == 0
    assert math.isnan(float(values[Metric.TRANSMISSION_DELAY]))


def test_leaving_a_batch_out_equals_measuring_the_others():
    rng = np.random.default_rng(1)
    frames = rng.integers(1, 50, (2, 5, 3)).astype(float)
    sums = Sums(
        frames,
        frames * 0.1,
        frames * 2.0,
        frames * 7.0,
        np.array([10.0, 20.0]),
        np.array([1e6, 1e7]),
    )
    found = graphs_left_out(sums)
    others = np.delete(frames[1], 2, axis=0).sum(axis=0)
    direct = graphs(
        Sums(others, others * 0.1, others * 2.0, others * 7.0, np.array(80.0), np.array(1e7))
    )
    for metric in (
        Metric.BIT_RATE,
        Metric.PACKET_RATE_SD,
        Metric.TRANSMISSION_DELAY_SD,
        Metric.EXCESS_DELAY,
        Metric.JAIN_INDEX,
    ):
        assert found[metric].shape == (2, 5)
        assert float(found[metric][1, 2]) == pytest.approx(float(direct[metric]))
