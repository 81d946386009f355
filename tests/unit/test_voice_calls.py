"""Talk spurts and Erlang's B formula, against hand values, exact fractions and printed tables."""

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from ethermeter import voice
from ethermeter.voice import ArgumentError
from hypothesis import given
from hypothesis import strategies as st
from printed import rounds_to

# Tables of Erlang's B formula as several public programs and lecture notes quote them: circuits,
# blocking, erlangs.
OFFERED = [
    (2, 0.001, ".046"),
    (3, 0.001, ".194"),
    (4, 0.001, ".439"),
    (5, 0.001, ".762"),
    (10, 0.01, "4.46"),
    (9, 0.01, "3.783"),
]
OFFERED += [(57, 0.01, "44.2"), (50, 0.02, "40.26")]
BLOCKED = [(2, 5, ".0367"), (10, 14, ".0568"), (5, 10, ".0184")]


def erlang_exactly(offered: Fraction, circuits: int) -> float:
    terms = [offered**k / factorial(k) for k in range(circuits + 1)]
    return float(terms[-1] / sum(terms))


@pytest.mark.parametrize(("circuits", "blocking", "erlangs"), OFFERED)
def test_what_can_be_offered_is_what_tables_print(circuits, blocking, erlangs):
    assert rounds_to(voice.erlang_b_offered(blocking, circuits=circuits), erlangs)


@pytest.mark.parametrize(("offered", "circuits", "blocking"), BLOCKED)
def test_blocking_is_what_tables_print(offered, circuits, blocking):
    assert rounds_to(voice.erlang_b(offered, circuits=circuits), blocking)


@pytest.mark.parametrize("circuits", [0, 1, 2, 10, 100, 300])
@pytest.mark.parametrize(
    "offered", [Fraction(1, 1000), Fraction(1), Fraction(19, 2), Fraction(120), Fraction(10**6)]
)
def test_blocking_is_the_quotient_of_the_definition(offered, circuits):
    exact = erlang_exactly(offered, circuits)
    # -log B is a sum of up to 300 steps, each rounded to 1e-16 of at most 4000.
    assert voice.erlang_b(float(offered), circuits=circuits) == pytest.approx(
        exact, rel=1e-9, abs=1e-300
    )


def test_the_telephones_of_1982_are_counted_as_the_documentation_says():
    # 350 telephones, 20 % in use, two a conversation: 35 erlangs for 35 circuits.
    assert rounds_to(voice.erlang_b(350 * 0.2 / 2, circuits=35), ".12")
    offered = voice.erlang_b_offered(0.01, circuits=35)
    assert rounds_to(offered, "24.6")
    assert rounds_to(offered * 2 / 0.2, "246")


def test_nothing_offered_is_blocked_only_where_there_is_no_place():
    assert list(voice.erlang_b(0.0, circuits=[0, 1, 5])) == [1, 0, 0]
    assert voice.erlang_b(7.0, circuits=0) == 1


@given(st.floats(1e-9, 0.999), st.integers(1, 400))
def test_the_inverse_gives_the_blocking_back(blocking, circuits):
    offered = voice.erlang_b_offered(blocking, circuits=circuits)
    # log B changes with log a by at most the number of circuits, so a rounding of a is at most 400
    # of B.
    assert voice.erlang_b(offered, circuits=circuits) == pytest.approx(blocking, rel=1e-10)


@given(st.floats(0, 200), st.floats(1e-6, 0.9))
def test_the_fewest_places_are_enough_and_one_fewer_is_not(offered, blocking):
    circuits = voice.erlang_b_circuits(offered, blocking=blocking)
    assert voice.erlang_b(offered, circuits=circuits) <= blocking * (1 + 1e-12)
    if circuits > 0:
        assert voice.erlang_b(offered, circuits=circuits - 1) > blocking * (1 - 1e-12)


def test_functions_of_calls_broadcast():
    assert voice.erlang_b([1.0, 2.0, 3.0], circuits=[[1], [5]]).shape == (2, 3)
    assert voice.erlang_b_offered([0.01, 0.1], circuits=[[1], [5]]).shape == (2, 2)
    assert voice.erlang_b_circuits([[1.0], [50.0]], blocking=[0.01, 0.1]).tolist() == [
        [5, 3],
        [64, 51],
    ]
    assert voice.talking([10, 20], activity=[[0.3], [0.4]], room=5).exceeding.shape == (2, 2)
    one = voice.talking(20, activity=0.4, room=5)
    assert voice.talking([10, 20], activity=[[0.3], [0.4]], room=5).exceeding[1, 1] == one.exceeding


@pytest.mark.parametrize("talkers", [0, 1, 2, 10, 48])
@pytest.mark.parametrize("room", [0, 1, 7, 48])
def test_how_many_talk_is_binomial(talkers, room):
    activity = Fraction(2, 5)
    mass = [
        comb(talkers, k) * activity**k * (1 - activity) ** (talkers - k) for k in range(talkers + 1)
    ]
    exceeding = sum(mass[room + 1 :], Fraction(0))
    lost = (
        sum((k - room) * mass[k] for k in range(room + 1, talkers + 1)) / (talkers * activity)
        if talkers
        else Fraction(0)
    )
    found = voice.talking(talkers, activity=0.4, room=room)
    # 48 logarithms of numbers up to 48, rounded; where there is nothing to sum the sum is 0.
    assert found.exceeding == pytest.approx(float(exceeding), rel=1e-12, abs=0)
    assert found.frozen_out == pytest.approx(float(lost), rel=1e-12, abs=0)
    assert found.mean == pytest.approx(0.4 * talkers)
    assert found.deviation == pytest.approx((0.24 * talkers) ** 0.5)


def test_who_always_or_never_talks_leaves_nothing_to_chance():
    always, never = (
        voice.talking(10, activity=1.0, room=[9, 10]),
        voice.talking(10, activity=0.0, room=0),
    )
    assert list(always.exceeding) == [1, 0]
    assert list(always.frozen_out) == pytest.approx([0.1, 0])
    assert (never.exceeding, never.frozen_out) == (0, 0)
    assert voice.talking_quantile(10, activity=1.0, exceeding=0.5) == 10
    assert voice.admitted(10, activity=1.0, exceeding=0.5) == 10


@given(
    st.integers(0, 200),
    st.floats(0.01, 0.99),
    st.sampled_from([1e-9, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.99]),
)
def test_the_quantile_is_the_smallest_number_that_is_enough(talkers, activity, exceeding):
    most = int(voice.talking_quantile(talkers, activity=activity, exceeding=exceeding))
    slack = 1e-12
    assert voice.talking(talkers, activity=activity, room=most).exceeding <= exceeding * (1 + slack)
    if most > 0:
        assert voice.talking(talkers, activity=activity, room=most - 1).exceeding > exceeding * (
            1 - slack
        )


@given(st.integers(0, 60), st.floats(0.1, 1), st.sampled_from([1e-6, 1e-3, 0.01, 0.1]))
def test_one_talker_more_than_admitted_is_too_many(room, activity, exceeding):
    most = voice.admitted(room, activity=activity, exceeding=exceeding)
    assert most >= room
    assert voice.talking(most, activity=activity, room=room).exceeding <= exceeding
    assert voice.talking(most + 1, activity=activity, room=room).exceeding > exceeding


def test_large_numbers_of_talkers_are_nearly_normal():
    found = voice.talking(10_000, activity=0.4, room=4000 + 98)
    # 98.5 is 2.0106 standard deviations of 48.99 above the mean; the normal tail is 0.02219, and
    # skewness (0.004) moves it by less than 1%.
    assert found.exceeding == pytest.approx(0.02219, rel=0.01)


def test_activity_is_the_share_of_the_spurts():
    assert voice.PATTERNS["brady-1968"].activity == pytest.approx(0.4)
    # The quotient of the means; the recommendation's own 38.53 % (from memory) is of another count,
    # which its mutual silences enter.
    assert rounds_to(voice.PATTERNS["p59"].activity * 100, "38.75")
    assert voice.activity_of([1.2, 1.0], silence_s=[1.8, 3.0]).tolist() == pytest.approx(
        [0.4, 0.25]
    )
    for name, pattern in voice.PATTERNS.items():
        assert pattern.name == name
        assert "from memory" in pattern.confidence


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: voice.erlang_b(-1, circuits=1),
            "erlang-b: offered_erlangs = -1: a number from 0 to 1e+09",
        ),
        (
            lambda: voice.erlang_b(1, circuits=1.5),
            "erlang-b: circuits = 1.5: a whole number from 0 to 10000",
        ),
        (lambda: voice.erlang_b_offered(0.0, circuits=1), "erlang-b-offered: blocking = 0: "),
        (
            lambda: voice.erlang_b_offered(0.1, circuits=0),
            "erlang-b-offered: circuits = 0: a whole number from 1 to 10000",
        ),
        (
            lambda: voice.erlang_b_circuits(1e8, blocking=0.01),
            "erlang-b-circuits: offered_erlangs = 100000000: ",
        ),
        (
            lambda: voice.talking(3.5, activity=0.4, room=1),
            "talking: talkers = 3.5: a whole number",
        ),
        (
            lambda: voice.talking([1, 2], activity=[0.1, 0.2, 0.3], room=1),
            "talking: talkers, activity, room = arrays of shapes (2,), (3,), ()",
        ),
        (
            lambda: voice.talking_quantile(3, activity=2, exceeding=0.5),
            "talking-quantile: activity = 2: a number from 0 to 1",
        ),
        (
            lambda: voice.admitted(3, activity=0, exceeding=0.5),
            "admitted: activity = 0: one at which fewer than 10000 talkers",
        ),
        (lambda: voice.activity_of(0, silence_s=1), "activity-of: talk_s = 0: "),
    ],
)
def test_what_cannot_be_is_named(call, said):
    with pytest.raises(ArgumentError) as error:
        call()
    assert str(error.value).startswith(said)


def test_large_requests_stay_within_memory():
    found = voice.erlang_b(np.linspace(1, 100, 500), circuits=10_000)
    assert np.all(found == 0)
