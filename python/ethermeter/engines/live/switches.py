"""Switches: drops at the switches of a testbed during a test, and the flows that they affect.

Counters are read before a test and after it, never during it. The path of each flow follows from
the network, which has no loops: whatever switches have learnt, a frame reaches a receiver by the
ports between it and its sender. Copies that are flooded elsewhere and dropped there are missing at
no receiver.
"""

from collections.abc import Mapping, Sequence

from msgspec import Raw
from msgspec.json import decode, encode
from msgspec.structs import asdict

from ethermeter.store.result import Between, Losses, PortDrops, WireDrops, path_of
from ethermeter.testbed import NetworkBed, TestbedError
from ethermeter.testbed.counters import Hop, Reading, added, read

SWITCH, NETWORK = "switch", "network"
"""Places of losses: at a port of a switch, on a wire between hosts and switches."""
PLACES = ("sender-queue", "sender-interface", NETWORK, SWITCH, "receiver-interface", "socket")
"""All places in the order of the way; of several wires and switches each comes once."""


Open = dict[str, Raw]
"""A table of a result; keys that are not read stay unchanged."""


class Around:
    """Counters of a testbed's switches before and after one test; made before it."""

    def __init__(self, bed: NetworkBed) -> None:
        """Read the counters before the test."""
        self._bed = bed
        self._before = _read(bed)

    def extended(self, result: bytes, media: Mapping[Hop, int] | None = None) -> bytes:
        """Return the result of the test, as JSON, with the drops since and the losses they explain.

        Drops of ports are `switches`, those of relayed wires `wires`; `unread` says why, if they
        could not be read. `media` are frames that nodes dropped or gave up before emulated media.
        """
        after = _read(self._bed)
        unread = next(
            (reading for reading in (self._before, after) if isinstance(reading, str)), None
        )
        if unread is not None:
            return encode({**decode(result, type=Open), "unread": unread})
        assert isinstance(self._before, Reading)
        assert isinstance(after, Reading)
        return attributed(result, *rows(self._bed, added(self._before, after)), media)


def _read(bed: NetworkBed) -> Reading | str:
    """Read the counters, or return the error: a test is as valid without them."""
    try:
        return read(bed)
    except (TestbedError, OSError) as error:
        return str(error)


def rows(bed: NetworkBed, dropped: Reading) -> tuple[list[PortDrops], list[WireDrops]]:
    """Return the drops of all ports and wires during the test, those without drops too."""
    switches = [
        PortDrops(switch, towards, bed.ports[switch, towards].is_before_host, counts)
        for (switch, towards), counts in dropped.ports.items()
    ]
    wires = [
        WireDrops(
            *hop,
            counts,
            dropped.latest_ns[hop],
            tuple(map(asdict, dropped.classes.get(hop, ()))),
        )
        for hop, counts in dropped.wires.items()
    ]
    return switches, wires


def attributed(
    result: bytes,
    switches: Sequence[PortDrops],
    wires: Sequence[WireDrops] = (),
    media: Mapping[Hop, int] | None = None,
) -> bytes:
    """Explain missing messages by the drops of switches and wires on the path of each flow.

    As with hosts' counters, each flow has all drops of a port on its path, of other flows' frames
    too: drops beyond its missing messages are `excess`. Of fragmented datagrams each fragment that
    was dropped counts.
    """
    ports = {(row.switch, row.towards): row.counted_once for row in switches}
    of_wires = {(row.from_, row.towards): sum(row.dropped.values()) for row in wires} | dict(
        media or {}
    )

    def explained(table: Open, sender: str, receiver: str) -> Open:
        if "losses" not in table:
            return table
        between = [
            Between(place, *hop, dropped[hop])
            for hop in path_of((*ports, *of_wires), sender, receiver)
            for place, dropped in ((SWITCH, ports), (NETWORK, of_wires))
            if dropped.get(hop)
        ]
        if not between:
            return table
        losses = _with(decode(table["losses"], type=Losses), between)
        return {**table, "losses": Raw(encode(losses))}

    whole = decode(result, type=Open)
    flows: dict[str, Open] = {}
    for name, flow in decode(whole["flows"], type=dict[str, Open]).items():
        sender = decode(flow["from"], type=str)
        if "receivers" in flow:
            receivers = {
                receiver: explained(table, sender, receiver)
                for receiver, table in decode(flow["receivers"], type=dict[str, Open]).items()
            }
            flows[name] = {**flow, "receivers": Raw(encode(receivers))}
        else:
            flows[name] = explained(flow, sender, decode(flow["to"], type=str))
    dropped = {"switches": switches, **({"wires": wires} if wires else {})}
    return encode({**whole, "flows": flows, **dropped})


def _with(losses: Losses, between: list[Between]) -> Losses:
    """Add to what hosts saw of a flow's losses what was seen between them."""
    seen = dict(losses.seen)
    for row in between:
        seen[row.place] = seen.get(row.place, 0) + row.dropped
    dropped = sum(seen.values())
    return Losses(
        missing=losses.missing,
        seen=tuple((place, seen[place]) for place in PLACES if place in seen),
        unexplained=max(losses.missing - dropped, 0),
        excess=max(dropped - losses.missing, 0),
        between=tuple(between),
    )
