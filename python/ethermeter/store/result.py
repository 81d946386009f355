"""Result of a live test: its file in `live/`, decoded.

The coordinator's part is generated (`ethermeter.live_reports`); what a testbed counted of switches,
wires and media stands beside it. docs/reference/agent-tests.md describes both.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.json import decode

from ethermeter import live_reports
from ethermeter.live_reports import PathLosses, PlcaFacts, SegmentCounts, TestResult

Connection = live_reports.BulkSenderCounts | live_reports.ClientCounts | live_reports.ServerCounts
"""Counts of an end of a TCP connection that sends data."""


class Between(Struct, frozen=True):
    """Frames that were dropped between hosts on the path of a flow."""

    place: str
    at: str
    towards: str
    dropped: int


class Losses(PathLosses, frozen=True, kw_only=True):
    """Where missing messages of a stream were lost."""

    between: tuple[Between, ...] = ()


class ReceiverResult(live_reports.ReceiverResult, frozen=True, kw_only=True):
    """Result of one receiver of a flow."""

    losses: Losses | None = None


class FlowResult(live_reports.FlowResult, frozen=True, kw_only=True):
    """Result of a flow; of a group by receiver."""

    losses: Losses | None = None
    receivers: Mapping[str, ReceiverResult] = {}

    def by_receiver(self) -> "Mapping[str, ReceiverResult | FlowResult]":
        """Results by the name of the receiver."""
        return self.receivers or {str(self.to): self}


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


class Result(TestResult, frozen=True, kw_only=True):
    """Result of a test. `switches` is None where the counters of no switch were read."""

    agents: Mapping[str, live_reports.AgentResult]
    flows: Mapping[str, FlowResult]
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
        """Length of the measured window; 0 where the phases are unknown."""
        return (self.phases.measure_to_ns - self.phases.measure_from_ns) * 1e-9


def plca_status(plca: PlcaFacts) -> str:
    """Return the PLCA status as clause 148 names it; "unknown" if the PHY does not report it."""
    return {True: "OK", False: "FAIL", None: "unknown"}[plca.is_ok]


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
