"""Runs of the compiled core: the same bytes whatever the threads and interruptions, and the same by
the reference.
"""

import doctest
import json
import random
import subprocess
import time
from importlib import import_module
from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from ethermeter import _core
from ethermeter.engines.simulation import result_of
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.store.columns import STATION_BATCHES
from ethermeter.trial import core_trial_of
from program import invoke, real
from small_runs import TABLES, contents, write_experiment

# Long enough that a kill falls into the middle of it.
LONG = {"phases.transmit": "10 s", "phases.measure": "middle 8 s"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Experiment, its tables after a run that nobody disturbed, and how long it took in s."""
    directory = tmp_path_factory.mktemp("undisturbed")
    experiment = write_experiment(directory, LONG)
    begin_s = time.monotonic()
    ended = invoke("run", experiment, "--out", directory / "run", "--no-report", "--jobs", 1)
    assert ended.returncode == 0, ended.stderr
    return experiment, contents(directory / "run"), time.monotonic() - begin_s


@pytest.mark.parametrize("seed", range(5))
def test_a_run_killed_at_a_random_moment_ends_with_the_same_bytes(tmp_path, undisturbed, seed):
    experiment, expected, whole_s = undisturbed
    chance = random.Random(seed)
    out = tmp_path / "run"
    for _ in range(2):
        command = real(
            "run", experiment, "--out", out, "--no-report", "--jobs", chance.choice([1, 2])
        )
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, whole_s))
        process.kill()
        process.wait()
    ended = invoke("run", experiment, "--out", out, "--no-report")
    assert ended.returncode == 0, ended.stderr
    assert contents(out) == expected


def test_the_number_of_threads_changes_no_byte(tmp_path, undisturbed):
    experiment, expected, _ = undisturbed
    for jobs in (2, 3):
        assert (
            invoke(
                "run", experiment, "--out", tmp_path / str(jobs), "--no-report", "--jobs", jobs
            ).returncode
            == 0
        )
        assert contents(tmp_path / str(jobs)) == expected


def test_the_reference_gives_the_same_observations(tmp_path):
    trials = em.load(write_experiment(tmp_path)).plan(replications=1).trials
    for trial in trials:
        read = json.loads(core_trial_of(trial.line))
        fast, slow = (
            result_of(trial.scenario, _core.simulate_trial(json.dumps(text)), core_s=0)
            for text in (
                {**read, "settings": {"implementation": "fast"}},
                {**read, "settings": {"implementation": "reference"}},
            )
        )
        assert fast.tables.keys() == slow.tables.keys()
        for name, table in fast.tables.items():
            for column, values in table.items():
                assert values.tobytes() == slow.tables[name][column].tobytes(), (name, column)


def test_batches_and_histograms_add_up_to_the_observations(tmp_path):
    for trial in em.load(write_experiment(tmp_path)).plan(replications=1).trials:
        counts = _core.simulate_trial(core_trial_of(trial.line))
        results = Results.of_trial(trial, result_of(trial.scenario, counts, core_s=0))
        value = {metric: results.all(metric) for metric in results.metrics}
        batches = results.columns(STATION_BATCHES)
        window_ps = trial.scenario.phases.measure_to_ps - trial.scenario.phases.measure_from_ps
        assert batches["frames"].sum() == value[Metric.FRAMES]
        assert results.buckets("transmission_delay").count.sum() == value[Metric.FRAMES]
        assert batches["charged_ps"].sum() / window_ps == pytest.approx(
            value[Metric.UTILISATION], rel=1e-12
        )
        assert batches["delay_ps"].sum() / 1e12 / value[Metric.FRAMES] == pytest.approx(
            value[Metric.TRANSMISSION_DELAY], rel=1e-9
        )
        shares = [
            Metric.TIME_FRAME,
            Metric.TIME_PREAMBLE,
            Metric.TIME_GAP,
            Metric.TIME_COLLISION,
            Metric.TIME_IDLE,
        ]
        assert sum(value[share] for share in shares) == pytest.approx(1, abs=1e-12)
        assert (
            value[Metric.DELAY_P50]
            <= value[Metric.DELAY_P90]
            <= value[Metric.DELAY_P99]
            <= value[Metric.DELAY_MAX]
        )


def test_a_malformed_trial_is_refused_by_the_core_in_words():
    with pytest.raises(ValueError, match=r"\w"):
        _core.simulate_trial("{}")


def test_the_python_interface_runs_once_and_opens_again(tmp_path, monkeypatch):
    import ethermeter as em

    experiment = write_experiment(tmp_path)
    run = em.load(experiment, overrides=["run.replications=2"]).run(jobs=2, out=tmp_path / "run")
    assert {(tmp_path / "run" / name).is_file() for name in TABLES} == {True}
    monkeypatch.setattr(_core, "simulate_trial", None)  # from here on nothing may be simulated
    again = em.load(experiment, overrides=["run.replications=2"]).run(out=tmp_path / "run")
    assert again.path == run.path == em.open(tmp_path / "run").path
    assert len(run.trials()) == 12
    points = run.estimated
    assert [point.replications for point in points] == [2] * 6

    frame = run.frame("utilisation", by="trial")
    assert list(frame["stations.count"]) == [1] * 4 + [2] * 4 + [5] * 4
    assert frame["stations.count"].dtype.kind == "i"
    assert list(frame["replication"]) == [0, 1] * 6
    means = frame.groupby(["stations.count", "stations.frames"], sort=False)["value"].mean()
    assert np.allclose(means, [point.estimates["utilisation"].value for point in points])
    of_each = run.frame("bit_rate", by="entity")
    assert len(of_each) == 4 * (1 + 2 + 5)
    assert (
        set(of_each["entity"]) == set(run.entities) == {"host", *(f"host{n}" for n in range(1, 6))}
    )
    with pytest.raises(em.InputError, match="one of utilisation"):
        run.frame("speed")


def test_an_unfinished_run_cannot_be_opened(tmp_path):
    import ethermeter as em

    (tmp_path / "plan.jsonl").write_text("")
    with pytest.raises(em.InputError, match="unfinished"):
        em.open(tmp_path)


def test_a_run_needs_a_thread(tmp_path):
    import ethermeter as em

    with pytest.raises(em.InputError, match="at least 1"):
        em.load(write_experiment(tmp_path)).run(jobs=0, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_figure_shows_itself_and_is_saved(tmp_path):
    import ethermeter as em

    figure = (
        em.load(write_experiment(tmp_path), overrides=["run.replications=1"])
        .run(out=tmp_path / "run")
        .plot("utilisation")
    )
    shown = figure._repr_mimebundle_()
    saved = figure.save(tmp_path / "figure.svg").read_text()
    for drawn in (shown["image/svg+xml"], shown["text/html"], figure._repr_html_(), saved):
        assert drawn.startswith("<svg")
        assert "Utilisation" in drawn
    assert figure.save(tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(em.InputError, match=r"one of \.png, \.pdf, \.svg"):
        figure.save(tmp_path / "figure.gif")


def test_the_report_of_a_run_is_written_once_and_anew_if_torn_or_on_demand(tmp_path):
    experiment, out = write_experiment(tmp_path), tmp_path / "run"
    assert invoke("run", experiment, "--out", out, "--set", "run.replications=1").returncode == 0
    first = (out / "report.html").stat().st_mtime_ns
    assert invoke("run", experiment, "--out", out, "--set", "run.replications=1").returncode == 0
    assert (out / "report.html").stat().st_mtime_ns == first
    for name in ("estimates.json", "report.html"):
        whole = (out / name).read_bytes()
        (out / name).write_bytes(whole[: len(whole) // 2])
        assert (
            invoke("run", experiment, "--out", out, "--set", "run.replications=1").returncode == 0
        )
        assert (out / name).stat().st_size == pytest.approx(len(whole), rel=0.01)
    ended = invoke("report", out, "--json")
    assert json.loads(ended.stdout)["files"]["report"] == str(out / "report.html")
    assert (out / "report.html").stat().st_mtime_ns > first


def test_figures_and_comparisons_come_from_the_command_line(tmp_path):
    experiment = write_experiment(tmp_path)
    for name, seed in (("a", 1), ("b", 2)):
        assert (
            invoke(
                "run",
                experiment,
                "--out",
                tmp_path / name,
                "--set",
                f"seed={seed}",
                "--set",
                "run.replications=1",
                "--no-report",
            ).returncode
            == 0
        )
    metrics = ("--metric", "goodput", "--metric", "loss")
    ended = invoke(
        "report",
        tmp_path / "a",
        *metrics,
        "--format",
        "pdf",
        "--out",
        tmp_path / "drawn",
        "--json",
    )
    assert ended.returncode == 0, ended.stderr
    files = json.loads(ended.stdout)["figures"]
    assert len(files) == 2
    assert all(Path(file).read_bytes().startswith(b"%PDF") for file in files)
    assert invoke("report", tmp_path / "a", "--metric", "speed").returncode == 2
    compared = json.loads(invoke("compare", tmp_path / "a", tmp_path / "b", "--json").stdout)
    assert {row["point"]["stations.count"] for row in compared} == {"1", "2", "5"}
    assert all(
        row["verdict"] == "same"
        for row in json.loads(invoke("compare", tmp_path / "a", tmp_path / "a", "--json").stdout)
    )


def test_the_study_is_reproduced_from_one_command(tmp_path):
    short = (
        "--set",
        "phases={settle='1 ms', transmit='20 ms', measure='middle 10 ms', drain='1 ms'}",
    )
    ended = invoke(
        "study",
        "boggs1988",
        "--quick",
        *short,
        "--out",
        tmp_path / "run",
        "--no-report",
        "--json",
    )
    assert ended.returncode == 0, ended.stderr
    summary = json.loads(ended.stdout)
    assert summary["plan"] == "boggs1988"
    assert len(summary["claims"]["claims"]) >= 20
    assert {file.name for file in (tmp_path / "run" / "experiments").iterdir()} == {
        *(f"{name}.toml" for name in ("backoff", "clusters", "collapse", "low-load", "pair")),
        *("schoch-hupp.toml", "storm.toml", "queues.toml", "cable.toml"),
        *(f"i-{number}.toml" for number in range(1, 6)),
    }


@pytest.mark.parametrize(
    "module",
    [
        "ethermeter",
        "ethermeter.api.experiments",
        "ethermeter.units",
        "ethermeter.experiment.builder",
        "ethermeter.store.directory",
    ],
)
def test_examples_in_docstrings_hold(module):
    tested = doctest.testmod(import_module(module))
    assert tested.attempted > 0
    assert tested.failed == 0
