"""Transfers: data over TCP in place of messages."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ethermeter.experiment.hosts import Times
from ethermeter.experiment.quantity import PositiveTime, octets, short_time
from ethermeter.experiment.table import Table, complaint
from ethermeter.units import PS_PER_S

Data = Annotated[int, *octets(least=1, most=10**13)]
"""A size in octets, at least one."""


class Stream(Table):
    """Data one way, as fast as they go."""

    size: Data | None = None
    """How much; without end if not said."""


class File(Table):
    """A file block by block, each by a request and an answer."""

    direction: Literal["read", "write"]
    """Whether the blocks are in the answers or in the requests."""
    size: Data | None = None
    """Of the file; without end if not said."""
    block: Data
    """Of a block; the last one may be shorter."""
    request: Data
    """Of a request, without a block."""
    answer: Data
    """Of an answer, without a block."""
    client: Times = Field(default="0 s", validate_default=True)
    """From a whole answer to the next request."""
    server: Times = Field(default="0 s", validate_default=True)
    """From a whole request to its answer."""
    ahead: Annotated[int, Field(ge=1, le=65_535)] = 1
    """Requests that may be without an answer."""


class Acknowledge(Table):
    """When data are acknowledged that came in order."""

    segments: Annotated[int, Field(ge=1, le=65_535)]
    """With so many segments, or …"""
    time: PositiveTime
    """… so long after the first."""


class Tcp(Table):
    """What both ends of a connection are like."""

    window: Data
    """Memory for what came and was not read: the largest window."""
    mtu: Annotated[int, *octets(least=68, most=65_535)] | None = None
    """Longest IP packet; 1500 B if not said."""
    options: Annotated[int, *octets(least=0, most=40)] | None = None
    """Options in every segment: 12 B with timestamps; none if not said."""
    send_buffer: Data | None = None
    """Memory for what was written and not acknowledged; unlimited if not said."""
    initial_segments: Annotated[int, Field(ge=1, le=65_535)] | None = None
    """First congestion window; by RFC 5681 if not said."""
    recovery: Literal["new_reno", "reno"] | None = None
    """How a fast retransmission ends; by RFC 6582 if not said."""
    nagle: bool | None = None
    """Whether a last, short segment waits for the acknowledgement of all before it; it does if not said."""
    acknowledge: Acknowledge | None = None
    """When data are acknowledged; every second segment, or after 200 ms, if not said."""
    least_timeout: PositiveTime | None = None
    """Shortest time to a retransmission; 1 s if not said."""
    first_timeout: PositiveTime | None = None
    """The same before any round trip was measured; 1 s if not said."""
    read_per_byte: Annotated[int, *short_time(PS_PER_S // 1000)] | None = None
    """How long the application needs to read an octet; no time if not said."""


class Transfer(Table):
    """Data over TCP."""

    stream: Stream | None = None
    """Data one way."""
    file: File | None = None
    """Or a file block by block."""
    tcp: Tcp
    """What both ends are like."""

    @model_validator(mode="after")
    def _one_job(self) -> "Transfer":
        if (self.stream is None) == (self.file is None):
            raise complaint("expected exactly one of stream and file")
        return self

    def plan(self) -> dict[str, Any]:
        """Return the transfer as a plan has it."""
        # On demand: it needs what complains of tables, and that needs the tables.
        from ethermeter.experiment import traffic

        if self.file is not None:
            file = self.file
            said = {
                "direction": file.direction,
                **({} if file.size is None else {"octets": file.size}),
                "block_octets": file.block,
                "request_octets": file.request,
                "answer_octets": file.answer,
                "client": traffic.times_plan(file.client),
                "server": traffic.times_plan(file.server),
            }
            job: dict[str, Any] = {"file": {**said, **({"ahead": file.ahead} if file.ahead > 1 else {})}}
        else:
            size = self.stream.size if self.stream is not None else None
            job = {"stream": {} if size is None else {"octets": size}}
        tcp, ends = self.tcp, self.tcp.acknowledge
        known = {
            "mtu_octets": tcp.mtu,
            "option_octets": tcp.options,
            "window_octets": tcp.window,
            "send_buffer_octets": tcp.send_buffer,
            "initial_segments": tcp.initial_segments,
            "recovery": tcp.recovery,
            "nagle": tcp.nagle,
            "acknowledge": None if ends is None else {"segments": ends.segments, "ps": ends.time},
            "least_timeout_ps": tcp.least_timeout,
            "first_timeout_ps": tcp.first_timeout,
            "read_ps_per_octet": tcp.read_per_byte,
        }
        return {"job": job, "tcp": {key: value for key, value in known.items() if value is not None}}
