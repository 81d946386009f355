"""ERG's published numbers beside measured ones: what is judged, what is not, and why."""

import json
from pathlib import Path

import ethermeter as em
import pyarrow.parquet as pq
import pytest
from ethermeter.analysis.claims import Claim
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.studies import registry
from ethermeter.studies.erg import claims as erg
from ethermeter.trial import LIVE
from made_results import values_of

STUDY = registry.find("erg")

ROOM_BPS = 40_000 / 4192e-6
"""Data of datagrams of 5000 B that a wire of 10 Mb/s carries."""


EVERY = ("live/erg/duplex", "live/erg/router", "live/erg/simplex", "live/erg/simplex-100")


def run_of(
    folder: Path,
    *,
    place: str = "testbed (shaped)",
    rate_bps: float = ROOM_BPS,
    names: tuple[str, ...] = EVERY,
    overrides: tuple[str, ...] = (),
) -> Path:
    """A run of ERG's live tests in which every flow came at the same rate."""
    plan = em.load(
        *names,
        overrides=["run.replications=1", 'run.engines=["live"]', *overrides],
        name="live-erg",
    ).plan()
    rows = [
        (trial.id, flow, Metric.DATA_RATE, rate_bps)
        for trial in plan.trials
        for flow in range(len(trial.scenario.flows))
    ]
    folder.mkdir(exist_ok=True)
    (folder / "plan.jsonl").write_text(plan.to_jsonl())
    (folder / "provenance.json").write_text(
        json.dumps({"measured": place, "live_study": "erg", "finished": "now"})
    )
    pq.write_table(values_of(rows), folder / "values.parquet")
    return folder


def by_id(run: Path) -> dict[str, Claim]:
    return {claim.id: claim for claim in erg.measured(Results.of_run(run).by(LIVE))}


def test_numbers_that_a_wire_of_the_studys_rate_limits_are_judged_and_no_others(tmp_path):
    found = by_id(run_of(tmp_path))
    one_way = {
        "2-unicast-10-10",
        "2-unicast-100-10",
        "2-unicast-10-100",
        "2-multicast-10-10",
        "2-multicast-10-100",
    }
    # All of the medium each way is twice as much as the study had.
    shared = {"3-10-10-hub", "3-sum"}
    assert {name for name, claim in found.items() if claim.verdict == "met"} == one_way
    assert {name for name, claim in found.items() if claim.verdict == "missed"} == shared
    judged = one_way | shared
    assert {claim.verdict for name, claim in found.items() if name not in judged} == {
        "not-compared"
    }
    assert all(claim.note for name, claim in found.items() if name not in judged)
    assert {claim.basis for claim in found.values()} == {"measured"}


def test_what_was_published_is_that_of_the_study(tmp_path):
    published = {entry.id: entry.published for entry in STUDY.published() if entry.is_number}
    for name, claim in by_id(run_of(tmp_path)).items():
        assert claim.published == published[name]
        # Both ways together twice as much as one way.
        assert claim.ours == pytest.approx(ROOM_BPS * 1e-6 * (2 if name == "3-sum" else 1))


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.921, "met"), (1.079, "met"), (0.919, "missed"), (1.081, "missed")]
)
def test_a_measured_number_is_met_within_eight_percent(tmp_path, share, verdict):
    assert by_id(run_of(tmp_path, rate_bps=9.4e6 * share))["2-unicast-10-10"].verdict == verdict


@pytest.mark.parametrize("place", ["plain", "loopback"])
def test_without_wires_nothing_is_judged(tmp_path, place):
    found = by_id(run_of(tmp_path, place=place))
    assert {claim.verdict for claim in found.values()} == {"not-compared"}
    assert place in found["2-unicast-10-10"].note


def test_wires_of_another_rate_are_not_compared(tmp_path):
    rate = ('network.links.0.rate="100 Mb/s"',)
    found = by_id(run_of(tmp_path, names=("live/erg/simplex",), overrides=rate))
    # From the Sparc to the sink of 100 Mb/s no wire of 10 Mb/s is left.
    assert found["2-unicast-10-100"].verdict == "not-compared"
    assert "carries 100 Mb/s" in found["2-unicast-10-100"].note
    assert found["2-unicast-10-10"].verdict == "met"


def test_points_that_were_not_measured_are_not_run(tmp_path):
    found = by_id(run_of(tmp_path, names=("live/erg/duplex",)))
    assert found["2-unicast-10-10"].verdict == "not-run"
    assert found["1-switch"].verdict == "not-run"
    assert found["3-sum"].verdict == "missed"
    assert found["3-10-10-switch"].verdict == "not-compared"
