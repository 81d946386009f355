"""Clocks of hosts in simulated networks: what plans say of them, their rows by hand, and that
nothing else is otherwise for them.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.metrics import EntityKind, metrics_of
from ethermeter.nodes import clocks_of
from ethermeter.results.values import metrics_in
from ethermeter.studies import pages
from run_values import cautions, values
from shared_experiments import CLOCKS, lowered, trials

FLOW_METRICS, CLOCK_METRICS, SYNCHRONISED_METRICS = (
    metrics_of(group) for group in (EntityKind.FLOW, EntityKind.CLOCK, EntityKind.SYNCHRONISED)
)
WITHOUT = CLOCKS.changed({"network.hosts.0.clock": None})
COMPARED = CLOCKS.changed({"network.clocks": "synchronised"})
FASTER = COMPARED.changed({"network.hosts.0.clock.drift": "40 ppm"})


def ran(experiment: Mapping[str, object], out: Path, jobs: int = 1) -> em.Run:
    return em.load(experiment).run(out=out, jobs=jobs)


def test_a_plan_says_of_clocks_what_the_file_says_and_else_nothing():
    def host(clock: dict[str, str] | None) -> Any:
        changed = CLOCKS.changed({"network.hosts.0.clock": clock})
        return lowered(changed)["nodes"][0]["kind"]["host"]

    assert host(CLOCKS["network"]["hosts"][0]["clock"]) == {
        "clock": {"offset_ps": -250_000_000_000}
    }
    assert "clocks" not in lowered(CLOCKS)
    assert lowered(COMPARED)["clocks"] == "compared"
    assert "clock" not in em.load(WITHOUT).plan().to_jsonl()
    spread = {"drift": "-1.5 ppm", "offset_spread": "1 s", "drift_spread": "20 ppm"}
    clock = {"drift_ppb": -1500, "offset_spread_ps": 10**12, "drift_spread_ppb": 20_000}
    assert host(spread) == {"clock": clock}
    assert host({}) == {"clock": {}}


def test_clocks_are_varied_by_their_keys():
    vary = {
        "network.hosts.a.clock.offset": {"from": "-1 s", "to": "1 s", "step": "1 s"},
        "network.clocks": ["synchronised", "unsynchronised"],
    }
    found = trials(CLOCKS.changed(vary=vary))
    offsets = [trial.scenario.nodes[0].kind.host.clock.offset_ps for trial in found[::4]]
    assert offsets == [-(10**12), 0, 10**12]
    assert {clocks_of(trial.scenario) for trial in found} == {1, 2}


def test_clocks_that_differ_shift_delays_and_change_no_other_row(tmp_path):
    run = ran(CLOCKS, tmp_path / "with")
    bare = ran(WITHOUT, tmp_path / "without")
    found = values(run, flow=0)
    # The sender is 250 ms behind; the receiver reads as much more. Quantiles are those of the same
    # messages in buckets as wide, 1/128 of the delay at most; of the true delay none is above the
    # largest.
    mean_s = found["one_way_delay"]
    assert found["clock_delay"] == pytest.approx(0.25 + mean_s, rel=1e-13)
    for name in ("_p50", "_p90", "_p99", "_p999", "_max"):
        true_s = found[f"one_way_delay{name}"]
        assert -1e-13 <= found[f"clock_delay{name}"] - 0.25 - true_s <= true_s / 128
    # Of all flows together only the stream is read: the other is a question and its answer.
    assert values(run)["clock_delay"] == found["clock_delay"]
    assert math.isnan(values(run, flow=1)["clock_delay"])
    assert cautions(run, "clock_delay", flow=1) == {"no-samples"}
    assert cautions(run, "clock_delay") == set()
    ours, theirs = run.frame(by="entity"), bare.frame(by="entity")
    kept = ours[~ours["metric"].astype(str).str.startswith("clock")].reset_index(drop=True)
    assert kept.astype({"metric": str, "cautions": str, "unit": str, "entity": str}).equals(
        theirs.astype({"metric": str, "cautions": str, "unit": str, "entity": str})
    )
    histograms, others = (
        run.directory.histograms().to_pandas(),
        bare.directory.histograms().to_pandas(),
    )
    kept = histograms[histograms["time"] != "clock_delay"].reset_index(drop=True)
    assert kept.astype({"time": str}).equals(others.astype({"time": str}))
    assert (run.path / "ports.parquet").read_bytes() == (bare.path / "ports.parquet").read_bytes()


def test_what_is_read_of_clocks_follows_from_the_file(tmp_path):
    for experiment, more in (
        (CLOCKS, CLOCK_METRICS),
        (COMPARED, (*CLOCK_METRICS, *SYNCHRONISED_METRICS)),
    ):
        run = ran(experiment, tmp_path / str(len(more)))
        found, together = run.frame(by="entity"), run.frame(by="trial")
        for of in (together, *(found[found["entity"] == name] for name in run.entities)):
            names = of[of["trial"] == run.trials()[0].id]["metric"].astype(str)
            assert set(names) == {*FLOW_METRICS, *more}
            assert len(names) == len(set(names))


def test_what_is_compared_is_as_wrong_as_is_stated_at_most(tmp_path):
    run = ran(FASTER, tmp_path / "run")
    found = values(run, flow=0)
    assert found["clock_offset"] == pytest.approx(-0.25, abs=1e-3)
    # At 0.32 s the sender has gained 12.8 us of its 250 ms.
    assert (
        abs(found["clock_offset"] - (-0.25 + 12.8e-6)) <= found["clock_offset_uncertainty"] + 2e-9
    )
    assert abs(found["clock_drift"] - 40e-6) <= found["clock_drift_uncertainty"]
    # The bound is of the relation of two clocks; a delay of some ms by a clock that is wrong by
    # nothing adds nothing, rounding 2 ns.
    assert 0 < found["delay_error"] <= found["delay_uncertainty"] + 2e-9
    assert abs(found["synchronised_delay"] - found["one_way_delay"]) <= found["delay_error"]
    assert values(run)["delay_error"] == found["delay_error"]
    histogram = run.directory.histograms().to_pandas()
    of = histogram[
        (histogram["time"] == "synchronised_delay") & (histogram["trial"] == run.trials()[0].id)
    ]
    assert of["count"].sum() == found["messages"]
    assert (of["low_ps"] < of["high_ps"]).all()
    # Exchanges that reach farther apart tell the drift better.
    longer = ran(FASTER.changed({"phases.settle": "960 ms"}), tmp_path / "longer")
    assert values(longer, flow=0)["clock_drift_uncertainty"] < found["clock_drift_uncertainty"]


def test_nothing_is_told_before_anything_is_known(tmp_path):
    run = ran(COMPARED.changed({"phases.settle": "0 s"}), tmp_path / "run")
    found = values(run, flow=0)
    assert math.isnan(found["delay_uncertainty"])
    assert found["delay_error"] > 0
    assert cautions(run, "synchronised_delay", flow=0) == {"clock-uncertain"}
    assert cautions(run, "delay_uncertainty", flow=0) == {"no-samples"}
    assert cautions(run, "clock_delay", flow=0) == set()


def test_clocks_of_a_group_differ_and_so_do_those_of_replications(tmp_path):
    group = CLOCKS.changed(
        {
            "network.hosts.0": em.host("a", count=3, clock={"offset_spread": "1 s"}),
            "network.switches": [em.switch("s")],
            "network.links": [em.link("a", "s"), em.link("b", "s")],
            "flows.1.to": "a1",
        }
    )
    run = ran(group, tmp_path / "run")
    delays = [
        values(run, trial=trial, flow=flow)["clock_delay"]
        for trial in range(2)
        for flow in range(3)
    ]
    # Uniform within a second either way, and a delay of some ms: six draws closer than 10 us happen
    # once in 7 000 seeds.
    assert np.min(np.abs(np.subtract.outer(delays, delays)) + np.eye(6)) > 1e-5
    assert np.max(np.abs(delays)) < 1.1
    # Of all flows together: the mean over messages, and the largest.
    each = [values(run, flow=flow) for flow in range(3)]
    weights = [found["messages"] for found in each]
    assert values(run)["clock_delay"] == pytest.approx(
        np.average(delays[:3], weights=weights), rel=1e-9
    )
    assert values(run)["clock_delay_max"] == max(found["clock_delay_max"] for found in each)


def test_a_trial_that_is_measured_has_no_simulated_clocks():
    found = trials(COMPARED.changed({"run.engines": ["simulation", "live"]}))
    assert {trial.engine: set(metrics_in(trial)) for trial in found} == {
        "simulation": {*FLOW_METRICS, *CLOCK_METRICS, *SYNCHRONISED_METRICS},
        "live": set(FLOW_METRICS),
    }


def test_the_shipped_comparison_errs_by_no_more_than_it_states_in_any_trial(tmp_path):
    run = em.load("clock-comparison").run(out=tmp_path / "run", jobs=1)
    table = run.frame(by="entity")
    table = table[table["entity"] == run.entities[0]]
    found = {
        name: table[table["metric"] == name]["value"].to_numpy()
        for name in ("delay_error", "delay_uncertainty", "one_way_delay")
    }
    assert len(found["delay_error"]) == 50
    # No delay is wrong by the receiver's clock, which is true; the sender's goes 50 ppm faster, and
    # as does a bound by it; and rounding.
    assert (found["delay_error"] <= 1.00005 * found["delay_uncertainty"] + 2e-9).all()
    of = {tuple(point.point.values()): point.estimates for point in run.estimated}
    for settle in ("100 ms", "1 s"):
        idle, full = (of[load, settle]["delay_error"].value for load in ("0.001", "0.8"))
        # Answers wait where the load waits: a path of unequal ways is told wrong.
        assert full > 3 * idle
    pages.write_report(run.path)
    text = (run.path / "report.html").read_text(encoding="utf-8")
    for heading in (
        "Delays by the clocks as they are: measured",
        "Delays by comparing clocks: measured",
        "Error of comparing clocks: measured",
    ):
        assert f"<h3>{heading}</h3>" in text
