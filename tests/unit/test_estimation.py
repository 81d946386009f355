"""Least squares between bounds: intervals that hold what they say, sums that are determined though
their parts are not, and knees.
"""

import numpy as np
import pytest
from ethermeter.calibration import estimation
from ethermeter.calibration.calibrate import runs_test
from ethermeter.calibration.estimation import Fit, Floats, in_words
from scipy.stats import binom

LOW, HIGH = np.zeros(3), np.array([50.0, 20.0, 20.0])
SIZES = np.linspace(64, 1518, 12)


def latency(at: Floats) -> Floats:
    """Software and interface are constants that only occur together; the bus costs by the octet."""
    software, nic, bus = at * (HIGH - LOW) + LOW
    return 2 * (software + nic + bus * SIZES / 1000)


def fit(data: Floats, *, error: float = 0.05, are_known: bool = True) -> Fit:
    errors = np.full(data.shape, error)
    return estimation.estimate(
        latency,
        data,
        errors,
        low=LOW,
        high=HIGH,
        start=np.array([10.0, 4.0, 5.0]),
        are_errors_known=are_known,
    )


def test_what_occurs_only_together_is_determined_as_a_sum_and_said_in_words():
    found = fit(latency(np.array([9.0, 3.5, 7.75]) / HIGH))
    assert found.is_determined.tolist() == [False, False, True]
    (one,) = found.combinations
    assert in_words(["software", "nic", "bus"], one.factors) == "software + nic"
    # Differences of a model that is linear are exact, and there is no noise: what is left is the
    # pull of the starting values.
    assert one.estimate.value == pytest.approx(12.5, abs=1e-4)
    assert found.values[2] == pytest.approx(7.75, abs=1e-4)
    assert not found.estimates[0].has_interval


def test_what_is_not_determined_is_nearest_to_where_the_search_began():
    found = fit(latency(np.array([9.0, 3.5, 7.75]) / HIGH))
    # From 10 and 4 to the line of sum 12.5, at a right angle where ranges are the unit: both moves
    # in proportion to their ranges squared.
    moved = found.values[:2] - np.array([10.0, 4.0])
    assert moved / moved.sum() == pytest.approx(np.array([2500, 400]) / 2900, abs=1e-3)


@pytest.mark.parametrize("are_known", [True, False])
def test_intervals_hold_the_truth_as_often_as_they_say(are_known):
    trials, random = 300, np.random.default_rng(7)
    truth = np.array([9.0, 3.5, 7.75])
    inside = np.zeros(2, int)
    for _ in range(trials):
        found = fit(latency(truth / HIGH) + random.normal(0, 0.05, SIZES.size), are_known=are_known)
        (total,) = found.combinations
        inside += [
            abs(total.estimate.value - 12.5) <= total.estimate.half_width,
            abs(found.values[2] - 7.75) <= found.estimates[2].half_width,
        ]
    # One such test in a million fails by chance. Birge's ratio only widens, so that more than 95%
    # may hold.
    least = int(binom.ppf(0.5e-6, trials, 0.95))
    assert (inside >= least).all(), inside


def test_errors_that_are_too_small_are_found_out_and_the_intervals_widened():
    random = np.random.default_rng(3)
    found = fit(
        latency(np.array([9.0, 3.5, 7.75]) / HIGH) + random.normal(0, 0.5, SIZES.size), error=0.05
    )
    assert found.misfit < 1e-6
    # The mean square is 100 on average; of ten free residuals between a third and twice and a half
    # of it but once in ten thousand.
    assert 5 < found.scale < 17


def test_a_slower_stage_from_some_size_on_tells_both_stages():
    sizes = np.linspace(64, 1518, 16)

    def separation(at: Floats) -> Floats:
        constant, slope = at * np.array([50.0, 50.0])
        return np.maximum(constant, slope * sizes / 1000)

    data = separation(np.array([12.5, 21.0]) / 50)
    found = estimation.estimate(
        separation,
        data,
        np.full(16, 0.1),
        low=np.zeros(2),
        high=np.full(2, 50.0),
        start=np.array([20.0, 15.0]),
        are_errors_known=True,
    )
    assert found.is_determined.all()
    assert found.values == pytest.approx([12.5, 21.0], abs=1e-3)


def test_three_that_only_occur_in_two_sums_give_two_combinations():
    def answer(at: Floats) -> Floats:
        a, b, c = at * 10
        return np.array([a + b, b + c, a + b, b + c, 2 * (b + c)])

    data = answer(np.array([0.3, 0.4, 0.5]))
    found = estimation.estimate(
        answer,
        data,
        np.full(5, 0.01),
        low=np.zeros(3),
        high=np.full(3, 10.0),
        start=np.array([5.0, 1.0, 5.0]),
        are_errors_known=True,
    )
    assert [in_words("abc", each.factors) for each in found.combinations] == ["a - c", "b + c"]
    assert [each.estimate.value for each in found.combinations] == pytest.approx(
        [-2.0, 9.0], abs=1e-3
    )


def test_what_data_do_not_touch_keeps_its_value_and_is_in_no_sum():
    found = estimation.estimate(
        lambda at: np.repeat(at[:1], 4),
        np.full(4, 0.25),
        np.full(4, 0.01),
        low=np.zeros(2),
        high=np.array([8.0, 6.0]),
        start=np.array([1.0, 5.0]),
        are_errors_known=True,
    )
    assert found.is_determined.tolist() == [True, False]
    assert found.combinations == ()
    assert found.values == pytest.approx([2.0, 5.0], abs=1e-4)


def test_few_runs_of_one_sign_are_improbable():
    runs, chance = runs_test(np.repeat([1.0, -1.0], 12))
    # Exactly: 2 of the 24! / (12! 12!) orders of equal signs have two runs.
    assert runs == 2
    assert chance < 1e-4
    assert runs_test(np.tile([1.0, -1.0], 12))[1] > 0.99
    assert runs_test(np.repeat([1.0, -1.0], 5)) == (2, 1.0)


WIDTH = 2**-7
"""Relative width of a histogram's bucket."""


@pytest.mark.parametrize("software_us", np.linspace(5, 60, 23))
def test_a_line_is_found_through_answers_that_are_known_to_a_bucket(software_us):
    bits = 8 * np.array([84.0, 766.0, 1538.0])

    def delays(rate_mbps: float, software_us: float) -> Floats:
        return 2 * (bits / rate_mbps + software_us)

    def answer(at: Floats) -> Floats:
        exact = delays(1 + 99 * at[0], 500 * at[1])
        # The middle of the bucket, of those that divide every octave evenly.
        width = WIDTH * 2 ** np.floor(np.log2(exact))
        return (np.floor(exact / width) + 0.5) * width

    data = delays(10.0, software_us)
    found = estimation.estimate(
        answer,
        data,
        0.01 * data,
        low=np.array([1.0, 0.0]),
        high=np.array([100.0, 500.0]),
        start=np.array([50.5, 250.0]),
        are_errors_known=False,
        steps=estimation.STAIRCASE_STEPS,
    )
    assert found.is_determined.all()
    # A bucket at either end of the line.
    assert found.values[0] == pytest.approx(10.0, rel=2 * WIDTH)
    assert found.values[1] == pytest.approx(software_us, abs=WIDTH * data[0])
