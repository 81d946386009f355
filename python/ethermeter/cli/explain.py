"""The command that explains captures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import next_steps, options
from ethermeter.cli.guard import say
from ethermeter.cli.output import print_json, require_room, show

if TYPE_CHECKING:
    from ethermeter.captures import Connection, Explanation

EXAMPLES = """\
  ethermeter explain trace.pcapng
  ethermeter explain trace.pcap --output report.html
  ethermeter explain trace.pcap --connection 3
  ethermeter explain trace.pcap --json | jq '.connections[0].limited'
  tcpdump -r trace.pcap -w - host 10.0.0.1 | ethermeter explain -

A file may be compressed with gzip.

Exit codes: 0 explained, with a line on stderr if the file ends within a packet; 2 no capture,
corrupt, empty, or of a link type that is not read; 130 Ctrl-C."""


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
    from ethermeter.blocks import Text
    from ethermeter.present import capture

    show(capture.capture(found) if chosen is None else capture.connection(found, chosen))
    if written is not None:
        show([Text(f"report: {written}")])
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
