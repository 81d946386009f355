"""Models of queues and transfers: hand calculations, limits, and independent solutions."""

import math

import numpy as np
import pytest
from ethermeter import theory
from ethermeter.theory.waiting import superposed


def test_waits_of_fixed_exponential_and_mixed_services_by_hand():
    # ρ = 0.5: M/D/1 waits ρ/(2 (1 - ρ)) = 0.5 services, M/M/1 twice that. Of 1 and 3 ms in equal
    # shares at 250/s: E[S²] = 5 ms², ρ = 0.5, 250 · 5e-6 / (2 · 0.5) = 1.25 ms.
    wait = theory.pollaczek_khinchine_1932
    assert wait(500, service_s=1e-3).wait_s == pytest.approx(0.5e-3)
    assert wait(500, service_s=1e-3, lengths="exponential").wait_s == pytest.approx(1e-3)
    mixed = wait(250, service_s=[1e-3, 3e-3], weights=[1, 1], lengths="mix")
    assert mixed.wait_s == pytest.approx(1.25e-3)
    assert mixed.delay_s == pytest.approx(3.25e-3)


def test_priorities_share_the_wait_of_one_queue():
    # Kleinrock's conservation law: Σ ρ_k W_k = ρ R / (1 - ρ), whatever the order of the classes.
    loads, services = [0.1, 0.25, 0.4], [2e-3, 1e-3, 4e-3]
    total = 0.0
    for at, own in enumerate(loads):
        above, below = sum(loads[:at]), sum(loads[at + 1 :])
        above_s = np.dot(loads[:at], services[:at]) / above if above else 1e-3
        below_s = np.dot(loads[at + 1 :], services[at + 1 :]) / below if below else 1e-3
        found = theory.cobham_1954(
            own,
            load_above=above,
            load_below=below,
            service_s=services[at],
            service_above_s=above_s,
            service_below_s=below_s,
        )
        assert found.residual_s == pytest.approx(np.dot(loads, services) / 2)
        total += own * float(found.wait_s)
    assert total == pytest.approx(0.75 * np.dot(loads, services) / 2 / 0.25)


def test_general_arrivals_meet_what_is_known_of_them():
    rates = np.array([100.0, 500.0, 900.0])
    poisson = theory.pollaczek_khinchine_1932(rates, service_s=1e-3, lengths="exponential").wait_s
    near = theory.marchal_1976(rates, service_s=1e-3, arrival_scv=1, service_scv=1)
    np.testing.assert_allclose(near.wait_s, poisson, rtol=1e-12)
    assert theory.marchal_1976(900, service_s=1e-3, arrival_scv=0, service_scv=0).wait_s == 0
    # D/M/1: the wait is σ/(1 - σ) services, where σ = exp(-(1 - σ)/ρ) (Kleinrock I, eq. 6.28).
    errors = []
    for rate in (100.0, 500.0, 990.0):
        root = 0.5
        for _ in range(2000):
            root = math.exp(-(1 - root) * 1000 / rate)
        exact = root / (1 - root) * 1e-3
        given = {"service_s": 1e-3, "arrival_scv": 0, "service_scv": 1}
        assert theory.kingman_1962(rate, **given).wait_s > exact
        # The approximation becomes exact with the load.
        errors.append(abs(float(theory.marchal_1976(rate, **given).wait_s) / exact - 1))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02


def chain_of_departures(load: float, room: int) -> tuple[float, float]:
    """Loss and wait of M/D/1/K by linear equations for what departures leave behind."""
    poisson = [math.exp(-load) * load**k / math.factorial(k) for k in range(room)]
    moves = np.zeros((room, room))
    for state in range(room):
        begin = max(state - 1, 0)
        for number in range(room - 1 - begin):
            moves[state, begin + number] = poisson[number]
        moves[state, room - 1] = 1 - moves[state].sum()
    equations = np.vstack([moves.T - np.eye(room), np.ones(room)])
    left = np.linalg.lstsq(equations, np.append(np.zeros(room), 1.0), rcond=None)[0]
    served = 1 / (left[0] + load)
    number = served * left @ np.arange(room) + (1 - served) * room
    return 1 - served, number / (load * served) - 1


@pytest.mark.parametrize("load", [0.3, 0.9, 1.0, 1.7])
@pytest.mark.parametrize("room", [1, 2, 5, 12])
def test_limited_rooms_are_those_of_their_chains(load, room):
    fixed = theory.gross_2008_m_d_1_k(load, room=room)
    loss, wait = chain_of_departures(load, room)
    assert fixed.loss == pytest.approx(loss, abs=1e-13, rel=1e-9)
    assert fixed.wait == pytest.approx(wait, abs=1e-9)
    # M/M/1/K: P = ρ^K / Σ ρ^k; with room for one both are Erlang's ρ / (1 + ρ).
    exponential = theory.kleinrock_1975_m_m_1_k(load, room=room)
    assert exponential.loss == pytest.approx(load**room / sum(load**k for k in range(room + 1)))
    if room == 1:
        assert fixed.loss == pytest.approx(load / (1 + load))
        assert fixed.wait == pytest.approx(0, abs=1e-12)


def test_a_large_room_loses_nothing_and_waits_as_without_limit():
    found = theory.gross_2008_m_d_1_k([0.5, 0.9], room=400)
    assert (found.loss < 1e-12).all()
    np.testing.assert_allclose(found.wait, [0.5, 4.5], rtol=1e-9)
    # Overloaded, it serves all the time: the loss is 1 - 1/ρ.
    full = theory.gross_2008_m_d_1_k([1.5, 5.0], room=1000)
    np.testing.assert_allclose(full.loss, [1 / 3, 0.8], rtol=1e-12)


def sawtooth(largest: int) -> tuple[float, float]:
    """Loss, and segments a round trip, of a window that grows by one from half of the largest."""
    windows = range(largest // 2, largest)
    return 1 / sum(windows), sum(windows) / len(windows)


def test_the_rate_between_periodic_losses_is_that_of_the_sawtooth():
    # The discrete sawtooth has windows lower by half a segment: 1/W of them.
    for largest in (20, 100, 1000):
        loss, segments = sawtooth(largest)
        found = theory.mathis_1997(loss, round_trip_s=0.1, segment_bits=8000)
        assert found.window_bits / 8000 == pytest.approx(segments, rel=1 / largest)
        assert bool(found.outside_range) == (loss > 0.02)


def test_streams_that_meet_vary_as_whitt_says():
    # Two alike, regular, at half load: v = 2, w = 1 / (1 + 4 · 0.5² · 1) = 0.5; 0.5 · 0 + 1 - 0.5.
    two, regular = np.ones(2), np.zeros(2)
    assert superposed(two, regular, 0.5) == pytest.approx(0.5)
    # Of 1 and 3 parts, the first exponential: v = 1.6, w = 1 / (1 + 4 · 0.4² · 0.6) = 0.722543.
    found = superposed(np.array([1.0, 3.0]), np.array([1.0, 0.0]), 0.6)
    assert found == pytest.approx(0.722543 / 4 + 1 - 0.722543, rel=1e-6)
    # Alone, a stream is itself; many at no load are nearly a Poisson process.
    assert superposed(np.ones(1), np.array([0.2]), 0.3) == pytest.approx(0.2)
    assert superposed(np.ones(1000), np.zeros(1000), 0.0) == pytest.approx(1, abs=1e-3)


def test_padhye_by_hand_and_in_its_limits():
    given = {"round_trip_s": 0.2, "segment_bits": 8000.0, "timeout_s": 2.0}
    # p = 0.02, b = 2: part 4/6, W = 0.66667 + sqrt(7.84/0.12 + 0.44444) = 8.77702;
    # Q = (1 - 0.98³) (1 + 0.98³ (1 - 0.98^5.77702)) / (1 - 0.98^8.77702)
    #   = 0.058808 (1 + 0.941192 · 0.110158) / 0.162488 = 0.399447, over 0.98 0.407599;
    # f = 1 + 0.02 + 0.0008 + 0.000032 + 0.00000128 … = 1.0208333;
    # sent: 49 + 8.77702 + 0.407599 = 58.184619; time: 0.2 · 9.77702 + 0.407599 · 2 · 1.0208333
    #   = 1.955403 + 0.832181 = 2.787584 s; 20.8728 segments a second.
    assert theory.padhye_1998(0.02, **given).rate_bps == pytest.approx(8000 * 20.8728, rel=5e-6)
    # Rare losses: that of Mathis and others without timeouts; many: one segment a timeout or so.
    rare = theory.padhye_1998(1e-8, **{**given, "timeout_s": 0.2}).rate_bps
    mathis = theory.mathis_1997(1e-8, round_trip_s=0.2, segment_bits=8000, acknowledged=2)
    assert rare == pytest.approx(mathis.rate_bps, rel=1e-3)
    # p = 0.01, W = 5, b = 2: Q = (1 - 0.99³) (1 + 0.99³ (1 - 0.99²)) / (1 - 0.99⁵) = 0.617721;
    # sent: 99 + 5 + 0.623961 = 104.623961; rounds: 5/4 + 99/5 + 2 = 23.05, of 0.2 s; timeouts:
    # 0.623961 · 2 · 1.01020408 = 1.260656 s.
    of_five = theory.padhye_1998(0.01, **given, window_segments=5).rate_bps
    assert of_five == pytest.approx(8000 * 104.623961 / (4.61 + 1.260656), rel=1e-6)
    # A small window is full between rare losses: that of window over round trip.
    full = theory.padhye_1998(1e-7, **given, window_segments=10).rate_bps
    window = theory.jacobson_1992_window(80_000, round_trip_s=0.2)
    assert full == pytest.approx(window.rate_bps, rel=1e-4)
    assert not window.outside_range
    assert theory.jacobson_1992_window(80_000, round_trip_s=0.2, rate_bps=1e5).outside_range
