"""What studies read off curves, by hand."""

import numpy as np
import pytest
from ethermeter.results.interval import Estimate
from ethermeter.results.query import MissingError
from ethermeter.studies.rules import bend, crossing, is_straight, takeoff
from hypothesis import given
from hypothesis import strategies as st


def test_a_crossing_is_on_the_straight_line_between_two_points():
    x = np.array([10.0, 12.0, 13.0, 20.0])
    y = np.array([0.0, 0.004, 0.024, 0.5])
    # 0.01 is 6 of 20 steps from 12 on; 0.002 half of the way from 10 to 12.
    assert crossing(x, y, 0.01) == pytest.approx(12.3)
    assert crossing(x, y, 0.002) == pytest.approx(11.0)


def test_a_crossing_is_the_first_one():
    # A curve of measured values falls back now and then: 0, 2, 1, 3.
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 2.0, 1.0, 3.0])
    assert crossing(x, y, 1.5) == pytest.approx(1.75)
    assert crossing(x, y, 2.0) == 2.0
    assert crossing(x, y, 2.5) == pytest.approx(3.75)


@pytest.mark.parametrize(
    "y", [[0.02, 0.03, 0.04], [0.0, 0.001, 0.002], [0.01, 0.01, 0.01], [0.0, np.nan, np.nan]]
)
def test_a_level_that_is_passed_before_or_beyond_all_points_is_missing(y):
    with pytest.raises(MissingError, match=r"does not pass 0\.01"):
        crossing(np.array([1.0, 2.0, 3.0]), np.array(y), 0.01)


@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=10), st.floats(0.01, 0.99))
def test_a_rising_curve_has_the_level_at_its_crossing(steps, share):
    y = np.cumsum([0.0, *steps])
    x = np.arange(y.size, dtype=np.float64)
    level = share * float(y[-1])
    # To rounding, of a sum of up to ten steps.
    assert np.interp(crossing(x, y, level), x, y) == pytest.approx(level, rel=1e-9)


def test_a_takeoff_is_where_the_steepest_step_drawn_down_meets_the_first_value():
    x = np.array([1.0, 10.0, 20.0, 22.0, 24.0, 25.0])
    y = np.array([5.0, 5.1, 5.6, 9.0, 29.0, 34.0])
    # Slopes 0.01, 0.05, 1.7, 10, 5: from (22, 9), 4 above the first value, 0.4 to the left.
    assert takeoff(x, y) == pytest.approx(21.6)


def test_a_takeoff_goes_by_slope_and_not_by_step():
    # The step of 8 over ten hosts is larger than that of 2 over one, but flatter.
    assert takeoff(np.array([0.0, 1.0, 11.0]), np.array([1.0, 3.0, 11.0])) == pytest.approx(0.0)


def test_a_takeoff_needs_three_points_and_a_rise():
    with pytest.raises(MissingError, match="at least three points"):
        takeoff(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    with pytest.raises(MissingError, match="does not rise"):
        takeoff(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 2.0]))


def points(y: list[float], error: float = 0.0) -> list[Estimate]:
    return [Estimate(of, error, 9.0) for of in y]


def test_a_bend_is_the_slope_of_the_upper_half_over_that_of_the_lower():
    x = [0.0, 1.0, 2.0, 3.0, 4.0]
    # From 0 to 1 by 2, from 3 to 4 by 5; what is at 2 counts for neither.
    assert bend(x, points([0, 2, 99, 3, 8])).value == pytest.approx(2.5)
    # An error of 0.1 of each of four points: sqrt(2) x 0.1 of each slope, relative 0.0707 and
    # 0.0283.
    assert bend(x, points([0, 2, 99, 3, 8], 0.1)).error == pytest.approx(
        2.5 * np.hypot(0.1 * 2**0.5 / 2, 0.1 * 2**0.5 / 5)
    )
    with pytest.raises(MissingError, match="at least four points"):
        bend(x[:3], points([0, 1, 2]))


@pytest.mark.parametrize(
    ("power", "limit", "straight"),
    [
        (1.0, 1.5, "holds"),
        (2.0, 1.5, "fails"),
        (2.0, 2.0, "fails"),
        (0.5, 1.5, "fails"),
        (0.5, 2.0, "fails"),
        (1.1, 1.5, "holds"),
    ],
)
def test_squares_and_square_roots_are_no_lines(power, limit, straight):
    x = np.linspace(0.0, 1.0, 20)
    found = bend(x.tolist(), points((x**power).tolist()))
    assert is_straight(found, limit) == straight


def test_a_bend_with_a_wide_interval_is_undecided():
    x = np.linspace(0.0, 1.0, 20)
    assert is_straight(bend(x.tolist(), points(x.tolist(), 0.2)), 1.5) == "undecided"
