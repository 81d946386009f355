"""The shortest file that answers: hosts that flows name need no table, nor a link."""

import ethermeter as em
import pytest
from ethermeter.experiment import load, of_text
from ethermeter.plan import expand
from faults_at import faults_of
from program import invoke
from shared_experiments import trials

TEXT = """
title = "Two hosts and a printer"
network.rate = "100 Mb/s"

[[flows]]
name = "print"
from = "office"
to = "printer"
frames = "1518 B"
arrivals = { poisson = "100 /s" }

[[flows]]
name = "news"
from = "desk"
to = ["office", "printer"]
cast = "multicast"
frames = "64 B"
arrivals = { regular = "1 ms" }
"""
HOSTS = ["office", "printer", "desk"]


def short(network=None, **keys):
    """Return the same as tables, with these keys of the network."""
    tables = dict(of_text(TEXT).document)
    tables.pop("sources")
    tables["network"] = {"rate": "100 Mb/s", **(network or {})}
    return em.network().changed(None, **{**tables, **keys})


def network_of(tables):
    """Return the network of an experiment, written out."""
    return em.load(tables).experiments[0].document["network"]


def lines(experiment):
    """Return the lines of a plan."""
    return [trial.line for trial in expand([experiment]).trials]


def test_hosts_that_flows_name_hang_at_a_switch():
    written = em.network(
        title="Two hosts and a printer",
        rate="100 Mb/s",
        hosts=HOSTS,
        switches=["switch"],
        links=[(name, "switch") for name in HOSTS],
        flows=of_text(TEXT).document["flows"],
    )
    assert lines(of_text(TEXT)) == [trial.line for trial in trials(written)]


@pytest.mark.parametrize("kind", ["switches", "routers", "hubs", "segments"])
def test_they_hang_at_the_only_other_node(kind):
    node = {"name": "middle"}
    if kind == "segments":
        node |= {"standard": "10base-t1s", "length": "5 m", "plca": {}}
    found = network_of(short({kind: [node]}))
    assert [each["name"] for each in found["hosts"]] == HOSTS
    assert [each["ends"] for each in found["links"]] == [[name, "middle"] for name in HOSTS]
    assert kind == "switches" or "switches" not in found


def test_a_segment_needs_no_rate():
    segment = {"name": "bus", "standard": "10base-t1s", "length": "5 m", "plca": {}}
    tables = short({"segments": [segment]})
    del tables["network"]["rate"]
    assert trials(tables)


def test_links_go_before():
    links = [{"ends": ["a", "b"]}, {"ends": ["desk", "b"]}]
    with pytest.raises(em.InputError, match="one of a, b"):
        trials(short({"switches": [{"name": "a"}, {"name": "b"}], "links": links}))
    links += [{"ends": ["office", "a"]}, {"ends": ["printer", "a"], "rate": "10 Mb/s"}]
    found = network_of(short({"switches": [{"name": "a"}, {"name": "b"}], "links": links}))
    assert found["links"] == links
    several = short({"switches": [{"name": "a"}], "links": [{"ends": ["desk", "a"]}]})
    assert [each["ends"] for each in network_of(several)["links"]] == [
        ["desk", "a"],
        ["office", "a"],
        ["printer", "a"],
    ]


def test_hosts_with_a_table_need_no_links():
    hosts = [{"name": "office", "count": 2}, {"name": "printer"}, {"name": "desk"}]
    flows = [{**flow, "pairs": "all"} for flow in of_text(TEXT).document["flows"][:1]]
    found = network_of(short({"hosts": hosts}, flows=flows))
    assert found["hosts"] == hosts
    assert [each["ends"][0] for each in found["links"]] == HOSTS


def test_the_switch_has_a_name_of_its_own():
    flows = [{"from": "switch", "to": "b", "frames": "64 B", "arrivals": "saturated"}]
    assert network_of(short(flows=flows))["switches"] == [{"name": "switch1"}]


def test_ends_that_are_varied_are_hosts():
    found = network_of(short(vary={"flows.print.to": ["printer", "copier"]}))
    assert [each["name"] for each in found["hosts"]] == [*HOSTS, "copier"]


def test_what_was_added_is_recorded_as_assumptions(tmp_path):
    read = of_text(TEXT)
    assert set(read.written.assumed) == {"network.hosts", "network.switches", "network.links"}
    assert {key: read.sources[key] for key in read.written.assumed} == read.written.assumed
    assert all(text.startswith("assumption: ") for text in read.written.assumed.values())
    own = short(sources={"network.hosts": "study: mine"})
    assert em.load(own).experiments[0].sources["network.hosts"] == "study: mine"
    path = tmp_path / "x.toml"
    path.write_text(TEXT, encoding="utf-8")
    for command in (["validate", path], ["validate", path, "--models"]):
        result = invoke(*command)
        assert result.returncode == 0, result.output
        assert "network.switches: assumption: a switch joins all hosts" in result.stderr
    again = of_text(read.source_text)
    assert not again.written.assumed
    assert lines(again) == lines(load(path, overrides=['series="experiment"']))


@pytest.mark.parametrize(
    ("tables", "key", "allowed"),
    [
        (short({"switches": [{"name": "offices"}]}), "flows.0.from", "did you mean offices?"),
        (
            short({"switches": [{"name": "s"}], "links": [{"ends": ["s", "ofice"]}]}),
            "network.links.0.ends.1",
            "did you mean office?",
        ),
        (short({"rate": None}), "network.rate", "a bit rate"),
        (short({"switches": [{"name": "a"}, {"name": "b"}]}), "network.links", "one of a, b"),
        (short({"hosts": []}), "network.hosts", "at least 1"),
        (short({"hosts": [{"name": "office"}]}), "flows.0.to", "the name of a host"),
        (
            short(flows=[{"from": "a b", "to": "c", "frames": "64 B", "arrivals": "saturated"}]),
            "flows.0.from",
            "expected a letter",
        ),
    ],
)
def test_what_cannot_be_implied_is_a_fault_of_the_file(tables, key, allowed):
    faults = faults_of(lambda: trials(tables))
    assert any(fault.key == key and allowed in fault.allowed for fault in faults), [
        str(fault) for fault in faults
    ]


def test_names_that_differ_in_digits_only_are_not_misspelt():
    flows = [{"from": "node1", "to": "node2", "frames": "64 B", "arrivals": "saturated"}]
    assert network_of(short({"switches": [{"name": "node3"}]}, flows=flows))
