"""Queues of a generator: metrics of the buffers between its process and the transmitter."""

import ethermeter as em
import numpy as np
import pytest
from ethermeter.results.query import Results


def simulated(**stations: object) -> Results:
    """Return the results of a host whose packets of 64 B take 60.8 + 77 us to send."""
    host = {"count": 1, "frames": "68 B", "arrivals": "saturated", "service": "77 us", **stations}
    return em.simulate(
        em.segment(
            "dix-10",
            length="100 m",
            stations=em.stations(**host),
            phases={"transmit": "2 s", "measure": "last 1 s"},
        )
    )


@pytest.mark.parametrize("time_us", [10, 40, 100])
def test_a_fast_process_leaves_all_buffers_but_the_one_it_fills_in_the_output_queue(time_us):
    results = simulated(generator={"buffers": 15, "time": f"{time_us} us"})
    busy = time_us / (6.4 + 68 * 0.8 + 77)
    assert results.value("generator_busy") == pytest.approx(busy, rel=1e-3)
    assert results.value("output_queue") == pytest.approx(15 - busy, rel=1e-4)
    assert results.value("transmitted_queue") == pytest.approx(0, abs=1e-3)


def test_a_slow_process_runs_all_of_the_time_and_its_output_queue_is_nearly_empty():
    results = simulated(generator={"buffers": 15, "time": "500 us"})
    sent = (6.4 + 68 * 0.8 + 77) / 500
    assert results.value("generator_busy") == pytest.approx(1, abs=1e-3)
    assert results.value("output_queue") == pytest.approx(sent, rel=1e-3)
    assert results.value("transmitted_queue") == pytest.approx(14 - sent, rel=1e-3)


def test_all_stations_have_the_mean_of_those_with_a_generator():
    group = {"frames": "68 B", "arrivals": "saturated", "service": "77 us"}
    generator = {"buffers": 3, "time": "40 us"}
    results = em.simulate(
        em.segment(
            "dix-10",
            length="100 m",
            stations=[
                em.stations(name="with", count=2, generator=generator, **group),
                em.stations(name="without", count=1, **group),
            ],
            phases={"transmit": "2 s", "measure": "last 1 s"},
        )
    )
    each = [float(results.values("output_queue", name)[0]) for name in results.names("station")]
    assert np.isnan(each[2])
    assert results.value("output_queue") == pytest.approx(np.mean(each[:2]))
    sums = sum(
        results.value(metric) for metric in ("output_queue", "transmitted_queue", "generator_busy")
    )
    assert sums == pytest.approx(3)


def test_trials_without_a_generator_have_no_such_metric():
    assert "output_queue" not in map(str, simulated().metrics)
