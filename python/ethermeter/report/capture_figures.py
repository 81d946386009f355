"""Figures of a capture: what its connections waited for, and how each went on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ethermeter.captures.connection import Connection
from ethermeter.captures.counts import NS, FlowCounts, Series
from ethermeter.captures.limits import WAITS
from ethermeter.captures.text import time_text
from ethermeter.chart import (
    Axis,
    Bar,
    Bars,
    Box,
    Curves,
    Legend,
    Look,
    Mark,
    Marks,
    Names,
    Points,
    Tip,
    Trace,
)
from ethermeter.document import Figure, Label, Table, number

_LINE = Look(width=1.5, size=12)
_STEPS = replace(_LINE, line="steps")
_TIME = Axis(Label("Time (s)"), is_nice=True)
_WINDOW_SHOWN = 1.5
_SEEN = 0.0005
"""Share of a bar that can be seen."""


def waits(connections: Sequence[Connection]) -> Figure:
    """Draw what connections waited for, one bar each; the shares sum to 1."""
    names = [str(each.number) for each in connections]
    bars = [
        Bar(str(each.number), WAITS[name], share)
        for each in connections
        for name, share in each.waits.items()
        if share >= _SEEN
    ]
    kinds = [name for name in WAITS.values() if any(bar.name == name for bar in bars)]
    chart = Bars(
        bars,
        Axis(Label("Share of its time"), 0, 1, numbers="share"),
        Names("Connection", names),
        [("curve", "waited for", ""), ("y", "share", ".2%"), ("place", "connection", "")],
        _legend(kinds),
        kinds,
        is_stacked=True,
        is_lying=True,
        share=0.8,
        # The box has room for a figure of this height at the least.
        box=Box(height=max(26 * len(names), 150)),
    )
    head = ["Connection", *kinds]
    cells = [
        [
            str(each.number),
            *(f"{each.waits.get(name, 0):.2%}" for name, kind in WAITS.items() if kind in kinds),
        ]
        for each in connections
    ]
    return Figure(
        chart,
        title="What the connections waited for",
        text=(
            "Every moment between the first packet of a connection and its last belongs to one"
            " cause; the rules are below."
        ),
        numbers=Table(head, cells, "Shares of time"),
        kind="low",
    )


def flight(of: Connection) -> Figure | None:
    """Draw octets in flight as the sender knew them, and the receiver's window, against time."""
    series = of.sender.of.series
    times = _times_s(series)
    # Slices without a segment have no flight of their own; the window is what was allowed beyond
    # what was acknowledged.
    windows = [
        max(0, edge - got) if edge > 0 else 0
        for edge, got in zip(series.edge, series.acknowledged, strict=True)
    ]
    flights = [(at, value) for at, value in zip(times, series.flight, strict=True) if value > 0]
    if not flights:
        return None
    most = max(value for _, value in flights)
    # A window far above the flight is no limit, and would leave the flight flat at the bottom.
    shown = [
        (at, value)
        for at, value in zip(times, windows, strict=True)
        if 0 < value <= _WINDOW_SHOWN * most
    ]
    drawn = {"in flight": flights, "receiver's window": shown}
    curves = {
        name: [(at, value / 1e3) for at, value in points]
        for name, points in drawn.items()
        if points
    }
    head = [
        "Time (s)",
        "In flight at most (octets)",
        "Receiver’s window (octets)",
        "Segments sent again",
    ]
    columns = zip(times, series.flight, windows, series.resent, strict=True)
    cells = [
        [f"{at:.6g}", str(flight), str(window), str(again)]
        for at, flight, window, again in columns
        if flight or again
    ]
    return Figure(
        _curves(curves, "Octets (kB)", ("", "time, s", "kB"), _STEPS),
        title="Octets in flight",
        text=(
            f"Most octets that {of.sender.name} had sent and not seen acknowledged, in slices of"
            f" {time_text(series.width_ns * NS)}. A congestion window grows until a loss, a send"
            f" buffer stays. The receiver's window is drawn where it is at most {_WINDOW_SHOWN}"
            " times the largest flight."
        ),
        numbers=Table(head, cells, "Octets in flight"),
    )


def _times_s(series: Series) -> list[float]:
    """Return the middles of the slices, in s after the beginning."""
    width_s = series.width_ns * NS
    return [float(f"{(at + 0.5) * width_s:.9g}") for at in range(len(series.octets))]


def sequence(of: Connection) -> Figure:
    """Draw numbers sent, acknowledged and allowed by the window, and retransmissions.

    Against time.
    """
    series = of.sender.of.series
    times = _times_s(series)
    kinds = {"sent": "sent", "acknowledged": "acknowledged", "edge": "the window allows"}
    curves = {
        kind: [
            (at, value / 1e6)
            for at, value in zip(times, getattr(series, key), strict=True)
            if value > 0
        ]
        for key, kind in kinds.items()
    }
    again = [
        ("sent again", at, sent / 1e6)
        for at, sent, count in zip(times, series.sent, series.resent, strict=True)
        if count > 0 and sent > 0
    ]
    titles = ("number", "time, s", "MB")
    chart = _curves(curves, "Octets (MB)", titles, _STEPS, again=again, from_zero=False)
    head = [
        "Time (s)",
        "Sent (octets)",
        "Acknowledged (octets)",
        "The window allows (octets)",
        "Segments sent again",
    ]
    columns = [getattr(series, key) for key in ("sent", "acknowledged", "edge", "resent")]
    cells = [
        [f"{at:.6g}", *(str(column[place]) for column in columns)]
        for place, at in enumerate(times)
        if any(c[place] for c in columns)
    ]
    return Figure(
        chart,
        title="Time and sequence",
        text=(
            f"What {of.sender.name} had sent at most, what was acknowledged of it, and how far the"
            f" receiver's window reached, in slices of {time_text(series.width_ns * NS)}."
        ),
        numbers=Table(head, cells, "Time and sequence"),
    )


def throughput(of: Connection) -> Figure:
    """Draw the payload rates of both ends against time."""
    return _rates(
        [(end.name, end.of.series, 0.0) for end in of.ends],
        "from",
        title="Throughput",
        text="Payload that each end sent, what was sent again too.",
    )


def _rates(
    sources: Sequence[tuple[str, Series, float]],
    what: str,
    *,
    title: str,
    text: str,
) -> Figure:
    """Draw payload rates against time; a source is its name, its series, and its begin (s)."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, series, begin_s in sources:
        for at, octets in zip(_times_s(series), series.octets, strict=True):
            rate = float(f"{8e-6 * octets / (series.width_ns * NS):.6g}")
            curves.setdefault(name, []).append((begin_s + at, rate))
    titles, look = (what, "time, s", "Mb/s"), replace(_LINE, line="halves")
    return Figure(
        _curves(curves, "Payload (Mb/s)", titles, look),
        title=title,
        text=text,
    )


def delays(of: Connection) -> Figure | None:
    """Draw the time from data to acknowledgement against time."""
    series = of.sender.of.series
    curves: dict[str, list[tuple[float, float]]] = {"mean": [], "longest": []}
    cells = []
    for at, count, total, most in zip(
        _times_s(series),
        series.delays,
        series.delay_sum_ns,
        series.delay_most_ns,
        strict=True,
    ):
        if count > 0:
            mean_ms = float(f"{total / count * 1e-6:.6g}")
            curves["mean"].append((at, mean_ms))
            curves["longest"].append((at, most * 1e-6))
            cells.append([f"{at:.6g}", str(count), number(mean_ms), number(most * 1e-6)])
    if not cells:
        return None
    titles = ("of the slice", "time, s", "ms")
    return Figure(
        _curves(curves, "Data to acknowledgement (ms)", titles, _LINE),
        title="From data to acknowledgement",
        text=(
            f"Of segments of {of.sender.name} that were sent once; seen from where the capture was"
            f" made, at the least {time_text(of.receiver.away_s)} from {of.receiver.name} and back."
        ),
        numbers=Table(
            ["Time (s)", "Segments", "Mean (ms)", "Longest (ms)"],
            cells,
            "From data to acknowledgement",
        ),
    )


def distribution(of: Connection) -> Figure | None:
    """Draw the share of segments that were acknowledged within a time."""
    curves: dict[str, list[tuple[float, float]]] = {}
    cells = []
    for end in of.ends:
        filled, count = end.of.ack_delay.filled, end.of.ack_delay.count
        if not count:
            continue
        seen = 0
        # From zero on, so that a time that all segments share is a step and not a lone point.
        points = curves.setdefault(end.name, [(max(filled[0][0], 1) * 1e-6, 0.0)])
        for most_ns, here in filled:
            seen += here
            share = float(f"{seen / count:.6g}")
            points.append((max(most_ns, 1) * 1e-6, share))
            cells.append([end.name, number(most_ns * 1e-6), str(here), f"{share:.4%}"])
    if not cells:
        return None
    chart = replace(
        _curves(curves, "", ("segments of", "within, ms", "share"), _STEPS, forms=(".4~r", ".2%")),
        x=Axis(Label("Data to acknowledgement (ms)"), is_log=True, is_nice=True, numbers="bare"),
        y=Axis(Label("Share of segments"), 0, 1, numbers="share"),
    )
    return Figure(
        chart,
        title="Distribution of the time to acknowledgement",
        text="Share of segments that were acknowledged within a time. Steps are 3% wide.",
        numbers=Table(["Segments of", "Within (ms)", "Segments", "Share"], cells, "Distribution"),
    )


def flow_rates(flows: Sequence[FlowCounts]) -> Figure:
    """Draw the payload rates of flows against time."""
    return _rates(
        [(str(flow.number), flow.series, flow.begin_ns * NS) for flow in flows],
        "flow",
        title="Rates of the largest flows",
        text="Payload, by number of the flow.",
    )


def _legend(names: Sequence[str]) -> Legend:
    longest = max(map(len, names))
    return Legend("", 1 if longest > 30 else 2 if longest > 16 else 3, "opaque", 320)


def _curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    titles: tuple[str, str, str],
    look: Look,
    *,
    forms: tuple[str, str] = (".5~r", ".5~r"),
    again: Sequence[Mark] = (),
    from_zero: bool = True,
) -> Curves:
    """Return a chart of curves by name against time, with points of what was sent again.

    A pointer near them shows the name, time and value of a curve, under `titles` and in `forms`.
    """
    traces = [Trace(name, points, look) for name, points in curves.items() if points]
    tips: list[Tip] = [
        ("curve", titles[0], ""),
        ("x", titles[1], forms[0]),
        ("y", titles[2], forms[1]),
    ]
    return Curves(
        traces,
        _TIME,
        Axis(Label(title), from_zero=from_zero, is_nice=True),
        tips,
        _legend([*(trace.name for trace in traces), *(name for name, _, _ in again)]),
        Points(is_filled=True, pointer="hidden"),
        Marks(again, 26, is_diamond=False, says="sent again"),
        is_clipped=False,
    )
