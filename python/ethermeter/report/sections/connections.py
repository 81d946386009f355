"""Connections: TCP's counters of measured transfers, beside processors and memory of hosts."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from markupsafe import Markup

from ethermeter.analysis import connections, hosts
from ethermeter.analysis.accounts import Account, by_point
from ethermeter.analysis.connections import Connection
from ethermeter.analysis.hosts import Machine
from ethermeter.document import Block, Figure, Grid, Heading, Label, Section, Text
from ethermeter.report.data import ReportData
from ethermeter.report.plots import Course, over_time
from ethermeter.report.sections.agent_results import PointColumns, percent, value, window_of
from ethermeter.results.trials import alike
from ethermeter.store.result import Result

RATE = Label("Throughput", "Mb/s", 1e-6)
TRIP = Label("Round trip", "ms", 1e3)
WINDOW = Label("Congestion window", "kB", 1e-3)
AGAIN = Label("Segments sent again")
BUSY = Label("Processors busy", "%", 100.0)
MEMORY = Label("Memory available", "MB", 1e-6, from_zero=False)
MOST_FLOWS = 6
"""Connections of a trial that are drawn."""
_NUMBERS = [of.name for of in fields(Connection) if of.type is float]
_HEAD = (
    *(
        "Connection",
        "Throughput (Mb/s)",
        "Round trip (ms)",
        "largest",
        "least",
        "Congestion window (kB)",
        "largest",
        "Sent again",
    ),
    *(
        "of segments’ octets",
        "Receiver the limit",
        "Own buffer the limit",
        "Sender busy",
        "Receiver busy",
        "Least memory (MB)",
    ),
    *("Congestion control", "Selective acknowledgements"),
)


LEAD = Markup(
    "Throughput is the data read in the measured window over its time. The rest is what TCP "
    "reported to the sender over the whole transmission: its smoothed round trip and congestion "
    "window (means over time), what it sent again, and in which share of the time with something "
    "to send the receiver’s window or the sender’s own buffer was the limit; else it was the "
    "network, or the congestion window. <em>Busy</em> is the share of all processors of the "
    "machine; both ends of a testbed are on one."
)


def build(data: ReportData) -> Section | None:
    """Means of every point and figures of the fastest trial; None if there are none."""
    accounts = [each for each in data.accounts if each.connections]
    if not accounts:
        return None
    columns = PointColumns(accounts)
    rows = [
        [*columns.cells(group[0]), *_cells(_mean(of), group)]
        for group in by_point(accounts)
        for of in alike(
            (connection for each in group for connection in each.connections),
            lambda connection: connection.flow,
        )
    ]
    blocks: list[Block] = [Text(LEAD, "lead"), columns.table(_HEAD, rows, "Connections")]
    return Section("tcp", "TCP", "TCP connections", [*blocks, *_figures(accounts, data, columns)])


def _mean(of: Sequence[Connection]) -> Connection:
    """Mean over replications of those that have a value."""

    def mean(name: str) -> float:
        values = np.array([getattr(each, name) for each in of])
        known = values[np.isfinite(values)]
        return float(known.mean()) if known.size else float("nan")

    # All of these fields are numbers.
    return replace(of[0], **{name: mean(name) for name in _NUMBERS})  # type: ignore[arg-type]


def _cells(mean: Connection, group: Sequence[Account]) -> list[str]:
    sender, receiver = (_machines(group, host) for host in (mean.sender, mean.receiver))
    memory = min((of.memory_least_octets for of in (*sender, *receiver)), default=float("nan"))
    return [
        f"{mean.flow}: {mean.sender} to {mean.receiver}",
        value(mean.data_rate_bps, RATE.factor),
        value(mean.round_trip_s, TRIP.factor),
        value(mean.round_trip_most_s, TRIP.factor),
        value(mean.round_trip_least_s, TRIP.factor),
        value(mean.window_octets, WINDOW.factor),
        value(mean.window_most_octets, WINDOW.factor),
        value(mean.sent_again),
        percent(mean.sent_again_octets / mean.sent_octets if mean.sent_octets else float("nan")),
        percent(mean.receiver_limited),
        percent(mean.buffer_limited),
        percent(_busy(sender)),
        percent(_busy(receiver)),
        "–" if memory != memory else f"{memory / 1e6:,.0f}",
        mean.congestion or "–",
        "–" if mean.sack is None else "yes" if mean.sack else "no",
    ]


def _machines(group: Sequence[Account], host: str) -> list[Machine]:
    return [machine for each in group for machine in each.machines if host in machine.hosts]


def _busy(machines: Sequence[Machine]) -> float:
    return (
        float(np.mean([sum(of.shares.values()) for of in machines])) if machines else float("nan")
    )


def _figures(accounts: Sequence[Account], data: ReportData, columns: PointColumns) -> list[Block]:
    """Draw the trial with the highest throughput."""
    chosen = max(
        accounts, key=lambda each: float(np.nansum([of.data_rate_bps for of in each.connections]))
    )
    result = data.result(chosen.trial)
    shown = [
        of
        for of in chosen.connections[:MOST_FLOWS]
        if connections.course(result, of.flow) is not None
    ]
    if not shown:
        return []
    where = columns.description(chosen)
    lead = (
        f"Trial {chosen.trial}{f' ({where})' if where else ''}: the one with the highest"
        " throughput. The measured window is shaded."
    )
    figures = [*_connection_figures(shown, result), *_host_figures(shown, result)]
    return [Heading("A trial over time"), Text(lead, "lead"), Grid(figures)]


def _connection_figures(shown: Sequence[Connection], result: Result) -> list[Figure]:
    window_s = window_of(result)
    progress = {
        of.flow: course
        for of in shown
        if (course := connections.course(result, of.flow)) is not None
    }
    of_each: list[tuple[Label, str, list[Course]]] = [
        (
            RATE,
            (
                "What the receiver read, of files what it acknowledged. What waited for a segment"
                " sent again is read at once."
            ),
            [(flow, of.read_s, of.read_bps) for flow, of in progress.items()],
        ),
        (
            TRIP,
            "Smoothed, as TCP keeps it.",
            [(flow, of.told_s, of.round_trip_s) for flow, of in progress.items()],
        ),
        (
            WINDOW,
            "In octets of full segments.",
            [(flow, of.told_s, of.window_octets) for flow, of in progress.items()],
        ),
        (
            AGAIN,
            "Since the beginning.",
            [(flow, of.told_s, of.sent_again) for flow, of in progress.items()],
        ),
    ]
    return [
        Figure(
            over_time(curves, label, window_s=window_s),
            title=label.title,
            text=text,
        )
        for label, text, curves in of_each
    ]


def _host_figures(shown: Sequence[Connection], result: Result) -> list[Figure]:
    """Processors and memory of the machines of both ends; of one machine once."""
    machines = {machine.hosts: machine for machine in hosts.machines(result)}
    ends = {host for of in shown for host in (of.sender, of.receiver)}
    busy: list[Course] = []
    memory: list[Course] = []
    for names in machines:
        course = hosts.course(result, names[0]) if ends & set(names) else None
        if course is not None:
            name = ", ".join(host for host in names if host in ends)
            busy.append((name, course.at_s, np.sum(list(course.shares.values()), axis=0)))
            memory.append((name, course.at_s, course.memory_octets))
    if not busy:
        return []
    window_s = window_of(result)
    of = (
        f"Of all processors of the machine of {busy[0][0]}."
        if len(busy) == 1
        else "Of all processors of each end."
    )
    return [
        Figure(
            over_time(curves, label, window_s=window_s),
            title=label.title,
            text=text,
        )
        for label, text, curves in ((BUSY, of, busy), (MEMORY, "That programs could have.", memory))
    ]
