"""Means of networks by queueing theory: single queues by hand, and networks by simulation.

Simulations have exactly the assumptions of what is tested. Their interval is Student's t over
replications, wide enough that one of all values here is outside with a probability of 1%.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import ethermeter as em
import numpy as np
import pytest
from ethermeter.counts import FlowCounts
from ethermeter.engines.simulation import simulated
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.metrics import Caution
from ethermeter.scenario import Scenario
from ethermeter.theory import gross_2008_m_d_1_k
from ethermeter.theory.queueing import FlowMean, Means, means_of
from ethermeter.theory.waiting import cobham, m_g_1, marchal, second_queue
from ethermeter.trial import core_trial
from scipy import stats
from shared_experiments import pair, scenario

REPLICATIONS = 12
T = stats.t.ppf(1 - 0.01 / 20 / 2, REPLICATIONS - 1)
"""About 20 values are compared with intervals."""
FIFTEEN = [f"s{at}" for at in range(1, 16)]
ON_OFF = {"on_off": {"period": "1 ms", "on": "10 ms", "off": "20 ms"}}
PC = {"pc": {"send": [{"name": "software", "fixed": "1 us"}]}}
MIXED = "64 B x 3 + 594 B x 1 + 1518 B x 1"
PHASES = {"transmit": "10 s", "measure": "last 9 s", "drain": "1 s"}
Flow = dict[str, Any]


def flow(
    name: str,
    ends: str,
    load: float | None = None,
    *,
    frames: str | None = "1000 B",
    **keys: object,
) -> Flow:
    sender, receiver = ends.split(" to ")
    arrivals = None if load is None else {"poisson_load": load}
    return em.flow(name, sender, receiver, **{"frames": frames, "arrivals": arrivals, **keys})


def link(*flows: Flow) -> ExperimentTables:
    """Flows between a and b on a link of 10 Mb/s."""
    return pair(flows, phases=PHASES)


def star(
    *flows: Flow, hosts: Sequence[str] = ("a", "b"), rate: str = "10 Mb/s", **switch: object
) -> ExperimentTables:
    """Flows between hosts around a switch."""
    return em.network(
        rate=rate,
        hosts=hosts,
        switches=[em.switch("s", **switch)],
        links=[(name, "s") for name in hosts],
        flows=flows,
        phases=PHASES,
    )


def into_one(names: Sequence[str], load: float, **keys: object) -> ExperimentTables:
    """Senders to b through a switch, each of which sends alike."""
    switch = {key: keys.pop(key) for key in ("queue", "classes") if key in keys}
    flows = [flow(name, f"{name} to b", load, **keys) for name in names]
    return star(*flows, hosts=("b", *names), **switch)


def answers(experiment: ExperimentTables) -> tuple[Scenario, Means]:
    found = scenario(experiment)
    return found, means_of(found)


def simulated_delays(scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Mean one-way delays of the flows in s, and their half-widths."""
    each = []
    for seed in range(REPLICATIONS):
        delays = simulated(core_trial(scenario, seed=seed))[0].flows.one_way
        each.append(delays.sum_ps / delays.count / 1e12)
    error = np.std(each, axis=0, ddof=1) / math.sqrt(REPLICATIONS)
    return np.mean(each, axis=0), T * error


def check_exact(experiment: ExperimentTables) -> None:
    scenario, means = answers(experiment)
    seen, half_width = simulated_delays(scenario)
    assert [each.cautions for each in means.flows] == [()] * len(means.flows)
    expected = np.array([each.delay_s for each in means.flows])
    assert (half_width < 0.1 * expected).all(), "no test at all"
    assert (np.abs(seen - expected) < half_width).all(), (seen, expected, half_width)


def test_one_wire_with_frames_of_one_length_is_m_d_1():
    _, means = answers(link(flow("f", "a to b", 0.5)))
    # A frame keeps the wire for 1020 octets of 800 ns, and its last bit is out after 1008. At a
    # load of a half it waits for half of one on average.
    assert means.flows[0].delay_s == pytest.approx((510 + 1008) * 800e-9, rel=1e-12)
    assert means.ports[0].utilisation == pytest.approx(0.5)
    assert means.ports[1].utilisation == 0
    assert (means.saturation.scale, means.saturation.resource) == (pytest.approx(2), "wire a → b")
    # By Little's law: its frames are there for the delay.
    assert means.ports[0].queue_frames == pytest.approx(0.5 / 1020 * (510 + 1008))
    check_exact(link(flow("f", "a to b", 0.7)))


def test_a_mix_of_lengths_is_m_g_1_and_what_follows_is_a_queue_with_the_same_times():
    mixed = flow("f", "a to b", 0.6, frames=MIXED)
    check_exact(link(mixed))
    check_exact(star(mixed))


def test_priorities_at_one_wire_are_cobhams():
    flows = [
        flow("high", "a to b", 0.2, priority=7, frames="400 B"),
        flow("middle", "a to b", 0.3, priority=4),
        flow("low", "a to b", 0.25, priority=1, frames="1518 B"),
    ]
    check_exact(link(*flows).changed({"network.classes": 8}))


def test_waits_in_a_tree_of_one_length_are_together_those_of_one_queue():
    names = dict(zip("abcd", "sstt", strict=True))
    tree = em.network(
        rate="10 Mb/s",
        hosts=["sink", *names],
        switches=["s", "t"],
        links=[("s", "t"), ("t", "sink"), *names.items()],
        flows=[flow(name, f"{name} to sink", 0.2) for name in names],
        phases=PHASES,
    )
    scenario, means = answers(tree)
    assert {each.cautions for each in means.flows} == {(Caution.APPROXIMATION,)}
    # Three hops from a and b, two from c and d, of 1008 octets of 800 ns each; and the wait of
    # M/D/1 at a load of 0.8: twice the 1020 octets of a frame and its gap.
    by_hand = (2.5 * 1008 + 2 * 1020) * 800e-9
    assert np.mean([each.delay_s for each in means.flows]) == pytest.approx(by_hand, rel=1e-9)
    seen, half_width = simulated_delays(scenario)
    # Half-widths of flows that wait for each other do not average out.
    assert abs(seen.mean() - by_hand) < half_width.max()


def test_regular_flows_that_meet_wait_and_one_alone_does_not():
    regular = {"regular": "8.16 ms"}
    names = [f"s{at}" for at in range(8)]
    flows = [flow(name, f"{name} to b", arrivals=regular) for name in names]
    many = star(*flows, hosts=("b", *names))
    (one, *_) = answers(many)[1].flows
    empty_s = 2 * 1008 * 800e-9
    assert one.cautions == (Caution.APPROXIMATION,)
    # Eight of a tenth each: less than as many Poisson flows at one queue, more than nothing.
    assert empty_s < one.delay_s < empty_s + 2 * 1020 * 800e-9
    (one,) = answers(star(flows[0], hosts=("b", "s0")))[1].flows
    assert one.cautions == ()
    assert one.delay_s == pytest.approx(empty_s, rel=1e-12)


def test_an_empty_path_takes_its_time_to_the_picosecond():
    plane = {"shared": {"name": "plane", "per_byte": "2 ns"}}
    alone = flow("f", "a to b", frames=None, data="4000 B", arrivals={"regular": "1 s"})
    scenario, means = answers(star(alone, overlap="14 B", fabric=plane))
    counts, _ = simulated(core_trial(scenario))
    assert counts.flows.one_way.count[0] > 5
    assert round(means.flows[0].delay_s * 1e12) == counts.flows.one_way.max_ps[0]


def test_a_limited_queue_loses_what_m_d_1_k_does():
    scenario, means = answers(into_one(FIFTEEN, 0.06, queue=4))
    assert {each.cautions for each in means.flows} == {(Caution.APPROXIMATION,)}
    lost = sent = 0
    for seed in range(4):
        counts, _ = simulated(core_trial(scenario, seed=seed))
        lost += counts.flows.balance.lost[:, 0].sum()
        sent += counts.flows.balance.sent.sum()
    # Fifteen senders of 6% each are nearly a Poisson process; what their wires take away of its
    # variation, 6% squared, changes the loss by less than 10%.
    assert means.flows[0].loss == pytest.approx(lost / sent, rel=0.1)


@pytest.mark.parametrize(
    "switch",
    [
        {"queue": 2, "classes": 2},
        {"classes": [{"priorities": [4, 5, 6, 7], "queue": 2}, {"priorities": [0, 1, 2, 3]}]},
        {
            "classes": [
                {"priorities": [4, 5, 6, 7]},
                {"priorities": [0, 1, 2, 3], "queue_size": "3 kB"},
            ]
        },
    ],
)
def test_the_loss_of_classes_with_limited_room_is_unknown(switch):
    names = [f"s{at}" for at in range(8)]
    flows = [
        flow(name, f"{name} to b", 0.1, priority=7 * (at % 2)) for at, name in enumerate(names)
    ]
    scenario, means = answers(star(*flows, hosts=("b", *names), **switch))
    counts, _ = simulated(core_trial(scenario, seed=1))
    assert counts.flows.balance.lost.sum() > 0, "no test at all"
    assert {(each.delay_s, each.loss, each.message_rate) for each in means.flows} == {(None,) * 3}
    assert all("the room of its queue is limited" in (each.reason or "") for each in means.flows)


def test_a_limited_queue_of_mixed_lengths_is_m_g_1_k():
    scenario, means = answers(into_one(FIFTEEN, 0.06, frames=MIXED, queue=4))
    lost, delays = [], []
    for seed in range(REPLICATIONS):
        found = simulated(core_trial(scenario, seed=seed))[0].flows
        lost.append(found.balance.lost[:, 0].sum() / found.balance.sent.sum())
        delays.append(found.one_way.sum_ps.sum() / found.one_way.count.sum() / 1e12)
    # Fifteen senders of 6% each are nearly a Poisson process, as above.
    assert means.flows[0].loss == pytest.approx(np.mean(lost), rel=0.1)
    assert means.flows[0].delay_s == pytest.approx(np.mean(delays), rel=0.05)
    assert np.mean(lost) > 0.02, "no test at all"


@pytest.mark.parametrize(
    ("switch", "queue", "reason"),
    [
        # Two regular flows: the port holds two frames at most, and the source one message.
        ({"queue": 2}, None, None),
        ({"queue_size": "2 kB"}, None, None),
        ({}, 1, None),
        ({"buffer": {"size": "2 kB"}}, None, None),
        ({"buffer": {"size": "1999 B"}}, None, "the receive buffer of s may be full"),
    ],
)
def test_room_that_cannot_be_full_is_no_limit(switch, queue, reason):
    regular = {"regular": "5 ms"}
    one = flow("f", "s0 to b", arrivals=regular, queue=queue)
    other = flow("g", "s1 to b", arrivals=regular)
    (first, _) = answers(star(one, other, hosts=("b", "s0", "s1"), **switch))[1].flows
    assert (first.reason is None) == (reason is None), first.reason
    if reason is None:
        assert first.loss == 0
    else:
        assert first.delay_s is None
        assert reason in (first.reason or "")


@pytest.mark.parametrize(
    ("switch", "keys", "reason"),
    [
        (
            {
                "classes": [
                    {"priorities": [4, 5, 6, 7], "quantum": "1538 B"},
                    {"priorities": [0, 1, 2, 3], "quantum": "1538 B"},
                ]
            },
            {"priority": 7},
            "deficit round robin has no mean",
        ),
        (
            {
                "classes": [
                    {"priorities": [4, 5, 6, 7], "idle_slope": "8 Mb/s"},
                    {"priorities": [0, 1, 2, 3]},
                ]
            },
            {"priority": 7},
            "a credit-based shaper has no mean",
        ),
        ({}, {"queue": 3, "arrivals": ON_OFF}, "its host has room for 3 messages"),
        (
            {"ingress": {"name": "in", "fixed": "1 ms", "queue": 2}},
            {},
            "its room is limited, and stages have no model",
        ),
    ],
)
def test_what_no_model_has_gives_its_reason(switch, keys, reason):
    flows = flow("f", "s0 to b", 0.3, **keys), flow("g", "s1 to b", 0.3)
    (first, second) = answers(star(*flows, hosts=("b", "s0", "s1"), **switch))[1].flows
    assert first.delay_s is None
    assert reason in (first.reason or "")
    # What shares a queue with it has no mean either.
    assert second.delay_s is None


def test_a_source_with_room_alone_on_its_way_is_m_g_1_k_and_no_saturated_one():
    # 480 octets, preamble and gap at 10 Mb/s: 400 us a message, 390.4 us until its last bit. At
    # 100 messages/s the load is 0.04, and five are hardly ever there: M/D/1.
    light = link(em.flow("f", "a", "b", frames="480 B", arrivals={"poisson": "100 /s"}, queue=5))
    (found,) = answers(light)[1].flows
    wait_s = 400e-6 * 0.04 / (2 * 0.96)
    assert found.cautions == ()
    assert found.delay_s == pytest.approx(390.4e-6 + wait_s, rel=1e-7)
    assert found.message_rate == pytest.approx(100, rel=1e-7)
    assert found.loss == pytest.approx(0, abs=1e-6)
    # M/D/1/5 at a load of 0.85, and M/G/1/2 of a mix at 1.5.
    full = light.changed({"flows.0.arrivals": {"poisson": "2125 /s"}})
    (found,) = answers(full)[1].flows
    known = gross_2008_m_d_1_k(0.85, room=5)
    assert found.loss == pytest.approx(float(known.loss), rel=1e-12)
    assert found.delay_s == pytest.approx(390.4e-6 + float(known.wait) * 400e-6, rel=1e-9)
    assert (round(found.delay_s * 1e6, 1), round(found.loss, 5)) == (936.2, 0.04848)
    for experiment in (full, link(flow("f", "a to b", 1.5, frames=MIXED, queue=2))):
        network, means = answers(experiment)
        seen, half_width = simulated_delays(network)
        counts = [simulated(core_trial(network, seed=seed))[0].flows for seed in range(4)]
        lost = [1 - of.arrived[0] / of.offered[0] for of in counts]
        (mean,) = means.flows
        assert mean.delay_s == pytest.approx(seen[0], abs=half_width[0])
        assert mean.loss == pytest.approx(np.mean(lost), abs=4 * np.std(lost))


def test_what_a_source_with_room_loses_does_not_come_to_the_next_queue():
    # Two sources of 30% of their wires, with room for one message each: they lose 3 / 13 (Erlang:
    # load / (1 + load)), and twice 3 / 13 of a wire comes to the port.
    sources = [flow(name, f"{name} to b", 0.3, queue=1) for name in ("s0", "s1")]
    network, means = answers(star(*sources, hosts=("b", "s0", "s1")))
    assert [each.loss for each in means.flows] == [pytest.approx(3 / 13)] * 2
    assert means.ports[1].utilisation == pytest.approx(6 / 13)
    seen, _ = simulated_delays(network)
    assert [each.delay_s for each in means.flows] == pytest.approx(seen, rel=0.1)


@pytest.mark.parametrize(
    ("keys", "changes"),
    [
        # Messages are handed to the port at once, and wait in its ring before they wait here.
        ({"priority": 7}, {"network.classes": 2}),
        ({}, {"network.hosts.0": em.host("a", model="pc"), "network.models": PC}),
        ({"arrivals": ON_OFF}, {}),
    ],
)
def test_a_source_with_room_has_a_model_only_where_its_messages_wait_for_their_wire(keys, changes):
    source = flow("f", "a to b", 0.9, queue=3, **keys)
    (found,) = answers(link(source).changed(changes))[1].flows
    assert (found.delay_s, found.loss, found.message_rate) == (None, None, None)
    assert "its host has room for 3 messages" in (found.reason or "")


CALL = em.flow(
    "call",
    "a",
    "b",
    data={"samples": {"least": "172 B", "most": "972 B", "overhead": "12 B"}},
    arrivals={"coder": {"codec": "g711"}},
)
"""Speech by G.711 in packets of 20 ms or more."""


def test_a_coders_delay_begins_with_the_oldest_sample():
    # G.711: 160 samples of 125 us, the oldest of which waits for 159 others; a packet of 172 octets
    # has 226 with its headers, preamble and tag of none, of 800 ns each.
    network, means = answers(link(CALL))
    assert means.flows[0].cautions == ()
    assert means.flows[0].delay_s == pytest.approx(159 * 125e-6 + 226 * 0.8e-6, rel=1e-12)
    seen, _ = simulated_delays(network)
    assert means.flows[0].delay_s == pytest.approx(seen[0], rel=1e-9)
    # Talks of 20 ms on average end before most packets have 160 samples: with the first silent one.
    # P (1 - q^159) / (1 - q), q = e^(-P / 20 ms).
    spurts = {"codec": "g711", "talk": "20 ms", "silence": "100 ms"}
    network, means = answers(link({**CALL, "arrivals": {"coder": spurts}}))
    more = math.exp(-0.125 / 20)
    gathered_s = 125e-6 * (1 - more**159) / (1 - more)
    assert means.flows[0].delay_s == pytest.approx(gathered_s + 226 * 0.8e-6, rel=1e-3)
    seen, half_width = simulated_delays(network)
    assert means.flows[0].delay_s == pytest.approx(seen[0], abs=half_width[0])


def test_a_coder_beyond_its_wire_has_no_mean_as_its_packets_grow():
    (found,) = answers(link(CALL).changed({"network.rate": "64 kb/s"}))[1].flows
    assert found.delay_s is None
    assert found.reason == "its packets grow while they wait for wire a → b, and have no model"


def test_a_regular_source_beyond_its_wire_waits_ever_longer():
    # Without any variance the wait is nothing up to the rate of the wire, 816 us a frame, and
    # without end beyond it.
    for period, is_stable in (("817 us", True), ("816 us", True), ("815 us", False)):
        (found,) = answers(link(flow("f", "a to b", arrivals={"regular": period})))[1].flows
        assert (found.delay_s is not None) == is_stable
        assert ("has no room for its load" in (found.reason or "")) != is_stable
    assert marchal(1.0, 1.0, 0.0, 0.0) == 0
    assert marchal(1.1, 1.0, 0.0, 0.0) == math.inf


def high_behind_low(**keys: object) -> ExperimentTables:
    """High and low frames over two hops: what waited behind a low frame waits for it again."""
    return em.network(
        rate="100 Mb/s",
        classes=2,
        hosts=["a", "c", "z"],
        switches=["s1", "s2"],
        links=[("a", "s1"), ("c", "s1"), ("s1", "s2"), ("s2", "z")],
        flows=[
            flow("high", "a to z", 0.1, frames="64 B", priority=7),
            flow("low", "c to z", 0.5, frames="1518 B", priority=0),
        ],
        phases={"transmit": "3.3 s", "measure": "last 3 s", "drain": "10 ms"},
        **keys,
    )


def test_a_high_frame_waits_at_the_next_switch_for_the_low_one_that_it_waited_for():
    network, means = answers(high_behind_low())
    # With preamble, tag and gap 7.04 and 123.36 us. At s1 a high frame waits as Cobham's:
    # R = (0.1 x 7.04 + 0.5 x 123.36) / 2 over 1 - 0.1.
    high_us, low_us = 88 * 0.08, 1542 * 0.08
    first_us = (0.1 * high_us + 0.5 * low_us) / 2 / 0.9
    # At s2 it waits for a low frame of its busy period at s1 for the difference of their times.
    # (1 - 0.6) / (1 - 0.1) of the high frames have none before them; what is left from before has
    # decayed by the idle time, in which busy periods with a low frame come at the rate d.
    rates = np.array([0.1 / high_us, 0.5 / low_us])
    short = 0.0
    for _ in range(200):  # probability of a busy period without a low frame
        short = rates[0] / rates.sum() * math.exp(-rates.sum() * (1 - short) * high_us)
    decay = rates.sum() * (1 - short)
    step_us = low_us - high_us
    second_us = step_us - 0.4 / 0.9 * (1 - math.exp(-decay * step_us)) / decay
    assert second_us > 0.5 * step_us
    times_us = 3 * (88 - 12) * 0.08
    high, low = means.flows
    assert high.delay_s == pytest.approx((first_us + second_us + times_us) * 1e-6, rel=1e-9)
    assert high.cautions == low.cautions == (Caution.APPROXIMATION,)
    # Of low frames, the longest, none waits at s2 for another. Before each switch they come one by
    # one from their host, which is an approximation.
    seen, half_width = simulated_delays(network)
    assert high.delay_s == pytest.approx(seen[0], abs=max(half_width[0], 0.01 * seen[0]))
    assert low.delay_s == pytest.approx(seen[1], rel=0.02)


def test_what_meets_mixed_lengths_behind_their_wire_finds_their_work():
    mixed = flow("mixed", "a to b", 0.7, frames="64 B x 1 + 1518 B x 1")
    rare = flow("rare", "c to b", 0.005, frames="64 B")
    hosts = {"hosts": ("a", "b", "c")}
    # A Poisson frame that is hardly ever there finds the work that the mixed ones leave at the
    # port: by Little's law the rate of their frames times E[S²] / 2 in service and E[S W] waiting.
    # Only the short ones wait there, for long ones that they waited for at their own wire.
    works_us = np.array([84, 1538]) * 0.8
    rate = 0.7 / works_us.mean()
    ((again_us, _),) = second_queue(rate * np.array([[0.5, 0.5]]), works_us)
    wait_us = rate * ((works_us**2).mean() / 2 + 0.5 * works_us[0] * again_us)
    delay_s = (2 * 72 * 0.8 + wait_us) * 1e-6
    light = {**rare, "arrivals": {"poisson": "0.001 /s"}}
    _, means = answers(star(mixed, light, **hosts))
    assert means.flows[1].delay_s == pytest.approx(delay_s, rel=1e-6)
    network, means = answers(star(mixed, rare, **hosts))
    seen, half_width = simulated_delays(network)
    assert half_width[1] < 0.05 * seen[1]
    assert means.flows[1].delay_s == pytest.approx(seen[1], abs=half_width[1])


def test_one_class_with_room_of_its_own_is_one_limited_queue():
    names = [f"s{at}" for at in range(8)]
    found = [
        answers(into_one(names, 0.1, priority=1, **room))[1]
        for room in (
            {"queue": 3, "classes": 1},
            {"classes": [{"priorities": [0, 1, 2, 3, 4, 5, 6, 7], "queue": 3}]},
        )
    ]
    assert found[0] == found[1]
    assert found[0].flows[0].loss is not None
    assert found[0].flows[0].loss > 0.05


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"arrivals": {"poisson": "1 /s"}, "response": {}}, "its requests wait for responses"),
        ({"arrivals": {"poisson": "2000 /s"}}, "has no room for its load"),
    ],
)
def test_what_has_no_mean_says_why(keys, reason):
    _, means = answers(link(flow("f", "a to b", **keys)))
    assert means.flows[0].delay_s is None
    assert reason in (means.flows[0].reason or "")


def alone(**keys: object) -> tuple[FlowMean, FlowCounts]:
    """A flow that has a network to itself: its means, and its counts in a simulation."""
    network = star(flow("f", "a to b", **{"frames": None, **keys}), rate="100 Mb/s")
    # 100 km of cable to the switch: half a millisecond.
    scenario, means = answers(network.changed({"network.links.0.length": "100 km"}))
    return means.flows[0], simulated(core_trial(scenario, seed=1))[0].flows


@pytest.mark.parametrize("lengths", [{"frames": "1000 B"}, {"data": "4000 B"}])
def test_a_saturated_source_alone_is_as_fast_as_its_wire(lengths):
    mean, seen = alone(arrivals="saturated", **lengths)
    assert (mean.cautions, mean.reason, mean.loss) == ((), None, 0)
    assert mean.delay_s is not None
    assert round(mean.delay_s * 1e12) == seen.one_way.max_ps[0]
    assert mean.message_rate == pytest.approx(seen.messages[0] / 9, abs=1 / 9)


def test_short_messages_wait_for_long_ones_behind_a_saturated_wire():
    mean, seen = alone(frames="64 B x 1 + 1518 B x 1", arrivals="saturated")
    assert mean.delay_s is None
    assert "short messages wait for long ones" in (mean.reason or "")
    assert mean.message_rate == pytest.approx(seen.messages[0] / 9, rel=0.01)


@pytest.mark.parametrize("arrivals", ["saturated", {"regular": "20 ms"}], ids=str)
def test_a_round_trip_alone_is_its_times_along_the_path(arrivals):
    response = {"data": "3000 B", "think": "1 ms"}
    mean, seen = alone(data="100 B", arrivals=arrivals, response=response)
    assert (mean.cautions, mean.reason, mean.loss) == ((), None, 0)
    assert mean.delay_s is not None
    assert mean.round_trip_s is not None
    assert round(mean.delay_s * 1e12) == seen.one_way.max_ps[0]
    assert round(mean.round_trip_s * 1e12) == seen.round_trip.max_ps[0]
    assert mean.message_rate == pytest.approx(seen.messages[0] / 9, abs=1 / 9)


@pytest.mark.parametrize("window", ["6 kB", "16 kB", "64 kB"])
@pytest.mark.parametrize("acknowledge", [None, {"segments": 1, "time": "1 ms"}])
def test_a_transfer_alone_moves_a_window_a_round_trip_or_what_its_wire_carries(window, acknowledge):
    tcp = {"window": window, "nagle": False, "acknowledge": acknowledge}
    mean, seen = alone(transfer={"stream": {}, "tcp": tcp})
    assert mean.cautions == (Caution.APPROXIMATION,)  # its slow start is left out
    # A window more or less in 9 s.
    seen_bps = seen.data_octets[0] * 8 / 9
    assert mean.data_rate_bps == pytest.approx(seen_bps, abs=8 * 64_000 / 9)
    assert mean.data_rate_bps == pytest.approx(seen_bps, rel=0.002)


def test_a_window_between_acknowledgements_has_no_rate():
    mean, _ = alone(transfer={"stream": {}, "tcp": {"window": "8 kB", "nagle": False}})
    assert mean.data_rate_bps is None
    assert "no whole number of acknowledgements" in (mean.reason or "")


def test_what_meets_responses_on_their_way_back_has_no_mean():
    rare = {"poisson": "10 /s"}
    ask = em.flow("ask", "a", "b", data="100 B", arrivals=rare, response={"data": "1000 B"})
    _, means = answers(link(ask, flow("other", "b to a", arrivals=rare)))
    assert means.flows[1].delay_s is None
    assert "flow 'ask' is there" in (means.flows[1].reason or "")


def test_formulas_of_single_queues():
    # Exponential services of mean 1: W = ρ / (1 − ρ); constant ones half of it.
    assert m_g_1(0.8, 1, 2) == pytest.approx(4)
    assert m_g_1(0.8, 1, 1) == pytest.approx(2)
    assert m_g_1(1.0, 1, 1) == math.inf
    # One class is M/G/1; of two alike the mean over both is, too (conservation).
    both = cobham(np.array([0.3, 0.5]), np.ones(2), np.full(2, 2.0))
    assert both == pytest.approx([0.8 / 0.7, 0.8 / 0.7 / 0.2])
    assert 0.3 * both[0] + 0.5 * both[1] == pytest.approx(0.8 * m_g_1(0.8, 1, 2))
    # Exact for Poisson arrivals.
    assert marchal(0.8, 1, 1, 1) == pytest.approx(4)


def test_the_second_queue_of_two_lengths_by_a_recursion_of_frames():
    # 400 000 frames through both queues, Lindley's recursion at each.
    generator = np.random.default_rng(3)
    count, rate = 400_000, 0.5
    works = np.where(generator.random(count) < 0.3, 3.0, 0.5)
    arrive = np.cumsum(generator.exponential(1 / rate, count))
    waits = np.empty(count)
    first = second = 0.0
    for at in range(count):
        first = max(first, arrive[at]) + works[at]
        waits[at] = max(second - first, 0)
        second = max(second, first) + works[at]
    (expected,) = second_queue(rate * np.array([[0.7, 0.3]]), np.array([0.5, 3.0]))
    assert expected[1] == 0
    assert (waits[works == 3.0] < 1e-9).all()
    short = waits[works == 0.5].reshape(-1)[: count // 2]
    parts = short[: len(short) // 50 * 50].reshape(50, -1).mean(axis=1)
    half_width = stats.t.ppf(0.9995, 49) * parts.std(ddof=1) / math.sqrt(50)
    assert half_width < 0.05
    assert abs(parts.mean() - expected[0]) < half_width


def test_the_second_queue_of_two_classes_by_a_recursion_of_frames():
    # 400 000 frames of two classes and three works through a queue in strict priority, without
    # preemption, and in its order through a second one with the same times.
    generator = np.random.default_rng(5)
    count, works = 400_000, np.array([0.5, 1.0, 4.0])
    rates = np.array([[0.10, 0.05, 0.02], [0.12, 0.06, 0.05]])
    kinds = generator.choice(6, count, p=rates.ravel() / rates.sum())
    arrive = np.cumsum(generator.exponential(1 / rates.sum(), count))
    waiting: tuple[deque[int], deque[int]] = (deque(), deque())
    first = second = 0.0
    waits = np.full(count, np.nan)
    ahead = 0
    while ahead < count or any(waiting):
        if not any(waiting):
            first = max(first, arrive[ahead])
        while ahead < count and arrive[ahead] <= first:
            waiting[kinds[ahead] // 3].append(ahead)
            ahead += 1
        frame = (waiting[0] or waiting[1]).popleft()
        first += works[kinds[frame] % 3]
        waits[frame] = max(second - first, 0)
        second = max(second, first) + works[kinds[frame] % 3]
    expected = second_queue(rates, works).ravel()
    assert expected[2] == expected[5] == 0
    for kind in (0, 1, 3, 4):
        mine = waits[kinds == kind]
        parts = mine[: len(mine) // 50 * 50].reshape(50, -1).mean(axis=1)
        half_width = stats.t.ppf(0.9995, 49) * parts.std(ddof=1) / math.sqrt(50)
        assert half_width < 0.1 * expected[kind]
        assert abs(parts.mean() - expected[kind]) < half_width, kind
