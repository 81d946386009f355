"""Delays between places: hand-calculated, and consistent whatever the parameters."""

from fractions import Fraction

import pytest
from ethermeter import topology
from ethermeter.topology import TopologyError
from hypothesis import given
from hypothesis import strategies as st

times_ps = st.integers(min_value=0, max_value=10**9)


def test_910_m_of_thick_coax_take_3_94_us():
    # 910 / (0.77 x 299792458) s = 3.942 121 125... us
    assert topology.propagation_ps(Fraction(910), velocity=Fraction(77, 100)) == 3_942_121
    assert topology.propagation_ps(Fraction(299_792_458), velocity=Fraction(1)) == 10**12


def test_four_clusters_on_a_12_us_net_with_half_microsecond_taps():
    # One way 6 us, of which 2 x 0.5 us are taps: 5 us of cable in three equal parts.
    delays = topology.cable(topology.spaced(5_000_000, points=4), tap_ps=500_000)
    assert delays[0] == [1_000_000, 2_666_667, 4_333_333, 6_000_000]
    assert delays[1][2] == 1_000_000 + 3_333_333 - 1_666_667


def test_a_single_point_is_at_the_beginning():
    assert topology.spaced(7, points=1) == [0]
    assert topology.spaced(7, points=0) == []


def test_stations_are_dealt_in_rotation():
    assert topology.dealt(6, places=4) == [0, 1, 2, 3, 0, 1]
    assert topology.dealt(3, places=4, first=2) == [2, 3, 0]


def test_a_star_adds_both_branches_and_the_repeater():
    assert topology.star([100, 200], repeater_ps=50, tap_ps=1) == [[252, 352], [352, 452]]


def test_a_place_with_one_station_has_nothing_on_the_diagonal():
    assert topology.settled([[5, 7], [7, 5]], stations=[2, 1]) == [[5, 7], [7, 0]]


@given(st.lists(times_ps, min_size=1, max_size=40), times_ps)
def test_every_cable_is_consistent(coordinates, tap_ps):
    topology.check(topology.cable(coordinates, tap_ps=tap_ps))


@given(st.lists(times_ps, min_size=1, max_size=40), times_ps, times_ps)
def test_every_star_is_consistent(branches, repeater_ps, tap_ps):
    topology.check(topology.star(branches, repeater_ps=repeater_ps, tap_ps=tap_ps))


@given(times_ps, st.integers(min_value=1, max_value=200))
def test_equal_spacing_begins_and_ends_where_the_cable_does(end_ps, points):
    coordinates = topology.spaced(end_ps, points=points)
    assert coordinates == sorted(coordinates)
    assert coordinates[0] == 0
    assert coordinates[-1] == (end_ps if points > 1 else 0)


@pytest.mark.parametrize(
    ("delays", "place", "word"),
    [
        ([[0, 1], [2, 0]], (1, 0), "equally long both ways"),
        ([[0, 1], [1]], (1,), "square"),
        ([[0, 9, 1], [9, 0, 1], [1, 1, 0]], (0, 1), "at most 2 ps, the way by place 2"),
        ([[9, 1], [1, 0]], (0, 0), "at most 2 ps, the way by place 1"),
    ],
)
def test_delays_that_contradict_themselves_are_refused(delays, place, word):
    with pytest.raises(TopologyError, match=word) as caught:
        topology.check(delays)
    assert caught.value.index == place


@given(st.integers(min_value=2, max_value=30), st.randoms(use_true_random=False))
def test_small_and_large_matrices_are_held_to_the_same_rule(size, random):
    delays = [[0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            delays[row][column] = delays[column][row] = (
                random.randrange(4, 9) if row != column else random.randrange(0, 20)
            )
    # Appended places far away change nothing, but take the matrix over the bound at which numpy is
    # used.
    far = [[*row, *([100] * 30)] for row in delays] + [
        [100] * size + [0 if i == j else 100 for j in range(30)] for i in range(30)
    ]

    def verdict(matrix: list[list[int]]) -> str | None:
        try:
            topology.check(matrix)
        except TopologyError as error:
            return str(error.index)
        return None

    assert (verdict(delays) is None) == (verdict(far) is None)
