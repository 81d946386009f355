"""Mean waits of queues served in turn: by an exact model, by brute force, and on a bus."""

from typing import Any

import ethermeter as em
import numpy as np
import pytest
from buses import of_bus
from ethermeter import plan, theory
from ethermeter.engines.simulation import simulated
from ethermeter.experiment import of_tables
from ethermeter.metrics import Caution, Metric
from ethermeter.scenario import Mac, Polling
from ethermeter.theory.idealised import at_once, bare, with_access
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.polling import Queues, limited_waits
from ethermeter.theory.predictions import judge
from ethermeter.theory.two_queues import Queue, waits_of_two
from ethermeter.trial import core_trial
from scipy import linalg, stats
from shared_experiments import BUS


def test_queues_that_are_alike_have_the_waits_of_a_token_ring():
    # The ring has the exact wait of limited service by another derivation (Bux 1981).
    rates = np.array([100.0, 1000.0, 3000.0])
    ring = theory.bux_1981_token_ring(
        rates, stations=20, packet_s=100e-6, latency_s=100e-6, discipline="limited", lengths="fixed"
    )
    found = theory.boxma_meister_1987(rates / 20, queues=20, service_s=100e-6, walk_s=100e-6)
    assert np.asarray(found.wait_s) == pytest.approx(np.asarray(ring.wait_s), rel=1e-9)


def brute_force(rates, services, walks, *, cycles: int, seed: int):
    """Mean waits of each queue in turn, one message a visit, batch by batch; shape (20, queues)."""
    chance = np.random.default_rng(seed)
    horizon = 2 * cycles * (sum(walks) / (1 - float(np.dot(rates, services))))
    arrivals = [
        np.cumsum(chance.exponential(1 / rate, int(rate * horizon) + 1000)) for rate in rates
    ]
    taken = [0] * len(rates)
    waits: list[list[float]] = [[] for _ in rates]
    now = 0.0
    for _ in range(cycles):
        for queue, walk in enumerate(walks):
            arrived = arrivals[queue][taken[queue]]
            if arrived <= now:
                waits[queue].append(now - arrived)
                taken[queue] += 1
                now += services[queue]
            now += walk
    return np.array(
        [[part.mean() for part in np.array_split(np.array(each), 20)] for each in waits]
    ).T


def test_weighted_waits_of_unlike_queues_sum_to_the_conservation_law():
    rates, services, walks = [0.3, 0.1, 0.05], [1.0, 2.0, 4.0], [0.1, 0.05, 0.15]
    queues = Queues(np.ones(3), np.array(rates), np.array(services), np.array(services) ** 2)
    waits, cycle, load = limited_waits(queues, np.array(0.3))
    assert float(load) == pytest.approx(0.7)
    assert float(cycle) == pytest.approx(0.3 / 0.3)
    batches = brute_force(rates, services, walks, cycles=400_000, seed=7)
    own = np.array(rates) * np.array(services)
    weights = own * (1 - np.array(rates) * 0.3 / 0.3)
    sums = batches @ weights
    # Student's t with 19 degrees of freedom: 3.9 for one in a thousand.
    error = sums.std(ddof=1) / np.sqrt(len(sums))
    assert abs(sums.mean() - float(waits @ weights)) < 3.9 * error
    assert error < 0.05 * sums.mean()
    # Each wait is an approximation, which is worse the more the loads differ.
    assert batches.mean(axis=0) == pytest.approx(waits, rel=0.4)


def truncated_chain(rates, services, walks, *, room: int):
    """Exact mean waits of two queues: the chain of both lengths when the server comes to one.

    Each queue has room for so many messages; visits go on until nothing changes.
    """
    number = np.arange(room)

    def arrivals(time_s):
        chances = [stats.poisson.pmf(number, rate * time_s) for rate in rates]
        return [linalg.toeplitz(each, np.zeros(room)) for each in chances]

    busy = [arrivals(service + walk) for service, walk in zip(services, walks, strict=True)]
    free = [arrivals(walk) for walk in walks]
    first, second = np.zeros((room, room)), np.zeros((room, room))
    first[0, 0] = 1.0
    change = 1.0
    while change > 1e-12:
        taken = np.vstack([first[1:], np.zeros(room)])
        second = busy[0][0] @ taken @ busy[0][1].T
        second += np.outer(free[0][0][:, 0], free[0][1] @ first[0])
        taken = np.column_stack([second[:, 1:], np.zeros(room)])
        after = busy[1][0] @ taken @ busy[1][1].T
        after += np.outer(free[1][0] @ second[:, 0], free[1][1][:, 0])
        after /= after.sum()
        change, first = np.abs(after - first).sum(), after
    cycle = sum(walks) / (1 - np.dot(rates, services))
    means = first.sum(axis=1) @ number, second.sum(axis=0) @ number
    return [(mean / (rate * cycle) - 1) / rate for mean, rate in zip(means, rates, strict=True)]


@pytest.mark.parametrize(
    ("rates", "services", "walks"),
    [
        ([0.3, 0.1], [1.0, 2.0], [0.1, 0.2]),
        ([0.5, 0.1], [1.0, 2.0], [0.1, 0.05]),
        ([0.2, 0.2], [1.0, 3.0], [0.1, 0.05]),
        # In a cycle with both messages one message arrives at the first queue.
        ([1 / 2.7, 0.1], [1.0, 1.5], [0.1, 0.1]),
        ([0.02, 0.5], [1.0, 1.0], [0.3, 0.01]),
    ],
)
def test_the_waits_of_two_queues_are_those_of_their_chain(rates, services, walks):
    found = theory.boxma_groenendijk_1988(
        rates[0],
        service_s=services[0],
        walk_s=walks[0],
        other_rate=rates[1],
        other_service_s=services[1],
        other_walk_s=walks[1],
    )
    waits = [float(found.wait_s), float(found.other_wait_s)]
    # 1e-6 by the model's own check; the chain stops within 1e-7.
    assert waits == pytest.approx(truncated_chain(rates, services, walks, room=70), rel=2e-6)


def test_two_queues_that_are_alike_have_the_waits_of_a_token_ring():
    rates = np.array([2.0, 400.0, 2000.0, 4000.0])
    ring = theory.bux_1981_token_ring(
        2 * rates,
        stations=2,
        packet_s=100e-6,
        latency_s=20e-6,
        discipline="limited",
        lengths="fixed",
        unstable="nan",
    )
    found = theory.boxma_groenendijk_1988(
        rates,
        service_s=100e-6,
        walk_s=10e-6,
        other_rate=rates,
        other_service_s=100e-6,
        other_walk_s=10e-6,
    )
    # The first is below the range; the last has no room for its switch-overs.
    assert np.asarray(found.outside_range).tolist() == [True, False, False, False]
    known = slice(1, None)
    assert np.asarray(found.wait_s)[known] == pytest.approx(
        np.asarray(ring.wait_s)[known], rel=1e-6
    )


def test_the_time_as_the_first_of_a_queue_is_near_the_exact_one():
    # 4% by half a cycle for what is left of it where queues are alike; at a small load it is exact.
    for rate, error in ((100.0, 0.01), (1000.0, 0.04), (3000.0, 0.04), (4000.0, 0.04)):
        kinds = {"service_s": 100e-6, "walk_s": 20e-6}
        found = theory.boxma_meister_1987(rate, queues=2, **kinds)
        queue = Queue(rate, np.array([100e-6]), np.ones(1), 10e-6)
        exact = waits_of_two(queue, queue)
        assert exact is not None
        assert float(found.head_s) == pytest.approx(exact[0].head_s, rel=error)


TWO = em.segment(
    "ieee-10",
    title="t",
    delays=[["0 s"]],
    stations=[
        em.stations("long", count=1, frames="512 B", arrivals={"poisson": "1200 /s"}),
        em.stations(
            "short", count=1, frames="64 B x 3 + 128 B x 1", arrivals={"poisson": "3500 /s"}
        ),
    ],
    phases={"transmit": "21 s", "measure": "last 20 s"},
)


def test_the_waits_of_two_queues_are_those_of_a_simulation_of_what_the_model_assumes():
    point = of_tables(TWO).scenarios.point([])
    inputs = model_inputs(point.scenario(), point.theory)
    polling = Mac(polling=Polling(walk_ps=20_000_000, discipline="limited"))
    world = with_access(bare(inputs, point.scenario()), polling, at_once)
    # Preamble and gap are parts of frames there: 160 bits of 100 ns.
    times_s = [np.array([425.6e-6]), np.array([67.2e-6, 118.4e-6])]
    first, second = waits_of_two(
        Queue(1200.0, times_s[0], np.ones(1), 20e-6),
        Queue(3500.0, times_s[1], np.array([0.75, 0.25]), 20e-6),
    )
    said = np.array([[each.wait_s, each.head_s] for each in (first, second)])
    seen = []
    for seed in range(12):
        stations = simulated(core_trial(world.scenario, seed=seed))[0].stations
        sent_s = stations.bits / stations.frames * 1e-7
        response_s, head_s = (
            times_ps / stations.frames / 1e12
            for times_ps in (stations.response_ps, stations.access_ps)
        )
        seen.append(np.stack([response_s - sent_s, head_s], axis=1))
    error = np.std(seen, axis=0, ddof=1) / np.sqrt(len(seen))
    # Student's t with 11 degrees of freedom: 4.4 for one in a thousand.
    assert (np.abs(np.mean(seen, axis=0) - said) < 4.4 * error).all()
    assert (error < 0.02 * said).all()


def answers(*stations: dict[str, Any], model: str) -> tuple[dict[Metric, float], ...]:
    """Return what a bus does, and what a model says of it."""
    phases = {"settle": "1 ms", "transmit": "11 s", "measure": "last 10 s"}
    loaded = of_tables(BUS.changed(stations=stations, phases=phases, series="bus"))
    (trial,) = plan.expand([loaded]).trials
    seen = of_bus(trial)
    point = loaded.scenarios.point([])
    verdict = judge(model, model_inputs(point.scenario(), point.theory))
    assert verdict.applies, verdict.obstacles
    assert verdict.cautions == (Caution.APPROXIMATION,)
    return seen, dict(verdict.values)


@pytest.mark.parametrize("count", [2, 9, 17, 40])
@pytest.mark.parametrize("octets", [64, 1518])
@pytest.mark.parametrize("load_", [0.1, 0.5, 0.8])
def test_times_of_a_bus_of_nodes_that_are_alike_are_near_those_of_the_model(count, octets, load_):
    arrivals = {"poisson_load": load_}
    group = em.stations(count=count, frames=f"{octets} B", arrivals=arrivals)
    seen, said = answers(group, model="boxma-meister-1987")
    for metric in (Metric.CYCLE_TIME, Metric.RESPONSE_TIME, Metric.ACCESS_DELAY):
        assert said[metric] == pytest.approx(seen[metric], rel=0.2), metric


@pytest.mark.parametrize(
    ("octets", "rates"),
    [((64, 64), (6000, 6000)), ((64, 512), (6000, 470)), ((1518, 64), (325, 1500))],
)
def test_times_of_a_bus_of_two_nodes_are_near_those_of_the_exact_model(octets, rates):
    stations = [
        em.stations(name, count=1, frames=f"{length} B", arrivals={"poisson": f"{rate} /s"})
        for name, length, rate in zip("ab", octets, rates, strict=True)
    ]
    seen, said = answers(*stations, model="boxma-groenendijk-1988")
    assert said[Metric.CYCLE_TIME] == pytest.approx(seen[Metric.CYCLE_TIME], rel=0.2)
    assert said[Metric.RESPONSE_TIME] == pytest.approx(seen[Metric.RESPONSE_TIME], rel=0.15)
    assert said[Metric.ACCESS_DELAY] == pytest.approx(seen[Metric.ACCESS_DELAY], rel=0.1)
