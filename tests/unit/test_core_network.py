"""The core's networks from Python: the example of the formats, its counts and its faults."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ethermeter import _core

FORMATS = Path(__file__).parents[2] / "docs" / "reference" / "network-trials.md"


def trial(scenario: dict[str, Any]) -> str:
    """A trial with this scenario."""
    return json.dumps({"id": "x", "seed": 1, "scenario": scenario})


@pytest.fixture
def scenario() -> dict[str, Any]:
    """The example of docs/reference/network-trials.md."""
    found = re.search(
        r'^(\{"nodes": \[$.*?)^```', FORMATS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found is not None
    example: dict[str, Any] = json.loads(found.group(1))
    return example


def test_copies_of_frames_and_samples_balance_exactly(scenario):
    flows = _core.simulate_trial(trial(scenario)).flows
    copies = flows.balance
    assert flows.completed[0] > 10
    assert np.array_equal(
        copies.sent + copies.copied, copies.delivered + copies.lost.sum(axis=1) + copies.in_flight
    )
    assert flows.voice is None
    coder = {"kind": "coder", "sample_bits": 8, "sample_ps": 1_000_000, "spurts": None}
    samples = {"kind": "samples", "overhead_bits": 144, "min_bits": 512, "max_bits": 8000}
    scenario["flows"].append(
        {"name": "voice", "from": "b", "to": ["a"], "frames": samples, "arrivals": coder}
    )
    voice = _core.simulate_trial(trial(scenario)).flows.voice
    assert voice is not None
    fates = (
        voice.delivered
        + voice.host.lost
        + voice.host.left
        + voice.under_way
        + voice.lost.sum(axis=1)
    )
    assert np.array_equal(voice.host.made, fates)
    assert list(voice.host.made) == [0, 1000]


def test_clocks_are_read_where_there_are_some(scenario):
    assert _core.simulate_trial(trial(scenario)).flows.clocks is None
    scenario["nodes"][0]["kind"]["host"]["clock"] = {"offset_ps": 5}
    del scenario["flows"][0]["response"]
    clocks = _core.simulate_trial(trial(scenario)).flows.clocks
    assert clocks is not None
    assert clocks.synchronised is None
    scenario["clocks"] = "compared"
    counts = _core.simulate_trial(trial(scenario))
    assert counts.flows.clocks is not None
    assert counts.flows.clocks.synchronised is not None
    assert len(counts.clock_pairs.sender) == 1


def test_histograms_hold_what_the_counts_say_and_their_means_lie_within(scenario):
    flows = _core.simulate_trial(trial(scenario)).flows
    it = flows.round_trip.buckets
    assert it.count.sum() == flows.round_trip.count.sum() == flows.completed.sum()
    mean_ps = flows.round_trip.sum_ps[0] / flows.round_trip.count[0]
    assert (it.low_ps * it.count).sum() / it.count.sum() <= mean_ps * (1 + 1e-12)
    assert mean_ps <= (it.high_ps * it.count).sum() / it.count.sum()


def test_the_same_seed_gives_the_same_counts(scenario):
    scenario["flows"][0]["arrivals"] = {"kind": "poisson", "mean_ps": 2e8}
    first, second = (_core.simulate_trial(trial(scenario)) for _ in range(2))
    np.testing.assert_equal(asdict(second), asdict(first))


def test_a_loop_is_refused_with_its_link(scenario):
    scenario["links"].append({"ends": [{"node": "s"}, {"node": "a"}], "ps_per_octet": 8000})
    with pytest.raises(ValueError, match=r"nodes\[0\]: a host must have one link, got 2"):
        _core.simulate_trial(trial(scenario))
    scenario["links"][-1]["ends"] = [{"node": "s"}, {"node": "s"}]
    with pytest.raises(ValueError, match=r"links\[2\]\.ends: closes a loop"):
        _core.simulate_trial(trial(scenario))


def test_a_table_that_a_scenario_does_not_have_is_refused(scenario):
    scenario["segment"] = scenario.pop("links")
    with pytest.raises(ValueError, match="unknown field `segment`"):
        _core.simulate_trial(trial(scenario))
