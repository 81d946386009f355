"""Transfers: data over TCP in place of messages, as in the file and as in a plan."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import model_validator

from ethermeter import scenario
from ethermeter.experiment.origin import lowered
from ethermeter.experiment.quantity import (
    Table,
    complaint,
    read_as,
    written,
)
from ethermeter.experiment.traffic import Times, times_plan
from ethermeter.framing import IP_HEADER_OCTETS, TCP_HEADER_OCTETS
from ethermeter.units import PS_PER_S

HEADERS = IP_HEADER_OCTETS + TCP_HEADER_OCTETS
"""Octets of the headers of IP and TCP, without options."""

FileSize = Annotated[int, *read_as(scenario.File, "octets")]
BlockSize = Annotated[int, *read_as(scenario.File, "block_octets")]


class Octets(Table):
    """Octets from one host to the other, as fast as possible."""

    size: FileSize | None = None
    """Number of octets; without end if absent."""


class Copy(Table):
    """A file that is copied block by block, each by a request and an answer."""

    direction: Literal["read", "write"]
    """Direction of the blocks: "read" sends them in answers, to the flow's `from`; "write" sends
    them in requests, from it.
    """
    size: FileSize | None = None
    """Size of the file; without end if absent."""
    block: BlockSize
    """Size of a block; the last one may be shorter."""
    request: BlockSize
    """Size of a request, without a block."""
    answer: BlockSize
    """Size of an answer, without a block."""
    client: Times = written("0 s")
    """Time of the client between a complete answer and the next request; it handles one answer at a
    time.
    """
    server: Times = written("0 s")
    """Time of the server between a complete request and its answer; it handles one request at a
    time.
    """
    ahead: Annotated[int, *read_as(scenario.File, "ahead")] = 1
    """Largest number of outstanding requests."""


Stack = Literal["linux", "rfc-2581"]
"""Hosts whose settings stand where the file has none."""


class Acknowledge(Table):
    """Acknowledgement of data that arrive in order."""

    segments: Annotated[int, *read_as(scenario.Acknowledge, "segments")]
    """Number of segments that are acknowledged together."""
    time: Annotated[int, *read_as(scenario.Acknowledge, "ps")]
    """Longest delay of an acknowledgement after the first segment that it acknowledges."""
    quick: Annotated[int, *read_as(scenario.Acknowledge, "quick")] = 0
    """Number of segments that are acknowledged at once at the start, until the host sends data."""


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
    """TCP at both ends of a connection; `stack` has the values of some absent keys."""

    stack: Stack = "linux"
    """TCP implementation whose settings are the defaults of other keys: "linux", or "rfc-2581" for
    hosts of the 1990s.
    """

    window: Annotated[int, *read_as(scenario.Tcp, "window_octets")]
    """Receive buffer: octets received and not yet read."""
    send_buffer: Annotated[int, *read_as(scenario.Tcp, "send_buffer_octets")] | None = None
    """Send buffer: octets written and not yet acknowledged; unlimited if absent."""
    mtu: Annotated[int, *read_as(scenario.Tcp, "mtu_octets")] = written("1500 B")
    """Longest IP packet, 68 B to 65535 B."""
    options: Annotated[int, *read_as(scenario.Tcp, "option_octets")] = written("0 B")
    """Options in the TCP header of every segment, at most 40 B; 12 B with timestamps."""
    initial_segments: Annotated[int, *read_as(scenario.Tcp, "initial_segments")] | None = None
    """First congestion window in segments. If absent: 10 with the stack "linux", 2 with "rfc-2581".
    """
    congestion: Literal["reno", "cubic"] | None = None
    """Congestion control: "reno" (RFC 5681) or "cubic" (RFC 9438). If absent: "cubic" with the
    stack "linux", "reno" with "rfc-2581".
    """
    hystart: bool | None = None
    """Whether CUBIC ends slow start when round-trip times grow or acknowledgements come in a train.
    If absent: true with the stack "linux", false with "rfc-2581".
    """
    byte_counting: bool | None = None
    """Whether the congestion window grows by octets acknowledged (RFC 3465), not by
    acknowledgements. If absent: true with the stack "linux", false with "rfc-2581".
    """
    sack: bool | None = None
    """Whether selective acknowledgements are used (RFC 2018). If absent: true with the stack
    "linux", false with "rfc-2581".
    """
    recovery: Literal["reno", "new-reno"] | None = None
    """End of a recovery without `sack`: with "new-reno" when all data sent before it are
    acknowledged (RFC 6582), with "reno" at the first new acknowledgement. If absent: "new-reno"
    with the stack "linux", "reno" with "rfc-2581".
    """
    prr: bool | None = None
    """Whether a recovery reduces the congestion window in proportion to delivered data (RFC 6937),
    not at once. If absent: true with the stack "linux", false with "rfc-2581".
    """
    limited_transmit: bool | None = None
    """Whether the first two duplicate acknowledgements release a new segment each (RFC 3042). If
    absent: true with the stack "linux", false with "rfc-2581".
    """
    nagle: bool = True
    """Whether a short last segment waits for the acknowledgement of all data before it."""
    acknowledge: Acknowledge | None = None
    """Acknowledgement of data that arrive in order. If absent: { segments = 2, time = "40 ms",
    quick = 16 } with the stack "linux", { segments = 2, time = "200 ms" } with "rfc-2581".
    """
    least_timeout: Annotated[int, *read_as(scenario.Tcp, "least_timeout_ps")] | None = None
    """Shortest retransmission timeout. If absent: 200 ms with the stack "linux", 1 s with
    "rfc-2581".
    """
    timeout_margin: Annotated[int, *read_as(scenario.Tcp, "timeout_margin_ps")] | None = None
    """Smallest difference between the retransmission timeout and the smoothed round-trip time. If
    absent: 200 ms with the stack "linux", 0 s with "rfc-2581".
    """
    first_timeout: Annotated[int, *read_as(scenario.Tcp, "first_timeout_ps")] = written("1 s")
    """Retransmission timeout before the first measured round-trip time."""
    read_per_byte: Annotated[int, *read_as(scenario.Tcp, "read_ps_per_octet")] = written("0 s")
    """Time in which the application reads an octet, at most 1 ms."""

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
    """A transfer of data over a TCP connection."""

    stream: Octets | None = None
    """Octets from `from` to `to`, as fast as possible; without end if `size` is absent. Instead of
    `file`.
    """
    file: Copy | None = None
    """File that is copied block by block; instead of `stream`."""
    tcp: Tcp
    """TCP at both ends of the connection."""

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
