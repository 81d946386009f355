"""Results: what is found by series, point, metric and entity, and what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from ethermeter.metrics import Metric
from ethermeter.results.query import MissingError, Results
from ethermeter.scenario import Scenario
from made_results import results_of, whole_of
from segments import segment

COUNT = "stations.count"


@dataclass(frozen=True)
class Stand:
    """A trial as far as results look at it."""

    id: str
    series: str
    point: Mapping[str, str]
    engine: str = "simulation"
    scenario: Scenario = field(default_factory=lambda: segment({"points": [0, 1, 1]}))


def made(*trials: Stand, metric: Metric = Metric.LOSS) -> Results:
    """Results with the numbers of the trials as the values of all stations."""
    column = np.arange(len(trials), dtype=np.float64).reshape(-1, 1)
    return results_of(trials, whole=whole_of((metric,), column))


def replicated(
    series: str, point: Mapping[str, str], *, times: int = 3, **others: Any
) -> list[Stand]:
    return [Stand(f"{series}/{point}/{number}", series, point, **others) for number in range(times)]


def test_values_are_those_of_the_replications_of_a_point_in_the_plans_order():
    results = made(
        *replicated("a", {COUNT: "1"}),
        *replicated("b", {COUNT: "1"}),
        *replicated("a", {COUNT: "2"}),
    )
    assert results.at("a", {COUNT: "2"}).values(Metric.LOSS).tolist() == [6, 7, 8]
    assert results.at("a", {COUNT: "2"}).value(Metric.LOSS) == 7
    assert results.at("b", {COUNT: "1"}).replications == 3
    assert results.at("b", {COUNT: "1"}).series == "b"
    assert [of.point[COUNT] for of in results.points("a")] == ["1", "2"]
    assert [(of.series, of.point[COUNT]) for of in results.points()] == [
        ("a", "1"),
        ("b", "1"),
        ("a", "2"),
    ]


def test_points_of_other_engines_are_no_replications():
    results = made(*replicated("a", {COUNT: "1"}, engine="theory/lam-1980"))
    with pytest.raises(MissingError, match="no trial of a"):
        results.at("a", {COUNT: "1"})
    assert results.at("a", {COUNT: "1"}, engine="theory/lam-1980").replications == 3
    assert results.by("theory/lam-1980").at("a", {COUNT: "1"}).engine == "theory/lam-1980"


def test_two_replications_are_too_few_where_three_are_asked_for():
    results = made(*replicated("a", {COUNT: "1"}, times=2)).by("simulation", least=3)
    with pytest.raises(MissingError, match="fewer than 3 replications for a"):
        results.at("a", {COUNT: "1"})


def test_what_no_trial_has_is_missing():
    results = made(*replicated("a", {COUNT: "1"})).at("a", {COUNT: "1"})
    with pytest.raises(MissingError, match="no one_way_delay"):
        results.values(Metric.ONE_WAY_DELAY)
    with pytest.raises(MissingError, match="no one_way_delay"):
        results.estimate(Metric.ONE_WAY_DELAY)
    with pytest.raises(MissingError, match="no pupil7"):
        results.values(Metric.LOSS, "pupil7")
    with pytest.raises(MissingError, match="no histogram of delay of"):
        results.histogram("delay", results.entities[0])


def test_entities_have_names():
    results = results_of(
        [Stand("a/0", "a", {}), Stand("a/1", "a", {})],
        each=[{Metric.BIT_RATE: np.array([1.0, 2.0, 3.0]) * of} for of in (1, 10)],
    ).at("a")
    assert len(results.entities) == len(set(results.entities)) == 3
    assert results.values(Metric.BIT_RATE, results.entities[1]).tolist() == [2, 20]


def test_an_estimate_is_that_of_all_replications():
    # 0, 1 and 2: mean 1, error 1 / sqrt(3), two degrees of freedom.
    found = made(*replicated("a", {}), metric=Metric.BIT_RATE).at("a").estimate(Metric.BIT_RATE)
    assert (found.value, found.error, found.degrees) == (1, pytest.approx(3**-0.5), 2)


def test_a_curve_runs_along_one_key_in_the_plans_order_where_all_others_are_as_asked():
    points = [{COUNT: "10", "x": "1"}, {COUNT: "9", "x": "1"}, {COUNT: "9", "x": "2"}, {"x": "1"}]
    results = made(*(trial for point in points for trial in replicated("a", point)))
    assert results.along("a", COUNT, {"x": "1"}) == ["10", "9"]
    assert results.along("a", COUNT, {"x": "2"}) == ["9"]
    assert results.along("a", COUNT) == []
    assert results.along("a", COUNT, None) == ["10", "9"]
    assert results.along("b", COUNT, {"x": "1"}) == []
