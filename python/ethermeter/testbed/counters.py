"""What the switches and relayed wires of a testbed have counted: frames that they dropped, at each
port and in each direction.

Counters only grow; what a test lost is the difference between a reading before it and one after it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ethermeter.testbed.commands import TestbedError, run

if TYPE_CHECKING:
    from ethermeter.testbed.network import NetworkBed

Counts = Mapping[str, int]
"""Frames by what dropped them."""
Hop = tuple[str, str]
"""Names of two nodes that a link joins: from which, towards which."""

_QUEUE_WRAPS = 1 << 32
"""A queue's drops are counted in 32 bits (`linux/gen_stats.h`)."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a switch.

    Parameters
    ----------
    namespace, interface
        Where it is.
    is_before_host
        Whether the interface at the other end is a host's own: what the port's interface drops is
        then counted there, too.

    """

    namespace: str
    interface: str
    is_before_host: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """Frames dropped since the testbed was made.

    Parameters
    ----------
    ports
        Of each port of a switch, by the switch and the node towards which it leads: `queue` (no
        room before its wire) and `interface`.
    wires
        Of each direction of a relayed wire, by its nodes: what `crates/relay/src/account.rs` has.

    """

    ports: Mapping[Hop, Counts]
    wires: Mapping[Hop, Counts]


def read(bed: "NetworkBed") -> Reading:
    """Read the counters of all switches and relayed wires; takes some milliseconds for each switch.

    Raises
    ------
    TestbedError
        If the system, or the relay, does not say.

    """
    queues: dict[tuple[str, str], int] = {}
    interfaces: dict[tuple[str, str], int] = {}
    try:
        for namespace in dict.fromkeys(port.namespace for port in bed.ports.values()):
            # The queue at the root counts what those within it drop, too.
            for queue in _listed(namespace, "tc", "qdisc"):
                if queue.get("root"):
                    queues[namespace, queue["dev"]] = int(queue["drops"])
            for interface in _listed(namespace, "ip", "link"):
                interfaces[namespace, interface["ifname"]] = int(
                    interface["stats64"]["tx"]["dropped"]
                )
        ports = {
            hop: {
                "queue": queues[port.namespace, port.interface],
                "interface": interfaces[port.namespace, port.interface],
            }
            for hop, port in bed.ports.items()
        }
        wires: dict[Hop, Counts] = {}
        if bed.relay is not None:
            counted = {of["from"]: of["dropped"] for of in bed.relay.count()["directions"]}
            wires = {
                hop: {cause: int(frames) for cause, frames in counted[end].items()}
                for end, hop in bed.wires.items()
            }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TestbedError(
            f"counters of switches: an answer that cannot be read: {type(error).__name__} {error}"
        ) from error
    return Reading(ports, wires)


def _listed(namespace: str, tool: str, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run([tool, "-n", namespace, "-s", "-j", what, "show"]))
    return found


def added(before: Reading, after: Reading) -> Reading:
    """Return what was dropped between two readings of one testbed."""
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
    return Reading(ports, wires)
