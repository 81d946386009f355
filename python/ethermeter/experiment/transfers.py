"""Transfers: data over TCP or IPX in place of messages."""

from collections.abc import Mapping
from typing import Any, Literal

from ethermeter import scenario
from ethermeter.experiment.quantity import complaint
from ethermeter.experiment.tables import (
    FORMS,
    FileTable,
    Reader,
    Schema,
    lowered,
    table_reader,
)
from ethermeter.framing import IP_HEADER_OCTETS, TCP_HEADER_OCTETS
from ethermeter.units import PS_PER_S

HEADERS = IP_HEADER_OCTETS + TCP_HEADER_OCTETS
"""Octets of the headers of IP and TCP, without options."""

Stack = Literal["linux", "rfc-2581"]
"""Hosts whose settings stand where the file has none."""

STACKS: Mapping[Stack, Mapping[str, object]] = {
    # Linux 6: net/ipv4 and include/net/tcp.h. RFC 6928; CUBIC with HyStart (RFC 9438); SACK (RFC
    # 2018, 6675), PRR (RFC 6937), limited transmit (RFC 3042); TCP_DELACK_MIN, TCP_MAX_QUICKACKS;
    # TCP_RTO_MIN, which is added to the smoothed round trip. These are the defaults of a scenario.
    "linux": {},
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
        "acknowledge": scenario.Acknowledge(segments=2, ps=PS_PER_S // 5),
        "least_timeout_ps": PS_PER_S,
        "timeout_margin_ps": 0,
    },
}
"""Settings of TCP where the file has none."""


class Tcp(FileTable, frozen=True, kw_only=True):
    """TCP at both ends of a connection; `stack` has the values of some absent keys."""

    OF = (scenario.Tcp,)

    stack: Stack = "linux"
    """TCP implementation whose settings are the defaults of other keys: "linux", or "rfc-2581" for
    hosts of the 1990s.
    """

    def check(self) -> None:
        """Refuse buffers that have no room for a segment."""
        tcp = self.lowered()
        segment = tcp.mtu_octets - HEADERS - tcp.option_octets
        rooms = (tcp.window_octets, *filter(None, (tcp.send_buffer_octets,)))
        if segment < 1 or min(rooms) < segment:
            raise complaint(
                f"expected window and send_buffer to have room for a segment of {segment} B, which"
                " is the mtu less its headers"
            )

    def lowered(self) -> scenario.Tcp:
        """Return the same with the settings of its stack."""
        return lowered(scenario.Tcp, self, **{**STACKS[self.stack], **self.core})


class Transfer(FileTable, frozen=True, kw_only=True):
    """A transfer of data over a connection of TCP or IPX."""

    stream: scenario.Stream | None = None
    """Octets from `from` to `to`, as fast as possible; without end if `size` is absent. Instead of
    `file`.
    """
    file: scenario.File | None = None
    """File that is copied block by block; instead of `stream`."""
    tcp: Tcp | None = None
    """TCP at both ends of the connection."""
    ipx: scenario.Ipx | None = None
    """IPX at both ends, which take turns; instead of `tcp`, in simulations only."""

    def check(self) -> None:
        """Refuse both jobs, or none, and both protocols, or none."""
        if (self.stream is None) == (self.file is None):
            raise complaint("expected exactly one of stream and file")
        if (self.tcp is None) == (self.ipx is None):
            raise complaint("expected exactly one of tcp and ipx")
        if self.ipx is not None and self.file is not None and self.file.ahead > 1:
            raise complaint("expected ahead = 1 with ipx, whose ends take turns")


class _TransferReader:
    """Reads a transfer as in a plan."""

    @property
    def fields(self) -> Mapping[str, Reader]:
        """What is read by the key of the file."""
        return table_reader(Transfer).fields

    def read(self, value: Any) -> scenario.Transfer:
        """Return the transfer."""
        transfer: Transfer = table_reader(Transfer).read(value)
        job = scenario.Job(stream=transfer.stream, file=transfer.file)
        tcp = None if transfer.tcp is None else transfer.tcp.lowered()
        return scenario.Transfer(job=job, tcp=tcp, ipx=transfer.ipx)

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema."""
        return table_reader(Transfer).schema_in(tables)


FORMS[scenario.Transfer] = _TransferReader()
