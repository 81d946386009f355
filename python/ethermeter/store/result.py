"""Result of a live test: its file in `live/`, decoded.

`crates/agent/src/result.rs`, `crates/station/src/report.rs` and `crates/live/src/roles` define all
of it, docs/reference/agent-tests.md describes it; keys that are not read here are left out. Times
are in ns since the beginning of the transmission, histograms in ps.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.json import decode

from ethermeter.testbed.relay import SegmentCounts

Buckets = Sequence[tuple[int, int, int]]
"""Buckets of a histogram: low and high in ps, count; in the order of low."""


class Table(Struct, frozen=True, kw_only=True):
    """A table of a result."""


class Histogram(Table, frozen=True):
    """Times in ps, and some of their quantiles by share; that of "1" is the largest time."""

    buckets: Buckets = ()
    quantiles_ps: Mapping[str, int | None] = {}


class Pacing(Table, frozen=True):
    """How far from their times messages were sent."""

    frames: int = 0
    share_on_time: float | None = None
    worst_ns: int = 0
    lateness: Histogram = Histogram()
    forced_sleeps: int = 0
    real_time: bool | None = None


class TalkWindow(Table, frozen=True):
    """Samples made in the measured window, at their sender; packets with the oldest of them."""

    packets: int
    made: int
    sent: int
    lost: int
    left: int


class Talk(Table, frozen=True):
    """Samples of a coder at their sender."""

    measured: TalkWindow


class SpeechWindow(Table, frozen=True):
    """Samples made in the measured window that came."""

    packets: int = 0
    samples: int = 0
    voice_delay: Histogram = Histogram()
    sample_delay: Histogram = Histogram()


class Speech(Table, frozen=True):
    """Samples of a coder at their receiver."""

    measured: SpeechWindow


class StreamBatch(Table, frozen=True):
    """Messages of a stream that came in a batch."""

    frames: int
    payload_octets: int
    delays: int
    delay_ns: int
    spacings: int
    spacing_ns: int


class StreamWindow(Table, frozen=True):
    """Messages of a stream that came in the measured window."""

    frames: int
    payload_octets: int
    first_ns: int | None
    last_ns: int | None
    delay: Histogram
    spacing: Histogram
    batches: Sequence[StreamBatch] = ()


class Stream(Table, frozen=True):
    """Messages of a stream that came."""

    received: int
    reordered: int
    duplicate: int
    measured: StreamWindow
    voice: Speech | None = None


class RequestBatch(Table, frozen=True):
    """Requests that were sent in a batch."""

    requests: int
    complete: int
    since_arrival_ps: int


class BlockBatch(Table, frozen=True):
    """Blocks of a file that were complete in a batch."""

    octets: int
    blocks: int
    round_trip_ns: int


class BlockWindow(Table, frozen=True):
    """Blocks that were complete in the measured window."""

    octets: int
    blocks: int
    round_trip: Histogram
    batches: Sequence[BlockBatch] = ()


class OctetWindow(Table, frozen=True):
    """Octets read in the measured window."""

    data_rate_bps: float | None
    batches: Sequence[int] = ()


class OctetColumns(Table, frozen=True):
    """Octets at the times of a course."""

    octets: Sequence[int]


class OctetCourse(Table, frozen=True):
    """Octets that a receiver read, over time."""

    at_ns: Sequence[int]
    columns: OctetColumns


class TcpColumns(Table, frozen=True):
    """TCP's statistics of a connection, by sample (`crates/live/src/port/tcp_info.rs`)."""

    sent_again: Sequence[int]
    round_trip_us: Sequence[int] = ()
    least_round_trip_us: Sequence[int] = ()
    congestion_window: Sequence[int] = ()
    segment_octets: Sequence[int] = ()
    acknowledged_octets: Sequence[int] = ()
    busy_us: Sequence[int] = ()
    receiver_limited_us: Sequence[int] = ()
    buffer_limited_us: Sequence[int] = ()
    sent_octets: Sequence[int] = ()
    sent_again_octets: Sequence[int] = ()


class TcpCourse(Table, frozen=True):
    """A TCP connection over time."""

    columns: TcpColumns
    at_ns: Sequence[int] = ()

    @property
    def sent_again(self) -> float:
        """Segments sent again by the end."""
        return float(self.columns.sent_again[-1]) if self.columns.sent_again else 0.0


class Counts(Table, frozen=True, kw_only=True, tag_field="role"):
    """Counts of a role: frames, or writes of a connection, that waited for consent or for room."""

    held_back: int = 0
    refused: int = 0


class Connection(Counts, frozen=True, kw_only=True):
    """Counts of an end of a TCP connection that sends data."""

    tcp: TcpCourse
    congestion: str = ""
    sack: bool | None = None


class Credit(Table, frozen=True):
    """Waits of a sender for an emulated medium."""

    waits: int
    waited_ns: int


class Sender(Counts, frozen=True, tag="sender"):
    """Counts of the sender of a stream."""

    frames: int
    unsent: int
    pacing: Pacing = Pacing()
    voice: Talk | None = None
    credit: Credit | None = None

    @property
    def is_held_back(self) -> bool:
        """Whether an emulated medium held it back, so that messages were left at its end."""
        return self.credit is not None and self.credit.waits > 0


class Sink(Counts, frozen=True, tag="sink"):
    """Counts of the receiver of a stream."""

    streams: Sequence[Stream]


class Requester(Counts, frozen=True, tag="requester"):
    """Counts of a requester."""

    requests: int
    answered: int
    queued: int
    since_arrival: Histogram
    complete: int = 0
    pacing: Pacing = Pacing()
    batches: Sequence[RequestBatch] = ()


class Responder(Counts, frozen=True, tag="responder"):
    """Counts of a responder."""

    requests: int
    request_octets: int


class Clock(Counts, frozen=True, tag="clock"):
    """A comparison of clocks."""


class BulkSender(Connection, frozen=True, kw_only=True, tag="bulk-sender"):
    """Counts of the sender of octets in bulk."""


class BulkReceiver(Counts, frozen=True, tag="bulk-receiver"):
    """Counts of the receiver of octets in bulk."""

    octets: int
    last_ns: int | None
    measured: OctetWindow
    progress: OctetCourse | None = None


class Client(Connection, frozen=True, kw_only=True, tag="client"):
    """Counts of the client of a file."""

    completion_ns: int | None
    measured: BlockWindow


class Server(Connection, frozen=True, kw_only=True, tag="server"):
    """Counts of the server of a file."""


AnyCounts = (
    Sender | Sink | Requester | Responder | Clock | BulkSender | BulkReceiver | Client | Server
)


class Role(Table, frozen=True):
    """Report of a role; `counted` is None if it did not come to its end."""

    counted: AnyCounts | None = None


class Between(Struct, frozen=True):
    """Frames that were dropped between hosts on the path of a flow."""

    place: str
    at: str
    towards: str
    dropped: int


class Losses(Struct, frozen=True, omit_defaults=True):
    """Where missing messages of a stream were lost."""

    missing: int
    seen: Sequence[tuple[str, int]]
    unexplained: int
    excess: int
    between: list[Between] = []


class SenderClock(Table, frozen=True):
    """Relation of a sender's clock to a receiver's: the same clock, or the estimate."""

    shared: bool = False
    offset_ns: float | None = None
    uncertainty_ns: float | None = None
    drift: float | None = None
    drift_uncertainty: float | None = None
    contradictions: int = 0
    delay_uncertainty_ns: float | None = None


class ReceiverResult(Table, frozen=True):
    """Result of one receiver of a flow."""

    receiving: Role | None = None
    clock: SenderClock | None = None
    sent: int = 0
    received: int = 0
    losses: Losses | None = None


class FlowResult(ReceiverResult, frozen=True):
    """Result of a flow; of a group by receiver."""

    from_: str = field(name="from", default="")
    to: str | Sequence[str] = ""
    port: str = ""
    sending: Role | None = None
    cautions: Sequence[str] = ()
    receivers: Mapping[str, ReceiverResult] | None = None

    def by_receiver(self) -> Mapping[str, ReceiverResult]:
        """Results by the name of the receiver."""
        return self.receivers or {str(self.to): self}


class ProcessorTimes(Table, frozen=True):
    """Time of a processor since the start of its host, in ticks of 10 ms."""

    user: int = 0
    system: int = 0
    interrupts: int = 0
    soft_interrupts: int = 0
    steal: int = 0
    idle: int = 0

    @property
    def total(self) -> int:
        """Time of all kinds."""
        kinds = (self.user, self.system, self.interrupts, self.soft_interrupts)
        return sum(kinds) + self.steal + self.idle


class HostSample(Table, frozen=True):
    """Counters of a host."""

    processors: Sequence[ProcessorTimes] = ()
    context_switches: int = 0
    interrupts: int = 0
    soft_interrupts: int = 0
    backlog_dropped: int = 0
    memory_available_octets: int = 0


class UdpCounters(Table, frozen=True):
    """Datagrams of a host that its system has counted, of all programs."""

    sent: int = 0
    received: int = 0


class HostEdge(Table, frozen=True):
    """Counters of a host at an edge of the phases."""

    at: str
    taken_ns: int = 0
    host: HostSample = HostSample()
    udp: UdpCounters = UdpCounters()


class HostColumns(Table, frozen=True):
    """Counters of a host by sample, those of processors by processor, in ticks of 10 ms."""

    user: Sequence[Sequence[int]]
    system: Sequence[Sequence[int]]
    interrupts_time: Sequence[Sequence[int]]
    soft_interrupts_time: Sequence[Sequence[int]]
    steal: Sequence[Sequence[int]]
    idle: Sequence[Sequence[int]]
    context_switches: Sequence[int]
    interrupts: Sequence[int]
    memory_available_octets: Sequence[int]


class SamplingCost(Table, frozen=True):
    """Cost of reading counters."""

    processor_ns: int = 0


class HostSeries(Table, frozen=True):
    """Counters of a host over time."""

    at_ns: Sequence[int]
    columns: HostColumns
    cost: SamplingCost = SamplingCost()


class Plca(Table, frozen=True):
    """PLCA of an interface; None what its PHY does not say."""

    enable: bool | None = None
    node_id: int | None = None
    node_cnt: int | None = None
    to_tmr: int | None = None
    burst_cnt: int | None = None
    burst_tmr: int | None = None
    is_ok: bool | None = None
    """Whether its status is OK: beacons come."""

    @property
    def status(self) -> str:
        """Its status by the names of clause 148; "unknown" if the PHY does not report it."""
        return {True: "OK", False: "FAIL", None: "unknown"}[self.is_ok]


class Interface(Table, frozen=True):
    """Facts of an interface."""

    plca: Plca | None = None


class HostFacts(Table, frozen=True):
    """Facts of a host."""

    interfaces: Mapping[str, Interface] = {}


class AgentReport(Table, frozen=True):
    """Report of an agent."""

    host: Sequence[HostEdge] = ()
    host_series: HostSeries | None = None
    provenance: HostFacts | None = None


class AgentResult(Table, frozen=True):
    """An agent, and its report if it could be collected."""

    address: str = "0.0.0.0"
    boot: str = ""
    interfaces: Mapping[str, Sequence[str]] = {}
    """Addresses of each interface, with the length of their prefix."""
    result: AgentReport | None = None

    def has_address(self, interface: str) -> bool:
        """Whether an interface has the address of the station."""
        addresses = self.interfaces.get(interface, ())
        return self.address in (address.partition("/")[0] for address in addresses)


class LostAgent(Table, frozen=True):
    """An agent that was lost, and what is known of the cause."""

    agent: str
    what: str


class Phases(Table, frozen=True):
    """The measured window."""

    measure_from_ns: int
    measure_to_ns: int


class PortDrops(Struct, frozen=True):
    """Frames that a port of a switch dropped, by cause."""

    switch: str
    towards: str
    is_before_host: bool
    dropped: Mapping[str, int]

    @property
    def counted_once(self) -> int:
        """Frames that no host counts.

        A frame that a port could not hand to a host's interface is among the drops of that.
        """
        return self.dropped["queue"] + (0 if self.is_before_host else self.dropped["interface"])


class WireDrops(Struct, frozen=True):
    """Frames that a relayed wire dropped in one direction, by cause.

    `latest_ns` is the greatest lateness of a frame on it, since the testbed was made.
    """

    from_: str = field(name="from")
    towards: str
    dropped: Mapping[str, int]
    latest_ns: int | None = None
    classes: tuple[Mapping[str, int], ...] = ()
    """Counts of each traffic class of its queue by name, highest first; empty of one queue."""


class Result(Table, frozen=True):
    """Result of a test. `switches` is None where the counters of no switch were read."""

    outcome: str
    agents: Mapping[str, AgentResult]
    flows: Mapping[str, FlowResult]
    lost: LostAgent | None = None
    phases: Phases | None = None
    switches: Sequence[PortDrops] | None = None
    wires: Sequence[WireDrops] = ()
    unread: str = ""
    segment: SegmentCounts | None = None
    """What the emulated medium counted, of a segment."""
    media: Mapping[str, SegmentCounts] = {}
    """What emulated media of a network counted, by their names."""

    @property
    def failure(self) -> str:
        """Which agent was lost, and what is known of the cause."""
        lost = self.lost
        return "an agent was lost" if lost is None else f"agent {lost.agent} was lost: {lost.what}"

    @property
    def emulated(self) -> tuple[SegmentCounts, ...]:
        """What all emulated media counted."""
        return (*self.media.values(), *([] if self.segment is None else [self.segment]))

    @property
    def window_s(self) -> float:
        """Length of the measured window; NaN where the phases are unknown."""
        if self.phases is None:
            return float("nan")
        return (self.phases.measure_to_ns - self.phases.measure_from_ns) * 1e-9


def path_of(hops: Iterable[tuple[str, str]], sender: str, receiver: str) -> list[tuple[str, str]]:
    """Return the hops from a host to another in a network without loops, of hops known one way.

    Empty where none of them join the two.
    """
    beside: dict[str, set[str]] = {}
    for one, other in hops:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    came_from: dict[str, str] = {sender: sender}
    waiting = [sender]
    while waiting:
        node = waiting.pop()
        for other in beside.get(node, ()):
            if other not in came_from:
                came_from[other] = node
                waiting.append(other)
    found: list[tuple[str, str]] = []
    node = receiver
    while node in came_from and node != sender:
        found.append((came_from[node], node))
        node = came_from[node]
    return found[::-1]


def read(text: str | bytes) -> Result:
    """Read the result of a test; msgspec.DecodeError if it is not what a coordinator returns."""
    return decode(text, type=Result)
