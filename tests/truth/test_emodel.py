"""The E-model against reference values, every one to the digits it is printed with.

R = 93.2 and MOS = 4.41 without impairments are the recommendation's own. The others were computed
by another implementation of the same formulas, so they say that the two agree, and not that both
remember the recommendation rightly. docs/explanation/voice.md says how far each is to be trusted.
Tolerance: half a unit of the last printed digit, unless a test says otherwise.
"""

import numpy as np
import pytest
from ethermeter import voice
from ethermeter.voice.connection import QUANTITIES
from hypothesis import given, settings
from hypothesis import strategies as st
from printed import rounds_to

DELAYS = """
50 91.76 4.380 92.0
100 90.66 4.355 90.8
150 89.54 4.328 89.6
200 85.80 4.223 85.9
300 72.67 3.719 72.5
400 62.25 3.216 59.1
"""
LOSSES = """
g711 1 75.28 3.834
g711 2 63.05 3.256
g711 5 42.13 2.170
g711-plc 1 89.57 4.328
g711-plc 2 86.20 4.235
g711-plc 5 77.43 3.923
g729a 1 78.01 3.946
g729a 2 74.21 3.788
g729a 5 64.71 3.340
"""
MS = 1e-3


def test_a_call_without_impairments_is_rated_as_the_recommendation_publishes_it():
    found = voice.e_model(0.0, 0.0)
    assert rounds_to(found.r, "93.2")
    assert rounds_to(found.mos, "4.41")
    assert rounds_to(voice.mean_opinion(93.2), "4.41")


def test_the_parts_of_an_unimpaired_call_are_those_of_the_reference():
    found = voice.e_model(0.0, 0.0)
    assert rounds_to(found.r, "93.206")
    assert rounds_to(found.ro, "94.7688")
    assert rounds_to(found.is_, "1.4136")
    assert rounds_to(found.id_, "0.149")
    assert found.id_ == found.listener_echo
    assert (found.talker_echo, found.long_delay, found.ie_eff) == (0, 0, 0)


@pytest.mark.parametrize("row", DELAYS.split("\n")[1:-1], ids=lambda row: f"{row.split()[0]} ms")
def test_delay_alone(row):
    delay_ms, r, mos, simple = row.split()
    found = voice.e_model(float(delay_ms) * MS, 0.0)
    assert rounds_to(found.r, r)
    assert rounds_to(found.mos, mos)
    assert rounds_to(voice.cole_rosenbluth_2001(float(delay_ms) * MS, 0.0).r, simple)


@pytest.mark.parametrize(
    "row", LOSSES.split("\n")[1:-1], ids=lambda row: " ".join(row.split()[:2]) + "%"
)
def test_loss_alone(row):
    codec, percent, r, mos = row.split()
    found = voice.e_model(0.0, float(percent) / 100, codec=codec)
    assert rounds_to(found.r, r)
    assert rounds_to(found.mos, mos)


def test_the_parts_add_up_to_the_rating():
    found = voice.e_model([0.0, 0.2, 0.4], [[0.0], [0.02]], codec="g729a", advantage=5.0)
    assert found.r.shape == (2, 3)
    # Sums of a few numbers up to 100.
    np.testing.assert_allclose(
        found.r, found.ro - found.is_ - found.id_ - found.ie_eff + 5, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        found.id_, found.talker_echo + found.listener_echo + found.long_delay, rtol=0, atol=1e-12
    )


def test_the_slope_of_the_simple_form_is_the_printed_one_on_both_sides_of_its_bend():
    found = voice.cole_rosenbluth_2001(np.array([0.0, 100.0, 177.3, 277.3]) * MS, 0.0, base=94.2)
    np.testing.assert_allclose(
        found.r, [94.2, 91.8, 94.2 - 0.024 * 177.3, 94.2 - 0.024 * 277.3 - 11], rtol=0, atol=1e-9
    )


def test_the_worst_call_has_a_score_too():
    assert voice.cole_rosenbluth_2001(10.0, 1.0, codec="g723.1-5.3k", base=0.0).mos == 1
    worst = voice.Connection(
        send_loudness_db=18,
        receive_loudness_db=14,
        send_room_noise_dba=85,
        talker_echo_db=5,
        echo_path_loss_db=5,
    )
    assert voice.e_model(10.0, 1.0, connection=worst).mos == 1


def test_loss_in_bursts_is_worse_than_random_loss_and_equal_to_it_at_ratio_1():
    random, bursts = voice.e_model(0.0, 0.02, codec="g711-plc", burst_ratio=[1.0, 2.0]).ie_eff
    assert random == pytest.approx(95 * 2 / (2 + 25.1), rel=1e-12)
    assert bursts == pytest.approx(95 * 2 / (1 + 25.1), rel=1e-12)


def test_delay_costs_nothing_by_itself_up_to_the_smallest_that_is_noticed():
    found = voice.e_model([0.0, 0.05, 0.1, 0.12], 0.0)
    assert list(found.long_delay[:3]) == [0, 0, 0]
    assert found.long_delay[3] > 0
    # At X = 1: 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2).
    assert voice.e_model(0.2, 0.0).long_delay == pytest.approx(
        25 * (2 ** (1 / 6) - 3 * (1 + 3**-6) ** (1 / 6) + 2), rel=1e-12
    )


@pytest.mark.parametrize("mos", [1.0, 1.5, 2.0, 3.0, 3.6, 4.0, 4.41, 4.5])
def test_the_rating_of_a_score_has_that_score(mos):
    # R is known to a few units of its last place; the cubic is nowhere steeper than 0.054 (at R =
    # 53).
    assert voice.mean_opinion(voice.rating_for(mos)) == pytest.approx(mos, abs=0.054 * 1e-12)


def test_the_rating_of_score_1_is_the_upper_root_of_the_cubic():
    # 0.035 R + 7e-6 R (R - 60)(100 - R) = 0 for R = 80 - sqrt(5400).
    assert voice.rating_for(1.0) == pytest.approx(80 - 5400**0.5, rel=1e-12)


@settings(deadline=None)  # other processes share the machine
@given(
    mos=st.floats(1.2, 4.3),
    delay_ms=st.floats(0, 400),
    burst=st.floats(1, 8),
    codec=st.sampled_from(["g711", "g711-plc", "g729a"]),
)
def test_at_the_largest_loss_the_score_is_the_wanted_one(mos, delay_ms, burst, codec):
    options = {"codec": codec, "burst_ratio": burst}
    found = voice.largest_loss(mos, delay_s=delay_ms * MS, **options)
    clean = voice.e_model(delay_ms * MS, 0.0, **options).mos
    if np.isnan(found.value):
        assert clean < mos + 1e-9
    elif found.value == 1.0:
        assert voice.e_model(delay_ms * MS, 1.0, **options).mos > mos - 1e-9
    else:
        # Solved to rounding, which 1 / (1 - spent / BurstR) magnifies where nearly every packet is
        # lost: 1e-9 is a million units of it.
        assert voice.e_model(delay_ms * MS, found.value, **options).mos == pytest.approx(
            mos, abs=1e-9
        )


@settings(deadline=None)  # other processes share the machine
@given(mos=st.floats(1.2, 4.3), loss=st.floats(0, 0.1), echo_db=st.floats(5, 65))
def test_at_the_largest_delay_the_score_is_the_wanted_one_and_not_beyond(mos, loss, echo_db):
    options = {"codec": "g711-plc", "connection": voice.Connection(talker_echo_db=echo_db)}
    found = voice.largest_delay(mos, loss=loss, **options)
    grid_s = np.linspace(0, 10, 2001)
    scores = voice.e_model(grid_s, loss, **options).mos
    if np.isnan(found.value):
        assert np.all(scores < mos)
    else:
        # Halving stops at the last delay that is enough, to a rounding of R; below R = 3.2 scores
        # do not rise with R, so R is compared.
        assert voice.e_model(found.value, loss, **options).r >= voice.rating_for(mos)
        assert np.all(
            voice.e_model(grid_s[grid_s > found.value], loss, **options).r < voice.rating_for(mos)
        )


@settings(deadline=None)  # other processes share the machine
@given(
    echo_db=st.floats(5, 65),
    path_db=st.floats(5, 110),
    sidetone_db=st.floats(10, 20),
    noise=st.floats(-80, -40),
    sensitivity=st.floats(0.4, 1),
)
def test_from_30_ms_on_delay_never_makes_a_call_better(
    echo_db, path_db, sidetone_db, noise, sensitivity
):
    # The search for the largest delay rests on this.
    connection = voice.Connection(
        talker_echo_db=echo_db,
        echo_path_loss_db=path_db,
        sidetone_db=sidetone_db,
        circuit_noise_dbm0p=noise,
        delay_sensitivity=sensitivity,
    )
    r = voice.e_model(
        np.concatenate([np.linspace(0.03, 0.5, 95), np.linspace(0.55, 10, 190)]),
        0.0,
        connection=connection,
    ).r
    assert np.all(np.diff(r) <= 1e-9)


@settings(deadline=None)  # other processes share the machine
@given(
    loss=st.lists(st.floats(0, 1), min_size=2, max_size=2),
    codec=st.sampled_from(["g711", "g711-plc", "g729", "g723.1-6.3k"]),
)
def test_loss_never_makes_a_call_better(loss, codec):
    better, worse = voice.e_model(0.05, sorted(loss), codec=codec).r
    assert worse <= better


def test_every_permitted_connection_has_a_rating_that_delay_never_raises_beyond_30_ms():
    random = np.random.default_rng(107)
    connections = 2000
    drawn = {
        quantity.field: random.uniform(quantity.allowed.low, quantity.allowed.high, connections)
        for quantity in QUANTITIES
    }
    delay_s = np.concatenate([[0.0, 0.0005, 0.001, 0.01], np.geomspace(0.03, 10, 60)])[:, None]
    r = voice.e_model(delay_s, 0.05, connection=voice.Connection(**drawn)).r
    assert np.isfinite(r).all()
    assert np.all(np.diff(r[4:], axis=0) <= 1e-9)


def test_what_is_beyond_the_permitted_ranges_is_marked():
    assert list(voice.e_model([0.5, 0.51], 0.0).outside_range) == [False, True]
    assert list(voice.e_model(0.0, [0.2, 0.21]).outside_range) == [False, True]
    assert list(voice.e_model(0.0, 0.01, burst_ratio=[8.0, 8.1]).outside_range) == [False, True]
    assert list(voice.largest_loss([4.0, 4.45], delay_s=0.1, codec="g711-plc").outside_range) == [
        False,
        True,
    ]
    assert list(voice.largest_delay([3.5, 1.2], loss=0.0).outside_range) == [False, True]
