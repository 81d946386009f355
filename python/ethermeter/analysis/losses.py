"""Losses: what did not come of the streams of a test, and which counters along the way saw it go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PLACES = ("sender-queue", "sender-interface", "network", "receiver-interface", "socket")
"""Places in the order of the way, as agents call them."""
UNEXPLAINED = "unexplained"
"""Missing messages that no counter saw."""
EXCESS = "excess"
"""Drops that counters saw beyond what is missing: another flow's frames, or a frame that two counters saw."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What became of the messages of a flow on the way to one receiver, over the whole transmission.

    Parameters
    ----------
    flow, receiver
        Names.
    sent, received
        Messages; received are different ones.
    places
        Drops that counters saw, by place; of other flows too where they pass the same counters. Places without any are left out.
    unexplained, excess
        Messages: missing = sum of `places` + unexplained − excess.

    """

    flow: str
    receiver: str
    sent: float
    received: float
    places: Mapping[str, float]
    unexplained: float
    excess: float

    @property
    def missing(self) -> float:
        """Messages that were sent and did not come."""
        return self.sent - self.received


def losses(result: Mapping[str, Any]) -> tuple[Loss, ...]:
    """Tell what became of every stream of a test at each of its receivers; of exchanges and transfers nothing is known by place.

    Parameters
    ----------
    result
        What came of a test, as docs/live.md has it.

    """
    found = []
    for name, flow in result["flows"].items():
        receivers = flow.get("receivers") or {str(flow.get("to")): flow}
        for receiver, said in receivers.items():
            counted = said.get("losses")
            if counted is None:
                continue
            found.append(
                Loss(
                    flow=name,
                    receiver=receiver,
                    sent=float(said["sent"]),
                    received=float(said["received"]),
                    places={place: float(count) for place, count in counted["seen"]},
                    unexplained=float(counted["unexplained"]),
                    excess=float(counted["excess"]),
                )
            )
    return tuple(found)


def total(found: Sequence[Loss], *, flow: str, receiver: str) -> Loss:
    """Sum of several: of all replications of a flow, or of all flows."""
    return Loss(
        flow=flow,
        receiver=receiver,
        sent=sum(of.sent for of in found),
        received=sum(of.received for of in found),
        places={place: count for place in PLACES if (count := sum(of.places.get(place, 0.0) for of in found))},
        unexplained=sum(of.unexplained for of in found),
        excess=sum(of.excess for of in found),
    )
