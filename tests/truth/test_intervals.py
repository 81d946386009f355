"""Intervals against scipy, hand calculations and their own promise: 95% of them cover the truth.

Tolerances of coverage: the number of covering intervals among n is binomial; n p +- 4 sqrt(n p q),
which a correct method leaves once in 16 000 seeds, and the seed is fixed.
"""

import math

import numpy as np
import pytest
from ethermeter.metrics import Metric
from ethermeter.results.batches import ends, within
from ethermeter.results.interval import (
    Estimate,
    average,
    difference,
    exact,
    no_event,
    no_failure,
    no_success,
    paired_ratio,
    quantile,
    ratio,
    student,
)
from scipy import stats
from station_sums import Sums, graphs, graphs_left_out

CASES = 2000
TOLERANCE = 4 * math.sqrt(0.95 * 0.05 / CASES)  # 0.0195: within the 93 to 97% asked for


def covers(found: Estimate, truth: float) -> bool:
    return found.low <= truth <= found.high


def test_student_agrees_with_scipy():
    samples = np.array([3.1, 2.7, 3.6, 2.9, 3.3])
    found = student(samples)
    low, high = stats.t.interval(0.95, 4, loc=samples.mean(), scale=stats.sem(samples))
    assert (found.value, found.low, found.high) == pytest.approx((3.12, low, high), rel=1e-12)


def test_student_by_hand():
    # 1, 2, 3: mean 2, s = 1, standard error 1/sqrt(3); t(2) = 4.302653 (any table).
    found = student(np.array([1.0, 2.0, 3.0]))
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_one_sample_has_no_interval():
    found = student(np.array([4.0]))
    assert found.value == 4
    assert not found.has_interval
    assert math.isnan(found.low)


def test_no_sample_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        student(np.array([]))


def test_quantile_at_infinity_is_the_normal_one():
    assert quantile(math.inf) == pytest.approx(1.959964, abs=5e-6)


def test_the_error_of_a_mean_of_few_batches_is_the_standard_error():
    samples = np.array([1.0, 4.0, 2.0, 8.0, 5.0])
    found = within((samples.sum() - samples) / 4)
    assert float(found.error) == pytest.approx(stats.sem(samples), rel=1e-12)
    assert (float(found.degrees), float(found.skewness)) == (4.0, 0.0)
    assert math.isnan(float(found.independent))


def test_errors_within_need_two_batches():
    with pytest.raises(ValueError, match="at least 2"):
        within(np.array([1.0]))


def left_out(samples: np.ndarray) -> np.ndarray:
    return np.asarray((samples.sum(axis=-1, keepdims=True) - samples) / (samples.shape[-1] - 1))


def test_the_widest_interval_of_merged_batches_is_taken():
    # Of five merged batches 1, 3, 5, 7, 9 the standard error is 1/sqrt(2) * 2 = sqrt(2), and the
    # half width t(4) sqrt(2) = 3.926. Pairs of twenty that swing about them by 6 have a standard
    # error of sqrt((8 + 36) / 19) and neighbours that do not correlate.
    samples = np.repeat([1.0, 3.0, 5.0, 7.0, 9.0], 4) + np.tile([6.0, -6.0], 10)
    found = within(left_out(samples))
    by_hand = {5: 2.776445 * math.sqrt(10 / 5), 20: 2.093024 * math.sqrt((8 + 36) / 19)}
    assert by_hand[5] > by_hand[20]
    assert float(found.error) * quantile(19) == pytest.approx(by_hand[5], rel=1e-6)
    # In turns merged batches are all alike, and twenty are the widest.
    found = within(left_out(np.tile([0.0, 1.0], 10)))
    assert float(found.error) == pytest.approx(1 / math.sqrt(76), rel=1e-12)


def test_correlation_of_neighbours_widens():
    # Ten low batches, then ten high ones: the correlation of neighbours is (18 - 1) / 20 = 0.85,
    # corrected 0.85 + 3.55/20, and cut at 0.8, so that the standard error sqrt(1/76) is multiplied
    # by sqrt(1.8/0.2) = 3: a ninth of the batches tells as much.
    found = within(left_out(np.repeat([0.0, 1.0], 10)))
    assert float(found.error) == pytest.approx(3 / math.sqrt(76), rel=1e-9)
    assert float(found.independent) == pytest.approx(20 / 9)


def test_many_batches_are_merged_first():
    rng = np.random.default_rng(4)
    samples = rng.normal(size=(3, 20))
    many, few = within(left_out(np.repeat(samples, 13, axis=1))), within(left_out(samples))
    assert many.error == pytest.approx(few.error, rel=1e-9)
    assert many.degrees.tolist() == [19.0] * 3


def test_a_batch_that_stands_out_moves_the_end_on_its_side_only():
    samples = np.zeros(20)
    samples[7] = 1.0
    found = within(left_out(samples))
    low, high = ends(np.asarray(0.05), found.error, found.degrees, found.skewness)
    t_low, t_high = (
        0.05 - quantile(19) * float(found.error),
        0.05 + quantile(19) * float(found.error),
    )
    assert float(low) == pytest.approx(t_low)
    assert float(high) > t_high + 0.05
    mirrored = within(left_out(-samples))
    assert [
        float(end)
        for end in ends(np.asarray(-0.05), mirrored.error, mirrored.degrees, mirrored.skewness)
    ] == pytest.approx([-float(high), -float(low)])


def test_the_rule_of_three_is_the_exact_limit():
    # Clopper and Pearson, one-sided: the share at which no failure among n has a probability of 5%.
    for trials in (1, 30, 3000, 10**9):
        found = no_failure(trials)
        assert (found.value, found.low) == (0.0, 0.0)
        assert (1 - found.high) ** trials == pytest.approx(0.05, rel=1e-5)
        assert no_success(trials).low == pytest.approx(1 - found.high)
    assert no_failure(30).high == pytest.approx(
        stats.binomtest(0, 30, alternative="less").proportion_ci(0.95).high, rel=1e-9
    )
    assert no_failure(3000).high == pytest.approx(3 / 3000, rel=2e-3)
    assert no_event(4).high == pytest.approx(-math.log(0.05) / 4)
    assert stats.poisson(no_event(1).high).pmf(0) == pytest.approx(0.05)
    assert not no_failure(0).has_interval
    assert not no_event(math.nan).has_interval


def test_a_difference_of_limits_uses_their_ends():
    # Equation 1 of Zou and Donner by hand: 0.3 in 0.2 to 0.5, less 0 in 0 to 0.4.
    found = difference(
        Estimate(0.3, math.nan, math.nan, ends=(0.2, 0.5)),
        Estimate(0.0, math.nan, math.nan, ends=(0.0, 0.4)),
    )
    assert found.low == pytest.approx(0.3 - math.hypot(0.1, 0.4))
    assert found.high == pytest.approx(0.3 + 0.2)
    assert found.has_interval


@pytest.mark.parametrize("replications", [3, 5, 10])
def test_student_intervals_cover(replications):
    rng = np.random.default_rng(replications)
    covered = sum(covers(student(rng.normal(7.0, 2.0, replications)), 7.0) for _ in range(CASES))
    assert covered / CASES == pytest.approx(0.95, abs=TOLERANCE)


@pytest.mark.parametrize(
    "metric",
    [
        Metric.TRANSMISSION_DELAY,
        Metric.TRANSMISSION_DELAY_SD,
        Metric.PACKET_RATE,
        Metric.EXCESS_DELAY,
    ],
)
def test_batch_intervals_cover(metric):
    # 2000 measurements of 20 batches and 4 stations. Counts are Poisson(200); delays are
    # exponential with mean 1 ms, so that the sums of n of them and of their squares are drawn
    # exactly. Truth: mean and standard deviation 1 ms, 4 * 200 frames a 0.5 s batch, and each frame
    # charged 1 us, so an excess of 1 ms - 4 us.
    rng = np.random.default_rng(88)
    frames = rng.poisson(200, (CASES, 20, 4))
    sums = np.zeros(frames.shape)
    squares = np.zeros(frames.shape)
    for case in range(CASES):
        delays = rng.exponential(1e-3, int(frames[case].sum()))
        stops = np.cumsum(frames[case].ravel())[:-1]
        starts = np.concatenate([[0], stops])
        sums[case] = np.add.reduceat(delays, starts).reshape(20, 4)
        squares[case] = np.add.reduceat(delays**2, starts).reshape(20, 4)
    by_batch = Sums(
        frames.astype(float), frames * 1e-6, sums, squares, np.full(CASES, 0.5), np.full(CASES, 1e7)
    )
    total = Sums(
        *(values.sum(axis=1) for values in (by_batch.frames, by_batch.charged_s, sums, squares)),
        np.full(CASES, 10.0),
        by_batch.line_rate_bps,
    )
    truth = {
        Metric.TRANSMISSION_DELAY: 1e-3,
        Metric.TRANSMISSION_DELAY_SD: 1e-3,
        Metric.PACKET_RATE: 1600.0,
        Metric.EXCESS_DELAY: 996e-6,
    }
    value = graphs(total)[metric]
    found = within(graphs_left_out(by_batch)[metric])
    low, high = ends(value, found.error, found.degrees, found.skewness)
    covered = float(np.mean((low <= truth[metric]) & (truth[metric] <= high)))
    # The widest of three intervals holds more than 95% of what is as independent as this.
    assert 0.95 - TOLERANCE <= covered <= 0.995


def test_difference_is_welchs():
    rng = np.random.default_rng(3)
    first, second = rng.normal(5, 1, 6), rng.normal(4, 3, 9)
    found = difference(student(first), student(second))
    low, high = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_ratio_by_hand():
    # 6 +- 0.3 over 3 +- 0.1: relative errors 5% and 3.333%, together 6.0093% of 2.
    found = ratio(Estimate(6.0, 0.3, 9), Estimate(3.0, 0.1, 9))
    assert found.value == pytest.approx(2.0)
    assert found.error == pytest.approx(2 * math.hypot(0.05, 1 / 30), rel=1e-12)


def test_ratio_to_zero_is_undefined():
    assert math.isnan(ratio(Estimate(1.0, 0.1, 4), exact(0.0)).value)


def test_ratio_intervals_cover():
    rng = np.random.default_rng(11)
    covered = sum(
        covers(ratio(student(rng.normal(8, 0.4, 10)), student(rng.normal(4, 0.2, 10))), 2.0)
        for _ in range(CASES)
    )
    assert covered / CASES == pytest.approx(0.95, abs=TOLERANCE)


def test_paired_ratio_intervals_cover_and_use_the_pairing():
    rng = np.random.default_rng(12)
    covered, narrower = 0, 0
    for _ in range(CASES):
        common = rng.normal(1, 0.1, 10)
        first, second = 8 * common + rng.normal(0, 0.1, 10), 4 * common + rng.normal(0, 0.1, 10)
        found = paired_ratio(first, second)
        covered += covers(found, 2.0)
        narrower += found.half_width < ratio(student(first), student(second)).half_width
    assert covered / CASES == pytest.approx(0.95, abs=TOLERANCE)
    assert narrower > 0.99 * CASES


def test_the_error_of_a_paired_ratio_by_hand():
    # Means 2 and 4/3; residuals -1/2, 1/2 and 0: sqrt(1/2 / 2 / 3) over 4/3.
    found = paired_ratio(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    assert (found.value, found.degrees) == (1.5, 2.0)
    assert found.error == pytest.approx(math.sqrt(1 / 12) * 3 / 4)


def test_paired_ratio_refuses_unequal_samples():
    with pytest.raises(ValueError, match="as many samples"):
        paired_ratio(np.ones(3), np.ones(4))


def test_average_of_two_equal_estimates_has_half_the_variance():
    found = average([Estimate(1.0, 0.2, 5), Estimate(3.0, 0.2, 5)])
    assert found.value == 2
    assert found.error == pytest.approx(0.2 / math.sqrt(2))
    assert found.degrees == pytest.approx(10)
