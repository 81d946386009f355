"""Curves of a run, replication by replication, and what is read off them by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from ethermeter.metrics import Metric
from ethermeter.scenario import Scenario
from ethermeter.studies.judging import MissingError
from ethermeter.studies.replications import Curves, crossing, takeoff
from hypothesis import given
from hypothesis import strategies as st
from made_results import whole_of
from segments import segment

COUNT = "stations.count"


@dataclass(frozen=True)
class Stand:
    """A trial as far as curves look at it."""

    id: str
    series: str
    point: Mapping[str, str]
    engine: str = "simulation"
    scenario: Scenario = field(default_factory=lambda: segment(bit_ps=340_000))


def curves(
    *trials: Stand, values: list[float] | None = None, metric: Metric = Metric.SAMPLE_LOSS
) -> Curves:
    column = np.array(
        values if values is not None else range(len(trials)), dtype=np.float64
    ).reshape(-1, 1)
    return Curves(trials, whole_of((metric,), column))


def replicated(
    series: str, point: Mapping[str, str], *, times: int = 3, **others: Any
) -> list[Stand]:
    return [Stand(f"{series}/{point}/{number}", series, point, **others) for number in range(times)]


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


def test_values_are_those_of_the_replications_of_a_point_in_the_plans_order():
    found = curves(
        *replicated("a", {COUNT: "1"}),
        *replicated("b", {COUNT: "1"}),
        *replicated("a", {COUNT: "2"}),
    )
    assert found.values("a", {COUNT: "2"}, Metric.SAMPLE_LOSS).tolist() == [6, 7, 8]
    assert found.trials("b", {COUNT: "1"}) == [3, 4, 5]
    assert found.bit_ps("a", {COUNT: "1"}) == 340_000


def test_points_of_other_engines_are_no_replications():
    theory = replicated("a", {COUNT: "1"}, engine="theory/lam-1980")
    with pytest.raises(MissingError, match="fewer than 3 replications for a"):
        curves(*theory).trials("a", {COUNT: "1"})


def test_two_replications_are_too_few_and_a_metric_that_was_not_seen_is_missing():
    with pytest.raises(MissingError, match="fewer than 3"):
        curves(*replicated("a", {COUNT: "1"}, times=2)).values(
            "a", {COUNT: "1"}, Metric.SAMPLE_LOSS
        )
    with pytest.raises(MissingError, match="no goodput"):
        curves(*replicated("a", {COUNT: "1"})).values("a", {COUNT: "1"}, Metric.GOODPUT)


def test_a_curve_runs_along_one_key_by_size_where_all_others_are_as_asked():
    points = [{COUNT: "10", "x": "1"}, {COUNT: "9", "x": "1"}, {COUNT: "9", "x": "2"}, {"x": "1"}]
    found = curves(*(trial for point in points for trial in replicated("a", point)))
    assert found.along("a", {"x": "1"}, COUNT) == ["9", "10"]
    assert found.along("a", {"x": "2"}, COUNT) == ["9"]
    assert found.along("a", {}, COUNT) == []
    assert found.along("b", {"x": "1"}, COUNT) == []
