"""The file of a transfer: its tables, limits and setup (docs/reference/transfer-file.md)."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from ethermeter.bottleneck.setup import LONGEST_SEGMENT_OCTETS, MTU_OCTETS, End, Setup
from ethermeter.experiment import toml
from ethermeter.experiment.quantity import (
    RATE,
    BitRate,
    Time,
    complaint,
    integer,
    number,
    size_up_to,
    text,
    time_up_to,
    words,
)
from ethermeter.experiment.tables import FileTable, OneOf, Wrapped, read_table
from ethermeter.faults import Faults, InputError, choices

TRANSFERS = Path(__file__).parent / "transfers"
"""Shipped transfers, each with a bottleneck that was put there."""

_PS_PER_NS = 1000
_PS_PER_S = 10**12
_MIB_BITS = 8 << 20

Duration = Annotated[int, time_up_to(30 * _PS_PER_S, positive=True)]
Room = Annotated[int, size_up_to(512 * _MIB_BITS)]
Transfer = Annotated[int, size_up_to(1000 * 10**6)]
Block = Annotated[int, size_up_to(16 * _MIB_BITS)]
Share = Annotated[Fraction, number("a share of one processor", most=1)]


@dataclass(frozen=True, slots=True)
class SlowSource:
    """A device that gives so many bits a second."""

    slow: Fraction
    """Its rate."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file, from its beginning again when it ends."""

    file: str
    """Its path."""


_SOURCES = 'expected "memory", { slow = RATE } or { file = PATH }'
Source = Annotated[
    str | SlowSource | FileSource,
    OneOf(
        {
            "slow": Wrapped("slow", RATE, SlowSource),
            "file": Wrapped("file", text(1, 4096), FileSource),
        },
        _SOURCES,
        words("memory", allowed=_SOURCES),
    ),
]


class EndTable(FileTable, frozen=True, kw_only=True):
    """The host at one end."""

    work: Time = 0
    """Processor time of the application for each octet."""
    processor: Share | None = None
    """Share of one processor that the application gets at most."""


def _unlike_a_name(value: str) -> str:
    is_like = value.isascii() and value.islower() and value.replace("_", "").isalnum()
    if is_like and value[0].isalpha() and 2 <= len(value) <= 15:
        return ""
    return 'expected a name such as "reno": small letters, digits and _, at most 15 in all'


class TransferTable(FileTable, frozen=True, kw_only=True):
    """What is transferred, and how."""

    duration: Duration | None = None
    """How long it is measured."""
    size: Transfer | None = None
    """Instead of a duration: what is transferred; it is measured from the first octet to the last.
    """
    settle: Time = 100 * 10**9
    """From the first octet to the begin of what is measured; of no matter with a size."""
    connections: Annotated[int, integer(1, 32)] = 1
    """TCP connections side by side."""
    source: Source = "memory"
    """Where octets come from: "memory", { slow = RATE } or { file = PATH }."""
    block: Block = 8 * 64_000
    """What is taken from the source at a time."""
    turn_around: Time | None = None
    """Time of the sending application from the request of a block to its data; without, there are
    no requests.
    """
    window: Room | None = None
    """Room for what the receiver's application has not read; the system's choice without."""
    send_buffer: Room | None = None
    """Room for what was written and is not acknowledged; the system's choice without."""
    segment: Annotated[int, size_up_to(8 * LONGEST_SEGMENT_OCTETS)] = 8 * LONGEST_SEGMENT_OCTETS
    """Data and options of a segment at most."""
    congestion: Annotated[str, text(known=_unlike_a_name)] | None = None
    """How TCP answers loss, such as "reno"; the system's choice without."""
    sender: EndTable = EndTable()
    """The sending host."""
    receiver: EndTable = EndTable()
    """The receiving host."""

    def check(self) -> None:
        """Refuse two ends, or none."""
        if (self.duration is None) == (self.size is None):
            raise complaint("expected one of duration and size")


class WireTable(FileTable, frozen=True, kw_only=True):
    """The wires between the hosts and the switch."""

    rate: BitRate | None = None
    """Line rate, 64 kb/s to 10 Gb/s; not shaped without."""
    sender_rate: BitRate | None = None
    """That of the sender's own wire, if it is another."""
    queue: Room = 8 * 150_000
    """Room at the switch's port to the receiver, and before every other wire with a rate."""
    delay: Annotated[int, time_up_to(_PS_PER_S, positive=True)] | None = None
    """Propagation in each direction."""
    frame_time: Annotated[int, time_up_to(_PS_PER_S // 10, positive=True)] | None = None
    """What a device between the hosts takes to forward a frame, one after the other; nothing
    without.
    """
    room: Annotated[int, integer(1, 1 << 16)] = 1 << 14
    """Frames that can be under way in each direction, where there is a delay or a frame_time; more
    are lost.
    """


class TransferFile(FileTable, frozen=True, kw_only=True):
    """A file of a transfer."""

    title: Annotated[str, text(1, 200)]
    """What it is, in a line."""
    seed: Annotated[int, integer(0, 2**63 - 1)] = 0
    """Of the order in which everything is tried."""
    repetitions: Annotated[int, integer(3, 50)] = 6
    """How often everything is tried before it is judged; what is undecided is tried as often again,
    and once more.
    """
    planted: Annotated[str, text(0, 40)] | None = None
    """The stage in which a bottleneck was put, for those who score; it is not looked at."""
    transfer: TransferTable
    """What is transferred, and how."""
    wire: WireTable = WireTable()
    """The wires between the hosts and the switch."""

    def setup(self) -> Setup:
        """Return the setup that the file describes."""
        transfer, wire = self.transfer, self.wire
        source = transfer.source
        return Setup(
            window_ns=None if transfer.duration is None else transfer.duration // _PS_PER_NS,
            octets=None if transfer.size is None else transfer.size // 8,
            settle_ns=0 if transfer.duration is None else transfer.settle // _PS_PER_NS,
            connections=transfer.connections,
            source_bps=round(source.slow) if isinstance(source, SlowSource) else None,
            source_file=source.file if isinstance(source, FileSource) else None,
            block_octets=max(1, transfer.block // 8),
            turn_around_ns=(
                None if transfer.turn_around is None else transfer.turn_around // _PS_PER_NS
            ),
            receive_octets=_octets(transfer.window),
            send_octets=_octets(transfer.send_buffer),
            segment_octets=transfer.segment // 8,
            congestion=transfer.congestion,
            wire_bps=None if wire.rate is None else round(wire.rate),
            sender_wire_bps=None if wire.sender_rate is None else round(wire.sender_rate),
            queue_octets=max(MTU_OCTETS + 38, wire.queue // 8),
            delay_ns=0 if wire.delay is None else wire.delay // _PS_PER_NS,
            frame_ns=0 if wire.frame_time is None else wire.frame_time // _PS_PER_NS,
            room_frames=wire.room,
            sender=_end(transfer.sender),
            receiver=_end(transfer.receiver),
        )


def _octets(bits: int | None) -> int | None:
    return None if bits is None else max(1, bits // 8)


def _end(table: EndTable) -> End:
    return End(table.work, None if table.processor is None else float(table.processor))


def transfers() -> dict[str, Path]:
    """Return the shipped transfers by name, sorted."""
    return {path.stem: path for path in sorted(TRANSFERS.glob("*.toml"))}


def load(name: str) -> TransferFile:
    """Read the file of a transfer.

    `name`: a file, or the name of a shipped transfer.
    Raises InputError with every fault of the file.
    """
    known = transfers()
    path = known.get(name, Path(name))
    if name not in known and path.suffix != ".toml" and not path.exists():
        raise InputError.of(name, "(file)", "missing", choices(name, known, "a file, or one of "))
    tables = toml.parsed(toml.text_of(path, file=name), file=name)
    document = read_table(TransferFile, tables, file=name)
    _check(document, file=name)
    return document


def _check(document: TransferFile, *, file: str) -> None:
    """Check what concerns more than one key, or a limit that is the testbed's."""
    faults = Faults(file)
    wire, transfer = document.wire, document.transfer
    for key, rate in (("rate", wire.rate), ("sender_rate", wire.sender_rate)):
        if rate is not None and not 64_000 <= rate <= 10_000_000_000:
            faults.add(("wire", key), f"{float(rate):g} bit/s", "expected 64 kb/s to 10 Gb/s")
    if transfer.segment < 8 * 88:
        octets = f"{transfer.segment // 8} B"
        faults.add(("transfer", "segment"), octets, "expected at least 88 B, as the system does")
    if transfer.settle > 10 * _PS_PER_S:
        settle = f"{transfer.settle / _PS_PER_S:g} s"
        faults.add(("transfer", "settle"), settle, "expected at most 10 s")
    for name, end in (("sender", transfer.sender), ("receiver", transfer.receiver)):
        if end.work > 10**8:
            work = f"{end.work / 1e6:g} us"
            faults.add(("transfer", name, "work"), work, "expected at most 100 us an octet")
    known = _congestion_answers()
    if transfer.congestion is not None and known and transfer.congestion not in known:
        allowed = f"expected one that this system has: {', '.join(known)}"
        faults.add(("transfer", "congestion"), transfer.congestion, allowed)
    source = transfer.source
    if isinstance(source, FileSource) and not Path(source.file).is_file():
        faults.add(("transfer", "source", "file"), source.file, "expected a file that exists")
    faults.raise_all()


def _congestion_answers() -> list[str]:
    """Return how this system's TCP can answer loss; empty if it does not report it."""
    try:
        return (
            Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .read_text(encoding="ascii")
            .split()
        )
    except OSError:
        return []
