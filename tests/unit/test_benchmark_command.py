"""The commands `find benchmark` and `compare`: tables, files, exit codes and what they refuse."""

import csv
import json
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from benchmark_runs import SWITCH
from ethermeter import _core, find
from ethermeter.analysis.benchmark import (
    BenchmarkAnswer,
    Column,
    Row,
    compare,
    csv_rows,
    is_regression,
    read,
)
from ethermeter.analysis.benchmark import Test as Table
from ethermeter.faults import InputError
from ethermeter.store import RunDirectory
from program import invoke

QUICK = ("frames=64,1518", "trial=50 ms")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run of a suite on the shipped switch."""
    directory = tmp_path_factory.mktemp("benchmark") / "run"
    ended = invoke("find", "benchmark", "rfc2544", *QUICK, "--out", directory)
    assert ended.returncode == 0, ended.output
    (directory.parent / "printed").write_text(ended.stdout)
    return directory


def test_tables_fit_into_eighty_columns(run: Path) -> None:
    printed = (run.parent / "printed").read_text()
    tables = [line for line in printed.splitlines() if str(run) not in line]
    assert max(map(len, tables)) <= 80
    for title in ("Throughput", "Latency", "Frame loss rate", "Back-to-back", "System recovery"):
        assert title in printed


def test_the_answer_is_json_and_csv_with_equal_values(run: Path) -> None:
    again, table = (
        invoke("find", "benchmark", "rfc2544", *QUICK, "--out", run, kind)
        for kind in ("--json", "--csv")
    )
    assert again.returncode == table.returncode == 0, again.output
    assert "already finished" in again.stderr
    found = json.loads(again.stdout)
    answer = read(RunDirectory(run).answer(), file="answer.json")
    assert found["suite"] == answer.suite == "rfc2544"
    rows = list(csv.DictReader(table.stdout.splitlines()))
    wanted = [
        {key: "" if of is None else str(of) for key, of in row.items()} for row in csv_rows(answer)
    ]
    assert rows == wanted
    values = {(row["test"], row["point"], row["metric"]): row["value"] for row in rows}
    (table,) = (test for test in found["tests"] if test["name"] == "throughput")
    for row in table["rows"]:
        of_file = values["throughput", f"frame {row['point']['frame']}", "rate"]
        assert float(of_file) == row["values"]["rate"]


def test_the_report_has_the_tests_and_the_conditions(run: Path) -> None:
    page = (run / "report.html").read_text(encoding="utf-8")
    for text in ("RFC 2544 section 26.1", "RFC 9004 section 5.4", "Conditions", "MLRsearch 1.2.1"):
        assert text in page


def test_a_suite_that_broke_off_goes_on_where_it_was(run: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    trials = []

    def breaking(line: str, watch: Any = None) -> Any:
        trials.append(line)
        if len(trials) > 20:
            raise RuntimeError("the simulator broke off")
        return _core.simulate_trial(line, watch)

    broken = invoke("find", "benchmark", "rfc2544", *QUICK, "--out", half, core=breaking)
    assert broken.returncode == 1, broken.output
    refused = invoke("find", "benchmark", "rfc2544", "frames=64", "--out", half)
    assert refused.returncode == 2
    ended = invoke("find", "benchmark", "rfc2544", *QUICK, "--out", half)
    assert ended.returncode == 0, ended.output
    for name in ("answer.json", "plan.jsonl", "flows.parquet"):
        assert (half / name).read_bytes() == (run / name).read_bytes(), name


def test_compare_names_what_became_worse_and_fails_on_demand(run: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow.toml"
    slow.write_text(SWITCH.read_text(encoding="utf-8").replace("12 ns", "13 ns"), encoding="utf-8")
    other = tmp_path / "other"
    ended = invoke("find", "benchmark", "rfc2544", *QUICK, f"network={slow}", "--out", other)
    assert ended.returncode == 0, ended.output
    same = invoke("compare", run, run, "--fail-below", "2%")
    assert same.returncode == 0
    assert "no regression" in same.stdout
    worse = invoke("compare", run, other, "--fail-below", "2%", "--json")
    assert worse.returncode == 1
    found = json.loads(worse.stdout)
    assert found["regression"]
    (rate,) = (
        each
        for each in found["differences"]
        if (each["test"], each["point"], each["key"]) == ("throughput", {"frame": "1518 B"}, "rate")
    )
    assert rate["verdict"] == "worse"
    # Both are found within half a percent, and a buffer of 64 frames hides 1280 a second in 50 ms.
    assert rate["change"] == pytest.approx((300 + 1518 * 12) / (300 + 1518 * 13) - 1, abs=0.03)
    assert invoke("compare", run, other).returncode == 0
    assert invoke("compare", other, run, "--fail-below", "50%").returncode == 0


def test_the_list_names_every_suite() -> None:
    listed = json.loads(invoke("find", "benchmark", "--json").stdout)
    assert [each["name"] for each in listed] == [
        "rfc2544",
        "rfc2889",
        "rfc3918",
        "rfc6349",
        "y1564",
    ]


def test_in_python_it_is_a_function_with_typed_answers(run: Path) -> None:
    found = find.benchmark("rfc2544", frames=[64, 1518], trial=0.05, out=run)
    assert found.answer == read(RunDirectory(run).answer(), file="answer.json")
    assert found.run.path == run
    assert find.benchmark()[0].name == "rfc2544"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"frames": [63]}, "frames"),
        ({"trial": 0.001}, "trial"),
        ({"services": ["voice"]}, "services"),
        ({"testers": ["tester1", "nobody"]}, "testers"),
        ({"rate": 1e9}, "rate"),
        ({"on": "loopback"}, "on"),
    ],
)
def test_faults_name_arguments_of_the_function(given: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError) as caught:
        find.benchmark("rfc2544", **given)
    assert [fault.key for fault in caught.value.faults] == [key]


def test_without_its_library_a_search_is_refused_before_trials_and_halving_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = util.find_spec
    monkeypatch.setattr(
        util, "find_spec", lambda name, *of: None if name == "MLRsearch" else there(name, *of)
    )
    words = ("find", "benchmark", "rfc2544", "frames=1518", "trial=50 ms", "--out", tmp_path / "r")
    refused = invoke(*words)
    assert refused.returncode == 2
    assert "search = mlr" in refused.stderr
    assert "pip install 'ethermeter[benchmark]'; or search=binary" in refused.stderr
    assert not (tmp_path / "r").exists()
    assert invoke(*words, "search=binary").returncode == 0


def small(rate: float | None, loss: float = 0.0, *, may_stop: bool = False) -> BenchmarkAnswer:
    """Return an answer of one test."""
    columns = (Column("rate", "rate", "", "higher"), Column("loss", "loss", "", "lower"))
    rows = (Row({"frame": "64 B"}, {"rate": rate, "loss": loss}),)
    tests = (Table("t", "T", "", columns, rows, may_stop=may_stop),)
    return BenchmarkAnswer(
        suite="s", title="", network="", venue="", testers=(), conditions={}, tests=tests
    )


@pytest.mark.parametrize(
    ("before", "after", "verdicts", "is_worse"),
    [
        (small(100.0), small(99.0), ["same", "same"], False),
        (small(100.0), small(97.9), ["worse", "same"], True),
        (small(100.0), small(102.1), ["better", "same"], False),
        (small(100.0), small(None), ["missing", "same"], True),
        (small(None), small(100.0), ["new", "same"], False),
        (small(100.0), small(100.0, 0.1), ["same", "worse"], True),
        (small(100.0, 0.1), small(100.0), ["same", "better"], False),
    ],
)
def test_verdicts_follow_the_direction_and_the_tolerance(
    before: BenchmarkAnswer, after: BenchmarkAnswer, verdicts: list[str], *, is_worse: bool
) -> None:
    found = compare(before, after, tolerance=0.02)
    assert [each.verdict for each in found] == verdicts
    assert is_regression(found) is is_worse


def test_rows_after_the_end_of_a_test_are_not_missed() -> None:
    before, after = small(100.0, may_stop=True), small(100.0, may_stop=True)
    (test,) = after.tests
    ended = Table(test.name, test.title, "", test.columns, (), may_stop=True)
    shorter = BenchmarkAnswer(
        suite="s", title="", network="", venue="", testers=(), conditions={}, tests=(ended,)
    )
    assert compare(before, shorter, tolerance=0.02) == ()


def test_benchmarks_of_different_suites_are_not_compared() -> None:
    other = BenchmarkAnswer(
        suite="o", title="", network="", venue="", testers=(), conditions={}, tests=()
    )
    with pytest.raises(InputError, match="expected a benchmark of s"):
        compare(small(1.0), other, tolerance=0.02)
