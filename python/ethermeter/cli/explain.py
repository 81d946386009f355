"""The command that explains captures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.api.explain import Explained, ExplainOptions, explain
from ethermeter.cli.command import Command, Values
from ethermeter.json_values import plain

if TYPE_CHECKING:
    from ethermeter.captures import Connection

EXAMPLES = """\
  ethermeter explain trace.pcapng
  ethermeter explain trace.pcap --figure report.html
  ethermeter explain trace.pcap --connection 3
  ethermeter explain trace.pcap --json | jq '.connections[0].limited'
  tcpdump -r trace.pcap -w - host 10.0.0.1 | ethermeter explain -

A file may be compressed with gzip.

Exit codes: 0 explained, with a line on stderr if the file ends within a packet; 2 no capture,
corrupt, empty, or of a link type that is not read; 130 Ctrl-C."""


def blocks(found: Explained, options: ExplainOptions) -> Iterator[object]:
    """Yield what a terminal shows of a capture, or of one connection of it."""
    from ethermeter.blocks import Text
    from ethermeter.captures import STANDARD_INPUT
    from ethermeter.cli import next_steps
    from ethermeter.present import capture

    if found.connection is None:
        yield from capture.capture(found.capture)
    else:
        yield from capture.connection(found.capture, found.connection)
    if found.report is not None:
        yield Text(f"report: {found.report}")
    elif found.connection is None and options.file != STANDARD_INPUT:
        steps = next_steps.of_capture(str(options.file), found.connections)
        yield from next_steps.first(steps)


def rows(found: Explained) -> Iterator[dict[str, object]]:
    """Yield a row for each connection: its ends, its payload, and what limited it."""
    return map(_row, found.connections)


def _row(of: "Connection") -> dict[str, object]:
    from ethermeter.captures.document import Limited

    limited = Limited.of(of)
    return {
        "number": of.number,
        "sender": of.sender.name,
        "receiver": of.receiver.name,
        "octets": of.octets,
        "begin_s": of.begin_s,
        "duration_s": of.duration_s,
        "goodput_bps": of.goodput_bps,
        "round_trip_s": of.round_trip_s,
        "ack_delay_p50_s": of.sender.delay_s("p50"),
        "resent": sum(end.of.resent for end in of.ends),
        "losses": limited.losses,
        "limited_by": limited.by,
        "limited_share": None if of.verdict is None else of.verdict.share,
        "limited_end": None if of.verdict is None else of.verdict.end,
        "link_bps": limited.link_bps,
        "cautions": limited.cautions,
    }


_NAMES = (
    *("octets", "begin", "duration", "goodput", "round_trip", "ack_delay_p50", "resent"),
    *("losses", "limited_share", "link"),
)
COMMAND = Command(
    explain,
    EXAMPLES,
    blocks=blocks,
    plain=lambda found: plain(found.document),
    rows=rows,
    values=Values(rows, ("number", "sender", "receiver"), names=lambda _: _NAMES),
    former={"--output": "--figure FILE"},
)
