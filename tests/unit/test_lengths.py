"""Times against lengths: lines, broken lines and their differences, by hand and by chance."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from ethermeter.analysis.groups import PART
from ethermeter.analysis.lengths import BREAK_PROBABILITY, broken, extras, of_lengths
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

OCTETS = np.array([64.0, 128.0, 256.0, 512.0, 768.0, 1024.0, 1280.0, 1518.0])


def point(series: str, flow: str, times: Mapping[Metric, float], **varied: str) -> Point:
    estimates = {metric: Estimate(value, math.nan, math.nan) for metric, value in times.items()}
    return Point(series, {PART: flow, **varied}, "live", 1, estimates)


def ping(series: str, flow: str, intercept_s: float, slope_s: float) -> list[Point]:
    return [
        point(
            series,
            flow,
            {Metric.ROUND_TRIP: intercept_s + slope_s * octets},
            **{"flows.ping.frames": f"{octets:g} B"},
        )
        for octets in OCTETS.tolist()
    ]


def test_a_switch_is_the_difference_of_the_lines_with_it_and_without():
    direct, switched = of_lengths(
        [*ping("direct", "ping", 50e-6, 24e-9), *ping("switched", "ping", 60e-6, 35.5e-9)]
    )
    assert (direct.whole.intercept.value, direct.whole.slope.value) == pytest.approx(
        (50e-6, 24e-9), rel=1e-9
    )
    assert abs(direct.residuals_s).max() < 1e-15  # a sum of 1e-4 s in doubles
    assert direct.pieces == ()
    (extra,) = extras([direct, switched])
    assert (extra.one.series, extra.other.series) == ("switched", "direct")
    assert (extra.intercept.value, extra.slope.value) == pytest.approx((10e-6, 11.5e-9), rel=1e-9)


def test_paths_beside_each_other_in_one_network_are_set_against_the_first():
    lines = of_lengths(
        [*ping("x", "ping a1 to b1", 1e-6, 1e-9), *ping("x", "ping a2 to b2", 3e-6, 1e-9)]
    )
    (extra,) = extras(lines)
    assert extra.one.flow == "ping a2 to b2"
    assert extra.intercept.value == pytest.approx(2e-6, rel=1e-9)


def test_a_length_is_laid_against_times_of_its_own_flow_only():
    points = [
        point("x", flow, {Metric.ROUND_TRIP: 1e-6 * octets}, **{"flows.ping.frames": f"{octets} B"})
        for octets in (64, 128, 256, 512)
        for flow in ("ping", "stream")
    ]
    (found,) = of_lengths(points)
    assert found.flow == "ping"


def test_two_of_four_lengths_without_a_value_are_no_line():
    points = [
        point(
            "x",
            "ping",
            {Metric.ROUND_TRIP: math.nan if octets < 200 else 1e-6},
            **{"flows.ping.frames": f"{octets} B"},
        )
        for octets in (64, 128, 256, 512)
    ]
    assert of_lengths(points) == []


def test_a_line_that_breaks_is_divided_where_it_does():
    times_s = np.where(OCTETS <= 512, 50e-6 + 24e-9 * OCTETS, 40e-6 + 60e-9 * OCTETS)
    pieces, break_octets = broken(OCTETS, times_s)
    assert break_octets == (512 + 768) / 2
    assert [piece.slope.value for piece in pieces] == pytest.approx([24e-9, 60e-9], rel=1e-9)


@pytest.mark.parametrize("times_s", [50e-6 + 24e-9 * OCTETS, np.full(8, 34.7e-6)])
def test_what_lies_on_a_line_is_not_divided(times_s):
    assert broken(OCTETS, times_s)[0] == ()


def test_chance_alone_divides_a_line_no_more_often_than_said():
    rng, cases = np.random.default_rng(7), 2000
    divided = sum(
        bool(broken(OCTETS, OCTETS + rng.normal(0, 10, OCTETS.size))[0]) for _ in range(cases)
    )
    # Bonferroni is a bound; four standard errors of a share of 2000.
    assert divided / cases <= BREAK_PROBABILITY + 4 * math.sqrt(
        BREAK_PROBABILITY * (1 - BREAK_PROBABILITY) / cases
    )
