"""Hosts, wires and switches of a testbed.

```text
pair     h1 ═══ h2                     switch   h1 ═══ switch ═══ h2     (and so on)
```

A shaped wire takes of each frame what an Ethernet takes: 24 octets more than the host sees
(preamble 8, FCS 4, gap 12), and never less than 84. Frames queue up at its end as at a network
card. What it does not do: a frame that finds the wire idle leaves at once, without the time that
its bits would take, since the shaper has saved up for it. So rates are those of a wire, and the
delay of a single frame is not.

A relayed wire takes that time too. Its frames go through a process of ours (`crates/relay`), in a
namespace of its own; the shapers at its ends stay, so that a sender waits, or loses, where it would
with a network card.
"""

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ethermeter.faults import Fault, InputError, shown
from ethermeter.testbed.commands import LIMIT_S, TestbedError, batch, inside, require, run
from ethermeter.testbed.record import Record, remove_namespaces
from ethermeter.testbed.relay import Relay, start_to_stay

Layout = Literal["pair", "switch"]
"""How hosts are joined."""
WireKind = Literal["shaped", "relay"]
"""What makes a wire slow: the queue before it alone, or a process that holds each frame as long as
its bits would take.
"""

MOST_HOSTS = 64
INTERFACE = "em0"
"""What the interface of every host is called."""

_RATES_BPS = range(64_000, 10_000_000_001)
_MTUS = range(576, 9001)
_OFFLOADS = ["rx", "tx", "sg", "tso", "gso", "gro"]
_WIRE_OCTETS = 8 + 4 + 12
"""Preamble, FCS and gap (802.3-2022, 3.1.1 and 4.4.2), which the kernel does not count."""
_HEADER_OCTETS = 14
_FCS_OCTETS = 4
_SHORTEST_OCTETS = 64 + 8 + 12
"""The shortest frame with preamble and gap."""
_TIMER_S = {"shaped": 20e-6, "relay": 200e-6}
"""How late the kernel's timers may be without a loss of rate.

A relay evens out what comes too early.
"""
_LONGEST_DELAY_NS = 10_000_000_000
_MOST_SEGMENTS = 65_535
"""Segments handed over as one, as interfaces begin with."""
_ALONE_UP_TO_BPS = 100_000_000
"""Wires before which TCP hands over each segment by itself.

Two processors fill one of 100 Mb/s so, and not half of one of 1 Gb/s.
"""


@dataclass(frozen=True, slots=True)
class Wire:
    """A link that carries no more than an Ethernet would.

    Parameters
    ----------
    rate_bps
        Line rate in bit/s, 64 kb/s to 10 Gb/s; each direction has its own.
    queue_octets
        Room for frames that wait, at each end.
    kind
        `shaped` or `relay`. What follows is for a relay only.
    delay_ns
        Propagation delay in ns, up to 10 s.
    loss
        Probability that a frame is lost on its way, 0 to 1; each by itself. A lost frame takes its
        time all the same.
    lose_every
        Lose every n-th frame instead; at least 1.
    seed
        Of the losses.

    """

    rate_bps: int
    queue_octets: int = 150_000
    kind: WireKind = "shaped"
    delay_ns: int = 0
    loss: float = 0.0
    lose_every: int | None = None
    seed: int = 1


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
    relay: Relay | None = None
    """What plays the wires that are relayed."""


@contextmanager
def make_testbed(
    hosts: int = 2,
    *,
    layout: Layout = "pair",
    wires: Wire | Sequence[Wire | None] | None = None,
    mtu: int = 1500,
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
    each = _checked(hosts, layout, wires, mtu)
    require("ip", "tc", "ethtool")
    suffixes = _suffixes(hosts, layout, each)
    record = Record.make(suffixes)
    namespaces = [f"{record.name}-{suffix}" for suffix in suffixes]
    relay = None
    try:
        made, plan = _make(record.name, hosts, each, mtu, layout)
        relay = Relay.start(_wires_namespace(record.name), plan) if plan else None
        yield replace(made, relay=relay)
    finally:
        try:
            if relay is not None:
                relay.stop()
        finally:
            remove_namespaces(namespaces)
            record.close()


def keep_testbed(
    hosts: int = 2,
    *,
    layout: Layout = "pair",
    wires: Wire | Sequence[Wire | None] | None = None,
    mtu: int = 1500,
) -> Testbed:
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
    each = _checked(hosts, layout, wires, mtu)
    require("ip", "tc", "ethtool")
    suffixes = _suffixes(hosts, layout, each)
    record = Record.make(suffixes)
    try:
        made, plan = _make(record.name, hosts, each, mtu, layout)
        if plan:
            start_to_stay(_wires_namespace(record.name), plan, record.wires)
        about = {"layout": layout, "mtu": mtu, "hosts": [asdict(host) for host in made.hosts]}
        record.keep(about | {"wires": [wire and asdict(wire) for wire in each]})
    except BaseException:
        remove_namespaces([f"{record.name}-{suffix}" for suffix in suffixes])
        record.close()
        raise
    return made


def _suffixes(hosts: int, layout: Layout, wires: Sequence[Wire | None]) -> list[str]:
    """Return what the namespaces of a testbed are called after its name."""
    relayed = any(wire is not None and wire.kind == "relay" for wire in wires)
    return (
        [f"h{number}" for number in range(1, hosts + 1)]
        + ["switch"] * (layout == "switch")
        + ["wires"] * relayed
    )


def _wires_namespace(name: str) -> str:
    return f"{name}-wires"


def _checked(
    hosts: int, layout: str, wires: Wire | Sequence[Wire | None] | None, mtu: int
) -> list[Wire | None]:
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
            expect(
                f"wires[{number}].rate_bps",
                wire.rate_bps,
                wire.rate_bps in _RATES_BPS,
                "from 64 kb/s to 10 Gb/s",
            )
            least = mtu + _HEADER_OCTETS + _WIRE_OCTETS
            expect(
                f"wires[{number}].queue_octets",
                wire.queue_octets,
                least <= wire.queue_octets <= 1 << 28,
                f"from {least} to 2^28 octets",
            )
            for key, value, is_fine, allowed in _allowed(wire):
                expect(f"wires[{number}].{key}", value, is_fine, allowed)
    kinds = {wire.kind if wire is not None else "shaped" for wire in each}
    expect(
        "wires",
        sorted(kinds),
        layout != "pair" or len(kinds) == 1,
        "of one kind at both ends of a pair",
    )
    if faults:
        raise InputError(faults)
    return each


def _allowed(wire: Wire) -> list[tuple[str, object, bool, str]]:
    """Return what there is to say of a wire's values beside rate and queue: key, value, whether it
    is fine, what is allowed.
    """
    if wire.kind != "relay":
        of_relays = {"delay_ns": wire.delay_ns, "loss": wire.loss, "lose_every": wire.lose_every}
        given = [
            (key, value, False, "given for a relay only")
            for key, value in of_relays.items()
            if value
        ]
        return [("kind", wire.kind, wire.kind == "shaped", "shaped or relay"), *given]
    held_octets = wire.queue_octets + wire.rate_bps * wire.delay_ns // 8_000_000_000
    return [
        ("delay_ns", wire.delay_ns, 0 <= wire.delay_ns <= _LONGEST_DELAY_NS, "from 0 to 10 s"),
        (
            "delay_ns",
            wire.delay_ns,
            held_octets <= 1 << 29,
            "such that rate times delay and the queue are at most 2^29 octets",
        ),
        ("loss", wire.loss, 0 <= wire.loss <= 1, "a probability from 0 to 1"),
        (
            "lose_every",
            wire.lose_every,
            wire.lose_every is None or wire.lose_every >= 1,
            "at least 1",
        ),
        (
            "lose_every",
            wire.lose_every,
            wire.lose_every is None or wire.loss == 0,
            "given without loss",
        ),
        ("seed", wire.seed, 0 <= wire.seed < 1 << 64, "from 0 to 2^64 - 1"),
    ]


def _make(
    name: str, hosts: int, wires: list[Wire | None], mtu: int, layout: Layout
) -> tuple[Testbed, dict[str, Any]]:
    """Make namespaces and what joins them; returns the testbed, and the plan of the wires to be
    relayed, empty if there are none.
    """
    suffixes = _suffixes(hosts, layout, wires)
    switch = f"{name}-switch" if layout == "switch" else None
    relay = _wires_namespace(name) if "wires" in suffixes else None
    made = tuple(_host(number, f"{name}-h{number}") for number in range(1, hosts + 1))
    batch(None, [f"netns add {name}-{suffix}" for suffix in suffixes])
    for suffix in suffixes:
        _quieten(f"{name}-{suffix}")
    if relay is not None:
        run(
            inside(
                relay,
                "sysctl",
                "-q",
                "-w",
                "net.ipv6.conf.all.disable_ipv6=1",
                "net.ipv6.conf.default.disable_ipv6=1",
            )
        )
    ends: list[tuple[str, str, Wire | None]] = [
        (host.namespace, INTERFACE, wire) for host, wire in zip(made, wires, strict=True)
    ]
    relayed: list[dict[str, Any]] = []

    def join(
        number: int, one: str, other: tuple[str, str], there: Wire | None, back: Wire | None
    ) -> None:
        """Join a host to what is at the other end of its wire, through the relay if the wire is
        relayed.
        """
        if relay is None or there is None or back is None or there.kind != "relay":
            _join(one, INTERFACE, *other, mtu)
            return
        near, far = f"em{number}a", f"em{number}b"
        _join(one, INTERFACE, relay, near, mtu)
        _join(relay, far, *other, mtu)
        batch(relay, [f"link set {near} up", f"link set {far} up"])
        ends.extend([(relay, near, None), (relay, far, None)])
        relayed.append(
            {"ends": [near, far], "directions": [_direction(wire, mtu) for wire in (there, back)]}
        )

    if switch is None:
        join(1, made[0].namespace, (made[1].namespace, INTERFACE), *wires)
    else:
        # Snooping and spanning tree would send frames of their own, and hold others back for 30 s.
        batch(
            switch,
            ["link add bridge type bridge stp_state 0 mcast_snooping 0", "link set bridge up"],
        )
        for number, (host, wire) in enumerate(zip(made, wires, strict=True), 1):
            join(number, host.namespace, (switch, f"em{number}"), wire, wire)
            batch(switch, [f"link set em{number} master bridge up"])
            ends.append((switch, f"em{number}", wire))
    for host in made:
        _address(host, made)
    for namespace, interface, wire in ends:
        run(
            inside(
                namespace,
                "ethtool",
                "-K",
                interface,
                *itertools.chain.from_iterable((offload, "off") for offload in _OFFLOADS),
            )
        )
        if wire is not None:
            _shape(namespace, interface, wire, mtu)
    for namespace in {namespace: None for namespace, _, _ in ends}:
        _await_carrier(namespace)
    plan = (
        {"wires": relayed, "longest_octets": mtu + _HEADER_OCTETS + _FCS_OCTETS} if relayed else {}
    )
    return Testbed(name, made, switch), plan


def _await_carrier(namespace: str) -> None:
    """Wait until all interfaces carry, and those of a switch forward: the kernel learns it late,
    and drops what comes before.

    Raises
    ------
    TestbedError
        If they do not.

    """
    until_s = time.monotonic() + LIMIT_S
    while waiting := [
        link["ifname"]
        for link in json.loads(run(["ip", "-n", namespace, "-json", "-details", "link"]))
        if _is_idle(link)
    ]:
        if time.monotonic() > until_s:
            raise TestbedError(f"{namespace}: {', '.join(waiting)} did not come up")
        time.sleep(0.01)


def _is_idle(link: dict[str, Any]) -> bool:
    info = link.get("linkinfo", {})
    if info.get("info_kind") != "veth":
        return False
    is_port = info.get("info_slave_kind") == "bridge"
    return bool(
        link["operstate"] != "UP" or (is_port and info["info_slave_data"]["state"] != "forwarding")
    )


def _direction(wire: Wire, mtu: int) -> dict[str, Any]:
    """Return one direction of a relayed wire as `crates/relay/src/plan.rs` has it."""
    loss: dict[str, Any] = {"kind": "none"}
    if wire.lose_every is not None:
        loss = {"kind": "every", "frames": wire.lose_every}
    elif wire.loss > 0:
        loss = {"kind": "chance", "probability": wire.loss}
    # Room for what the shaper lets go ahead of its time, beside the queue, which is for those who
    # pass by the shaper.
    room_octets = wire.queue_octets + _burst_octets(wire, mtu)
    return {
        "rate_bps": wire.rate_bps,
        "delay_ns": wire.delay_ns,
        "queue_octets": room_octets,
        "loss": loss,
        "seed": wire.seed,
    }


def _host(number: int, namespace: str) -> Host:
    return Host(
        namespace,
        INTERFACE,
        f"02:00:00:00:00:{number:02x}",
        f"10.77.0.{number}",
        f"fd77::{number:x}",
    )


def _quieten(namespace: str) -> None:
    """Let nothing be sent that nobody asked for, as far as the kernel can be told."""
    settings = [
        f"net.ipv6.conf.{which}.{key}"
        for which in ("all", "default")
        for key in (
            "accept_ra=0",
            "router_solicitations=0",
            "dad_transmits=0",
            "accept_dad=0",
            "addr_gen_mode=1",
        )
    ]
    run(inside(namespace, "sysctl", "-q", "-w", *settings))
    batch(namespace, ["link set lo up"])


def _join(one: str, one_interface: str, other: str, other_interface: str, mtu: int) -> None:
    batch(
        one,
        [
            f"link add {one_interface} mtu {mtu} type veth peer name {other_interface} mtu {mtu} netns {other}"
        ],
    )


def _address(host: Host, hosts: Sequence[Host]) -> None:
    """Give a host its addresses, and tell it those of the others, so that nobody has to ask."""
    lines = [
        f"link set {host.interface} address {host.mac} up",
        f"addr add {host.ipv4}/24 broadcast + dev {host.interface}",
        f"addr add {host.ipv6}/64 dev {host.interface} nodad",
    ]
    for other in hosts:
        if other is not host:
            lines += [
                f"neigh add {ip} lladdr {other.mac} dev {host.interface} nud permanent"
                for ip in (other.ipv4, other.ipv6)
            ]
    batch(host.namespace, lines)


def reshape(namespace: str, interface: str, wire: Wire | None, *, mtu: int) -> None:
    """Give an interface of a testbed another wire, or none, while it is up; frames that wait are
    lost.

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
        # Of two words for the same, this one is no error where there is no qdisc of ours: it puts
        # the interface's own in its place.
        batch(namespace, [f"qdisc replace dev {interface} root noqueue"], tool="tc")
    else:
        _shape(namespace, interface, wire, mtu)


def _burst_octets(wire: Wire, mtu: int) -> int:
    """Return what a shaper saves up: the frame that is being sent and one more, so that a timer may
    be late and the mean rate stays.
    """
    return 2 * (mtu + _HEADER_OCTETS + _WIRE_OCTETS) + int(wire.rate_bps / 8 * _TIMER_S[wire.kind])


def _shape(namespace: str, interface: str, wire: Wire, mtu: int) -> None:
    frame_octets = mtu + _HEADER_OCTETS + _WIRE_OCTETS
    burst_octets = _burst_octets(wire, mtu)
    # The table of sizes has a row for every length: with the usual 512 rows, lengths would be
    # rounded up to multiples of 4 octets.
    sizes = 1 << (frame_octets - 1).bit_length()
    # TCP hands several segments over as one, whatever the interface can; the shaper cuts them up,
    # and forgets what is around each.
    most = 1 if wire.rate_bps <= _ALONE_UP_TO_BPS else _MOST_SEGMENTS
    batch(namespace, [f"link set {interface} gso_max_segs {most}"])
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
direction, await_carrier, limits_of, wires_namespace = (
    _direction,
    _await_carrier,
    _allowed,
    _wires_namespace,
)
