"""The command that explains captures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import next_steps, options
from ethermeter.cli.guard import say
from ethermeter.cli.output import print_json, print_table, print_text, require_room
from ethermeter.quantities import number

if TYPE_CHECKING:
    from ethermeter.captures import Connection, Explanation
    from ethermeter.captures.counts import FlowCounts

EXAMPLES = """\
  ethermeter explain trace.pcapng
  ethermeter explain trace.pcap --output report.html
  ethermeter explain trace.pcap --connection 3
  ethermeter explain trace.pcap --json | jq '.connections[0].limited'
  tcpdump -r trace.pcap -w - host 10.0.0.1 | ethermeter explain -

A file may be compressed with gzip.

Exit codes: 0 explained, with a line on stderr if the file ends within a packet; 2 no capture,
corrupt, empty, or of a link type that is not read; 130 Ctrl-C."""
_ROWS = 20
_SENTENCES = 5


def explain(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Capture file, pcap or pcapng, or - for standard input."
        ),
    ],
    *,
    connection: Annotated[
        int | None,
        typer.Option(
            "--connection",
            metavar="N",
            show_default=False,
            help="Explain only the connection with this number in the table.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            show_default=False,
            help="Write a report with figures to this HTML file.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Explain a capture: what limited each TCP connection, and rates and losses of other flows."""
    from ethermeter.captures import STANDARD_INPUT
    from ethermeter.captures import explain as explained
    from ethermeter.cli.progress import ProgressDisplay

    if output is not None:
        _check(file, output)
    with ProgressDisplay(file.name) as display:
        found = explained(
            file,
            lambda octets, most: display.count(octets, most, text=_progress(octets, most)),
        )
    chosen = None if connection is None else found.connection(connection)
    for line in found.warnings:
        say(f"{file}: {line}")
    written = None if output is None else _write(found, chosen, output)
    if as_json:
        print_json(_as_json(found, chosen, written))
        return
    _print(found, chosen)
    if written is not None:
        print_text(f"report: {written}")
    elif chosen is None and file != STANDARD_INPUT:
        next_steps.print_steps(next_steps.of_capture(str(file), found.connections))


def _progress(octets: int, most: int) -> str:
    whole = f" of {most / 1e6:.0f}" if most else ""
    return f"{octets / 1e6:.0f}{whole} MB"


def _check(file: Path, output: Path) -> None:
    """Refuse where no report can be written, before a large file is read."""
    from ethermeter.faults import InputError

    require_room("--output", output)
    if output.exists() and file.exists() and output.samefile(file):
        raise InputError.of(
            "command line", "--output", str(output), "another file than the capture"
        )


def _write(found: "Explanation", chosen: "Connection | None", output: Path) -> Path:
    from ethermeter.report.capture_page import write

    return write(found, output, chosen)


def _as_json(
    found: "Explanation", chosen: "Connection | None", written: Path | None
) -> dict[str, object]:
    """Return the counts of the core, and of every connection what limited it."""
    from ethermeter.captures.counts import builtins_of

    shown = found.connections if chosen is None else (chosen,)
    connections = [
        {
            **builtins_of(each.of),
            "limited": {
                **({"by": None} if each.verdict is None else each.verdict.as_json()),
                "losses": each.losses,
                "link_bps": each.link_bps,
                "vantage": each.vantage and str(each.vantage),
                "shares": {str(limit): share for limit, share in each.shares.items()},
                "sentence": each.sentence,
                "cautions": [str(caution) for caution in each.cautions],
            },
        }
        for each in shown
    ]
    flows = found.flows if chosen is None else ()
    return {
        "file": found.name,
        **builtins_of(found.of),
        "connections": connections,
        "flows": [builtins_of(flow) for flow in flows],
        "path_summaries": [path.as_json() for path in found.paths] if chosen is None else [],
        "report": written and str(written),
    }


def _print(found: "Explanation", chosen: "Connection | None") -> None:
    kinds = ", ".join(f"{count} {_KINDS[name]}" for name, count in found.of.kinds.items() if count)
    print_text(f"{found.name}: {found.of.packets} packets in {found.duration_s:.4g} s: {kinds}")
    if found.of.damaged:
        print_text(f"damaged on the link, or collided, and not counted: {found.of.damaged} packets")
    if found.dropped is not None:
        print_text(f"dropped by the capture itself: {found.dropped} packets")
    connections = found.connections if chosen is None else (chosen,)
    if connections:
        _print_connections(connections)
    if chosen is None and found.paths:
        typer.echo()
        for path in found.paths[:_SENTENCES]:
            print_text(f"path {path.sentence}")
    if chosen is not None:
        _print_one(chosen)
    elif found.flows:
        _print_flows(found.flows)


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


def _print_connections(connections: "tuple[Connection, ...]") -> None:
    from ethermeter.captures.text import size_text, time_text

    head = [
        "number",
        "sends more",
        "sends less",
        "payload",
        "duration",
        "Mb/s",
        "round trip",
        "data to ACK",
        "sent again",
        "limited by",
        "share",
    ]
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
        for each in connections[:_ROWS]
    ]
    print_table(head, rows)
    if len(connections) > _ROWS:
        print_text(f"… {len(connections) - _ROWS} more with --json")
    typer.echo()
    for each in connections[:_SENTENCES]:
        print_text(f"{each.number}: {each.sentence}")
        for line in _advice(each):
            print_text(f"   {line}")
        if each.cautions:
            print_text(f"   caution: {', '.join(each.cautions)}")


def _advice(connection: "Connection") -> list[str]:
    """Return lines: the slow end, what to change, the rate then, where the capture was made."""
    found, verdict = [], connection.verdict
    if verdict is not None:
        found.append(
            f"slow: {verdict.role}" + (f" of {verdict.end}" if verdict.end is not None else "")
        )
        found += [f"change: {verdict.change}"] if verdict.change is not None else []
        found += [verdict.estimate_text] if verdict.estimate_text is not None else []
    return [*found, f"captured {connection.vantage}"] if connection.vantage is not None else found


def _print_one(connection: "Connection") -> None:
    """Print where the time of a connection went, and both ends side by side."""
    from ethermeter.captures.connection import ROWS
    from ethermeter.captures.limits import PARTS
    from ethermeter.captures.text import time_text

    typer.echo()
    parts = [(name, share) for name, share in connection.parts.items() if share > 0]
    print_table(
        ["share %", "waited for"],
        [
            [number(100 * share), PARTS[name]]
            for name, share in sorted(parts, key=lambda part: -part[1])
        ],
    )
    typer.echo()
    ends = connection.ends
    rows = [
        [name, *("–" if (count := end.of.count(key)) is None else str(count) for end in ends)]
        for key, name in ROWS.items()
    ]
    for name in ("least", "p50", "p90", "p99", "most"):
        rows.append([f"Data to ACK, {name}", *(time_text(end.delay_s(name)) for end in ends)])
    print_table(["sent by", ends[0].name, ends[1].name], rows)


def _print_flows(flows: "tuple[FlowCounts, ...]") -> None:
    from ethermeter.captures.text import size_text, time_text

    rows = []
    for flow in flows[:_ROWS]:
        seconds = flow.duration_ns * 1e-9
        numbers = flow.numbers
        rows.append(
            [
                flow.source,
                flow.destination,
                "–" if flow.priority is None else str(flow.priority),
                str(flow.packets),
                size_text(flow.octets),
                number(8e-6 * flow.octets / seconds if seconds else None),
                *(time_text(flow.gaps.seconds(name)) for name in ("p50", "most")),
                *(
                    ("–", "–")
                    if numbers is None
                    else (str(numbers.missing), str(numbers.reordered))
                ),
            ]
        )
    typer.echo()
    print_table(
        [
            "from",
            "to",
            "priority",
            "packets",
            "payload",
            "Mb/s",
            "gap, median",
            "gap, most",
            "missing",
            "reordered",
        ],
        rows,
    )
    if len(flows) > _ROWS:
        print_text(f"… {len(flows) - _ROWS} more with --json")
