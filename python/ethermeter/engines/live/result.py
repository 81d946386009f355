"""Result of a live test: what its agents counted, as far as observations are made of it.

`crates/agent/src/result.rs` has all of it, docs/live.md describes it; keys that are not read here
are left out. Times are in ns since the beginning of the transmission, histograms in ps.
"""

from collections.abc import Mapping, Sequence

from msgspec import DecodeError, Struct
from msgspec.json import decode

from ethermeter.engines.work import TrialError

Buckets = list[tuple[int, int, int]]
"""Buckets of a histogram: low and high in ps, count."""


class Table(Struct, frozen=True, kw_only=True):
    """A table of a result."""


class Histogram(Table, frozen=True):
    """Times in ps."""

    buckets: Buckets = []


class Pacing(Table, frozen=True):
    """How far from their times messages were sent."""

    frames: int = 0
    worst_ns: int = 0
    lateness: Histogram = Histogram()


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


class StreamBatches(Table, frozen=True):
    """Messages of a stream that came, by batch."""

    frames: list[int]
    payload_octets: list[int]
    delays: list[int]
    delay_sum_ns: list[int]
    spacings: list[int]
    spacing_sum_ns: list[int]


class StreamWindow(Table, frozen=True):
    """Messages of a stream that came in the measured window."""

    frames: int
    payload_octets: int
    first_ns: int | None
    last_ns: int | None
    delay: Histogram
    spacing: Histogram
    batches: StreamBatches | None = None


class Stream(Table, frozen=True):
    """Messages of a stream that came."""

    received: int
    reordered: int
    duplicate: int
    measured: StreamWindow
    voice: Speech | None = None


class RequestBatches(Table, frozen=True):
    """Requests, by batch in which they were sent."""

    requests: list[int]
    complete: list[int]
    since_arrival_sum_ns: list[int]


class BlockBatches(Table, frozen=True):
    """Blocks of a file, by batch in which they were complete."""

    octets: list[int]
    blocks: list[int]
    round_trip_sum_ns: list[int]


class BlockWindow(Table, frozen=True):
    """Blocks that were complete in the measured window."""

    octets: int
    blocks: int
    round_trip: Histogram
    batches: BlockBatches | None = None


class OctetBatches(Table, frozen=True):
    """Octets read, by batch."""

    octets: list[int]


class OctetWindow(Table, frozen=True):
    """Octets read in the measured window."""

    data_rate_bps: float | None
    batches: OctetBatches | None = None


class ConnectionColumns(Table, frozen=True):
    """A TCP connection over time."""

    sent_again: list[int]


class Connection(Table, frozen=True):
    """A TCP connection, as the kernel of its host describes it."""

    columns: ConnectionColumns

    @property
    def sent_again(self) -> float:
        """Segments sent again by the end."""
        return float(self.columns.sent_again[-1]) if self.columns.sent_again else 0.0


class Counts(Table, frozen=True, tag_field="role"):
    """Counts of a role."""


class Sender(Counts, frozen=True, tag="sender"):
    """Counts of the sender of a stream."""

    frames: int
    untaken: int
    pacing: Pacing = Pacing()
    voice: Talk | None = None


class Sink(Counts, frozen=True, tag="sink"):
    """Counts of the receiver of a stream."""

    stream: Stream


class Requester(Counts, frozen=True, tag="requester"):
    """Counts of a requester."""

    requests: int
    answered: int
    unasked: int
    since_arrival: Histogram
    complete: int = 0
    pacing: Pacing = Pacing()
    batches: RequestBatches | None = None


class Responder(Counts, frozen=True, tag="responder"):
    """Counts of a responder."""

    requests: int
    request_octets: int


class Clock(Counts, frozen=True, tag="clock"):
    """A comparison of clocks."""


class BulkSender(Counts, frozen=True, tag="bulk-sender"):
    """Counts of the sender of octets in bulk."""

    tcp: Connection


class BulkReceiver(Counts, frozen=True, tag="bulk-receiver"):
    """Counts of the receiver of octets in bulk."""

    octets: int
    last_ns: int | None
    measured: OctetWindow


class Client(Counts, frozen=True, tag="client"):
    """Counts of the client of a file."""

    tcp: Connection
    whole_ns: int | None
    measured: BlockWindow


class Server(Counts, frozen=True, tag="server"):
    """Counts of the server of a file."""

    tcp: Connection


AnyCounts = (
    Sender | Sink | Requester | Responder | Clock | BulkSender | BulkReceiver | Client | Server
)


class Role(Table, frozen=True):
    """Report of a role; `counted` is None if it did not come to its end."""

    counted: AnyCounts | None = None


class Losses(Table, frozen=True):
    """Where missing messages of a stream were lost."""

    missing: int
    seen: list[tuple[str, int]]


class ReceiverResult(Table, frozen=True):
    """Result of one receiver of a flow."""

    receiving: Role | None = None
    losses: Losses | None = None


class FlowResult(ReceiverResult, frozen=True):
    """Result of a flow; of a group by receiver."""

    sending: Role | None = None
    cautions: tuple[str, ...] = ()
    receivers: Mapping[str, ReceiverResult] | None = None


class ProcessorTimes(Table, frozen=True):
    """Time of a processor since the start of its host, in ticks of 10 ms."""

    user: int = 0
    system: int = 0
    interrupts: int = 0
    soft_interrupts: int = 0
    stolen: int = 0
    idle: int = 0

    @property
    def total(self) -> int:
        """Time of all kinds."""
        kinds = (self.user, self.system, self.interrupts, self.soft_interrupts)
        return sum(kinds) + self.stolen + self.idle


class HostSample(Table, frozen=True):
    """Counters of a host."""

    processors: Sequence[ProcessorTimes] = ()


class HostEdge(Table, frozen=True):
    """Counters of a host at an edge of the phases."""

    at: str
    host: HostSample = HostSample()


class AgentReport(Table, frozen=True):
    """Report of an agent."""

    host: Sequence[HostEdge] = ()


class AgentResult(Table, frozen=True):
    """An agent, and its report if it could be collected."""

    address: str = "0.0.0.0"
    result: AgentReport | None = None


class LostAgent(Table, frozen=True):
    """An agent that was lost, and what is known of the cause."""

    agent: str
    what: str


class Result(Table, frozen=True):
    """Result of a test."""

    outcome: str
    lost: LostAgent | None = None
    agents: Mapping[str, AgentResult] = {}
    flows: Mapping[str, FlowResult] = {}


def read(text: str | bytes) -> Result:
    """Read the result of a test.

    Raises
    ------
    TrialError
        If it is not what a coordinator returns.

    """
    try:
        return decode(text, type=Result)
    except DecodeError as error:
        raise TrialError(f"result of a test: {error}") from error
