"""Conditions that a result must not meet: verdicts, exit codes and the files for other programs."""

import json
import math
from xml.etree import ElementTree

import pytest
from ethermeter.analysis.checks import verdict_of
from ethermeter.results.interval import Estimate
from program import invoke

OVER = (
    *("--set", "vary={}", "--set", "network.classes=1"),
    *("--set", 'flows.backup.arrivals.token_bucket.rate="50 Mb/s"'),
)
SHORT = (
    *("--set", 'phases.transmit="60 ms"', "--set", 'phases.measure="last 50 ms"'),
    *("--set", 'run.engines=["simulation"]', "--no-report"),
)


@pytest.mark.parametrize(
    ("value", "half", "relation", "limit", "verdict"),
    [
        (0.02, 0.005, ">", 0.01, "fails"),
        (0.02, 0.015, ">", 0.01, "undecided"),
        (0.02, 0.005, ">", 0.03, "passes"),
        (0.02, math.nan, ">", 0.01, "fails"),
        (0.02, math.nan, ">", 0.02, "passes"),
        (0.02, math.nan, ">=", 0.02, "fails"),
        (90.0, 1.0, "<", 95.0, "fails"),
        (90.0, 6.0, "<", 95.0, "undecided"),
        (90.0, 1.0, "<", 80.0, "passes"),
        (90.0, math.nan, "<=", 90.0, "fails"),
        (0.0, math.nan, "==", 0.0, "fails"),
        (math.nan, math.nan, ">", 0.0, "undecided"),
    ],
)
def test_a_value_is_judged_by_its_interval(value, half, relation, limit, verdict):
    estimate = Estimate(value, half / 1.959964, math.inf)
    assert verdict_of(estimate, relation, limit) == verdict


def test_a_value_at_its_limit_fails_in_at_most_a_fortieth_of_runs():
    import numpy as np
    from ethermeter.results.interval import student

    draws = np.random.default_rng(7).normal(1.0, 0.2, (4000, 5))
    failed = sum(verdict_of(student(row), ">", 1.0) == "fails" for row in draws)
    # 2.5% of 4000, and four standard errors.
    assert failed <= 100 + 4 * math.sqrt(4000 * 0.025 * 0.975)
    assert failed >= 100 - 4 * math.sqrt(4000 * 0.025 * 0.975)


def test_an_overload_fails_whatever_the_trial_saw(tmp_path):
    # Of 1.124 times what the uplink carries 11% are lost in the long run; in 60 ms nothing is.
    words = ("run", "office", *OVER, *SHORT, "--fail-if", "backup: loss > 5%")
    ended = invoke(*words, "--out", tmp_path / "run")
    assert ended.returncode == 1, ended.stderr
    assert "checks: 2 failed" in ended.stdout
    text = " ".join(ended.stdout.split())
    assert "fails in the long run: wire floor → core is offered 1.124 times" in text


def test_checks_of_a_run_are_files_for_other_programs(tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    words = ("run", "office", *OVER, *SHORT, "--fail-if", "backup: loss > 5%")
    words += ("--fail-if", "call: one_way_delay > 1 s")
    ended = invoke(*words, "--out", tmp_path / "run")
    assert ended.returncode == 1, ended.stderr
    suite = ElementTree.parse(tmp_path / "run" / "checks.xml").getroot()
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "6",
        "failures": "2",
        "skipped": "0",
    }
    assert len(suite.findall("testcase/failure")) == 2
    lines = (tmp_path / "run" / "checks.prom").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "# EOF"
    failed = [line for line in lines if line.startswith("ethermeter_check_failed{")]
    assert [line.split()[-1] for line in failed] == ["1", "1", "0", "0", "0", "0"]
    assert summary.read_text(encoding="utf-8").startswith("### ethermeter: run")
    assert "4 of 6 checks passed." in summary.read_text(encoding="utf-8")


def test_what_cannot_be_told_has_an_exit_code_of_its_own(tmp_path):
    # No loss of some hundred messages is no proof of less than one in a million.
    words = ("run", "office", *SHORT, "--set", "vary={}", "--fail-if", "together: loss > 1ppm")
    ended = invoke(*words, "--out", tmp_path / "run")
    assert ended.returncode == 3, ended.stderr
    assert "checks: 1 undecided" in ended.stdout


def test_bad_conditions_are_refused_before_anything_is_run(tmp_path):
    for text, said in (
        ("loss", "expected [FLOW:] METRIC RELATION VALUE"),
        ("latency > 1 ms", "did you mean one_way_delay"),
        ("cal: loss > 1%", "did you mean call?"),
        ("loss > 2 ms", "expected a number without a unit"),
    ):
        ended = invoke("run", "office", *SHORT, "--fail-if", text, "--out", tmp_path / "run")
        assert ended.returncode == 2
        assert ended.stderr.splitlines()[-1].startswith("command line: --fail-if = ")
        assert said in ended.stderr
    assert not (tmp_path / "run").exists()


def test_json_is_the_same_with_checks(tmp_path):
    words = ("run", "office", *OVER, *SHORT, "--json", "--out", tmp_path / "run")
    ended = invoke(*words, "--fail-if", "backup: loss > 5%")
    assert ended.returncode == 1
    assert {each["verdict"] for each in json.loads(ended.stdout)["checks"]} == {"fails"}
