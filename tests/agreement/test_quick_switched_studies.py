"""The studies of switched networks from the command line: what their short runs must find."""

import json

import pytest
from ethermeter.studies import registry
from program import invoke
from small_runs import contents

PAPERS = ("erg", "hughesjones2000")
MISSED = {
    "erg": {
        "1-theoretical": "contradicted",
        "3-text-books": "contradicted",
        "3-100-10": "undecided",
        "3-10-100": "undecided",
        "3-stops": "fails",
    },
    "hughesjones2000": {
        "3.1-alteon-peaks": "fails",
        "3.1-batm-tail": "fails",
        "4.1-batm-more": "missed",
        "4.1-two-pairs-spacing": "contradicted",
        "4.2-leaves": "missed",
        "4.3-1500": "contradicted",
        "5.1-broadcast-batm-constant": "missed",
        "5.1-broadcast-flat": "fails",
        "5.1-broadcast-short": "missed",
        "5.1-four-ports": "fails",
        "5.2-slope": "missed",
        "t5.1-1472": "missed",
    },
}
"""Verdicts that are neither `met` nor `holds`."""
NEAR_THEIR_LIMIT = {
    "erg": (),
    "hughesjones2000": ("t4.1-random-512", "t4.1-random-1024", "t4.1-random-1500"),
}
"""Claims that chance may decide: read off curves that rise without limit."""


@pytest.fixture(scope="module", params=list(PAPERS))
def reproduced(request, tmp_path_factory):
    """Name of a study, the directory of a quick reproduction, and what it printed."""
    out = tmp_path_factory.mktemp("study") / "run"
    ended = invoke("study", request.param, "--quick", "--out", out, "--json", "--no-report")
    assert ended.returncode == 0, ended.stderr
    return request.param, out, json.loads(ended.stdout)


def test_a_quick_run_decides_every_claim(reproduced):
    study, out, printed = reproduced
    claims = printed["claims"]["claims"]
    assert [claim["id"] for claim in claims] == [
        entry.id for entry in registry.find(study).published()
    ]
    assert "not-run" not in {claim["verdict"] for claim in claims}
    assert json.loads((out / "claims.json").read_text(encoding="utf-8")) == printed["claims"]


def test_claims_keep_their_verdicts(reproduced):
    study, _, printed = reproduced
    far = {
        claim["id"]: claim["verdict"]
        for claim in printed["claims"]["claims"]
        if claim["id"] not in NEAR_THEIR_LIMIT[study]
    }
    assert {
        identity: verdict for identity, verdict in far.items() if verdict not in ("met", "holds")
    } == MISSED[study]


def test_what_was_fitted_is_met(reproduced):
    _, _, printed = reproduced
    fitted = {
        claim["id"]: claim["verdict"]
        for claim in printed["claims"]["claims"]
        if claim["basis"] == "fitted"
    }
    assert len(fitted) >= 3
    assert set(fitted.values()) <= {"met", "holds"}


def test_paths_of_the_studies_give_the_same_bytes_on_any_number_of_threads(tmp_path):
    for jobs in (1, 3):
        short = (
            "--set",
            "phases={settle='0 s', transmit='20 ms', measure='last 10 ms', spread='1 ms'}",
            "--no-report",
            "--jobs",
            jobs,
        )
        ended = invoke("run", "hughesjones2000/many-to-one", *short, "--out", tmp_path / str(jobs))
        assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
