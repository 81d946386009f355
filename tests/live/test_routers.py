"""Routers of testbeds: packets pass them by their routes, both ways and both versions of IP."""

import re
import subprocess

import pytest
from ethermeter.testbed.network import Link, Network, make_network

NETWORK = Network(
    ("a", "b", "c", "d"),
    ("switch",),
    (
        Link(("a", "switch")),
        Link(("b", "switch")),
        Link(("switch", "near")),
        Link(("near", "far")),
        Link(("near", "c")),
        Link(("far", "d")),
    ),
    routers=("near", "far"),
)
"""Two hosts at a switch, one behind a router, and one behind two."""


@pytest.mark.root
def test_a_packet_passes_each_router_between_two_hosts_once():
    with make_network(NETWORK) as bed:

        def hops_left(one: str, other: str, version: int) -> int:
            to = bed.hosts[other].ipv4 if version == 4 else bed.hosts[other].ipv6
            ping = ["ping", f"-{version}", "-c", "1", "-W", "2", "-t", "64", to]
            text = subprocess.run(
                bed.hosts[one].command(*ping), check=True, capture_output=True, text=True
            ).stdout
            (found,) = re.findall(r"ttl=([0-9]+)", text)
            return int(found)

        between = {("a", "b"): 0, ("a", "c"): 1, ("b", "d"): 2, ("c", "d"): 2, ("d", "a"): 2}
        for version in (4, 6):
            assert {ends: 64 - hops_left(*ends, version) for ends in between} == between, version


@pytest.mark.root
def test_a_frame_beyond_a_router_comes_from_the_router():
    with make_network(NETWORK) as bed:
        neighbours = subprocess.run(
            bed.hosts["d"].command("ip", "neigh"), check=True, capture_output=True, text=True
        ).stdout
        # All others are behind the one port towards this host.
        assert {line.split()[4] for line in neighbours.splitlines()} == {"02:00:00:01:02:02"}
