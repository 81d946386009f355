"""The study of station location from the command line, in a hundredth of its time."""

import json

import pytest
from ethermeter.analysis import positions
from ethermeter.studies import registry
from program import invoke

STUDY = registry.find("gonsalves-tobagi1986")

SHORT = ("--set", "phases.measure=all", "--set", "run.replications=3", "--json")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Run directory, and what the second run into it printed; the first was of another plan."""
    out = tmp_path_factory.mktemp("study") / "run"
    first = invoke("study", STUDY.name, "--set", "phases.transmit=2 ms", *SHORT, "--out", out)
    assert first.returncode == 0, first.stderr
    return out, invoke(
        "study", STUDY.name, "--set", "phases.transmit=40 ms", *SHORT, "--out", out, "--force"
    )


def test_it_leaves_estimates_positions_claims_and_a_report(reproduced):
    out, ended = reproduced
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    assert list(printed["files"]) == ["estimates", "positions", "claims", "report"]
    assert [claim["id"] for claim in printed["claims"]["claims"]] == [
        entry.id for entry in STUDY.published()
    ]
    assert (out / "report.html").read_text(encoding="utf-8").count("<h3>Along the cable</h3>") == 6


def test_nothing_of_the_plan_before_is_left(reproduced):
    out, _ = reproduced
    assert (out / positions.FILE).read_text(encoding="utf-8") == positions.text_of(
        positions.compute(out)
    )


def test_positions_are_those_of_the_experiment_files(reproduced):
    out, _ = reproduced
    lines = positions.read(out)
    # A round trip of 46 us less a tap of 250 ns at either end, both ways: 22.5 us of cable.
    assert {line.places[-1].position_s for line in lines if line.series == "unequal"} == {22.5e-6}
    (middle,) = {
        line.places[1].position_s
        for line in lines
        if line.series == "isolated" and line.point["stations.per_cluster"] == "[1, 22, 1]"
    }
    assert middle == 11.25e-6
    assert all(sum(place.stations for place in line.places) == 24 for line in lines)
    assert {len(line.places) for line in lines if line.point.get("segment.clusters") == "24"} == {
        24
    }


def test_a_report_written_anew_is_the_same(reproduced):
    out, _ = reproduced
    before = {
        name: (out / name).read_bytes() for name in ("positions.json", "claims.json", "report.html")
    }
    assert invoke("report", out).returncode == 0
    assert {name: (out / name).read_bytes() for name in before} == before


def test_an_unknown_study_names_those_that_there_are():
    ended = invoke("study", "gonsalves-tobagi1987")
    assert ended.returncode == 2
    assert (
        ended.stderr
        == "command line: STUDY = gonsalves-tobagi1987: did you mean gonsalves-tobagi1986? "
        f"One of {', '.join(registry.names())}\n"
    )
