"""Agents with certificates on hosts around a switch, and a coordinator on a third host."""

import contextlib
import json
import socket
import ssl
import subprocess
import time
from typing import Any

import pytest
from agents import Agents
from ethermeter.testbed import Host, Wire, make_testbed
from hostile import on_host
from program import LIMIT_S

RATE_BPS = 10_000_000
PAYLOAD_OCTETS = 1472
FRAME_OCTETS = 14 + 20 + 8 + PAYLOAD_OCTETS + 4
SECONDS = 1


def describe(agents: list[dict[str, str]]) -> dict[str, Any]:
    """A saturating flow from the first host to the second."""
    flow = {
        "name": "full",
        "from": "h1",
        "to": "h2",
        "port": "udp",
        "most_bps": 2 * RATE_BPS,
        "most_frames_per_s": 20_000,
        "traffic": {
            "kind": "stream",
            "source": {
                "frames": {"kind": "fixed", "bits": 8 * FRAME_OCTETS},
                "arrivals": {"kind": "saturated"},
            },
        },
    }
    second = 10**9
    phases = {
        "settle_ns": second // 10,
        "transmit_ns": SECONDS * second,
        "measure_from_ns": 0,
        "measure_to_ns": SECONDS * second,
        "drain_ns": second // 2,
    }
    return {"agents": agents, "phases": phases, "flows": [flow]}


@pytest.mark.root
def test_what_agents_on_hosts_around_a_switch_send_arrives(agent, tmp_path):
    with make_testbed(3, layout="switch", wires=Wire(RATE_BPS)) as bed:
        *hosts, coordinator = bed.hosts
        agents = Agents(agent, hosts, tmp_path, 'addresses = ["10.77.0.0/24"]\nduration_s = 10')
        with agents.running() as entries:
            flow = agents.measure(coordinator, describe(entries))["flows"]["full"]
    assert flow["sent"] == flow["received"] > 0, flow["losses"]


@pytest.mark.root
def test_an_operator_who_allows_other_addresses_only_is_obeyed(agent, tmp_path):
    with make_testbed(3, layout="switch") as bed:
        one, other, coordinator = bed.hosts
        agents = Agents(agent, [one, other], tmp_path, f'addresses = ["{one.ipv4}"]')
        with agents.running() as entries:
            done = agents.try_to_measure(coordinator, describe(entries))
    refused = f"rule address: {other.ipv4} is refused, allowed: {one.ipv4}/32"
    assert (done.returncode, refused in done.stderr) == (2, True)


@pytest.mark.root
def test_an_agent_speaks_tls_1_3_and_nothing_before_it(agent, tmp_path):
    with make_testbed(2, layout="switch") as bed:
        host, coordinator = bed.hosts
        agents = Agents(agent, [host], tmp_path, 'addresses = ["10.77.0.0/24"]')
        folder = tmp_path / "certificates"

        def spoken(newest: ssl.TLSVersion) -> str | None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(folder / "authority.pem")
            context.load_cert_chain(folder / "coordinator.pem", folder / "coordinator.key")
            context.set_alpn_protocols(["h2"])
            context.maximum_version = newest
            place = (host.ipv4, 4988)
            reached = on_host(coordinator, lambda: socket.create_connection(place, LIMIT_S))
            with reached, context.wrap_socket(reached, server_hostname=host.ipv4) as secured:
                return secured.version()

        with agents.listening(host):
            assert spoken(ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
            with pytest.raises(ssl.SSLError):
                spoken(ssl.TLSVersion.TLSv1_2)


TESTS = 10
MS = 10**6
BUSY = "Device or resource busy"


def link_of(host: Host) -> str:
    """Return what `ip` prints of a host's interface: of one with an XDP program, `xdp`, too."""
    command = host.command("ip", "-details", "link", "show", "em0")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def describe_stream(agents: list[dict[str, str]], port: str, *, transmit_ms: int) -> dict[str, Any]:
    """A hundred short frames a second from the first agent to the second."""
    test = describe(agents)
    (flow,) = test["flows"]
    stream = {
        "kind": "stream",
        "source": {
            "frames": {"kind": "fixed", "bits": 512},
            "arrivals": {"kind": "regular", "period_ps": 10**10},
        },
    }
    phases = test["phases"] | {
        "transmit_ns": transmit_ms * MS,
        "measure_to_ns": transmit_ms * MS,
    }
    rates = {"most_bps": 10**6, "most_frames_per_s": 1000}
    return test | {"phases": phases, "flows": [flow | rates | {"port": port, "traffic": stream}]}


@pytest.mark.root
def test_a_grant_that_takes_seconds_ends_no_other_test(agent, tmp_path):
    ceilings = f'addresses = ["10.77.0.0/24"]\nduration_s = 60\ntests_at_once = {TESTS + 2}'
    with make_testbed(3, layout="switch") as bed, contextlib.ExitStack() as stack:
        sender, receiver, coordinator = bed.hosts
        agents = Agents(agent, [sender, receiver], tmp_path, ceilings)
        entries = stack.enter_context(agents.running())
        _, place = stack.enter_context(agents.listening(receiver, port=4989))
        holder = [entries[0], agents.entry("h2", receiver, place)]

        # A second agent of the receiver holds the queue of its interface, so that a grant of the
        # first one waits two seconds for it. That fails if the queue is held all the time.
        hold = describe_stream(holder, "xdp", transmit_ms=30_000)
        holding = stack.enter_context(agents.measuring(coordinator, hold, "hold"))
        while "xdp" not in link_of(receiver):
            assert holding.poll() is None, holding.communicate()
            time.sleep(0.05)
        streams = [
            stack.enter_context(
                agents.measuring(
                    coordinator,
                    describe_stream(entries, "udp", transmit_ms=8000),
                    f"stream-{number}",
                )
            )
            for number in range(TESTS)
        ]
        time.sleep(3)
        slow = describe_stream(entries, "xdp", transmit_ms=1000)
        begin_s = time.monotonic()
        refused = agents.try_to_measure(coordinator, slow, "slow")
        lasted_s = time.monotonic() - begin_s
        holding.terminate()
        holding.communicate(timeout=LIMIT_S)
        # It gets the queue that is free now, beside the same ten tests.
        granted = agents.measure(coordinator, slow)["flows"]["full"]
        ended = [stream.communicate(timeout=LIMIT_S) for stream in streams]

    assert (refused.returncode, BUSY in refused.stderr) == (2, True), refused.stderr
    assert lasted_s > 2
    assert granted["sent"] == granted["received"] > 0, granted["losses"]
    for stream, (printed, errors) in zip(streams, ended, strict=True):
        assert stream.returncode == 0, errors
        result = json.loads(printed)
        flow = result["flows"]["full"]
        assert result["outcome"] == "complete"
        assert flow["sent"] == flow["received"] > 0, flow["losses"]
