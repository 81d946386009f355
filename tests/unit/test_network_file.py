"""Networks in experiment files: what they become."""

import json

import ethermeter as em
import jsonschema
import pytest
from ethermeter import _core, plan
from ethermeter.experiment import json_schema, of_tables
from ethermeter.experiment.components import shipped_model, shipped_models
from ethermeter.experiment.tables import file_keys
from ethermeter.scenario import Stage
from ethermeter.trial import Live
from program import invoke
from shared_experiments import NETWORK, lowered, trials


def test_a_group_makes_hosts_links_and_flows():
    found = lowered(NETWORK)
    senders = ["sender1", "sender2", "sender3"]
    assert [node["name"] for node in found["nodes"]] == [*senders, "sink", "s"]
    assert [[end["node"] for end in link["ends"]] for link in found["links"]] == [
        [name, "s"] for name in (*senders, "sink")
    ]
    assert [(flow["name"], flow["from"], flow["to"]) for flow in found["flows"]] == [
        (f"load {name}", name, ["sink"]) for name in senders
    ]
    assert found["links"][0]["ps_per_octet"] == 80_000


def test_pairs_say_who_sends_to_whom():
    def flows(sender, receiver, **keys):
        flow = em.flow("load", sender, receiver, frames="64 B", arrivals="saturated", **keys)
        return lowered(NETWORK.changed(flows=[flow]))["flows"]

    found = flows("sender", "sender", pairs="all")
    assert len(found) == 6
    assert all(flow["from"] not in flow["to"] for flow in found)
    assert found[0]["name"] == "load sender1 to sender2"
    order = flows("sender", ["sender2", "sender3", "sink"], pairs="in order")
    assert [(flow["from"], flow["to"]) for flow in order] == [
        ("sender1", ["sender2"]),
        ("sender2", ["sender3"]),
        ("sender3", ["sink"]),
    ]
    (flow,) = flows("sink", "sender", cast="multicast")
    senders = ["sender1", "sender2", "sender3"]
    assert (flow["address"], flow["to"], flow["name"]) == ("multicast", senders, "load")


def test_everything_that_can_be_said_of_a_network_reaches_the_core():
    stage = {
        "per_byte": "7.75 ns",
        "fixed": "8.7 us",
        "resource": "pci",
        "burst": {"size": "380 B", "time": "100 ns"},
        "overlap": "64 B",
    }
    card = {"delay": "5 us", "extra": "-4 B", "queue": 16}
    model = {
        "ring": 8,
        "overlap": "14 B",
        "buffer": {"size": "64 kB", "pause": {"high": "32 kB", "low": "16 kB", "quanta": 65535}},
        "receive": [{"name": "irq", **card, "coalesce": {"frames": 8, "time": "100 us"}}],
        "send": [{"name": "pci", **stage}],
    }
    switch = em.switch(
        "s",
        learning={"learns": {"age": "300 s", "addresses": 8192}},
        fabric={
            "crossbar": {
                "local": {"name": "local"},
                "inward": {"name": "in", "per_byte": "4 ns"},
                "outward": {"name": "out"},
            }
        },
        ingress={"name": "lookup", "fixed": "1 us"},
        queue=100,
        queue_size="64 kB",
        overlap="14 B",
    )
    query = em.flow(
        None,
        "a",
        "b",
        data="64 B x 7 + 5000 B x 1",
        mtu="1000 B",
        arrivals={"on_off": {"period": "1 ms", "on": "10 ms", "off": "10 ms"}},
        queue=10,
        service={"uniform": ["1 us", "2 us"]},
        response={"data": "100 B", "think": "1 us", "timeout": "10 ms"},
    )
    experiment = em.network(
        rate="1 Gb/s",
        models={"pc": model},
        hosts=[em.host("a", model="pc"), "b", "c", "d"],
        switches=[switch],
        routers=[em.router("r", forward={"name": "forward", "fixed": "10 us"}, queue=50)],
        hubs=[em.hub("h", delay="500 ns")],
        links=[
            em.link("a", "s", modules=[0, 1], delay="50 ns"),
            em.link("s", "r", length="100 m", preamble="8 B", gap="12 B"),
            ("b", "r"),
            em.link("r", "h", rate="10 Mb/s"),
            em.link("h", "c", rate="10 Mb/s"),
            em.link("h", "d", rate="10 Mb/s"),
        ],
        flows=[query, em.flow("bulk", "c", "d", frames="1518 B", arrivals={"poisson_load": 0.5})],
        phases={"transmit": "50 ms", "measure": "all"},
    )
    found = lowered(experiment)
    assert found["nodes"][0]["kind"]["host"] == {
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
    assert found["links"][1]["delay_ps"] == round(100 * 10**12 / (0.585 * 299_792_458))
    assert [link.get("half_duplex", False) for link in found["links"]] == [
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
    jsonschema.validate(experiment, json_schema())


def test_a_live_trial_is_told_by_what_hosts_send(tmp_path):
    both = NETWORK.changed({"flows.0.port": "packet", "run.engines": ["simulation", "live"]})
    made = plan.expand([of_tables(both)])
    simulated, measured = made.trials
    assert (simulated.engine, measured.engine) == ("simulation", "live")
    assert measured.scenario == simulated.scenario
    assert (simulated.live, measured.live) == (None, Live(("packet",) * 3))
    assert list(json.loads(measured.line)) == [*json.loads(simulated.line), "live"]
    assert simulated.seed == measured.seed
    (tmp_path / "plan.jsonl").write_text(made.to_jsonl(), encoding="utf-8")
    assert plan.read(tmp_path / "plan.jsonl").trials == made.trials


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("network.rate", ["10 Mb/s", "100 Mb/s"]),
        ("network.links.1.delay", ["1 ns", "2 ns"]),
        ("network.hosts.sender.count", [1, 2]),
        ("network.hosts.0.count", [1, 2]),
        ("network.switches.s.queue", [5, 10]),
        ("flows.load.frames", ["64 B", "128 B"]),
        ("flows.frames", ["64 B", "128 B"]),
        ("flows.0.frames", ["64 B", "128 B"]),
        ("network.models.pc.send.pci.per_byte", ["1 ns", "2 ns"]),
    ],
)
def test_any_key_can_be_varied_by_number_or_by_name(key, values):
    model = {"network.hosts.0.model": "pc", "network.models.pc.send": [{"name": "pci"}]}
    first, second = trials(NETWORK.changed(model, vary={key: values}))
    assert first.scenario != second.scenario
    assert list(first.point) == [key]


@pytest.mark.parametrize("command", ["validate", "validate --trials", "run"])
def test_what_only_the_core_refuses_ends_with_2_before_anything_runs(tmp_path, command):
    memory = {"size": "4 kB", "pause": {"high": "3950 B", "low": "1 kB"}}
    NETWORK.changed({"network.switches.0.buffer": memory}).save(tmp_path / "x.toml")
    ended = invoke(*command.split(), "x.toml", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    # Two frames of 64 octets and their gaps and preambles, and a PAUSE frame with its own.
    assert line.startswith(
        'x.toml: network.switches.0.buffer.size (s) = "4 kB": expected at least 4202 '
        "for frames of up to 64 octets"
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]


def test_shipped_models_are_sound_and_every_number_of_theirs_has_a_source():
    for name in shipped_models():
        model = shipped_model(name)
        assert model is not None
        assert all(
            text.partition(": ")[0] in ("standard", "study", "fit", "assumption")
            for text in model.sources.values()
        )
        for side in ("send", "receive"):
            for stage in model.core.get(side, ()):
                ideal = Stage(name=stage.name, resource=stage.resource)
                said = {
                    key.name
                    for field, key in file_keys(Stage).items()
                    if getattr(stage, field) != getattr(ideal, field)
                }
                assert {f"{side}.{stage.name}.{key}" for key in said} <= set(model.sources), (
                    name,
                    side,
                    stage.name,
                )
