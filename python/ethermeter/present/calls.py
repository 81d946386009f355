"""Calls: how many of a given quality there may be."""

from collections.abc import Iterator
from pathlib import Path

from ethermeter.blocks import Table, Text
from ethermeter.calls import OnSegment, Question, Wanted
from ethermeter.present.marks import legend
from ethermeter.quantities import Scale, with_ends
from ethermeter.report.cautions import Marks
from ethermeter.strategies.calls import Answer, Rated
from ethermeter.strategies.estimated import Interval


def calls(
    question: Question, wanted: Wanted, found: Answer, *, file: Path | None = None
) -> Iterator[Table | Text]:
    """Lay out the numbers of calls that were tried, and the largest that is good enough.

    Parameters
    ----------
    question, wanted, found
        What was asked, what is good enough, and what was found.
    file
        Where the experiment with so many calls is, unless there may be none; None if none is
        wanted.

    """
    marks = Marks(each.cautions for each in found.tried)
    what = "calls" if question.talkers == 2 else "streams"
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
        f"{found.calls} {what} of {question.codec}: {_good(wanted)}, on the mean of "
        f"{question.replications} trials"
    )
    yield Text(f"{'on ' if isinstance(question.venue, OnSegment) else ''}{found.subject}")
    if found.is_limited_by_stations:
        yield Text(f"this is all that {question.venue.room} leave room for")
    elif found.sure < found.calls or found.possible > found.calls:
        yield Text(
            f"by the 95% intervals: {found.sure} for sure, {found.possible} perhaps; "
            f"{_undecided(found)}"
        )
    if file is not None:
        none = "no experiment written: not even one is good enough"
        yield Text(f"experiment: {file}" if found.calls else none)


def _good(wanted: Wanted) -> str:
    """Say what is good enough."""
    if wanted.mos is not None:
        return f"a mean opinion score of at least {wanted.mos:g}"
    return (
        f"at most {100 * wanted.loss:g}% lost or late, {1e3 * wanted.delay_s:g} ms mouth-to-ear "
        "delay"
    )


def _undecided(found: Answer) -> str:
    """Return what tells more of the numbers that are not decided about."""
    between = [each for each in found.tried if found.sure < each.calls <= found.possible]
    if any("growing-queue" in each.cautions for each in between):
        return "a queue still grows in the trials: a longer --duration tells more"
    return "more --replications tell more"


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
    return with_ends(value, low, high, Scale(""))
