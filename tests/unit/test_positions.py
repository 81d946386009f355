"""Positions along a line: found from delays by hand, estimated from drawn numbers, and kept in
their file.
"""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from ethermeter import topology
from ethermeter.analysis import positions
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from hypothesis import given
from hypothesis import strategies as st
from made_results import Made, made
from segments import segment

METRICS = {Metric.BIT_RATE: 1e6, Metric.TRANSMISSION_DELAY: 1e-3}


@given(
    st.lists(st.integers(0, 25_000_000), min_size=3, max_size=24, unique=True),
    st.integers(0, 500_000),
    st.lists(st.booleans(), min_size=24),
)
def test_positions_of_a_cable_come_back_from_its_delays_alone(points, tap_ps, shared):
    stations = [2 if shared[place] else 1 for place in range(len(points))]
    found = positions.along_a_line(
        topology.settled(topology.cable(points, tap_ps=tap_ps), stations=stations)
    )
    ends = sorted([points.index(min(points)), points.index(max(points))])
    assert found == tuple(abs(point - points[ends[0]]) for point in points)


@pytest.mark.parametrize(
    ("delays", "expected"),
    [
        (
            [[0, 7], [7, 0]],
            (0, 7),
        ),  # one station at either end: taps and cable cannot be told apart
        ([[2, 7], [7, 0]], (0, 5)),  # two stations of a place are two taps apart
        ([[2, 2], [2, 2]], None),  # no extent
        ([[0, 5, 9], [5, 0, 6], [9, 6, 0]], (0, 3, 7)),  # 5 + 6 - 9 = 2 are taps
        ([[3, 5, 9], [5, 0, 6], [9, 6, 0]], None),  # 3 are not
        ([[0, 4, 4, 4], [4, 0, 4, 4], [4, 4, 0, 4], [4, 4, 4, 0]], None),  # a star
        ([[0]], None),
        ([[0, 1], [1]], None),
        ([[0, 1, 2]], None),
    ],
)
def test_delays_are_those_of_a_line_or_of_none(delays, expected):
    assert positions.along_a_line(delays) == expected


def trial(
    number: int,
    places: list[int],
    *,
    series: str = "s",
    point: dict[str, str] | None = None,
    delays: Any = None,
) -> Any:
    delay_ps = [[2_000_000, 7_000_000], [7_000_000, 2_000_000]] if delays is None else delays
    scenario = segment({"name": "host", "points": places}, delay_ps=delay_ps)
    return SimpleNamespace(
        id=f"{series}/{number}",
        series=series,
        engine="simulation",
        point=point or {"a": "1"},
        scenario=scenario,
    )


def tables(trials: list[Any], values: list[list[float]]) -> Made:
    return made(
        (of.id, station, metric, scale * value)
        for of, row in zip(trials, values, strict=True)
        for metric, scale in METRICS.items()
        for station, value in enumerate(row)
    )


def test_a_place_has_the_mean_of_its_stations_with_student_s_interval():
    trials = [trial(number, [0, 1, 1]) for number in range(3)]
    (line,) = positions.estimate(
        trials, tables(trials, [[1.0, 2.0, 4.0], [1.0, 3.0, 5.0], [1.0, 4.0, 6.0]])
    )
    first, second = line.places
    assert (first.position_s, first.stations, second.position_s, second.stations) == (
        0.0,
        1,
        pytest.approx(5e-6),
        2,
    )
    rate = second.estimates[Metric.BIT_RATE]
    # Means 3, 4, 5: s = 1, over sqrt(3), times t(2) = 4.3027.
    assert rate.value == pytest.approx(4e6)
    assert rate.half_width == pytest.approx(1e6 * 4.3027 / math.sqrt(3), rel=1e-4)
    assert first.estimates[Metric.TRANSMISSION_DELAY].value == pytest.approx(1e-3)
    assert Metric.LOSS not in first.estimates  # not observed


def test_places_are_in_order_along_the_line_and_those_without_stations_are_left_out():
    delays = topology.cable([0, 9_000_000, 3_000_000, 6_000_000], tap_ps=0)
    trials = [trial(number, [0, 1, 2], delays=delays) for number in range(3)]
    (line,) = positions.estimate(trials, tables(trials, [[1.0, 2.0, 3.0]] * 3))
    assert [place.place for place in line.places] == [0, 2, 1]
    assert [place.position_s for place in line.places] == pytest.approx([0.0, 3e-6, 9e-6])


@pytest.mark.parametrize("places", [[0, 0, 0], [0, 1, 2]])
def test_stations_that_are_not_along_a_line_have_no_positions(places):
    delays = [[4, 5, 5, 5], [5, 4, 5, 5], [5, 5, 4, 5], [5, 5, 5, 4]]
    trials = [trial(number, places, delays=delays) for number in range(3)]
    assert positions.estimate(trials, tables(trials, [[1.0, 2.0, 3.0]] * 3)) == ()


def test_positions_survive_their_file(tmp_path):
    trials = [trial(number, [0, 1, 1]) for number in range(3)]
    found = positions.estimate(
        trials, tables(trials, [[1.0, 2.0, 4.0], [1.5, math.nan, math.nan], [1.0, 4.0, 6.0]])
    )
    text = positions.text_of(found)
    (tmp_path / positions.FILE).write_text(text, encoding="utf-8")
    assert positions.read(tmp_path) == found
    assert "NaN" not in text
    assert found[0].places[1].estimates == {}  # a replication delivered nothing there


def test_a_run_without_the_file_has_no_positions(tmp_path):
    assert positions.read(tmp_path) == ()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"lines": [{}]}',
        '{"lines": [{"series": 1, "point": {}, "engine": "", "replications": 1, "places": [7]}]}',
    ],
)
def test_a_broken_positions_file_is_named(tmp_path, text):
    (tmp_path / positions.FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"positions\.json: content = .*: not a positions file"):
        positions.read(tmp_path)
