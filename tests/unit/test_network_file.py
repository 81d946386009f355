"""Networks in experiment files: what they say, and every fault of them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from ethermeter import _core, plan
from ethermeter.experiment import json_schema, load
from ethermeter.experiment.components import shipped_model, shipped_models
from ethermeter.experiment.toml import parsed
from ethermeter.trial import Live
from faults_at import expect_fault, faults_of
from program import invoke

NETWORK = """\
[network]
rate = "100 Mb/s"
[[network.hosts]]
name = "sender"
count = 3
[[network.hosts]]
name = "sink"
[[network.switches]]
name = "s"
[[network.links]]
ends = ["sender", "s"]
[[network.links]]
ends = ["sink", "s"]
"""
FLOW = """\
[[flows]]
name = "load"
from = "sender"
to = "sink"
frames = "64 B"
arrivals = "saturated"
"""
HEAD = 'title = "t"\n'


def scenario(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    experiment = load(path)
    at = experiment.scenarios.at([0] * len(experiment.sweeps))
    found: dict[str, Any] = json.loads(msgspec.json.encode(at))
    return found


def test_a_group_makes_hosts_links_and_flows(tmp_path):
    found = scenario(tmp_path, HEAD + NETWORK + FLOW)
    assert [node["name"] for node in found["nodes"]] == [
        "sender1",
        "sender2",
        "sender3",
        "sink",
        "s",
    ]
    assert [[end["node"] for end in link["ends"]] for link in found["links"]] == [
        ["sender1", "s"],
        ["sender2", "s"],
        ["sender3", "s"],
        ["sink", "s"],
    ]
    assert [(flow["name"], flow["from"], flow["to"]) for flow in found["flows"]] == [
        ("load sender1", "sender1", ["sink"]),
        ("load sender2", "sender2", ["sink"]),
        ("load sender3", "sender3", ["sink"]),
    ]
    assert found["links"][0]["ps_per_octet"] == 80_000


def test_pairs_say_who_sends_to_whom(tmp_path):
    each = FLOW.replace('to = "sink"', 'to = "sender"\npairs = "all"')
    found = scenario(tmp_path, HEAD + NETWORK + each)["flows"]
    assert len(found) == 6
    assert all(flow["from"] not in flow["to"] for flow in found)
    assert found[0]["name"] == "load sender1 to sender2"
    order = FLOW.replace('to = "sink"', 'to = ["sender2", "sender3", "sink"]\npairs = "in order"')
    assert [
        (flow["from"], flow["to"]) for flow in scenario(tmp_path, HEAD + NETWORK + order)["flows"]
    ] == [
        ("sender1", ["sender2"]),
        ("sender2", ["sender3"]),
        ("sender3", ["sink"]),
    ]
    cast = FLOW.replace(
        'from = "sender"\nto = "sink"', 'from = "sink"\nto = "sender"\ncast = "multicast"'
    )
    (flow,) = scenario(tmp_path, HEAD + NETWORK + cast)["flows"]
    assert (flow["address"], flow["to"], flow["name"]) == (
        "multicast",
        ["sender1", "sender2", "sender3"],
        "load",
    )


def test_everything_that_can_be_said_of_a_network_reaches_the_core(tmp_path):
    text = (
        HEAD
        + """\
[network]
rate = "1 Gb/s"
[network.models.pc]
ring = 8
overlap = "14 B"
buffer = { size = "64 kB", pause = { high = "32 kB", low = "16 kB", quanta = 65535 } }
[[network.models.pc.receive]]
name = "irq"
delay = "5 us"
extra = "-4 B"
queue = 16
coalesce = { frames = 8, time = "100 us" }
[[network.models.pc.send]]
name = "pci"
per_byte = "7.75 ns"
fixed = "8.7 us"
resource = "pci"
burst = { size = "380 B", time = "100 ns" }
overlap = "64 B"
[[network.hosts]]
name = "a"
model = "pc"
[[network.hosts]]
name = "b"
[[network.hosts]]
name = "c"
[[network.hosts]]
name = "d"
[[network.switches]]
name = "s"
learning = { learns = { age = "300 s", addresses = 8192 } }
fabric.crossbar.local.name = "local"
fabric.crossbar.inward = { name = "in", per_byte = "4 ns" }
fabric.crossbar.outward.name = "out"
ingress = { name = "lookup", fixed = "1 us" }
queue = 100
queue_size = "64 kB"
overlap = "14 B"
[[network.routers]]
name = "r"
forward = { name = "forward", fixed = "10 us" }
queue = 50
[[network.hubs]]
name = "h"
delay = "500 ns"
[[network.links]]
ends = ["a", "s"]
modules = [0, 1]
delay = "50 ns"
[[network.links]]
ends = ["s", "r"]
length = "100 m"
preamble = "8 B"
gap = "12 B"
[[network.links]]
ends = ["b", "r"]
[[network.links]]
ends = ["r", "h"]
rate = "10 Mb/s"
[[network.links]]
ends = ["h", "c"]
rate = "10 Mb/s"
[[network.links]]
ends = ["h", "d"]
rate = "10 Mb/s"
[[flows]]
from = "a"
to = "b"
data = "64 B x 7 + 5000 B x 1"
mtu = "1000 B"
arrivals = { on_off = { period = "1 ms", on = "10 ms", off = "10 ms" } }
queue = 10
service = { uniform = ["1 us", "2 us"] }
response = { data = "100 B", think = "1 us", timeout = "10 ms" }
[[flows]]
name = "bulk"
from = "c"
to = "d"
frames = "1518 B"
arrivals = { poisson_load = 0.5 }
[phases]
transmit = "50 ms"
measure = "all"
"""
    )
    found = scenario(tmp_path, text)
    network = found
    assert network["nodes"][0]["kind"]["host"] == {
        "send": [
            {
                "name": "pci",
                "resource": "pci",
                "fixed_ps": 8_700_000,
                "ps_per_octet": 7750,
                "burst": {"octets": 380, "ps": 100_000},
                "overlap_octets": 64,
            }
        ],
        "receive": [
            {
                "name": "irq",
                "extra_octets": -4,
                "delay_ps": 5_000_000,
                "queue_frames": 16,
                "coalesce": {"frames": 8, "ps": 100_000_000},
            }
        ],
        "ring": 8,
        "overlap_octets": 14,
        "buffer": {
            "octets": 64_000,
            "pause": {"high_octets": 32_000, "low_octets": 16_000, "quanta": 65_535},
        },
    }
    # 100 m at 0.585 of the speed of light.
    assert network["links"][1]["delay_ps"] == round(100 * 10**12 / (0.585 * 299_792_458))
    assert [link.get("half_duplex", False) for link in network["links"]] == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]
    assert found["flows"][0]["name"] == "flow-0"
    # 1538 octets of a 10 Mb/s link, twice as long between them.
    assert found["flows"][1]["arrivals"]["mean_ps"] == 1538 * 800_000 * 2
    outcome = _core.simulate_trial(json.dumps({"id": "x", "seed": 1, "scenario": found}))
    assert outcome.flows.completed[0] > 0
    assert outcome.flows.messages[1] > 0
    jsonschema.validate(parsed(text, file="x"), json_schema())


def test_a_live_trial_is_told_by_what_hosts_send(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        HEAD
        + NETWORK
        + FLOW.replace("frames", 'port = "packet"\nframes')
        + '[run]\nengines = ["simulation", "live"]\n'
    )
    made = plan.expand([load(path)])
    simulated, measured = (trial for trial in made.trials)
    assert (simulated.engine, measured.engine) == ("simulation", "live")
    assert measured.scenario == simulated.scenario
    assert (simulated.live, measured.live) == (None, Live(("packet",) * 3))
    assert list(json.loads(measured.line)) == [*json.loads(simulated.line), "live"]
    assert simulated.seed == measured.seed
    (tmp_path / "plan.jsonl").write_text(made.to_jsonl(), encoding="utf-8")
    assert plan.read(tmp_path / "plan.jsonl").trials == made.trials


@pytest.mark.parametrize(
    "key",
    [
        "network.rate",
        "network.links.1.delay",
        "network.hosts.sender.count",
        "network.hosts.0.count",
        "network.switches.s.queue",
        "flows.load.frames",
        "flows.frames",
        "flows.0.frames",
        "network.models.pc.send.pci.per_byte",
    ],
)
def test_any_key_can_be_varied_by_number_or_by_name(tmp_path, key):
    value = {
        "rate": '["10 Mb/s", "100 Mb/s"]',
        "count": "[1, 2]",
        "frames": '["64 B", "128 B"]',
        "queue": "[5, 10]",
    }
    text = (
        NETWORK.replace('name = "sender"', 'name = "sender"\nmodel = "pc"')
        + '[network.models.pc]\nsend = [{ name = "pci" }]\n'
        + FLOW
    )
    path = tmp_path / "x.toml"
    varied = value.get(key.split(".")[-1], '["1 ns", "2 ns"]')
    path.write_text(HEAD + text + f'[vary]\n"{key}" = {varied}\n', encoding="utf-8")
    first, second = plan.expand([load(path)]).trials
    assert first.scenario != second.scenario
    assert list(first.point) == [key]


def fault(tmp_path: Path, text: str, key: str, allowed: str) -> None:
    expect_fault(tmp_path, HEAD + text, key=key, allowed=allowed)


@pytest.mark.parametrize(
    ("change", "key", "allowed"),
    [
        (
            ('ends = ["sink", "s"]', 'ends = ["sink", "t"]'),
            "network.links.1.ends.1",
            "the name of a node or of a group: sender, sink",
        ),
        (
            ('ends = ["sink", "s"]', 'ends = ["sink", "sink"]'),
            "network.links.1.ends",
            "two different nodes",
        ),
        (
            ('name = "sink"', 'name = "sender2"'),
            "network.hosts.1.name",
            "expected a unique name; network.hosts.0 has it",
        ),
        (('rate = "100 Mb/s"\n', ""), "network.links.0.rate", "required, or else network.rate"),
        (
            ('rate = "100 Mb/s"', 'rate = "3 Mb/s"'),
            "network.rate",
            "an octet lasts a whole number of picoseconds",
        ),
        (('rate = "100 Mb/s"', "rate = 100"), "network.rate", "the unit is missing"),
        (("count = 3", "count = 0"), "network.hosts.0.count", "at least 1"),
        (("count = 3", "count = 1000"), "network", "at most 1000"),
        (
            ("count = 3", 'model = "nobody"'),
            "network.hosts.0.model",
            "expected a model of this file or one that comes with ethermeter",
        ),
        (
            ("count = 3", "colour = 3"),
            "network.hosts.0.colour",
            "unknown key; allowed: name, count, model",
        ),
        (
            ('name = "s"', 'name = "s"\nqueue = 0'),
            "network.switches.0.queue",
            'expected "unlimited" or a number of frames',
        ),
        (
            ('name = "s"', 'name = "s"\nfabric = "good"'),
            "network.switches.0.fabric",
            'expected "ideal", { shared',
        ),
        (
            ('name = "s"', 'name = "s"\nfabric = { shared = { fixed = "1 us" } }'),
            "network.switches.0.fabric.shared.name",
            "required",
        ),
        (
            ('name = "s"', 'name = "s"\nlearning = { learns = { age = "1 s" } }'),
            "network.switches.0.learning.learns.addresses",
            "required",
        ),
        (
            ('name = "s"', 'name = "s"\nbuffer = { size = "10 B" }'),
            "network.switches.0.buffer.size",
            "expected from 64 B",
        ),
        (
            (
                'name = "s"',
                'name = "s"\nbuffer = { size = "4 kB", pause = { high = "3 kB", low = "5 kB" } }',
            ),
            "network.switches.0.buffer",
            "pause.low up to pause.high",
        ),
        # The core's own words, with the file's keys.
        (
            (
                'name = "s"',
                'name = "s"\nbuffer = { size = "4 kB", pause = { high = "3950 B", low = "1 kB" } }',
            ),
            "network.switches.0.buffer.size",
            "so that what is under way finds room",
        ),
        (
            ('["sink", "s"]', '["sink", "s"]\nhalf_duplex = true\ndelay = "1 ms"'),
            "network.links.1.delay",
            "at most a slot of 512 bits",
        ),
        (
            ('["sink", "s"]', '["sink", "s"]\nhalf_duplex = true\ngap = "0 B"'),
            "network.links.1",
            "all links of a collision domain",
        ),
        (
            ('["sink", "s"]', '["sink", "s"]\nlength = "1 m"\ndelay = "1 ns"'),
            "network.links.1",
            "at most one of delay and length",
        ),
        (
            ('[[network.links]]\nends = ["sink", "s"]\n', ""),
            "network.hosts.1",
            "exactly one link, this one has 0",
        ),
        (
            ('ends = ["sink", "s"]', 'ends = ["sink", "sender"]'),
            "network.hosts.0",
            "exactly one link, this one has 2",
        ),
        (('from = "sender"', 'from = "s"'), "flows.0.from", "expected a host; s is a switch"),
        (('from = "sender"', ""), "flows.0.from", "required: name of the host that sends"),
        (
            ('to = "sink"', 'to = "sinks"'),
            "flows.0.to",
            "the name of a host or of a group of hosts: sender, sink",
        ),
        (('to = "sink"', 'to = ["sink", "sink"]'), "flows.0.to", "each of them once"),
        (
            ('from = "sender"', 'from = "sink"'),
            "flows.0.to",
            "another host than the one that sends",
        ),
        (('to = "sink"', 'to = "sender"'), "flows.0.pairs", 'required: "all"'),
        (
            ('to = "sink"', 'to = "sender"\npairs = "in order"'),
            "flows.0.to",
            "another host than the one that sends",
        ),
        (
            ('to = "sink"', 'to = "sink"\ncast = "multicast"\npairs = "all"'),
            "flows.0.pairs",
            "not allowed with multicast",
        ),
        (('frames = "64 B"', ""), "flows.0", "exactly one of frames and data"),
        (
            ('frames = "64 B"', 'frames = "64 B"\ndata = "64 B"'),
            "flows.0",
            "exactly one of frames and data",
        ),
        (
            ('frames = "64 B"', 'frames = "65 bit"'),
            "flows.0.frames",
            "whole octets, from 19 B to 65507 B",
        ),
        (
            ('frames = "64 B"', 'data = "70 kB"'),
            "flows.0.data",
            "whole octets, from 1 B to 65507 B",
        ),
        (('frames = "64 B"', 'frames = "64 B"\nmtu = "1500 B"'), "flows.0.mtu", "with data only"),
        (
            ('frames = "64 B"', 'frames = "64 B"\nresponse = { data = "1 B" }'),
            "flows.0.response.data",
            "not allowed: the flow has frames",
        ),
        (
            ('frames = "64 B"', 'frames = "64 B x 1 + 99 B x 1"\nresponse = {}'),
            "flows.0.response.frames",
            "of several lengths",
        ),
        (
            ('frames = "64 B"', 'frames = "64 B"\nport = "tcp"'),
            "flows.0.port",
            "a flow of messages over TCP is only measured; a transfer over TCP is simulated",
        ),
        (('frames = "64 B"', 'frames = "64 B"\nport = "ipx"'), "flows.0.port", 'expected "udp"'),
        (
            ('arrivals = "saturated"', 'arrivals = "saturated"\nqueue = 5'),
            "flows.0.queue",
            "not allowed with saturated",
        ),
        (
            (
                'arrivals = "saturated"',
                'arrivals = { coder = { sample = "8 bit", every = "125 us" } }',
            ),
            "flows.0.frames",
            "because arrivals are of a coder",
        ),
        (
            ('arrivals = "saturated"', "arrivals = { poisson_load = 1e-9 }"),
            "flows.0.arrivals.poisson_load",
            "every 1000 s",
        ),
        (
            ("[[flows]]", '[run]\nengines = ["idealised"]\n[[flows]]'),
            "run.engines.0",
            'expected "simulation", "theory" or "live"',
        ),
        (("[[flows]]", "[run]\nbatches = 1\n[[flows]]"), "run.batches", "at least 2"),
        (
            ("[[flows]]", "[run]\nbatch = 5\n[[flows]]"),
            "run.batch",
            "unknown key; did you mean batches? Allowed: engines, replications, batches",
        ),
        (
            ("[[flows]]", '[segment]\nstandard = "ieee-10"\n[[flows]]'),
            "segment",
            "unknown key; allowed: title",
        ),
        (('name = "load"', 'name = "frames"'), "flows.0.name", "a name that is no key of flows"),
    ],
)
def test_a_fault_is_named_with_its_key_and_what_is_allowed(tmp_path, change, key, allowed):
    text = NETWORK + FLOW
    assert change[0] in text
    fault(tmp_path, text.replace(*change), key, allowed)


@pytest.mark.parametrize(
    ("vary", "key", "allowed"),
    [
        ('"network.links.5.rate" = ["10 Mb/s"]', 'vary."network.links.5.rate"', "a number below 2"),
        (
            '"network.hosts.nobody.count" = [1]',
            'vary."network.hosts.nobody.count"',
            "one of sender, sink",
        ),
        (
            '"network.models.ideal.ring" = [1]',
            'vary."network.models.ideal.ring"',
            "one of the models of this file: none",
        ),
        (
            '"network.rate" = ["100 Mb/s", "3 Mb/s"]',
            'vary."network.rate".1',
            "a whole number of picoseconds",
        ),
        (
            '"flows.load.frames" = ["64 B", "x"]',
            'vary."flows.load.frames".1',
            "expected parts such as",
        ),
        (
            '"flows.nobody.frames" = ["64 B"]',
            'vary."flows.nobody.frames"',
            "the name of a flow (load)",
        ),
        (
            '"segment.length" = ["64 m"]',
            'vary."segment.length"',
            "begins with network., flows., phases.",
        ),
        ('"flows.load.to" = ["sink", "s"]', "flows.0.to", "s is a switch"),
    ],
)
def test_a_varied_value_is_checked_as_one_that_stands(tmp_path, vary, key, allowed):
    fault(tmp_path, NETWORK + FLOW + f"[vary]\n{vary}\n", key, allowed)


def test_all_faults_are_told_at_once(tmp_path):
    path = tmp_path / "x.toml"
    text = NETWORK.replace('ends = ["sink", "s"]', 'ends = ["sink", "t"]').replace(
        "count = 3", 'count = 3\nmodel = "x"'
    )
    path.write_text(HEAD + text + FLOW, encoding="utf-8")
    assert {fault.key for fault in faults_of(lambda: load(path))} == {
        "network.hosts.0.model",
        "network.links.1.ends.1",
        "network.hosts.1",
    }


@pytest.mark.parametrize("command", ["validate", "plan", "run"])
def test_what_only_the_core_refuses_ends_with_2_before_anything_runs(tmp_path, command):
    memory = 'name = "s"\nbuffer = { size = "4 kB", pause = { high = "3950 B", low = "1 kB" } }'
    (tmp_path / "x.toml").write_text(
        HEAD + NETWORK.replace('name = "s"', memory) + FLOW, encoding="utf-8"
    )
    ended = invoke(command, "x.toml", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    # Two frames of 64 octets and their gaps and preambles, and a PAUSE frame with its own.
    assert line.startswith(
        'x.toml: network.switches.0.buffer.size = "4 kB": expected at least 4202 '
        "for frames of up to 64 octets"
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]


def test_a_loop_is_refused_with_its_link(tmp_path):
    more = '[[network.switches]]\nname = "t"\n' + 2 * '[[network.links]]\nends = ["s", "t"]\n'
    fault(tmp_path, NETWORK + more + FLOW, "network.links.3.ends", "expected no loop")


def test_a_flow_needs_a_way(tmp_path):
    more = (
        '[[network.hosts]]\nname = "x"\n[[network.hosts]]\nname = "y"\n'
        '[[network.links]]\nends = ["x", "y"]\n'
    )
    fault(
        tmp_path,
        NETWORK + more + FLOW.replace('to = "sink"', 'to = "x"'),
        "flows.0.to",
        "to which links lead from sender1",
    )


def test_shipped_models_are_sound_and_every_number_of_theirs_has_a_source():
    for name in shipped_models():
        model = shipped_model(name)
        assert model is not None
        spoken = {key for key in model.sources}
        assert all(
            text.partition(": ")[0] in ("standard", "study", "fit", "assumption")
            for text in model.sources.values()
        )
        for side in ("send", "receive"):
            for stage in getattr(model, side):
                said = stage.model_fields_set - {"name", "resource"}
                assert {f"{side}.{stage.name}.{key}" for key in said} <= spoken, (
                    name,
                    side,
                    stage.name,
                )
