"""Testbeds: hosts on one machine as network namespaces joined by virtual Ethernet.

A testbed changes nothing outside its own namespaces, and removing these removes it. Testbeds of
killed processes are found by their records and removed by `remove_leftovers`.
"""

from ethermeter.testbed.addresses import AddressTable
from ethermeter.testbed.capture import MediumCapture
from ethermeter.testbed.commands import TestbedError
from ethermeter.testbed.elements import Host, KeptTestbed, Layout, Wire, WireKind
from ethermeter.testbed.layouts import Testbed, keep_testbed, make_testbed, reshape
from ethermeter.testbed.network import (
    Link,
    Network,
    NetworkBed,
    Segment,
    keep_network,
    make_network,
)
from ethermeter.testbed.record import (
    control_of,
    kept,
    remove_kept,
    remove_leftovers,
    unfinished,
)
from ethermeter.testbed.relay import Control, Relay

__all__ = [
    "AddressTable",
    "Control",
    "Host",
    "KeptTestbed",
    "Layout",
    "Link",
    "MediumCapture",
    "Network",
    "NetworkBed",
    "Relay",
    "Segment",
    "Testbed",
    "TestbedError",
    "Wire",
    "WireKind",
    "control_of",
    "keep_network",
    "keep_testbed",
    "kept",
    "make_network",
    "make_testbed",
    "remove_kept",
    "remove_leftovers",
    "reshape",
    "unfinished",
]
