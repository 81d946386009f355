"""Theory, simulation and measurement of one file: what is measured stays below its bound."""

import ethermeter as em
import pytest
from ethermeter.analysis.answers import answers
from ethermeter.store import RunDirectory
from live_runs import measure
from shared_experiments import star

BURSTS = {"token_bucket": {"rate": "2 Mb/s", "burst": "1466 B"}}
CAMERA = star(
    ["a", "b", "c", "d", "sink"],
    [
        em.flow("control", "a", "sink", data="100 B", arrivals={"regular": "5 ms"}),
        em.flow("camera", "b", "sink", data="1400 B", arrivals=BURSTS),
        em.flow("cameras", "c", "sink", data="1400 B", arrivals={"regular": "8 ms"}),
        em.flow("more", "d", "sink", data="1400 B", arrivals={"regular": "8 ms"}),
    ],
    switch={"queue": 20},
    phases={"settle": "200 ms", "transmit": "1 s", "drain": "200 ms", "measure": "all"},
    run={"engines": ["theory", "simulation", "live"]},
)


@pytest.mark.root
def test_no_measured_delay_is_above_its_bound_and_what_is_not_known_of_it(
    new_path, in_quiet_window
):
    measured = in_quiet_window(
        lambda: measure(CAMERA, new_path(), "--on", "testbed,relay"),
        tolerated_stall_s=0.01,
    )
    found = answers(RunDirectory(measured.run))["bounds"]
    assert {each["flow"] for each in found["flows"]} == {"control", "camera", "cameras", "more"}
    for each in found["flows"]:
        live = each["observed"]["live"]
        # One clock, and two relayed wires that are never exactly on time; and hosts that stalled.
        assert 0 < live["allowance"] < 0.1
        allowance_s = live["allowance"] + in_quiet_window.stalled_s
        assert live["largest"] <= each["bound"] + allowance_s, each
        assert each["observed"]["simulation"]["verdict"] == "holds"
        is_above = live["largest"] > each["bound"] + live["allowance"]
        assert live["verdict"] == ("exceeded" if is_above else "holds")
    assert "Times of flows, by every engine" in (measured.run / "report.html").read_text()
