"""Compare: two runs, point by point and metric by metric, with the interval of every difference."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from ethermeter import imports
from ethermeter.analysis import failures
from ethermeter.analysis.flows import with_tables
from ethermeter.faults import InputError
from ethermeter.imports import Column
from ethermeter.json_values import finite
from ethermeter.metrics import Caution, Metric
from ethermeter.report.labels import FLOW_MAIN_METRICS, MAIN_METRICS, MORE_COMPARED
from ethermeter.results import estimates
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate, difference
from ethermeter.store.integrity import read_provenance

METRICS: tuple[Metric, ...] = tuple(
    metric
    for metric in Metric
    if metric in (*MAIN_METRICS, *MORE_COMPARED, *FLOW_MAIN_METRICS, Metric.JITTER)
)

Points = dict[tuple[object, ...], Point]
"""Points of a run by series, engine and varied keys."""
FILE = "file"
"""Series and engine of the points of a file of another program."""


class Row(TypedDict):
    """One metric at one point of both runs, in the metric's SI unit.

    None where there is no value or no interval.

    `verdict`: "same" (equal to the last bit), "higher" or "lower" (the second run, beyond the
    interval of the difference), "no difference" (the interval holds zero), "undecided" (no
    interval), "only in first", "only in second". `cautions`: those of either value.
    """

    series: str
    engine: str
    point: dict[str, str]
    metric: str
    unit: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    verdict: str
    cautions: list[str]


def compare(
    run_a: Path,
    run_b: Path,
    *,
    metrics: Sequence[Metric] = METRICS,
    columns: Sequence[Column] = (),
) -> list[Row]:
    """Compare the estimates of two runs at the points that either has, in the order of the first.

    Parameters
    ----------
    run_a, run_b
        Directories of finished runs, or files of other programs. Series are matched by name, or
        are the only ones of both runs. Flows of two files are matched by
        name; the only flow of a file is compared with the only point of a run, that of its live
        trials if it has any.
    metrics
        What to compare.
    columns
        Columns of CSV files of other programs.

    Returns
    -------
    :
        Rows with the second less the first, its 95% interval by Welch and Satterthwaite (the runs
        taken as independent), and a verdict.

    Raises
    ------
    InputError
        If the runs have no point in common.
    """
    return compared(*matched(run_a, run_b, columns), metrics=metrics)


def compared(first: Points, second: Points, *, metrics: Sequence[Metric] = METRICS) -> list[Row]:
    """Compare matched points, as `compare` does."""
    rows = []
    for key in dict.fromkeys([*first, *second]):
        a, b = first.get(key), second.get(key)
        known = a or b
        if known is None:
            continue
        for metric in metrics:
            ends = (a.estimates.get(metric) if a else None, b.estimates.get(metric) if b else None)
            if ends != (None, None):
                rows.append(_row(known, metric, *ends))
    return rows


def matched(run_a: Path, run_b: Path, columns: Sequence[Column] = ()) -> tuple[Points, Points]:
    """Return the points of both runs, or files, by keys that are the same for the same point.

    Parameters and errors are those of `compare`.
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
    flows = imports.read(path, columns)
    return [Point(FILE, {"flow": name}, FILE, 1, found) for name, found in flows.items()]


def _by_point(points: Sequence[Point]) -> Points:
    return {(point.series, point.engine, *sorted(point.point.items())): point for point in points}


def _row(point: Point, metric: Metric, a: Estimate | None, b: Estimate | None) -> Row:
    found = difference(b, a) if a and b else Estimate(math.nan, math.nan, math.nan)
    if a is None or b is None:
        verdict = "only in second" if a is None else "only in first"
    elif a.value == b.value or (math.isnan(a.value) and math.isnan(b.value)):
        verdict = "same"
    elif not found.has_interval:
        verdict = "undecided"
    elif found.low > 0:
        verdict = "higher"
    elif found.high < 0:
        verdict = "lower"
    else:
        verdict = "no difference"
    return Row(
        series=point.series,
        engine=point.engine,
        point=dict(point.point),
        metric=metric.value,
        unit=metric.unit,
        a=finite(a.value if a else math.nan),
        b=finite(b.value if b else math.nan),
        difference=finite(found.value),
        low=finite(found.low),
        high=finite(found.high),
        verdict=verdict,
        cautions=[
            str(word) for word in Caution if any(word in end.cautions for end in (a, b) if end)
        ],
    )


def failed_in(runs: Sequence[Path]) -> list[str]:
    """Say of both runs how many trials failed, and why; nothing of one in which none did.

    Files of other programs have no trials.
    """
    found = [failures.of_run(read_provenance(run)) if run.is_dir() else None for run in runs]
    names = ("The first run", "The second run")
    return [f"{name}: {of}." for name, of in zip(names, found, strict=True) if of is not None]


def by_chance(rows: Sequence[Row]) -> str:
    """Say how many differences chance alone would make; empty for fewer than 20 intervals."""
    tested = sum(row["verdict"] in ("higher", "lower", "no difference") for row in rows)
    if tested < 20:
        return ""
    return f"Of {tested} intervals, about {tested * 0.05:.0f} would miss zero by chance alone."
