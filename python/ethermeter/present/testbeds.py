"""Testbeds: those that exist, made or removed."""

from collections.abc import Iterator, Mapping, Sequence

from ethermeter.blocks import Table, Text
from ethermeter.testbed import KeptTestbed, Wire

Block = Table | Text


def made(name: str, kept: KeptTestbed) -> Iterator[Block]:
    """Lay out a testbed that was made, and how it is used and removed."""
    yield from _testbed(name, kept)
    yield Text(
        f"on its first host: ethermeter testbed exec {name} 1 -- COMMAND; "
        f"to remove it: ethermeter testbed down {name}"
    )


def removed(names: Sequence[str]) -> Iterator[Block]:
    """Say which testbeds were removed."""
    yield Text("\n".join(f"{name}: removed" for name in names) or "there is nothing to remove")


def existing(kept: Mapping[str, KeptTestbed], unfinished: Sequence[str]) -> Iterator[Block]:
    """Lay out every testbed, also those whose makers were ended."""
    if not kept and not unfinished:
        yield Text("there is no testbed")
    for name, testbed in kept.items():
        yield from _testbed(name, testbed)
    for name in unfinished:
        yield Text(
            f"{name}: unfinished, its maker was ended; to remove it: ethermeter testbed down {name}"
        )


def _testbed(name: str, kept: KeptTestbed) -> Iterator[Block]:
    yield Text(f"{name}: {len(kept.hosts)} hosts, {kept.layout}, MTU {kept.mtu}")
    for number, wire in enumerate(kept.wires, 1):
        yield Text(f"  wire of host {number}: {_wire(wire)}")
    yield Table(
        ["namespace", "interface", "mac", "ipv4", "ipv6"],
        [[host.namespace, host.interface, host.mac, host.ipv4, host.ipv6] for host in kept.hosts],
        f"Hosts of {name}",
    )


def _wire(wire: Wire | None) -> str:
    if wire is None:
        return "unshaped"
    words = [wire.kind, f"{wire.rate_bps / 1e6:g} Mb/s", f"queue {wire.queue_octets} B"]
    if wire.kind == "relay":
        words.append(f"delay {wire.delay_ns / 1e3:g} us")
        if wire.loss > 0:
            words.append(f"loss {wire.loss:g}")
        if wire.lose_every is not None:
            words.append(f"one of {wire.lose_every} frames lost")
    return ", ".join(words)
