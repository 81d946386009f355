"""Figures of a capture: what its connections waited for, and how each went on."""

from collections.abc import Sequence

from ethermeter.captures.connection import Connection
from ethermeter.captures.counts import NS, FlowCounts, Series
from ethermeter.captures.limits import WAITS
from ethermeter.captures.text import time_text
from ethermeter.document import Figure, Table, number
from ethermeter.report.charts.frame import Json, frame, rounded, share_axis

_LINE: Json = {"type": "line", "strokeWidth": 1.5, "aria": False}
_STEPS = _LINE | {"interpolate": "step-after"}
_WINDOW_SHOWN = 1.5
_SEEN = 0.0005
"""Share of a bar that can be seen."""


def waits(connections: Sequence[Connection]) -> Figure:
    """Draw what connections waited for, one bar each; the shares sum to 1."""
    names = [str(each.number) for each in connections]
    rows = [
        {"x": str(each.number), "c": WAITS[name], "o": order, "y": rounded(share)}
        for each in connections
        for order, (name, share) in enumerate(each.waits.items())
        if share >= _SEEN
    ]
    kinds = [name for name in WAITS.values() if any(row["c"] == name for row in rows)]
    body: Json = {
        "mark": {"type": "bar", "aria": False, "height": {"band": 0.8}},
        "encoding": {
            "y": {
                "field": "x",
                "type": "ordinal",
                "title": "Connection",
                "sort": names,
                "axis": {"grid": False},
            },
            "x": {**share_axis("y", "Share of its time"), "stack": True},
            "order": {"field": "o", "type": "quantitative"},
            "color": _colour(kinds),
            "tooltip": [
                {"field": "c", "title": "waited for"},
                {"field": "y", "type": "quantitative", "title": "share", "format": ".2%"},
                {"field": "x", "title": "connection"},
            ],
        },
    }
    # The box has room for a figure of this height at the least.
    spec = frame(rows, body, len(kinds), height=max(26 * len(names), 150))
    head = ["Connection", *kinds]
    cells = [
        [
            str(each.number),
            *(f"{each.waits.get(name, 0):.2%}" for name, kind in WAITS.items() if kind in kinds),
        ]
        for each in connections
    ]
    return Figure(
        spec,
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
    rows = [{"x": at, "y": value / 1e3, "c": "in flight"} for at, value in flights]
    most = max(value for _, value in flights)
    # A window far above the flight is no limit, and would leave the flight flat at the bottom.
    shown = [
        (at, value)
        for at, value in zip(times, windows, strict=True)
        if 0 < value <= _WINDOW_SHOWN * most
    ]
    rows += [{"x": at, "y": value / 1e3, "c": "receiver's window"} for at, value in shown]
    names = ["in flight", *(["receiver's window"] if shown else [])]
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
        _curves(rows, names, _TIME, _axis("y", "Octets (kB)", zero=True), ("", "time, s", "kB")),
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
    rows = [
        {"x": at, "y": value / 1e6, "c": kind}
        for key, kind in kinds.items()
        for at, value in zip(times, getattr(series, key), strict=True)
        if value > 0
    ]
    again = [
        {"x": at, "y": sent / 1e6, "c": "sent again", "n": count}
        for at, sent, count in zip(times, series.sent, series.resent, strict=True)
        if count > 0 and sent > 0
    ]
    names = [
        *(kind for kind in kinds.values() if any(row["c"] == kind for row in rows)),
        *(["sent again"] if again else []),
    ]
    points = {
        "data": {"values": again},
        "mark": {"type": "point", "filled": True, "size": 26, "aria": False},
    }
    spec = _curves(
        rows,
        names,
        _TIME,
        _axis("y", "Octets (MB)"),
        ("number", "time, s", "MB"),
        above=[points] if again else [],
    )
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
        spec,
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
        of_table="Throughput",
    )


def _rates(
    sources: Sequence[tuple[str, Series, float]],
    what: str,
    *,
    title: str,
    text: str,
    of_table: str,
) -> Figure:
    """Draw payload rates against time; a source is its name, its series, and its begin (s)."""
    rows, cells = [], []
    for name, series, begin_s in sources:
        for at, octets in zip(_times_s(series), series.octets, strict=True):
            rate = float(f"{8e-6 * octets / (series.width_ns * NS):.6g}")
            rows.append({"x": begin_s + at, "y": rate, "c": name})
            cells.append([name, f"{begin_s + at:.6g}", number(rate)])
    names = [name for name, _, _ in sources]
    up = _axis("y", "Payload (Mb/s)", zero=True)
    return Figure(
        _curves(
            rows, names, _TIME, up, (what, "time, s", "Mb/s"), mark=_LINE | {"interpolate": "step"}
        ),
        title=title,
        text=text,
        numbers=Table([what.capitalize(), "Time (s)", "Rate (Mb/s)"], cells, of_table),
    )


def delays(of: Connection) -> Figure | None:
    """Draw the time from data to acknowledgement against time."""
    series = of.sender.of.series
    rows, cells = [], []
    for at, count, total, most in zip(
        _times_s(series),
        series.delays,
        series.delay_sum_ns,
        series.delay_most_ns,
        strict=True,
    ):
        if count > 0:
            mean_ms = float(f"{total / count * 1e-6:.6g}")
            rows += [
                {"x": at, "y": mean_ms, "c": "mean"},
                {"x": at, "y": most * 1e-6, "c": "longest"},
            ]
            cells.append([f"{at:.6g}", str(count), number(mean_ms), number(most * 1e-6)])
    if not rows:
        return None
    up = _axis("y", "Data to acknowledgement (ms)", zero=True)
    return Figure(
        _curves(
            rows, ["mean", "longest"], _TIME, up, ("of the slice", "time, s", "ms"), mark=_LINE
        ),
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
    rows, cells, names = [], [], []
    for end in of.ends:
        filled, count = end.of.ack_delay.filled, end.of.ack_delay.count
        if not count:
            continue
        names.append(end.name)
        seen = 0
        # From zero on, so that a time that all segments share is a step and not a lone point.
        rows.append({"x": max(filled[0][0], 1) * 1e-6, "y": 0.0, "c": end.name})
        for most_ns, here in filled:
            seen += here
            share = float(f"{seen / count:.6g}")
            rows.append({"x": max(most_ns, 1) * 1e-6, "y": share, "c": end.name})
            cells.append([end.name, number(most_ns * 1e-6), str(here), f"{share:.4%}"])
    if not rows:
        return None
    across = _axis("x", "Data to acknowledgement (ms)") | {
        "scale": {"type": "log"},
        "axis": {"format": "~r"},
    }
    up = share_axis("y", "Share of segments")
    titles = ("segments of", "within, ms", "share")
    return Figure(
        _curves(rows, names, across, up, titles, formats=(".4~r", ".2%")),
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
        of_table="Rates",
    )


def _axis(field: str, title: str, *, zero: bool = False) -> Json:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"zero": zero, "nice": True},
    }


def _colour(names: Sequence[str]) -> Json:
    legend = {
        "title": None,
        "columns": 1 if max(map(len, names)) > 30 else 2 if max(map(len, names)) > 16 else 3,
        "labelLimit": 320,
        "symbolOpacity": 1,
    }
    return {"field": "c", "type": "nominal", "scale": {"domain": list(names)}, "legend": legend}


_TIME = _axis("x", "Time (s)")


def _curves(
    rows: Sequence[Json],
    names: Sequence[str],
    across: Json,
    up: Json,
    titles: tuple[str, str, str],
    *,
    formats: tuple[str, str] = (".5~r", ".5~r"),
    mark: Json = _STEPS,
    above: Sequence[Json] = (),
) -> Json:
    """Return a chart of curves by name, with further layers above them.

    Points that cannot be seen show a pointer near them the name, time and value of a curve, under
    `titles` and in `formats`.
    """
    encoding: Json = {"x": across, "y": up, "color": _colour(names)}
    tooltip = [
        {"field": "c", "title": titles[0]},
        {"field": "x", "title": titles[1], "type": "quantitative", "format": formats[0]},
        {"field": "y", "title": titles[2], "type": "quantitative", "format": formats[1]},
    ]
    select = {"type": "point", "on": "pointerover", "clear": "pointerout", "nearest": True}
    pointer = {
        "params": [{"name": "hover", "select": select}],
        "mark": {"type": "point", "size": 12, "filled": True, "aria": False},
        "encoding": {
            **encoding,
            "opacity": {"condition": {"param": "hover", "empty": False, "value": 1}, "value": 0},
            "tooltip": tooltip,
        },
    }
    layers = [{"mark": mark, "encoding": encoding}]
    layers += [{**layer, "encoding": encoding} for layer in above]
    return frame(rows, {"layer": [*layers, pointer]}, len(names))
