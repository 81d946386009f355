"""Estimates of a part of the stations, against hand calculations."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ethermeter.analysis import groups
from ethermeter.counts import Floats
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.scenario import Scenario
from made_results import Value, made
from segments import segment

SCENARIO = segment({"name": "odd", "points": [1]}, {"name": "others", "points": [0, 1, 0]})


def trials(count: int, scenario: Scenario = SCENARIO) -> list[Any]:
    return [
        SimpleNamespace(
            id=f"t{at}",
            series="s",
            engine="simulation",
            point={"x": "1"},
            scenario=scenario,
            replication=at,
        )
        for at in range(count)
    ]


def observed(values: list[list[float]], metric: Metric = Metric.BIT_RATE) -> list[Value]:
    return [
        (f"t{at}", station, metric, value)
        for at, of in enumerate(values)
        for station, value in [(-1, 99.0), *enumerate(of)]
    ]


def batched(charged_ps: list[list[list[int]]]) -> dict[str, tuple[Floats, Floats]]:
    """Sums of trials by batch and station; one frame a batch."""
    return {
        f"t{at}": (np.ones_like(of, np.float64), np.array(of, np.float64))
        for at, of in enumerate(charged_ps)
    }


def of(points: tuple[Point, ...], part: str) -> Point:
    (found,) = [point for point in points if point.point[groups.PART] == part]
    return found


def test_stations_are_numbered_through_the_groups_in_order():
    assert {name: members.tolist() for name, members in groups.by_group(SCENARIO).items()} == {
        "odd": [0],
        "others": [1, 2, 3],
    }
    places = {name: members.tolist() for name, members in groups.by_place(SCENARIO).items()}
    assert places == {"odd, place 2": [0], "others, place 1": [1, 3], "others, place 2": [2]}


def test_one_group_needs_no_name_for_its_places():
    assert list(groups.by_place(segment({"name": "host", "points": [0, 1, 0]}))) == [
        "place 1",
        "place 2",
    ]


def test_a_group_is_the_mean_of_its_stations_with_student_s_interval():
    rows = observed([[8.0, 1.0, 2.0, 3.0], [9.0, 2.0, 3.0, 4.0], [10.0, 3.0, 4.0, 5.0]])
    found = groups.estimate(trials(3), made(rows), groups.by_group)
    assert [point.point for point in found] == [
        {"x": "1", "stations": "odd"},
        {"x": "1", "stations": "others"},
    ]
    others = of(found, "others").estimates[Metric.BIT_RATE]
    assert (others.value, others.degrees, others.cautions) == (3.0, 2.0, ())
    assert others.half_width == pytest.approx(
        4.30265 / math.sqrt(3), rel=1e-5
    )  # trial means 2, 3, 4: s = 1, t(2) = 4.30265
    assert of(found, "odd").estimates[Metric.BIT_RATE].value == 9.0


def test_a_station_that_delivered_nothing_is_left_out_and_a_silent_group_has_no_value():
    nan = float("nan")
    rows = observed([[nan, 1.0, nan, 3.0]] * 3, Metric.TRANSMISSION_DELAY)
    found = groups.estimate(trials(3), made(rows), groups.by_group)
    assert of(found, "others").estimates[Metric.TRANSMISSION_DELAY].value == 2.0
    assert math.isnan(of(found, "odd").estimates[Metric.TRANSMISSION_DELAY].value)
    assert math.isnan(of(found, "others").estimates[Metric.LOSS].value)  # not observed at all


def test_one_replication_has_an_interval_from_batches_where_they_say_something():
    charged = [[[10**10 * value] * 4 for value in (1, 2, 3, 6)]]
    rows = [*observed([[1.2e6] * 4]), *observed([[0.1] * 4], Metric.LOSS)]
    source = made(rows, batches=batched(charged))
    found = of(groups.estimate(trials(1), source, groups.by_group), "others")
    rate = found.estimates[Metric.BIT_RATE]
    # The jackknife of a mean is its standard error: batch rates are 0.4, 0.8, 1.2 and 2.4 Mb/s in a
    # batch of 0.25 s.
    assert rate.error == pytest.approx(np.std([0.4e6, 0.8e6, 1.2e6, 2.4e6], ddof=1) / 2)
    assert (rate.degrees, rate.cautions) == (3.0, ())
    assert not found.estimates[Metric.LOSS].has_interval


def test_capture_that_changes_sides_is_fair_over_the_window_only():
    pair = segment({"name": "host", "points": [0, 1]})
    swings = [[9, 1], [1, 9], [9, 1], [1, 9]]
    found = groups.larger_shares(
        trials(3, pair), made(batches=batched([swings, swings, [[3, 1]] * 4]))
    )
    assert of(found, "the window").estimates[Metric.UTILISATION].value == pytest.approx(
        (0.5 + 0.5 + 0.75) / 3
    )
    assert of(found, "one batch").estimates[Metric.UTILISATION].value == pytest.approx(
        (0.9 + 0.9 + 0.75) / 3
    )
    alone = groups.larger_shares(trials(1, pair), made(batches=batched([[[9, 1], [7, 3], [5, 5]]])))
    batch = of(alone, "one batch").estimates[Metric.UTILISATION]
    assert batch.value == pytest.approx(0.7)
    assert batch.error == pytest.approx(0.2 / math.sqrt(3))
    assert not of(alone, "the window").estimates[Metric.UTILISATION].has_interval
