"""Testbeds: those that exist, made or removed, their counters, and captures of them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from msgspec import to_builtins

from ethermeter.api.testbed import NamedTestbed
from ethermeter.api.testbed_view import Captured, Listing, Look, Unfinished
from ethermeter.blocks import Table, Text
from ethermeter.testbed import Wire

Block = Table | Text


def made(found: NamedTestbed) -> Iterator[Block]:
    """Lay out a testbed that was made, and how it is used and removed."""
    yield from _testbed(found)
    yield Text(
        f"on its first host: ethermeter testbed exec {found.name} 1 -- COMMAND; "
        f"to remove it: ethermeter testbed down {found.name}"
    )


def removed(names: Sequence[str]) -> Iterator[Block]:
    """Say which testbeds were removed."""
    yield Text("\n".join(f"{name}: removed" for name in names) or "there is nothing to remove")


def existing(found: Listing) -> Iterator[Block]:
    """Lay out every testbed, also those whose makers were ended."""
    if not found.testbeds:
        yield Text("there is no testbed")
    for each in found.testbeds:
        if isinstance(each, NamedTestbed):
            yield from _testbed(each)
        else:
            yield Text(
                f"{each.name}: unfinished, its maker was ended; to remove it: ethermeter testbed "
                f"down {each.name}"
            )


def host_rows(found: Listing) -> Iterator[dict[str, object]]:
    """Yield a row for each host of each testbed, and for each testbed that is unfinished."""
    for each in found.testbeds:
        if isinstance(each, Unfinished):
            yield asdict(each)
            continue
        names = each.names or tuple(str(number + 1) for number in range(len(each.hosts)))
        for name, host in zip(names, each.hosts, strict=False):
            about = {"name": each.name, "layout": each.layout, "mtu": each.mtu, "host": name}
            yield about | asdict(host)


def counter_rows(found: Look) -> Iterator[dict[str, object]]:
    """Yield a row for each direction of a wire, and for each station of a segment."""
    counted = to_builtins(found.counted)
    yield from counted["directions"]
    for number, segment in enumerate(counted["segments"]):
        names = found.names[number] if number < len(found.names) else ()
        for at, station in enumerate(segment["stations"]):
            name = names[at] if at < len(names) else str(at + 1)
            yield {"segment": number + 1, "station": name, **station}


def account(found: Captured) -> str:
    """Say what a capture has, and what it has not."""
    over_s = (found.ended_ns - found.begun_ns) / 1e9
    return (
        f"{found.file}: {found.frames} frames in {over_s:.1f} s, {found.collisions} of them "
        f"collided; {found.dropped} dropped, {found.beyond_size} beyond its size"
    )


def _testbed(kept: NamedTestbed) -> Iterator[Block]:
    yield Text(f"{kept.name}: {len(kept.hosts)} hosts, {kept.layout}, MTU {kept.mtu}")
    for number, wire in enumerate(kept.wires, 1):
        yield Text(f"  wire of host {number}: {_wire(wire)}")
    yield Table(
        ["namespace", "interface", "mac", "ipv4", "ipv6"],
        [[host.namespace, host.interface, host.mac, host.ipv4, host.ipv6] for host in kept.hosts],
        f"Hosts of {kept.name}",
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
