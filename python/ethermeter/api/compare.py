"""Comparing two runs, or the theories of one with its simulations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from ethermeter.api.arguments import Columns
from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.agreement import Agreement, Unmet
    from ethermeter.analysis.benchmark import Difference
    from ethermeter.analysis.bounds import Answers
    from ethermeter.analysis.checks import Check
    from ethermeter.analysis.comparison import Points, Row
    from ethermeter.analysis.designs import Designs
    from ethermeter.api.runs import Run
    from ethermeter.imports import Column

CHECKS = ("xml", "prom", "md")
"""Endings of files of checks."""
TOLERANCE = "2%"
"""Relative change up to which values of benchmarks count as the same unless another is given."""


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of `compare`."""

    first: Annotated[
        Path,
        Argument(
            "Directory of a run, of predict or of a series of probe; or a file of iperf3, flent, "
            "irtt, sockperf, ns-3 or probe --json.",
            "FIRST",
            "runs",
        ),
    ]
    second: Annotated[
        Path | None,
        Argument(
            "Second run directory or file, with which the first is compared; unless given, the "
            "theories of the first are compared with its simulations.",
            "SECOND",
            "runs",
        ),
    ] = None
    _: KW_ONLY
    fail_below: Annotated[
        str | None,
        Argument(
            "Exit code 1 if a value of the second run is worse beyond chance, by more than half of "
            "this share of the first; 3 if no value is known so well. Of 100 comparisons of the "
            "same, at most one fails. Of benchmarks: if a value is missing, or worse by more.",
            "SHARE",
        ),
    ] = None
    baseline: Annotated[
        Sequence[Path],
        Argument(
            "Another run, or file, of the same as FIRST, so that the spread between runs counts; "
            "can be given several times.",
            "RUN",
            "runs",
        ),
    ] = ()
    again: Annotated[
        Sequence[Path],
        Argument(
            "Another run, or file, of the same as SECOND: a value fails only if it does in each, "
            "so that what disturbed one run is no alarm; can be given several times.",
            "RUN",
            "runs",
        ),
    ] = ()
    figure: Annotated[
        Path | None,
        Argument(
            "Also write the comparison to this HTML file; or its checks, as JUnit (.xml), "
            "OpenMetrics (.prom) or Markdown (.md).",
            "FILE",
        ),
    ] = None
    columns: Columns = None
    differing: Annotated[bool, Argument("Of one run: only the values that differ.")] = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, or files of other programs, point by point.

    Parameters
    ----------
    rows
        Metrics at points of either.
    failed
        Sentences about the trials that failed, of each run in which some did.
    page
        The page, or the file of checks, that was written.
    checks
        Whether values are worse; empty unless that was asked.
    designs
        Capacities, flows, bounds and ports of two runs of networks; None of others.
    matched
        Sentences about which flows of files are compared with which, and which are not.

    """

    rows: "Sequence[Row]"
    failed: Sequence[str]
    page: Path | None
    checks: "tuple[Check, ...]" = ()
    designs: "Designs | None" = None
    matched: tuple[str, ...] = ()

    def every(self) -> "Iterator[Row]":
        """Yield all rows, those of single flows and ports of networks last; none comes twice."""
        seen = set()
        for row in (*self.rows, *(() if self.designs is None else self.designs.rows())):
            key = row["series"], row["engine"], *sorted(row["point"].items()), row["metric"]
            if key not in seen:
                seen.add(key)
                yield row


@dataclass(frozen=True, slots=True)
class BenchmarkComparison:
    """Two benchmarks, value by value.

    Parameters
    ----------
    suite
        The suite of both.
    tolerance
        Relative change up to which values count as the same.
    regression
        Whether a value is worse by more than that, or missing.
    differences
        Every value.

    """

    suite: str
    tolerance: float
    regression: bool
    differences: "tuple[Difference, ...]"


@dataclass(frozen=True, slots=True)
class LimitComparison:
    """What two searches found.

    Parameters
    ----------
    row
        Both limits, and their difference.
    asked
        The conditions of both, in words.
    has_intervals
        Whether chance decides if the second is worse; else the share alone.
    check
        Whether it is worse; None unless that was asked.

    """

    row: "Row"
    asked: tuple[str, str]
    has_intervals: bool
    check: "Check | None"


@dataclass(frozen=True, slots=True)
class TheoryComparison:
    """Theories of a run beside its simulations.

    Parameters
    ----------
    every, shown
        Comparisons: all, and those that are wanted.
    bounds
        What theories say of networks.
    unmet
        Assumptions that may cause what differs, where no simulations part them.

    """

    every: "tuple[Agreement, ...]"
    shown: "tuple[Agreement, ...]"
    bounds: "Answers"
    unmet: "tuple[Unmet, ...]"


Compared: TypeAlias = Comparison | BenchmarkComparison | LimitComparison | TheoryComparison


@operation(CompareOptions)
def compare(options: CompareOptions, display: Display) -> Compared:
    """Compare two finished runs, or files of other programs, point by point.

    Of one run, theories are compared with simulations, and the assumptions that cause differences
    are named.

    Raises
    ------
    InputError
        If a run is unfinished or damaged, both have no point in common, or one has no theory.

    """
    from ethermeter.analysis.benchmark import is_benchmark
    from ethermeter.imports.saved import file_of

    second = options.second
    if second is None:
        return _theories(options)
    if options.differing:
        raise InputError.of_argument("differing", "given", "expected with one run")
    if options.figure is not None:
        _require_page(options)
    if options.fail_below is None:
        _refuse_more(options, "expected with --fail-below")
    is_run = options.first.is_dir() and file_of(options.first) is None
    has_suite = is_run and is_benchmark(options.first)
    if has_suite:
        if options.figure is not None:
            allowed = "runs that are no benchmarks; those are compared as text or JSON"
            raise InputError.of_argument("figure", str(options.figure), allowed)
        _refuse_more(options, "expected with runs that are no benchmarks")
        return _benchmarks(options.first, second, options.fail_below or TOLERANCE)
    named = {"first": options.first, "second": second}
    opened = {name: _opened(path) for name, path in named.items()}
    return _limits(options, opened) or _runs(options, opened)


def _opened(path: Path) -> "Path | Run":
    """Return the file of a path, if it is one or a directory with one; else the finished run."""
    from ethermeter.api.runs import open as open_run
    from ethermeter.imports.saved import file_of

    return file_of(path) or open_run(path)


def _path(opened: "Path | Run") -> Path:
    return opened if isinstance(opened, Path) else opened.path


def _refuse_more(options: CompareOptions, allowed: str) -> None:
    """Refuse more runs of the same as the first, or the second."""
    for name, paths in (("baseline", options.baseline), ("again", options.again)):
        if paths:
            raise InputError.of_argument(name, str(paths[0]), allowed)


def _require_page(options: CompareOptions) -> None:
    """Refuse where no page, or file of checks, can be written, before runs are read."""
    from ethermeter.api.figures import require_room
    from ethermeter.report.charts.files import require_format

    assert options.figure is not None
    checks = () if options.fail_below is None else tuple(f".{name}" for name in CHECKS)
    require_format(options.figure, (".html", *checks))
    require_room("figure", options.figure)


def _runs(options: CompareOptions, opened: "Mapping[str, Path | Run]") -> Comparison:
    from ethermeter.analysis import designs
    from ethermeter.analysis.comparison import compared, failed_in
    from ethermeter.imports import parse_columns
    from ethermeter.imports.matching import matched

    columns = parse_columns(options.columns) if options.columns is not None else ()
    runs = [each for each in opened.values() if not isinstance(each, Path)]
    one, other = map(_path, opened.values())
    found = matched(one, other, columns=columns)
    points = found.first, found.second
    rows = compared(*points)
    of_networks = designs.read(*runs) if len(runs) == len(opened) else None
    checks = _regressions(options, one, points, columns)
    if options.figure is not None and options.figure.suffix != ".html":
        from ethermeter.render import check_files
        from ethermeter.store import write_whole

        name = f"{one.name} and {other.name}"
        write_whole(options.figure, check_files.text(options.figure.suffix, name, checks))
    elif options.figure is not None:
        from ethermeter.report.comparison_page import comparison_page
        from ethermeter.store import write_whole

        write_whole(options.figure, comparison_page((one, other), points, rows, of_networks))
    return Comparison(
        rows, failed_in((one, other)), options.figure, checks, of_networks, found.told
    )


def _regressions(
    options: CompareOptions,
    first: Path,
    points: "tuple[Points, Points]",
    columns: "Sequence[Column]",
) -> "tuple[Check, ...]":
    """Judge whether the second run is worse; empty unless that was asked."""
    if options.fail_below is None:
        return ()
    from ethermeter.analysis.regressions import repeated
    from ethermeter.imports.matching import matched

    def more(paths: Sequence[Path]) -> "list[Points]":
        found = [_path(_opened(path)) for path in paths]
        return [matched(first, path, columns=columns).second for path in found]

    before = [points[0], *more(options.baseline)]
    after = [points[1], *more(options.again)]
    return repeated(before, after, tolerance=_share(options.fail_below))


def _share(fail_below: str) -> float:
    from ethermeter import units

    try:
        return units.share(fail_below, most=1.0)
    except units.UnitError as error:
        raise InputError.of_argument("fail_below", fail_below, str(error)) from None


def _benchmarks(first: Path, second: Path, fail_below: str) -> BenchmarkComparison:
    from ethermeter.analysis import benchmark
    from ethermeter.api.runs import open as open_run

    tolerance = _share(fail_below)
    answers = []
    for name, path in (("first", first), ("second", second)):
        run = open_run(path).directory
        if not run.is_search():
            allowed = "expected the runs of two benchmarks (ethermeter find benchmark)"
            raise InputError.of_argument(name, str(path), allowed)
        answers.append(benchmark.read(run.answer(), file=str(path)))
    found = benchmark.compare(*answers, tolerance=tolerance)
    return BenchmarkComparison(answers[0].suite, tolerance, benchmark.is_regression(found), found)


def _limits(options: CompareOptions, opened: "Mapping[str, Path | Run]") -> LimitComparison | None:
    """Compare what two searches found; None where neither run is of a search with a limit."""
    from ethermeter.analysis import limits

    found = {
        name: None if isinstance(each, Path) else limits.read(each.directory)
        for name, each in opened.items()
    }
    first, other = found["first"], found["second"]
    if first is None and other is None:
        return None
    if first is None or other is None:
        name = "first" if first is None else "second"
        allowed = "expected a run of find value or find calls, as the other is"
        raise InputError.of_argument(name, str(getattr(options, name)), allowed)
    allowed = "expected with runs that are no searches"
    if options.figure is not None:
        raise InputError.of_argument("figure", str(options.figure), allowed)
    _refuse_more(options, allowed)
    check = None
    if options.fail_below is not None:
        check = limits.judged(first, other, tolerance=_share(options.fail_below))
    return LimitComparison(
        limits.compared(first, other),
        (first.asked, other.asked),
        limits.have_intervals(first, other),
        check,
    )


def _theories(options: CompareOptions) -> TheoryComparison:
    """Compare the theories of a run with its simulations."""
    from ethermeter.analysis import agreement, bounds
    from ethermeter.api.runs import open as open_run
    from ethermeter.faults import ARGUMENTS, Fault
    from ethermeter.imports.saved import file_of

    faults = [
        Fault(ARGUMENTS, name, str(value), "expected with a second run, or a file")
        for name in ("fail_below", "figure", "columns")
        if (value := getattr(options, name)) is not None
    ]
    if file_of(options.first) is not None:
        why = "missing", "a run or a file with which the first file is compared"
        faults.append(Fault(ARGUMENTS, "second", *why))
    if faults:
        raise InputError(faults)
    run = open_run(options.first)
    every, answers = agreement.read(run), bounds.read(run)
    if not every and not answers.times:
        allowed = 'a run with the engine "theory", or a second run'
        raise InputError.of(str(options.first), "run.engines", "no theory", allowed)
    shown = tuple(
        each
        for each in every
        if not options.differing or "differs" in (each.verdict, each.idealised_verdict)
    )
    return TheoryComparison(every, shown, answers, agreement.unmet(run, every))
