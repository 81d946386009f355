"""The shipped office: simulated and measured in one run, whose report has both side by side."""

import json

import pytest
from program import call, real

SHORTER = (
    *("--set", 'phases.transmit="1.2 s"', "--set", 'phases.measure="last 1 s"'),
    *("--replications", "1"),
)


@pytest.mark.root
def test_the_office_is_simulated_and_measured_side_by_side(tmp_path):
    run = tmp_path / "run"
    done = call(real("measure", "office", "--testbed", "--out", run, *SHORTER))
    assert done.returncode == 0, done.stderr
    assert "live / simulation" in done.stdout
    pairs = json.loads((run / "live-agreement.json").read_text())["side_by_side"]
    assert {pair["flows"] for pair in pairs} == {"query", "copy", "call", "call-back"}
    found = {(pair["flows"], pair["metric"]): pair for pair in pairs}
    # What a wire of 10 Mb/s carries at most, and that anything arrived; how well the two agree is
    # of a quiet machine.
    copied = found["copy", "data_rate"]
    assert 0 < copied["simulation"] < 10e6
    assert 0 < copied["live"] < 10e6
    assert found["query", "round_trip"]["live"] > 0.002  # the server thinks for 2 ms
    assert found["call", "sample_delay"]["live"] > 0.0199  # a packet gathers for 20 ms
    page = (run / "report.html").read_text()
    assert "Simulated and measured, side by side" in page
    assert "Measured / simulated" in page
