"""The view of a shared segment of a testbed: what its stations do, as text."""

import shutil
import sys
from collections.abc import Sequence

import click
from msgspec.structs import asdict

from ethermeter.cli.output import terminal_width
from ethermeter.live_reports import OpportunityCounts, SegmentCounts, StationReport
from ethermeter.render.text import table_lines

_COUNTED = ("frames", "octets", "collisions", "discarded", "dropped")
_PREAMBLE_OCTETS = 8
"""Preamble and delimiter before each frame (802.3-2022, 3.2.1 and 3.2.2)."""
_HEAD = ["utilisation", "frames/s", "collisions/s", "per frame", "given up", "dropped"]
_PLCA_HEAD = ["PLCA", "used/s", "yielded/s", "missed/s"]


def lines(
    counted: Sequence[SegmentCounts],
    before: Sequence[SegmentCounts] | None,
    names: Sequence[Sequence[str]],
) -> list[str]:
    """Return what happened on segments, since they began or since they were looked at before.

    `names` are those of the stations of each segment.
    """
    found = []
    for at, now in enumerate(counted):
        if len(counted) > 1:
            found.append(f"segment {at + 1}:")
        found += _segment_lines(now, None if before is None else before[at], names[at])
    return found


def _segment_lines(
    now: SegmentCounts, before: SegmentCounts | None, names: Sequence[str]
) -> list[str]:
    # Another trial counts from zero.
    is_same = before is not None and before.over_ns <= now.over_ns
    earlier = before if is_same and before is not None else None
    over_s = max(now.over_ns - (0 if earlier is None else earlier.over_ns), 1) / 1e9
    rows, busy_s = [], 0.0
    for number, station in enumerate(now.stations):
        start = None if earlier is None else earlier.stations[number]
        name = names[number] if number < len(names) else str(number + 1)
        done = _done(station, start)
        station_s = (done["octets"] + _PREAMBLE_OCTETS * done["frames"]) * 8 * now.bit_ps / 1e12
        busy_s += station_s
        per_frame = done["collisions"] / done["frames"] if done["frames"] else 0.0
        row = [
            name,
            f"{station_s / over_s:.1%}",
            f"{done['frames'] / over_s:.0f}",
            f"{done['collisions'] / over_s:.0f}",
            f"{per_frame:.2f}",
            str(done["discarded"]),
            str(done["dropped"]),
        ]
        if station.plca is not None:
            row += _turns(station.plca, None if start is None else start.plca, over_s)
        rows.append(row)
    has_plca = now.cycles is not None
    head = ["station", *_HEAD, *(_PLCA_HEAD if has_plca else [])]
    found = table_lines(head, rows, width=terminal_width(), is_steady=True)
    summary = f"all: {busy_s / over_s:.1%} of the medium over {over_s:.1f} s"
    if now.cycles is not None:
        cycles = now.cycles - ((earlier and earlier.cycles) or 0)
        summary += f", {cycles / over_s:.0f} beacons/s"
    late_us = (now.late_ns.p99 or 0.0) / 1e3
    return [
        *found,
        summary,
        f"decided on too late: {now.violations} frames; late to hosts: {late_us:.0f} us (99%)",
    ]


def _done(now: StationReport, before: StationReport | None) -> dict[str, int]:
    counted = asdict(now)
    start = dict.fromkeys(_COUNTED, 0) if before is None else asdict(before)
    return {key: counted[key] - start[key] for key in _COUNTED}


def _turns(now: OpportunityCounts, before: OpportunityCounts | None, over_s: float) -> list[str]:
    start = before or OpportunityCounts()
    counts = (
        now.used - start.used,
        now.yielded - start.yielded,
        now.missed - start.missed,
    )
    return ["OK" if now.is_ok else "FAIL", *(f"{count / over_s:.0f}" for count in counts)]


class Screen:
    """It shows lines in place of those before, on a terminal; one after the other elsewhere."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._shown = 0

    def show(self, lines: Sequence[str]) -> None:
        """Show lines; those that a terminal has no room for are left out."""
        if not self._is_terminal:
            click.echo("\n".join(lines))
            sys.stdout.flush()
            return
        columns, rows = shutil.get_terminal_size()
        room = rows - 1
        if len(lines) > room:
            # The last two lines sum up.
            lines = [
                *lines[: max(room - 3, 0)],
                f"… {len(lines) - room + 1} more lines",
                *lines[-2:],
            ]
        # To the first line of before, and from there on nothing. Terminals wrap after the last
        # column only when another character follows, so a full line takes one row.
        back = f"\x1b[{self._shown}F\x1b[J" if self._shown else ""
        sys.stdout.write(back + "".join(f"{line[:columns]}\n" for line in lines))
        sys.stdout.flush()
        self._shown = len(lines)
