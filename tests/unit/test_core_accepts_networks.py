"""Any network that a file may describe is one that the core simulates, or a fault of the file
before anything runs.
"""

from pathlib import Path
from typing import Any

import numpy as np
from ethermeter import _core, plan
from ethermeter.engines.simulation import result_of
from ethermeter.experiment import Experiment, load, toml
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.results.query import Results
from ethermeter.store.columns import PORTS
from ethermeter.trial import core_trial_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TIMES = st.sampled_from(["0 s", "7.75 ns", "100 ns", "1 us", "30 us"])
SIZES = st.sampled_from(["64 B", "100 B", "512 B", "1518 B", "64 B x 7 + 1518 B x 1", "4000 B"])
STAGE = st.fixed_dictionaries(
    {"name": st.sampled_from(["one", "two"])},
    optional={
        "fixed": TIMES,
        "per_byte": st.sampled_from(["0 s", "3.5 ns", "7.75 ns"]),
        "extra": st.sampled_from(["-4 B", "0 B", "20 B"]),
        "burst": st.just({"size": "380 B", "time": "100 ns"}),
        "delay": TIMES,
        "resource": st.just("bus"),
    },
)
RECEIVING = st.one_of(
    STAGE,
    STAGE.map(lambda stage: {key: stage[key] for key in stage if key != "resource"} | {"queue": 5}),
)
HOST = st.fixed_dictionaries(
    {},
    optional={
        "send": st.lists(STAGE, max_size=2),
        "receive": st.lists(RECEIVING, max_size=2),
        "ring": st.integers(1, 20),
        "overlap": st.just("14 B"),
        "buffer": st.sampled_from(
            [{"size": "4 kB"}, {"size": "64 kB", "pause": {"high": "20 kB", "low": "10 kB"}}]
        ),
    },
)
FABRIC = st.one_of(
    st.just("ideal"),
    STAGE.map(lambda stage: {"shared": stage}),
    st.tuples(STAGE, STAGE).map(
        lambda stages: {"crossbar": {"inward": stages[0], "outward": stages[1]}}
    ),
)
SWITCH = st.fixed_dictionaries(
    {},
    optional={
        "learning": st.sampled_from(["known", {"learns": {"age": "1 ms", "addresses": 2}}]),
        "overlap": st.sampled_from(["0 B", "14 B", "64 B"]),
        "fabric": FABRIC,
        "queue": st.integers(1, 30),
        "queue_size": st.sampled_from(["2 kB", "64 kB"]),
        "buffer": st.sampled_from(
            [
                {"size": "2 kB"},
                {"size": "64 kB", "pause": {"high": "20 kB", "low": "10 kB", "quanta": 65535}},
            ]
        ),
    },
)
ARRIVALS = st.sampled_from(
    [
        "saturated",
        {"poisson": "5000 /s"},
        {"poisson_load": 0.7},
        {"regular": "100 us"},
        {"regular": "100 us", "phase": "0 s"},
        {"on_off": {"period": "50 us", "on": "1 ms", "off": "1 ms"}},
    ]
)


@st.composite
def documents(draw: Any) -> dict[str, Any]:
    """An experiment on a tree of switches, a router or a hub, with groups of hosts at its nodes."""
    core = [{"name": f"s{n}", **draw(SWITCH)} for n in range(draw(st.integers(1, 3)))]
    names = [switch["name"] for switch in core]
    links: list[dict[str, Any]] = []
    for at, name in enumerate(names[1:], 1):
        links.append({"ends": [name, names[draw(st.integers(0, at - 1))]]})
    net: dict[str, Any] = {"rate": draw(st.sampled_from(["10 Mb/s", "100 Mb/s"])), "switches": core}
    if draw(st.booleans()):
        net["routers"] = [
            {
                "name": "r",
                **draw(
                    st.sampled_from(
                        [{}, {"forward": {"name": "forward", "fixed": "20 us"}, "queue": 5}]
                    )
                ),
            }
        ]
        links.append({"ends": ["r", draw(st.sampled_from(names))]})
        names.append("r")
    if draw(st.booleans()):
        net["hubs"] = [{"name": "h", "delay": "500 ns"}]
        links.append({"ends": ["h", draw(st.sampled_from(names))]})
        names.append("h")
    groups = []
    for at in range(draw(st.integers(1, 3))):
        groups.append(
            {
                "name": f"g{at}",
                "count": draw(st.sampled_from([2, 3, 1])),
                **draw(st.sampled_from([{}, {"model": "pc"}])),
            }
        )
        link: dict[str, Any] = {"ends": [f"g{at}", draw(st.sampled_from(names))]}
        if draw(st.booleans()):
            link["length"] = "50 m"
        if "h" not in link["ends"] and draw(st.integers(0, 4)) == 0:
            link["half_duplex"] = True
        links.append(link)
    net |= {"models": {"pc": draw(HOST)}, "hosts": groups, "links": links}
    flows = []
    for at in range(draw(st.integers(1, 3))):
        data = draw(st.sampled_from(["frames", "data"]))
        flow = {
            "name": f"f{at}",
            "from": draw(st.sampled_from(groups))["name"],
            "to": draw(st.sampled_from(groups))["name"],
            data: draw(SIZES),
            "arrivals": draw(ARRIVALS),
        }
        flow |= draw(
            st.sampled_from(
                [
                    {"pairs": "all"},
                    {"pairs": "all"},
                    {"cast": "multicast"},
                    {"cast": "broadcast"},
                    {},
                ]
            )
        )
        if draw(st.booleans()):
            flow["response"] = {data: "100 B", "think": draw(TIMES), "timeout": "1 ms"}
        flows.append(flow)
    return {
        "title": "t",
        "network": net,
        "flows": flows,
        "phases": {"transmit": "3 ms", "measure": "last 2 ms", "drain": "1 ms"},
    }


EXPECTED = (
    "another host than the one that sends",
    'required: "all"',
    "half-duplex link (802.3-2022 annex 31B)",
    "what is under way finds room",
)


def read(path: Path) -> tuple[Experiment | None, list[str]]:
    """Read a file; the experiment, or its faults."""
    try:
        return load(path), []
    except InputError as error:
        return None, [str(fault) for fault in error.faults]


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(document=documents())
def test_what_a_file_is_allowed_to_say_the_core_simulates_and_every_row_follows(
    document, tmp_path_factory
):
    path: Path = tmp_path_factory.getbasetemp() / "drawn.toml"
    path.write_text(toml.document(document), encoding="utf-8")
    experiment, faults = read(path)
    if experiment is None:
        # Only what a drawn file can really do wrong: nobody to send to, or PAUSE where it cannot
        # be.
        assert faults
        assert all(any(word in fault for word in EXPECTED) for fault in faults), faults
        return
    (trial,) = plan.expand([experiment]).trials
    result = _core.simulate_trial(core_trial_of(trial.line))
    copies = result.flows.balance
    ended = copies.delivered + copies.lost.sum(axis=1) + copies.in_flight
    assert np.array_equal(copies.sent + copies.copied, ended)
    found = result_of(trial.scenario, result, core_s=0.0)
    loss = Results.of_trial(trial, found).each(Metric.LOSS)
    assert ((loss >= 0) & (loss <= 1) | np.isnan(loss)).all()
    assert all((column >= 0).all() for column in found.tables[PORTS].values())
    came = result.flows.arrived <= result.flows.offered * [
        len(flow.to) for flow in trial.scenario.flows
    ]
    assert came.all()
