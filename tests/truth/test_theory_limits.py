"""The models where they must agree with each other, with queueing theory, or with a second
calculation of the same thing.
"""

import math
from typing import Any

import numpy as np
import pytest
from ethermeter import theory
from ethermeter.arguments import Array
from ethermeter.theory.coyle_liu import cycles_of, drift_of
from ethermeter.theory.probability import (
    binomial,
    poisson,
    stationary,
    stationary_falling_by_one,
    two_or_more,
    two_or_more_of,
)
from ethermeter.theory.tobagi_hunt_finite import delayed_cycles, immediate_cycles
from scipy import special, stats

LOADS = np.geomspace(1e-6, 300, 60)
PROPAGATIONS = np.array([[1e-4], [0.01], [0.05], [0.1], [0.5], [1.0]])
EXACT = 1e-12  # rounding of some ten operations


def test_acquisition_tends_to_one_over_e():
    found = theory.metcalfe_boggs_1976(10**15, packet_bits=512, rate_bps=3e6, slot_s=16e-6)
    assert found.acquisition == pytest.approx(math.exp(-1), rel=EXACT)
    assert found.waiting_slots == pytest.approx(math.e - 1, rel=EXACT)


def test_a_single_station_waits_for_nobody():
    found = theory.metcalfe_boggs_1976(1, packet_bits=512, rate_bps=3e6, slot_s=16e-6)
    assert (found.acquisition, found.waiting_slots, found.efficiency) == (1, 0, 1)
    assert math.copysign(1, found.waiting_slots) == 1


@pytest.mark.parametrize("method", ["chain", "birth-death"])
def test_almes_lazowska_without_slots_is_a_queue(method):
    # T = 0: M/D/1 for the chain, M/M/1 for birth and death.
    loads = np.array([0.1, 0.5, 0.9])
    found = theory.almes_lazowska_1979(
        loads, packet_bits=1000, rate_bps=1e6, slot_s=0, method=method
    )
    expected = 1 + loads / (2 * (1 - loads)) if method == "chain" else 1 / (1 - loads)
    # Terms below 1e-13 of the sum are left out.
    np.testing.assert_allclose(found.response_s / 1e-3, expected, rtol=1e-11)


def test_almes_lazowska_without_load_takes_a_packet_time():
    found = theory.almes_lazowska_1979([0, 1e-12], packet_bits=1000, rate_bps=1e6, slot_s=1e-5)
    np.testing.assert_allclose(found.response_s, 1e-3, rtol=1e-11)
    assert found.waiting[0] == 0


def test_one_persistent_without_collision_detection_is_kleinrock_tobagi():
    found = theory.tobagi_hunt_1980_one_persistent(
        LOADS, propagation=PROPAGATIONS, collision_slots=1 / PROPAGATIONS + 1
    )
    limit = theory.kleinrock_tobagi_1975(LOADS, propagation=PROPAGATIONS)
    np.testing.assert_allclose(found.throughput, limit.throughput, rtol=0, atol=EXACT)
    assert not found.outside_range.any()


@pytest.mark.parametrize("collision_slots", [2, 4, 10.5])
def test_p_persistent_with_p_one_is_one_persistent(collision_slots):
    found = theory.tobagi_hunt_1980_p_persistent(
        LOADS, propagation=PROPAGATIONS, persistence=1, collision_slots=collision_slots
    )
    same = theory.tobagi_hunt_1980_one_persistent(
        LOADS, propagation=PROPAGATIONS, collision_slots=collision_slots
    )
    np.testing.assert_allclose(found.throughput, same.throughput, rtol=1e-10, atol=1e-15)


def test_non_persistent_is_the_textbook_form():
    # With b = (gam - 2) a of jam, where nothing cancels.
    a, gam = 0.05, np.array([[2.0], [4.0]])
    load = np.array([1.0, 5.0, 20.0])
    x, b = a * load, (gam - 2) * a
    once = np.exp(-x)
    textbook = x * once / (x * once + b * (1 - once - x * once) + a * (2 - once - x * once))
    found = theory.tobagi_hunt_1980_non_persistent(load, propagation=a, collision_slots=gam)
    np.testing.assert_allclose(found.throughput, textbook, rtol=EXACT)


@pytest.mark.parametrize("idle", ["same-slot", "whole-slot"])
@pytest.mark.parametrize("collision_slots", [1, 2, 3.5, 40])
def test_the_closed_form_of_the_capacity_is_the_maximum_found(idle, collision_slots):
    # Two ways to one number: Lambert's function, and a search over the load.
    closed = theory.tobagi_hunt_1980_bimodal(
        0.0, short_slots=100, long_slots=100, collision_slots=collision_slots, idle=idle
    )
    found = theory.capacity(
        theory.tobagi_hunt_1980_non_persistent,
        propagation=0.01,
        collision_slots=collision_slots,
        idle=idle,
    )
    assert found.capacity == pytest.approx(closed.capacity, rel=EXACT)
    # At a maximum the load is known to the root of the rounding of the throughput.
    assert found.load == pytest.approx(closed.load, rel=1e-5)


def lam_by_its_chain(
    rate: float, transform: Any, mean_s: float, tau_s: float, contention: str
) -> float:
    """Mean delay by the chain of the packets left behind at departures, its laws taken from
    generating functions by Fourier.
    """
    points = 1024
    z = np.exp(2j * np.pi * np.arange(points) / points)
    idle = rate * (1 - z)

    def law(of: Array) -> Array:
        return np.maximum(np.fft.fft(of).real / points, 0.0)

    sent = transform(idle) * np.exp(-idle * tau_s)
    slot = np.exp(-2 * idle * tau_s)
    if contention == "geometric":
        contended = sent * slot / math.e / (1 - (1 - 1 / math.e) * slot)
    else:
        contended = sent * slot / (1 + idle * 2 * tau_s * (math.e - 1))
    alone, several = law(sent), law(contended)
    in_slot = poisson(np.arange(points, dtype=np.float64), np.asarray(2 * rate * tau_s))
    size = points // 2
    step = np.zeros((size, size))
    step[1, :size] = alone[:size]
    for n in range(2, size):
        step[n, n - 1 :] = several[: size - n + 1]
    # Nobody left: the first slot in which some arrive.
    begin = in_slot / -np.expm1(-2 * rate * tau_s)
    step[0] = sum((begin[n] * step[n] for n in range(1, 40)), np.zeros(size))
    step /= step.sum(axis=1, keepdims=True)
    left = stationary_falling_by_one(step)
    return float(left @ np.arange(size)) / rate


@pytest.mark.parametrize("contention", ["geometric", "exponential"])
@pytest.mark.parametrize("lengths", ["fixed", "exponential"])
@pytest.mark.parametrize(("rate", "tau_s"), [(0.3, 0.01), (0.6, 0.05), (0.4, 0.1)])
def test_lam_is_the_chain_of_its_assumptions(contention, lengths, rate, tau_s):
    def transform(s: Any) -> Any:
        return np.exp(-s) if lengths == "fixed" else 1 / (1 + s)

    found = theory.lam_1980(
        rate, packet_s=1.0, propagation_s=tau_s, lengths=lengths, contention=contention
    )
    # Fourier leaves errors of about 1e-16 in each of 1024 probabilities, weighed by up to 512
    # packets.
    assert found.delay_s == pytest.approx(
        lam_by_its_chain(rate, transform, 1.0, tau_s, contention), rel=1e-7
    )


def test_lam_of_a_mix_lies_between_and_of_one_length_is_fixed():
    given = {"propagation_s": 1e-5, "lengths": "mix"}
    one = theory.lam_1980(300.0, packet_s=[1e-3], weights=[7], **given)
    assert one.delay_s == pytest.approx(
        float(theory.lam_1980(300.0, packet_s=1e-3, propagation_s=1e-5).delay_s), rel=EXACT
    )
    two = theory.lam_1980(300.0, packet_s=[1e-3, 1e-3], weights=[1, 3], **given)
    assert two.delay_s == pytest.approx(float(one.delay_s), rel=EXACT)


def test_the_two_contentions_differ_by_less_than_a_hundredth():
    # For a up to .1 and utilisations up to .8 of the capacity.
    a = np.array([0.001, 0.01, 0.1])
    rates = np.array([[0.1], [0.4], [0.8]]) / (1 + (2 * math.e + 1) * a)
    geometric, exponential = (
        theory.lam_1980(rates, packet_s=1.0, propagation_s=a, contention=contention).delay_s
        for contention in ("geometric", "exponential")
    )
    np.testing.assert_allclose(geometric, exponential, rtol=0.01)
    assert (geometric != exponential).all()


@pytest.mark.parametrize("rate", [0, 1e-12])
def test_delays_without_load(rate):
    given = {"packet_s": 1e-3, "propagation_s": 1e-5}
    assert theory.bux_1981_csma_cd(rate, **given).delay_s == pytest.approx(1e-3 + 0.5e-5, rel=1e-9)
    for contention in ("geometric", "exponential"):
        assert theory.lam_1980(rate, contention=contention, **given).delay_s == pytest.approx(
            1e-3 + 2e-5, rel=1e-9
        )
    ring = theory.bux_1981_token_ring(rate, stations=50, packet_s=1e-3, latency_s=6e-5)
    assert ring.delay_s == pytest.approx(1e-3 + 6e-5, rel=1e-9)


@pytest.mark.parametrize(("lengths", "square"), [("fixed", 1.0), ("exponential", 2.0)])
def test_without_propagation_delays_are_pollaczek_and_khinchines(lengths, square):
    rates = np.array([0.1, 0.5, 0.9])
    expected = 1 + rates * square / (2 * (1 - rates))
    for contention in ("geometric", "exponential"):
        found = theory.lam_1980(
            rates, packet_s=1.0, propagation_s=0, lengths=lengths, contention=contention
        )
        np.testing.assert_allclose(found.delay_s, expected, rtol=EXACT)
    np.testing.assert_allclose(
        theory.bux_1981_csma_cd(rates, packet_s=1.0, propagation_s=0, lengths=lengths).delay_s,
        expected,
        rtol=EXACT,
    )
    for discipline in ("exhaustive", "gated", "limited"):
        found_ring = theory.bux_1981_token_ring(
            rates, stations=1, packet_s=1.0, latency_s=0, discipline=discipline, lengths=lengths
        )
        np.testing.assert_allclose(found_ring.delay_s, expected, rtol=EXACT)


def test_one_station_on_a_ring_waits_half_a_round_more():
    found = theory.bux_1981_token_ring(0.5, stations=1, packet_s=1.0, latency_s=0.2)
    assert found.wait_s == pytest.approx(0.5 / (2 * 0.5) + 0.2 / 2, rel=EXACT)


def test_coyle_liu_does_not_drift_on_the_average():
    for retransmission in (0.05, 1.0, 3.0, 4.0):
        cycles = cycles_of(50, 0.02, retransmission, 0.04, 0.04)
        pi = stationary_falling_by_one(cycles.transition)
        # Rounding of 51 sums of 51 terms of up to 50.
        assert pi @ drift_of(cycles.transition) == pytest.approx(0, abs=1e-11)
        assert pi @ cycles.transition == pytest.approx(pi, rel=1e-9, abs=1e-15)


def test_coyle_liu_with_one_station_is_a_renewal():
    # Thinks 1/lambda, then sends 1 + a: nobody collides.
    found = theory.coyle_liu_1983(1, generation=0.5, retransmission=1, window=0.1, collision=0.2)
    assert found.throughput == pytest.approx(1 / (2 + 1.1), rel=EXACT)
    assert found.delay == pytest.approx(1.1, rel=EXACT)
    assert found.stable.tolist() == [0]


@pytest.mark.parametrize("build", [immediate_cycles, delayed_cycles])
@pytest.mark.parametrize("collision", [2.0, 4.0, 101.0])
def test_chains_of_finite_populations_lose_no_probability(build, collision):
    cycles = build(60, 0.003, 0.04, np.array([10.0, 100.0]), np.array([0.3, 0.7]), collision)
    np.testing.assert_allclose(cycles.transition.sum(axis=1), 1, rtol=1e-11)
    assert (cycles.transition >= 0).all()
    np.testing.assert_allclose(
        cycles_of(60, 0.02, 0.5, 0.04, 0.3).transition.sum(axis=1), 1, rtol=1e-11
    )


def test_one_slotted_station_is_a_renewal():
    # Makes a packet after 1/sigma slots, sends for T + 1.
    found = theory.tobagi_hunt_1980_finite(1, generation=0.1, retransmission=0.5, packet_slots=20)
    assert found.throughput == pytest.approx(20 / (10 + 21), rel=EXACT)
    assert found.delay_slots == pytest.approx(21, rel=EXACT)
    # Delayed, it waits 1/nu slots first, from the slot after.
    delayed = theory.tobagi_hunt_1980_finite(
        1, generation=0.1, retransmission=0.5, packet_slots=20, delayed_first=True
    )
    assert delayed.throughput == pytest.approx(20 / (10 + 2 + 21), rel=EXACT)


def simulated_finite(
    *,
    stations: int,
    generation: float,
    retransmission: float,
    packet: int,
    collision: int,
    delayed: bool,
) -> Array:
    """Throughput of 20 batches of the slotted population, slot by slot, as assumed."""
    rng = np.random.default_rng(1980)
    backlog, found = 0, []
    for _ in range(20):
        slots, sent = 0, 0
        while slots < 60_000:
            new, old = (
                rng.binomial(stations - backlog, generation),
                rng.binomial(backlog, retransmission),
            )
            starters = old if delayed else new + old
            backlog, spent = backlog + new, 1
            if starters:
                spent = 1 + (packet + 1 if starters == 1 else collision)
                # Those without a packet go on making them meanwhile.
                backlog += rng.binomial(stations - backlog, 1 - (1 - generation) ** (spent - 1))
                backlog, sent = backlog - (starters == 1), sent + (starters == 1)
            slots += spent
        found.append(sent * packet / slots)
    return np.array(found)


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize(("generation", "collision"), [(0.002, 4), (0.01, 11)])
def test_the_slotted_population_agrees_with_its_simulation(
    generation: float, collision: int, *, delayed: bool
) -> None:
    samples = simulated_finite(
        stations=8,
        generation=generation,
        retransmission=0.1,
        packet=20,
        collision=collision,
        delayed=delayed,
    )
    found = theory.tobagi_hunt_1980_finite(
        8,
        generation=generation,
        retransmission=0.1,
        packet_slots=20,
        collision_slots=collision,
        delayed_first=delayed,
    )
    # Five standard errors: once in a million seeds.
    assert found.throughput == pytest.approx(samples.mean(), abs=5 * stats.sem(samples))


def test_tasaka_with_one_buffer_is_the_population_with_delayed_first_transmission():
    given = {
        "generation": [1e-4, 5e-4, 1.0],
        "retransmission": 0.02,
        "packet_slots": 100,
        "collision_slots": 3,
    }
    buffered = theory.tasaka_1986(50, buffers=1, **given)
    population = theory.tobagi_hunt_1980_finite(50, delayed_first=True, **given)
    np.testing.assert_allclose(buffered.throughput, population.throughput, rtol=EXACT)
    np.testing.assert_allclose(buffered.delay_slots, population.delay_slots, rtol=EXACT)


def test_more_buffers_lose_less_and_carry_more():
    found = theory.tasaka_1986(
        50, buffers=[1, 2, 4, 8], generation=1.5e-4, retransmission=0.02, packet_slots=100
    )
    assert (np.diff(found.loss) < 0).all()
    assert (np.diff(found.throughput) > 0).all()


def test_tasaka_can_be_bistable():
    found = theory.tasaka_1986(
        [50, 100],
        buffers=4,
        generation=7e-5,
        retransmission=0.06,
        packet_slots=100,
        method="equilibrium",
    )
    assert np.isfinite(found.equilibria).sum(axis=1).tolist() == [1, 3]
    assert found.outside_range.tolist() == [False, True]


def test_the_finite_population_tends_to_the_infinite_one():
    stations = np.array([100, 1000])
    infinite = theory.takagi_kleinrock_1985(2.0, propagation=0.01, abort=0.01).throughput
    off = (
        theory.takagi_kleinrock_1985_finite(
            2.0, stations=stations, propagation=0.01, abort=0.01
        ).throughput
        - infinite
    )
    # The error is a series in 1/M, so ten times the stations leave a tenth, but for terms of some
    # 1/100.
    assert off[1] / off[0] == pytest.approx(0.1, rel=0.03)


def test_two_stations_without_propagation_take_turns():
    # a = 0: no collision; the other one is ready after a packet with probability 1 - e^(-G/2), else
    # both are idle for 1/G.
    load = np.array([0.1, 1.0, 10.0])
    found = theory.takagi_kleinrock_1985_finite(load, stations=2, propagation=0, abort=0.5)
    np.testing.assert_allclose(found.throughput, 1 / (1 + np.exp(-load / 2) / load), rtol=EXACT)


def test_takagi_kleinrock_comes_nearer_to_no_collision_detection_with_less_propagation():
    a = np.array([0.1, 0.05, 0.01])
    found = theory.takagi_kleinrock_1985(1.0, propagation=a, abort=1 - a).throughput
    limit = theory.kleinrock_tobagi_1975(1.0, propagation=a, slotted=False).throughput
    assert (np.diff(np.abs(found / limit - 1)) < 0).all()


def test_stationary_distributions_solve_their_chains():
    rng = np.random.default_rng(5)
    chain = rng.random((30, 30))
    chain /= chain.sum(axis=1, keepdims=True)
    found = stationary(chain)
    np.testing.assert_allclose(found @ chain, found, rtol=EXACT)
    falling = np.triu(rng.random((30, 30)), -1)
    falling /= falling.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(stationary_falling_by_one(falling), stationary(falling), rtol=1e-10)


def test_a_chain_that_cannot_fall_stays_above():
    assert stationary_falling_by_one(
        np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])
    ).tolist() == [0, 0, 1]
    assert stationary_falling_by_one(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist() == [1, 0]


def test_special_functions_agree_with_scipy():
    k = np.arange(0.0, 30.0)
    np.testing.assert_allclose(
        binomial(k, np.asarray(29.0), 0.3), stats.binom.pmf(k, 29, 0.3), rtol=1e-11
    )
    np.testing.assert_allclose(poisson(k, np.asarray(4.5)), stats.poisson.pmf(k, 4.5), rtol=1e-11)
    np.testing.assert_allclose(two_or_more_of(k, 0.3), stats.binom.sf(1, k, 0.3), rtol=1e-11)
    # x^2/2 - x^3/3 for small x, where 1 - e^-x - x e^-x would have cancelled.
    np.testing.assert_allclose(two_or_more(np.array([1e-9])), [5e-19], rtol=1e-8)
    np.testing.assert_allclose(
        two_or_more(np.array([0.5, 3.0])), special.pdtrc(1, np.array([0.5, 3.0])), rtol=EXACT
    )
