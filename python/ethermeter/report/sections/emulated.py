"""Emulated: how well the medium of a measured segment kept to its time."""

from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.accounts import by_point
from ethermeter.analysis.emulated import EmulatedMedium, together
from ethermeter.document import Block, Figure, Label, Section, Text, number
from ethermeter.report.data import ReportData
from ethermeter.report.plots import stacks
from ethermeter.report.sections.agent_results import PointColumns, percent, value

LATE = (
    ("within 10 µs", 10e-6),
    ("within 100 µs", 100e-6),
    ("within 1 ms", 1e-3),
    ("later", float("inf")),
)
"""Classes of lateness, and how late they are at most."""
SHARE = Label("Share of the deliveries", "%", 100.0)
MOST_BARS = 12
_HEAD = (
    "Frames",
    "Violations",
    "Share",
    "Median late (µs)",
    "99%",
    "99.9%",
    "Latest",
    "Noticed after (µs), 99%",
    "Starved",
    "Lost",
    "Processors",
)
LEAD = Markup(
    "The segment was emulated in real time between real hosts, and its values are those of the "
    "medium. What happened at a time was decided {} µs later, from the kernel’s timestamps of all "
    "frames, and hosts got frames {} ms after their times. <em>Late</em> is how long after that a "
    "frame reached its host: what hosts saw, not who collided with whom. A <em>violation</em> is a "
    "frame of which the medium learnt after it had decided; more than one in ten thousand make "
    "values doubtful (caution <code>medium-late</code>). <em>Starved</em> are times at which a "
    "saturated host had no frame ready, <em>processors</em> is the processor time of the relay "
    "over the time of the trial."
)


def build(data: ReportData) -> Section | None:
    """Show how the emulated medium did at every point; None if nothing was measured on one."""
    found = [
        (group[0], together(media))
        for group in by_point(data.accounts)
        if (media := [each.medium for each in group if each.medium is not None])
    ]
    if not found:
        return None
    columns = PointColumns([account for account, _ in found])
    _, first = found[0]
    worst = sorted(found, key=lambda row: -row[1].late_s(0.99))[:MOST_BARS]
    bars = {
        columns.short(account) or account.series: _classes(medium)
        for account, medium in found
        if any(medium is of for _, of in worst)
    }
    less = (
        f"The {MOST_BARS} points whose deliveries were latest."
        if len(found) > MOST_BARS
        else "Every point."
    )
    rows = [[*columns.cells(account), *_cells(medium)] for account, medium in found]
    blocks: list[Block] = [
        Text(LEAD.format(number(first.lag_s * 1e6), number(first.offset_s * 1e3)), "lead"),
        Figure(stacks(bars, SHARE, title="", most=100.0), "How late frames reached hosts", less),
        columns.table(_HEAD, rows, "Emulated medium", headers=0),
    ]
    return Section("emulated", "Emulated medium", "The emulated medium", blocks)


def _classes(medium: EmulatedMedium) -> dict[str, float]:
    """Shares of the deliveries by lateness; a bucket lies where its end does."""
    total = max(sum(count for _, _, count in medium.buckets), 1)
    shares: dict[str, float] = {}
    below = 0.0
    for name, most_s in LATE:
        until = sum(count for _, high_s, count in medium.buckets if high_s <= most_s) / total
        shares[name] = until - below
        below = until
    return shares


def _cells(medium: EmulatedMedium) -> Sequence[str]:
    return [
        f"{medium.arrived:,}",
        f"{medium.violations:,}",
        f"{medium.violated:.1e}" if medium.violations else "0",
        *(value(medium.late_s(rank), 1e6) for rank in (0.5, 0.99, 0.999)),
        value(medium.worst_s, 1e6),
        value(medium.noticed_p99_s, 1e6),
        f"{medium.starved:,}",
        f"{medium.lost:,}",
        percent(medium.processors),
    ]
