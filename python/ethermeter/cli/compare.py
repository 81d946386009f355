"""The command that compares runs, and theories with simulations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ethermeter import json_values
from ethermeter.api.compare import (
    BenchmarkComparison,
    Compared,
    CompareOptions,
    Comparison,
    LimitComparison,
    compare,
)
from ethermeter.cli.command import Command
from ethermeter.cli.guard import FAILED, UNDECIDED

if TYPE_CHECKING:
    from ethermeter.analysis.checks import Check

EXAMPLES = """\
  ethermeter compare runs/before runs/after
  ethermeter compare runs/before runs/after --json
  ethermeter compare runs/before runs/after --figure comparison.html
  ethermeter compare runs/release-1 runs/release-2 --fail-below 2%
  ethermeter run three-ways-saturated --out runs/three-ways
  ethermeter compare runs/three-ways
  ethermeter compare runs/three-ways --differing --json"""


def blocks(found: Compared, options: CompareOptions) -> Iterator[object]:
    """Yield what a terminal shows of a comparison."""
    from ethermeter.blocks import Code, Text
    from ethermeter.present import agreement, benchmark, bounds, checks, comparison, designs, limits

    match found:
        case Comparison(rows=rows, failed=failed, page=page):
            yield from map(Text, found.matched)
            yield from designs.designs(found.designs)
            yield from comparison.comparison(rows)
            yield from map(Text, failed)
            yield from checks.checks(found.checks)
            if found.checks and not options.baseline and any(map(_is_measured, found.checks)):
                yield Text(
                    "caution: without --baseline the spread of measurements from run to run is not "
                    "known, and more than 1 of 100 fail by chance"
                )
            if page is not None:
                yield Code(f"page: {page}")
        case BenchmarkComparison(differences=differences, tolerance=tolerance):
            yield from benchmark.comparison(differences, tolerance=tolerance)
        case LimitComparison():
            yield from limits.comparison(
                found.row, found.asked, found.check, has_intervals=found.has_intervals
            )
        case _:
            yield from agreement.agreement(found.every, found.shown, found.unmet)
            yield from bounds.bounds(found.bounds)


def _is_measured(check: "Check") -> bool:
    from ethermeter.imports.matching import FILE
    from ethermeter.trial import LIVE

    return check.engine in (LIVE, FILE)


def plain(found: Compared) -> object:
    """Return a comparison as JSON values."""
    match found:
        case Comparison(checks=checks):
            # An array unless there is more to say.
            every = list(found.every())
            both = {"comparisons": every, "checks": checks}
            return json_values.plain(both if checks else every)
        case BenchmarkComparison() | LimitComparison():
            return json_values.plain(found)
        case _:
            from ethermeter.analysis.agreement import AgreementFile
            from ethermeter.analysis.bounds_file import BoundsFile
            from ethermeter.cli.output import row

            answers = found.bounds
            of_bounds = {"bounds": row(BoundsFile.of(answers))} if answers.times else {}
            unmet = {"unmet": json_values.plain(found.unmet)} if found.unmet else {}
            return row(AgreementFile.of(found.shown)) | unmet | of_bounds


def rows(found: Compared) -> Iterator[Mapping[str, object]]:
    """Yield a row for each value that was compared."""
    match found:
        case Comparison():
            for row in found.every():
                about = {"series": row["series"], "engine": row["engine"], **row["point"]}
                yield about | {name: of for name, of in row.items() if name != "point"}
        case LimitComparison(row=row):
            yield row
        case BenchmarkComparison(differences=differences):
            for each in differences:
                yield {"test": each.test, **each.point} | _without_point(each)
        case _:
            for agreement in found.shown:
                about = {"series": agreement.series, **agreement.point}
                yield about | _without_point(agreement, "changes")


def _without_point(value: object, *others: str) -> dict[str, object]:
    """Return the fields of a value but its point, and others."""
    fields = json_values.plain(value)
    assert isinstance(fields, dict)
    return {name: of for name, of in fields.items() if name not in ("point", *others)}


def end(found: Compared, options: CompareOptions) -> int:
    """Return the exit code: whether the second run is worse than is allowed."""
    if isinstance(found, Comparison) and found.checks:
        return _verdict(found.checks)
    if isinstance(found, LimitComparison):
        return 0 if found.check is None else _verdict([found.check])
    is_worse = isinstance(found, BenchmarkComparison) and found.regression
    return FAILED if is_worse and options.fail_below is not None else 0


def _verdict(checks: "Sequence[Check]") -> int:
    """Return the exit code: undecided only if no value is known as well as is asked."""
    verdicts = {check.verdict for check in checks}
    if "fails" in verdicts:
        return FAILED
    return 0 if "passes" in verdicts else UNDECIDED


COMMAND = Command(
    compare,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    end=end,
    former={"--out": "--figure FILE"},
)
