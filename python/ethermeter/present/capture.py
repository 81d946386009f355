"""Capture: what limited the connections of a capture file, and its other flows."""

from collections.abc import Iterator, Sequence

from ethermeter.blocks import Table, Text
from ethermeter.captures import Connection, Explanation
from ethermeter.captures.backoff import FALSE_ALARM, StationBackoff
from ethermeter.captures.connection import ROWS
from ethermeter.captures.counts import FlowCounts
from ethermeter.captures.limits import PARTS
from ethermeter.captures.text import size_text, time_text
from ethermeter.quantities import UNDEFINED, number

MOST_ROWS = 20
MOST_SENTENCES = 5
"""Connections, and paths, of which a sentence says more."""
_KINDS = {
    "tcp": "TCP",
    "udp": "UDP",
    "raw": "raw frames",
    "other": "others",
    "fragment": "fragments",
    "encapsulated": "in encapsulations that are not read",
    "copied": "captured once more",
    "broken": "broken",
    "unread": "of a link that is not read",
}


def capture(found: Explanation) -> list[Text | Table]:
    """Lay out the connections of a capture, its paths, and its other flows."""
    blocks: list[Text | Table] = [*_packets(found)]
    if connections := found.connections:
        blocks += _connections(connections)
    if paths := found.paths:
        blocks.append(Text(""))
        blocks += [Text(f"path {path.sentence}") for path in paths[:MOST_SENTENCES]]
    if found.flows:
        blocks += _flows(found.flows)
    if backoffs := found.backoffs:
        blocks += _backoffs(backoffs)
    return blocks


def connection(found: Explanation, chosen: Connection) -> list[Text | Table]:
    """Lay out one connection of a capture: where its time went, and both ends side by side."""
    parts = [(name, share) for name, share in chosen.parts.items() if share > 0]
    parts.sort(key=lambda part: -part[1])
    shares = [[number(100 * share), PARTS[name]] for name, share in parts]
    return [
        *_packets(found),
        *_connections([chosen]),
        Text(""),
        Table(["share %", "waited for"], shares, "Where the time went"),
        Text(""),
        _ends(chosen),
    ]


def _packets(found: Explanation) -> Iterator[Text]:
    kinds = ", ".join(f"{count} {_KINDS[name]}" for name, count in found.of.kinds.items() if count)
    yield Text(f"{found.name}: {found.of.packets} packets in {found.duration_s:.4g} s: {kinds}")
    if found.load is not None:
        yield Text(found.load)
    if found.of.damaged:
        damaged = f"{found.of.damaged} packets"
        yield Text(f"damaged on the link, or collided, and not counted: {damaged}")
    if found.dropped is not None:
        yield Text(f"dropped by the capture itself: {found.dropped} packets")


def _backoffs(stations: Sequence[StationBackoff]) -> Iterator[Text | Table]:
    head = ["station", "attempts", "collisions", "waits", "p", "backoff", "law", "given up after"]
    rows = [
        [
            each.name,
            str(each.attempts),
            str(each.collisions),
            str(each.waits),
            UNDEFINED if each.p_value is None else f"{each.p_value:.2g}",
            each.verdict,
            each.reason or each.law or "none of those tried",
            ", ".join(str(attempts) for attempts, _ in each.given_up) or UNDEFINED,
        ]
        for each in stations
    ]
    yield Text("")
    yield Table(head, rows, "Backoff of stations")
    yield Text(
        f"a station deviates if p < {FALSE_ALARM:g}, the share of conforming stations that do: "
        "docs/how-to/check-backoff.md"
    )


def _connections(connections: Sequence[Connection]) -> Iterator[Text | Table]:
    head = ["number", "sends more", "sends less", "payload", "duration", "Mb/s", "round trip"]
    head += ["data to ACK", "sent again", "limited by", "share"]
    rows = [
        [
            str(each.number),
            each.sender.name,
            each.receiver.name,
            size_text(each.octets),
            time_text(each.duration_s),
            number(None if each.goodput_bps is None else each.goodput_bps / 1e6),
            time_text(each.round_trip_s),
            time_text(each.sender.delay_s("p50")),
            str(sum(end.of.resent for end in each.ends)),
            each.limited_by,
            each.share_text,
        ]
        for each in connections[:MOST_ROWS]
    ]
    yield Table(head, rows, "Connections")
    if len(connections) > MOST_ROWS:
        yield Text(f"… {len(connections) - MOST_ROWS} more with --json")
    yield Text("")
    for each in connections[:MOST_SENTENCES]:
        yield Text(f"{each.number}: {each.sentence}")
        for line in _advice(each):
            yield Text(f"   {line}")


def _advice(of: Connection) -> Iterator[str]:
    """Yield the slow end, what to change, the rate then, where it was captured, cautions."""
    verdict = of.verdict
    if verdict is not None:
        at = f" of {verdict.end}" if verdict.end is not None else ""
        yield f"slow: {verdict.role}{at}"
        if verdict.change is not None:
            yield f"change: {verdict.change}"
        if verdict.estimate_text is not None:
            yield verdict.estimate_text
    if of.vantage is not None:
        yield f"captured {of.vantage}"
    if of.cautions:
        yield f"caution: {', '.join(of.cautions)}"


def _ends(of: Connection) -> Table:
    rows = [
        [
            name,
            *(UNDEFINED if (count := end.of.count(key)) is None else str(count) for end in of.ends),
        ]
        for key, name in ROWS.items()
    ]
    rows += [
        [f"Data to ACK, {name}", *(time_text(end.delay_s(name)) for end in of.ends)]
        for name in ("least", "p50", "p90", "p99", "most")
    ]
    return Table(["sent by", *(end.name for end in of.ends)], rows, "Both ends")


def _flows(flows: Sequence[FlowCounts]) -> Iterator[Text | Table]:
    head = ["from", "to", "priority", "packets", "payload", "Mb/s", "gap, median", "gap, most"]
    head += ["missing", "reordered"]
    yield Text("")
    yield Table(head, [_flow(flow) for flow in flows[:MOST_ROWS]], "Flows")
    if len(flows) > MOST_ROWS:
        yield Text(f"… {len(flows) - MOST_ROWS} more with --json")


def _flow(flow: FlowCounts) -> list[str]:
    seconds, numbers = flow.duration_ns * 1e-9, flow.numbers
    lost = [UNDEFINED] * 2 if numbers is None else [str(numbers.missing), str(numbers.reordered)]
    return [
        flow.source,
        flow.destination,
        UNDEFINED if flow.priority is None else str(flow.priority),
        str(flow.packets),
        size_text(flow.octets),
        number(8e-6 * flow.octets / seconds if seconds else None),
        *(time_text(flow.gaps.seconds(name)) for name in ("p50", "most")),
        *lost,
    ]
