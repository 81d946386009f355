"""Pairs and stars of hosts: the simplest networks.

```text
pair     h1 ═══ h2                     switch   h1 ═══ switch ═══ h2     (and so on)
```
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ethermeter.faults import Fault, InputError, shown
from ethermeter.testbed.build import (
    FRAME_OVERHEAD_OCTETS,
    MOST_HOSTS,
    MTUS,
    RATES_BPS,
    limits_of,
    shape,
)
from ethermeter.testbed.commands import batch
from ethermeter.testbed.elements import Host, Layout, Wire
from ethermeter.testbed.network import Link, Network, NetworkBed, keep_network, make_network
from ethermeter.testbed.relay import Relay

_SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Testbed:
    """A testbed that exists."""

    __test__ = False  # not a test class, despite its name

    name: str
    hosts: tuple[Host, ...]
    switch: str | None
    """Namespace of the switch; its interfaces are `em1` … in the order of the hosts."""
    relay: Relay | None = None
    """The relay of its wires; None if none is relayed."""


@contextmanager
def make_testbed(
    hosts: int = 2,
    *,
    layout: Layout = "pair",
    wires: Wire | Sequence[Wire | None] | None = None,
    mtu: int = 1500,
) -> Iterator[Testbed]:
    """Make a testbed, and remove it at the end in any case.

    Parameters
    ----------
    hosts
        Number of hosts: 2 to 64; 2 for a pair.
    layout
        `pair` or `switch`.
    wires
        The wire of each host, or one for all; unshaped if None.
    mtu
        Octets of the longest IP packet, 576 to 9000.

    Raises
    ------
    InputError
        If a number is out of range.
    TestbedError
        If it cannot be made, for example without root.

    """
    with make_network(_network(hosts, layout, wires, mtu)) as bed:
        yield _testbed(bed)


def keep_testbed(
    hosts: int = 2,
    *,
    layout: Layout = "pair",
    wires: Wire | Sequence[Wire | None] | None = None,
    mtu: int = 1500,
) -> Testbed:
    """Make a testbed as `make_testbed` does that outlives this process, until `remove_kept`."""
    return _testbed(keep_network(_network(hosts, layout, wires, mtu)))


def _network(
    hosts: int, layout: Layout, wires: Wire | Sequence[Wire | None] | None, mtu: int
) -> Network:
    """Return the network of a layout; InputError with every number that is out of range."""
    each = _checked(hosts, layout, wires, mtu)
    names = tuple(f"h{number}" for number in range(1, hosts + 1))
    if layout == "pair":
        links: tuple[Link, ...] = (Link((names[0], names[1]), (each[0], each[1])),)
    else:
        ends = zip(names, each, strict=True)
        links = tuple(Link((name, _SWITCH), (wire, wire)) for name, wire in ends)
    switches = () if layout == "pair" else (_SWITCH,)
    return Network(names, switches, links, layout=layout, mtu=mtu)


def _testbed(bed: NetworkBed) -> Testbed:
    switch = next((port.namespace for port in bed.ports.values()), None)
    return Testbed(bed.name, tuple(bed.hosts.values()), switch, bed.relay)


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
    expect("mtu", mtu, mtu in MTUS, "from 576 to 9000 octets")
    each = [wires] * hosts if wires is None or isinstance(wires, Wire) else list(wires)
    expect("wires", len(each), len(each) == hosts, f"one for each of {hosts} hosts")
    least = mtu + FRAME_OVERHEAD_OCTETS
    for number, wire in enumerate(each, 1):
        if wire is not None:
            rate_bps, octets = wire.rate_bps, wire.queue_octets
            is_queue = least <= octets <= 1 << 28
            for key, value, is_fine, allowed in (
                ("rate_bps", rate_bps, rate_bps in RATES_BPS, "from 64 kb/s to 10 Gb/s"),
                ("queue_octets", octets, is_queue, f"from {least} to 2^28 octets"),
                *limits_of(wire),
            ):
                expect(f"wires[{number}].{key}", value, is_fine, allowed)
    kinds = {wire.kind if wire is not None else "shaped" for wire in each}
    is_one_kind = layout != "pair" or len(kinds) == 1
    expect("wires", sorted(kinds), is_one_kind, "of one kind at both ends of a pair")
    if faults:
        raise InputError(faults)
    return each


def reshape(namespace: str, interface: str, wire: Wire | None, *, mtu: int) -> None:
    """Replace the wire of an interface while it is up; frames in its queue are lost.

    The interface is that of a host, or of the switch towards one (`em1` …); unshaped without a
    wire. A number out of range raises `InputError`.
    """
    _checked(2, "pair", wire, mtu)
    if wire is None:
        # Unlike `delete`, this is no error where the interface has its default qdisc.
        batch(namespace, [f"qdisc replace dev {interface} root noqueue"], tool="tc")
    else:
        shape(namespace, interface, wire, mtu)
