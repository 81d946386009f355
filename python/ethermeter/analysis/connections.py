"""Connections: TCP's statistics of the transfers of a test.

Shares of limits are of the time in which the sender had something to send or to be acknowledged
(Linux: `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`); the rest of that time the
network, or its congestion window, was the limit.
"""

from dataclasses import dataclass

import numpy as np

from ethermeter.live_reports import (
    BulkReceiverCounts,
    ClientCounts,
    RoleCounts,
    RoleReport,
    ServerCounts,
    TcpColumns,
)
from ethermeter.results.interval import Floats
from ethermeter.store.result import Connection as End
from ethermeter.store.result import FlowResult, Result

_NS, _US = 1e-9, 1e-6
MOST_STEPS = 60
"""Steps of a course in which the rate of reading is taken."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A transfer over TCP, by the statistics of its sender over the whole transmission."""

    # flow, sender, receiver: Names; of a file that is read, its server sends
    flow: str
    sender: str
    receiver: str
    # Data read in the measured window over its time, of a file complete blocks; NaN without two
    # reads in it
    data_rate_bps: float
    # round_trip_s, round_trip_most_s, round_trip_least_s: TCP's smoothed round trip: its mean over
    # the samples, each as long as it stood, and its largest; and the least that TCP saw
    round_trip_s: float
    round_trip_most_s: float
    round_trip_least_s: float
    # window_octets, window_most_octets: Congestion window: mean over the samples, each as long as
    # it stood, and largest
    window_octets: float
    window_most_octets: float
    # sent_again, sent_again_octets: Segments that were sent again, and octets of them
    sent_again: float
    sent_again_octets: float
    sent_octets: float  # Octets sent, those sent again included
    # receiver_limited, buffer_limited: Shares of the busy time in which the receiver's window, or
    # the sender's own buffer, was the limit; NaN if it was never busy
    receiver_limited: float
    buffer_limited: float
    congestion: str = ""  # The sender's congestion control, as its kernel names it
    # Whether both ends agreed on selective acknowledgements; None where that is not known
    sack: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """A connection over time: times in s since the transmission began, and statistics then."""

    # read_s, read_bps: Ends of even steps, and how fast the receiver read in each, or acknowledged
    # of a file; shape `(steps,)`
    read_s: Floats
    read_bps: Floats
    told_s: Floats  # When the sender asked; shape `(samples,)`, as are all others
    round_trip_s: Floats  # TCP's smoothed round trip
    window_octets: Floats  # Congestion window
    sent_again: Floats  # Segments sent again until then


def connections(result: Result) -> tuple[Connection, ...]:
    """Return TCP's statistics of every transfer of a test, in the order of the result's flows."""
    found = []
    for name, flow in result.flows.items():
        end = _data_sender(flow)
        if end is not None and end.tcp.at_ns:
            found.append(_connection(name, flow, end, _rate_bps(flow, result)))
    return tuple(found)


def course(result: Result, flow: str) -> Course | None:
    """Return a connection over time; None if there are not two samples at either end."""
    found = result.flows.get(flow)
    end = None if found is None else _data_sender(found)
    if found is None or end is None:
        return None
    at_ns, columns = np.array(end.tcp.at_ns, np.float64), end.tcp.columns
    receiver = _counted(found.receiving)
    progress = receiver.progress if isinstance(receiver, BulkReceiverCounts) else None
    # The reads of a file have no times; acknowledgements come as near as can be known.
    read_ns = at_ns if progress is None else np.array(progress.at_ns, np.float64)
    octets = columns.acknowledged_octets if progress is None else progress.columns.octets
    read = np.array(octets, np.float64) if len(octets) else at_ns
    if at_ns.size < 2 or read_ns.size < 2 or read_ns[-1] <= read_ns[0]:
        return None
    # Reads come when they come; a rate needs steps that are no shorter than the time between them.
    count = max(1, min(MOST_STEPS, (read_ns.size - 1) // 2))
    edges_ns = np.linspace(read_ns[0], read_ns[-1], count + 1)
    read = np.interp(edges_ns, read_ns, read)
    return Course(
        edges_ns[1:] * _NS,
        8 * np.diff(read) / (np.diff(edges_ns) * _NS),
        at_ns * _NS,
        np.array(columns.round_trip_us, np.float64) * _US,
        _windows(columns),
        np.array(columns.sent_again, np.float64),
    )


def _counted(role: RoleReport | None) -> RoleCounts | None:
    return None if role is None else role.counted


def _data_sender(flow: FlowResult) -> End | None:
    """Return the end that sent the data; None of a flow that is no transfer.

    Of a file that is read, it is the receiver of the flow.
    """
    ends = [
        counts
        for counts in map(_counted, (flow.sending, flow.receiving))
        if isinstance(counts, End)
    ]

    def sent_octets(end: End) -> int:
        octets = end.tcp.columns.sent_octets
        return octets[-1] if octets else -1

    return max(ends, key=sent_octets, default=None)


def _rate_bps(flow: FlowResult, result: Result) -> float:
    """Rate of a stream's octets read in the measured window, or of a file's complete blocks."""
    sender, receiver = _counted(flow.sending), _counted(flow.receiving)
    if isinstance(receiver, BulkReceiverCounts):
        rate_bps = receiver.measured.data_rate_bps
        return float("nan") if rate_bps is None else rate_bps
    if isinstance(sender, ClientCounts) and result.window_s > 0:
        return 8 * sender.measured.octets / result.window_s
    return float("nan")


def _windows(columns: TcpColumns) -> Floats:
    """Return the congestion window of every sample, in octets."""
    segments = np.array(columns.congestion_window, np.float64)
    windows: Floats = segments * np.array(columns.segment_octets, np.float64)
    return windows


def _connection(name: str, flow: FlowResult, end: End, rate_bps: float) -> Connection:
    columns, at_ns = end.tcp.columns, np.array(end.tcp.at_ns, np.float64)
    window = _windows(columns)
    round_trip_s = np.array(columns.round_trip_us, np.float64) * _US
    least_us = [least for least in columns.least_round_trip_us if least > 0]
    busy_us = float(columns.busy_us[-1])
    ends = (flow.from_, str(flow.to))
    sender, receiver = ends[::-1] if isinstance(end, ServerCounts) else ends
    return Connection(
        flow=name,
        sender=sender,
        receiver=receiver,
        data_rate_bps=rate_bps,
        round_trip_s=_held(at_ns, round_trip_s),
        round_trip_most_s=float(round_trip_s.max()),
        round_trip_least_s=min(least_us) * _US if least_us else float("nan"),
        window_octets=_held(at_ns, window),
        window_most_octets=float(window.max()),
        sent_again=float(columns.sent_again[-1]),
        sent_again_octets=float(columns.sent_again_octets[-1]),
        sent_octets=float(columns.sent_octets[-1]),
        receiver_limited=columns.receiver_limited_us[-1] / busy_us if busy_us else float("nan"),
        buffer_limited=columns.buffer_limited_us[-1] / busy_us if busy_us else float("nan"),
        congestion=end.congestion or "",
        sack=end.sack,
    )


def _held(at_ns: Floats, values: Floats) -> float:
    """Mean of values that each stood until the next; the only one of one."""
    steps = np.diff(at_ns)
    return (
        float((values[:-1] * steps).sum() / steps.sum())
        if steps.size and steps.sum() > 0
        else float(values[-1])
    )
