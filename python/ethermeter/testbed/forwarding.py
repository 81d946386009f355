"""Forwarding: address tables of switches that know all hosts, and routes of routers.

Hosts keep their addresses wherever they are. A host has a route by the router to each host behind
it, and a router has one to each host.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ethermeter.testbed.commands import batch, inside, run
from ethermeter.testbed.counters import Hop
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


@dataclass(frozen=True, slots=True)
class RouterPort:
    """A port of a router, by their numbers from 1."""

    router: int
    port: int

    @property
    def mac(self) -> str:
        """Its Ethernet address."""
        return f"02:00:00:01:{self.router:02x}:{self.port:02x}"

    @property
    def ips(self) -> tuple[str, str]:
        """Names for it in routes, of IPv4 and IPv6; the port itself has no address."""
        return f"10.79.{self.router}.{self.port}", f"fd79::{self.router:x}:{self.port:x}"


Ways = dict[str, tuple[str, RouterPort | None]]
"""Of each host the interface that leads to it, and the first router on the way, if there is one."""


def ways_from(
    node: str, leads: Sequence[Lead], routed: Mapping[Hop, RouterPort], hosts: Mapping[str, Host]
) -> Ways:
    """Return how a node reaches every other host, in a network without loops.

    `routed`: ports of routers, by the router and the node towards which the port leads.
    """
    found: Ways = {node: ("", None)}
    waiting = [node]
    while waiting:
        at = waiting.pop()
        interface, router = found[at]
        for lead in leads:
            if lead.node == at and lead.neighbour not in found:
                entered = router or routed.get((lead.neighbour, at))
                found[lead.neighbour] = (interface or lead.interface, entered)
                waiting.append(lead.neighbour)
    return {name: way for name, way in found.items() if name in hosts and name != node}


def make_router(namespace: str) -> None:
    """Let a namespace forward packets of IPv4 and IPv6, without a check of where they come from."""
    settings = [
        "net.ipv4.ip_forward=1",
        "net.ipv4.conf.all.rp_filter=0",
        "net.ipv4.conf.default.rp_filter=0",
        "net.ipv6.conf.all.forwarding=1",
    ]
    run(inside(namespace, "sysctl", "-q", "-w", *settings))


def give_ways(
    namespace: str, ways: Ways, hosts: Mapping[str, Host], *, is_router: bool = False
) -> None:
    """Give a node its routes, and neighbour entries for all it sends to, which replace ARP.

    A host needs no route to those of its own network.
    """
    lines = []
    for name, (interface, port) in ways.items():
        host = hosts[name]
        by = (host.ipv4, host.ipv6) if port is None else port.ips
        mac = host.mac if port is None else port.mac
        for ip, bits, next_ip in zip((host.ipv4, host.ipv6), (32, 128), by, strict=True):
            lines.append(f"neigh replace {next_ip} lladdr {mac} dev {interface} nud permanent")
            if port is not None:
                lines.append(f"route add {ip}/{bits} via {next_ip} dev {interface} onlink")
            elif is_router:
                lines.append(f"route add {ip}/{bits} dev {interface}")
    batch(namespace, lines)
