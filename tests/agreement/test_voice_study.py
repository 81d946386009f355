"""The study of packet voice from the command line, in a tenth of its time."""

import json

import pytest
from ethermeter.studies import registry
from program import invoke
from small_runs import contents

STUDY = registry.find("gonsalves1982")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Run directory of a quick reproduction, and what it printed."""
    out = tmp_path_factory.mktemp("study") / "run"
    ended = invoke("study", STUDY.name, "--quick", "--out", out, "--json")
    assert ended.returncode == 0, ended.stderr
    return out, json.loads(ended.stdout)


@pytest.fixture(scope="module")
def found(reproduced):
    return {claim["id"]: claim for claim in reproduced[1]["claims"]["claims"]}


def test_a_quick_run_decides_every_claim(reproduced, found):
    out, printed = reproduced
    assert list(printed["files"]) == ["estimates", "claims", "report"]
    assert list(found) == [entry.id for entry in STUDY.published()]
    # Its times are those that --quick shortens.
    not_run = {name for name, claim in found.items() if claim["verdict"] == "not-run"}
    calls = {"4.4-restrict", "4.4-analogous", "4.4-data-connections"}
    assert not_run == {"3.1-duration", *calls}
    assert json.loads((out / "claims.json").read_text(encoding="utf-8")) == printed["claims"]


@pytest.mark.parametrize(
    "claim", [entry.id for entry in STUDY.published() if entry.id.startswith("4.1b-")]
)
def test_what_was_fitted_is_met_within_its_limit_and_the_quick_runs_interval(found, claim):
    of = found[claim]
    half_width = (of["high"] - of["low"]) / 2
    assert abs(of["ours"] - of["published"]) <= of["near"] * of["published"] + half_width


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        # In a run of full length each of these is farther from its limit than a quick run's
        # interval is wide.
        ("4.1a-dmin-64", "met"),
        ("4.1a-dmin-512", "met"),
        ("4.1a-n-knee-512", "met"),
        ("4.1b-n-512-l1", "met"),
        ("4.1-convergence-throughput", "met"),
        ("4.2-more-for-longer", "holds"),
        ("5-35-loss", "holds"),
        ("5-35-longest", "contradicted"),
        ("2.3-levels-off", "fails"),
        ("2.3-longer", "holds"),
        ("4.1-convergence-delay", "missed"),
        ("4.2-n-512-l1", "met"),
        ("4.2-more-to-gain", "fails"),
    ],
)
def test_a_claim_far_from_its_limit_keeps_its_verdict(found, claim, verdict):
    assert found[claim]["verdict"] == verdict


def test_hosts_with_clocks_of_their_own_give_the_same_bytes_on_any_number_of_threads(tmp_path):
    short = (
        "--set",
        "phases={settle='0 s', transmit='200 ms', measure='last 100 ms', spread='50 ms'}",
        "--no-report",
    )
    for jobs in (1, 3):
        ended = invoke(
            "run",
            "gonsalves1982/sensitivity-clock-error",
            *short,
            "--jobs",
            jobs,
            "--out",
            tmp_path / str(jobs),
        )
        assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
