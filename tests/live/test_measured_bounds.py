"""Theory, simulation and measurement of one file: what is measured stays below its bound."""

import json
from pathlib import Path

import pytest
from networks import network
from program import call, real

CAMERA = network(
    """\
[[flows]]
name = "control"
from = "a"
to = "sink"
data = "100 B"
arrivals = { regular = "5 ms" }
[[flows]]
name = "camera"
from = "b"
to = "sink"
data = "1400 B"
arrivals = { token_bucket = { rate = "2 Mb/s", burst = "1466 B" } }
[[flows]]
name = "cameras"
from = "c"
to = "sink"
data = "1400 B"
arrivals = { regular = "8 ms" }
[[flows]]
name = "more"
from = "d"
to = "sink"
data = "1400 B"
arrivals = { regular = "8 ms" }
[phases]
settle = "200 ms"
transmit = "1 s"
drain = "200 ms"
measure = "all"
[run]
engines = ["theory", "simulation", "live"]
""",
    title="Control beside a camera",
    hosts=("a", "b", "c", "d", "sink"),
    switch="queue = 20",
)


FLOWS = {"control", "camera", "cameras", "more"}


@pytest.mark.root
def test_no_measured_delay_is_above_its_bound_and_what_is_not_known_of_it(
    new_path, in_quiet_window
):
    def measured() -> Path:
        folder = new_path()
        path, run = folder / "camera.toml", folder / "run"
        path.write_text(CAMERA, encoding="utf-8")
        done = call(real("measure", path, "--testbed", "--wires", "relay", "--out", run))
        assert done.returncode == 0, done.stderr
        return run

    run = in_quiet_window(measured, tolerated_stall_s=0.01)
    found = json.loads((run / "bounds.json").read_text())
    assert {each["flow"] for each in found["flows"]} == FLOWS
    for each in found["flows"]:
        live = each["observed"]["live"]
        # One clock, and two relayed wires that are never exactly on time; and hosts that stalled.
        assert 0 < live["allowance"] < 0.1
        allowance_s = live["allowance"] + in_quiet_window.stalled_s
        assert live["largest"] <= each["bound"] + allowance_s, each
        assert each["observed"]["simulation"]["verdict"] == "holds"
        is_above = live["largest"] > each["bound"] + live["allowance"]
        assert live["verdict"] == ("exceeded" if is_above else "holds")
    assert "never more than" in (run / "report.html").read_text()
