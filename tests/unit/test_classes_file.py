"""Traffic classes, priorities and token buckets in a file: what the plan has of them."""

import jsonschema
import pytest
from ethermeter import plan
from ethermeter.experiment import json_schema, load
from ethermeter.experiment.toml import parsed
from ethermeter.faults import InputError
from ethermeter.scenario import Class, Scenario, Shaper, TokenBucketArrivals
from networks import network

FLOWS = """\
[[flows]]
name = "control"
from = "a"
to = "b"
frames = "64 B"
priority = 6
arrivals = { token_bucket = { rate = "1 Mb/s", burst = "88 B", phase = "3 us" } }
[[flows]]
name = "bulk"
from = "b"
to = "a"
data = "3000 B"
arrivals = { poisson_load = 0.5 }
shaper = { rate = "8 Mb/s", burst = "3188 B" }
[phases]
transmit = "10 ms"
measure = "all"
"""
SWITCH = "classes = 8"


def scenario_of(tmp_path, text: str) -> Scenario:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    jsonschema.validate(parsed(text, file="x"), json_schema())
    (trial,) = plan.expand([load(path)]).trials
    return trial.scenario


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
def test_a_number_of_classes_has_the_mapping_of_the_standard(tmp_path, count, priorities):
    text = network(FLOWS, title="x", switch=f"classes = {count}")
    *hosts, switch = classes_of(scenario_of(tmp_path, text))
    assert [each.priorities for each in switch] == priorities
    assert hosts == [(), ()]


def test_classes_of_the_network_are_those_of_nodes_without_their_own(tmp_path):
    own = (
        'classes = [{ priorities = [6, 7], idle_slope = "2 Mb/s", queue = 9 },'
        ' { priorities = [4, 5], quantum = "1538 B" },'
        ' { priorities = [0, 1, 2, 3], quantum = "3076 B", queue_size = "64 kB" }]'
    )
    text = network(FLOWS, title="x", switch=own).replace("[network]", "[network]\nclasses = 2")
    first, second, switch = classes_of(scenario_of(tmp_path, text))
    assert first == second == (Class(priorities=(4, 5, 6, 7)), Class(priorities=(0, 1, 2, 3)))
    assert switch == (
        Class(priorities=(6, 7), idle_slope_bps=2_000_000, queue_frames=9),
        Class(priorities=(4, 5), quantum_octets=1538),
        Class(priorities=(0, 1, 2, 3), quantum_octets=3076, queue_octets=64_000),
    )


def test_flows_have_priorities_and_token_buckets(tmp_path):
    control, bulk = scenario_of(tmp_path, network(FLOWS, title="x", switch=SWITCH)).flows
    assert (control.priority, bulk.priority) == (6, None)
    assert control.arrivals == TokenBucketArrivals(
        rate_bps=1_000_000, burst_octets=88, phase_ps=3_000_000
    )
    assert (control.shaper, bulk.shaper) == (None, Shaper(rate_bps=8_000_000, burst_octets=3188))


def test_an_offered_load_counts_tags(tmp_path):
    # Frames of 1514, 1514 and 94 B (3008 octets of UDP in packets of 1476), 20 B around each:
    # 3182 octets of 800 ns; with three tags 12 octets more.
    text = network(FLOWS, title="x", switch=SWITCH).replace("3188 B", "4000 B")
    tagged = text.replace('data = "3000 B"', 'data = "3000 B"\npriority = 1')
    means = [scenario_of(tmp_path, each).flows[1].arrivals.mean_ps for each in (text, tagged)]
    assert means[1] - means[0] == 12 * 800_000 * 2


def test_priorities_and_classes_can_be_varied(tmp_path):
    text = network(FLOWS, title="x", switch=SWITCH).replace("[network]", "[network]\nclasses = 1")
    path = tmp_path / "x.toml"
    vary = '[vary]\n"network.classes" = [1, 8]\n"flows.control.priority" = [0, 7]\n'
    path.write_text(text + vary, encoding="utf-8")
    trials = plan.expand([load(path)]).trials
    assert [trial.scenario.flows[0].priority for trial in trials] == [0, 7, 0, 7]
    assert [len(classes_of(trial.scenario)[0]) for trial in trials] == [1, 1, 8, 8]


@pytest.mark.parametrize(
    ("change", "key", "allowed"),
    [
        (("priority = 6", "priority = 8"), "flows.0.priority", "expected a priority from 0 to 7"),
        (("priority = 6", "priority = true"), "flows.0.priority", "a priority from 0 to 7"),
        (("classes = 8", "queue = 9"), "flows.0.priority", "such as network.classes = 8"),
        (("classes = 8", "classes = 9"), "network.switches.0.classes", "from 1 to 8, or a list"),
        (
            ("classes = 8", "classes = [{ priorities = [0, 1, 2, 3, 4, 5, 6] }]"),
            "network.switches.0.classes",
            "7 is in no class",
        ),
        (
            ("classes = 8", "classes = [{ priorities = [0,1,2,3,4,5,6,7] }, { priorities = [7] }]"),
            "network.switches.0.classes",
            "7 is in 2 classes",
        ),
        (
            ("classes = 8", "classes = [{ priorities = [0,1,2,3,4,5,6,7], slope = 3 }]"),
            "network.switches.0.classes.0.slope",
            "unknown key",
        ),
        (
            (
                "classes = 8",
                "classes = [{ priorities = [0,1,2,3,4,5,6], idle_slope = '6 Mb/s' },"
                " { priorities = [7], idle_slope = '4 Mb/s' }]",
            ),
            "network.switches.0.classes",
            "less than the rate of every link of s, here 10 Mb/s",
        ),
        (
            (
                "classes = 8",
                "classes = [{ priorities = [0,1,2,3,4,5,6] },"
                " { priorities = [7], idle_slope = '4 Mb/s' }]",
            ),
            "network.switches.0.classes",
            "classes with idle_slope before all others",
        ),
        (
            (
                "classes = 8",
                "classes = [{ priorities = [0,1,2,3], quantum = '99 B' }, { priorities = [7, 6] },"
                " { priorities = [5, 4], quantum = '99 B' }]",
            ),
            "network.switches.0.classes",
            "classes with quantum next to each other",
        ),
        (
            ('burst = "88 B"', 'burst = "87 B"'),
            "flows.0.arrivals.token_bucket.burst",
            "at least the longest message: 88 B on the wire",
        ),
        (('burst = "3188 B"', 'burst = "1 kB"'), "flows.1.shaper.burst", "3182 B on the wire"),
        (('rate = "8 Mb/s", burst', "burst"), "flows.1.shaper.rate", "required"),
        (
            (
                "arrivals = { poisson_load = 0.5 }",
                "transfer = { stream = {}, tcp = { window = '64 kB' } }",
            ),
            "flows.1.shaper",
            "not allowed with transfer",
        ),
        (
            ('phase = "3 us" } }', 'phase = "3 us" } }\nqueue = 5'),
            "flows.0.queue",
            "not allowed with saturated arrivals or a token bucket",
        ),
    ],
)
def test_a_fault_is_named_with_its_key_and_what_is_allowed(tmp_path, change, key, allowed):
    text = network(FLOWS, title="x", switch=SWITCH)
    assert change[0] in text
    path = tmp_path / "x.toml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        plan.expand([load(path)])
    faults = {each.key: each.allowed for each in raised.value.faults}
    assert key in faults, faults
    assert allowed in faults[key]
