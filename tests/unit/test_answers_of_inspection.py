"""What checking, comparing and showing answer in Python and as tables, and what they refuse."""

import csv
import io
import json
from pathlib import Path

import pytest
from ethermeter.api.compare import Comparison, TheoryComparison, compare
from ethermeter.api.report import Figures, report
from ethermeter.api.runs import Run
from ethermeter.api.shipped import Copy, ExperimentText, Schema, Shipped, experiments
from ethermeter.api.validate import Applicability, NetworkTheory, Validity, validate
from ethermeter.faults import InputError
from ethermeter.plan import Plan
from program import invoke, settings

SHORT = settings("phases.transmit=60 ms", "phases.measure=all", "run.replications=2")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a network with theories."""
    run = tmp_path_factory.mktemp("office") / "run"
    ended = invoke("run", "office", "--no-report", "--out", run, *SHORT)
    assert ended.returncode == 0, ended.stderr
    return run


def table(*words: object) -> list[dict[str, str]]:
    """The rows that a command prints as CSV."""
    ended = invoke(*words, "--csv")
    assert ended.returncode in (0, 2), ended.stderr
    return list(csv.DictReader(io.StringIO(ended.stdout)))


def test_experiments_are_checked_in_python_without_an_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("seed = -1\n", encoding="utf-8")
    found = validate(["office", str(bad)])
    assert isinstance(found, Validity)
    assert (found.valid, list(found.trials)) == (False, ["office"])
    assert found.fault_count == len(found.faults) > 1
    assert {fault.file for fault in found.faults} == {str(bad)}
    alone = validate("office", overrides={"run.replications": 2})
    assert isinstance(alone, Validity)
    assert alone.valid
    with pytest.raises(InputError, match="seed = -1"):
        validate(bad, trials=True)
    rows = table("validate", "office", bad)
    assert [row["key"] for row in rows if row["file"] == str(bad)] == [
        fault.key for fault in found.faults
    ]
    assert rows[0]["trials"] == str(found.trials["office"])


def test_trials_and_models_are_those_of_the_command() -> None:
    plan = validate("office", trials=True)
    assert isinstance(plan, Plan)
    rows = table("validate", "office", "--trials")
    assert [(row["id"], row["seed"]) for row in rows] == [
        (trial.id, str(trial.seed)) for trial in plan.trials
    ]
    assert {row["network.classes"] for row in rows} == {
        trial.point["network.classes"] for trial in plan.trials
    }
    models = validate("poisson-load", models=True)
    assert isinstance(models, Applicability)
    rows = table("validate", "poisson-load", "--models")
    assert [(row["model"], row["applies"]) for row in rows] == [
        (model.model, str(model.applies)) for model in models.models
    ]
    network = validate("office", models=True)
    assert isinstance(network, NetworkTheory)
    assert {row["flow"] for row in table("validate", "office", "--models")} == {
        time.flow for time in network.answers.times
    }


def test_a_name_of_no_experiment_is_a_fault_of_the_files() -> None:
    for words in ((), ("--trials",), ("--models",)):
        ended = invoke("validate", "offce", *words)
        assert ended.returncode == 2
        assert ended.stderr.startswith("command line: FILE = offce: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("validate office poisson-load --trials", "--trials = given with 2 files"),
        ("validate office --trials --models", "--models = given with trials"),
        ("compare RUN RUN --differing", "--differing = given: expected with one run"),
        ("compare RUN --figure x.html", "--figure = x.html: expected with a second run"),
        ("compare RUN --fail-below 2%", "--fail-below = 2%: expected with a second run"),
        ("compare RUN --columns loss=x", "--columns = loss=x: expected with a second run"),
        ("compare RUN RUN --fail-below 2", "--fail-below = 2: expected a share above 0%"),
        ("compare RUN RUN --baseline RUN", "--baseline = RUN: expected with --fail-below"),
        ("compare RUN/plan.jsonl", "SECOND = missing"),
        ("compare RUN RUN --columns loss=x", "--columns = given: expected with a file"),
        ("report RUN --series office", "--series = office: expected with a metric to draw"),
        ("report RUN --metric loss --series x", "--series = x: one of office"),
        ("experiments --show office --schema claims", "--schema = given with show"),
        ("experiments --schema claims --csv", "--csv = given with --schema"),
        ("experiments --show offce", "--show = offce: did you mean office?"),
        ("experiments --copy offce x.toml", "--copy = offce: did you mean office?"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_its_option(
    office: Path, words: str, said: str
) -> None:
    ended = invoke(*words.replace("RUN", str(office)).split())
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert f"command line: {said.replace('RUN', str(office))}" in ended.stderr


def test_theories_of_one_run_are_compared_with_its_simulations(office: Path) -> None:
    found = compare(office)
    assert isinstance(found, TheoryComparison)
    assert found.every == found.shown
    rows = table("compare", office)
    assert [(row["model"], row["verdict"]) for row in rows] == [
        (each.model, each.verdict) for each in found.shown
    ]
    printed = json.loads(invoke("compare", office, "--json").stdout)
    assert len(printed["comparisons"]) == len(rows)
    assert printed["bounds"]["exceeded"] == 0


def test_two_runs_are_rows_of_a_table(office: Path, tmp_path: Path) -> None:
    found = compare(office, office, figure=tmp_path / "page.html")
    assert isinstance(found, Comparison)
    assert found.page is not None
    assert found.page.exists()
    rows = table("compare", office, office)
    every = list(found.every())
    assert [row["metric"] for row in rows] == [row["metric"] for row in every]
    assert every[: len(found.rows)] == list(found.rows)
    assert {row["verdict"] for row in rows} == {"same"}


def test_a_report_is_a_run_and_figures_are_files(office: Path, tmp_path: Path) -> None:
    drawn = report(office, metrics=["loss"], out=tmp_path / "drawn", file_format="png")
    assert isinstance(drawn, Figures)
    assert drawn.figures == (tmp_path / "drawn" / "office-loss.png",)
    run = report(office)
    assert isinstance(run, Run)
    assert run.files["report"] == office / "report.html"


def test_shipped_experiments_are_listed_shown_and_copied_in_python(tmp_path: Path) -> None:
    listed = experiments()
    assert isinstance(listed, Shipped)
    assert table("experiments") == [
        {"name": name, "title": title} for name, title in listed.titles.items()
    ]
    shown = experiments(show="office")
    assert isinstance(shown, ExperimentText)
    copy = experiments(copy=("office", tmp_path))
    assert isinstance(copy, Copy)
    assert copy.file == tmp_path / "office.toml"
    assert copy.file.read_text(encoding="utf-8") == shown.text
    schema = experiments(schema="claims")
    assert isinstance(schema, Schema)
    printed = invoke("experiments", "--schema", "claims").stdout
    assert json.loads(printed) == schema.schema
