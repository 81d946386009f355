"""Segments within networks: what a file becomes, and what is counted."""

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis import ports
from ethermeter.counts import LOSSES
from ethermeter.engines.simulation import simulated
from ethermeter.theory.bounds import bounds_of
from ethermeter.trial import core_trial
from shared_experiments import GATEWAY, scenario


def test_links_to_a_segment_are_its_stations():
    made = scenario(GATEWAY)
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


def test_a_link_has_the_settings_of_the_segment_but_for_its_own():
    own = {"plca": {"node-id": [5, 3, 4], "burst-cnt": 2}, "down": [{"at": "1 s", "for": "1 s"}]}
    link = em.link("bus", "node", **own)
    gateway, *nodes = scenario(GATEWAY.changed({"network.links.2": link})).media[0].stations
    assert gateway.plca is not None
    assert gateway.plca.node_count == 6
    assert not gateway.down
    found = [(node.plca.ids, node.plca.burst_count) for node in nodes if node.plca is not None]
    assert found == [(((5,),), 2), (((3,),), 2), (((4,),), 2)]
    assert all(len(node.down) == 1 for node in nodes)


def test_a_lone_sender_sends_in_every_other_cycle_and_is_below_its_bound():
    made = scenario(GATEWAY)
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
    regular = GATEWAY.changed({"flows.0.arrivals": {"regular": "1 ms"}})
    run = em.load(regular).run(out=tmp_path / "run", jobs=1)
    (point,) = ports.estimate(run.trials(), run.directory)
    names = [(port.node, port.peer) for port in point.ports]
    assert ("node1", "bus") in names
    assert ("gateway", "bus") in names
    busy = next(port for port in point.ports if port.node == "node1")
    # A frame of 672 bits, gap included, every millisecond at 10 Mb/s.
    assert busy.share.value == pytest.approx(0.0672, rel=0.02)
    assert busy.medium.value == pytest.approx(0.0672, rel=0.02)


def test_buses_of_one_gateway_are_independent():
    coax = {"name": "coax", "standard": "ieee-10", "length": "100 m"}
    second = GATEWAY.changed(
        {
            "network.hosts.2": em.host("other", count=2),
            "network.segments.1": coax,
            "network.links.3": em.link("gateway", "coax"),
            "network.links.4": em.link("other", "coax"),
        }
    )
    across = em.flow("across", "node1", "other2", frames="64 B", arrivals="saturated")
    counts, _ = simulated(core_trial(scenario(second)))
    both, _ = simulated(core_trial(scenario(second.changed({"flows.1": across}))))
    alone, _ = simulated(core_trial(scenario(GATEWAY)))
    assert np.array_equal(counts.ports.frames[:10], alone.ports.frames)
    assert both.flows.messages[1] > 0
    # Each frame comes to all other ports of a segment, where it ends if it is for none behind.
    lost = dict(zip(LOSSES, both.flows.balance.lost[1].tolist(), strict=True))
    assert {cause for cause, copies in lost.items() if copies} == {"ignored"}


def test_a_page_has_the_segment_and_the_access_of_its_ports(tmp_path):
    run = em.load(GATEWAY).run(out=tmp_path / "run", jobs=1, report=True)
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "10 Mb/s, 4 nodes, up to 0.1 µs apart, PLCA" in page
    assert "node-id 0, node-cnt 4, to-tmr 40" in page
    assert "Access delay (µs)" in page
