"""Agents with certificates on hosts around a switch, and a coordinator on a third host."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ethermeter.testbed import Host, Wire, make_testbed
from program import LIMIT_S

RATE_BPS = 10_000_000
PAYLOAD_OCTETS = 1472
FRAME_OCTETS = 14 + 20 + 8 + PAYLOAD_OCTETS + 4
SECONDS = 2
QUEUE_BITS = 8 * 150_000
"""What a wire's queue takes ahead of time."""


@contextlib.contextmanager
def agents(program: str, hosts: list[Host], folder: Path, ceilings: str) -> Iterator[list[str]]:
    """Run an agent on each host; yields where they listen."""
    file = folder / "ceilings.toml"
    file.write_text(ceilings)
    with contextlib.ExitStack() as stack:
        places = []
        for host in hosts:
            command = host.command(
                program,
                "--listen",
                f"{host.ipv4}:4988",
                *credentials(folder, str(host.ipv4)),
                "--ceilings",
                str(file),
            )
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.terminate)
            assert process.stdout is not None
            places.append(process.stdout.readline().removeprefix("listening on ").strip())
        yield places


def credentials(folder: Path, name: str) -> list[str]:
    """Options of the certificate of one host."""
    certificates = folder / "certificates"
    files = {"certificate": f"{name}.pem", "key": f"{name}.key", "authority": "authority.pem"}
    return [
        word for option, file in files.items() for word in (f"--{option}", str(certificates / file))
    ]


def measure(
    program: str, coordinator: Host, folder: Path, test: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    """Run one test from a host."""
    file = folder / "test.json"
    file.write_text(json.dumps(test))
    command = coordinator.command(
        program, "measure", str(file), *credentials(folder, "coordinator")
    )
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def describe(hosts: list[Host], places: list[str]) -> dict[str, Any]:
    """A saturating flow from the first host to the second."""
    entries = [
        {"name": f"h{index}", "control": place, "address": str(host.ipv4)}
        for index, (host, place) in enumerate(zip(hosts, places, strict=True))
    ]
    flow = {
        "name": "full",
        "from": "h0",
        "to": "h1",
        "port": "udp",
        "most_bps": 2 * RATE_BPS,
        "most_frames_per_s": 20_000,
        "traffic": {
            "kind": "stream",
            "frames": {"kind": "fixed", "bits": 8 * FRAME_OCTETS},
            "arrivals": {"kind": "saturated"},
        },
    }
    second = 10**9
    phases = {
        "settle_ns": second // 10,
        "transmit_ns": SECONDS * second,
        "measure_from_ns": second // 2,
        "measure_to_ns": (SECONDS * second) - second // 2,
        "drain_ns": second // 2,
    }
    return {"seed": 1, "agents": entries, "phases": phases, "flows": [flow]}


@pytest.mark.root
def test_what_agents_on_three_hosts_send_arrives_and_is_no_more_than_a_wire_carries(
    agent, tmp_path
):
    with make_testbed(3, layout="switch", wires=Wire(RATE_BPS)) as bed:
        *hosts, coordinator = bed.hosts
        names = ",".join(str(host.ipv4) for host in hosts)
        subprocess.run(
            [agent, "certificates", str(tmp_path / "certificates"), "--hosts", names], check=True
        )
        with agents(
            agent, hosts, tmp_path, 'addresses = ["10.77.0.0/24"]\nduration_s = 10'
        ) as places:
            done = measure(agent, coordinator, tmp_path, describe(hosts, places))
            assert done.returncode == 0, done.stderr
            flow = json.loads(done.stdout)["flows"]["full"]
    assert flow["sent"] == flow["received"], flow["losses"]
    most_bits = RATE_BPS * SECONDS + QUEUE_BITS
    assert 0 < flow["sent"] * 8 * (FRAME_OCTETS + 20) <= most_bits


@pytest.mark.root
def test_an_operator_who_allows_other_addresses_only_is_obeyed(agent, tmp_path):
    with make_testbed(3, layout="switch") as bed:
        *hosts, coordinator = bed.hosts
        names = ",".join(str(host.ipv4) for host in hosts)
        subprocess.run(
            [agent, "certificates", str(tmp_path / "certificates"), "--hosts", names], check=True
        )
        with agents(agent, hosts, tmp_path, f'addresses = ["{hosts[0].ipv4}"]') as places:
            done = measure(agent, coordinator, tmp_path, describe(hosts, places))
            assert done.returncode == 2
            assert (
                f"rule address: {hosts[1].ipv4} is refused, allowed: {hosts[0].ipv4}/32"
                in done.stderr
            )
