"""Matching: points of two runs, or of files of other programs, that are compared."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethermeter.analysis.comparison import Points
from ethermeter.analysis.flows import with_tables
from ethermeter.faults import InputError
from ethermeter.imports import Column, read
from ethermeter.results import estimates
from ethermeter.results.estimates import Point

FILE = "file"
"""Series and engine of the points of a file of another program."""


def matched(run_a: Path, run_b: Path, columns: Sequence[Column] = ()) -> tuple[Points, Points]:
    """Return the points of both runs, or files, by keys that are the same for the same point.

    Parameters
    ----------
    run_a, run_b
        Directories of finished runs, or files of other programs. Series are matched by name, or
        are the only ones of both runs. Flows of two files are matched by
        name; the only flow of a file is compared with the only point of a run, that of its live
        trials if it has any.
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
    found = [
        _of_file(path, columns) if is_file else list(estimates.read(path))
        for path, is_file in zip((run_a, run_b), are_files, strict=True)
    ]
    if are_files == [True, True] and len(found[0]) == len(found[1]) == 1:
        # The only flows of two files are compared, whatever their names.
        found[1] = [replace(found[1][0], point=found[0][0].point)]
    elif any(are_files) and not all(are_files):
        at = are_files.index(True)
        run = found[1 - at]
        run = [point for point in run if point.engine == "live"] or run
        for path, points in (((run_a, run_b)[at], found[at]), ((run_a, run_b)[1 - at], run)):
            if len(points) != 1:
                allowed = "expected one flow of the file and one point of the run"
                raise InputError.of(str(path), "points", str(len(points)), allowed)
        found[at] = [replace(run[0], estimates=found[at][0].estimates)]
        found[1 - at] = run
    elif not any(are_files):
        runs = zip((run_a, run_b), found, strict=True)
        found = [with_tables(run, points) for run, points in runs]
        series = [{point.series for point in points} for points in found]
        if len(series[0]) == len(series[1]) == 1:
            # A series goes by its file unless the file names it, and a changed copy has another
            # name.
            (name,) = series[0]
            found[1] = [replace(point, series=name) for point in found[1]]
    first, second = map(_by_point, found)
    if not set(first) & set(second):
        allowed = f"a run with a point of {run_a}: the same series, engine and varied keys"
        raise InputError.of(str(run_b), "points", "none in common", allowed)
    return first, second


def _of_file(path: Path, columns: Sequence[Column]) -> list[Point]:
    flows = read(path, columns)
    return [Point(FILE, {"flow": name}, FILE, 1, found) for name, found in flows.items()]


def _by_point(points: Sequence[Point]) -> Points:
    return {(point.series, point.engine, *sorted(point.point.items())): point for point in points}
