"""The live tests of boggs1988: real hosts on the study's nets, by a few of their points."""

import json

import pytest
from program import call, real, settings

pytestmark = pytest.mark.root

GRAPHS = (
    *("bit_rate", "bit_rate_sd", "packet_rate", "packet_rate_sd", "transmission_delay"),
    *("transmission_delay_sd", "excess_delay", "utilisation_sd_over_mean"),
)
STALLS_S = 1.0
"""What happens on the medium follows from stamps, not from when it is decided."""


@pytest.mark.alone
def test_hosts_on_the_nets_of_the_study_repeat_its_simulation(new_path, in_quiet_window):
    some = settings('vary."stations.frames"=["64 B", "4000 B"]', 'vary."stations.count"=[1, 3]')

    def of_window():
        run = new_path() / "run"
        done = call(
            real("measure", "--study", "boggs1988", "--testbed", "--quick", *some, "--out", run)
        )
        assert done.returncode == 0, done.stderr
        return run

    run = in_quiet_window(of_window, tolerated_stall_s=STALLS_S)
    starved = {
        path.stem
        for path in (run / "live").glob("*/*.json")
        if any(of["starved"] for of in json.loads(path.read_text())["segment"]["stations"])
    }
    found = json.loads((run / "live-agreement.json").read_text())["comparisons"]
    assert set(GRAPHS) <= {each["metric"] for each in found}
    assert {each["series"] for each in found} == {"I-1", "I-2"}
    if not starved:
        # The draws are those of the simulation; without replications only equal values agree.
        assert {each["verdict"] for each in found} == {"agrees"}
    claims = json.loads((run / "live-claims.json").read_text())
    assert claims["study"] == "boggs1988"
    assert {claim["basis"] for claim in claims["claims"]} == {"measured"}
    accounts = json.loads((run / "live-accounts.json").read_text())["trials"]
    assert all(each["medium"]["arrived"] > 0 for each in accounts)
    page = (run / "report.html").read_text()
    for words in ("The emulated medium", "The study’s claims, measured"):
        assert words in page
