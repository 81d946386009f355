"""Losses: missing messages of the streams of a test, and the counters that saw them go.

Counters are those of hosts and of a testbed's switches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ethermeter.store.result import Result

PLACES = ("sender-queue", "sender-interface", "network", "switch", "receiver-interface", "socket")
"""Places in the order of the path; `network` and `switch` are known of testbeds only."""
UNEXPLAINED = "unexplained"
"""Missing messages that no counter saw."""
K = TypeVar("K")
Hop = tuple[str, str, str]
"""Place, node, and the node towards which it leads."""
EXCESS = "excess"
"""Drops that counters saw beyond what is missing: another flow's frames, or a frame that two
counters saw.
"""


@dataclass(frozen=True, slots=True)
class Drops:
    """Drops at one port of a switch or on one direction of a relayed wire."""

    place: str  # `switch` or `network`
    # at, towards: Names of two nodes: the switch, or where the wire begins, and where it leads to
    at: str
    towards: str
    dropped: Mapping[str, float]  # Frames of all flows, by what dropped them
    # Messages of streams that pass there and are missing, wherever they were lost; of a group, at
    # the receiver that misses most
    missing: float

    @property
    def frames(self) -> float:
        """Frames in all."""
        return sum(self.dropped.values())


@dataclass(frozen=True, slots=True)
class Loss:
    """Losses of a flow on the path to one receiver, over the whole transmission."""

    # flow, receiver: Names
    flow: str
    receiver: str
    # sent, received: Messages; received are different ones
    sent: float
    received: float
    # Drops that counters saw, by place; of other flows too where they pass the same counters.
    # Places without any are left out.
    places: Mapping[str, float]
    # unexplained, excess: Messages: missing = sum of `places` + unexplained − excess
    unexplained: float
    excess: float
    # Ports of switches and directions of wires on its way that dropped frames, as place, node and
    # node towards which it leads: how many
    between: Mapping[Hop, float] = field(default_factory=dict)
    # Messages that are known to have been dropped at switches: the ports that dropped anything
    # dropped exactly as many frames as all streams that pass them miss. All that is missing, or 0.
    at_switches: float = 0.0

    @property
    def missing(self) -> float:
        """Messages that were sent and did not arrive."""
        return self.sent - self.received


def losses(result: Result) -> tuple[Loss, ...]:
    """Return the losses of every stream of a test at each of its receivers.

    Losses of exchanges and transfers are not counted by place.
    """
    found = [
        Loss(
            flow=name,
            receiver=receiver,
            sent=float(one.sent),
            received=float(one.received),
            places={place: float(count) for place, count in one.losses.seen},
            unexplained=float(one.losses.unexplained),
            excess=float(one.losses.excess),
            between={
                (row.place, row.at, row.towards): float(row.dropped) for row in one.losses.between
            },
        )
        for name, flow in result.flows.items()
        for receiver, one in flow.by_receiver().items()
        if one.losses is not None
    ]
    known = _at_switches(found)
    return tuple(
        replace(loss, at_switches=loss.missing) if at in known else loss
        for at, loss in enumerate(found)
    )


def _at_switches(found: Sequence[Loss]) -> set[int]:
    """Return which lost at switches all that they miss.

    Streams that share ports are looked at together with all of these ports: which port took a
    message of which stream cannot be told, but that they took as many as are missing can.
    """
    known: set[int] = set()
    left = {at for at, loss in enumerate(found) if loss.between}
    while left:
        streams: set[int] = set()
        ports: dict[Hop, float] = {}
        grown = {left.pop()}
        while grown:
            streams |= grown
            left -= grown
            ports |= {hop: count for at in grown for hop, count in found[at].between.items()}
            grown = {at for at in left if ports.keys() & found[at].between.keys()}
        # What a group misses of one frame, all its receivers behind the port do.
        missing = {(found[at].flow, found[at].missing) for at in streams}
        is_alike = len(missing) == len({flow for flow, _ in missing})
        is_at_switches = all(place == "switch" for place, _, _ in ports)
        is_all = sum(ports.values()) == sum(count for _, count in missing)
        if is_alike and is_at_switches and is_all:
            known |= streams
    return known


def drops(result: Result, found: Sequence[Loss]) -> tuple[Drops, ...]:
    """Return the drops of the switches and wires of a testbed, from the losses of its streams."""
    rows: list[tuple[Hop, Mapping[str, int]]] = [
        (("switch", row.switch, row.towards), row.dropped) for row in result.switches or ()
    ]
    rows += [(("network", row.from_, row.towards), row.dropped) for row in result.wires]
    at_hops = []
    for hop, counts in rows:
        dropped = {cause: float(count) for cause, count in counts.items() if count}
        if dropped:
            # A frame that is dropped once is missed by every receiver of a group behind that port.
            missing: dict[str, float] = {}
            for loss in found:
                if hop in loss.between:
                    missing[loss.flow] = max(missing.get(loss.flow, 0.0), loss.missing)
            at_hops.append(Drops(*hop, dropped, sum(missing.values())))
    return tuple(at_hops)


def drops_together(found: Sequence[Drops]) -> Drops:
    """Sum of those of one port or wire in several tests."""
    dropped = _summed([of.dropped for of in found])
    return replace(found[0], dropped=dropped, missing=sum(of.missing for of in found))


def total(found: Sequence[Loss], *, flow: str, receiver: str) -> Loss:
    """Sum of several: of all replications of a flow, or of all flows."""
    places = _summed([of.places for of in found])
    return Loss(
        flow=flow,
        receiver=receiver,
        sent=sum(of.sent for of in found),
        received=sum(of.received for of in found),
        places={place: count for place in PLACES if (count := places.get(place))},
        unexplained=sum(of.unexplained for of in found),
        excess=sum(of.excess for of in found),
        at_switches=sum(of.at_switches for of in found),
        between=_summed([of.between for of in found]),
    )


def _summed(found: Sequence[Mapping[K, float]]) -> dict[K, float]:
    """Sum counts by key, in the order of the first of each."""
    keys = dict.fromkeys(key for of in found for key in of)
    return {key: sum(of.get(key, 0.0) for of in found) for key in keys}
