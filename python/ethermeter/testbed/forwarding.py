"""Forwarding: address tables of switches that know all hosts from the start."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ethermeter.testbed.commands import batch
from ethermeter.testbed.elements import Host


@dataclass(frozen=True, slots=True)
class Lead:
    """A way from a node to a neighbour, by an interface of the node."""

    node: str
    interface: str
    neighbour: str


def fill_table(
    switch: str, namespace: str, leads: Iterable[Lead], hosts: Mapping[str, Host]
) -> None:
    """Enter every host into the address table of a switch, in a network without loops."""
    from_node: dict[str, list[Lead]] = {}
    for lead in leads:
        from_node.setdefault(lead.node, []).append(lead)
    interfaces = {switch: ""}
    waiting = [switch]
    while waiting:
        node = waiting.pop()
        for lead in from_node.get(node, ()):
            if lead.neighbour not in interfaces:
                interfaces[lead.neighbour] = interfaces[node] or lead.interface
                waiting.append(lead.neighbour)
    batch(
        namespace,
        [
            f"fdb replace {host.mac} dev {interfaces[name]} master static"
            for name, host in hosts.items()
            if name in interfaces
        ],
        tool="bridge",
    )
