"""One experiment by theory, by simulation of what it assumes, and of the segment: as a person runs
it.
"""

import json

import ethermeter as em
import pytest
from program import invoke
from small_runs import contents

ENGINES = em.segment(
    "dix-10",
    title="three ways",
    round_trip="12 us",
    clusters=2,
    stations=em.stations(
        count=4, frames="64 B", arrivals="saturated", service="75 us", after_attempt_limit="resume"
    ),
    seed=3,
    vary={"stations.count": [1, 12]},
    phases={"transmit": "1 s", "measure": "all"},
    run={"engines": ["simulation", "theory", "idealised", "ablation"], "replications": 4},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three-ways")
    ended = invoke("run", ENGINES.save(folder / "x.toml"), "--out", folder / "run", "--json")
    assert ended.returncode == 0, ended.stderr
    return folder / "run"


def test_a_theory_is_asked_once_and_every_simulation_as_often_as_it_has_replications(run):
    engines = [json.loads(line)["engine"] for line in (run / "plan.jsonl").read_text().splitlines()]
    assert engines.count("theory/metcalfe-boggs-1976") == 2
    assert engines.count("idealised/metcalfe-boggs-1976") == engines.count("simulation") == 8
    steps = ["known-queue", "slotted", "no-overhead", "contention-slot", "equally-far"]
    assert [
        engine.split("/")[2] for engine in dict.fromkeys(engines) if engine.startswith("ablation")
    ] == steps


def test_theory_and_its_world_agree_and_the_segment_differs_for_a_reason(run):
    ended = invoke("compare", run, "--json")
    assert ended.returncode == 0
    found = json.loads(ended.stdout)["comparisons"]
    assert {each["idealised_verdict"] for each in found} == {"agrees"}
    utilisation = next(
        each
        for each in found
        if each["metric"] == "utilisation" and each["point"] == {"stations.count": "12"}
    )
    assert utilisation["verdict"] == "differs"
    assert utilisation["cause"] in {"known-queue", "contention-slot", "no-overhead"}
    # A way: every step starts where the one before ended, and the last ends at the segment.
    changes = utilisation["changes"]
    assert changes[-1]["step"] == "always-ready"
    assert changes[-1]["after"] == utilisation["simulation"]
    whole = utilisation["simulation"]["value"] - utilisation["idealised"]["value"]
    assert sum(change["change"] for change in changes) == pytest.approx(whole, abs=1e-12)


def test_it_is_the_same_by_any_number_of_threads(run, tmp_path):
    ended = invoke(
        "run", run.parent / "x.toml", "--out", tmp_path / "run", "--no-report", "--jobs", 3
    )
    assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "run") == contents(run)


def test_a_run_without_theories_has_no_agreement(tmp_path):
    simulated = ENGINES.changed({"run.engines": ["simulation"]}).save(tmp_path / "x.toml")
    assert invoke("run", simulated, "--out", tmp_path / "run").returncode == 0
    ended = invoke("compare", tmp_path / "run")
    assert ended.returncode == 2
    assert 'a run with the engine "theory"' in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_choosing_says_what_applies_and_why_not(run):
    ended = invoke("validate", run.parent / "x.toml", "--models", "--json")
    assert ended.returncode == 0, ended.stderr
    models = {each["model"]: each for each in json.loads(ended.stdout)["models"]}
    assert models["metcalfe-boggs-1976"]["applies"]
    assert "75 µs" in models["metcalfe-boggs-1976"]["differences"]["always-ready"]
    assert models["lam-1980"]["obstacles"][0] == "needs Poisson arrivals; they are saturated"
    shown = invoke("validate", run.parent / "x.toml", "--models").stdout
    assert "lam-1980: does not apply\n  needs Poisson arrivals; they are saturated" in shown


def test_the_agreement_is_printed_as_a_table(run):
    ended = invoke("compare", run)
    text = " ".join(ended.stdout.split())
    assert "Agrees with the world it assumes in 8 of 8 comparisons" in text
    assert invoke("compare", run, "--differing").stdout.count("\n") < ended.stdout.count("\n")
