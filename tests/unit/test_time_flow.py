"""Time flow of one frame: against a hand calculation, and against a simulation of it."""

import ethermeter as em
import pytest
from ethermeter.analysis.time_flow import time_flows
from ethermeter.api.experiments import simulated


def first_scenario(loaded):
    (trial, *_) = loaded.plan().trials
    return trial.scenario


def two_hosts(*, send=(), receive=(), switch=None, frames="100 B", **flow):
    """Return a frame each millisecond from a to b through a switch, at 1 Gb/s."""
    return em.network(
        title="One frame",
        rate="1 Gb/s",
        hosts=[em.host("a", send=list(send)), em.host("b", receive=list(receive))],
        switches=[em.switch("s", **(switch or {}))],
        links=[("a", "s"), ("s", "b")],
        flows=[em.flow("f", "a", "b", frames=frames, arrivals={"regular": "1 ms"}, **flow)],
        phases={"settle": "0 s", "transmit": "10 ms", "measure": "all", "drain": "10 ms"},
    )


def flow_of(tables):
    loaded = em.load(tables)
    (found,) = time_flows(first_scenario(loaded))
    return loaded, found


def test_each_stage_begins_when_the_one_before_it_has_the_frame():
    bus = {"name": "bus", "fixed": "1 us", "per_byte": "10 ns", "delay": "0.5 us"}
    _, found = flow_of(two_hosts(send=[bus], receive=[{"name": "program", "fixed": "2 us"}]))
    bus_at, up, down, program = found.passages
    wire_s = 108 * 8e-9
    assert (bus_at.begins_s, bus_at.ends_s) == pytest.approx((0, 2e-6))
    assert (bus_at.by_length_s, bus_at.goes_on_s) == pytest.approx((1e-6, 2.5e-6))
    assert (up.begins_s, up.ends_s) == pytest.approx((2.5e-6, 2.5e-6 + wire_s))
    assert (down.begins_s, down.ends_s) == pytest.approx((up.ends_s, up.ends_s + wire_s))
    assert (program.begins_s, program.by_length_s) == pytest.approx((down.ends_s, 0))
    assert found.one_way_s == pytest.approx(2.5e-6 + 2 * wire_s + 2e-6)
    assert found.wires == 2


STAGES = {
    "store and forward": {"send": [{"name": "bus", "fixed": "1 us", "per_byte": "7 ns"}]},
    "overlap in a host": {
        "send": [
            {"name": "bus", "fixed": "1 us", "per_byte": "7 ns", "overlap": "40 B"},
            {"name": "card", "fixed": "0.1 us", "per_byte": "1 ns"},
        ],
    },
    "cut-through": {"switch": {"overlap": "14 B"}},
    "bursts": {"receive": [{"name": "bus", "burst": {"size": "64 B", "time": "0.3 us"}}]},
    "coalesced": {
        "receive": [
            {"name": "interrupt", "fixed": "1 us", "coalesce": {"frames": 4, "time": "9 us"}}
        ]
    },
    "backplane": {"switch": {"fabric": {"shared": {"name": "backplane", "per_byte": "9.9 ns"}}}},
    "in from a port": {"switch": {"ingress": {"name": "lookup", "fixed": "3 us"}}},
    "tagged": {"priority": 5, "switch": {"classes": 8}},
}


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("frames", ["64 B", "333 B", "1518 B"])
def test_it_is_the_simulated_delay_of_a_frame_alone(name, frames):
    loaded, found = flow_of(two_hosts(frames=frames, **STAGES[name]))
    delays = em.simulate(loaded).histogram("one_way_delay", "f")
    assert delays.low_ps[0] == delays.high_ps[-1] - 1 == round(found.one_way_s * 1e12)


@pytest.mark.parametrize(
    "name",
    ["hughesjones2000/spacing-512", "hughesjones2000/two-pairs", "hughesjones2000/fast-latency"],
)
def test_it_is_the_least_delay_in_the_models_of_a_study(name):
    loaded = em.load(name)
    flows = time_flows(first_scenario(loaded))
    assert flows
    found = flows[0]
    first = [trial for trial in loaded.plan().trials][:1]
    delays = simulated(first, jobs=1).histogram("one_way_delay", found.flow)
    assert delays.low_ps[0] == round(found.one_way_s * 1e12)


@pytest.mark.parametrize(
    "change",
    [
        {"frames": None, "data": "5000 B", "mtu": "1500 B"},
        {"cast": "multicast"},
        {"receive": [{"name": "bus", "random": {"time": {"uniform": ["1 us", "2 us"]}}}]},
    ],
)
def test_what_has_no_one_time_is_left_out(change):
    loaded = em.load(two_hosts(**change))
    assert time_flows(first_scenario(loaded)) == ()
