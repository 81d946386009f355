"""Data: what was measured, from run directories and from CSV files."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from ethermeter import units
from ethermeter.analysis.accounts import LIVE
from ethermeter.analysis.interfaces import Found, interfaces_of
from ethermeter.experiment import toml
from ethermeter.faults import Fault, InputError, shown
from ethermeter.imports import Column
from ethermeter.imports import read as read_foreign
from ethermeter.imports.columns import SI
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.results import estimates
from ethermeter.scenario import Scenario
from ethermeter.units import UnitError

MOST_DATA = 10_000
"""Rows that may be fitted at once."""


@dataclass(frozen=True, slots=True)
class Datum:
    """One measured value.

    `source`: file or run directory. `point`: dotted keys of the model's file that had other values
    than in it, with these as text. `metric`: what was measured, of all flows together. `value`: in
    the metric's unit. `error`: its standard error, None if unknown.
    """

    source: str
    point: Mapping[str, str]
    metric: Metric
    value: float
    error: float | None


def read_data(
    paths: Sequence[Path], *, metrics: Sequence[Metric], columns: Sequence[Column] = ()
) -> tuple[Datum, ...]:
    """Read everything that was measured.

    `paths`: run directories (their live trials, or all if they have none), CSV files and files of
    other programs. `metrics`: what to take of runs and of other programs; a CSV file names it.
    `columns`: those of CSV files of other programs.
    Raises InputError with every fault of a file, or if there is nothing to fit.
    """
    found = [datum for path in paths for datum in _of(path, metrics, columns)]
    if not 1 <= len(found) <= MOST_DATA:
        raise InputError.of(
            str(paths[0]), "(data)", str(len(found)), f"expected 1 to {MOST_DATA} values"
        )
    return tuple(found)


def _of(path: Path, metrics: Sequence[Metric], columns: Sequence[Column]) -> list[Datum]:
    if path.is_dir():
        return _of_run(path, metrics)
    if columns or not _is_own(path):
        return _of_foreign(path, metrics, columns)
    return _of_csv(path)


def _is_own(path: Path) -> bool:
    """Whether a file is no known file of another program."""
    try:
        with path.open("rb") as file:
            begin = file.read(4096)
    except OSError:
        return True
    head = begin.decode("utf-8", "replace").lstrip()
    is_known = any(word in head for word in ("txTime", "rxTime", "ReceiveRate"))
    return not (head.startswith("{") or begin.startswith(b"\x1f\x8b") or is_known)


def _of_foreign(path: Path, metrics: Sequence[Metric], columns: Sequence[Column]) -> list[Datum]:
    """Values of another program's file, measured with the model's file as it is."""
    flows = read_foreign(path, columns)
    if len(flows) != 1:
        allowed = f"expected one flow, as the model's values are of all together: {list(flows)}"
        raise InputError.of(str(path), "(flows)", str(len(flows)), allowed)
    (found,) = flows.values()
    data = [
        Datum(str(path), {}, metric, known.value, _error(known.error))
        for metric in metrics
        if (known := found.get(metric)) is not None and math.isfinite(known.value)
    ]
    if not data:
        allowed = f"expected values of {', '.join(metrics)}, as calibrate.metrics has them"
        raise InputError.of(str(path), "(data)", ", ".join(found), allowed)
    return data


def _error(error: float) -> float | None:
    return error if math.isfinite(error) and error > 0 else None


def _of_run(path: Path, metrics: Sequence[Metric]) -> list[Datum]:
    points = estimates.read(path)
    live = [point for point in points if point.engine == "live"]
    found = []
    for point in live or points:
        for metric in metrics:
            known = point.estimates.get(metric)
            if known is not None and math.isfinite(known.value):
                error = known.error if math.isfinite(known.error) else None
                found.append(Datum(str(path), dict(point.point), metric, known.value, error))
    if not found:
        allowed = f"expected a run with values of {', '.join(metrics)}"
        raise InputError.of(str(path), "(data)", "none of them", allowed)
    return found


def plca_of_run(
    path: Path, scenario_at: Callable[[Mapping[str, str]], Scenario]
) -> Iterator[Found]:
    """Yield the interfaces with PLCA of the live trials of a run.

    `scenario_at`: gives the scenario of a point, with which they are compared.
    """
    from ethermeter.store import RunDirectory
    from ethermeter.store.measured import complete_results

    points = {
        trial.id: tuple(trial.point.items())
        for trial in RunDirectory(path).trials()
        if trial.engine == LIVE
    }
    scenario_of = cache(lambda point: scenario_at(dict(point)))
    for trial, result in complete_results(path, list(points)):
        yield from interfaces_of(result, scenario_of(points[trial]))


def _of_csv(path: Path) -> list[Datum]:
    file = str(path)
    rows = csv.DictReader(io.StringIO(toml.text_of(path, file=file)), restkey="(more)", strict=True)
    try:
        columns, given = list(rows.fieldnames or ()), list(rows)
    except csv.Error as error:
        raise InputError.of(
            file, f"line {rows.line_num}", shown(str(error)), "expected a CSV file"
        ) from None
    missing = [name for name in ("metric", "value") if name not in columns]
    if missing:
        allowed = (
            "expected the columns metric and value, optionally error, and a dotted key as the name"
            " of each other column"
        )
        raise InputError.of(file, "(head)", ", ".join(columns)[:200] or "(missing)", allowed)
    faults: list[Fault] = []
    found = []
    for number, row in enumerate(given, 2):
        try:
            found.append(_datum(file, row))
        except UnitError as error:
            faults.append(
                Fault(
                    file,
                    f"line {number}",
                    shown(",".join(str(value) for value in row.values())),
                    str(error),
                )
            )
    if faults:
        raise InputError(faults)
    return found


def _datum(file: str, row: Mapping[str, str | None]) -> Datum:
    if "(more)" in row or None in row.values():
        raise UnitError("expected as many values as columns")
    cells = {key: (value or "").strip() for key, value in row.items()}
    name = cells.pop("metric")
    if name not in (known := metrics_of(EntityKind.FLOW)):
        raise UnitError(f"expected a metric of flows: {', '.join(known)}")
    metric = Metric(name)
    value = _number(cells.pop("value"), metric)
    error_text = cells.pop("error", "")
    error = _number(error_text, metric) if error_text else None
    if error is not None and error <= 0:
        raise UnitError("expected an error above zero, or none")
    return Datum(file, {key: text for key, text in cells.items() if text}, metric, value, error)


def _number(text: str, metric: Metric) -> float:
    """Read a value in the metric's unit, or with a unit of its own."""
    unit = metric.unit
    try:
        plain = float(text)
    except ValueError:
        expected = f"a number of {unit or 'no unit'}, or one with a unit"
        found = units.quantity(text, expected=expected)
        dimension, size = SI.get(unit, (None, Fraction(1)))
        if found.dimension is not dimension:
            raise UnitError(f"expected {expected} of the same kind") from None
        return float(found.base / size)
    if not math.isfinite(plain):
        raise UnitError("expected a finite number")
    return plain
