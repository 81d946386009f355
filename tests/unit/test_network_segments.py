"""Segments within networks: what a file becomes, what is counted, and every fault of its keys."""

from pathlib import Path

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis import ports
from ethermeter.counts import LOSSES
from ethermeter.engines.simulation import simulated
from ethermeter.experiment import load
from ethermeter.scenario import Scenario
from ethermeter.theory.bounds import bounds_of
from ethermeter.trial import core_trial
from faults_at import expect_fault

HEAD = 'title = "t"\n[phases]\nsettle = "1 ms"\ntransmit = "101 ms"\nmeasure = "last 100 ms"\n'
NETWORK = """
[network]
rate = "100 Mb/s"
[[network.hosts]]
name = "far"
[[network.hosts]]
name = "node"
count = 3
[[network.switches]]
name = "gateway"
[[network.segments]]
name = "bus"
standard = "10base-t1s"
length = "20 m"
plca = { to-tmr = 40 }
[[network.links]]
ends = ["far", "gateway"]
[[network.links]]
ends = ["gateway", "bus"]
position = "10 m"
[[network.links]]
ends = ["bus", "node"]
"""
FLOWS = """
[[flows]]
name = "up"
from = "node1"
to = "far"
frames = "64 B"
arrivals = "saturated"
"""
FILE = HEAD + NETWORK + FLOWS


def scenario(folder: Path, text: str) -> Scenario:
    path = folder / "bus.toml"
    path.write_text(text, encoding="utf-8")
    return load(path).scenarios.at([])


def test_links_to_a_segment_are_its_stations(tmp_path):
    made = scenario(tmp_path, FILE)
    (medium,) = made.media
    assert [link.ends[0].node for link in made.links] == ["far"]
    assert [each.node for each in medium.stations] == ["gateway", "node1", "node2", "node3"]
    turns = [each.plca for each in medium.stations]
    assert [of.ids for of in turns if of is not None] == [((0,),), ((1,),), ((2,),), ((3,),)]
    assert all(of is not None and (of.node_count, of.opportunity_bits) == (4, 40) for of in turns)
    # The gateway in the middle, the nodes from end to end: 0, 10 and 20 m at 0.667 c.
    points = [each.points[0] for each in medium.stations]
    delays = [medium.delay_ps[points[0]][point] for point in points[1:]]
    assert delays == [pytest.approx(50_010, abs=20), 0, pytest.approx(50_010, abs=20)]


def test_a_link_has_the_settings_of_the_segment_but_for_its_own(tmp_path):
    text = FILE.replace(
        'ends = ["bus", "node"]',
        'ends = ["bus", "node"]\nplca = { node-id = [5, 3, 4], burst-cnt = 2 }\n'
        'down = [{ at = "1 s", for = "1 s" }]',
    )
    gateway, *nodes = scenario(tmp_path, text).media[0].stations
    assert gateway.plca is not None
    assert gateway.plca.node_count == 6
    assert not gateway.down
    found = [(node.plca.ids, node.plca.burst_count) for node in nodes if node.plca is not None]
    assert found == [(((5,),), 2), (((3,),), 2), (((4,),), 2)]
    assert all(len(node.down) == 1 for node in nodes)


def test_a_lone_sender_sends_in_every_other_cycle_and_is_below_its_bound(tmp_path):
    made = scenario(tmp_path, FILE)
    counts, _ = simulated(core_trial(made))
    # Ports: the link's two, then gateway and nodes with one behind each.
    sender = 2 + 2 * 1
    frames = int(counts.ports.frames[sender])
    assert frames == counts.flows.messages[0]
    assert counts.ports.used[sender] == frames
    assert counts.ports.collisions[sender] == 0
    assert counts.ports.status_changes.sum() == 0  # within the window
    bound = bounds_of(made)
    # Work of a frame: its longest access delay and its 57.6 µs.
    assert bound.flows[0].delay.largest_s is not None
    access_s = bound.flows[0].delay.largest_s - 57.6e-6 - 5.76e-6
    assert counts.ports.access_most_ps[sender] / 1e12 <= access_s


def test_a_run_has_the_ports_of_the_segment(tmp_path):
    path = tmp_path / "bus.toml"
    path.write_text(FILE.replace('"saturated"', '{ regular = "1 ms" }'), encoding="utf-8")
    run = em.load(path).run(out=tmp_path / "run", jobs=1)
    (point,) = ports.estimate(run.trials(), run.directory.ports())
    names = [(port.node, port.peer) for port in point.ports]
    assert ("node1", "bus") in names
    assert ("gateway", "bus") in names
    busy = next(port for port in point.ports if port.node == "node1")
    # A frame of 672 bits, gap included, every millisecond at 10 Mb/s.
    assert busy.share.value == pytest.approx(0.0672, rel=0.02)
    assert busy.medium.value == pytest.approx(0.0672, rel=0.02)


def test_buses_of_one_gateway_are_independent(tmp_path):
    second = """
[[network.hosts]]
name = "other"
count = 2
[[network.segments]]
name = "coax"
standard = "ieee-10"
length = "100 m"
[[network.links]]
ends = ["gateway", "coax"]
[[network.links]]
ends = ["other", "coax"]
"""
    flow = FLOWS.replace('"up"', '"across"').replace('to = "far"', 'to = "other2"')
    counts, _ = simulated(core_trial(scenario(tmp_path, FILE + second)))
    both, _ = simulated(core_trial(scenario(tmp_path, FILE + second + flow)))
    alone, _ = simulated(core_trial(scenario(tmp_path, FILE)))
    assert np.array_equal(counts.ports.frames[:10], alone.ports.frames)
    assert both.flows.messages[1] > 0
    # Each frame comes to all other ports of a segment, where it ends if it is for none behind.
    lost = dict(zip(LOSSES, both.flows.balance.lost[1].tolist(), strict=True))
    assert {cause for cause, copies in lost.items() if copies} == {"ignored"}


@pytest.mark.parametrize(
    ("old", "new", "key", "allowed"),
    [
        (
            'standard = "10base-t1s"',
            'standard = "10base-t2"',
            "network.segments.0.standard",
            "one of",
        ),
        ('length = "20 m"', "", "network.segments.0", "exactly one of length"),
        ('position = "10 m"', 'position = "30 m"', "network.links.1.position", "segment's length"),
        ('position = "10 m"', 'rate = "10 Mb/s"', "network.links.1.rate", "which has its own"),
        ('position = "10 m"', "cluster = 1", "network.links.1.cluster", "clusters"),
        (
            'ends = ["far", "gateway"]',
            'ends = ["far", "gateway"]\nplca = { node-id = 4 }',
            "network.links.0.plca",
            "a link to a segment only",
        ),
        (
            'ends = ["bus", "node"]',
            'ends = ["bus", "node"]\nplca = { node-id = [1, 2] }',
            "network.links.2.plca.node-id",
            "each of the 3 stations",
        ),
        (
            'position = "10 m"',
            "plca = { node-id = 300 }",
            "network.links.1.plca.node-id",
            "0 to 254",
        ),
        (
            'standard = "10base-t1s"',
            'standard = "ieee-10"',
            "network.segments.0.standard",
            'expected "10base-t1s" with network.segments.0.plca',
        ),
        ('["bus", "node"]', '["bus", "bus"]', "network.links.2.ends.1", "a host, a group"),
        ('["bus", "node"]', '["bus", "nodes"]', "network.links.2.ends.1", "gateway"),
        ('["gateway", "bus"]\nposition = "10 m"', '["far", "bus"]', "network.hosts.0", "has 2"),
        ('name = "bus"', 'name = "far"', "network.segments.0.name", "a unique name"),
        ('["bus", "node"]', '["gateway", "node"]', "network.segments.0.name", "at least two nodes"),
        ("to-tmr = 40", "to-tmr = 0", "network.segments.0.plca.to-tmr", "1 to 255"),
    ],
)
def test_a_fault_is_named_with_its_key_and_what_is_allowed(tmp_path, old, new, key, allowed):
    assert old in FILE
    expect_fault(tmp_path, FILE.replace(old, new, 1), key=key, allowed=allowed)


def test_what_the_simulator_refuses_is_named_by_the_link(tmp_path):
    text = FILE.replace('standard = "10base-t1s"', 'standard = "experimental-3"').replace(
        "plca = { to-tmr = 40 }", 'turnaround = "1 us"'
    )
    expect_fault(tmp_path, text, key="network.segments.0", allowed="0 in a network")


def test_a_page_has_the_segment_and_the_access_of_its_ports(tmp_path):
    path = tmp_path / "bus.toml"
    path.write_text(FILE, encoding="utf-8")
    run = em.load(path).run(out=tmp_path / "run", jobs=1, report=True)
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "10 Mb/s, 4 nodes, up to 0.1 µs apart, PLCA" in page
    assert "node-id 0, node-cnt 4, to-tmr 40" in page
    assert "Access delay (µs)" in page
