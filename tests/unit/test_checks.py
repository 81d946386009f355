"""Conditions that a result must not meet: verdicts, exit codes and the files for other programs."""

import json
import math
from xml.etree import ElementTree

import captures
import pytest
from ethermeter.analysis import row_checks
from ethermeter.analysis.checks import verdict_of
from ethermeter.metrics import Metric
from ethermeter.probing.result import Measurement, Value
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


# Other answers


ROWS = (
    {"flow": "call phone1", "metric": "one_way_delay", "bound": 0.0115, "margin": None},
    {"flow": "call phone2", "metric": "one_way_delay", "bound": 0.0091, "margin": 0.002},
    {"flow": "uplink", "metric": "loss", "unit": "%", "value": 0.2, "low": 0.05, "high": 0.35},
    {"flow": "backup", "goodput_bps": 8.5e6, "round_trip_s": 0.02, "limited_by": "network"},
    {"flow": "voice", "rate": {"value": "40 Mb/s", "low": "38 Mb/s", "high": "42 Mb/s"}},
    {"flow": "queue", "room": {"value": "24", "low": "24", "high": "24"}, "size": "1500 B"},
)


def judged(*texts, rows=ROWS):
    found = row_checks.checks(row_checks.conditions_of(texts), rows, ("flow",))
    return [(each.name, each.verdict) for each in found]


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("bound > 10 ms", {"call phone1": "fails", "call phone2": "passes"}),
        ("margin < 3 ms", {"call phone1": "undecided", "call phone2": "fails"}),
        ("call: bound > 10 ms", {"call phone1": "fails", "call phone2": "passes"}),
        ("call phone2: bound > 10 ms", {"call phone2": "passes"}),
        ("loss > 0.04%", {"uplink": "fails"}),
        ("loss > 0.1%", {"uplink": "undecided"}),
        ("loss > 0.4%", {"uplink": "passes"}),
        ("goodput < 9 Mb/s", {"backup": "fails"}),
        ("goodput_bps < 8 Mb/s", {"backup": "passes"}),
        ("round.trip >= 20 ms", {"backup": "fails"}),
        ("rate < 43 Mb/s", {"voice": "fails"}),
        ("rate < 39 Mb/s", {"voice": "undecided"}),
        ("room > 24", {"queue": "passes"}),
        ("size > 1 kB", {"queue": "fails"}),
    ],
)
def test_values_of_rows_are_judged_in_the_units_of_their_names(text, verdicts):
    assert dict(judged(text)) == verdicts


def test_rows_in_per_cent_are_judged_as_shares():
    row = {"test": "throughput", "metric": "share", "unit": "%", "value": 62.8}
    assert judged("share < 90%", "share < 0.5", rows=[row]) == [("", "fails"), ("", "passes")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("goodpu < 9 Mb/s", "did you mean goodput?"),
        ("limited_by > 1", "expected a value of the answer: one of bound, margin, loss"),
        ("calls: bound > 1 ms", "expected what has bound: one of call phone1, call phone2"),
        ("goodput < 9 ms", "goodput: expected a bit rate"),
        ("goodput", "expected [FLOW:] METRIC RELATION VALUE"),
    ],
)
def test_what_rows_do_not_have_is_refused_with_what_they_have(text, said):
    with pytest.raises(row_checks.InputError) as error:
        judged(text)
    assert said in str(error.value)


def test_a_probe_is_judged_by_its_intervals():
    loss = Estimate(0.02, math.nan, math.nan, ends=(0.015, 0.025))
    value = Value.made("uplink", Metric.LOSS, loss, "stamp")
    found = Measurement("host", "2026-01-01T00:00:00Z", ("stamp",), (value,))
    verdicts = [each.verdict for each in found.check("loss > 1%", "loss > 2%", "loss > 3%")]
    assert verdicts == ["fails", "undecided", "passes"]


def test_a_found_value_is_judged_and_its_run_has_the_checks(tmp_path):
    # 24 frames lose nothing, by the bound and by hand: docs/how-to/choose-a-queue.md.
    words = ("find", "value", "buffer-sizing", "--smallest", "network.switches.switch.queue")
    words += ("from=20", "to=30", "--while", "loss == 0", "--out", tmp_path / "room")
    for limit, code in ((23, 1), (24, 0)):
        ended = invoke(*words, "--fail-if", f"value > {limit}")
        assert ended.returncode == code, ended.stderr
        suite = ElementTree.parse(tmp_path / "room" / "checks.xml").getroot()
        assert suite.get("failures") == str(code)
    assert "checks: 1 passed" in ended.stdout


def test_the_load_of_a_network_is_judged_without_a_trial():
    # The uplink is offered 92.42 Mb/s of 100: backup 80, picture 12.03, calls 0.387.
    words = ("validate", "office", "--models", "--set", "network.classes=1", "--set", "vary={}")
    assert invoke(*words, "--fail-if", "utilisation > 92.5%").returncode == 0
    ended = invoke(*words, "--fail-if", "utilisation > 92.4%", "--json")
    assert ended.returncode == 1
    (check,) = json.loads(ended.stdout)["checks"]
    assert (check["verdict"], check["metric"]) == ("fails", "utilisation")
    assert check["value"]["value"] == pytest.approx(0.9242, abs=5e-5)


def test_a_bus_is_judged_and_a_job_on_github_shows_it(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    ended = invoke("bus", "10base-t1s/sensor-bus", "--fail-if", "access_delay_max > 1 ms")
    assert ended.returncode == 1
    assert "checks: 4 failed" in ended.stdout
    assert (tmp_path / "summary.md").read_text().startswith("### ethermeter: bus")


def test_values_that_an_answer_cannot_have_are_refused_before_any_work(tmp_path):
    for words, said in (
        (("find", "calls"), "did you mean mos?"),
        (("find", "value", "office"), "one of value"),
        (("probe", "192.0.2.7"), "did you mean loss?"),
        (("validate", "office"), "one of trials; with --models, what theories say"),
        (("find", "benchmark"), "given without a suite"),
        (("find", "bottleneck"), "given without a transfer"),
        (("predict", "nowhere.toml", "--network", "nowhere.toml"), "did you mean loss?"),
    ):
        more = ("--against", "runs/nowhere") if words[0] == "predict" else ()
        ended = invoke(*words, *more, "--fail-if", "moss > 1", cwd=tmp_path)
        assert ended.returncode == 2
        assert ended.stderr.startswith("command line: --fail-if = ")
        assert said in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_captures_connections_are_judged(tmp_path):
    (tmp_path / "y.pcap").write_bytes(captures.rounds(20, window=115))
    ended = invoke("explain", "y.pcap", "--fail-if", "goodput < 900 Gb/s", cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert invoke("explain", "y.pcap", "--fail-if", "losses > 0", cwd=tmp_path).returncode == 0
