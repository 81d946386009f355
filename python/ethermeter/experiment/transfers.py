"""Transfers: data over TCP in place of messages, as in the file and as in a plan."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ethermeter import scenario
from ethermeter.experiment.origin import lowered
from ethermeter.experiment.quantity import (
    PositiveTime,
    Table,
    Time,
    complaint,
    octets,
    time_up_to,
    written,
)
from ethermeter.experiment.traffic import Times, times_plan
from ethermeter.framing import IP_HEADER_OCTETS, TCP_HEADER_OCTETS
from ethermeter.units import PS_PER_S

MOST_OCTETS = 1 << 50
"""Of a file or a stream."""
HEADERS = IP_HEADER_OCTETS + TCP_HEADER_OCTETS
"""Octets of the headers of IP and TCP, without options."""
MOST_WINDOW = 1 << 30
"""Octets of a window that TCP can scale to (RFC 7323, section 2.3)."""

FileSize = Annotated[int, *octets(least=1, most=MOST_OCTETS)]
BlockSize = Annotated[int, *octets(least=1, most=MOST_WINDOW)]


class Octets(Table):
    """Octets one way, as fast as they go."""

    size: FileSize | None = None
    """How many; without end if absent."""


class Copy(Table):
    """A file, block by block, each by a request and an answer."""

    direction: Literal["read", "write"]
    """Which way the blocks go: to the flow's `from`, in answers, or from it, in requests."""
    size: FileSize | None = None
    """Of the file; without end if absent."""
    block: BlockSize
    """Of a block; the last one may be shorter."""
    request: BlockSize
    """Of a request, without a block."""
    answer: BlockSize
    """Of an answer, without a block."""
    client: Times = written("0 s")
    """From a whole answer to the next request, one at a time."""
    server: Times = written("0 s")
    """From a whole request to its answer, one at a time."""
    ahead: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Requests that may be without an answer."""


Stack = Literal["linux", "rfc-2581"]
"""Hosts whose settings stand where the file has none."""


class Acknowledge(Table):
    """When data are acknowledged that came in order."""

    segments: Annotated[int, Field(ge=1, le=1_000_000)]
    """With so many segments, or …"""
    time: PositiveTime
    """… so long after the first."""
    quick: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """As many segments at the beginning are acknowledged at once, until the host sends data."""


STACKS: Mapping[Stack, Mapping[str, object]] = {
    # Linux 6: net/ipv4 and include/net/tcp.h. RFC 6928; CUBIC with HyStart (RFC 9438); SACK (RFC
    # 2018, 6675), PRR (RFC 6937), limited transmit (RFC 3042); TCP_DELACK_MIN, TCP_MAX_QUICKACKS;
    # TCP_RTO_MIN, which is added to the smoothed round trip.
    "linux": {
        "initial_segments": 10,
        "congestion": "cubic",
        "hystart": True,
        "byte_counting": True,
        "sack": True,
        "recovery": "new-reno",
        "prr": True,
        "limited_transmit": True,
        "acknowledge": Acknowledge.model_construct(segments=2, time=PS_PER_S // 25, quick=16),
        "least_timeout": PS_PER_S // 5,
        "timeout_margin": PS_PER_S // 5,
    },
    # Hosts of the nineties: RFC 2581 (1999) with its initial window, RFC 1122, section 4.2.3.2,
    # with the fifth of a second of 4.4BSD, RFC 2988, section 2.4.
    "rfc-2581": {
        "initial_segments": 2,
        "congestion": "reno",
        "hystart": False,
        "byte_counting": False,
        "sack": False,
        "recovery": "reno",
        "prr": False,
        "limited_transmit": False,
        "acknowledge": Acknowledge.model_construct(segments=2, time=PS_PER_S // 5),
        "least_timeout": PS_PER_S,
        "timeout_margin": 0,
    },
}
"""Settings of `Tcp` where the file has none."""


class Tcp(Table):
    """Both ends of a connection; a key that the file does not have is that of the `stack`."""

    stack: Stack = "linux"
    """Whose settings stand where the file has none."""

    window: BlockSize
    """Memory for what came and was not yet read."""
    send_buffer: BlockSize | None = None
    """Memory for what was written and not yet acknowledged; unlimited if absent."""
    mtu: Annotated[int, *octets(least=68, most=65_535)] = written("1500 B")
    """Longest IP packet."""
    options: Annotated[int, *octets(least=0, most=40)] = written("0 B")
    """Of TCP's header, in every segment."""
    initial_segments: Annotated[int, Field(ge=1, le=1000)] | None = None
    """First congestion window."""
    congestion: Literal["reno", "cubic"] | None = None
    """Congestion control: RFC 5681 or RFC 9438."""
    hystart: bool | None = None
    """Whether CUBIC ends slow start when round trips grow or acknowledgements come in a train."""
    byte_counting: bool | None = None
    """Whether the congestion window grows by octets acknowledged (RFC 3465), not by
    acknowledgements.
    """
    sack: bool | None = None
    """Selective acknowledgements (RFC 2018)."""
    recovery: Literal["reno", "new-reno"] | None = None
    """Without `sack`: what comes after a fast retransmission."""
    prr: bool | None = None
    """Whether the window is reduced in proportion to what is delivered (RFC 6937), not at once."""
    limited_transmit: bool | None = None
    """Whether the first two duplicate acknowledgements let a new segment go each (RFC 3042)."""
    nagle: bool = True
    """Whether a last, short segment waits for the acknowledgement of all before it."""
    acknowledge: Acknowledge | None = None
    """When data are acknowledged that came in order."""
    least_timeout: PositiveTime | None = None
    """Shortest retransmission timeout."""
    timeout_margin: Time | None = None
    """By how much the retransmission timeout is longer than the smoothed round trip, at least."""
    first_timeout: PositiveTime = written("1 s")
    """The timeout before any round trip was measured."""
    read_per_byte: Annotated[int, *time_up_to(PS_PER_S // 1000)] = written("0 s")
    """Time in which the application reads an octet."""

    @model_validator(mode="after")
    def _fits(self) -> "Tcp":
        segment = self.mtu - HEADERS - self.options
        rooms = (self.window, *(() if self.send_buffer is None else (self.send_buffer,)))
        if segment < 1 or min(rooms) < segment:
            raise complaint(
                f"expected window and send_buffer to have room for a segment of {segment} B, which"
                " is the mtu less its headers"
            )
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


def transfer_plan(transfer: Transfer) -> scenario.Transfer:
    """Return a transfer as in a plan."""
    tcp = transfer.tcp
    stack = {key: value for key, value in STACKS[tcp.stack].items() if getattr(tcp, key) is None}
    tcp = tcp.model_copy(update=stack)
    recovery = "reno" if tcp.recovery == "reno" else "new_reno"
    if (copy := transfer.file) is not None:
        client, server = times_plan(copy.client), times_plan(copy.server)
        job = scenario.Job(file=lowered(scenario.File, copy, client=client, server=server))
    else:
        job = scenario.Job(stream=lowered(scenario.Stream, transfer.stream or Octets()))
    return scenario.Transfer(job=job, tcp=lowered(scenario.Tcp, tcp, recovery=recovery))
