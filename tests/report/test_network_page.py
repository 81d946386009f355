"""The report on networks: what it says, and that a real browser shows all of it."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from xml.etree.ElementTree import Element

import ethermeter as em
import pytest
from ethermeter.report import topology
from ethermeter.report.experiments import Experiment
from ethermeter.scenario import Scenario
from ethermeter.studies import pages
from markup import by_id, complaints, group, parse, rows, table, text_of
from scenarios import scenario_of

SHIPPED = (
    "switched-saturation",
    "request-response",
    "streaming",
    "pause",
    "hub-and-switch",
    "clock-comparison",
    "industrial-ring",
    "buffer-sizing",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("networks")
    found = {}
    for name in SHIPPED:
        run = em.load(name, overrides=["run.replications=3"]).run(out=folder / name, jobs=2)
        pages.write_report(run.path)
        found[name] = run.path
    return found


@pytest.fixture(scope="module")
def reports(runs) -> dict[str, Element]:
    return {name: parse(path / "report.html") for name, path in runs.items()}


def test_every_report_keeps_the_rules_and_names_the_busiest_link(reports):
    wanted = {"The network", "Flows", "Busiest links", "Ports", "How long messages take"}
    for name, page in reports.items():
        assert complaints(page) == [], name
        found = {text_of(each) for level in ("h2", "h3") for each in page.iter(level)}
        assert {each for each in wanted if not any(has.startswith(each) for has in found)} == set()
        assert by_id(page, "parameters") is not None
        assert "Busiest: " in text_of(page)
    assert "Busiest: switch to sink, 100.0%." in text_of(reports["switched-saturation"])


def test_drops_are_shown_at_the_port_that_dropped(reports):
    ports = table(reports["switched-saturation"], "Ports")
    at = [text_of(head) for head in ports.iter("th")].index("Frames dropped at the port out")
    (dropped,) = [row[at] for row in rows(ports) if row[:2] == ["switch (busiest)", "sink"]]
    assert float(dropped.replace(",", "")) > 0


def test_parameters_have_their_sources_by_name_number_and_for_all():
    content = {
        "network": {
            "hosts": [{"name": "a", "model": "x"}, {"name": "b", "model": "y"}],
            "links": [{"rate": "1 Gb/s"}, {"rate": "1 Gb/s"}],
        },
        "flows": [{"name": "f", "frames": "64 B"}, {"name": "g", "frames": "64 B", "queue": 5}],
        "sources": {
            "network.hosts.b.model": "study: b",
            "network.links.1.rate": "standard: second",
            "flows.*.frames": "assumption: all",
            "flows.g": "assumption: g",
        },
    }
    rows = {key: text for key, _, _, text in Experiment("x", "t", content).parameters()}
    assert rows["network.hosts[2].model"] == "b"
    assert rows["network.hosts[1].model"] == ""
    assert rows["network.links[2].rate"] == "second"
    assert rows["network.links[1].rate"] == ""
    assert rows["flows[1].frames"] == "all"
    assert rows["flows[2].queue"] == "g"


def network(hosts: int) -> Scenario:
    nodes = [{"name": f"host{n}", "kind": {"host": {}}} for n in range(1, hosts + 1)]
    nodes += [
        {"name": "s", "kind": {"switch": {"learning": "known"}}},
        {"name": "r<1>", "kind": {"router": {"forward": {"name": "forward"}}}},
        {"name": "alone", "kind": {"hub": {}}},
    ]
    joined = [*((node["name"], "s") for node in nodes[:hosts]), ("s", "r<1>")]
    links = [
        {"ends": [{"node": one}, {"node": other}], "ps_per_octet": 8000} for one, other in joined
    ]
    return scenario_of(nodes=nodes, links=links)


@pytest.mark.parametrize("hosts", [1, 4, 5, 200])
def test_a_drawing_is_xml_that_shows_every_node_and_marks_the_busiest_link(hosts):
    made = network(hosts)
    shares = {2 * link + side: 0.25 * side for link in range(hosts + 1) for side in (0, 1)} | {
        1: 1.0
    }
    box = ET.fromstring(topology.picture(made, shares, busiest=0).svg)
    titles = [element.text or "" for element in box.iter("title")]
    assert (
        sum(title.startswith("host host") for title in titles)
        + sum(
            int(title.split()[0])
            for title in titles
            if " hosts, host" in title and title[0].isdigit()
        )
        == hosts
    )
    assert "router r<1>" in titles
    (busiest,) = [element for element in box.iter("g") if "busiest" in element.get("class", "")]
    assert [element.text for element in busiest.iter("text")] == ["100%"]
    svg = next(box.iter("svg"))
    width, height = float(svg.get("width", 0)), float(svg.get("height", 0))
    for rect in box.iter("rect"):
        assert 0 <= float(rect.get("x", -1)) <= width - float(rect.get("width", 0))
        assert 0 <= float(rect.get("y", -1)) <= height - float(rect.get("height", 0))


def test_a_chain_of_a_thousand_switches_is_drawn():
    nodes = [{"name": f"s{n}", "kind": {"switch": {"learning": "known"}}} for n in range(1000)]
    links = [
        {"ends": [{"node": f"s{n}"}, {"node": f"s{n + 1}"}], "ps_per_octet": 8000}
        for n in range(999)
    ]
    assert (
        topology.picture(scenario_of(nodes=nodes, links=links), {}, busiest=0).svg.count(
            'class="node switch"'
        )
        == 1000
    )


def test_streams_as_fast_as_they_go_are_shown_at_the_ceiling_of_their_wire(reports):
    shown = text_of(group(reports["streaming"], "Ceilings along the path"))
    found = re.search(r"Nearest ceiling: (wire [^;,]+), .*? a margin of ([0-9.]+)", shown)
    assert found is not None
    # The window cuts a frame at either end; of thousands that is less than a thousandth.
    assert abs(float(found[2]) - 1) <= 1e-3


def test_a_figure_can_be_had_alone(runs):
    svg = em.open(runs["switched-saturation"]).plot("one_way_delay").svg()
    assert "One-way delay" in svg
    assert "Number of hosts (sender)" in svg
