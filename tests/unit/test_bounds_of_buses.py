"""Bounds of ports that take turns on a bus: by hand, of the frames that others may have."""

import json
from statistics import median
from typing import Any

import ethermeter as em
import pytest
from ethermeter.engines.simulation import simulated
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.scenario import Scenario
from ethermeter.theory.bounds import Bounds, bounds_of
from ethermeter.trial import core_trial
from program import invoke
from shared_experiments import scenario

BIT_US = 0.1
PHASES = {"settle": "20 ms", "transmit": "1 s", "measure": "last 900 ms", "drain": "50 ms"}


def experiment(
    nodes: list[Any], flows: list[Any], *, beyond: tuple[str, ...] = ("far",), **bus: Any
) -> ExperimentTables:
    """Return a bus of 25 m with a gateway at its begin, behind which are hosts at 100 Mb/s."""
    names = [node if isinstance(node, str) else node["name"] for node in nodes]
    segment = {"name": "bus", "standard": "10base-t1s", "length": "25 m", "plca": {}, **bus}
    return em.network(
        rate="100 Mb/s",
        hosts=[*beyond, *nodes],
        switches=["gateway"],
        segments=[segment],
        links=[
            *(em.link(name, "gateway") for name in beyond),
            *(em.link(name, "bus") for name in ("gateway", *names)),
        ],
        flows=flows,
        phases=PHASES,
    )


def gateway(*nodes_and_flows: Any, **others: Any) -> Scenario:
    """Return the scenario of such a bus."""
    return scenario(experiment(*nodes_and_flows, **others))


def sent(sender: str, receiver: str, octets: int, period: str) -> Any:
    return em.flow(
        f"{sender}-{receiver}-{octets}",
        sender,
        receiver,
        frames=f"{octets} B",
        arrivals={"regular": period},
    )


def delays_us(found: Bounds) -> list[float]:
    """Return the bounds of all flows [µs]; every flow has one."""
    delays_s = [flow.delay.largest_s for flow in found.flows]
    reasons = [flow.delay.reason for flow in found.flows if flow.delay.largest_s is None]
    assert not reasons
    return [1e6 * delay_s for delay_s in delays_s if delay_s is not None]


def largest_us(made: Scenario, *, seeds: int = 1) -> list[float]:
    """Return the largest simulated delays of all flows [µs]."""
    runs = [simulated(core_trial(made, seed=seed))[0] for seed in range(seeds)]
    return [
        float(max(run.flows.one_way.max_ps[flow] for run in runs)) / 1e6
        for flow in range(len(made.flows))
    ]


def test_a_node_waits_for_the_one_frame_that_another_one_has():
    # a has 64 octets each millisecond, b 1518 each 100 ms; 8 % of the line. Other nodes hold the
    # line once: a gap, preamble and frame, end delimiter. In the access nobody else holds it for
    # a gap, an opportunity let pass, those of two others with a beacon, and a gap; no opportunity
    # passes behind an attempt, as none comes later than the delay line holds, and no frame is as
    # short as 608 bits.
    made = gateway(["a", "b"], [sent("a", "far", 64, "1 ms"), sent("b", "far", 1518, "100 ms")])
    others = 96 + 64 + 8 * 1518 + 8
    alone = 96 + 32 + (2 * 32 + 20) + 96
    own = 64 + 8 * 64
    # At the gateway's wire a frame of b, with its gap but the last one, may be there in the same
    # instant: what comes from the bus is not more than one longest frame, and then a tenth.
    behind_us = (8 + 1518) * 0.08
    by_hand_us = (others + alone + own) * BIT_US + behind_us
    bound_us = delays_us(bounds_of(made))[0]
    # Propagation over the bus of at most 0.125 µs is in it some times.
    assert by_hand_us < bound_us < by_hand_us + 1
    assert bound_us < 1500
    assert largest_us(made, seeds=8)[0] < bound_us


def body_bus(**arrivals: str) -> Scenario:
    """Return forty messages of twelve nodes, and diagnosis from behind the gateway.

    `arrivals`: more of the arrivals of messages.
    """
    lengths, periods = (64, 64, 64, 64, 96, 96, 128, 128, 256, 256), (5, 10, 20, 50, 100)
    flows = [
        em.flow(
            f"m{number}",
            f"ecu{number % 12 + 1}",
            f"ecu{(number + 5) % 12 + 1}" if number % 5 == 0 else "far",
            frames=f"{lengths[number % 10]} B",
            arrivals={"regular": f"{periods[number % 5]} ms", **arrivals},
        )
        for number in range(40)
    ]
    bucket = {"token_bucket": {"rate": "1 Mb/s", "burst": "3100 B"}}
    flows.append(em.flow("diagnosis", "tool", "ecu3", frames="1518 B", arrivals=bucket))
    return gateway([f"ecu{number}" for number in range(1, 13)], flows, beyond=("far", "tool"))


def test_every_one_of_forty_messages_has_a_bound():
    made = body_bus()
    bounds_us, seen_us = delays_us(bounds_of(made)), largest_us(made, seeds=3)
    assert all(seen <= bound for seen, bound in zip(seen_us, bounds_us, strict=True))
    # Phases by chance do not bring them together: 200 replications of 2 s have 2.6 ms at most.
    together_us = largest_us(body_bus(phase="0 s"))
    assert all(seen <= bound for seen, bound in zip(together_us, bounds_us, strict=True))
    assert median(bounds_us[:40]) <= 4 * 2600
    assert max(bounds_us[:40]) <= 2 * max(together_us[:40])


def down_and_up(nodes: int, period: str, bursts: int) -> Scenario:
    """Return frames of 64 octets from a host behind the gateway to each node, and back."""
    names = [f"n{number}" for number in range(1, nodes + 1)]
    flows = [sent(name, "far", 64, period) for name in names]
    flows += [sent("far", name, 64, period) for name in names]
    return gateway(names, flows, plca={"burst-cnt": bursts})


@pytest.mark.parametrize("bursts", [0, 3])
def test_a_gateway_waits_for_one_frame_of_each_node(bursts):
    # Eight frames each way in 10 ms. The last of eight to the nodes waits for one frame of each
    # node, and for seven before it: 15 frames with gap, end delimiter and held line, and two
    # accesses with bursts of four, else eight.
    made = down_and_up(8, "10 ms", bursts)
    held = 128 if bursts else 0
    frames = 7 * (64 + 512 + 96) + 8 * (96 + 64 + 512 + 8 + held)
    # The next opportunity may pass behind 608 bits, of which a frame of others is 584; with bursts
    # a held line may do that.
    passed = 608 if bursts else 608 - (64 + 512 + 8)
    access = 96 + passed + 32 + (8 * 32 + 20) + 96
    accesses = 2 if bursts else 8
    by_hand = frames + accesses * access - (accesses - 1) * 96 + 576
    bound_us = max(delays_us(bounds_of(made)))
    # The wire before, on which eight frames of 6.72 µs are less dense than the line of the bus.
    assert by_hand * BIT_US + 5.76 < bound_us < by_hand * BIT_US + 5.76 + 7 * 6.72 + 10
    assert 1000 < bound_us < 2000
    assert max(largest_us(made)) < bound_us


def test_a_node_and_a_gateway_that_share_two_thirds_of_a_line_have_a_bound():
    made = down_and_up(1, "200 us", 0)
    for bound_us, seen_us in zip(delays_us(bounds_of(made)), largest_us(made), strict=True):
        assert seen_us < bound_us < 300


def test_the_longest_access_delay_stays_the_bound_beside_a_saturated_node():
    # b has no arrival curve: a waits for its longest access delay, as without a second bound. 1518
    # octets that it defers to, an opportunity let pass, another frame of b.
    saturated = em.flow("bulk", "b", "far", frames="1518 B", arrivals="saturated")
    found = bounds_of(gateway(["a", "b"], [sent("a", "far", 64, "10 ms"), saturated]))
    frame = 64 + 8 * 1518
    access = 96 + frame + 32 + (96 + frame + 8 + 32 + 20) + 96
    bound_s = found.flows[0].delay.largest_s
    assert bound_s is not None
    behind_us = (8 + 1518) * 0.08
    by_hand_us = (access + 64 + 512) * BIT_US + behind_us
    assert by_hand_us < 1e6 * bound_s < by_hand_us + 1


def test_rates_of_nodes_on_one_line_are_not_added_up_before_a_wire():
    # Beacons are lost, so that no node has a bound; but together they send no more than 10 Mb/s.
    names = [f"a{number}" for number in range(1, 14)]
    flows = [sent(name, "far", 64, "2 ms") for name in names]
    found = bounds_of(gateway(names, flows, plca={"beacon-loss": 0.1}))
    reasons = {flow.delay.reason for flow in found.flows}
    assert reasons == {f"port {name} → bus is at segment 'bus': beacons are lost" for name in names}
    # Frames of 6.72 µs each 67.2 µs: one at a time.
    wire = found.ports[1]
    assert wire.total is not None
    assert wire.total.held_frames == 1


def test_a_bus_has_no_queue_of_its_own(tmp_path):
    made = experiment(["a", "b"], [sent("a", "far", 64, "1 ms"), sent("b", "far", 1518, "100 ms")])
    file = made.save(tmp_path / "bus.toml")
    queues = json.loads(invoke("validate", file, "--models", "--json").stdout)["queues"]
    assert {each["from"] for each in queues} == {"far", "gateway", "a", "b"}
    assert "no bound" not in invoke("validate", file, "--models").stdout


def test_twelve_fast_nodes_and_a_slow_one_behind_a_gateway_have_bounds():
    nodes = [em.host("a", count=12), "b"]
    flows = [sent("a", "far", 64, "2 ms"), sent("b", "far", 1518, "100 ms")]
    made = gateway(nodes, flows)
    for bound_us, seen_us in zip(delays_us(bounds_of(made)), largest_us(made), strict=True):
        assert seen_us < bound_us < 6000


def test_the_reason_of_a_full_bus_is_the_share_of_time_that_its_frames_take():
    # A frame of 672 bits with its gap each 600: 1.12, and the accesses, in which nobody else sends:
    # of a lone sender an opportunity let pass, that of the gateway with a beacon, and a gap.
    found = bounds_of(gateway(["a"], [sent("a", "far", 64, "60 us")]))
    share = (672 + 32 + (32 + 20) + 96) / 600
    reason = found.flows[0].delay.reason or ""
    assert reason.startswith("port a → bus has no room for its load: its frames and what may go ")
    assert float(reason.split(" take ")[1].split()[0]) == pytest.approx(share, abs=0.01)
