"""Namespaces, interfaces and shapers of a testbed, as the kernel makes them.

A shaped wire is a token bucket that charges each frame as an Ethernet does: 24 octets more than
the host sees (preamble 8, FCS 4, gap 12), at least 84. Frames queue before it as before a network
card. A frame that finds the wire idle leaves at once, without its transmission time, since tokens
are left. So rates are those of an Ethernet; the delay of a lone frame is not.

A relayed wire delays lone frames too. Its frames pass a process (`crates/relay`) in a namespace of
its own; the shapers at its ends stay, so that a sender waits, or loses frames, where it would with
a network card.
"""

import time

import msgspec

from ethermeter.relay_plan import (
    ChanceLossRule,
    DirectionProperties,
    EveryLossRule,
    LossRule,
    NoneLossRule,
)
from ethermeter.testbed.addresses import limit_learning
from ethermeter.testbed.commands import LIMIT_S, TestbedError, batch, inside, run
from ethermeter.testbed.elements import Host, Wire

MOST_HOSTS = 64
INTERFACE = "em0"
"""Name of the interface of every host."""

RATES_BPS = range(64_000, 10_000_000_001)
MTUS = range(576, 9001)
OFFLOADS = ["rx", "tx", "sg", "tso", "gso", "gro"]
_WIRE_OCTETS = 8 + 4 + 12
"""Preamble, FCS and gap (802.3-2022, 3.1.1 and 4.4.2), which the kernel does not count."""
FRAME_OVERHEAD_OCTETS = 14 + _WIRE_OCTETS
"""Octets of a frame beside its IP packet, preamble and gap included."""
_SHORTEST_OCTETS = 64 + 8 + 12
"""The shortest frame with preamble and gap."""
_TIMER_S = {"shaped": 20e-6, "relay": 200e-6}
"""How late the kernel's timers may be without a loss of rate; a relay delays early frames."""
_LONGEST_DELAY_NS = 10_000_000_000
_MOST_SEGMENTS = 65_535
"""Segments that TCP hands over as one: the default of interfaces."""
_UNSEGMENTED_UP_TO_BPS = 100_000_000
"""Largest rate at which TCP hands over each segment separately.

Two processors saturate a wire of 100 Mb/s that way, and less than half of one of 1 Gb/s.
"""


def wires_namespace(name: str) -> str:
    """Return the namespace of a testbed's relay."""
    return f"{name}-wires"


def limits_of(wire: Wire) -> list[tuple[str, object, bool, str]]:
    """Check the other values of a wire: key, value, whether it is allowed, what is allowed."""
    if wire.kind != "relay":
        of_relays = {"delay_ns": wire.delay_ns, "loss": wire.loss, "lose_every": wire.lose_every}
        return [
            ("kind", wire.kind, wire.kind == "shaped", "shaped or relay"),
            *(
                (key, value, False, "given for a relay only")
                for key, value in of_relays.items()
                if value
            ),
        ]
    delay_ns, every = wire.delay_ns, wire.lose_every
    held_octets = wire.queue_octets + wire.rate_bps * delay_ns // 8_000_000_000
    room = "such that rate times delay and the queue are at most 2^29 octets"
    return [
        ("delay_ns", delay_ns, 0 <= delay_ns <= _LONGEST_DELAY_NS, "from 0 to 10 s"),
        ("delay_ns", delay_ns, held_octets <= 1 << 29, room),
        ("loss", wire.loss, 0 <= wire.loss <= 1, "a probability from 0 to 1"),
        ("lose_every", every, every is None or every >= 1, "at least 1"),
        ("lose_every", every, every is None or wire.loss == 0, "given without loss"),
        ("seed", wire.seed, 0 <= wire.seed < 1 << 64, "from 0 to 2^64 - 1"),
    ]


class _Port(msgspec.Struct, frozen=True):
    state: str = ""


class _LinkInfo(msgspec.Struct, frozen=True):
    info_kind: str | None = None
    info_slave_kind: str | None = None
    info_slave_data: _Port = _Port()


class _Interface(msgspec.Struct, frozen=True):
    """An interface as `ip -json -details link` lists it."""

    ifname: str
    operstate: str
    linkinfo: _LinkInfo = _LinkInfo()

    @property
    def is_waiting(self) -> bool:
        """Whether it is a virtual Ethernet that is down, or a port that does not forward yet."""
        is_port = self.linkinfo.info_slave_kind == "bridge"
        is_forwarding = self.operstate == "UP" and (
            not is_port or self.linkinfo.info_slave_data.state == "forwarding"
        )
        return self.linkinfo.info_kind == "veth" and not is_forwarding


def await_carrier(namespace: str) -> None:
    """Wait until all interfaces are up and the ports of a switch forward.

    The kernel drops frames that arrive earlier.
    """
    until_s = time.monotonic() + LIMIT_S
    show = ["ip", "-n", namespace, "-json", "-details", "link"]
    while waiting := [
        each.ifname
        for each in msgspec.json.decode(run(show), type=list[_Interface])
        if each.is_waiting
    ]:
        if time.monotonic() > until_s:
            raise TestbedError(f"{namespace}: {', '.join(waiting)} did not come up")
        time.sleep(0.01)


def direction(wire: Wire, burst: int) -> DirectionProperties:
    """Return one direction of a relayed wire.

    `burst`: octets of the burst of the shaper before it, which waits in the relay, beside the
    frames that bypass the shaper.
    """
    loss: LossRule = NoneLossRule()
    if wire.lose_every is not None:
        loss = EveryLossRule(frames=wire.lose_every)
    elif wire.loss > 0:
        loss = ChanceLossRule(probability=wire.loss)
    return DirectionProperties(
        rate_bps=wire.rate_bps,
        delay_ns=wire.delay_ns,
        queue_octets=wire.queue_octets + burst,
        loss=loss,
        seed=wire.seed,
    )


def host_of(number: int, namespace: str) -> Host:
    """Return a host with the addresses of its number."""
    mac = f"02:00:00:00:00:{number:02x}"
    return Host(namespace, INTERFACE, mac, f"10.77.0.{number}", f"fd77::{number:x}")


def quieten(namespace: str) -> None:
    """Disable frames that the kernel itself sends, as far as it has settings for them.

    Reports of joined groups cannot be disabled. They are repeated after a random time of up to one
    second; with an interval of 1 ms, the last one leaves before anything is measured.
    """
    settings = [
        f"net.ipv6.conf.{which}.{key}"
        for which in ("all", "default")
        for key in (
            "accept_ra=0",
            "router_solicitations=0",
            "dad_transmits=0",
            "accept_dad=0",
            "addr_gen_mode=1",
            "mldv1_unsolicited_report_interval=1",
            "mldv2_unsolicited_report_interval=1",
        )
    ]
    run(inside(namespace, "sysctl", "-q", "-w", *settings))
    batch(namespace, ["link set lo up"])


def disable_ipv6(namespace: str) -> None:
    """Disable IPv6 in the namespace of a relay, whose interfaces have no addresses."""
    which = [f"net.ipv6.conf.{which}.disable_ipv6=1" for which in ("all", "default")]
    run(inside(namespace, "sysctl", "-q", "-w", *which))


def disable_offloads(namespace: str, interface: str) -> None:
    """Disable the offloads of an interface, so that it carries frames as they are on the wire."""
    off = [word for offload in OFFLOADS for word in (offload, "off")]
    run(inside(namespace, "ethtool", "-K", interface, *off))


def make_bridge(namespace: str) -> None:
    """Make the bridge of a switch, named `bridge`, which learns as many addresses as usual."""
    # Snooping and spanning tree send frames of their own and delay forwarding by 30 s.
    bridge = "link add bridge type bridge stp_state 0 mcast_snooping 0"
    batch(namespace, [bridge, "link set bridge up"])
    limit_learning(namespace, "bridge")


def join(one: str, one_interface: str, other: str, other_interface: str, mtu: int) -> None:
    """Join two namespaces by a pair of interfaces."""
    peer = f"peer name {other_interface} mtu {mtu} netns {other}"
    batch(one, [f"link add {one_interface} mtu {mtu} type veth {peer}"])


def give_addresses(host: Host) -> None:
    """Set a host's addresses, and raise its interface."""
    batch(
        host.namespace,
        [
            f"link set {host.interface} address {host.mac} up",
            f"addr add {host.ipv4}/24 broadcast + dev {host.interface}",
            f"addr add {host.ipv6}/64 dev {host.interface} nodad",
        ],
    )


def burst_octets(wire: Wire, mtu: int) -> int:
    """Return the depth of the token bucket: two frames, so that late timers cost no rate."""
    return 2 * (mtu + FRAME_OVERHEAD_OCTETS) + int(wire.rate_bps / 8 * _TIMER_S[wire.kind])


def shape(namespace: str, interface: str, wire: Wire, mtu: int) -> None:
    """Limit the rate of an interface to that of its wire."""
    frame_octets = mtu + FRAME_OVERHEAD_OCTETS
    burst = burst_octets(wire, mtu)
    # The table of sizes has a row for every length: the usual 512 rows round up to 4 octets.
    sizes = 1 << (frame_octets - 1).bit_length()
    # TCP hands several segments over as one even without offloads; the shaper segments them, but
    # charges headers, preamble and gap only once.
    most = 1 if wire.rate_bps <= _UNSEGMENTED_UP_TO_BPS else _MOST_SEGMENTS
    batch(namespace, [f"link set {interface} gso_max_segs {most}"])
    qdisc = (
        f"qdisc replace dev {interface} root handle 1: stab mtu {sizes} tsize {sizes}"
        f" mpu {_SHORTEST_OCTETS} overhead {_WIRE_OCTETS} linklayer ethernet"
        f" tbf rate {wire.rate_bps}bit burst {burst}b limit {wire.queue_octets}b"
    )
    batch(namespace, [qdisc], tool="tc")
