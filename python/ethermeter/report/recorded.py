"""Recorded: the section that leads to the captures that were taken while a run was measured."""

from collections.abc import Sequence
from urllib.parse import quote

from ethermeter.report.html import safe, section, table
from ethermeter.store.captures import Captured

OPEN_ROWS = 40


def recorded_section(found: Sequence[Captured]) -> str:
    """Table of every capture with what it lacks and how to explain it; empty where there is none."""
    if not found:
        return ""
    lead = (
        "Every frame that passed the interface of a host while a trial was measured, with the kernel's stamps. <em>Dropped</em>: the "
        "kernel had no room for them. <em>Beyond its size</em>: they came when the capture was as large as it may be. Commands are for "
        "the run directory."
    )
    rows = [
        [
            f"<code>{safe(each.trial)}</code>",
            safe(each.host),
            f'<a href="{safe(quote(each.file))}">{each.octets / 1e6:.2f} MB</a>',
            f"{each.frames:,}",
            f"{each.dropped:,}",
            f"{each.beyond_size:,}",
            f"<code>{safe(each.command)}</code>",
        ]
        for each in found
    ]
    head = ["Trial", "Host", "Capture", "Frames", "Dropped", "Beyond its size", "To explain it"]
    panel = (
        f'<div class="panel">{table(head, rows, caption="Captures", kind="data", headers=2)}</div>'
    )
    folded = (
        panel
        if len(rows) <= OPEN_ROWS
        else f"<details><summary>{len(rows)} captures</summary>{panel}</details>"
    )
    return section("captures", "Captures", f'<p class="lead">{lead}</p>{folded}')
