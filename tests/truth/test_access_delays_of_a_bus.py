"""Access delays on 10BASE-T1S are never above their bounds, and come close to them."""

import random
from collections.abc import Mapping

import ethermeter as em
import pytest
from ethermeter.counts import Counts
from ethermeter.engines.simulation import simulated
from ethermeter.theory.bus import Bus, bus_of
from ethermeter.trial import core_trial
from shared_experiments import BUS, scenario

from tests.support.random_buses import random_bus

SHORT_RUN, SHORT_MS = 60, 100
LONG_FRAMES, LONG_MS = 3_000_000, 20_000


def observed(experiment: Mapping[str, object], *, seed: int) -> tuple[Bus, Counts]:
    """Return a bus and what was counted on it."""
    counts, _ = simulated(core_trial(scenario(experiment), seed=seed))
    return bus(experiment), counts


def bus(experiment: Mapping[str, object]) -> Bus:
    found = bus_of(scenario(experiment))
    assert found is not None
    return found


def passed(bus: Bus, counts: Counts) -> list[str]:
    """Return what was longer than its bound: cycles, and access delays of each node."""
    plca = counts.media[0].plca
    assert plca is not None
    seen = [("cycle", int(plca.cycle.max_ps[0]), bus.longest_ps)]
    for at, node in enumerate(bus.nodes):
        attempt, access = (
            int(times[at]) for times in (plca.nodes.attempt_max_ps, plca.nodes.access_max_ps)
        )
        seen.append((f"node {at} from the first attempt", attempt, bus.attempt_delay_ps(node)))
        seen.append((f"node {at} from the queue", access, bus.access_delay_ps(node)))
    return [f"{name}: {found} ps, bound {bound} ps" for name, found, bound in seen if found > bound]


def broken(seed: int, *, transmit_ms: int) -> tuple[list[str], int]:
    """Return which bounds a random bus breaks, and how many frames it delivered."""
    bus, counts = observed(random_bus(random.Random(seed), transmit_ms=transmit_ms), seed=seed)
    assert bus.is_bounded, bus.obstacles
    found = [f"seed {seed}, {len(bus.nodes)} nodes, {each}" for each in passed(bus, counts)]
    return found, int(counts.stations.frames.sum())


def test_random_buses_keep_their_bounds():
    results = [broken(seed, transmit_ms=SHORT_MS) for seed in range(SHORT_RUN)]
    assert [each for found, _ in results for each in found] == []
    assert sum(frames for _, frames in results) > 40_000


@pytest.mark.long
def test_three_million_frames_keep_their_bounds():
    frames, seed, found = 0, SHORT_RUN, []
    while frames < LONG_FRAMES:
        of_bus, delivered = broken(seed, transmit_ms=LONG_MS)
        found += of_bus
        frames, seed = frames + delivered, seed + 1
    assert found == []


@pytest.mark.parametrize(
    ("count", "octets", "period_us"), [(3, 64, 3013.7), (9, 64, 3013.7), (9, 1518, 13_013.7)]
)
def test_a_node_whose_frames_come_at_every_moment_of_a_saturated_cycle_comes_within_one_per_cent(
    count, octets, period_us
):
    # Its frame is the first of the queue just as another node begins to send; its first attempt is
    # answered with a collision by the next, behind which its own opportunity passes 0.8 us before
    # the frame is pending.
    saturated = em.stations("others", count=count - 1, frames=f"{octets} B", arrivals="saturated")
    regular = {"regular": f"{int(period_us * 1000)} ns"}
    bus, counts = observed(
        BUS.changed(
            stations=[
                saturated,
                em.stations("one", count=1, frames=f"{octets} B", arrivals=regular),
            ],
            phases={"settle": "1 ms", "transmit": "4 s", "measure": "last 3.9 s"},
        ),
        seed=1,
    )
    assert passed(bus, counts) == []
    one, plca = bus.nodes[-1], counts.media[0].plca
    assert plca is not None
    assert plca.cycle.max_ps[0] == bus.longest_ps
    assert plca.nodes.attempt_max_ps[-1] > 0.99 * bus.attempt_delay_ps(one)
    assert plca.nodes.access_max_ps[-1] > 0.99 * bus.access_delay_ps(one)


def test_a_bound_by_hand():
    found = bus(BUS)
    bit = 100_000
    assert found.empty_ps == (20 + 9 * 32) * bit
    assert found.longest_ps == (20 + 9 * 680) * bit
    # 64 of preamble, 32 of jam and 512 until the frame is pending; an opportunity let pass; eight
    # nodes and a beacon; a gap in which the line is held: 619.6 us.
    assert found.attempt_delay_ps(found.nodes[4]) == (608 + 32 + 8 * 680 + 20 + 96) * bit
    # Before it a frame of 64 octets with its preamble, and a gap: 686.8 us.
    assert found.access_delay_ps(found.nodes[4]) == (576 + 96 + 6196) * bit
    assert found.least_opportunity_bits == 1


@pytest.mark.parametrize(
    ("opportunities", "passed_bits"),
    [
        # Of a cycle of 20 + 32 n bits: 436, of which the frame may let two pass in the 872 bits
        # after its attempt, as the delay line is full before the first one ends.
        (13, 2 * 436),
        # 532: the frame is pending 396 + 32 + 512 bits after its attempt, in the second cycle.
        (16, 940),
        # 660 and 980: longer than the 544 bits after the delay line is full, so that one passes.
        (20, 660),
        (30, 940),
    ],
)
def test_a_lone_node_may_let_two_opportunities_pass(opportunities, passed_bits):
    one = em.stations("one", count=1, frames="64 B", arrivals={"regular": "3013700 ns"})
    experiment = em.segment(
        "10base-t1s",
        length="25 m",
        plca={"node-cnt": opportunities},
        stations=[one],
        phases={"settle": "1 ms", "transmit": "4 s", "measure": "last 3.9 s"},
    )
    bus, counts = observed(experiment, seed=1)
    cycle_bits = 20 + 32 * opportunities
    by_hand_ps = (passed_bits + cycle_bits + 96) * 100_000
    assert bus.attempt_delay_ps(bus.nodes[0]) == by_hand_ps
    assert passed(bus, counts) == []
    plca = counts.media[0].plca
    assert plca is not None
    assert plca.nodes.attempt_max_ps[0] > 0.96 * by_hand_ps


OBSTACLES = {
    "nodes contend": ({}, {"plca": {"enable": False}}, "last contend by CSMA/CD"),
    "lost beacons": ({"beacon-loss": 0.1}, {}, "beacons are lost"),
    "few opportunities": ({"node-cnt": 2}, {}, "node-id 2 to 3 never come"),
    "short opportunities": ({"to-tmr": 2}, {}, "asks for at least 3"),
    "one ID twice": ({}, {"plca": {"node-id": 1}}, "node-id 1 belongs to several nodes"),
    "a timer of its own": ({}, {"plca": {"to-tmr": 30}}, "to-tmr differs between nodes: 30, 32"),
    "a node that is down": ({}, {"down": [{"at": "1 s", "for": "1 s"}]}, "nodes are down"),
    "another backoff": ({}, {"backoff": {"constant": {"slots": 4}}}, "backoff may be longer"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_without_a_bound_there_is_a_reason(name):
    plca, of_last, reason = OBSTACLES[name]
    common = {"frames": "64 B", "arrivals": "saturated"}
    first = em.stations("first", count=3, plca={"node-id": [0, 1, 2]}, **common)
    last = em.stations("last", count=1, **common, **of_last)
    found = bus(em.segment("10base-t1s", length="25 m", plca=plca, stations=[first, last]))
    assert any(reason in each for each in found.obstacles), found.obstacles


def test_without_node_zero_there_is_no_coordinator():
    ids = {"stations.0.count": 2, "stations.0.plca": {"node-id": [1, 2]}}
    assert bus(BUS.changed(ids)).obstacles == ("no node is the coordinator: none has node-id 0",)
