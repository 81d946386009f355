"""Captures: the section that leads to what was captured while a run was measured."""

from collections.abc import Sequence
from urllib.parse import quote

from markupsafe import Markup

from ethermeter.document import Section, Table, Text
from ethermeter.report.data import ReportData
from ethermeter.report.tables import code
from ethermeter.store.captures import Captured

OPEN_ROWS = 40
LEAD = Markup(
    "Every frame that passed the interface of a host while a trial was measured, with the kernel's "
    "stamps. <em>Dropped</em>: the kernel had no room for them. <em>Beyond its size</em>: they "
    "arrived after the capture had reached its largest size. Commands are for the run directory."
)


def build(data: ReportData) -> Section | None:
    """List every capture; None if there are none."""
    if not data.captures:
        return None
    return Section("captures", "Captures", "Captures", [Text(LEAD, "lead"), table(data.captures)])


def table(found: Sequence[Captured]) -> Table:
    """Tabulate every capture with what it lacks and how to explain it."""
    head = ["Trial", "Host", "Capture", "Frames", "Dropped", "Beyond its size", "To explain it"]
    rows = [_row(each) for each in found]
    return Table(head, rows, "Captures", headers=2, open_rows=OPEN_ROWS)


def _row(each: Captured) -> list[str]:
    link = Markup('<a href="{}">{:.2f} MB</a>').format(quote(each.file), each.octets / 1e6)
    counts = (each.frames, each.dropped, each.beyond_size)
    return [code(each.trial), each.host, link, *map("{:,}".format, counts), code(each.command)]
