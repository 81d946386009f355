"""Calls: how many of a given quality there may be."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import UNSET

from ethermeter.analysis.call_search import CallsAnswer, Rated
from ethermeter.analysis.estimated import Interval
from ethermeter.blocks import Table, Text
from ethermeter.faults import counted
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import Scale, with_ends

ROOMS = (
    "the bits of the links",
    "the standard's number of stations, or the bits of the segment,",
)
"""What limits the number of calls in a network, and on a segment."""


def calls(found: CallsAnswer, *, file: Path | None = None) -> Iterator[Table | Text]:
    """Lay out the numbers of calls that were tried, and the largest that is good enough.

    `file`: where the experiment with so many calls is, unless there may be none; None if none is
    wanted.
    """
    marks = Marks(each.cautions for each in found.tried)
    is_on_segment = found.segment is not UNSET
    what = "calls" if found.talkers == 2 else "streams"
    head = [
        what,
        "MOS",
        "R",
        "not in time %",
        "mouth to ear ms",
        "buffer ms",
        "network p50 ms",
        "p99 ms",
        "utilisation",
    ]
    rows = [_row(each, marks.at(each.cautions)) for each in found.tried]
    yield Table(head, rows, f"Numbers of {what} that were tried")
    yield from legend(marks.legend())
    yield Text(
        f"{found.calls} {what} of {found.codec}: {good(found.wanted)}, on the mean of "
        + counted(found.replications, "trial")
    )
    yield Text(f"{'on ' if is_on_segment else ''}{found.subject}")
    if found.is_limited_by_stations:
        yield Text(f"this is all that {ROOMS[is_on_segment]} leave room for")
    elif found.sure < found.calls or found.possible > found.calls:
        yield Text(
            f"by the 95% intervals: {found.sure} for sure, {found.possible} perhaps; "
            f"{_undecided(found)}"
        )
    if file is not None:
        none = "no experiment written: not even one is good enough"
        yield Text(f"experiment: {file}" if found.calls else none)


def good(wanted: Mapping[str, float]) -> str:
    """Say what is good enough."""
    if "mos" in wanted:
        return f"a mean opinion score of at least {wanted['mos']:g}"
    return (
        f"at most {100 * wanted['loss']:g}% lost or late, {1e3 * wanted['delay_s']:g} ms "
        "mouth-to-ear delay"
    )


def _undecided(found: CallsAnswer) -> str:
    """Return what tells more of the numbers that are not decided about."""
    between = [each for each in found.tried if found.sure < each.calls <= found.possible]
    if any("growing-queue" in each.cautions for each in between):
        return "a queue still grows in the trials: longer trials (duration) tell more"
    return "more trials (replications) tell more"


def _row(each: Rated, mark: str) -> list[str]:
    delays = (each.delay_s, each.buffer_s, each.network_p50_s, each.network_p99_s)
    return [
        f"{each.calls}{mark}",
        _cell(each.mos),
        _cell(each.rating),
        _cell(each.loss, 100.0),
        *(_cell(delay, 1e3) for delay in delays),
        _cell(each.utilisation),
    ]


def _cell(found: Interval, factor: float = 1.0) -> str:
    """Write a number of an answer with its interval; times and shares are shown by a factor."""
    value, low, high = (
        None if end is None else factor * end for end in (found.value, found.low, found.high)
    )
    # Times, shares and counts are not below zero, whatever an interval says.
    low = None if low is None else max(low, 0.0)
    return with_ends(value, low, high, Scale(""))
