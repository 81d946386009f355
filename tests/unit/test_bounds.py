"""Bounds of networks: reference values, hand calculations, and what the simulator reaches."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from ethermeter import _core
from ethermeter.scenario import Scenario
from ethermeter.theory.bounds import bounds_of
from ethermeter.theory.bounds.fluid import FluidFlow, FluidServer, total_flow_delays, tree_delays
from scenarios import phases

OCTET_PS = 80_000
"""100 Mb/s."""
US = 1_000_000
MS = 1_000_000_000


def demo(line_bps: float | None) -> tuple[list[FluidServer], list[FluidFlow]]:
    """Saihu's demo.json in bits and seconds, without the second path of f0.

    adfeel220/Saihu-TSN-Analysis-Tool-Integration, src/example/demo.json: bursts 10 B and 2 kB of
    rates 10 kb/s and 0.5 kb/s, servers of 4 Mb/s after 10 µs and 50 Mb/s after 1 ms.
    """
    both = ((4e6, 10e-6), (50e6, 1e-3))
    servers = [
        FluidServer("s0-o0", both, line_bps),
        FluidServer("s1-o0", both, line_bps),
        FluidServer("s1-o1", both[:1], line_bps),
    ]
    flows = [
        FluidFlow("f0", ((10e3, 80.0), (0.5e3, 16e3)), (0, 1)),
        FluidFlow("f1", ((10e3, 80.0),), (0, 2)),
        FluidFlow("f2", ((10e3, 80.0),), (1,)),
    ]
    return servers, flows


def test_saihus_demo_network_by_total_flow_analysis_with_shaping():
    # Printed by Saihu's xTFA: 99.323945, 79.321932 and 49.323945 µs.
    delays = total_flow_delays(*demo(100e6))
    assert [round(1e6 * delay, 6) for delay in delays] == [99.323945, 79.321932, 49.323945]


def test_saihus_demo_network_without_shaping_by_hand():
    # s0: 10 µs + 160 bit / 4 Mb/s = 50 µs. s1-o0: f0 has grown by 10 kb/s · 50 µs = 0.5 bit, so
    # 10 µs + 160.5 bit / 4 Mb/s = 50.125 µs. s1-o1: f1 alone, 10 µs + 80.5 bit / 4 Mb/s.
    delays = total_flow_delays(*demo(None))
    assert delays == pytest.approx([100.125e-6, 80.125e-6, 50.125e-6], rel=1e-12)


def test_saihus_demo_network_by_the_linear_program():
    # Printed by panco: 80.050 and 49.280 µs, at 10 ns; f2 49.2759 by an independent program. f1 in
    # its own tree by hand: both bursts once, 10 + 10 µs + 160 bit / 4 Mb/s.
    shaped = [1e6 * delay for delay in tree_delays(*demo(100e6))]
    assert shaped == pytest.approx([80.050, 60.000, 49.276], abs=0.001)
    # Without lines a trajectory by hand lets f2 wait 50.075 µs, which the bound meets.
    assert 1e6 * tree_delays(*demo(None))[2] == pytest.approx(50.075, abs=0.001)


def host(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "kind": {"host": settings}}


def switch(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "kind": {"switch": {"learning": "known", **settings}}}


def link(one: str, other: str, **settings: Any) -> dict[str, Any]:
    ends = [{"node": one}, {"node": other}]
    return {"ends": ends, "ps_per_octet": OCTET_PS, "delay_ps": 500_000, **settings}


def regular(period_ps: int, phase_ps: int = 0) -> dict[str, Any]:
    return {"kind": "regular", "period_ps": period_ps, "phase_ps": phase_ps}


def flow(
    name: str, hosts: tuple[str, str], octets: int, arrivals: dict[str, Any], **more: Any
) -> dict[str, Any]:
    frames = {"kind": "fixed", "bits": 8 * octets}
    ends = {"from": hosts[0], "to": [hosts[1]]}
    return {"name": name, **ends, "frames": frames, "arrivals": arrivals, **more}


def described(
    nodes: list[Any], links: list[Any], flows: list[Any], *, until_ps: int = 20 * MS
) -> dict[str, Any]:
    return {
        "nodes": nodes,
        "links": links,
        "flows": flows,
        "phases": phases(until_ps // 2, measure_to_ps=until_ps, end_ps=until_ps),
    }


def bounds(scenario: dict[str, Any]) -> Any:
    return bounds_of(msgspec.convert(scenario, Scenario))


def simulated(scenario: dict[str, Any]) -> Any:
    return _core.simulate_trial(json.dumps({"id": "x", "seed": 1, "scenario": scenario}))


def test_synchronised_bursts_reach_the_bound_of_one_switch_and_fill_its_queue():
    hosts = [f"h{number}" for number in range(4)]
    nodes = [*map(host, hosts), host("sink"), switch("s")]
    links = [*(link(name, "s") for name in hosts), link("s", "sink")]
    flows = [flow(name, (name, "sink"), 1000, regular(MS)) for name in hosts]
    scenario = described(nodes, links, flows)
    found = bounds(scenario)
    # Both wires: preamble and frame, 1008 octets; before the last frame three with gaps, 1020.
    by_hand = (1008 + 3 * 1020 + 1008) * OCTET_PS + 2 * 500_000
    assert [one.delay.largest_s for one in found.flows] == [by_hand / 1e12] * 4
    port = found.ports[8].total
    assert (port.held_frames, port.held_octets, port.waiting_frames) == (4, 4000, 3)
    counts = simulated(scenario)
    delays = counts.flows.one_way.sum_ps / counts.flows.one_way.count
    assert delays.max() == by_hand
    assert counts.ports.queue_most[8] == 4
    for queue_frames in (4, 3):  # as large as the bound, and one frame less
        scenario["nodes"][-1] = switch("s", queue_frames=queue_frames)
        dropped = simulated(scenario).ports.dropped[8]
        assert (dropped > 0) == (queue_frames < port.held_frames)


def test_a_source_without_an_arrival_curve_has_no_bound_and_says_why():
    poisson = {"kind": "poisson", "mean_ps": 1e9}
    nodes = [host("a"), host("b"), host("c"), switch("s")]
    links = [link("a", "s"), link("b", "s"), link("s", "c", ps_per_octet=8000)]
    flows = [flow("p", ("a", "c"), 1000, poisson), flow("r", ("b", "c"), 100, regular(MS))]
    found = bounds(described(nodes, links, flows))
    assert found.flows[0].delay.largest_s is None
    assert found.flows[0].delay.reason == "Poisson arrivals have no arrival curve"
    # The wire of its host limits it, so that others have a bound: behind one frame of it that has
    # come, 1020 octets at 1 Gb/s.
    by_hand = (108 * OCTET_PS + 500_000) + (1020 + 108) * 8000 + 500_000
    assert found.flows[1].delay.largest_s == by_hand / 1e12


def two_classes(**high: Any) -> list[dict[str, Any]]:
    return [{"priorities": [4, 5, 6, 7], **high}, {"priorities": [0, 1, 2, 3]}]


def three_hosts(classes: list[dict[str, Any]], flows: list[Any]) -> dict[str, Any]:
    nodes = [*(host(name) for name in "abz"), switch("s", classes=classes)]
    return described(nodes, [link("a", "s"), link("b", "s"), link("s", "z")], flows)


def test_a_high_priority_waits_for_one_low_frame_that_has_just_begun():
    # Tagged frames: 68 and 1504 octets. The low frame is complete at the switch 1512 octets after
    # its release, the high one 76; the high one comes 1 ps after the low one has begun, and waits
    # for its rest, gap included.
    late_ps = (1512 - 76) * OCTET_PS + 1
    flows = [
        flow("high", ("a", "z"), 64, regular(MS, late_ps), priority=7),
        flow("low", ("b", "z"), 1500, regular(MS), priority=0),
    ]
    scenario = three_hosts(two_classes(), flows)
    found = bounds(scenario)
    high_ps = (76 + 1524 + 76) * OCTET_PS + 2 * 500_000
    assert found.flows[0].delay.largest_s == high_ps / 1e12
    assert simulated(scenario).flows.one_way.max_ps[0] == high_ps - 1
    # The low one starts behind the one high frame that comes in 88 octets.
    low_ps = (1512 + 88 + 1512) * OCTET_PS + 2 * 500_000
    assert found.flows[1].delay.largest_s == low_ps / 1e12
    port = found.ports[4]
    assert [one.held_frames for one in port.classes] == [1, 1]


def test_a_shaped_class_waits_for_its_credit_and_for_a_frame_below():
    # Two frames of 1024 octets with gap come at once; 20 Mb/s of 100 Mb/s. The second starts when
    # the credit that the first one takes is there again, after 1024 / 0.2 octets, and a lower frame
    # of 1538 that has begun just before; a picosecond for whole picoseconds. Without the classes
    # below the switch, its host's wire has sent each at once.
    credit = {"idle_slope_bps": 20_000_000}
    flows = [
        flow("one", ("a", "z"), 1000, regular(MS), priority=7),
        flow("two", ("b", "z"), 1000, regular(MS), priority=7),
        flow("below", ("c", "z"), 1514, {"kind": "saturated"}, priority=0),
    ]
    scenario = three_hosts(two_classes(**credit), flows)
    scenario["nodes"].append(host("c"))
    scenario["links"].append(link("c", "s"))
    found = bounds(scenario)
    by_hand_ps = (1012 + 1538 + 1024 * 5 + 1012) * OCTET_PS + 1 + 2 * 500_000
    assert found.flows[0].delay.largest_s == by_hand_ps / 1e12
    seen_ps = simulated(scenario).flows.one_way.max_ps[:2].max()
    assert 0.8 * by_hand_ps < seen_ps <= by_hand_ps


def bridge(*, phases_ps: tuple[int, int, int, int] = (0, 0, 0, 0)) -> dict[str, Any]:
    """Return four senders, and a bridge with a strict class above two shaped ones.

    After the validation of INET's credit-based shaper with control data traffic.
    """
    classes = [
        {"priorities": [7]},
        {"priorities": [6], "idle_slope_bps": 21_952_000},
        {"priorities": [5], "idle_slope_bps": 10_976_000},
        {"priorities": [0, 1, 2, 3, 4]},
    ]
    names = ["critical", "high", "medium", "best"]
    ingress = {"name": "bridging", "delay_ps": 8 * US}
    nodes = [*map(host, names), host("z"), switch("s", classes=classes, ingress=ingress)]
    links = [link(name, "s", delay_ps=0) for name in [*names, "z"]]
    frames = [(1518, 300, 7), (318, 125, 6), (318, 250, 5), (1514, 125, 0)]  # and a tag
    flows = [
        flow(name, (name, "z"), octets, regular(period_us * US, phase_ps), priority=priority)
        for name, (octets, period_us, priority), phase_ps in zip(
            names, frames, phases_ps, strict=True
        )
    ]
    return described(nodes, links, flows)


def test_a_strict_class_above_two_shaped_ones():
    # Preamble and frame take 122.4, 26.4, 26.4 and 122.08 µs, gaps besides 0.96. Each is complete
    # at the bridge and 8 µs later at its port.
    found = bounds(bridge())
    delays_us = [1e6 * one.delay.largest_s for one in found.flows[:3]]
    # A frame of best effort of 123.04 µs has just begun.
    critical_us = 122.4 + 8 + 123.04 + 122.4
    # The same, and then a critical frame of 123.36 µs; the next one comes 300 µs after it.
    high_us = 26.4 + 8 + 123.04 + 123.36 + 26.4
    # The same, two critical frames, and four high ones: with 21.952 Mb/s, 27.36 µs come back in
    # 124.64. After 479.2 µs no further one may begin, of which the fifth would at 498.5.
    medium_us = 26.4 + 8 + 123.04 + 2 * 123.36 + 4 * 27.36 + 26.4
    assert (critical_us, high_us, medium_us) == pytest.approx((375.84, 307.2, 540.0))
    # A class with credits begins in a whole picosecond.
    assert delays_us == pytest.approx([critical_us, high_us, medium_us], abs=2e-6)


def test_simulations_of_a_strict_class_above_shaped_ones_come_close_to_the_bounds():
    # The largest delays over phases: critical 375.84 and high 307.2 µs are reached but for the
    # picosecond by which a frame of best effort begins before; medium has 536 with these periods.
    random = np.random.default_rng(1)
    least_ps, largest_ps = np.full(3, np.inf), np.zeros(3)
    # What comes to the port a picosecond behind a frame of best effort, whose own way is longer.
    critical, shaped = 1, (1530 - 330) * OCTET_PS + 1
    aligned = [(0, 0, 0, 0), (critical, shaped, shaped, (1530 - 1526) * OCTET_PS)]
    drawn = [tuple(random.integers(0, 125 * US, 4).tolist()) for _ in range(60)]
    for phases_ps in [*aligned, *drawn]:
        seen = simulated(bridge(phases_ps=phases_ps)).flows.one_way
        # The first bucket of a flow begins at its least delay.
        begins = np.searchsorted(seen.buckets.entity, range(3))
        least_ps = np.minimum(least_ps, seen.buckets.low_ps[begins])
        largest_ps = np.maximum(largest_ps, seen.max_ps[:3])
    bound_ps = np.array([1e12 * one.delay.largest_s for one in bounds(bridge()).flows[:3]])
    assert (largest_ps <= bound_ps).all()
    assert largest_ps / 1e6 == pytest.approx([375.84, 307.2, 536], rel=0.02)
    assert least_ps / 1e6 == pytest.approx([252.8, 60.8, 60.8], abs=0.01)


def test_a_shaped_class_below_all_that_a_strict_one_may_send_has_no_bound():
    # 80 Mb/s of a strict class leave less than 25 Mb/s.
    classes = [
        {"priorities": [7]},
        {"priorities": [6], "idle_slope_bps": 25_000_000},
        {"priorities": [0, 1, 2, 3, 4, 5]},
    ]
    flows = [
        flow("strict", ("a", "z"), 976, regular(100 * US), priority=7),
        flow("shaped", ("b", "z"), 100, regular(MS), priority=6),
    ]
    found = bounds(three_hosts(classes, flows)).flows
    assert found[0].delay.largest_s is not None
    assert (
        found[1].delay.reason == "wire s → z: classes above leave less than its idle slope of 0.25"
    )


def test_a_round_of_others_is_all_that_a_class_with_a_quantum_waits_for():
    # The other class is never empty. Before a frame of 1024 octets may start: a deficit of 1538
    # octets, and the quanta of the turns 1024 / 1538 + 1, of 1538 octets each.
    classes = two_classes(quantum_octets=1538)
    classes[1]["quantum_octets"] = 1538
    flows = [
        flow("paced", ("a", "z"), 1000, regular(MS), priority=7),
        flow("one", ("b", "z"), 1514, {"kind": "saturated"}, priority=0),
        flow("other", ("c", "z"), 1514, {"kind": "saturated"}, priority=0),
    ]
    scenario = three_hosts(classes, flows)
    scenario["nodes"].append(host("c"))
    scenario["links"].append(link("c", "s"))
    found = bounds(scenario)
    by_hand_ps = (1012 + 1538 + 1024 + 1538 + 1012) * OCTET_PS + 2 * 500_000
    assert found.flows[0].delay.largest_s == by_hand_ps / 1e12
    assert simulated(scenario).flows.one_way.max_ps[0] <= by_hand_ps
    assert found.ports[4].classes[1] is None
    assert found.ports[4].reasons[1].startswith("wire s → z has no room for its load")


def test_no_phases_let_a_message_of_three_switches_pass_its_bound():
    # At each switch another host meets the path; random phases, and those that meet at the first.
    hosts = [*(f"h{number}" for number in range(4)), "z"]
    switches = ["s0", "s1", "s2"]
    ends = [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s2"), ("s0", "s1"), ("s1", "s2")]
    links = [link(*pair) for pair in [*ends, ("s2", "z")]]
    random = np.random.default_rng(7)
    largest_ps = np.zeros(4)
    for attempt in range(150):
        phases = random.integers(0, 400 * US, 4) if attempt else np.zeros(4, dtype=int)
        flows = [
            flow(f"f{number}", (f"h{number}", "z"), 1000, regular(MS, int(phase)))
            for number, phase in enumerate(phases)
        ]
        nodes = [*map(host, hosts), *map(switch, switches)]
        scenario = described(nodes, links, flows, until_ps=4 * MS)
        seen_ps = simulated(scenario).flows.one_way.max_ps
        largest_ps = np.maximum(largest_ps, seen_ps)
    found = bounds(scenario)
    largest_s = np.array([one.delay.largest_s for one in found.flows])
    assert (largest_ps / 1e12 <= largest_s).all()
    assert (largest_ps / 1e12 > 0.7 * largest_s).all()
    # f3 by hand: at s2 all others may come at once with it, two on one wire behind each other.
    assert found.flows[3].delay.largest_s < (1008 + 3 * 1020 + 1008) * OCTET_PS / 1e12 + 1e-6


AT_ONCE = {"name": "at once", "delay_ps": 4 * US}
"""A stage that keeps no frame: it has no time of service, but a delay."""


@pytest.mark.parametrize(
    ("of_hosts", "of_switch"),
    [
        ({"send": [AT_ONCE]}, {}),
        ({"send": [AT_ONCE, AT_ONCE]}, {"ingress": AT_ONCE}),
        ({}, {"ingress": AT_ONCE}),
        ({"classes": two_classes()}, {"ingress": AT_ONCE}),
    ],
)
def test_a_stage_without_a_time_of_service_delays_frames_only(of_hosts, of_switch):
    # Three frames of 512 octets meet at a switch, whose next wire has half the rate of the others.
    hosts = ["a", "b", "c"]
    nodes = [*(host(name, **of_hosts) for name in hosts), host("z")]
    nodes += [switch("s", **of_switch), switch("t")]
    links = [*(link(name, "s") for name in hosts), link("s", "t", ps_per_octet=2 * OCTET_PS)]
    links.append(link("t", "z"))
    flows = [flow(name, (name, "z"), 512, regular(20 * MS)) for name in hosts]
    scenario = described(nodes, links, flows, until_ps=100 * MS)
    stages = len(of_hosts.get("send", ())) + len(of_switch)
    # Two of them with gaps go before, at half the rate, behind which they meet no more.
    by_hand_ps = (520 + 2 * (2 * 532 + 520) + 520) * OCTET_PS + 3 * 500_000 + stages * 4 * US
    found = bounds(scenario)
    assert [one.delay.largest_s for one in found.flows] == [by_hand_ps / 1e12] * 3
    assert simulated(scenario).flows.one_way.max_ps.max() == by_hand_ps


def test_a_path_behind_a_stage_without_a_time_of_service_is_as_tight_as_behind_a_short_one():
    # Bursts meet at three switches, where the linear program gains.
    def found(fixed_ps: int) -> list[float]:
        stage = {"name": "in", "fixed_ps": fixed_ps, "delay_ps": 4 * US}
        hosts = [f"h{number}" for number in range(4)]
        nodes = [*(host(name, send=[stage]) for name in hosts), host("z")]
        nodes += [switch(f"s{number}", ingress=stage) for number in range(3)]
        links = [link(f"h{number}", f"s{max(number - 1, 0)}") for number in range(4)]
        links += [link("s0", "s1"), link("s1", "s2"), link("s2", "z")]
        flows = [flow(name, (name, "z"), 1000, regular(MS // 2)) for name in hosts]
        return [one.delay.largest_s for one in bounds(described(nodes, links, flows)).flows]

    assert found(0) == pytest.approx(found(1), abs=1e-10)


def test_so_many_frames_of_one_length_have_so_many_octets():
    # The queue of each port in frames of 1000 octets, and the octets of its longest ones.
    names = ["a", "b"]
    nodes = [*map(host, names), host("z"), switch("s")]
    for rate in (1, 2, 10):
        links = [
            *(link(name, "s") for name in names),
            link("s", "z", ps_per_octet=OCTET_PS // rate),
        ]
        flows = [flow(name, (name, "z"), 1000, regular(170 * US)) for name in names]
        for port in bounds(described(nodes, links, flows)).ports:
            held = port.total
            assert held.held_octets == 1000 * held.held_frames
            assert held.waiting_octets == 1000 * held.waiting_frames


@pytest.mark.parametrize("fixed_ps", [50 * US, 249 * US])
def test_backplanes_that_depend_on_each_other_have_a_fixed_point_and_are_named(fixed_ps):
    # What goes each way passes both backplanes: the delay of each is in the jitter at the other.
    # Four frames a millisecond load them to 0.2, and to nearly 1.
    fabric = {"shared": {"name": "backplane", "fixed_ps": fixed_ps}}
    nodes = [*map(host, "abcd"), switch("s", fabric=fabric), switch("t", fabric=fabric)]
    links = [link("a", "s"), link("b", "s"), link("c", "t"), link("d", "t"), link("s", "t")]
    pairs = ["ac", "bd", "ca", "db"]
    flows = [flow(pair, (pair[0], pair[1]), 1000, regular(MS)) for pair in pairs]
    scenario = described(nodes, links, flows)
    found = bounds(scenario)
    assert any("'backplane' of s" in name for name in found.cycle)
    seen_s = simulated(scenario).flows.one_way.max_ps / 1e12
    assert (seen_s <= [one.delay.largest_s for one in found.flows]).all()


def test_a_cycle_without_a_fixed_point_is_named():
    # Each way loads each of six backplanes to 0.3. The delay of every backplane is jitter at all
    # behind it, of both ways: more comes round than the line between them smooths.
    fabric = {"shared": {"name": "backplane", "fixed_ps": 300 * US}}
    names = [f"s{number}" for number in range(6)]
    nodes = [host("a"), host("z"), *(switch(name, fabric=fabric) for name in names)]
    links = [link(*pair) for pair in pairwise(["a", *names, "z"])]
    flows = [flow(pair, (pair[0], pair[1]), 1000, regular(MS)) for pair in ("az", "za")]
    found = bounds(described(nodes, links, flows))
    assert len(found.cycle) > 2
    around = " → ".join(found.cycle)
    reason = f"paths depend on each other in a cycle without a fixed point: {around}"
    assert [(one.delay.largest_s, one.delay.reason) for one in found.flows] == [(None, reason)] * 2


def test_backplanes_without_room_have_no_bound():
    fabric = {"shared": {"name": "backplane", "fixed_ps": 251 * US}}
    nodes = [*map(host, "abcz"), host("y"), switch("s", fabric=fabric)]
    links = [link(name, "s") for name in "abczy"]
    flows = [flow(name, (name, "z"), 1000, regular(MS)) for name in "abcy"]
    found = bounds(described(nodes, links, flows))
    reason = "stage 'backplane' of s has no room for its load: arrivals of 1.004 of its rate"
    assert {one.delay.reason for one in found.flows} == {reason}
    assert {one.delay.largest_s for one in found.flows} == {None}
