"""What was measured against what was simulated: in pairs of one seed, with intervals that follow
from these alone.
"""

import json
import math
from typing import Any

import numpy as np
import pytest
from ethermeter.analysis.live import comparisons
from ethermeter.json_values import plain
from ethermeter.metrics import Metric
from ethermeter.trial import Trial
from made_results import whole_of
from scenarios import scenario_of

METRICS = (Metric.MESSAGE_RATE, Metric.ONE_WAY_DELAY, Metric.MESSAGES)


def trial(engine: str, seed: int, kind: str = "poisson") -> Trial:
    arrivals = {"kind": kind} if kind == "saturated" else {"kind": kind, "mean_ps": 1e9}
    scenario = scenario_of(flows=[{"name": "load", "from": "a", "to": ["b"], "arrivals": arrivals}])
    return Trial(f"x/{seed:05d}", "x", seed, seed, engine, {}, scenario, "")


def compared(
    live: list[float], simulated: list[float], *, kind: str = "poisson", messages: float = 1000.0
) -> dict[str, Any]:
    """Rates of trials of seeds 0, 1 and so on; simulations in the opposite order."""
    trials = [trial("live", seed, kind) for seed in range(len(live))]
    trials += [trial("simulation", seed, kind) for seed in reversed(range(len(simulated)))]
    rates = [*live, *reversed(simulated)]
    values = np.array([[rate, rate / 1e6, messages] for rate in rates])
    return {each.metric.value: each for each in comparisons(trials, whole_of(METRICS, values))}


def test_trials_of_one_seed_are_compared_whatever_their_order():
    found = compared([1010.0, 2010.0, 3013.0], [1000.0, 2000.0, 3000.0])["message_rate"]
    assert found.difference == pytest.approx(11.0)
    # Differences 10, 10, 13: s = sqrt(3); t(2) = 4.302653 (Student's table, 0.975).
    assert found.half_width == pytest.approx(math.sqrt(3) / math.sqrt(3) * 4.302653, rel=1e-6)
    # Two comparisons: t(2) at 0.9875 is 6.2053, still below 11.
    assert found.verdict == "differs"


def test_what_chance_alone_can_be_agrees():
    found = compared([990.0, 2010.0, 3005.0], [1000.0, 2000.0, 3000.0])["message_rate"]
    assert found.verdict == "agrees"


def test_a_rate_is_not_known_better_than_to_a_message():
    found = compared([999.0] * 3, [1000.0] * 3, messages=999.0)["message_rate"]
    assert (found.difference, found.half_width, found.verdict) == (-1.0, 1.0, "agrees")
    assert compared([998.0] * 3, [1000.0] * 3, messages=998.0)["message_rate"].verdict == "differs"


def test_without_three_pairs_there_is_no_interval_and_no_verdict():
    found = compared([1000.0, 1001.0], [1000.0, 1000.0, 1000.0])["message_rate"]
    assert math.isnan(found.half_width)
    assert found.verdict == "no-interval"
    assert json.loads(json.dumps(plain(found)))["half_width"] is None


def test_a_trial_in_vain_takes_its_simulation_with_it():
    found = compared([math.nan, 2000.0, 3000.0, 4000.0], [0.0, 2000.0, 3000.0, 4000.0])[
        "message_rate"
    ]
    assert (found.live, found.simulation, found.verdict) == (3000.0, 3000.0, "agrees")


def test_delays_of_saturated_sources_are_not_compared():
    assert "one_way_delay" in compared([1.0] * 3, [1.0] * 3)
    assert "one_way_delay" not in compared([1.0] * 3, [1.0] * 3, kind="saturated")


def test_what_was_only_simulated_is_not_compared():
    assert compared([], [1.0, 1.0, 1.0]) == {}
