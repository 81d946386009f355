"""Traffic classes, priorities and token buckets in a file: what the plan has of them."""

import ethermeter as em
import jsonschema
import pytest
from ethermeter.experiment import json_schema
from ethermeter.scenario import Class, Scenario, Shaper, TokenBucketArrivals
from faults_at import faults_of
from shared_experiments import CLASSES, GATEWAY, scenario, trials


def classes_of(scenario: Scenario) -> list[tuple[Class, ...]]:
    hosts = [node.kind.host.classes for node in scenario.nodes if node.kind.host is not None]
    switches = [node.kind.switch.classes for node in scenario.nodes if node.kind.switch is not None]
    return [*hosts, *switches]


@pytest.mark.parametrize(
    ("count", "priorities"),
    [
        # 802.1Q-2022 table 8-5, highest class first.
        (1, [(0, 1, 2, 3, 4, 5, 6, 7)]),
        (2, [(4, 5, 6, 7), (0, 1, 2, 3)]),
        (3, [(6, 7), (4, 5), (0, 1, 2, 3)]),
        (4, [(6, 7), (4, 5), (2, 3), (0, 1)]),
        (5, [(7,), (6,), (4, 5), (2, 3), (0, 1)]),
        (6, [(7,), (6,), (4, 5), (2, 3), (0,), (1,)]),
        (7, [(7,), (6,), (4, 5), (3,), (2,), (0,), (1,)]),
        (8, [(7,), (6,), (5,), (4,), (3,), (2,), (0,), (1,)]),
    ],
)
def test_a_number_of_classes_has_the_mapping_of_the_standard(count, priorities):
    experiment = CLASSES.changed({"network.switches.0.classes": count})
    jsonschema.validate(experiment, json_schema())
    *hosts, switch = classes_of(scenario(experiment))
    assert [each.priorities for each in switch] == priorities
    assert hosts == [(), ()]


def test_classes_of_the_network_are_those_of_nodes_without_their_own():
    own = [
        {"priorities": [6, 7], "idle_slope": "2 Mb/s", "queue": 9},
        {"priorities": [4, 5], "quantum": "1538 B"},
        {"priorities": [0, 1, 2, 3], "quantum": "3076 B", "queue_size": "64 kB"},
    ]
    experiment = CLASSES.changed({"network.switches.0.classes": own, "network.classes": 2})
    jsonschema.validate(experiment, json_schema())
    first, second, switch = classes_of(scenario(experiment))
    assert first == second == (Class(priorities=(4, 5, 6, 7)), Class(priorities=(0, 1, 2, 3)))
    assert switch == (
        Class(priorities=(6, 7), idle_slope_bps=2_000_000, queue_frames=9),
        Class(priorities=(4, 5), quantum_octets=1538),
        Class(priorities=(0, 1, 2, 3), quantum_octets=3076, queue_octets=64_000),
    )


def test_flows_have_priorities_and_token_buckets():
    control, bulk = scenario(CLASSES).flows
    assert (control.priority, bulk.priority) == (6, None)
    assert control.arrivals == TokenBucketArrivals(
        rate_bps=1_000_000, burst_octets=88, phase_ps=3_000_000
    )
    assert (control.shaper, bulk.shaper) == (None, Shaper(rate_bps=8_000_000, burst_octets=3188))


def test_an_offered_load_counts_tags():
    # Frames of 1514, 1514 and 94 B (3008 octets of UDP in packets of 1476), 20 B around each:
    # 3182 octets of 800 ns; with three tags 12 octets more.
    plain = CLASSES.changed({"flows.1.shaper.burst": "4000 B"})
    tagged = plain.changed({"flows.1.priority": 1})
    means = [scenario(each).flows[1].arrivals.mean_ps for each in (plain, tagged)]
    assert means[1] - means[0] == 12 * 800_000 * 2


def test_priorities_and_classes_can_be_varied():
    vary = {"network.classes": [1, 8], "flows.control.priority": [0, 7]}
    found = trials(CLASSES.changed({"network.classes": 1}, vary=vary))
    assert [trial.scenario.flows[0].priority for trial in found] == [0, 7, 0, 7]
    assert [len(classes_of(trial.scenario)[0]) for trial in found] == [1, 1, 8, 8]


def test_a_gateway_of_a_bus_has_classes_at_its_other_ports():
    def control(priority: int | None) -> object:
        source = {"regular": "300 us", "phase": "0 s"}
        keys = {"frames": "1000 B", "arrivals": source, "priority": priority}
        return em.flow("control", "node2", "far", **keys)

    up = GATEWAY["flows"][0]
    fast = {"network.links.0.rate": "9 Mb/s", "phases": {"transmit": "20 ms", "measure": "all"}}
    # In so short a trial the order on the bus may hide what the other port does.
    plain = GATEWAY.changed({**fast, "seed": 2, "flows": [up, control(None)]})
    classes = plain.changed({"network.switches.0.classes": 2})
    run, same = em.simulate(plain), em.simulate(classes)
    # Without priorities classes change nothing, the bus included.
    for name in ("up", "control"):
        assert run.value("one_way_delay", name) == same.value("one_way_delay", name)
    first = em.simulate(classes.changed({"flows": [up, control(6)]}))
    assert first.value("one_way_delay", "control") < same.value("one_way_delay", "control")
    # A priority needs a port that heeds it, and the port at the bus does not.
    (fault,) = faults_of(
        lambda: trials(
            plain.changed(
                {
                    "network.hosts.1.classes": 2,
                    "flows": [up, control(6)],
                }
            )
        )
    )
    assert fault.key == "network.hosts.1.classes"
    assert "expected a full-duplex link" in fault.allowed
