"""The core's networks from Python: the example of the formats, its figures and its faults."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ethermeter import _core

FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"


def trial(scenario: dict[str, Any]) -> str:
    """A trial with this scenario."""
    return json.dumps({"id": "x", "seed": 1, "scenario": scenario})


@pytest.fixture
def scenario() -> dict[str, Any]:
    """The example of docs/formats.md."""
    found = re.search(
        r'^(\{"nodes": \[$.*?)^```', FORMATS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found is not None
    example: dict[str, Any] = json.loads(found.group(1))
    return example


def test_copies_of_frames_balance_exactly_and_every_figure_of_the_formats_is_there(
    scenario: dict[str, Any],
) -> None:
    o = _core.simulate_trial(trial(scenario))
    assert o["flow_completed"][0] > 10
    assert np.array_equal(
        o["flow_sent"] + o["flow_copied"],
        o["flow_delivered"] + o["flow_lost"].sum(axis=1) + o["flow_in_flight"],
    )
    assert o["losses"] == ["queue", "buffer", "filtered", "ignored", "attempts"]
    section = FORMATS.read_text(encoding="utf-8").split("## Switched networks")[1].split("\n## ")[0]
    before, clocks = section.split("### What is read of clocks")
    clocks, after = clocks.split("\n### ")
    section = before + after
    documented = set(re.findall(r"`((?:flow|transfer|port|node|batch)_\w+)`", section)) | {
        "losses",
        "histograms",
        "window_ps",
        "events",
    }
    assert documented - set(o) == {
        name for name in documented if "sample" in name or "voice" in name
    }
    coder = {"kind": "coder", "sample_bits": 8, "sample_ps": 1_000_000, "spurts": None}
    samples = {"kind": "samples", "overhead_bits": 144, "min_bits": 512, "max_bits": 8000}
    scenario["flows"].append(
        {"name": "voice", "from": "b", "to": ["a"], "frames": samples, "arrivals": coder}
    )
    o = _core.simulate_trial(trial(scenario))
    assert documented == set(o)
    fates = sum(
        o[f"flow_samples_{name}"] for name in ("delivered", "lost_host", "left", "under_way")
    ) + o["flow_samples_lost"].sum(axis=1)
    assert np.array_equal(o["flow_samples"], fates)
    assert list(o["flow_samples"]) == [0, 1000]
    # And of clocks, where there are some.
    scenario["nodes"][0]["kind"]["host"]["clock"] = {"offset_ps": 5}
    scenario["clocks"] = "compared"
    del scenario["flows"][0]["response"]
    o = _core.simulate_trial(trial(scenario))
    assert set(re.findall(r"`((?:flow|pair)_\w+|clock|synchronised)`", clocks)) == set(o["clocks"])


def test_histograms_hold_what_the_counts_say_and_their_means_lie_within(
    scenario: dict[str, Any],
) -> None:
    o = _core.simulate_trial(trial(scenario))
    _flow, low, high, count = o["histograms"]["round_trip"]
    assert count.sum() == o["flow_completed"].sum()
    mean_ps = o["flow_round_trip_s"][0] * 1e12
    assert (low * count).sum() / count.sum() <= mean_ps * (1 + 1e-12)
    assert mean_ps <= (high * count).sum() / count.sum()


def test_the_same_seed_gives_the_same_figures(scenario: dict[str, Any]) -> None:
    scenario["flows"][0]["arrivals"] = {"kind": "poisson", "mean_ps": 2e8}
    first, second = (_core.simulate_trial(trial(scenario)) for _ in range(2))
    for key, value in first.items():
        np.testing.assert_equal(second[key], value)


def test_a_loop_is_refused_with_its_link(scenario: dict[str, Any]) -> None:
    scenario["links"].append({"ends": [{"node": "s"}, {"node": "a"}], "ps_per_octet": 8000})
    with pytest.raises(ValueError, match=r"nodes\[0\]: a host must have one link, got 2"):
        _core.simulate_trial(trial(scenario))
    scenario["links"][-1]["ends"] = [{"node": "s"}, {"node": "s"}]
    with pytest.raises(ValueError, match=r"links\[2\]\.ends: closes a loop"):
        _core.simulate_trial(trial(scenario))


def test_a_table_that_a_scenario_does_not_have_is_refused(scenario: dict[str, Any]) -> None:
    scenario["segment"] = scenario.pop("links")
    with pytest.raises(ValueError, match="unknown field `segment`"):
        _core.simulate_trial(trial(scenario))
