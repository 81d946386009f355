"""Testbeds whose hosts take part with IPv6, and testbeds of a number of hosts."""

import json
from pathlib import Path
from typing import Any

import pytest
from program import invoke, settings

EXPERIMENT = """
title = "two hosts at a switch"
[network]
rate = "100 Mb/s"
[[network.hosts]]
name = "a"
[[network.hosts]]
name = "b"
[[network.switches]]
name = "s"
[[network.links]]
ends = ["a", "s"]
[[network.links]]
ends = ["s", "b"]
[[flows]]
name = "load"
from = "a"
to = "b"
FLOW
[phases]
transmit = "500 ms"
measure = "last 400 ms"
drain = "100 ms"
[run]
engines = ["live"]
replications = 1
"""
STREAM = 'data = "3000 B"\narrivals = { regular = "10 ms" }'


def measured(folder: Path, flow: str, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure a flow from a to b; what was printed, and what came of the only test."""
    path = folder / "flow.toml"
    path.write_text(EXPERIMENT.replace("FLOW", flow))
    done = invoke("measure", path, *words, "--json", "--no-report", "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    (result,) = (json.loads(of.read_text()) for of in (folder / "run" / "live").glob("*/*.json"))
    return json.loads(done.stdout), result


def value(said: dict[str, Any], metric: str) -> float:
    (point,) = said["estimates"]["points"]
    return float(point["estimates"][metric]["value"])


@pytest.mark.root
def test_datagrams_over_ipv6_are_the_frames_that_the_interface_sent(tmp_path):
    said, result = measured(tmp_path, STREAM, "--testbed", "--ip", "6")
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
    per_message = value(said, "goodput") / 8 / value(said, "message_rate")
    assert value(said, "frame_rate") == 3 * value(said, "message_rate")
    # 3008 octets of UDP in two fragments of 1448 and one of 112, each with 40 + 8 of IPv6 and 18 of
    # Ethernet.
    assert per_message == 3008 + 3 * (48 + 18)
    assert frames - 3 * flow["sent"] in range(5)
    assert 0 <= octets - flow["sent"] * (per_message - 3 * 4) < 5 * 150


@pytest.mark.root
def test_tcp_and_exchanges_go_over_ipv6(tmp_path):
    said, result = measured(
        tmp_path,
        "transfer.stream = {}\ntransfer.tcp = { window = '64 kB' }",
        "--testbed",
        "--ip",
        "6",
    )
    assert result["agents"]["b"]["address"] == "fd77::2"
    # Shaped wires count preamble and gap of bundles once (docs/evidence/live-studies.md), and what
    # waited
    # may be read at once.
    assert 0 < value(said, "data_rate") < 2 * 100e6
    ping = 'frames = "100 B"\nresponse = {}\narrivals = { regular = "10 ms" }'
    folder = tmp_path / "ping"
    folder.mkdir()
    said, _ = measured(folder, ping, "--testbed", "--ip", "6")
    assert value(said, "timed_out") == 0
    assert value(said, "round_trip") > 0


@pytest.mark.root
def test_a_testbed_of_so_many_hosts_gives_the_group_what_is_left(tmp_path):
    command = [
        "measure",
        "live/switched/fixed",
        "--testbed-hosts",
        "3",
        "--set",
        'flows.load.frames="1518 B"',
    ]
    short = settings(
        'phases.transmit="300 ms"', 'phases.measure="last 100 ms"', 'run.engines=["live"]'
    )
    done = invoke(*command, *short, "--json", "--no-report", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    (result,) = (json.loads(of.read_text()) for of in (tmp_path / "run" / "live").glob("*/*.json"))
    assert set(result["agents"]) == {"host1", "host2", "sink"}
    assert json.loads((tmp_path / "run" / "provenance.json").read_text())["measured"] == "plain"


@pytest.mark.root
def test_hosts_that_an_experiment_does_not_have_stand_by(tmp_path):
    _, result = measured(tmp_path, STREAM, "--testbed-hosts", "4")
    assert set(result["agents"]) == {"a", "b"}
    assert result["flows"]["load"]["received"] == result["flows"]["load"]["sent"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--testbed-hosts", "2", "--testbed"), "expected without them"),
        (("--testbed-hosts", "2", "--plain"), "expected without them"),
        (("--loopback", "--ip", "6"), "the loopback interface has one address of IPv6"),
        (("--testbed", "--ip", "5"), "expected 4 or 6"),
    ],
)
def test_places_that_contradict_each_other_are_refused_in_a_line(words, fault):
    done = invoke("measure", "wire-live", *words)
    assert done.returncode == 2
    assert fault in done.stderr
    assert "Traceback" not in done.stderr


def test_more_hosts_than_a_testbed_has_are_refused(tmp_path):
    done = invoke("measure", "live/erg/simplex", "--testbed-hosts", "3", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "expected at least 4, the hosts of the experiment" in done.stderr
    assert not (tmp_path / "run").exists()
