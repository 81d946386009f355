"""CSV files of other programs by a mapping of columns to metrics."""

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ethermeter import units
from ethermeter.analysis.samples import merged, ratio, samples_of
from ethermeter.faults import InputError, choices, shown
from ethermeter.metrics import EntityKind, Metric, metrics_of, percentiles
from ethermeter.results.interval import Estimate, Floats
from ethermeter.units import Dimension

MOST_ROWS = 10_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column as samples of a metric.

    Parameters
    ----------
    metric
        What its values are samples of, one row after the other in the order of time.
    name
        Its name in the head.
    factor
        SI units of one of its units.
    less
        Name of a column that is subtracted from it; empty for none.

    """

    metric: Metric
    name: str
    factor: float = 1.0
    less: str = ""


SOCKPERF: tuple[tuple[Column, ...], ...] = (
    (Column(Metric.ROUND_TRIP, "rxTime(sec)", 1.0, "txTime(sec)"),),
    (Column(Metric.ROUND_TRIP, "rxTime", 1.0, "txTime"),),
)
"""Columns of `sockperf ping-pong --full-log`, which has a table for each server."""
PRESETS: tuple[tuple[Column, ...], ...] = (
    *SOCKPERF,
    # ns-3, examples/routing/manet-routing-compare.cc: a row each second
    (
        Column(Metric.DATA_RATE, "ReceiveRate", 1000.0),
        Column(Metric.MESSAGE_RATE, "PacketsReceived"),
    ),
)
"""Columns of known files: of the first whose columns are all in the head."""
SI = {
    "s": (Dimension.TIME, Fraction(units.PS_PER_S)),
    "bit/s": (Dimension.RATE, Fraction(1)),
    "1/s": (Dimension.FREQUENCY, Fraction(1)),
}
"""Dimension of a metric's unit, and its size in that dimension's base unit."""


_IPERF2 = re.compile(r"(?:[^,]*,){5}\d+,\d+\.\d+-\d+\.\d+,\d+,\d+(?:,[^,]*){0,5}", re.ASCII)
"""A line of `iperf -y C`: time, two addresses with ports, number, interval, octets, rate; of UDP
jitter and losses follow, which are zeros where a sender wrote it.
"""


def parse_columns(text: str) -> tuple[Column, ...]:
    """Read a mapping METRIC=COLUMN[-COLUMN][:UNIT], several with commas.

    Examples
    --------
    >>> parse_columns("data_rate=rx:kb/s")[0].factor
    1000.0
    """
    return tuple(_column(part) for part in text.split(","))


def _column(part: str) -> Column:
    allowed = "expected METRIC=COLUMN[-COLUMN][:UNIT], such as data_rate=ReceiveRate:kb/s"
    name, equals, rest = part.strip().partition("=")
    known = [*metrics_of(EntityKind.FLOW), *metrics_of(EntityKind.PEER)]
    if not equals:
        raise InputError.of_argument("columns", part, allowed)
    if name not in known:
        named = choices(name, known, "a metric of flows: ")
        raise InputError.of_argument("columns", part, named)
    metric = Metric(name)
    column, _, unit = rest.partition(":")
    column, _, less = column.partition("-")
    if not column.strip():
        raise InputError.of_argument("columns", part, allowed)
    return Column(metric, column.strip(), _factor(metric, unit.strip(), part), less.strip())


def _factor(metric: Metric, unit: str, part: str) -> float:
    if not unit:
        return 1.0
    if unit == "%" and not metric.unit:
        return 0.01
    try:
        found = units.quantity(f"1 {unit}", expected="a unit")
    except units.UnitError as error:
        raise InputError.of_argument("columns", part, str(error)) from None
    dimension, size = SI.get(metric.unit, (None, Fraction(1)))
    if found.dimension is not dimension:
        allowed = f"expected a unit of {metric}: {metric.unit or 'none, or %'}"
        raise InputError.of_argument("columns", part, allowed)
    return float(found.base / size)


def read_columns(text: str, file: str, columns: Sequence[Column]) -> list[dict[Metric, Estimate]]:
    """Return the estimates of each table of a CSV file: lines before its head are left out.

    A file has one table, but that of sockperf one for each server.
    """
    lines = text.splitlines()
    if lines and _IPERF2.fullmatch(lines[0]):
        allowed = "expected iperf3 --json: a file of iperf 2 does not say which end wrote it"
        raise InputError.of(file, "line 1", shown(lines[0]), allowed)
    wanted = [tuple(columns)] if columns else list(PRESETS)
    for at, line in enumerate(lines):
        head = _cells(line)
        for mapping in wanted:
            names = {name for each in mapping for name in (each.name, each.less) if name}
            if not names <= set(head):
                continue
            if mapping in SOCKPERF:
                heads = [of for of in range(at, len(lines)) if _cells(lines[of]) == head]
                tables = [(of + 1, _end(lines, of + 1)) for of in heads]
            else:
                tables = [(at + 1, len(lines))]
            return [
                _estimates(lines[begin:end], head, mapping, file, begin + 1)
                for begin, end in tables
            ]
    given = "; ".join(", ".join(each.name for each in mapping) for mapping in wanted)
    glimpse = lines[0][:100] if lines else "(empty)"
    allowed = f"expected a head with the columns {given}; columns maps others"
    raise InputError.of(file, "(head)", glimpse, allowed)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.lstrip("#").split(",")]


def _end(lines: Sequence[str], begin: int) -> int:
    """Return where a table of sockperf ends: at a line of dashes, or with the file."""
    return next((at for at in range(begin, len(lines)) if lines[at].startswith("---")), len(lines))


def _estimates(
    lines: Sequence[str], head: Sequence[str], mapping: Sequence[Column], file: str, first: int
) -> dict[Metric, Estimate]:
    if len(lines) > MOST_ROWS:
        raise InputError.of(file, "(rows)", str(len(lines)), f"expected at most {MOST_ROWS}")
    places = [
        (head.index(each.name), head.index(each.less) if each.less else -1) for each in mapping
    ]
    samples: list[list[float]] = [[] for _ in mapping]
    try:
        for number, row in enumerate(csv.reader(lines), first):
            if not row or row[0].lstrip().startswith(("#", "--")):
                continue
            if [cell.strip() for cell in row] == list(head):
                allowed = "expected one head: one table in each file"
                raise InputError.of(file, f"line {number}", "another head", allowed)
            for found, each, (at, less) in zip(samples, mapping, places, strict=True):
                value = _cell(row, at, number, file)
                if less >= 0:
                    value -= _cell(row, less, number, file)
                if value < 0:
                    text = shown(",".join(row))
                    raise InputError.of(
                        file, f"line {number}", text, f"expected {each.name} from 0"
                    )
                found.append(value * each.factor)
    except csv.Error as error:
        raise InputError.of(file, "(rows)", str(error), "expected a CSV file") from None
    if not samples[0]:
        raise InputError.of(file, "(rows)", "none", "expected at least one row after the head")
    return {
        metric: estimate
        for each, found in zip(mapping, samples, strict=True)
        for metric, estimate in _of_samples(each.metric, np.array(found)).items()
    }


def _of_samples(metric: Metric, samples: Floats) -> dict[Metric, Estimate]:
    try:
        percentiles(metric)
    except ValueError:
        return {metric: ratio(merged(samples), merged(np.ones(len(samples))))}
    return samples_of(metric, samples)


def _cell(row: Sequence[str], at: int, number: int, file: str) -> float:
    try:
        value = float(row[at])
    except (IndexError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        text = shown(",".join(row))
        raise InputError.of(file, f"line {number}", text, "expected numbers in mapped columns")
    return value
