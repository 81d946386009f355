"""What a newcomer reads of a first mistake: its cause, by names, and what to type instead."""

import ethermeter as em
import pytest
from ethermeter.experiment import of_text
from faults_at import faults_of
from program import invoke

TEXT = """
title = "Two groups"
[network]
rate = "100 Mb/s"
hosts = [{ name = "a", count = 5 }, { name = "b" }]
switches = [{ name = "s" }]
links = [{ ends = ["a", "s"] }, { ends = ["s", "b"] }]
[[flows]]
name = "call"
from = "a"
to = "b"
frames = "200 B"
arrivals = { regular = "1 ms" }
[[flows]]
name = "backup"
from = "a"
to = "b"
frames = "1500 B"
arrivals = { regular = "2 ms" }
"""


def said(old, new):
    assert old in TEXT
    return [str(fault) for fault in faults_of(lambda: of_text(TEXT.replace(old, new)))]


def test_a_link_to_a_misspelt_group_is_one_fault_not_one_of_each_host_too():
    (line,) = said('ends = ["a", "s"]', 'ends = ["aa", "s"]')
    assert line.startswith('experiment: network.links.0.ends.0 = "aa": expected the name of a node')


def test_a_host_without_a_link_is_still_a_fault():
    lines = said('{ ends = ["a", "s"] }, ', "")
    assert len(lines) == 5
    assert all("exactly one link, this one has 0" in line for line in lines)


def test_a_misspelt_key_that_is_required_is_one_fault():
    (line,) = said('ends = ["a", "s"]', 'edns = ["a", "s"]')
    assert "network.links.0.edns" in line
    assert "did you mean ends?" in line


def test_a_required_key_that_nothing_resembles_is_missing():
    lines = said('title = "Two groups"', 'other = "Two groups"')
    assert any("title = (missing)" in line for line in lines)
    assert any("other = " in line for line in lines)


def test_faults_of_tables_in_lists_have_their_names():
    (line,) = said('"1500 B"', '"1500 X"')
    assert line.startswith('experiment: flows.1.frames (backup) = "1500 X": expected a size')


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("count = 5", 'count = "40"', "write 40"),
        ('title = "Two groups"', 'title = "x"\nseed = "7"', "write 7"),
        ("count = 5", 'count = "many"', ""),
        ('"200 B"', '"200"', ""),
    ],
)
def test_a_number_in_quotes_is_said_to_be_quoted(old, new, hint):
    (line,) = said(old, new)
    assert ("in quotes it is a text" in line) == bool(hint)
    assert line.endswith(hint)


def test_a_file_without_traffic_is_told_both_forms():
    (fault,) = faults_of(lambda: em.load({"title": "x"}))
    assert fault.allowed == "required: a network, by its flows, or a segment with stations"


def test_a_table_that_is_switched_off_by_false_is_told_how():
    ended = invoke("validate", "10base-t1s/sensor-bus", "--set", "segment.plca=false")
    assert "segment.plca = false: expected a table: { enable = false }" in ended.stderr


def test_a_priority_of_stations_on_a_bus_is_said_to_be_of_flows():
    words = ("--set", 'stations=[{frames="64 B",arrivals="saturated",priority=3}]')
    ended = invoke("validate", "10base-t1s/sensor-bus", "--set", "vary={}", *words)
    assert "stations.0.priority = 3: unknown key; it is of flows between hosts" in ended.stderr
    assert "did you mean" not in ended.stderr


def test_what_was_loaded_is_taken_where_a_file_is(tmp_path):
    bus = em.load("10base-t1s/sensor-bus")
    assert em.bus(bus) == em.bus("10base-t1s/sensor-bus")
    shorter = em.bus(bus, overrides=["segment.plca.to-tmr=20"])
    assert shorter == em.bus("10base-t1s/sensor-bus", overrides=["segment.plca.to-tmr=20"])
    assert shorter != em.bus(bus)
    found = em.find.value(
        em.load("buffer-sizing"),
        smallest="network.switches.switch.queue",
        first=22,
        last=26,
        conditions=["loss == 0"],
        out=tmp_path / "room",
    )
    assert found.answer.estimate == "24"


def test_a_run_is_printed_with_its_capacity_its_trials_and_its_place(tmp_path):
    run = em.run(em.load(TEXT), out=tmp_path / "run", report=False)
    capacity, trials = str(run).splitlines()
    # Five senders of 218 octets and 20 around them each ms, and of 1538 each 2 ms: 40.3 Mb/s.
    assert capacity.startswith("Fits: wire s → b is offered")
    assert trials == f"1 trial at 1 point: {tmp_path / 'run'}"


def test_a_figure_of_a_network_says_where_single_flows_are(tmp_path):
    em.run(em.load(TEXT), out=tmp_path / "run", report=False)
    ended = invoke("report", "run", "--metric", "loss", cwd=tmp_path)
    assert "means over all flows" in ended.stderr
    assert "ethermeter report run --tables FILE.csv" in ended.stderr
    # What the line names has the values of each flow.
    flows = em.open(tmp_path / "run").frame("loss", by="entity", library="arrow").to_pylist()
    assert len(flows) == 10
    assert invoke("report", "run", "--tables", "t.csv", cwd=tmp_path).returncode == 0
    assert "loss" in (tmp_path / "t-flows.csv").read_text().splitlines()[0]


def test_models_are_suggested_where_one_applies(tmp_path):
    # By `validate --models` none of the models applies to schools-hub, and some do to the other.
    for name, is_told in (("schools-hub", False), ("boggs1988/i-1", True)):
        words = ("--set", 'run.engines=["simulation"]', "--set", "run.replications=3")
        words += ("--set", "vary={}", "--set", 'phases.transmit="30 ms"')
        words += ("--set", 'phases.measure="last 20 ms"', "--no-report")
        shown = invoke("run", name, *words, "--out", tmp_path / name.replace("/", "-")).stdout
        assert ("those that apply" in " ".join(shown.split())) == is_told, shown
