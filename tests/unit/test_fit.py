"""Lines, ranks, knees and fairness against scipy and hand calculations."""

import math

import numpy as np
import pytest
from ethermeter.analysis.curves import knee, line, rank_correlation, rise
from ethermeter.metrics.statistics import jain_index
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


def test_line_agrees_with_scipy():
    rng = np.random.default_rng(5)
    x = np.arange(3.0, 25.0)
    y = 1.25 * x + 2 + rng.normal(0, 0.5, x.size)
    found, known = line(x, y), stats.linregress(x, y)
    assert found.slope.value == pytest.approx(known.slope, rel=1e-12)
    assert found.slope.error == pytest.approx(known.stderr, rel=1e-9)
    assert found.intercept.value == pytest.approx(known.intercept, rel=1e-9)
    assert found.intercept.error == pytest.approx(known.intercept_stderr, rel=1e-9)
    assert found.determination == pytest.approx(known.rvalue**2, rel=1e-9)


def test_line_through_points_on_a_line_is_exact():
    found = line(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0]))
    assert (found.slope.value, found.intercept.value, found.determination) == pytest.approx(
        (2, 1, 1)
    )
    assert found.slope.half_width == pytest.approx(0, abs=1e-12)


def test_line_slope_intervals_cover():
    rng, cases = np.random.default_rng(6), 2000
    x = np.arange(10.0)
    covered = 0
    for _ in range(cases):
        slope = line(x, 3 * x + rng.normal(0, 1, 10)).slope
        covered += slope.low <= 3 <= slope.high
    assert covered / cases == pytest.approx(
        0.95, abs=4 * math.sqrt(0.95 * 0.05 / cases)
    )  # binomial, as in tests/truth


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1, 2], "three points"),
        ([2, 2, 2], [1, 2, 3], "two different x"),
        ([1, 2, 3], [1, math.nan, 3], "finite"),
    ],
)
def test_line_refuses(x, y, message):
    with pytest.raises(ValueError, match=message):
        line(np.array(x, dtype=float), np.array(y, dtype=float))


def test_rank_correlation_agrees_with_scipy_with_ties():
    x = np.arange(12.0)
    y = np.array([9, 8, 8, 7, 7, 6, 7, 4, 3, 3, 2, 5.0])
    found, known = rank_correlation(x, y), stats.spearmanr(x, y, alternative="less")
    assert found.rho == pytest.approx(known.statistic, rel=1e-12)
    assert found.falling_probability == pytest.approx(known.pvalue, rel=1e-6)


def test_rank_correlation_of_a_falling_curve_is_minus_one():
    found = rank_correlation(np.array([1.0, 2, 3, 4]), np.array([9.0, 4, 3, 1]))
    assert found.rho == pytest.approx(-1)
    assert found.falling_probability == pytest.approx(0, abs=1e-9)


def test_knee_of_a_corner_is_the_corner():
    x = np.linspace(0, 2, 21)
    found = knee(x, np.minimum(x, 1.0))
    assert (found.x, found.y, found.distance) == pytest.approx((1.0, 1.0, 0.5))


def test_knee_of_a_straight_line_is_told_by_its_distance():
    x = np.linspace(0, 5, 11)
    assert knee(x, 3 * x + 1).distance == pytest.approx(0, abs=1e-12)
    assert knee(x, np.full(11, 4.0)).distance == 0


def test_knee_does_not_depend_on_units():
    x = np.linspace(0.1, 3, 30)
    assert knee(x * 1e-3, x**3 * 1e6).x == pytest.approx(knee(x, x**3).x * 1e-3)


def test_knee_refuses_unordered_points():
    with pytest.raises(ValueError, match="increasing"):
        knee(np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0, 3.0]))


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=50))
def test_jain_index_lies_between_one_over_n_and_one(shares):
    found = float(jain_index(np.array(shares)))
    assert 1 / len(shares) * (1 - 1e-9) <= found <= 1 + 1e-9


def test_jain_index_by_hand():
    # (1+2+3)^2 / (3 * (1+4+9)) = 36/42
    assert float(jain_index(np.array([1.0, 2.0, 3.0]))) == pytest.approx(36 / 42)
    assert math.isnan(float(jain_index(np.array([0.0, 0.0]))))


def test_a_rise_begins_where_the_floor_ends_whatever_follows_the_top():
    load = np.arange(0.1, 2.01, 0.1)
    delay = np.where(load < 0.75, 1.0, np.minimum(1 + 40 * (load - 0.7), 9.0))
    found = rise(load, delay)
    assert found is not None
    assert found.x == pytest.approx(0.7)
    falling_after = np.where(load > 1.2, delay - load, delay)
    assert rise(load, falling_after) == found
    assert rise(load * 3, delay * 1e-3).x == pytest.approx(2.1)  # units do not matter


@pytest.mark.parametrize(
    "y",
    [[1, 2, 3, 4], [1, 4, 5, 5.5], [5, 4, 3, 2], [1, 1, 1, 1], [1, float("nan"), float("nan"), 2]],
)
def test_a_line_a_concave_curve_and_a_fall_have_no_rise(y):
    assert rise(np.array([1.0, 2.0, 3.0, 4.0]), np.array(y, dtype=float)) is None
