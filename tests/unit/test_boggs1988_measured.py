"""Live tests of the study boggs1988: which points are measured, and how claims are judged."""

import json
from pathlib import Path

import ethermeter as em
import pyarrow.parquet as pq
import pytest
from ethermeter.analysis.claims import Claim
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.studies import registry
from ethermeter.trial import LIVE
from made_results import values_of
from program import call, real

STUDY = registry.find("boggs1988")
LONG, SHORT = "live/boggs1988/long-net", "live/boggs1988/short-net"
POINTS = ('vary."stations.frames"=["64 B", "1536 B"]', 'vary."stations.count"=[1, 2, 3, 24]')
PUBLISHED = {claim.id: claim.published for claim in STUDY.published()}


def run_of(folder: Path, values: dict[tuple[str, str, Metric], float]) -> Path:
    """A run of the long net; `values` by length, number of hosts and metric, 0 elsewhere.

    What was simulated is twice as large.
    """
    plan = em.load(LONG, overrides=POINTS, name="live-boggs1988").plan(replications=3)
    metrics = sorted({metric for _, _, metric in values} | {Metric.COLLISIONS_PER_FRAME})
    rows = [
        (trial.id, -1, metric, value if trial.engine == "live" else 2 * value)
        for trial in plan.trials
        for metric in metrics
        for value in [
            values.get((trial.point["stations.frames"], trial.point["stations.count"], metric), 0.0)
        ]
    ]
    folder.mkdir(exist_ok=True)
    (folder / "plan.jsonl").write_text(plan.to_jsonl())
    (folder / "provenance.json").write_text(
        json.dumps({"live_study": "boggs1988", "measured": "testbed", "finished": "now"})
    )
    pq.write_table(values_of(rows), folder / "values.parquet")
    return folder


def judged(run: Path) -> dict[str, Claim]:
    assert STUDY.measured is not None
    return {claim.id: claim for claim in STUDY.measured(Results.of_run(run).by(LIVE))}


@pytest.mark.parametrize(
    ("share", "verdict"), [(1.0, "met"), (0.971, "met"), (0.969, "missed"), (1.031, "missed")]
)
def test_a_number_is_judged_by_what_was_measured_and_not_by_what_was_simulated(
    tmp_path, share, verdict
):
    efficiency = PUBLISHED["efficiency-long-packets"] * share
    found = judged(run_of(tmp_path, {("1536 B", "24", Metric.UTILISATION): efficiency}))
    claim = found["efficiency-long-packets"]
    assert claim.verdict == verdict
    assert claim.ours == pytest.approx(efficiency)
    assert claim.basis == "measured"


def test_collisions_of_two_hosts_refute_the_statement_and_those_of_three_do_not(tmp_path):
    of_three = {("64 B", "3", Metric.COLLISIONS_PER_FRAME): 0.2}
    assert judged(run_of(tmp_path / "3", of_three))["no-collisions-up-to-two"].verdict == "holds"
    of_two = {("64 B", "2", Metric.COLLISIONS_PER_FRAME): 0.2}
    assert judged(run_of(tmp_path / "2", of_two))["no-collisions-up-to-two"].verdict == "fails"


def test_points_that_were_not_measured_decide_nothing(tmp_path):
    found = judged(run_of(tmp_path, {}))
    assert found["unfairness-20-hosts"].verdict == "not-run"
    assert found["shorter-net-more-efficient"].verdict == "not-run"


def test_the_part_that_is_measured_has_the_points_of_every_claim():
    from ethermeter.studies.boggs1988.claims import CONTENTION_FROM

    of = {
        name: em.load(f"live/boggs1988/{name}", overrides=changes).plan().trials
        for name, changes in STUDY.subset.items()
    }
    hosts, lengths = (
        {name: {trial.point[key] for trial in trials} for name, trials in of.items()}
        for key in ("stations.count", "stations.frames")
    )
    for claim in STUDY.published():
        series = {"I-1": "short-net", "I-2": "long-net"}.get(claim.series)
        if series is not None and claim.rule == "value":
            assert str(claim.read("hosts", int)) in hosts[series], claim.id
            assert claim.text("frames") in lengths[series], claim.id
    assert {"1", "2", str(CONTENTION_FROM), "20", "24"} <= hosts["long-net"]
    # Claims on both nets compare three numbers of hosts, and lengths of the short net.
    assert len(hosts["short-net"] & hosts["long-net"]) == 3
    assert lengths["short-net"] <= lengths["long-net"]


def test_the_live_tests_are_the_study_except_for_their_phases():
    for live, simulated in ((LONG, "boggs1988/i-2"), (SHORT, "boggs1988/i-1")):
        of_live, of_study = (em.load(name).experiments[0].document for name in (live, simulated))
        for table in ("segment", "stations", "vary", "seed", "series"):
            assert of_live[table] == of_study[table], (live, table)


def test_full_is_for_studies(tmp_path):
    done = call(real("measure", LONG, "--on", "testbed", "--full", "--out", tmp_path / "run"))
    assert done.returncode == 2
    assert "--full" in done.stderr
    assert "now ethermeter study STUDY --on … --full" in done.stderr
    assert not (tmp_path / "run").exists()
