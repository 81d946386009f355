"""Theory, simulation and measurement of one file: what is measured stays below its bound."""

import json

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
arrivals = { regular = "4 ms" }
[phases]
settle = "200 ms"
transmit = "1 s"
drain = "200 ms"
measure = "all"
[run]
engines = ["theory", "simulation", "live"]
""",
    title="Control beside a camera",
    hosts=("a", "b", "sink"),
    switch="queue = 20",
)


@pytest.mark.root
def test_no_measured_delay_is_above_its_bound_and_what_is_not_known_of_it(tmp_path):
    path, run = tmp_path / "camera.toml", tmp_path / "run"
    path.write_text(CAMERA, encoding="utf-8")
    done = call(real("measure", path, "--testbed", "--wires", "relay", "--out", run))
    assert done.returncode == 0, done.stderr
    found = json.loads((run / "bounds.json").read_text())
    assert {each["flow"] for each in found["flows"]} == {"control", "camera"}
    for each in found["flows"]:
        measured = each["observed"]["live"]
        # One clock, and two relayed wires that are never exactly on time.
        assert 0 < measured["allowance"] < 0.1
        assert measured["largest"] <= each["bound"] + measured["allowance"]
        assert measured["verdict"] == each["observed"]["simulation"]["verdict"] == "holds"
    assert found["exceeded"] == 0
    assert "never more than" in (run / "report.html").read_text()
