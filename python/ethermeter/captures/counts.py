"""Counts of the core in a capture file, as docs/reference/capture-json.md describes them.

Times are in nanoseconds, sizes in octets; what is not known is None.
"""

from collections.abc import Sequence

import msgspec

NS = 1e-9


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution of times; `filled` has the greatest time of each bucket and its count."""

    count: int
    mean_ns: float | None
    least_ns: int | None
    most_ns: int | None
    p10_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    filled: list[tuple[int, int]]

    def seconds(self, name: str) -> float | None:
        """Return `mean`, `least`, `most`, `p10`, `p50`, `p90`, `p99` or `p999` in s."""
        ns: float | None = getattr(self, f"{name}_ns")
        return None if ns is None else ns * NS


class Spacing(msgspec.Struct, frozen=True, kw_only=True):
    """Picoseconds per octet of payload in trains of acknowledgements."""

    count: int
    p10: int | None
    p50: int | None
    p90: int | None


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Time that an end spent on a cause: in all, in how many pieces, and the longest of them."""

    ns: int
    count: int
    most_ns: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Segments that waited for a delayed acknowledgement of the one before.

    `sizes`: of both, as most had them. `delayed_ns`: the sum of the delays beyond a round trip.
    """

    sizes: tuple[int, int]
    delayed_ns: int


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """Round trips in which an end waited for acknowledgements."""

    all: int
    steady: int
    steady_octets: float
    steps: int


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Slices of equal width, one element of every list each."""

    width_ns: int
    packets: list[int]
    resent: list[int]
    octets: list[int]
    sent: list[int]
    acknowledged: list[int]
    edge: list[int]
    flight: list[int]
    delays: list[int]
    delay_sum_ns: list[int]
    delay_most_ns: list[int]


class EndCounts(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a connection, and what it sent."""

    address: str
    port: int
    segments: int
    syns: int
    resets: int
    copies: int
    data_segments: int
    first_payload: int
    octets: int
    numbers: int
    resent: int
    resent_octets: int
    resent_guessed: int
    loss_episodes: int
    needless: int
    reported_duplicate: int
    late: int
    holes: int
    uncaptured_octets: int
    duplicate_acks: int
    zero_windows: int
    probes: int
    keep_alives: int
    bare_acks: int
    covering_acks: int
    covered_segments: int
    most_covered: int
    most_in_flight: int
    window_least: int | None
    window_most: int | None
    window_first: int | None
    wanted_segment: int | None
    segment: int
    largest_payload: int
    away_ns: int | None
    forgotten: int
    has_closed: bool
    has_reset: bool
    ack_delay: Delays
    round_trip: Delays
    loss_round_trip: Delays
    spacing_ps: Spacing
    trains_ps: Spacing
    waits: dict[str, Wait]
    held: Held | None
    rounds: Rounds
    series: Series

    def count(self, key: str) -> int | None:
        """Return a counter by its key."""
        found: int | None = getattr(self, key)
        return found


class Pauses(msgspec.Struct, frozen=True, kw_only=True):
    """Pauses of a second and more."""

    count: int
    sum_ns: int
    most_ns: int


class ConnectionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A TCP connection."""

    number: int
    first_packet: int
    is_evicted: bool
    begin_ns: int
    duration_ns: int
    handshake_ns: int | None
    answer_ns: int | None
    refused_ns: int | None
    is_scaled: bool | None
    pauses: Pauses
    limits_ns: dict[str, int]
    ends: tuple[EndCounts, EndCounts]


class DirectionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Segments with payload of all connections from one address to another."""

    segments: int
    packet_octets: int
    octets: int
    begin_ns: int
    duration_ns: int
    spacing_ps: Spacing


class PathCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What two addresses sent each other over TCP."""

    addresses: tuple[str, str]
    connections: int
    directions: tuple[DirectionCounts, DirectionCounts]


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """Account of the numbers of a flow's messages."""

    sent: int
    received: int
    missing: int
    reordered: int
    duplicate: int
    late: int
    foreign: int
    gaps: int
    longest_gap: int


class FlowMark(msgspec.Struct, frozen=True, kw_only=True):
    """Mark of a flow of ethermeter."""

    kind: int
    experiment: int
    stream: int


class FlowCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A flow of UDP or raw frames."""

    number: int
    first_packet: int
    is_evicted: bool
    kind: str
    source: str
    destination: str
    mark: FlowMark | None
    priority: int | None
    packets: int
    octets: int
    begin_ns: int
    duration_ns: int
    gaps: Delays
    numbers: Numbers | None
    series: Series


class Unlisted(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of connections or flows that are not listed."""

    count: int
    packets: int
    octets: int


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of connections or flows."""

    count: int
    evicted: int
    unlisted: Unlisted


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """Packets that the capture itself lost, by who lost them."""

    by_interface: int | None
    by_system: int | None


class StationAttempts(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts of a station of an emulated segment.

    `given_up`: attempts after which frames were given up, and how many. `waits`: collisions of the
    frame, least and most slots of the wait that followed, and how many such waits.
    """

    name: str
    attempts: int
    collisions: int
    given_up: list[tuple[int, int]]
    waits: list[tuple[int, int, int, int]]
    unexplained: int
    left_out: int


class SegmentAttempts(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts of the stations of an emulated segment, in slots of so many bits."""

    bit_ps: int
    slot_bits: int
    has_logical: bool
    stations: list[StationAttempts]


class FileCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A capture file."""

    format: str
    packets: int
    file_octets: int
    wire_octets: int
    busiest_second_octets: int | None
    busiest_minute_octets: int | None
    link_bps: int | None
    segment: SegmentAttempts | None
    first_ns: int | None
    last_ns: int | None
    timeless: int
    backward: int
    cut: int
    damaged: int
    """Packets with errors of the link, such as frames that collided; they count nowhere else."""
    dropped: Dropped
    kinds: dict[str, int]
    unread_link: int | None
    encapsulations: dict[str, int]
    reassembled: int
    incomplete: int
    ended_by: str | None
    is_truncated: bool
    connections: Sequence[ConnectionCounts]
    connection_sums: Sums
    flows: Sequence[FlowCounts]
    flow_sums: Sums
    paths: list[PathCounts]
