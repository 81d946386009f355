"""Hosts, wires and switches of a testbed.

```text
pair     h1 ═══ h2                     switch   h1 ═══ switch ═══ h2     (and so on)
```

A shaped wire takes of each frame what an Ethernet takes: 24 octets more than the host sees (preamble 8, FCS 4, gap 12), and never less
than 84. Frames queue up at its end as at a network card. What it does not do: a frame that finds the wire idle leaves at once, without the
time that its bits would take, since the shaper has saved up for it. So rates are those of a wire, and the delay of a single frame is not.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal

from ethermeter.faults import Fault, InputError, shown
from ethermeter.testbed.commands import batch, inside, require, run
from ethermeter.testbed.record import Record, remove_namespaces

Layout = Literal["pair", "switch"]
"""How hosts are joined."""

MOST_HOSTS = 64
INTERFACE = "em0"
"""What the interface of every host is called."""

_RATES_BPS = range(64_000, 10_000_000_001)
_MTUS = range(576, 9001)
_OFFLOADS = ["rx", "tx", "sg", "tso", "gso", "gro"]
_WIRE_OCTETS = 8 + 4 + 12
"""Preamble, FCS and gap (802.3-2022, 3.1.1 and 4.4.2), which the kernel does not count."""
_HEADER_OCTETS = 14
_SHORTEST_OCTETS = 64 + 8 + 12
"""The shortest frame with preamble and gap."""
_TIMER_S = 20e-6
"""How late the kernel's timers may be without a loss of rate."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A link that carries no more than an Ethernet would.

    Parameters
    ----------
    rate_bps
        Line rate in bit/s, 64 kb/s to 10 Gb/s; each direction has its own.
    queue_octets
        Room for frames that wait, at each end.

    """

    rate_bps: int
    queue_octets: int = 150_000


@dataclass(frozen=True, slots=True)
class Host:
    """One host of a testbed."""

    namespace: str
    interface: str
    mac: str
    ipv4: str
    ipv6: str

    def command(self, *command: str) -> list[str]:
        """Return the command line that runs a command on this host."""
        return inside(self.namespace, *command)


@dataclass(frozen=True, slots=True)
class Testbed:
    """What was made."""

    __test__ = False  # no test, whatever pytest thinks of its name

    name: str
    hosts: tuple[Host, ...]
    switch: str | None
    """Namespace of the switch; its interfaces are `em1` … in the order of the hosts."""


@contextmanager
def make_testbed(
    hosts: int = 2, *, layout: Layout = "pair", wires: Wire | Sequence[Wire | None] | None = None, mtu: int = 1500
) -> Iterator[Testbed]:
    """Make a testbed, and remove it at the end whatever happens.

    Parameters
    ----------
    hosts
        How many; 2 to 64, and exactly 2 for a pair.
    layout
        `pair` or `switch`.
    wires
        The wire of each host, or one for all; unshaped without.
    mtu
        Octets of the longest IP packet, 576 to 9000.

    Raises
    ------
    InputError
        If a number is out of range.
    TestbedError
        If it cannot be made: without root, for instance.

    """
    shaped = _checked(hosts, layout, wires, mtu)
    require("ip", "tc", "ethtool")
    suffixes = [f"h{number}" for number in range(1, hosts + 1)] + (["switch"] if layout == "switch" else [])
    record = Record.make(suffixes)
    namespaces = [f"{record.name}-{suffix}" for suffix in suffixes]
    try:
        yield _make(record.name, namespaces, hosts, shaped, mtu)
    finally:
        remove_namespaces(namespaces)
        record.close()


def keep_testbed(hosts: int = 2, *, layout: Layout = "pair", wires: Wire | Sequence[Wire | None] | None = None, mtu: int = 1500) -> Testbed:
    """Make a testbed that stays when this process has ended, until `remove_kept`.

    Parameters
    ----------
    hosts, layout, wires, mtu
        As for `make_testbed`.

    Raises
    ------
    InputError
        If a number is out of range.
    TestbedError
        If it cannot be made.

    """
    shaped = _checked(hosts, layout, wires, mtu)
    require("ip", "tc", "ethtool")
    suffixes = [f"h{number}" for number in range(1, hosts + 1)] + (["switch"] if layout == "switch" else [])
    record = Record.make(suffixes)
    namespaces = [f"{record.name}-{suffix}" for suffix in suffixes]
    try:
        made = _make(record.name, namespaces, hosts, shaped, mtu)
        record.keep({"layout": layout, "mtu": mtu, "hosts": [asdict(host) for host in made.hosts]})
    except BaseException:
        remove_namespaces(namespaces)
        record.close()
        raise
    return made


def _checked(hosts: int, layout: str, wires: Wire | Sequence[Wire | None] | None, mtu: int) -> list[Wire | None]:
    """Return the wire of each host, or raise every fault at once."""
    faults = []

    def expect(key: str, value: object, is_fine: bool, allowed: str) -> None:  # noqa: FBT001
        if not is_fine:
            faults.append(Fault("testbed", key, shown(value), f"must be {allowed}"))

    expect("layout", layout, layout in ("pair", "switch"), "pair or switch")
    most = 2 if layout == "pair" else MOST_HOSTS
    expect("hosts", hosts, 2 <= hosts <= most, "2" if most == 2 else f"from 2 to {most}")
    expect("mtu", mtu, mtu in _MTUS, "from 576 to 9000 octets")
    each = [wires] * hosts if wires is None or isinstance(wires, Wire) else list(wires)
    expect("wires", len(each), len(each) == hosts, f"one for each of {hosts} hosts")
    for number, wire in enumerate(each, 1):
        if wire is not None:
            expect(f"wires[{number}].rate_bps", wire.rate_bps, wire.rate_bps in _RATES_BPS, "from 64 kb/s to 10 Gb/s")
            least = mtu + _HEADER_OCTETS + _WIRE_OCTETS
            expect(
                f"wires[{number}].queue_octets", wire.queue_octets, least <= wire.queue_octets <= 1 << 30, f"from {least} to 2^30 octets"
            )
    if faults:
        raise InputError(faults)
    return each


def _make(name: str, namespaces: list[str], hosts: int, wires: list[Wire | None], mtu: int) -> Testbed:
    switch = namespaces[hosts] if len(namespaces) > hosts else None
    made = tuple(_host(number, namespace) for number, namespace in enumerate(namespaces[:hosts], 1))
    batch(None, [f"netns add {namespace}" for namespace in namespaces])
    for namespace in namespaces:
        _quieten(namespace)
    ends: list[tuple[str, str, Wire | None]] = [(host.namespace, INTERFACE, wire) for host, wire in zip(made, wires, strict=True)]
    if switch is None:
        _join(made[0].namespace, INTERFACE, made[1].namespace, INTERFACE, mtu)
    else:
        # Snooping and spanning tree would send frames of their own, and hold others back for 30 s.
        batch(switch, ["link add bridge type bridge stp_state 0 mcast_snooping 0", "link set bridge up"])
        for number, (host, wire) in enumerate(zip(made, wires, strict=True), 1):
            _join(host.namespace, INTERFACE, switch, f"em{number}", mtu)
            batch(switch, [f"link set em{number} master bridge up"])
            ends.append((switch, f"em{number}", wire))
    for host in made:
        _address(host, made)
    for namespace, interface, wire in ends:
        run(inside(namespace, "ethtool", "-K", interface, *itertools.chain.from_iterable((offload, "off") for offload in _OFFLOADS)))
        if wire is not None:
            _shape(namespace, interface, wire, mtu)
    return Testbed(name, made, switch)


def _host(number: int, namespace: str) -> Host:
    return Host(namespace, INTERFACE, f"02:00:00:00:00:{number:02x}", f"10.77.0.{number}", f"fd77::{number:x}")


def _quieten(namespace: str) -> None:
    """Let nothing be sent that nobody asked for, as far as the kernel can be told."""
    settings = [
        f"net.ipv6.conf.{which}.{key}"
        for which in ("all", "default")
        for key in ("accept_ra=0", "router_solicitations=0", "dad_transmits=0", "accept_dad=0", "addr_gen_mode=1")
    ]
    run(inside(namespace, "sysctl", "-q", "-w", *settings))
    batch(namespace, ["link set lo up"])


def _join(one: str, one_interface: str, other: str, other_interface: str, mtu: int) -> None:
    batch(one, [f"link add {one_interface} mtu {mtu} type veth peer name {other_interface} mtu {mtu} netns {other}"])


def _address(host: Host, hosts: Sequence[Host]) -> None:
    """Give a host its addresses, and tell it those of the others, so that nobody has to ask."""
    lines = [
        f"link set {host.interface} address {host.mac} up",
        f"addr add {host.ipv4}/24 broadcast + dev {host.interface}",
        f"addr add {host.ipv6}/64 dev {host.interface} nodad",
    ]
    for other in hosts:
        if other is not host:
            lines += [f"neigh add {ip} lladdr {other.mac} dev {host.interface} nud permanent" for ip in (other.ipv4, other.ipv6)]
    batch(host.namespace, lines)


def reshape(namespace: str, interface: str, wire: Wire | None, *, mtu: int) -> None:
    """Give an interface of a testbed another wire, or none, while it is up; frames that wait are lost.

    Parameters
    ----------
    namespace, interface
        Of a host, or of the switch towards one (`em1` …).
    wire
        The new wire; unshaped if None.
    mtu
        Of the testbed.

    Raises
    ------
    InputError
        If a number is out of range.
    TestbedError
        If the system refuses.

    """
    _checked(2, "pair", wire, mtu)
    if wire is None:
        # Of two words for the same, this one is no error where there is no qdisc of ours: it puts the interface's own in its place.
        batch(namespace, [f"qdisc replace dev {interface} root noqueue"], tool="tc")
    else:
        _shape(namespace, interface, wire, mtu)


def _shape(namespace: str, interface: str, wire: Wire, mtu: int) -> None:
    frame_octets = mtu + _HEADER_OCTETS + _WIRE_OCTETS
    # Two frames: one that is being sent and one saved up, so that a timer that is a little late costs nothing in the mean.
    burst_octets = 2 * frame_octets + int(wire.rate_bps / 8 * _TIMER_S)
    # The table of sizes has a row for every length: with the usual 512 rows, lengths would be rounded up to multiples of 4 octets.
    sizes = 1 << (frame_octets - 1).bit_length()
    batch(
        namespace,
        [
            f"qdisc replace dev {interface} root handle 1: stab mtu {sizes} tsize {sizes} mpu {_SHORTEST_OCTETS} overhead {_WIRE_OCTETS}"
            " linklayer ethernet"
            f" tbf rate {wire.rate_bps}bit burst {burst_octets}b limit {wire.queue_octets}b"
        ],
        tool="tc",
    )


# Networks of experiments are built of the same pieces.
host_of, give_addresses, quieten, join, shape = _host, _address, _quieten, _join, _shape
RATES_BPS, MTUS, OFFLOADS = _RATES_BPS, _MTUS, _OFFLOADS
