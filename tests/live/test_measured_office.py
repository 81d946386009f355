"""The shipped office: bounds, means, simulation and measurement in one run and one report."""

import pytest
from ethermeter.analysis.answers import answers
from ethermeter.store import RunDirectory
from program import call, real

SHORTER = (
    *("--set", 'phases.transmit="1.2 s"', "--set", 'phases.measure="last 1 s"'),
    *("--set", "run.replications=1"),
)


@pytest.mark.slow
@pytest.mark.root
def test_the_office_is_answered_by_three_engines_side_by_side(tmp_path, unless_held_up):
    run = tmp_path / "run"
    words = ("office", "--on", "testbed", "--out", run, *SHORTER)
    done = call(real("measure", *words), env={"COLUMNS": "300"})
    assert done.returncode == 0, done.stderr
    assert "live / simulation" in done.stdout
    found = answers(RunDirectory(run))
    pairs = found["live_agreement"]["side_by_side"]
    assert {pair["flows"] for pair in pairs} == {"call", "picture", "backup"}
    # What each flow offers arrives on both: 50 packets of 172 octets, 30 pictures of 16 kB, what a
    # token bucket of 40 Mb/s lets pass of 1472 octets in 1542 with tag, preamble and gap.
    for flows, offered_bps in (
        ("call", 50 * 172 * 8),
        ("picture", 30 * 16_000 * 8),
        ("backup", 40e6 * 1472 / 1542),
    ):
        rates = [p for p in pairs if (p["flows"], p["metric"]) == (flows, "data_rate")]
        assert len(rates) == 2  # with one class and with eight
        for pair in rates:
            assert pair["simulation"] == pytest.approx(offered_bps, rel=0.05)
            assert pair["live"] > 0
            # What a stall before the window holds up comes within it.
            unless_held_up(pair["live"] < 1.1 * offered_bps, pair)
    page = (run / "report.html").read_text()
    assert "Simulated and measured, side by side" in page
    assert "Measured / simulated" in page
    call_of = {
        row["point"]["network.classes"]: row
        for row in found["bounds"]["flows"]
        if row["flow"] == "call phone1" and row["metric"] == "one_way_delay"
    }
    # A packet of a call waits for three other calls and for one frame of the rest on the uplink at
    # most: 4 x (222 + 20) and 1522 + 20 octets at 100 Mb/s are 201 us, its own links the rest.
    assert call_of["8"]["bound"] < 250e-6 < 10e-3 < call_of["1"]["bound"]
    assert all({"simulation", "live"} <= row["observed"].keys() for row in call_of.values())
    assert "Bounds" in page
