"""Mean waits of queues served in turn: by an exact model, by brute force, and on a bus."""

from pathlib import Path

import numpy as np
import pytest
from buses import of_bus
from ethermeter import plan, theory
from ethermeter.experiment import load
from ethermeter.metrics import Metric
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.polling import Queues, limited_waits
from ethermeter.theory.predictions import judge


def test_queues_that_are_alike_have_the_waits_of_a_token_ring():
    # The ring has the exact wait of limited service by another derivation (Bux 1981).
    rates = np.array([100.0, 1000.0, 3000.0])
    ring = theory.bux_1981_token_ring(
        rates,
        stations=20,
        packet_s=100e-6,
        latency_s=100e-6,
        discipline="limited",
        lengths="fixed",
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


def answers(folder: Path, count: int, load_: float) -> tuple[dict[Metric, float], ...]:
    """Return what a bus does, and what the model says of it."""
    path = folder / "bus.toml"
    path.write_text(
        'title = "t"\n[phases]\nsettle = "1 ms"\ntransmit = "11 s"\nmeasure = "last 10 s"\n'
        '[segment]\nstandard = "10base-t1s"\ndelays = [["0 s"]]\n[segment.plca]\n'
        f'[[stations]]\ncount = {count}\nframes = "64 B"\n'
        f"arrivals = {{ poisson_load = {load_} }}\n",
        encoding="utf-8",
    )
    loaded = load(path)
    (trial,) = plan.expand([loaded]).trials
    seen = of_bus(trial)
    point = loaded.scenarios.point([])
    verdict = judge("boxma-meister-1987", model_inputs(point.scenario(), point.theory))
    assert verdict.applies, verdict.obstacles
    return seen, dict(verdict.values)


@pytest.mark.parametrize("count", [2, 9, 17])
@pytest.mark.parametrize("load_", [0.1, 0.5, 0.8])
def test_cycles_and_response_times_of_a_bus_are_near_those_of_the_model(tmp_path, count, load_):
    seen, said = answers(tmp_path, count, load_)
    assert said[Metric.CYCLE_TIME] == pytest.approx(seen[Metric.CYCLE_TIME], rel=0.2)
    assert said[Metric.RESPONSE_TIME] == pytest.approx(seen[Metric.RESPONSE_TIME], rel=0.2)
