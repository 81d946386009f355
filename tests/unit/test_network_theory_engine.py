"""The theory engine of networks from a file to its values, on a line where all is known by hand."""

import json

import ethermeter as em
import pytest
from ethermeter.engines import theory
from ethermeter.theory.assumptions import BOUNDS
from program import invoke

# Three senders, one sink: every 10 ms each sends one frame of 1000 octets, all at the same time.
BURST = em.network(
    title="Three frames at once",
    rate="100 Mb/s",
    hosts=[em.host("sender", count=3), "sink"],
    switches=[em.switch("s", queue=3)],
    links=[("sender", "s"), ("sink", "s")],
    flows=em.flow(
        "cyclic", "sender", "sink", frames="1000 B", arrivals={"regular": "10 ms", "phase": "1 ms"}
    ),
    vary={"network.switches.s.queue": [3, 2]},
    phases={"transmit": "100 ms", "measure": "all"},
    run={"engines": ["theory", "simulation"]},
)
KEY = "network.switches.s.queue"
OCTET_S = 80e-9
LAST_S = (1008 + 3 * 1008 + 2 * 12) * OCTET_S
"""The last of three frames: over its own link, then behind two others and their gaps."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("burst")
    ended = invoke("run", BURST.save(folder / "x.toml"), "--out", folder / "run", "--json")
    assert ended.returncode == 0, ended.stderr
    return folder, json.loads(ended.stdout)


def test_a_theory_that_fails_costs_its_own_values_only(tmp_path, monkeypatch):
    def fail(_scenario):
        raise KeyError("a knot")

    monkeypatch.setitem(theory._OF_FLOWS, BOUNDS, fail)
    file = BURST.changed({"vary": {}}).save(tmp_path / "x.toml")
    ended = invoke("run", file, "--out", tmp_path / "run", "--json")
    printed = json.loads(ended.stdout)
    why = "theory/network-calculus: KeyError: 'a knot'"
    assert ended.returncode == 1
    assert ended.stderr.startswith("ethermeter: trial x/")
    assert ended.stderr.count(why) == 1
    assert "Traceback" not in ended.stderr
    assert list(printed["failed"].values()) == [why]
    simulated = [each for each in printed["estimates"]["points"] if each["engine"] == "simulation"]
    assert simulated
    times = [each["observed"]["simulation"]["largest"] for each in printed["bounds"]["flows"]]
    assert max(times) == pytest.approx(LAST_S, abs=1e-13)
    chosen = invoke("validate", file, "--models")
    assert chosen.returncode == 1
    assert chosen.stderr == f"ethermeter: an engine failed: {why}; it has no values\n"


def test_the_bound_of_one_hop_is_reached_to_the_picosecond(found):
    _, printed = found
    flows = [each for each in printed["bounds"]["flows"] if each["point"] == {KEY: "3"}]
    assert [each["bound"] for each in flows] == [pytest.approx(LAST_S, abs=1e-13)] * 3
    largest = [each["observed"]["simulation"]["largest"] for each in flows]
    assert max(largest) == max(each["bound"] for each in flows)
    assert {each["observed"]["simulation"]["verdict"] for each in flows} == {"holds"}
    assert printed["bounds"]["exceeded"] == 0


def test_the_room_of_the_bound_loses_nothing_and_a_frame_less_loses(found):
    _, printed = found
    ports = [
        each for each in printed["bounds"]["queues"] if (each["from"], each["to"]) == ("s", "sink")
    ]
    assert [(each["point"][KEY], each["room"]["frames"]) for each in ports] == [("3", 3), ("2", 2)]
    # Three frames that come at once, of which none has left when the last has come.
    assert [each["bound"] for each in ports] == [{"frames": 3, "octets": 3000}] * 2
    assert [each["is_lossless"] for each in ports] == [True, False]
    assert ports[0]["simulated"] == {"frames": 3, "octets": 3000}
    # Ten times in the window the third of three frames finds two before it.
    assert [each["dropped"] for each in ports] == [0, 10]


def test_estimates_have_the_bound_with_its_caution_and_no_interval(found):
    _, printed = found
    points = {point["engine"]: point["estimates"] for point in printed["estimates"]["points"]}
    bound = points["theory/network-calculus"]["one_way_delay_max"]
    assert bound["value"] == pytest.approx(LAST_S, abs=1e-13)
    assert (bound["low"], bound["error"], bound["cautions"]) == (None, None, ["upper-bound"])
    assert points["theory/network-calculus"]["goodput"]["cautions"] == ["no-samples"]


def test_the_answer_is_printed_without_a_simulation(found):
    folder, _ = found
    ended = invoke("validate", folder / "x.toml", "--models")
    assert ended.returncode == 0, ended.stderr
    assert "At the first point (network.switches.s.queue = 3):" in ended.stdout
    (line,) = [row for row in ended.stdout.splitlines() if "cyclic × " in row]
    assert f"{LAST_S * 1e6:.4g}" in line
    plain = invoke("validate", folder / "x.toml", "--models", "--json")
    assert json.loads(plain.stdout)["point"] == {KEY: "3"}


def test_what_has_no_bound_says_why(tmp_path):
    poisson = BURST.changed({"flows.0.arrivals": {"poisson": "100 /s"}})
    path = poisson.save(tmp_path / "x.toml")
    found = json.loads(invoke("validate", path, "--models", "--json").stdout)
    assert {each["bound"] for each in found["flows"]} == {None}
    assert all("Poisson" in each["method"] for each in found["flows"])
    run = tmp_path / "run"
    assert invoke("run", path, "--out", run).returncode == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Poisson arrivals have no arrival curve" in page


def test_a_run_of_theory_alone_has_a_report(tmp_path):
    path = BURST.changed(run={"engines": ["theory"]}).save(tmp_path / "x.toml")
    assert invoke("run", path, "--out", tmp_path / "run").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "<td>324.5</td>" in page
