"""All studies at once: the list, one page of all claims, and one that fails among others."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ethermeter.studies import registry
from ethermeter.studies.definition import Study
from markupsafe import escape
from program import Ended, invoke

Run = Callable[..., Ended]
COPIES = replace(registry.find("fritz1999"), experiments=("copies",))
ABSENT = replace(registry.find("fritz1999"), experiments=("nothing",))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*words: str, studies: dict[str, Study] | None = None) -> Ended:
        if studies is not None:
            monkeypatch.setattr(registry, "names", lambda: tuple(studies))
            monkeypatch.setattr(registry, "find", studies.__getitem__)
        return invoke("study", *words)

    return call


@pytest.mark.usefixtures("wide")
def test_every_study_is_listed_with_one_line_and_nothing_is_run(run, tmp_path):
    lines = run().stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(registry.names())
    assert all(len(line.split()) > 3 for line in lines)
    listed = json.loads(run("--json").stdout)
    assert [entry["study"] for entry in listed] == list(registry.names())
    rows = list(csv.DictReader(run("--csv").stdout.splitlines()))
    assert rows == listed
    assert list(tmp_path.iterdir()) == []


def test_every_study_has_a_title_of_its_own():
    titles = {registry.find(name).presentation.title for name in registry.names()}
    assert all(titles)
    assert len(titles) == len(registry.names()) >= 7


def test_one_page_has_every_claim_and_the_way_to_the_report(run, tmp_path):
    result = run("all", "--out", "all", "--jobs", "1", studies={"fritz1999": COPIES})
    assert result.returncode == 0, result.output
    page = (tmp_path / "all" / "studies.html").read_text(encoding="utf-8")
    claims = json.loads(
        (tmp_path / "all" / "fritz1999" / "claims.json").read_text(encoding="utf-8")
    )["claims"]
    assert claims
    assert all(str(escape(claim["what"])) in page for claim in claims)
    (link,) = set(re.findall(r'href="([^"#]*report\.html)"', page))
    assert (tmp_path / "all" / link).is_file()
    assert "all claims: all/studies.html" in result.stdout
    # Nothing is asked of any network.
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)


def test_the_failure_of_one_study_does_not_hide_the_others_and_shows_in_the_exit_code(
    run, tmp_path
):
    result = run(
        "all", "--out", "all", "--jobs", "1", studies={"broken": ABSENT, "fritz1999": COPIES}
    )
    assert result.returncode == 1
    assert "broken:" in result.stderr
    assert "Traceback" not in result.output
    page = (tmp_path / "all" / "studies.html").read_text(encoding="utf-8")
    assert "failed" in page
    assert "fritz1999/nothing" in page
    assert (tmp_path / "all" / "fritz1999" / "report.html").is_file()


def test_what_is_finished_is_not_run_again(run, tmp_path):
    words = ("all", "--out", "all", "--jobs", "1", "--no-report", "--json")
    first = json.loads(run(*words, studies={"fritz1999": COPIES}).stdout)
    before = (tmp_path / "all" / "fritz1999" / "flows.parquet").stat().st_mtime_ns
    second = run(*words, studies={"fritz1999": COPIES})
    assert second.returncode == 0
    assert json.loads(second.stdout) == first
    assert (tmp_path / "all" / "fritz1999" / "flows.parquet").stat().st_mtime_ns == before
    assert [of["study"] for of in first["studies"]] == ["fritz1999"]
    assert "estimates" not in first["studies"][0]["summary"]


def test_seed_and_replications_can_be_set_in_all_studies_and_claims_are_rows(run, tmp_path):
    words = ("all", "--out", "all", "--jobs", "1", "--no-report", "--csv")
    given = ("--set", "seed=7", "--set", "run.replications=2")
    ended = run(*words, *given, studies={"fritz1999": COPIES})
    assert ended.returncode == 0, ended.output
    provenance = json.loads((tmp_path / "all" / "fritz1999" / "provenance.json").read_text())
    assert set(provenance["seeds"].values()) == {7}
    claims = json.loads((tmp_path / "all" / "fritz1999" / "claims.json").read_text())["claims"]
    rows = list(csv.DictReader(ended.stdout.splitlines()))
    assert [row["id"] for row in rows] == [claim["id"] for claim in claims]
    assert list(rows[0]) == ["study", *claims[0]]
    assert {row["study"] for row in rows} == {"fritz1999"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--quick",), "STUDY = (missing): one of boggs1988"),
        (("boggs1989",), "STUDY = boggs1989: did you mean boggs1988? One of boggs1988"),
        (
            ("all", "--set", "seed=1", "--set", "phases.transmit=1 s"),
            "--set = phases.transmit=1 s: not with all, except seed and run.replications",
        ),
    ],
)
def test_bad_words_are_named_with_what_was_allowed(run, words, said):
    result = run(*words)
    assert result.returncode == 2
    assert said in result.stderr
