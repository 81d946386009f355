"""Tables of a run for spreadsheets: a workbook and CSV files have the numbers of the answers."""

import csv
import json
from pathlib import Path

import ethermeter as em
import openpyxl
import pytest
from program import invoke

NETWORK = em.network(
    title="Three messages with deadlines",
    rate="100 Mb/s",
    hosts=["a", "b", "c", "d", "e"],
    switches=["s"],
    links=[(host, "s") for host in "abcde"],
    flows=[
        em.flow("fast", "a", "c", data="100 B", arrivals={"regular": "1 ms"}, deadline="1 ms"),
        em.flow("slow", "b", "c", data="1472 B", arrivals={"regular": "5 ms"}, deadline="100 us"),
        em.flow("bulk", "d", "e", data="1000 B", arrivals={"poisson": "100 /s"}),
    ],
    phases={"transmit": "60 ms"},
    run={"engines": ["theory", "simulation"], "replications": 3},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables") / "run"
    em.load(NETWORK).run(out=out)
    return out


def test_a_workbook_has_a_sheet_for_each_table_and_numbers_as_numbers(run, tmp_path):
    file = tmp_path / "run.xlsx"
    ended = invoke("report", run, "--tables", file)
    assert ended.returncode == 0, ended.stderr
    book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["capacity", "flows", "bounds", "ports", "points"]
    head, *rows = book["bounds"].iter_rows(values_only=True)
    found = {row[head.index("flow")]: dict(zip(head, row, strict=True)) for row in rows}
    answers = json.loads(invoke("report", run, "--json").stdout)["bounds"]["flows"]
    for each in answers:
        row = found[each["flow"]]
        for name, key in (("bound", "bound (µs)"), ("margin", "margin (µs)")):
            if each[name] is None:
                assert row[key] is None
            else:
                assert row[key] == pytest.approx(1e6 * each[name])
    # By hand: a frame of 1518 octets takes 123 µs of each of two wires; 100 µs are too short.
    assert found["slow"]["deadline (µs)"] == 100
    assert found["slow"]["margin (µs)"] < 0
    assert found["slow"]["too late simulated (%)"] == 100
    assert found["fast"]["margin (µs)"] > 0
    assert found["bulk"]["bound (µs)"] is None
    assert "Poisson" in found["bulk"]["bound by, or why there is none"]
    assert {row[1] for row in book["flows"].iter_rows(min_row=2, values_only=True)} >= {
        "simulation"
    }


def test_csv_has_a_file_for_each_table(run, tmp_path):
    ended = invoke("report", run, "--tables", tmp_path / "t.csv", "--json")
    assert ended.returncode == 0, ended.stderr
    files = [Path(file).name for file in json.loads(ended.stdout)["files"]]
    assert files == [f"t-{name}.csv" for name in ("capacity", "flows", "bounds", "ports", "points")]
    with (tmp_path / "t-ports.csv").open(encoding="utf-8") as text:
        ports = list(csv.DictReader(text))
    assert {(port["from"], port["to"]) for port in ports} >= {("a", "s"), ("s", "c")}


def test_a_file_that_cannot_be_is_refused(run, tmp_path):
    for words, said in (
        (("--tables", tmp_path / "t.pdf"), "expected one of .xlsx, .csv"),
        (("--tables", tmp_path / "nowhere" / "t.csv"), "a directory that is there"),
        (("--tables", tmp_path / "t.csv", "--metric", "loss"), "expected without a metric"),
    ):
        ended = invoke("report", run, *words)
        assert ended.returncode == 2
        assert said in ended.stderr
