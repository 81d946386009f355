"""Testbeds whose hosts take part with IPv6, and testbeds of a number of hosts."""

import json
from typing import Any

import ethermeter as em
import pytest
from ethermeter.experiment.builder import ExperimentTables
from live_runs import Measurement, measure, refusal
from program import settings
from shared_experiments import star

OVER_IPV6 = ("--on", "testbed", "--ip", "6", "--no-report")
STREAM: dict[str, Any] = {"data": "3000 B", "arrivals": {"regular": "10 ms"}}
TRANSFER: dict[str, Any] = {"transfer": {"stream": {}, "tcp": {"window": "64 kB"}}}
PING: dict[str, Any] = {"frames": "100 B", "response": {}, "arrivals": {"regular": "10 ms"}}


def loaded(**load: object) -> ExperimentTables:
    """Two hosts at a switch, and a flow from a to b."""
    return star(
        ["a", "b"],
        em.flow("load", "a", "b", **load),
        rate="100 Mb/s",
        phases={"transmit": "500 ms", "measure": "last 400 ms", "drain": "100 ms"},
        run={"engines": ["live"], "replications": 1},
    )


def value(found: Measurement, metric: str) -> float:
    return float(found.estimates()["live"][metric]["value"])


@pytest.mark.root
def test_datagrams_over_ipv6_are_the_frames_that_the_interface_sent(tmp_path):
    found = measure(loaded(**STREAM), tmp_path, *OVER_IPV6)
    result = found.result()
    assert result["agents"]["a"]["address"] == "fd77::1"
    flow = result["flows"]["load"]
    assert flow["sent"] == flow["received"] == pytest.approx(50, abs=1)
    # The kernel counts frames without their check sequence; nothing else is on this interface but
    # what both sides ask for groups.
    edges = [
        {of["name"]: of for of in edge["interfaces"]}["em0"]
        for edge in result["agents"]["a"]["result"]["host"]
    ]
    frames, octets = (edges[-1][key] - edges[0][key] for key in ("sent_frames", "sent_octets"))
    per_message = value(found, "goodput") / 8 / value(found, "message_rate")
    assert value(found, "frame_rate") == 3 * value(found, "message_rate")
    # 3008 octets of UDP in two fragments of 1448 and one of 112, each with 40 + 8 of IPv6 and 18 of
    # Ethernet.
    assert per_message == 3008 + 3 * (48 + 18)
    assert frames - 3 * flow["sent"] in range(5)
    assert 0 <= octets - flow["sent"] * (per_message - 3 * 4) < 5 * 150


@pytest.mark.root
def test_tcp_and_exchanges_go_over_ipv6(new_path):
    found = measure(loaded(**TRANSFER), new_path(), *OVER_IPV6)
    assert found.result()["agents"]["b"]["address"] == "fd77::2"
    # Shaped wires count preamble and gap of bundles once (evidence/live-studies.md), and what
    # waited may be read at once.
    assert 0 < value(found, "data_rate") < 2 * 100e6
    found = measure(loaded(**PING), new_path(), *OVER_IPV6)
    assert value(found, "timed_out") == 0
    assert value(found, "round_trip") > 0


@pytest.mark.root
def test_a_testbed_of_so_many_hosts_gives_the_group_what_is_left(tmp_path):
    short = settings(
        'phases.transmit="300 ms"', 'phases.measure="last 100 ms"', 'run.engines=["live"]'
    )
    words = ("--on", "testbed,plain,3", *settings('flows.load.frames="1518 B"'), *short)
    found = measure("live/switched/fixed", tmp_path, *words, "--json", "--no-report")
    assert set(found.result()["agents"]) == {"host1", "host2", "sink"}
    assert json.loads((found.run / "provenance.json").read_text())["measured"] == "plain"


@pytest.mark.root
def test_hosts_that_an_experiment_does_not_have_stand_by(tmp_path):
    words = ("--on", "testbed,plain,4", "--no-report")
    result = measure(loaded(**STREAM), tmp_path, *words).result()
    assert set(result["agents"]) == {"a", "b"}
    assert result["flows"]["load"]["received"] == result["flows"]["load"]["sent"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--on", "testbed,relay,2"), "--on = testbed,relay,2: did you mean testbed,relay?"),
        (("--on", "testbed,plain,1"), "from 2 to 64 hosts"),
        (("--on", "loopback", "--ip", "6"), "the loopback interface has one address of IPv6"),
        (("--on", "testbed", "--ip", "5"), "--ip = 5: 4 or 6"),
    ],
)
def test_places_that_contradict_each_other_are_refused_in_a_line(tmp_path, words, fault):
    assert fault in refusal("wire-live", tmp_path, *words)


def test_more_hosts_than_a_testbed_has_are_refused(tmp_path):
    said = refusal("live/erg/simplex", tmp_path, "--on", "testbed,plain,3")
    assert "expected at least 4, the hosts of the experiment" in said
    assert not (tmp_path / "run").exists()
