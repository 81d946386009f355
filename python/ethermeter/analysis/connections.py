"""Connections: what TCP said of the transfers of a test, and what it cost the hosts.

Shares of limits are of the time in which the sender had something to send or to be acknowledged (Linux: `tcpi_busy_time`,
`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`); the rest of that time the network, or its congestion window, was the limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.analysis.interval import Floats

_NS, _US = 1e-9, 1e-6
MOST_STEPS = 60
"""Steps in which a course tells how fast the receiver read."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A transfer over TCP, by what its sender was told over the whole transmission.

    Parameters
    ----------
    flow, sender, receiver
        Names.
    data_rate_bps
        Data read in the measured window over its time; NaN if nobody read twice in it.
    round_trip_s, round_trip_most_s, round_trip_least_s
        TCP's smoothed round trip: its mean over the samples, each as long as it stood, and its largest; and the least that TCP saw.
    window_octets, window_most_octets
        Congestion window: mean over the samples, each as long as it stood, and largest.
    sent_again, sent_again_octets
        Segments that were sent again, and octets of them.
    sent_octets
        Octets sent, those sent again included.
    receiver_limited, buffer_limited
        Shares of the busy time in which the receiver's window, or the sender's own buffer, was the limit; NaN if it was never busy.

    """

    flow: str
    sender: str
    receiver: str
    data_rate_bps: float
    round_trip_s: float
    round_trip_most_s: float
    round_trip_least_s: float
    window_octets: float
    window_most_octets: float
    sent_again: float
    sent_again_octets: float
    sent_octets: float
    receiver_limited: float
    buffer_limited: float


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """A connection over time: times in s since the transmission began, and what was told then.

    Parameters
    ----------
    read_s, read_bps
        Ends of even steps, and how fast the receiver read in each; shape `(steps,)`.
    told_s
        When the sender asked; shape `(samples,)`, as are all others.
    round_trip_s
        TCP's smoothed round trip.
    window_octets
        Congestion window.
    sent_again
        Segments sent again until then.

    """

    read_s: Floats
    read_bps: Floats
    told_s: Floats
    round_trip_s: Floats
    window_octets: Floats
    sent_again: Floats


def connections(result: Mapping[str, Any]) -> tuple[Connection, ...]:
    """Tell what TCP said of every transfer of a test, in the order of the result's flows.

    Parameters
    ----------
    result
        What came of a test, as docs/live.md has it.

    """
    found = []
    for name, flow in result["flows"].items():
        given, taken = _counted(flow, "sending"), _counted(flow, "receiving")
        at_ns, columns = _told(given)
        if at_ns.size and taken is not None:
            found.append(_connection(name, flow, at_ns, columns, (taken.get("measured") or {}).get("data_rate_bps")))
    return tuple(found)


def course(result: Mapping[str, Any], flow: str) -> Course | None:
    """Tell how a connection went over time; None if there are not two samples at either end."""
    said = result["flows"].get(flow) or {}
    at_ns, columns = _told(_counted(said, "sending"))
    progress = (_counted(said, "receiving") or {}).get("progress") or {}
    read_ns = np.array(progress.get("at_ns", ()), np.float64)
    if at_ns.size < 2 or read_ns.size < 2 or read_ns[-1] <= read_ns[0]:
        return None
    # Reads come when they come; a rate needs steps that are no shorter than the time between them.
    count = max(1, min(MOST_STEPS, (read_ns.size - 1) // 2))
    edges_ns = np.linspace(read_ns[0], read_ns[-1], count + 1)
    octets = np.interp(edges_ns, read_ns, np.array(progress["columns"]["octets"], np.float64))
    return Course(
        edges_ns[1:] * _NS,
        8 * np.diff(octets) / (np.diff(edges_ns) * _NS),
        at_ns * _NS,
        columns["round_trip_us"] * _US,
        columns["congestion_window"] * columns["segment_octets"],
        columns["sent_again"],
    )


def _counted(flow: Mapping[str, Any], side: str) -> Mapping[str, Any] | None:
    counted = (flow.get(side) or {}).get("counted")
    return counted if isinstance(counted, dict) else None


def _told(given: Mapping[str, Any] | None) -> tuple[Floats, dict[str, Floats]]:
    told = (given or {}).get("tcp") or {}
    at_ns = np.array(told.get("at_ns", ()), np.float64)
    return at_ns, {name: np.array(column, np.float64) for name, column in (told.get("columns") or {}).items()}


def _connection(name: str, flow: Mapping[str, Any], at_ns: Floats, columns: Mapping[str, Floats], rate_bps: float | None) -> Connection:
    window = columns["congestion_window"] * columns["segment_octets"]
    least = columns["least_round_trip_us"][columns["least_round_trip_us"] > 0]
    busy_us = float(columns["busy_us"][-1])

    def share(limited: str) -> float:
        return float(columns[limited][-1]) / busy_us if busy_us > 0 else float("nan")

    return Connection(
        flow=name,
        sender=str(flow["from"]),
        receiver=str(flow["to"]),
        data_rate_bps=float("nan") if rate_bps is None else float(rate_bps),
        round_trip_s=_held(at_ns, columns["round_trip_us"]) * _US,
        round_trip_most_s=float(columns["round_trip_us"].max()) * _US,
        round_trip_least_s=float(least.min()) * _US if least.size else float("nan"),
        window_octets=_held(at_ns, window),
        window_most_octets=float(window.max()),
        sent_again=float(columns["sent_again"][-1]),
        sent_again_octets=float(columns["sent_again_octets"][-1]),
        sent_octets=float(columns["sent_octets"][-1]),
        receiver_limited=share("receiver_limited_us"),
        buffer_limited=share("buffer_limited_us"),
    )


def _held(at_ns: Floats, values: Floats) -> float:
    """Mean of values that each stood until the next; the only one of one."""
    steps = np.diff(at_ns)
    return float((values[:-1] * steps).sum() / steps.sum()) if steps.size and steps.sum() > 0 else float(values[-1])
