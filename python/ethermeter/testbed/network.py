"""The network of an experiment as a testbed: switches become bridges, links become wires.

Each host also has an interface `ctl0` on a control network, over which agents are reached: the
wires carry measured traffic only. Hosts and switches behave as the kernel does, not as their models
in the experiment, except for the queue sizes of switches. Only relayed wires have propagation
delays.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ethermeter.faults import Fault, InputError
from ethermeter.testbed.build import (
    INTERFACE,
    MOST_HOSTS,
    MTUS,
    OFFLOADS,
    RATES_BPS,
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
from ethermeter.testbed.elements import Host, Wire
from ethermeter.testbed.record import NAMESPACES, Record, remove_leftovers, remove_namespaces
from ethermeter.testbed.relay import Relay, RelayedWire, RelayPlan

CONTROL_INTERFACE = "ctl0"
MOST_SWITCHES = 64
MOST_QUEUE_OCTETS = 1 << 28
_MOST_HUNDREDTHS = 1_000_000 * 100
"""Longest ageing time of a bridge in 0.01 s (802.1D-2004, table 7-5)."""
_WIRE_OVERHEAD_OCTETS = 38
"""Octets of a frame beside its IP packet, preamble and gap included."""
_FRAME_OVERHEAD_OCTETS = 18
"""The same without preamble and gap."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two nodes.

    Parameters
    ----------
    ends
        Names of the nodes.
    wires
        The wire from each end to the other; unshaped if None.
    queues
        Queue size at each end in frames; None for the wire's, in octets.

    """

    ends: tuple[str, str]
    wires: tuple[Wire | None, Wire | None] = (None, None)
    queues: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class NetworkBed:
    """A network testbed that exists.

    Parameters
    ----------
    name
        Its name.
    hosts
        Hosts by their names in the experiment.
    controls
        Address of each host on the control network.
    control
        Namespace from which the control network is reached.
    ports
        Ports of switches, by the switch and the node towards which each leads.
    wires
        The nodes of each direction of a relayed wire, by the interface at which the relay receives
        its frames.
    relay
        The relay of its wires; None if none is relayed.

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
    """Make a network, and remove it at the end in any case.

    Testbeds of killed processes are removed first.

    Parameters
    ----------
    hosts, switches
        Names, all different.
    links
        Links between them; each host has one, and they form no loop.
    mtu
        Octets of the longest IP packet.
    ages_s
        Ageing time of the address table in s, by the name of the switch; 300 s for other switches.
    sack
        Whether TCP of the hosts uses selective acknowledgements; the kernel's default if None.

    Raises
    ------
    InputError
        If there are too many nodes, or a wire has a rate out of range.
    TestbedError
        If it cannot be made, for example without root.

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
                and not mtu + _WIRE_OVERHEAD_OCTETS <= wire.queue_octets <= MOST_QUEUE_OCTETS
            ):
                allowed = f"expected from {mtu + _WIRE_OVERHEAD_OCTETS} octets, a frame, to 2^28"
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
) -> tuple[NetworkBed, RelayPlan | None]:
    """Make nodes and links; returns the network and the plan of its relayed wires, if any."""
    made = {node: host_of(number, f"{name}-h{number}") for number, node in enumerate(hosts, 1)}
    namespaces = {node: host.namespace for node, host in made.items()}
    namespaces |= {node: f"{name}-s{number}" for number, node in enumerate(switches, 1)}
    control, wires = f"{name}-control", wires_namespace(name)
    for namespace in (*namespaces.values(), control):
        quieten(namespace)
    for namespace in (control, *(namespaces[node] for node in switches)):
        # Snooping and spanning tree send frames of their own and delay forwarding by 30 s.
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
    ports = dict.fromkeys(namespaces, 0)
    relayed: list[RelayedWire] = []
    switched: dict[Hop, Port] = {}
    directed: dict[str, Hop] = {}
    for number, link in enumerate(links, 1):
        ends = []
        for node in link.ends:
            ports[node] += 1
            ends.append((namespaces[node], INTERFACE if node in made else f"em{ports[node]}"))
        if _is_relayed(link):
            between = f"em{number}a", f"em{number}b"
            for end, interface in zip(ends, between, strict=True):
                join(*end, wires, interface, mtu)
                batch(wires, [f"link set {interface} up"])
                _whole_frames(wires, interface)
            directed |= {between[0]: link.ends, between[1]: link.ends[::-1]}
            there, back = (direction(wire, mtu) for wire in link.wires if wire is not None)
            relayed.append(RelayedWire(between, (there, back)))
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
    plan = RelayPlan(tuple(relayed), mtu + _FRAME_OVERHEAD_OCTETS) if relayed else None
    return NetworkBed(name, made, controls, NAMESPACES / control, switched, directed), plan


def _whole_frames(namespace: str, interface: str) -> None:
    """Disable the offloads of an interface, so that it carries frames as they are on the wire."""
    run(
        inside(
            namespace,
            "ethtool",
            "-K",
            interface,
            *(word for offload in OFFLOADS for word in (offload, "off")),
        )
    )
