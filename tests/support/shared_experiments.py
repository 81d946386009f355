"""Sound experiments that many tests share, and what experiments become."""

from collections.abc import Mapping, Sequence
from typing import Any

import ethermeter as em
import msgspec
from ethermeter import plan
from ethermeter.experiment import of_tables
from ethermeter.experiment.builder import ExperimentTables
from ethermeter.scenario import Scenario
from ethermeter.trial import Trial

SEGMENT = em.segment(
    "ieee-10",
    title="Two stations",
    length="100 m",
    stations=em.stations("host", count=2, frames="64 B", arrivals="saturated"),
)
VOICE = em.segment(
    "experimental-3",
    title="Two talkers",
    length="550 m",
    stations=em.stations(
        "host",
        count=2,
        frames={"samples": {"least": "64 B", "most": "1024 B", "overhead": "6 B"}},
        arrivals={"coder": {"sample": "16 bit", "every": "152.32 us"}},
    ),
)
BUS = em.segment(
    "10base-t1s",
    title="A bus",
    delays=[["0 s"]],
    plca={},
    stations=em.stations("node", count=9, frames="64 B", arrivals="saturated"),
    phases={"settle": "1 ms", "transmit": "100 ms", "measure": "last 50 ms"},
)
NETWORK = em.network(
    title="Three senders and a sink",
    rate="100 Mb/s",
    hosts=[em.host("sender", count=3), "sink"],
    switches=["s"],
    links=[("sender", "s"), ("sink", "s")],
    flows=em.flow("load", "sender", "sink", frames="64 B", arrivals="saturated"),
)
CALLS = em.network(
    title="Two talkers and a listener",
    rate="1 Mb/s",
    hosts=[em.host("talker", count=2), "listener"],
    switches=["s"],
    links=[("talker", "s"), ("listener", "s")],
    flows=em.flow(
        "call",
        "talker",
        "listener",
        data={"samples": {"least": "172 B", "most": "972 B", "overhead": "12 B"}},
        arrivals={"coder": {"codec": "g711"}},
    ),
)
COPY = em.network(
    title="A file",
    rate="100 Mb/s",
    hosts=["client", "server"],
    links=[("client", "server")],
    flows=em.flow(
        "copy",
        "client",
        "server",
        transfer={
            "file": {
                "direction": "read",
                "size": "7000 B",
                "block": "1000 B",
                "request": "60 B",
                "answer": "40 B",
                "client": "70 us",
                "server": "50 us",
            },
            "tcp": {"window": "8760 B"},
        },
    ),
    phases={"transmit": "1 s", "measure": "all"},
)
CLASSES = em.network(
    title="Two classes of traffic",
    rate="10 Mb/s",
    hosts=["a", "b"],
    switches=[em.switch("s", classes=8)],
    links=[("a", "s"), ("b", "s")],
    flows=[
        em.flow(
            "control",
            "a",
            "b",
            frames="64 B",
            priority=6,
            arrivals={"token_bucket": {"rate": "1 Mb/s", "burst": "88 B", "phase": "3 us"}},
        ),
        em.flow(
            "bulk",
            "b",
            "a",
            data="3000 B",
            arrivals={"poisson_load": 0.5},
            shaper={"rate": "8 Mb/s", "burst": "3188 B"},
        ),
    ],
    phases={"transmit": "10 ms", "measure": "all"},
)
GATEWAY = em.network(
    title="A bus behind a gateway",
    rate="100 Mb/s",
    hosts=["far", em.host("node", count=3)],
    switches=["gateway"],
    segments=[{"name": "bus", "standard": "10base-t1s", "length": "20 m", "plca": {"to-tmr": 40}}],
    links=[("far", "gateway"), em.link("gateway", "bus", position="10 m"), ("bus", "node")],
    flows=em.flow("up", "node1", "far", frames="64 B", arrivals="saturated"),
    phases={"settle": "1 ms", "transmit": "101 ms", "measure": "last 100 ms"},
)
CLOCKS = em.network(
    title="Two hosts with clocks",
    seed=7,
    rate="10 Mb/s",
    hosts=[em.host("a", clock={"offset": "-250 ms", "drift": "0 ppm"}), "b"],
    links=[("a", "b")],
    flows=[
        em.flow("f", "a", "b", frames="500 B", arrivals={"poisson": "400 /s"}),
        em.flow(
            "asked",
            "b",
            "a",
            frames="100 B",
            response={"frames": "100 B"},
            arrivals={"regular": "7 ms"},
        ),
    ],
    phases={"settle": "120 ms", "transmit": "400 ms", "measure": "all", "drain": "100 ms"},
    run={"replications": 2},
)


def pair(flows: Any, **keys: object) -> ExperimentTables:
    """Two hosts, a and b, on a link of 10 Mb/s."""
    wire = {"rate": "10 Mb/s", "hosts": ["a", "b"], "links": [("a", "b")]}
    return em.network(**{**wire, "flows": flows, **keys})


def star(
    hosts: Sequence[str | Mapping[str, Any]], flows: Any, *, switch: Any = None, **keys: object
) -> ExperimentTables:
    """Hosts around a switch `s`, with these keys of it, on links of 10 Mb/s."""
    names = [host if isinstance(host, str) else host["name"] for host in hosts]
    links = [(name, "s") for name in names]
    nodes = {"hosts": hosts, "switches": [em.switch("s", **(switch or {}))], "links": links}
    return em.network(**{"rate": "10 Mb/s", **nodes, "flows": flows, **keys})


def behind(queue: int, flows: Any = None, **keys: object) -> ExperimentTables:
    """A sender and a sink; frames wait in a device where the wire becomes slower."""
    return em.network(
        rate="20 Mb/s",
        hosts=["sender", "sink"],
        switches=[em.switch("device", queue=queue)],
        links=[("sender", "device"), em.link("device", "sink", rate="10 Mb/s")],
        flows=flows,
        **keys,
    )


def trials(*experiments: Mapping[str, object]) -> tuple[Trial, ...]:
    """Return the trials of a plan of experiments."""
    return plan.expand([of_tables(each) for each in experiments]).trials


def scenario(experiment: Mapping[str, object]) -> Scenario:
    """Return the scenario of the first point of an experiment."""
    read = of_tables(experiment)
    return read.scenarios.at([0] * len(read.sweeps))


def lowered(experiment: Mapping[str, object]) -> dict[str, Any]:
    """Return the same as it stands in a plan."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(scenario(experiment)))
    return found
