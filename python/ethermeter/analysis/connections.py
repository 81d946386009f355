"""Connections: what TCP said of the transfers of a test, and what it cost the hosts.

Shares of limits are of the time in which the sender had something to send or to be acknowledged
(Linux: `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`); the rest of that time the
network, or its congestion window, was the limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethermeter.analysis.interval import Floats

_NS, _US = 1e-9, 1e-6
SIDES = ("sending", "receiving")
"""Of a flow, `from` and `to`."""
MOST_STEPS = 60
"""Steps in which a course tells how fast the receiver read."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A transfer over TCP, by what its sender was told over the whole transmission.

    Parameters
    ----------
    flow, sender, receiver
        Names; of a file that is read, its server sends.
    data_rate_bps
        Data read in the measured window over its time, of a file whole blocks; NaN if nobody read
        twice in it.
    round_trip_s, round_trip_most_s, round_trip_least_s
        TCP's smoothed round trip: its mean over the samples, each as long as it stood, and its
        largest; and the least that TCP saw.
    window_octets, window_most_octets
        Congestion window: mean over the samples, each as long as it stood, and largest.
    sent_again, sent_again_octets
        Segments that were sent again, and octets of them.
    sent_octets
        Octets sent, those sent again included.
    receiver_limited, buffer_limited
        Shares of the busy time in which the receiver's window, or the sender's own buffer, was the
        limit; NaN if it was never busy.
    congestion
        The sender's congestion control, as its kernel names it; empty where agents of older
        versions measured.
    sack
        Whether both ends agreed on selective acknowledgements; None where that is not known.

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
    congestion: str = ""
    sack: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """A connection over time: times in s since the transmission began, and what was told then.

    Parameters
    ----------
    read_s, read_bps
        Ends of even steps, and how fast the receiver read in each, or acknowledged of a file; shape
        `(steps,)`.
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
        side, at_ns, columns = _sender(flow)
        if at_ns.size:
            ends = (str(flow["from"]), str(flow["to"]))
            sender, receiver = ends if side == SIDES[0] else ends[::-1]
            counted = _counted(flow, side) or {}
            connection = _connection(
                name, sender, receiver, at_ns, columns, _rate_bps(flow, result)
            )
            found.append(
                replace(
                    connection,
                    congestion=str(counted.get("congestion", "")),
                    sack=counted.get("sack"),
                )
            )
    return tuple(found)


def course(result: Mapping[str, Any], flow: str) -> Course | None:
    """Tell how a connection went over time; None if there are not two samples at either end."""
    said = result["flows"].get(flow) or {}
    _, at_ns, columns = _sender(said)
    progress = (_counted(said, SIDES[1]) or {}).get("progress")
    # Of a file nobody keeps when it was read; what was acknowledged is as near as it gets.
    read_ns = at_ns if progress is None else np.array(progress["at_ns"], np.float64)
    read = (
        columns.get("acknowledged_octets", at_ns)
        if progress is None
        else np.array(progress["columns"]["octets"], np.float64)
    )
    if at_ns.size < 2 or read_ns.size < 2 or read_ns[-1] <= read_ns[0]:
        return None
    # Reads come when they come; a rate needs steps that are no shorter than the time between them.
    count = max(1, min(MOST_STEPS, (read_ns.size - 1) // 2))
    edges_ns = np.linspace(read_ns[0], read_ns[-1], count + 1)
    octets = np.interp(edges_ns, read_ns, read)
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


def _told(counted: Mapping[str, Any] | None) -> tuple[Floats, dict[str, Floats]]:
    told = (counted or {}).get("tcp") or {}
    at_ns = np.array(told.get("at_ns", ()), np.float64)
    return at_ns, {
        name: np.array(column, np.float64) for name, column in (told.get("columns") or {}).items()
    }


def _sender(flow: Mapping[str, Any]) -> tuple[str, Floats, dict[str, Floats]]:
    """Return the side that sent the data, which of a file that is read is the receiver of its flow,
    and what TCP told it.
    """
    told = [(side, *_told(_counted(flow, side))) for side in SIDES]
    return max(told, key=lambda of: of[2]["sent_octets"][-1] if of[1].size else -1.0)


def _rate_bps(flow: Mapping[str, Any], result: Mapping[str, Any]) -> float:
    """Rate of a stream's octets that were read in the measured window, or of a file's blocks that
    were there in it.
    """
    given, taken = (_counted(flow, side) or {} for side in SIDES)
    if "data_rate_bps" in (measured := taken.get("measured") or {}):
        return (
            float("nan") if measured["data_rate_bps"] is None else float(measured["data_rate_bps"])
        )
    phases = result.get("phases") or {}
    window_s = (phases.get("measure_to_ns", 0) - phases.get("measure_from_ns", 0)) * _NS
    octets = (given.get("measured") or {}).get("octets")
    return 8 * float(octets) / window_s if octets is not None and window_s > 0 else float("nan")


def _connection(
    name: str,
    sender: str,
    receiver: str,
    at_ns: Floats,
    columns: Mapping[str, Floats],
    rate_bps: float,
) -> Connection:
    window = columns["congestion_window"] * columns["segment_octets"]
    least = columns["least_round_trip_us"][columns["least_round_trip_us"] > 0]
    busy_us = float(columns["busy_us"][-1])

    def share(limited: str) -> float:
        return float(columns[limited][-1]) / busy_us if busy_us > 0 else float("nan")

    return Connection(
        flow=name,
        sender=sender,
        receiver=receiver,
        data_rate_bps=rate_bps,
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
    return (
        float((values[:-1] * steps).sum() / steps.sum())
        if steps.size and steps.sum() > 0
        else float(values[-1])
    )
