"""The network of an experiment as a testbed: switches become bridges, links become wires.

Routers become namespaces that forward. Shared segments are emulated: the relay of the testbed runs
their medium between the interfaces of their stations.

Each host also has an interface `ctl0` on a control network, over which agents are reached: the
wires carry measured traffic only. Hosts, switches and routers behave as the kernel does, not as
their models in the experiment, except for the queue sizes of switches and routers. Only relayed
wires have propagation delays.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ethermeter.faults import Fault, InputError
from ethermeter.relay_plan import RelayPlan, SegmentPlan, SegmentTrial, WirePlan
from ethermeter.scenario import Class
from ethermeter.testbed.addresses import AddressTable, limit_learning
from ethermeter.testbed.build import (
    FRAME_OVERHEAD_OCTETS,
    INTERFACE,
    MOST_HOSTS,
    MTUS,
    RATES_BPS,
    await_carrier,
    burst_octets,
    direction,
    disable_ipv6,
    disable_offloads,
    give_addresses,
    host_of,
    join,
    limits_of,
    make_bridge,
    quieten,
    shape,
    wires_namespace,
)
from ethermeter.testbed.commands import batch, require, run
from ethermeter.testbed.counters import Hop, Port
from ethermeter.testbed.elements import Host, KeptTestbed, Layout, Wire
from ethermeter.testbed.forwarding import (
    Lead,
    RouterPort,
    fill_table,
    give_ways,
    make_router,
    ways_from,
)
from ethermeter.testbed.record import (
    NAMESPACES,
    Record,
    remove_leftovers,
    remove_namespaces,
)
from ethermeter.testbed.relay import (
    MOST_WIRES,
    Relay,
    start_to_stay,
)

CONTROL_INTERFACE = "ctl0"
MOST_SWITCHES = 64
MOST_QUEUE_OCTETS = 1 << 28
OFFSET_NS, LAG_NS = 1_000_000, 500_000
"""Usual delay of frames from an emulated medium to its hosts, and of decisions on it."""
_MOST_HUNDREDTHS = 1_000_000 * 100
"""Longest ageing time of a bridge in 0.01 s (802.1D-2004, table 7-5)."""
_AROUND_PACKET_OCTETS = 14 + 4
"""Octets of a frame beside its IP packet: header and FCS."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two nodes, by their names."""

    ends: tuple[str, str]
    wires: tuple[Wire | None, Wire | None] = (None, None)
    """The wire from each end to the other; unshaped if None."""
    queues: tuple[int | None, int | None] = (None, None)
    """Queue size at each end in frames; None for the wire's, in octets."""
    classes: tuple[tuple[Class, ...], tuple[Class, ...]] = ((), ())
    """Traffic classes at each end, highest first; one queue if empty. On relayed wires only."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A shared segment between hosts and ports of switches."""

    stations: tuple[str, ...]
    """Names of its nodes, in the order of the stations of its trials."""
    medium: SegmentTrial
    """The medium while no trial runs."""
    offset_ns: int = OFFSET_NS
    """How long after its time on the medium a frame reaches a host."""
    lag_ns: int = LAG_NS
    """How long after its time it is decided what happens on the medium."""
    shaper: Wire | None = None
    """What limits the rate of each host's interface; nothing if None."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network to be made; nodes have names, all different.

    Parameters
    ----------
    links
        Links between them; each host has one or is on a segment, and they form no loop.
    segments
        Shared segments between them.
    layout
        Hosts of a `pair` or at one `switch` have no control network.
    mtu
        Octets of the longest IP packet.
    tables
        Address tables of switches, by their names; the usual one of other switches.
    known
        Switches that know the addresses of all hosts from the start.
    routers
        Nodes that forward packets between their links; hosts keep their addresses behind them.
    sack
        Whether TCP of the hosts uses selective acknowledgements; the kernel's default if None.
    """

    hosts: Sequence[str]
    switches: Sequence[str] = ()
    links: Sequence[Link] = ()
    segments: Sequence[Segment] = ()
    layout: Layout = "network"
    mtu: int = 1500
    tables: Mapping[str, AddressTable] = field(default_factory=dict)
    known: Collection[str] = ()
    routers: Sequence[str] = ()
    sack: bool | None = None

    @property
    def has_control(self) -> bool:
        """Whether its hosts are on a control network."""
        return self.layout in ("segment", "network")

    @property
    def has_relay(self) -> bool:
        """Whether a relay plays its wires or segments."""
        return bool(self.segments) or any(map(_is_relayed, self.links))

    @property
    def suffixes(self) -> list[str]:
        """Names of its namespaces after its own name."""
        return [
            *(f"h{number}" for number in range(1, len(self.hosts) + 1)),
            *(f"s{number}" for number in range(1, len(self.switches) + 1)),
            *(f"r{number}" for number in range(1, len(self.routers) + 1)),
            *["wires"] * self.has_relay,
            *["control"] * self.has_control,
        ]


@dataclass(frozen=True, slots=True)
class NetworkBed:
    """A network testbed that exists."""

    name: str
    hosts: dict[str, Host]
    """Hosts by their names in the experiment."""
    controls: dict[str, str]
    """Address of each host on the control network; empty without one."""
    control: Path
    """Namespace from which the control network is reached, if there is one."""
    ports: dict[Hop, Port] = field(default_factory=dict)
    """Ports of switches, by the switch and the node towards which each leads."""
    wires: dict[str, Hop] = field(default_factory=dict)
    """The nodes of each direction of a relayed wire, by the interface at which the relay receives
    its frames.
    """
    relay: Relay | None = None
    """The relay of its wires and segments; None if there are none."""
    segments: tuple[Segment, ...] = ()


@contextmanager
def make_network(network: Network) -> Iterator[NetworkBed]:
    """Make a network, and remove it at the end in any case.

    Testbeds of killed processes are removed first.

    Raises
    ------
    InputError
        If there are too many nodes, or a wire has a rate out of range.
    TestbedError
        If it cannot be made, for example without root.

    """
    record = _recorded(network)
    try:
        made, plan = _made(record.name, network)
        relay = Relay.start(wires_namespace(record.name), plan, record.control) if plan else None
        try:
            yield replace(made, relay=relay)
        finally:
            if relay is not None:
                relay.stop()
    finally:
        _remove(record, network)


def keep_network(network: Network) -> NetworkBed:
    """Make a network that outlives this process, until `remove_kept`; as `make_network`."""
    record = _recorded(network)
    try:
        made, plan = _made(record.name, network)
        if plan is not None:
            start_to_stay(wires_namespace(record.name), plan, record.control, record.wires)
        shapers = {node: of.shaper for of in network.segments for node in of.stations}
        for link in network.links:
            shapers |= dict(zip(link.ends, link.wires, strict=True))
        record.keep(
            KeptTestbed(
                network.layout,
                network.mtu,
                tuple(made.hosts.values()),
                tuple(shapers.get(host) for host in network.hosts),
                tuple(network.hosts) if network.has_control else (),
                tuple(segment.stations for segment in network.segments),
            )
        )
    except BaseException:
        _remove(record, network)
        raise
    return made


def _recorded(network: Network) -> Record:
    """Return the record of a network that can be made."""
    _check(network)
    require("ip", "tc", "ethtool")
    if network.has_control:
        remove_leftovers()
    return Record.make(network.suffixes)


def _remove(record: Record, network: Network) -> None:
    remove_namespaces([f"{record.name}-{suffix}" for suffix in network.suffixes])
    record.close()


def _made(name: str, network: Network) -> tuple[NetworkBed, RelayPlan | None]:
    """Make a network whose interfaces are up; returns it and the plan of its relay, if any."""
    namespaces = [f"{name}-{suffix}" for suffix in network.suffixes]
    batch(None, [f"netns add {namespace}" for namespace in namespaces])
    made, plan = _make(name, network)
    for number, switch in enumerate(network.switches, 1):
        if (table := network.tables.get(switch)) is not None:
            hundredths = min(max(1, round(100 * table.age_s)), _MOST_HUNDREDTHS)
            namespace = f"{name}-s{number}"
            batch(namespace, [f"link set bridge type bridge ageing_time {hundredths}"])
            limit_learning(namespace, "bridge", table.addresses)
    for host in made.hosts.values() if network.sack is not None else ():
        run(host.command("sysctl", "-q", "-w", f"net.ipv4.tcp_sack={int(bool(network.sack))}"))
    for namespace in namespaces:
        await_carrier(namespace)
    return made, plan


def _is_relayed(link: Link) -> bool:
    return all(wire is not None and wire.kind == "relay" for wire in link.wires)


def _check(network: Network) -> None:
    faults = []
    links, mtu = network.links, network.mtu
    for what, names, most in (
        ("hosts", network.hosts, MOST_HOSTS),
        ("switches", network.switches, MOST_SWITCHES),
        ("routers", network.routers, MOST_SWITCHES),
    ):
        if len(names) > most:
            faults.append(Fault("testbed", what, str(len(names)), f"expected at most {most}"))
    relayed = sum(map(_is_relayed, links))
    if relayed > MOST_WIRES:
        allowed = f"expected at most {MOST_WIRES} that hold each frame; shaped ones have no limit"
        faults.append(Fault("testbed", "links", str(relayed), allowed))
    if mtu not in MTUS:
        faults.append(Fault("testbed", "mtu", str(mtu), "expected from 576 to 9000 octets"))
    least = mtu + FRAME_OVERHEAD_OCTETS
    for link in links:
        between = " - ".join(link.ends)
        for wire in link.wires:
            if wire is None:
                continue
            octets = wire.queue_octets
            for key, value, is_fine, allowed in (
                (
                    "rate",
                    f"{wire.rate_bps} bit/s",
                    wire.rate_bps in RATES_BPS,
                    "from 64 kb/s to 10 Gb/s",
                ),
                (
                    "queue",
                    f"{octets} B",
                    least <= octets <= MOST_QUEUE_OCTETS,
                    f"from {least} octets, a frame, to 2^28",
                ),
                *limits_of(wire),
            ):
                if not is_fine:
                    faults.append(
                        Fault("testbed", f"{key} of {between}", str(value), f"expected {allowed}")
                    )
    if faults:
        raise InputError(faults)


def _make(name: str, network: Network) -> tuple[NetworkBed, RelayPlan | None]:
    """Make nodes, links and segments; returns the network and the plan of its relay, if any."""
    links, segments, mtu = network.links, network.segments, network.mtu
    made = {
        node: host_of(number, f"{name}-h{number}") for number, node in enumerate(network.hosts, 1)
    }
    namespaces = {node: host.namespace for node, host in made.items()}
    namespaces |= {node: f"{name}-s{number}" for number, node in enumerate(network.switches, 1)}
    namespaces |= {node: f"{name}-r{number}" for number, node in enumerate(network.routers, 1)}
    wires = wires_namespace(name)
    for suffix in network.suffixes:
        quieten(f"{name}-{suffix}")
    for node in network.switches:
        make_bridge(namespaces[node])
    for node in network.routers:
        make_router(namespaces[node])
    if network.has_relay:
        disable_ipv6(wires)
    ports = dict.fromkeys(namespaces, 0)
    relayed: list[WirePlan] = []
    switched: dict[Hop, Port] = {}
    directed: dict[str, Hop] = {}
    leads: list[Lead] = []
    routed: dict[Hop, RouterPort] = {}
    for number, link in enumerate(links, 1):
        ends = []
        for node in link.ends:
            ports[node] += 1
            ends.append((namespaces[node], INTERFACE if node in made else f"em{ports[node]}"))
        leads += [
            Lead(node, interface, other)
            for node, other, (_, interface) in zip(link.ends, link.ends[::-1], ends, strict=True)
        ]
        if _is_relayed(link):
            between = f"em{number}a", f"em{number}b"
            for end, interface in zip(ends, between, strict=True):
                join(*end, wires, interface, mtu)
                batch(wires, [f"link set {interface} up"])
                disable_offloads(wires, interface)
            directed |= {between[0]: link.ends, between[1]: link.ends[::-1]}
            there, back = (
                direction(wire, 0 if classes else burst_octets(wire, mtu))
                for wire, classes in zip(link.wires, link.classes, strict=True)
                if wire is not None
            )
            relayed.append(WirePlan(ends=between, directions=(there, back), classes=link.classes))
        else:
            join(*ends[0], *ends[1], mtu)
        for node, other, (namespace, interface), wire, frames, classes in zip(
            link.ends, link.ends[::-1], ends, link.wires, link.queues, link.classes, strict=True
        ):
            if node not in made:
                switched[node, other] = Port(
                    namespace, interface, is_before_host=other in made and not _is_relayed(link)
                )
                routed |= _raise_port(network, node, (namespace, interface), [other])
            disable_offloads(namespace, interface)
            if classes:
                continue  # frames wait in the relay, by class
            if wire is not None:
                shape(namespace, interface, wire, mtu)
            if wire is not None and frames is not None:
                batch(
                    namespace,
                    [f"qdisc add dev {interface} parent 1:1 pfifo limit {frames}"],
                    tool="tc",
                )
    shared: list[SegmentPlan] = []
    for number, segment in enumerate(segments, 1):
        interfaces: list[str] = []
        for station, node in enumerate(segment.stations, 1):
            ports[node] += 1
            end = namespaces[node], INTERFACE if node in made else f"em{ports[node]}"
            interface = f"seg{number}-{station}"
            join(*end, wires, interface, mtu)
            batch(wires, [f"link set {interface} up"])
            if node not in made:
                peers = [other for other in segment.stations if other != node]
                routed |= _raise_port(network, node, end, peers)
            for side in (end, (wires, interface)):
                disable_offloads(*side)
            if segment.shaper is not None and node in made:
                shape(*end, segment.shaper, mtu)
            interfaces.append(interface)
            others = (other for other in segment.stations if other != node)
            leads += [Lead(node, end[1], other) for other in others]
        addresses = tuple(
            tuple(bytes.fromhex(made[node].mac.replace(":", ""))) if node in made else None
            for node in segment.stations
        )
        shared.append(
            SegmentPlan(
                ends=tuple(interfaces),
                addresses=addresses,
                offset_ns=segment.offset_ns,
                lag_ns=segment.lag_ns,
                medium=segment.medium,
            )
        )
    for node in network.known:
        fill_table(node, namespaces[node], leads, made)
    for node, host in made.items():
        give_addresses(host)
        give_ways(host.namespace, ways_from(node, leads, routed, made), made)
    for node in network.routers:
        ways = ways_from(node, leads, routed, made)
        give_ways(namespaces[node], ways, made, is_router=True)
    control = f"{name}-control"
    controls = _join_control(control, made) if network.has_control else {}
    plan = None
    if relayed or shared:
        plan = RelayPlan(
            wires=tuple(relayed),
            segments=tuple(shared),
            longest_octets=mtu + _AROUND_PACKET_OCTETS,
        )
    bed = NetworkBed(name, made, controls, NAMESPACES / control, switched, directed)
    return replace(bed, segments=tuple(segments)), plan


def _raise_port(
    network: Network, node: str, end: tuple[str, str], others: Sequence[str]
) -> dict[Hop, RouterPort]:
    """Raise a port of a switch or a router; a router's port towards each neighbour."""
    namespace, interface = end
    if node not in network.routers:
        batch(namespace, [f"link set {interface} master bridge up"])
        return {}
    router = 1 + list(network.routers).index(node)
    port = RouterPort(router, int(interface.removeprefix("em")))
    batch(namespace, [f"link set {interface} address {port.mac} up"])
    return {(node, other): port for other in others}


def _join_control(control: str, hosts: Mapping[str, Host]) -> dict[str, str]:
    """Join all hosts by the bridge of a control network; returns their addresses there."""
    make_bridge(control)
    controls = {}
    for number, (node, host) in enumerate(hosts.items(), 1):
        controls[node] = f"10.78.0.{number}"
        join(host.namespace, CONTROL_INTERFACE, control, f"em{number}", 1500)
        address = f"addr add {controls[node]}/24 dev {CONTROL_INTERFACE}"
        batch(host.namespace, [f"link set {CONTROL_INTERFACE} up", address])
        batch(control, [f"link set em{number} master bridge up"])
    batch(control, ["addr add 10.78.0.254/24 dev bridge"])
    return controls
