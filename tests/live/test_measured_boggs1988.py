"""The live tests of boggs1988: real hosts on the study's nets, by a few of their points."""

import json

import pytest
from ethermeter.analysis.answers import answers
from ethermeter.store import RunDirectory
from program import call, real, settings
from stalls import inconclusive

pytestmark = pytest.mark.root

GRAPHS = (
    *("bit_rate", "bit_rate_sd", "packet_rate", "packet_rate_sd", "transmission_delay"),
    *("transmission_delay_sd", "excess_delay", "utilisation_sd_over_mean"),
)


def is_held_up(segment: dict) -> bool:
    """Whether a host had no frame ready, or the medium learnt of one too late."""
    return segment["violations"] > 0 or any(of["starved"] for of in segment["stations"])


@pytest.mark.long
@pytest.mark.alone
def test_hosts_on_the_nets_of_the_study_repeat_its_simulation(tmp_path):
    some = settings('vary."stations.frames"=["64 B", "4000 B"]', 'vary."stations.count"=[1, 3]')
    run = tmp_path / "run"
    done = call(real("study", "boggs1988", "--on", "testbed", "--quick", *some, "--out", run))
    assert done.returncode == 0, done.stderr
    held_up = {
        path.relative_to(run / "live").with_suffix("").as_posix()
        for path in (run / "live").glob("*/*.json")
        if is_held_up(json.loads(path.read_text())["segment"])
    }
    plan = map(json.loads, (run / "plan.jsonl").read_text().splitlines())
    other = {
        (trial["series"], *trial["point"].values()) for trial in plan if trial["id"] in held_up
    }
    found = answers(RunDirectory(run))["live_agreement"]["comparisons"]
    assert set(GRAPHS) <= {each["metric"] for each in found}
    assert {each["series"] for each in found} == {"I-1", "I-2"}
    # The draws are those of the simulation; without replications only equal values agree.
    verdicts = {
        each["verdict"] for each in found if (each["series"], *each["point"].values()) not in other
    }
    if not verdicts:
        inconclusive("hosts were held up at every point: their cards ran empty")
    assert verdicts == {"agrees"}
    claims = json.loads((run / "live-claims.json").read_text())
    assert claims["study"] == "boggs1988"
    assert {claim["basis"] for claim in claims["claims"]} == {"measured"}
    accounts = answers(RunDirectory(run))["live_accounts"]["trials"]
    assert all(each["medium"]["arrived"] > 0 for each in accounts)
    page = (run / "report.html").read_text()
    titles = (
        "The emulated medium",
        "The study’s claims, measured",
        "Standard deviation of bit rate",
    )
    for words in titles:
        assert words in page
