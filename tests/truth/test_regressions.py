"""The gate of `compare --fail-below`: its false alarms and what it catches, by simulation."""

from collections.abc import Sequence
from itertools import pairwise

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis.comparison import Points
from ethermeter.analysis.regressions import FALSE_ALARMS, regressions, verdict_of
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, no_event, student

RUNS, PLANTED = 400, 100
NETWORK = em.network(
    title="Two flows over one wire",
    rate="100 Mb/s",
    hosts=["a", "b", "c"],
    switches=["s"],
    links=[("a", "s"), ("b", "s"), em.link("s", "c", rate="10 Mb/s")],
    flows=[
        em.flow("load", "a", "c", data="1472 B", arrivals={"poisson_load": 0.03}),
        em.flow("bulk", "b", "c", data="1472 B", arrivals="saturated"),
    ],
    phases={"transmit": "120 ms", "measure": "last 100 ms"},
    run={"replications": 5},
)


def points(experiment: ExperimentTables, seed: int) -> Points:
    found = em.simulate(experiment, overrides={"seed": seed}).estimated
    return {(point.series, point.engine): point for point in found}


def failing(before: Sequence[Points], after: Points) -> bool:
    return any(each.verdict == "fails" for each in regressions(before, after, tolerance=0.02))


@pytest.mark.long
def test_simulations_of_the_same_raise_no_alarm_and_a_slower_wire_is_caught():
    same = [points(NETWORK, seed) for seed in range(1, RUNS + 2)]
    alarms = sum(failing([one], other) for one, other in pairwise(same))
    assert alarms <= FALSE_ALARMS * RUNS
    slower = NETWORK.changed({"network.links.2.rate": "9.8 Mb/s"})
    caught = sum(
        failing([same[number]], points(slower, 1000 + number)) for number in range(PLANTED)
    )
    assert caught >= 0.95 * PLANTED


def run_of(generator: np.random.Generator, mean: float) -> Points:
    """A measurement of three replications: 1% from run to run, 0.2% within a run."""
    level = mean * (1 + 0.002 * generator.standard_normal())
    rates = level * (1 + 0.0005 * generator.standard_normal(3))
    estimates = {Metric.DATA_RATE: student(rates)}
    return {("file", "file"): Point("file", {}, "file", 3, estimates)}


def test_a_baseline_of_several_runs_counts_what_differs_from_run_to_run():
    generator = np.random.default_rng(5)
    alarms = lone = caught = 0
    for _ in range(2000):
        before = [run_of(generator, 1e9) for _ in range(8)]
        after = run_of(generator, 1e9)
        alarms += failing(before, after)
        lone += failing(before[:1], after)
        caught += failing(before, run_of(generator, 0.98e9))
    # One value: an alarm in 1 of 100 at most, and four standard errors.
    assert alarms <= 20 + 4 * np.sqrt(20)
    # Replications within a run do not show the spread between runs, here four times as large.
    assert lone <= alarms + 200
    assert caught >= 0.95 * 2000


def test_counts_of_nothing_are_not_judged_and_counts_of_some_are():
    def run(count: Estimate) -> Points:
        return {("file", "file"): Point("file", {}, "file", 3, {Metric.DROPPED: count})}

    none, many = run(no_event(3)), run(student(np.array([40.0, 41.0, 42.0])))
    assert regressions([none], none, tolerance=0.02) == ()
    (check,) = regressions([none], many, tolerance=0.02)
    assert check.verdict == "fails"


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (0.0, 0.001, "passes"),
        (0.0, 0.02, "undecided"),
        (0.02, 0.002, "fails"),
        (0.009, 0.0001, "passes"),
        (0.02, 0.015, "undecided"),
        (-0.05, 0.01, "passes"),
        (0.02, 0.0, "fails"),
        (0.0, 0.0, "passes"),
        (0.02, float("nan"), "undecided"),
    ],
)
def test_a_change_is_judged_by_its_error(value, error, verdict):
    degrees = float("inf")
    assert verdict_of(Estimate(value, error, degrees), 0.02, level=0.01) == verdict
