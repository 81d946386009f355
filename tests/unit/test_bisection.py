"""Bisection with chance: positions that are tried, the estimate, and the ends of the answer."""

from collections.abc import Callable

import numpy as np
import pytest
from ethermeter.analysis.sequential import SequentialTest, sequential_test
from ethermeter.strategies.bisection import Bisection, Ends, most_positions

Draw = Callable[[int, int], float]
"""Margin of a position in a replication."""


def searched(bisection: Bisection, draw: Draw) -> tuple[Ends, dict[int, int]]:
    """Search, and return the ends and the replications of each position."""
    runs: dict[int, int] = {}
    while True:
        samples = {
            at: np.array([[draw(at, number) for number in range(count)]])
            for at, count in runs.items()
        }
        steps = bisection.steps(samples, runs)
        if not steps:
            return bisection.ends(bisection.tried(samples, runs)), runs
        for step in steps:
            assert step.begin == runs.get(step.position, 0) < step.end
            runs[step.position] = step.end


ONE = SequentialTest((1,), 0.0)
"""Without chance: one sample decides."""


@pytest.mark.parametrize("count", [1, 2, 3, 7, 52])
@pytest.mark.parametrize("has_ends", [True, False])
def test_without_chance_every_answer_is_found_in_the_steps_of_halving(count, has_ends):
    for last in range(-1, count):
        ends, runs = searched(
            Bisection(count, ONE, has_ends=has_ends), lambda at, _, last=last: last - at + 0.5
        )
        assert ends == Ends(last, last, last + 1)
        assert max(last, 0) in runs
        assert min(last + 1, count - 1) in runs
        assert len(runs) <= most_positions(count)


def test_undecided_positions_widen_the_answer_and_the_gaps_beside_them_are_halved():
    # Positions 45 to 55 are too close to zero for their spread, all others are far from it.
    random = np.random.default_rng(1)

    def draw(at: int, _: int) -> float:
        return float(50.4 - at if not 45 <= at <= 55 else 0.0) + 0.1 * float(random.normal())

    draws: dict[tuple[int, int], float] = {}

    def kept(at: int, number: int) -> float:
        return draws.setdefault((at, number), draw(at, number))

    test = sequential_test(0.001, most=8)
    ends, runs = searched(Bisection(101, test, has_ends=True), kept)
    assert (ends.sure, ends.fails) == (44, 56)
    assert 44 <= ends.estimate < 56
    assert all(runs[at] == test.looks[0] for at in runs if not 45 <= at <= 55)


def test_positions_that_are_not_worth_their_trials_are_left_when_the_budget_is_spent():
    test = sequential_test(0.001, most=5)
    bisection = Bisection(1000, test, has_ends=True, most=most_positions(1000))
    ends, runs = searched(bisection, lambda at, number: float((-1) ** number))
    assert len(runs) <= most_positions(1000)
    assert (ends.sure, ends.fails) == (-1, 1000)


def test_one_of_two_margins_fails_with_half_of_the_error():
    # Five samples 2.5 standard errors below zero. Student's t of four degrees is exceeded by 2.132
    # with 5%, and by 2.776 with 2.5%.
    spread = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    below = spread - 2.5 * np.std(spread, ddof=1) / np.sqrt(5)
    test = SequentialTest((5,), 0.05)
    assert test.verdict(np.array([below])) == "fails"
    assert test.verdict(np.array([below, spread + 100])) == "undecided"
    # 2.8 of them are enough.
    further = spread - 2.8 * np.std(spread, ddof=1) / np.sqrt(5)
    assert test.verdict(np.array([further, spread + 100])) == "fails"


def test_a_position_whose_trials_all_failed_is_undecided():
    test = sequential_test(0.01, most=5)
    bisection = Bisection(1, test)
    assert bisection.tried({0: np.zeros((1, 0))}, {0: 5})[0].verdict == "undecided"


def test_a_position_that_is_not_settled_may_fail_and_does_not_hold():
    bisection = Bisection(3, ONE)
    samples = {0: np.array([[1.0]]), 1: np.array([[1.0]]), 2: np.array([[-1.0]])}
    runs = dict.fromkeys(samples, 1)
    tried = bisection.tried(samples, runs, {1, 2})
    assert [tried[at].verdict for at in range(3)] == ["holds", "undecided", "fails"]
    assert bisection.ends(tried) == Ends(0, 0, 2)
    assert bisection.steps(samples, runs, {1, 2}) == ()


def test_a_value_that_cannot_be_satisfied_fails_at_once_whatever_the_other_samples():
    test = sequential_test(0.01, most=64)
    assert test.verdict(np.array([[1.0, 1.1, -np.inf]])) == "fails"


def test_equal_samples_are_decided_about_only_when_the_sign_test_would():
    test = sequential_test(0.007, most=64)
    # Seven looks: 0.001 a look, and 2^-10 is less.
    assert test.equal == 10
    assert test.verdict(np.ones((1, 9))) == "undecided"
    assert test.verdict(np.ones((1, 10))) == "holds"
    assert test.verdict(np.zeros((1, 10))) == "holds"
    assert test.verdict(-np.ones((1, 10))) == "fails"


def test_all_conditions_must_hold_and_one_that_fails_is_enough():
    test = SequentialTest((4,), 0.1)
    good, unknown = np.array([1.0, 1.1, 0.9, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    assert test.verdict(np.array([good, 2 * good])) == "holds"
    assert test.verdict(np.array([good, unknown])) == "undecided"
    assert test.verdict(np.array([good, -good, unknown])) == "fails"


def test_limits_are_those_of_student_at_the_error_of_a_look():
    # Mean 1, standard deviation 2 and 16 samples: t = 2, of which 15 degrees exceed 0.0320.
    samples = np.array([[1 + 2 * np.sqrt(15 / 16) * (-1) ** at for at in range(16)]])
    assert samples.std(ddof=1) == pytest.approx(2)
    assert SequentialTest((16,), 0.033).verdict(samples) == "holds"
    assert SequentialTest((16,), 0.031).verdict(samples) == "undecided"
    assert SequentialTest((8, 16), 0.066).verdict(samples) == "holds"
    assert SequentialTest((8, 16), 0.062).verdict(samples) == "undecided"
