"""Searches of rates: MLRsearch's published example, halving, and the longest burst."""

from dataclasses import dataclass

import pytest
from ethermeter.benchmark.multiple_loss_ratio import mlr_search
from ethermeter.benchmark.searches import Found, Goal, halving_search, longest


@dataclass(frozen=True, slots=True)
class Counted:
    intended: int
    sent: int
    received: int


def hard_1_mpps(seconds: float, rate: float) -> Counted:
    """Forward exactly one million frames a second, as the device of the library's example."""
    sent = int(seconds * rate)
    return Counted(sent, sent, min(sent, int(seconds * 1e6)))


def test_the_published_example_of_mlrsearch_is_met_through_the_wrapper():
    # README of MLRsearch 1.2.1: goals with loss ratios of 0 and 0.005.
    goals = tuple(
        Goal(loss=loss, width=0.005, trial_s=1.0, first_trial_s=1.0, sum_s=21.0, exceeding=0.005)
        for loss in (0.0, 0.005)
    )
    none, partial = mlr_search(hard_1_mpps, goals, least=1e3, most=1e9)
    assert none.conditional_rate == pytest.approx(997_497.6029392382, abs=1e-6)
    assert partial.conditional_rate == pytest.approx(1_000_000.6730730429, abs=1e-6)


@pytest.mark.parametrize("capacity", [1234.5, 77_777.0, 999_999.0])
@pytest.mark.parametrize("width", [0.02, 0.005, 0.001])
def test_both_searches_find_a_capacity_within_the_width(capacity, width):
    def measure(seconds: float, rate: float) -> Counted:
        sent = round(1000 * seconds * rate)
        return Counted(sent, sent, min(sent, round(1000 * seconds * capacity)))

    goal = Goal(width=width)
    (mlr,) = mlr_search(measure, (goal,), least=1e3, most=1e6)
    halved = halving_search(measure, goal, least=1e3, most=1e6)
    for found in (mlr, halved):
        assert found.rate is not None
        assert found.above is not None
        # A thousandth of a frame of rounding beside the width.
        assert found.above * (1 - width) <= found.rate * (1 + 1e-9)
        assert found.rate <= capacity * (1 + 1e-6)
        assert found.above >= capacity * (1 - 1e-6)


def test_a_device_that_loses_nothing_has_the_highest_rate_and_nothing_above():
    def measure(_: float, rate: float) -> Counted:
        return Counted(round(rate), round(rate), round(rate))

    (mlr,) = mlr_search(measure, (Goal(),), least=1.0, most=1e3)
    assert mlr.rate == pytest.approx(1e3)
    assert mlr.above is None
    assert halving_search(measure, Goal(), least=1.0, most=1e3) == Found(1e3, None, 1e3, 1)


def test_a_device_that_loses_at_all_rates_has_no_rate():
    def measure(_: float, rate: float) -> Counted:
        return Counted(round(rate), round(rate), round(rate) - 1)

    (mlr,) = mlr_search(measure, (Goal(),), least=10.0, most=1e3)
    assert mlr.rate is None
    assert halving_search(measure, Goal(), least=10.0, most=1e3).rate is None


def test_frames_that_were_not_sent_count_as_lost():
    def measure(_: float, rate: float) -> Counted:
        wanted = round(rate)
        return Counted(wanted, min(wanted, 500), min(wanted, 500))

    (mlr,) = mlr_search(measure, (Goal(),), least=10.0, most=1e3)
    assert mlr.rate == pytest.approx(500, rel=0.01)


@pytest.mark.parametrize("largest", [0, 1, 15, 16, 17, 31, 100, 999, 1000])
def test_the_largest_number_is_found_to_one(largest):
    tried = []

    def is_whole(number: int) -> bool:
        tried.append(number)
        return number <= largest

    assert longest(is_whole, 1000) == largest
    assert max(tried) <= 1000
    assert len(tried) <= 20
