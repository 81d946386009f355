"""Setup: everything that is set of a transfer and its path, as numbers.

Interventions change one of them.
"""

from dataclasses import dataclass

LONGEST_SEGMENT_OCTETS = 1460
"""Data and options of a segment in an IP packet of 1500 octets: less 20 of IPv4 and 20 of TCP."""
MTU_OCTETS = 1500


@dataclass(frozen=True, slots=True)
class End:
    """What is set of the host at one end.

    `work_ps_per_octet`: processor time of the application for each octet, in ps. `processor`: share
    of one processor that the application gets at most; None is no limit.
    """

    work_ps_per_octet: int = 0
    processor: float | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """A transfer and its path.

    `window_ns`: how long it is measured; None: until all octets have come. `octets`: octets of the
    transfer; None: as many as there is time for. `settle_ns`: from the first octet to the begin of
    what is measured. `connections`: TCP connections side by side. `source_bps`: rate of a slow
    source in bit/s; None if it is memory or a file. `source_file`: path of the file that is the
    source; None if it is memory or slow. `block_octets`: octets that are taken from the source at a
    time. `turn_around_ns`: time that the sending application takes to answer when the receiving one
    asks for a block; None: no block is requested. `receive_octets`, `send_octets`: room at the
    sockets; None: the system's choice. `segment_octets`: data and options of a segment at most.
    `congestion`: how TCP answers loss; None: the system's choice. `wire_bps`: line rate; None: not
    shaped. `sender_wire_bps`: line rate of the sender's own wire to the switch, if it is another.
    `queue_octets`: room at the switch's port to the receiver, and at the ends of the other wires.
    `delay_ns`: propagation in each direction, in ns. `frame_ns`: what a device between the hosts
    takes for each frame, in ns. `room_frames`: frames that can be under way, where there is such a
    delay or device, in each direction. `sender`, `receiver`: the hosts.
    """

    window_ns: int | None
    octets: int | None
    settle_ns: int
    connections: int
    source_bps: int | None
    source_file: str | None
    block_octets: int
    turn_around_ns: int | None
    receive_octets: int | None
    send_octets: int | None
    segment_octets: int
    congestion: str | None
    wire_bps: int | None
    sender_wire_bps: int | None
    queue_octets: int
    delay_ns: int
    frame_ns: int
    room_frames: int
    sender: End
    receiver: End

    @property
    def has_line(self) -> bool:
        """Whether a long wire or a device is between the hosts, and not just a switch."""
        return self.delay_ns > 0 or self.frame_ns > 0

    def receiving(self, address: str) -> dict[str, object]:
        """Return the receiver's task (docs/reference/transfer-file.md)."""
        return {
            "receive": {
                "address": address,
                "connections": self.connections,
                "sockets": self._sockets(),
                "block_octets": None if self.turn_around_ns is None else self.block_octets,
                "work_ps_per_octet": self.receiver.work_ps_per_octet,
                "settle_ns": self.settle_ns,
                "window_ns": self.window_ns,
            }
        }

    def sending(self, address: str) -> dict[str, object]:
        """Return the sender's task (docs/reference/transfer-file.md)."""
        source: dict[str, object] = {"kind": "memory"}
        if self.source_bps is not None:
            source = {"kind": "slow", "bits_per_s": self.source_bps}
        elif self.source_file is not None:
            source = {"kind": "file", "path": self.source_file}
        return {
            "send": {
                "address": address,
                "connections": self.connections,
                "sockets": self._sockets(),
                "source": source,
                "block_octets": self.block_octets,
                "turn_around_ns": self.turn_around_ns,
                "work_ps_per_octet": self.sender.work_ps_per_octet,
                "octets": self.octets,
                "duration_ns": LONGEST_NS
                if self.window_ns is None
                else self.settle_ns + self.window_ns + TIMEOUT_NS,
            }
        }

    def _sockets(self) -> dict[str, object]:
        return {
            "receive_octets": self.receive_octets,
            "send_octets": self.send_octets,
            "segment_octets": self.segment_octets,
            "congestion": self.congestion,
        }


TIMEOUT_NS = 2_000_000_000
"""How much longer than it is measured a transfer is offered: the receiver hangs up when it has
measured.
"""
LONGEST_NS = 60_000_000_000
