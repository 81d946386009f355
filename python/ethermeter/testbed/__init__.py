"""Hosts on one machine: network namespaces joined by virtual Ethernet, made and removed here.

Everything is made inside namespaces of its own, so that nothing of the machine's network is
touched, and removing the namespaces removes it all. What a killed process left behind is known by
its record and removed by `remove_leftovers`.
"""

from ethermeter.testbed.build import (
    Host,
    Layout,
    Testbed,
    Wire,
    WireKind,
    keep_testbed,
    make_testbed,
    reshape,
)
from ethermeter.testbed.commands import TestbedError
from ethermeter.testbed.network import Link, NetworkBed, make_network
from ethermeter.testbed.record import kept, remove_kept, remove_leftovers
from ethermeter.testbed.relay import Relay

__all__ = [
    "Host",
    "Layout",
    "Link",
    "NetworkBed",
    "Relay",
    "Testbed",
    "TestbedError",
    "Wire",
    "WireKind",
    "keep_testbed",
    "kept",
    "make_network",
    "make_testbed",
    "remove_kept",
    "remove_leftovers",
    "reshape",
]
