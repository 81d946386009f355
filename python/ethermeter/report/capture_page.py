"""Capture: the report on a capture file, with the figures of its largest connections."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ethermeter.captures.connection import ROWS, Connection
from ethermeter.captures.counts import NS, FlowCounts, Series
from ethermeter.captures.explanation import Explanation
from ethermeter.captures.limits import PARTS, RULES
from ethermeter.captures.text import rate_text, size_text, time_text
from ethermeter.document import (
    Block,
    Bullets,
    Figure,
    Grid,
    Heading,
    Section,
    Table,
    Text,
    large_first,
    number,
)
from ethermeter.report.charts.frame import Json, frame
from ethermeter.report.render import Page, render
from ethermeter.report.tables import code

DRAWN = 6
"""Connections that have figures of their own."""
SENTENCES = 3
"""Connections that are named in the findings."""
LISTED = 200
"""Rows of a table."""
_BARS = 12
_LINE: Json = {"type": "line", "strokeWidth": 1.5, "aria": False}
_STEPS = _LINE | {"interpolate": "step-after"}
_WINDOW_SHOWN = 1.5
_SEEN = 0.0005
"""Share of a bar that can be seen."""
_CAUTIONS: Mapping[str, str] = {
    "no-handshake": (
        "its handshake is not in the capture, nor the scale of its windows: a steady flight may be"
        " the receiver's window"
    ),
    "near-receiver": (
        "the capture was made nearer to the receiver: queues and losses before it are seen as the"
        " sender's pace and as holes, and a segment that was lost twice as lost once"
    ),
    "one-way": "the capture has only what one end sent: what it waited for cannot be seen",
    "uncaptured": (
        "segments were acknowledged that the capture does not have: the capture itself has lost"
        " packets"
    ),
    "guessed": "more than a tenth of what was sent again, or late, is known by its timing only",
    "evicted": "too many connections went on at the same time: its end was not followed",
    "cut-by-interface": (
        "segments are longer than the ends agreed, and the interface cut them after the capture:"
        " losses and segments are counted by their octets"
    ),
    "dropped-by-capture": (
        "the capture itself dropped packets: holes, and octets never captured, may be these, not"
        " what the network lost"
    ),
}


def write(found: Explanation, path: Path, chosen: Connection | None = None) -> Path:
    """Write the report on a capture, or on one connection of it, into an HTML file."""
    from ethermeter.store import write_whole

    write_whole(path, page(found, chosen))
    return path


def page(found: Explanation, chosen: Connection | None = None) -> str:
    """Return the HTML of the report that `write` writes."""
    connections = found.connections if chosen is None else (chosen,)
    sections = []
    if connections:
        blocks = _connections(connections)
        sections.append(Section("connections", "Connections", "Connections", blocks))
    # Drawn are those that have something to draw.
    for each in [each for each in connections if each.duration_s > 0 and each.octets > 0][:DRAWN]:
        title = f"{each.number}: {each.sender.name} to {each.receiver.name}"
        label = f"Connection {each.number}"
        blocks = _connection(each)
        sections.append(Section(f"connection-{each.number}", label, title, blocks))
    if found.flows and chosen is None:
        sections.append(Section("flows", "Flows", "UDP and raw frames", _flows(found.flows)))
    title = "What limits a connection, and by which rules"
    sections.append(Section("rules", "Rules", title, _rules()))
    footer = Markup(
        "Capture <code>{}</code>. This file holds all it needs and works offline."
    ).format(found.name)
    name = Path(found.name).name
    return render(
        Page(
            name,
            "ethermeter explain",
            sections,
            footer,
            _facts(found),
            question="What limited each connection?",
            findings=_findings(connections, found.of.connection_sums.count),
            warnings=[f"{large_first(text)}." for text in found.warnings],
        )
    )


def _findings(connections: Sequence[Connection], count: int) -> list[str]:
    """Say of the largest connections what limited them, and what to change."""
    found: list[str] = []
    for each in connections[:SENTENCES]:
        name = f"{each.sender.name} to {each.receiver.name}"
        change = each.verdict.change if each.verdict is not None else None
        then = f" To change: {change}." if change else ""
        text = Markup("<strong>{}: {}</strong>: {}{}")
        found.append(text.format(each.number, name, each.sentence, then))
    if not connections:
        return ["The capture has no TCP connection."]
    if count > SENTENCES and len(connections) > 1:
        found.append(f"{count - SENTENCES:,} more connections are in the table below.")
    return found


def _facts(found: Explanation) -> list[tuple[str, str]]:
    return [
        ("Packets", f"{found.of.packets:,}"),
        ("Duration", time_text(found.duration_s)),
        ("Octets on the wire", size_text(found.of.wire_octets)),
        ("Connections", f"{found.of.connection_sums.count:,}"),
        ("Flows", f"{found.of.flow_sums.count:,}"),
        *([] if found.dropped is None else [("Dropped by the capture", f"{found.dropped:,}")]),
    ]


def _connections(connections: Sequence[Connection]) -> list[Block]:
    head = [
        "Number",
        "Sends more",
        "Sends less",
        "Payload",
        "Duration",
        "Goodput (Mb/s)",
        "Round trip",
        "Data to ACK",
        "Sent again",
        "Limited by",
        "Share",
    ]
    rows = [
        [
            str(each.number),
            each.sender.name,
            each.receiver.name,
            size_text(each.octets),
            time_text(each.duration_s),
            "–" if each.goodput_bps is None else number(each.goodput_bps / 1e6),
            time_text(each.round_trip_s),
            time_text(each.sender.delay_s("p50")),
            str(sum(end.of.resent for end in each.ends)),
            "–" if each.verdict is None else each.verdict.title,
            "–" if each.verdict is None else f"{each.verdict.share:.0%}",
        ]
        for each in connections[:LISTED]
    ]
    table = Table(head, rows, "Connections, the one with most payload first")
    drawn = [each for each in connections if each.limit is not None][:_BARS]
    figures = [Grid([_bars(drawn)])] if drawn else []
    return [*figures, Heading("All"), table]


def _bars(connections: Sequence[Connection]) -> Figure:
    """Draw what connections waited for, one bar each; the shares sum to 1."""
    names = [str(each.number) for each in connections]
    rows = [
        {"x": str(each.number), "c": PARTS[name], "o": order, "y": float(f"{share:.6g}")}
        for each in connections
        for order, (name, share) in enumerate(each.parts.items())
        if share >= _SEEN
    ]
    kinds = [name for name in PARTS.values() if any(row["c"] == name for row in rows)]
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
            "x": {
                "field": "y",
                "type": "quantitative",
                "title": "Share of its time",
                "stack": True,
                "scale": {"domain": [0, 1]},
                "axis": {"format": ".0%"},
            },
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
            *(f"{each.parts[name]:.2%}" for name, kind in PARTS.items() if kind in kinds),
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


def _connection(of: Connection) -> list[Block]:
    cautions = [
        Markup("{}: {}").format(code(caution), _CAUTIONS[caution]) for caution in of.cautions
    ]
    drawn = [_sequence(of), _flight(of), _throughput(of), _delays(of), _distribution(of)]
    blocks: list[Block] = [Text(of.sentence), *_advice(of)]
    if cautions:
        blocks += [Heading("Cautions"), Bullets(cautions)]
    figures = [figure for figure in drawn if figure is not None]
    return [*blocks, Grid(figures), Heading("Both ends"), _ends(of)]


def _advice(of: Connection) -> list[Block]:
    """Return a table of the limiting end, what to change, the gain, and the evidence."""
    verdict = of.verdict
    if verdict is None:
        return []
    rows = [
        [
            "Slow",
            str(verdict.role) + (f" of {verdict.end}" if verdict.end is not None else ""),
        ]
    ]
    if verdict.change is not None:
        rows.append(["Change", verdict.change])
    if verdict.estimate_text is not None:
        rows.append(["Then", verdict.estimate_text])
    if of.link_bps is not None:
        rows.append(["Slowest link seen", f"{rate_text(of.link_bps)} of payload"])
    rows.append(["Losses", f"{of.losses:,} of {of.segments:,} segments"])
    if of.vantage is not None:
        rows.append(["Captured", str(of.vantage)])
    return [Table(["", "Verdict"], rows, "Verdict", "plain")]


def _flight(of: Connection) -> Figure | None:
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


def _ends(of: Connection) -> Table:
    rows = [
        [name, *("–" if (count := end.of.count(key)) is None else f"{count:,}" for end in of.ends)]
        for key, name in ROWS.items()
    ]
    rows.append(
        [
            "Segments per acknowledgement",
            *(_ratio(end.of.covered_segments, end.of.covering_acks) for end in of.ends),
        ]
    )
    rows.append(
        [
            "From the capture to it and back, at the least",
            *(time_text(end.away_s) for end in of.ends),
        ]
    )
    for name, title in (
        ("least", "least"),
        ("p50", "median"),
        ("p90", "90%"),
        ("p99", "99%"),
        ("most", "largest"),
    ):
        rows.append(
            [
                f"Data to acknowledgement, {title}",
                *(time_text(end.delay_s(name)) for end in of.ends),
            ]
        )
    head = ["Of what it sent and announced", *(end.name for end in of.ends)]
    return Table(head, rows, "Both ends", "plain")


def _ratio(above: int, below: int) -> str:
    return "–" if below == 0 else number(above / below)


def _times_s(series: Series) -> list[float]:
    """Return the middles of the slices, in s after the beginning."""
    width_s = series.width_ns * NS
    return [float(f"{(at + 0.5) * width_s:.9g}") for at in range(len(series.octets))]


def _sequence(of: Connection) -> Figure:
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


def _throughput(of: Connection) -> Figure:
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


def _delays(of: Connection) -> Figure | None:
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


def _distribution(of: Connection) -> Figure | None:
    """Draw the share of segments that were acknowledged within a time."""
    rows, cells, names = [], [], []
    for end in of.ends:
        filled, count = end.of.ack_delay.filled, end.of.ack_delay.count
        if not count:
            continue
        names.append(end.name)
        seen = 0
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
    up = _axis("y", "Share of segments") | {"scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}
    titles = ("segments of", "within, ms", "share")
    return Figure(
        _curves(rows, names, across, up, titles, formats=(".4~r", ".2%")),
        title="Distribution of the time to acknowledgement",
        text="Share of segments that were acknowledged within a time. Steps are 3% wide.",
        numbers=Table(["Segments of", "Within (ms)", "Segments", "Share"], cells, "Distribution"),
    )


def _flows(flows: Sequence[FlowCounts]) -> list[Block]:
    head = [
        "Number",
        "From",
        "To",
        "Kind",
        "Priority",
        "Packets",
        "Payload",
        "Mb/s",
        "Gap, median",
        "Gap, most",
        "Missing",
        "Reordered",
        "Duplicate",
    ]
    rows = []
    for flow in flows[:LISTED]:
        seconds, numbers = flow.duration_ns * NS, flow.numbers
        gaps = [flow.gaps.seconds(name) for name in ("p50", "most")]
        missing = (
            ["–"] * 3
            if numbers is None
            else [str(numbers.missing), str(numbers.reordered), str(numbers.duplicate)]
        )
        rate = number(8e-6 * flow.octets / seconds) if seconds else "–"
        ends = [flow.source, flow.destination]
        rows.append(
            [
                str(flow.number),
                *ends,
                flow.kind,
                "–" if flow.priority is None else str(flow.priority),
                f"{flow.packets:,}",
                size_text(flow.octets),
                rate,
                *map(time_text, gaps),
                *missing,
            ]
        )
    text = (
        "Lost, reordered and duplicate packets are known only of flows that carry ethermeter’s"
        " mark."
    )
    table = Table(head, rows, "Flows, the one with most payload first")
    drawn = [flow for flow in flows if flow.duration_ns > 0][:DRAWN]
    return [Text(text), *([Grid([_flow_rates(drawn)])] if drawn else []), Heading("All"), table]


def _flow_rates(flows: Sequence[FlowCounts]) -> Figure:
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


def _rules() -> list[Block]:
    text = (
        "The moments when an end sends something new divide the time of a connection. Each "
        "interval between two of them is explained by what the end that sends next could know "
        "then: an acknowledgement reaches it no sooner than its least time from the capture and "
        "back."
    )
    rows = [[PARTS[name], rule] for name, rule in RULES.items()]
    return [Text(text), Table(["Cause", "Rule"], rows, "Rules", "plain")]
