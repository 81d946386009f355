"""Frames that the switches and relayed wires of a testbed dropped, by port and direction.

Counters only grow; the losses of a test are the difference of a reading before and one after it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ethermeter.live_reports import ClassCounts
from ethermeter.testbed.commands import TestbedError, run

if TYPE_CHECKING:
    from ethermeter.testbed.network import NetworkBed

Counts = Mapping[str, int]
"""Frames by what dropped them."""
Hop = tuple[str, str]
"""Names of the two nodes of a link: from, towards."""

_QUEUE_WRAPS = 1 << 32
"""A queue's drops are counted in 32 bits (`linux/gen_stats.h`)."""

T = TypeVar("T")


class _Queue(msgspec.Struct, frozen=True):
    """A queue as `tc qdisc show` lists it."""

    dev: str
    drops: int
    root: bool = False


class _Transmitted(msgspec.Struct, frozen=True):
    dropped: int


class _Statistics(msgspec.Struct, frozen=True):
    tx: _Transmitted


class _Interface(msgspec.Struct, frozen=True):
    """An interface as `ip link show` lists it."""

    ifname: str
    stats64: _Statistics


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a switch."""

    namespace: str
    interface: str
    is_before_host: bool
    """Whether the interface at the other end is a host's own, which then counts the drops of the
    port's interface too.
    """


@dataclass(frozen=True, slots=True)
class Reading:
    """Frames dropped since the testbed was made."""

    ports: Mapping[Hop, Counts]
    """Of each port of a switch, by the switch and the node towards which it leads: `queue` (full
    queue before its wire) and `interface`.
    """
    wires: Mapping[Hop, Counts]
    """Of each direction of a relayed wire, by its nodes: the causes of its dropped frames."""
    latest_ns: Mapping[Hop, int]
    """Of each direction of a relayed wire, by its nodes: the greatest lateness of a frame."""
    classes: Mapping[Hop, tuple[ClassCounts, ...]] = field(default_factory=dict)
    """Of each direction of a relayed wire with traffic classes, by its nodes: what was counted of
    each class.
    """


def read(bed: "NetworkBed") -> Reading:
    """Read the counters of all switches and relayed wires; takes some milliseconds a switch.

    Raises
    ------
    TestbedError
        If the system or the relay does not return them.

    """
    queues: dict[tuple[str, str], int] = {}
    interfaces: dict[tuple[str, str], int] = {}
    try:
        for namespace in dict.fromkeys(port.namespace for port in bed.ports.values()):
            # The root queue also counts the drops of the queues within it.
            for queue in _listed(namespace, "tc", "qdisc", _Queue):
                if queue.root:
                    queues[namespace, queue.dev] = queue.drops
            for interface in _listed(namespace, "ip", "link", _Interface):
                interfaces[namespace, interface.ifname] = interface.stats64.tx.dropped
        ports = {
            hop: {
                "queue": queues[port.namespace, port.interface],
                "interface": interfaces[port.namespace, port.interface],
            }
            for hop, port in bed.ports.items()
        }
        wires: dict[Hop, Counts] = {}
        latest_ns: dict[Hop, int] = {}
        classes: dict[Hop, tuple[ClassCounts, ...]] = {}
        if bed.relay is not None:
            directions = {each.from_: each for each in bed.relay.count().directions}
            wires = {hop: directions[end].dropped for end, hop in bed.wires.items()}
            latest_ns = {hop: directions[end].latest_ns for end, hop in bed.wires.items()}
            classes = {
                hop: counted
                for end, hop in bed.wires.items()
                if (counted := directions[end].classes)
            }
    except (KeyError, ValueError) as error:
        raise TestbedError(
            f"counters of switches: unreadable output: {type(error).__name__} {error}"
        ) from error
    return Reading(ports, wires, latest_ns, classes)


def _listed(namespace: str, tool: str, what: str, kind: type[T]) -> list[T]:
    text = run([tool, "-n", namespace, "-s", "-j", what, "show"])
    return msgspec.json.decode(text, type=list[kind])  # type: ignore[valid-type]


def added(before: Reading, after: Reading) -> Reading:
    """Return the frames dropped between two readings of one testbed.

    The greatest lateness and the largest queues are those of the later one, which are at least
    those in between.
    """
    ports = {
        hop: {
            "queue": (counts["queue"] - before.ports[hop]["queue"]) % _QUEUE_WRAPS,
            "interface": counts["interface"] - before.ports[hop]["interface"],
        }
        for hop, counts in after.ports.items()
    }
    wires = {
        hop: {cause: frames - before.wires[hop][cause] for cause, frames in counts.items()}
        for hop, counts in after.wires.items()
    }
    classes = {
        hop: tuple(
            _since(one, other) for one, other in zip(before.classes[hop], counts, strict=True)
        )
        for hop, counts in after.classes.items()
    }
    return Reading(ports, wires, after.latest_ns, classes)


def _since(before: ClassCounts, after: ClassCounts) -> ClassCounts:
    return msgspec.structs.replace(
        after,
        arrived=after.arrived - before.arrived,
        frames=after.frames - before.frames,
        octets=after.octets - before.octets,
        dropped=after.dropped - before.dropped,
    )
