"""Switches: what those of a testbed dropped during a test, and whose messages are missing for it.

Counters are read before a test and after it, never meanwhile. Each flow's way follows from the
network, which has no loops: whatever switches have learnt, a frame reaches a receiver by the ports
between it and its sender. Copies that are flooded elsewhere, and dropped there, are missed by
nobody.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ethermeter.testbed import NetworkBed, TestbedError
from ethermeter.testbed.counters import Hop, Reading, added, read

SWITCH, NETWORK = "switch", "network"
"""Places of losses: at a port of a switch, on a wire between hosts and switches."""
PLACES = ("sender-queue", "sender-interface", NETWORK, SWITCH, "receiver-interface", "socket")
"""All places in the order of the way; of several wires and switches each comes once."""


class Around:
    """Counters of a testbed's switches around one test; made before it."""

    def __init__(self, bed: NetworkBed) -> None:
        """Read what they have counted until now."""
        self._bed = bed
        self._before = _read(bed)

    def told(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of the test with what was dropped since, and with losses that know of
        it.

        Parameters
        ----------
        result
            What the agents told.

        Returns
        -------
        :
            The same and `switches`, on relayed wires `wires`; `unread` says why, if they could not
            be read.

        """
        after = _read(self._bed)
        unread = next(
            (reading for reading in (self._before, after) if isinstance(reading, str)), None
        )
        if unread is not None:
            return {**result, "unread": unread}
        assert isinstance(self._before, Reading)
        assert isinstance(after, Reading)
        return attributed({**result, **rows(self._bed, added(self._before, after))})


def _read(bed: NetworkBed) -> Reading | str:
    """Read the counters, or say why they cannot be read: a test is worth as much without them."""
    try:
        return read(bed)
    except (TestbedError, OSError) as error:
        return str(error)


def rows(bed: NetworkBed, dropped: Reading) -> dict[str, list[dict[str, Any]]]:
    """Write what was dropped as a result has it, ports and directions without drops too.

    Parameters
    ----------
    bed
        The testbed.
    dropped
        During the test.

    """
    switches = [
        {
            "switch": switch,
            "towards": towards,
            "is_before_host": bed.ports[switch, towards].is_before_host,
            "dropped": dict(counts),
        }
        for (switch, towards), counts in dropped.ports.items()
    ]
    wires = [
        {"from": one, "towards": other, "dropped": dict(counts)}
        for (one, other), counts in dropped.wires.items()
    ]
    return {"switches": switches, **({"wires": wires} if wires else {})}


def attributed(result: Mapping[str, Any]) -> dict[str, Any]:
    """Explain what is missing by what switches and wires dropped on the way of each flow to each
    receiver.

    As of hosts' counters, each flow is told all that a port on its way dropped, whosever frames
    these were: what is beyond its missing messages is `excess`. Of datagrams in pieces each piece
    that was dropped counts.

    Parameters
    ----------
    result
        Of a test, with `switches` and, on relayed wires, `wires`.

    """
    ports = {(row["switch"], row["towards"]): _counted_once(row) for row in result["switches"]}
    wires = {
        (row["from"], row["towards"]): sum(row["dropped"].values())
        for row in result.get("wires", ())
    }
    beside: dict[str, set[str]] = {}
    for one, other in (*ports, *wires):
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)

    def explained(said: Mapping[str, Any], sender: str, receiver: str) -> dict[str, Any]:
        if "losses" not in said:
            return dict(said)
        between = [
            {"place": place, "at": hop[0], "towards": hop[1], "dropped": dropped[hop]}
            for hop in _way(beside, sender, receiver)
            for place, dropped in ((SWITCH, ports), (NETWORK, wires))
            if dropped.get(hop)
        ]
        return {**said, "losses": _with(said["losses"], between)}

    flows: dict[str, Any] = {}
    for name, flow in result["flows"].items():
        if "receivers" in flow:
            receivers = {
                receiver: explained(said, flow["from"], receiver)
                for receiver, said in flow["receivers"].items()
            }
            flows[name] = {**flow, "receivers": receivers}
        else:
            flows[name] = explained(flow, flow["from"], flow["to"])
    return {**result, "flows": flows}


def _counted_once(port: Mapping[str, Any]) -> int:
    """Frames that a port dropped and no host counts: what a port could not hand to a host's
    interface is among the drops of that.
    """
    dropped = port["dropped"]
    return int(dropped["queue"]) + (0 if port["is_before_host"] else int(dropped["interface"]))


def _way(beside: Mapping[str, set[str]], sender: str, receiver: str) -> list[Hop]:
    """Return the hops from a host to another in a network without loops; none where no switch or
    relayed wire joins them.
    """
    came_from: dict[str, str] = {sender: sender}
    waiting = [sender]
    while waiting:
        node = waiting.pop()
        for other in beside.get(node, ()):
            if other not in came_from:
                came_from[other] = node
                waiting.append(other)
    hops: list[Hop] = []
    node = receiver
    while node in came_from and node != sender:
        hops.append((came_from[node], node))
        node = came_from[node]
    return hops[::-1]


def _with(losses: Mapping[str, Any], between: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add to what hosts saw of a flow's losses what was seen between them."""
    seen = {str(place): int(count) for place, count in losses["seen"]}
    for row in between:
        seen[row["place"]] = seen.get(row["place"], 0) + int(row["dropped"])
    dropped, missing = sum(seen.values()), int(losses["missing"])
    return {
        **losses,
        "seen": [[place, seen[place]] for place in PLACES if place in seen],
        "unexplained": max(missing - dropped, 0),
        "excess": max(dropped - missing, 0),
        **({"between": list(between)} if between else {}),
    }
