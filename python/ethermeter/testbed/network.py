"""A network of an experiment as a testbed: its hosts, its switches as bridges, its links as wires
of their rate.

Beside it each host has an interface `ctl0` on a network of its own, which leads to the namespace
from which agents are reached: nothing but what is measured is on the wires. A host is one of the
kernel's, whatever the experiment says of its model; so is a switch, but for the room of its queues.
Propagation takes time on relayed wires only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ethermeter.faults import Fault, InputError
from ethermeter.testbed.build import (
    INTERFACE,
    MOST_HOSTS,
    MTUS,
    OFFLOADS,
    RATES_BPS,
    Host,
    Wire,
    await_carrier,
    direction,
    give_addresses,
    host_of,
    join,
    limits_of,
    quieten,
    shape,
    wires_namespace,
)
from ethermeter.testbed.commands import batch, inside, require, run
from ethermeter.testbed.counters import Hop, Port
from ethermeter.testbed.record import NAMESPACES, Record, remove_leftovers, remove_namespaces
from ethermeter.testbed.relay import Relay

CONTROL_INTERFACE = "ctl0"
MOST_SWITCHES = 64
MOST_QUEUE_OCTETS = 1 << 28
_MOST_HUNDREDTHS = 1_000_000 * 100
"""Hundredths of a second after which a bridge forgets at the latest (802.1D-2004, table 7-5)."""
_AROUND_OCTETS = 38
"""Of a frame beside its IP packet, with preamble and gap."""
_FRAME_OCTETS = 18
"""The same without these."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two nodes.

    Parameters
    ----------
    ends
        Names of the nodes.
    wires
        What goes from each end to the other; without, as much as the machine can.
    queues
        At each end the room for frames that wait, in frames; None for that of the wire, in octets.

    """

    ends: tuple[str, str]
    wires: tuple[Wire | None, Wire | None] = (None, None)
    queues: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class NetworkBed:
    """What was made.

    Parameters
    ----------
    name
        Its name.
    hosts
        By the name of the experiment.
    controls
        Address of each host on the network on which agents are reached.
    control
        Namespace from which they are.
    ports
        Of its switches, by the switch and the node towards which each leads.
    wires
        The nodes from and to which a relayed wire goes, by the interface at which the relay takes
        what comes.
    relay
        What plays the wires that are relayed.

    """

    name: str
    hosts: dict[str, Host]
    controls: dict[str, str]
    control: Path
    ports: dict[Hop, Port] = field(default_factory=dict)
    wires: dict[str, Hop] = field(default_factory=dict)
    relay: Relay | None = None


@contextmanager
def make_network(
    hosts: Sequence[str],
    switches: Sequence[str],
    links: Sequence[Link],
    *,
    mtu: int = 1500,
    ages_s: Mapping[str, float] | None = None,
    sack: bool | None = None,
) -> Iterator[NetworkBed]:
    """Make a network, and remove it at the end whatever happens.

    What killed processes left of others is removed first.

    Parameters
    ----------
    hosts, switches
        Names, all different.
    links
        Between them; each host has one, and they close no loop.
    mtu
        Octets of the longest IP packet.
    ages_s
        After how long of silence a switch forgets where a host is, in s, by the name of the switch;
        300 s for those that are not in it.
    sack
        Whether TCP of the hosts acknowledges selectively; as the system begins with if None.

    Raises
    ------
    InputError
        If there are too many nodes, or a wire has a rate that cannot be had here.
    TestbedError
        If it cannot be made: without root, for instance.

    """
    _check(hosts, switches, links, mtu)
    require("ip", "tc", "ethtool")
    remove_leftovers()
    suffixes = [f"h{number}" for number in range(1, len(hosts) + 1)] + [
        f"s{number}" for number in range(1, len(switches) + 1)
    ]
    suffixes += ["wires"] * any(map(_is_relayed, links)) + ["control"]
    record = Record.make(suffixes)
    namespaces = [f"{record.name}-{suffix}" for suffix in suffixes]
    relay = None
    try:
        batch(None, [f"netns add {namespace}" for namespace in namespaces])
        made, plan = _make(record.name, hosts, switches, links, mtu)
        switching = {name: f"{record.name}-s{number}" for number, name in enumerate(switches, 1)}
        for name, age_s in (ages_s or {}).items():
            hundredths = min(max(1, round(100 * age_s)), _MOST_HUNDREDTHS)
            batch(switching[name], [f"link set bridge type bridge ageing_time {hundredths}"])
        for host in made.hosts.values() if sack is not None else ():
            run(host.command("sysctl", "-q", "-w", f"net.ipv4.tcp_sack={int(bool(sack))}"))
        for namespace in namespaces:
            await_carrier(namespace)
        relay = Relay.start(wires_namespace(record.name), plan) if plan else None
        yield replace(made, relay=relay)
    finally:
        try:
            if relay is not None:
                relay.stop()
        finally:
            remove_namespaces(namespaces)
            record.close()


def _is_relayed(link: Link) -> bool:
    return all(wire is not None and wire.kind == "relay" for wire in link.wires)


def _check(hosts: Sequence[str], switches: Sequence[str], links: Sequence[Link], mtu: int) -> None:
    faults = [
        Fault("testbed", what, str(len(names)), f"expected at most {most}")
        for what, names, most in (
            ("hosts", hosts, MOST_HOSTS),
            ("switches", switches, MOST_SWITCHES),
        )
        if len(names) > most
    ]
    faults += (
        [Fault("testbed", "mtu", str(mtu), "expected from 576 to 9000 octets")]
        if mtu not in MTUS
        else []
    )
    for link in links:
        between = " - ".join(link.ends)
        for wire in link.wires:
            if wire is not None and wire.rate_bps not in RATES_BPS:
                faults.append(
                    Fault(
                        "testbed",
                        f"rate of {between}",
                        f"{wire.rate_bps} bit/s",
                        "expected from 64 kb/s to 10 Gb/s",
                    )
                )
            if (
                wire is not None
                and not mtu + _AROUND_OCTETS <= wire.queue_octets <= MOST_QUEUE_OCTETS
            ):
                allowed = f"expected from {mtu + _AROUND_OCTETS} octets, a frame, to 2^28"
                faults.append(
                    Fault("testbed", f"queue of {between}", f"{wire.queue_octets} B", allowed)
                )
            for key, value, is_fine, allowed in limits_of(wire) if wire is not None else ():
                if not is_fine:
                    faults.append(
                        Fault("testbed", f"{key} of {between}", str(value), f"expected {allowed}")
                    )
    if faults:
        raise InputError(faults)


def _make(
    name: str, hosts: Sequence[str], switches: Sequence[str], links: Sequence[Link], mtu: int
) -> tuple[NetworkBed, dict[str, Any]]:
    """Make what is in the namespaces; returns it, and the plan of the wires to be relayed, empty if
    there are none.
    """
    made = {node: host_of(number, f"{name}-h{number}") for number, node in enumerate(hosts, 1)}
    places = {node: host.namespace for node, host in made.items()}
    places |= {node: f"{name}-s{number}" for number, node in enumerate(switches, 1)}
    control, wires = f"{name}-control", wires_namespace(name)
    for namespace in (*places.values(), control):
        quieten(namespace)
    for namespace in (control, *(places[node] for node in switches)):
        # Snooping and spanning tree would send frames of their own, and hold others back for 30 s.
        batch(
            namespace,
            ["link add bridge type bridge stp_state 0 mcast_snooping 0", "link set bridge up"],
        )
    if any(map(_is_relayed, links)):
        quieten(wires)
        run(
            inside(
                wires,
                "sysctl",
                "-q",
                "-w",
                "net.ipv6.conf.all.disable_ipv6=1",
                "net.ipv6.conf.default.disable_ipv6=1",
            )
        )
    ports = dict.fromkeys(places, 0)
    relayed: list[dict[str, Any]] = []
    switched: dict[Hop, Port] = {}
    directed: dict[str, Hop] = {}
    for number, link in enumerate(links, 1):
        ends = []
        for node in link.ends:
            ports[node] += 1
            ends.append((places[node], INTERFACE if node in made else f"em{ports[node]}"))
        if _is_relayed(link):
            between = [f"em{number}a", f"em{number}b"]
            for end, interface in zip(ends, between, strict=True):
                join(*end, wires, interface, mtu)
                batch(wires, [f"link set {interface} up"])
                _whole_frames(wires, interface)
            directed |= {between[0]: link.ends, between[1]: link.ends[::-1]}
            relayed.append(
                {
                    "ends": between,
                    "directions": [direction(wire, mtu) for wire in link.wires if wire is not None],
                }
            )
        else:
            join(*ends[0], *ends[1], mtu)
        for node, other, (namespace, interface), wire, frames in zip(
            link.ends, link.ends[::-1], ends, link.wires, link.queues, strict=True
        ):
            if node not in made:
                switched[node, other] = Port(
                    namespace, interface, is_before_host=other in made and not _is_relayed(link)
                )
                batch(namespace, [f"link set {interface} master bridge up"])
            _whole_frames(namespace, interface)
            if wire is not None:
                shape(namespace, interface, wire, mtu)
            if wire is not None and frames is not None:
                batch(
                    namespace,
                    [f"qdisc add dev {interface} parent 1:1 pfifo limit {frames}"],
                    tool="tc",
                )
    controls = {}
    for number, (node, of) in enumerate(made.items(), 1):
        give_addresses(of, list(made.values()))
        controls[node] = f"10.78.0.{number}"
        join(of.namespace, CONTROL_INTERFACE, control, f"em{number}", 1500)
        batch(
            of.namespace,
            [
                f"link set {CONTROL_INTERFACE} up",
                f"addr add {controls[node]}/24 dev {CONTROL_INTERFACE}",
            ],
        )
        batch(control, [f"link set em{number} master bridge up"])
    batch(control, ["addr add 10.78.0.254/24 dev bridge"])
    plan = {"wires": relayed, "longest_octets": mtu + _FRAME_OCTETS} if relayed else {}
    return NetworkBed(name, made, controls, NAMESPACES / control, switched, directed), plan


def _whole_frames(namespace: str, interface: str) -> None:
    """Let an interface carry frames as they will be on the wire, neither joined nor cut up by it."""
    run(
        inside(
            namespace,
            "ethtool",
            "-K",
            interface,
            *(word for offload in OFFLOADS for word in (offload, "off")),
        )
    )
