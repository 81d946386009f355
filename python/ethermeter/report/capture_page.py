"""Capture: the report on a capture file, with the figures of its largest connections."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ethermeter.captures.connection import ROWS, Connection
from ethermeter.captures.counts import NS, FlowCounts
from ethermeter.captures.explanation import Explanation
from ethermeter.captures.limits import PARTS, RULES
from ethermeter.captures.paths import Path as NetworkPath
from ethermeter.captures.text import rate_text, size_text, time_text
from ethermeter.document import (
    Block,
    Bullets,
    Grid,
    Heading,
    Section,
    Table,
    Text,
    large_first,
    number,
)
from ethermeter.report import capture_figures
from ethermeter.report.render import Page, render
from ethermeter.report.tables import code

DRAWN = 6
"""Connections that have figures of their own."""
MOST_HEIGHT = 3600
"""Estimated height in pixels of the page as opened."""
SENTENCES = 3
"""Connections that are named in the findings."""
PATHS = 10
"""Paths that are summed up."""
LISTED = 200
"""Rows of a table."""
_BARS = 12
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
    "captured-twice": (
        "packets are in the capture once more, as from two interfaces or a mirror port: each counts"
        " once"
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
        blocks = _connections(connections, found.paths if chosen is None else [])
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
            height=MOST_HEIGHT,
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


def _connections(connections: Sequence[Connection], paths: Sequence[NetworkPath]) -> list[Block]:
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
            each.limited_by,
            each.share_text,
        ]
        for each in connections[:LISTED]
    ]
    table = Table(head, rows, "Connections, the one with most payload first")
    drawn = [each for each in connections if each.limit is not None][:_BARS]
    figures = [Grid([capture_figures.waits(drawn)])] if drawn else []
    shared: list[Block] = []
    if paths:
        shared = [Heading("Paths"), Bullets([path.sentence for path in paths[:PATHS]])]
    return [*figures, *shared, Heading("All"), table]


def _connection(of: Connection) -> list[Block]:
    cautions = [
        Markup("{}: {}").format(code(caution), _CAUTIONS[caution]) for caution in of.cautions
    ]
    drawn = [
        capture_figures.sequence(of),
        capture_figures.flight(of),
        capture_figures.throughput(of),
        capture_figures.delays(of),
        capture_figures.distribution(of),
    ]
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
    return [
        Text(text),
        *([Grid([capture_figures.flow_rates(drawn)])] if drawn else []),
        Heading("All"),
        table,
    ]


def _rules() -> list[Block]:
    text = (
        "The moments when an end sends something new divide the time of a connection. Each "
        "interval between two of them is explained by what the end that sends next could know "
        "then: an acknowledgement reaches it no sooner than its least time from the capture and "
        "back. While it fills a link together with others, a connection waits for that link alone."
    )
    rows = [[PARTS[name], rule] for name, rule in RULES.items()]
    return [Text(text), Table(["Cause", "Rule"], rows, "Rules", "plain")]
