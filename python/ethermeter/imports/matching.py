"""Matching: points of two runs, or of files of other programs, that are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ethermeter.analysis import groups
from ethermeter.analysis.bounds import FLOW, SEEN
from ethermeter.analysis.comparison import Points, counterparts
from ethermeter.analysis.flows import of_networks, of_parts, with_tables
from ethermeter.faults import InputError, named
from ethermeter.imports import Column, read
from ethermeter.imports.saved import title
from ethermeter.metrics import Metric
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

FILE = "file"
"""Series and engine of the points of a file of another program."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Points of two runs, or files, by keys that are the same for the same point.

    `told`: sentences about which flows of files are compared with which, and which are not.
    """

    first: Points
    second: Points
    told: tuple[str, ...] = ()


def matched(run_a: Path, run_b: Path, columns: Sequence[Column] = ()) -> Matched:
    """Match the points of two runs, or files.

    Parameters
    ----------
    run_a, run_b
        Directories of finished runs, or files of other programs. Series are matched by name, or
        are the only ones of both runs; what one run only simulated is compared with what the other
        only measured. Flows of two files, or of a file and a run, are matched by
        name, or are the only ones of both. The only flow of a file that has no name of the run is
        compared with all flows of the run. Of a run the live trials are taken, or else the
        simulations.
    columns
        Columns of CSV files of other programs.

    Raises
    ------
    InputError
        If the runs have no point in common.
    """
    are_files = [not path.is_dir() for path in (run_a, run_b)]
    if columns and not any(are_files):
        allowed = "expected with a file of another program"
        raise InputError.of_argument("columns", "given", allowed)
    told: tuple[str, ...] = ()
    if all(are_files):
        found = [_of_file(path, columns) for path in (run_a, run_b)]
        told = _told_of_files((run_a, run_b), found)
        if len(found[0]) == len(found[1]) == 1:
            found[1] = [replace(found[1][0], point=found[0][0].point)]
    elif any(are_files):
        file, run = (run_a, run_b) if are_files[0] else (run_b, run_a)
        of_file, of_run, told = _file_and_run(file, _of_file(file, columns), run)
        found = [of_file, of_run] if are_files[0] else [of_run, of_file]
    else:
        runs = (run_a, run_b)
        found = [with_tables(run, list(estimates.read(run))) for run in runs]
        series = [{point.series for point in points} for points in found]
        if len(series[0]) == len(series[1]) == 1:
            # A series goes by its file unless the file names it, and a changed copy has another
            # name.
            (name,) = series[0]
            found[1] = [replace(point, series=name) for point in found[1]]
        found[1], told = _by_counterparts((run_a, run_b), found)
    first, second = map(_by_point, found)
    if not set(first) & set(second):
        allowed = f"a run with a point of {run_a}: the same series, engine and varied keys"
        if all(are_files):
            allowed = f"expected a flow of {run_a}: {named(_names(found[0]))}"
            raise InputError.of(str(run_b), "flows", named(_names(found[1])), allowed)
        raise InputError.of(str(run_b), "points", "none in common", allowed)
    return Matched(first, second, told)


def _by_counterparts(
    runs: tuple[Path, Path], found: Sequence[Sequence[Point]]
) -> tuple[list[Point], tuple[str, ...]]:
    """Return the points of the second run by the engines of the first; say which are others."""
    pairs = counterparts(*({point.engine for point in points} for points in found))
    told = tuple(
        f"What {title(runs[1])} {SEEN[theirs]} is compared with what {title(runs[0])} {SEEN[ours]}."
        for theirs, ours in pairs.items()
        if theirs != ours
    )
    return [replace(point, engine=pairs[point.engine]) for point in found[1]], told


def _told_of_files(files: tuple[Path, Path], found: Sequence[Sequence[Point]]) -> tuple[str, ...]:
    """Say which flows of two files are compared; nothing where these have the same names."""
    first, second = map(_names, found)
    if first == second:
        return ()
    if len(first) == len(second) == 1:
        one, other = (
            f"{name} of {title(file)}" for (name,), file in zip((first, second), files, strict=True)
        )
        return (f"Flow {one} is compared with {other}, the only flows of both.",)
    return _told_by_name(first, second, *(title(file) for file in files))


def _told_by_name(
    first: Sequence[str], second: Sequence[str], one: str, other: str
) -> tuple[str, ...]:
    """Say which flows have the same names in two runs or files, and which only one has."""
    both = [name for name in first if name in second]
    told = [f"Flows compared by name: {named(both)}."]
    for names, others, where in ((first, second, one), (second, first, other)):
        if alone := [name for name in names if name not in others]:
            told.append(f"Flows of {where} only, not compared: {named(alone)}.")
    return tuple(told)


def _names(points: Sequence[Point]) -> list[str]:
    return [point.point[FLOW] for point in points]


def _file_and_run(
    file: Path, flows: Sequence[Point], run: Path
) -> tuple[list[Point], list[Point], tuple[str, ...]]:
    """Return the points of a file and a run that are compared, and what to say of them."""
    every = list(estimates.read(run))
    by_engine = [[each for each in every if each.engine == engine] for engine in SEEN]
    points = next(filter(None, reversed(by_engine)), every)
    if len(points) != 1:
        allowed = "expected one point beside a file; --set vary={} makes such a run"
        raise InputError.of(str(run), "points", str(len(points)), allowed)
    (whole,) = points
    seen = SEEN.get(whole.engine, "by theory")
    names, in_run = _names(flows), _flows_of(run, whole)
    if both := [name for name in names if name in in_run]:
        of_run = [replace(whole, point={**whole.point, FLOW: n}, estimates=in_run[n]) for n in both]
        of_file = [
            replace(whole, point={**whole.point, FLOW: flow.point[FLOW]}, estimates=flow.estimates)
            for flow in flows
        ]
        # A table of which a flow is compared is no flow that is left out.
        tables = {name.partition(" ")[0] for name in both}
        known = [*both, *(name for name in in_run if name.partition(" ")[0] not in tables)]
        return of_file, of_run, _told_by_name(names, known, title(file), f"{run.name}, {seen},")
    if len(flows) != 1:
        allowed = f"expected one flow, or names of the run's: {named(list(in_run)) or 'none'}"
        raise InputError.of(str(file), "flows", named(names), allowed)
    what = f"flow {next(iter(in_run))}" if len(in_run) == 1 else "all flows"
    said = f"Flow {names[0]} of {title(file)} is compared with {what} of {run.name}, {seen}."
    return [replace(whole, estimates=flows[0].estimates)], [whole], (said,)


def _flows_of(run: Path, whole: Point) -> dict[str, Mapping[Metric, Estimate]]:
    """Return the estimates of the flows of a point and of their tables, by name; none of a hub."""
    from ethermeter.store import RunDirectory

    directory = RunDirectory(run)
    trials = [
        trial for trial in of_networks(directory.replications()) if trial.engine == whole.engine
    ]
    return {
        point.point[groups.PART]: point.estimates
        for divide in (groups.by_table, groups.by_flow)
        for point in of_parts(directory, trials, divide)
    }


def _of_file(path: Path, columns: Sequence[Column]) -> list[Point]:
    flows = read(path, columns)
    return [Point(FILE, {FLOW: name}, FILE, 1, found) for name, found in flows.items()]


def _by_point(points: Sequence[Point]) -> Points:
    return {(point.series, point.engine, *sorted(point.point.items())): point for point in points}
