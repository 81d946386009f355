"""Flows: who sends what to whom over a network."""

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from ethermeter.experiment.frames import Frames
from ethermeter.experiment.hosts import Arrivals, Generator, Times
from ethermeter.experiment.network import MOST_NODES, Name
from ethermeter.experiment.quantity import PositiveTime, octets
from ethermeter.experiment.stations import room
from ethermeter.experiment.table import Table, complaint, distinct
from ethermeter.experiment.transfers import Transfer

MOST_FLOWS = 10_000
"""Flows a network may have."""

PORTS = ("udp", "packet", "xdp", "tcp")
"""By what hosts send when a flow is measured."""


def _names(value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if (
        not isinstance(names, list)
        or not 1 <= len(names) <= MOST_NODES
        or not all(isinstance(name, str) and len(name) <= 64 for name in names)
    ):
        raise complaint("expected the name of a host or of a group, or a list of names")
    return distinct(names)


class Response(Table):
    """What each receiver answers."""

    frames: Frames | None = None
    """Lengths of the answer's frame, destination address to FCS; as long as the request if neither
    is said.
    """
    data: Frames | None = None
    """The same of the answer's UDP data; as the flow has it."""
    think: Times = Field(default="0 s", validate_default=True)
    """From the coming of the message, or the last answer, to the answer."""
    timeout: PositiveTime | None = None
    """After so long the sender goes on without; never if not said."""
    exchanges: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Wanted of a trial that is measured, which has a caution with fewer; a simulation takes no
    notice of it.
    """


class Flow(Table):
    """Messages from a host, or from each host of a group."""

    name: Name | None = None
    """Name of the flow; of a group, every flow is called by it and its host."""
    source: Annotated[str, Field(alias="from")]
    """Name of the host that sends, or of a group each of whose hosts does."""
    to: Annotated[
        list[str],
        PlainValidator(_names),
        WithJsonSchema(
            {
                "oneOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                ]
            }
        ),
    ]
    """Name of the host that receives, or of a group, or a list of these."""
    cast: Literal["unicast", "multicast", "broadcast"] = "unicast"
    """How they are addressed: one by one, or all together."""
    pairs: Literal["all", "in order"] | None = None
    """Unicast from several to several: each to each other, or the first to the first and so on."""
    port: Literal["udp", "packet", "xdp", "tcp"] = "udp"
    """By what hosts send when the flow is measured; a simulation takes no notice of it."""
    frames: Frames | None = None
    """Lengths of frames, destination address to FCS."""
    data: Frames | None = None
    """Lengths of the data of UDP datagrams, instead of `frames`; what is longer than fits goes in
    fragments.
    """
    mtu: Annotated[int, *octets(least=68, most=65_535)] | None = None
    """Longest IP packet, with `data`; 1500 B if not said."""
    arrivals: Arrivals | None = None
    """When messages come; saturated with a response: when the one before is answered.

    Required but with a transfer.
    """
    generator: Generator | None = None
    """The process behind a saturated source."""
    queue: Annotated[int | None, *room(1_000_000)] = Field(
        default="unlimited", validate_default=True
    )
    """Messages there is room for at the source, the one being handed over included."""
    service: Times = Field(default="0 s", validate_default=True)
    """Host time between messages."""
    response: Response | None = None
    """What receivers answer; nothing if not said."""
    transfer: Transfer | None = None
    """Data over TCP in place of messages: without frames, data, arrivals and whatever else belongs
    to messages.
    """
