"""Transfers: data over TCP in place of messages."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ethermeter.experiment.hosts import Times
from ethermeter.experiment.quantity import PositiveTime, octets, short_time
from ethermeter.experiment.table import Table, complaint
from ethermeter.units import PS_PER_S

MOST_OCTETS = 1 << 50
"""Of a file or a stream."""
HEADERS = 40
"""Octets of the headers of IP and TCP, without options."""
MOST_WINDOW = 1 << 30
"""Octets of a window that TCP can scale to (RFC 7323, section 2.3)."""

Amount = Annotated[int, *octets(least=1, most=MOST_OCTETS)]
Part = Annotated[int, *octets(least=1, most=MOST_WINDOW)]


class Octets(Table):
    """Octets one way, as fast as they go."""

    size: Amount | None = None
    """How many; without end if not said."""


class Copy(Table):
    """A file, block by block, each by a request and an answer."""

    direction: Literal["read", "write"]
    """Which way the blocks go: to the flow's `from`, in answers, or from it, in requests."""
    size: Amount | None = None
    """Of the file; without end if not said."""
    block: Part
    """Of a block; the last one may be shorter."""
    request: Part
    """Of a request, without a block."""
    answer: Part
    """Of an answer, without a block."""
    client: Times = Field(default="0 s", validate_default=True)
    """From a whole answer to the next request, one at a time."""
    server: Times = Field(default="0 s", validate_default=True)
    """From a whole request to its answer, one at a time."""
    ahead: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Requests that may be without an answer."""


class Acknowledge(Table):
    """When data are acknowledged that came in order."""

    segments: Annotated[int, Field(ge=1, le=1_000_000)]
    """With so many segments, or …"""
    time: PositiveTime
    """… so long after the first."""


class Tcp(Table):
    """What both ends of a connection are like."""

    window: Part
    """Memory for what came and was not yet read."""
    send_buffer: Part | None = None
    """Memory for what was written and not yet acknowledged; unlimited if not said."""
    mtu: Annotated[int, *octets(least=68, most=65_535)] = Field(default="1500 B", validate_default=True)
    """Longest IP packet."""
    options: Annotated[int, *octets(least=0, most=40)] = Field(default="0 B", validate_default=True)
    """Of TCP's header, in every segment."""
    initial_segments: Annotated[int, Field(ge=1, le=1000)] | None = None
    """First congestion window; by RFC 5681 if not said."""
    recovery: Literal["reno", "new-reno"] = "new-reno"
    """What comes after a fast retransmission."""
    nagle: bool = True
    """Whether a last, short segment waits for the acknowledgement of all before it."""
    acknowledge: Acknowledge | None = None
    """When data are acknowledged; every second segment, or after 200 ms, if not said."""
    least_timeout: PositiveTime = Field(default="1 s", validate_default=True)
    """Shortest retransmission timeout."""
    first_timeout: PositiveTime = Field(default="1 s", validate_default=True)
    """The timeout before any round trip was measured."""
    read_per_byte: Annotated[int, *short_time(PS_PER_S // 1000)] = Field(default="0 s", validate_default=True)
    """Time in which the application reads an octet."""

    @model_validator(mode="after")
    def _fits(self) -> "Tcp":
        segment = self.mtu - HEADERS - self.options
        rooms = (self.window, *(() if self.send_buffer is None else (self.send_buffer,)))
        if segment < 1 or min(rooms) < segment:
            raise complaint(f"expected window and send_buffer to have room for a segment of {segment} B, which is the mtu less its headers")
        return self


class Transfer(Table):
    """Data over a connection of TCP."""

    stream: Octets | None = None
    """Octets one way; or else …"""
    file: Copy | None = None
    """… a file."""
    tcp: Tcp
    """How the ends of the connection behave."""

    @model_validator(mode="after")
    def _one(self) -> "Transfer":
        if (self.stream is None) == (self.file is None):
            raise complaint("expected exactly one of stream and file")
        return self
