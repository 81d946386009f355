"""One shipped file that three engines answer: an office, bounded, simulated and measured."""

import json
import math
import re

import pytest
from ethermeter.analysis import groups
from ethermeter.analysis.live import Pair, PairEntry, pairs
from ethermeter.experiment import load, shipped
from ethermeter.json_values import plain
from ethermeter.metrics import Metric
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.trial import LIVE, SIMULATION
from faults_at import expect_fault
from program import invoke

SHORT = ("--set", 'phases.transmit="60 ms"', "--set", 'phases.measure="last 40 ms"')


def test_the_office_has_calls_cameras_and_backups_and_three_engines():
    office = load(shipped()["office"])
    assert office.engines == ("theory", SIMULATION, LIVE)
    by_priority = {flow.priority: flow.name.split()[0] for flow in office.scenarios.at((0,)).flows}
    assert by_priority == {5: "call", 4: "picture", 1: "backup"}


def test_run_simulates_and_names_the_command_that_measures(tmp_path):
    run = tmp_path / "run"
    ended = invoke("run", "office", *SHORT, "--out", run, "--no-report")
    assert ended.returncode == 0, ended.stderr
    assert "ethermeter measure office --on testbed" in ended.stderr
    lines = (run / "plan.jsonl").read_text().splitlines()
    engines = {json.loads(line)["engine"] for line in lines}
    assert engines == {"theory/network-calculus", "theory/queueing", SIMULATION}


OVER = ("--set", "network.classes=1", "--set", "vary={}",
        "--set", 'flows.backup.arrivals.token_bucket.rate="50 Mb/s"')  # fmt: skip


@pytest.mark.usefixtures("wide")
def test_theory_shows_the_port_that_is_overloaded_and_when_it_is_full():
    # By hand in test_load: 2 x 50 + 12.416 Mb/s before a link of 100 Mb/s.
    ended = invoke("validate", "office", "--models", *OVER)
    assert ended.returncode == 0, ended.stderr
    (row,) = [line for line in ended.stdout.splitlines() if line.startswith("floor to core")]
    assert "1.124" in row
    assert row.split()[-1] == "frames"
    assert "loses: nothing" not in ended.stdout
    text = " ".join(ended.stdout.split())
    assert "Does not fit: wire floor → core is offered 112.4 Mb/s of 100" in text
    assert "full at 0.8896 times this load" in text
    (why,) = [
        line for line in ended.stdout.splitlines() if "no bound for" in line and "queue" in line
    ]
    assert re.match(r"no bound for 1 of \d+ queues of ports: wire floor → core has no room", why)


@pytest.mark.usefixtures("wide")
def test_a_run_names_what_is_offered_more_than_it_carries(tmp_path):
    ended = invoke("run", "office", *SHORT, *OVER, "--out", tmp_path / "run", "--no-report")
    assert ended.returncode == 0, ended.stderr
    text = " ".join(ended.stdout.split())
    assert text.startswith("Does not fit: wire floor → core is offered 112.4 Mb/s of 100")
    assert "next: wire floor → core is full with fewer; how many of desk fit" in text
    assert "growing-queue" in text


def test_an_experiment_that_is_only_measured_is_not_simulated_instead(tmp_path):
    ended = invoke("run", "office", "--set", 'run.engines=["live"]', "--out", tmp_path / "run")
    assert ended.returncode == 2
    assert "ethermeter measure" in ended.stderr


@pytest.mark.parametrize("engine", ["idealised", "ablation"])
def test_an_idealised_network_is_refused_with_the_reason(tmp_path, engine):
    text = shipped()["office"].read_text().replace('"simulation", "live"]', f'"{engine}"]')
    allowed = 'expected "simulation", "theory" or "live"; what theories assume of a network'
    expect_fault(tmp_path, text, key="run.engines.1", allowed=allowed)


def point(engine: str, flows: str, **values: float) -> Point:
    estimates = {Metric(name): Estimate(value, 0.0, 2.0) for name, value in values.items()}
    return Point("office", {"network.rate": "1 Mb/s", groups.PART: flows}, engine, 3, estimates)


def test_engines_are_paired_by_flows_and_metric():
    nan = math.nan
    found = list(
        pairs(
            [
                point(SIMULATION, "query", message_rate=100.0, loss=0.0, round_trip=nan),
                point(SIMULATION, "copy", data_rate=5.0),
                point(SIMULATION, "call", message_rate=50.0),
                point(LIVE, "copy", data_rate=6.0, round_trip=1.0),
                point(LIVE, "query", message_rate=98.0, loss=0.01, round_trip=0.1),
            ]
        )
    )
    assert [(pair.flows, pair.metric.value) for pair in found] == [
        ("query", "message_rate"),
        ("query", "loss"),
        ("copy", "data_rate"),
    ]
    assert [pair.ratio for pair in found] == [
        pytest.approx(0.98),
        pytest.approx(math.nan, nan_ok=True),
        pytest.approx(1.2),
    ]
    assert all(pair.point == {"network.rate": "1 Mb/s"} for pair in found)


def test_a_file_of_both_engines_has_the_pairs_and_what_theory_says():
    loss = Pair("x", {}, "call", Metric.LOSS, Estimate(0, 0, 2), Estimate(0.5, 0, 2))
    assert [plain(PairEntry.of(loss))] == [
        {
            "series": "x",
            "point": {},
            "flows": "call",
            "metric": "loss",
            "simulation": 0,
            "live": 0.5,
            "ratio": None,
        }
    ]
