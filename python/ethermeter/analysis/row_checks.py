"""Checks of answers that are tables: conditions on the values of their rows, by name.

A value is a number in a column, such as `utilisation`, or that of a row that names its metric. A
column may say its unit by its name, as `goodput_bps` does; the condition names `goodput` then.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ethermeter.analysis.checks import Check, verdict_of
from ethermeter.analysis.conditions import DIMENSIONS, ConditionError, limit_of, parts_of
from ethermeter.faults import InputError, choices
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate
from ethermeter.units import UNITS, UnitError, quantity

Row = Mapping[str, object]
_SUFFIXES = {"_s": "s", "_bps": "bit/s"}
"""Units that a column has in its name."""
_BASES = {dimension: (unit, size) for unit, (dimension, size) in DIMENSIONS.items()}
"""SI unit of quantities, and how many base units of `ethermeter.units` are one of it."""
_ENDS = ("low", "high")
_INTERVAL = {"value", *_ENDS}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of an answer.

    `name`: as a condition names it. `labels`: of what it is. `unit`: of the estimate, an SI unit or
    none.
    """

    name: str
    labels: tuple[str, ...]
    unit: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A value, whose it is, and the limit that it must not meet; `of`: empty for every row."""

    of: str
    name: str
    relation: str
    limit: str

    def __str__(self) -> str:
        """Return the condition as text."""
        of = f"{self.of}: " if self.of else ""
        return f"{of}{self.name} {self.relation} {self.limit}"

    def refused(self, allowed: str) -> InputError:
        """Return the error of the condition; `allowed`: what was instead."""
        return InputError.of_argument("fail_if", str(self), allowed)


def conditions_of(texts: Sequence[str]) -> tuple[RowCondition, ...]:
    """Return the conditions of texts; InputError of one that is none."""
    found = []
    for text in texts:
        try:
            of, name, relation, limit = parts_of(text)
        except ConditionError as error:
            raise InputError.of_argument("fail_if", text, str(error)) from None
        bare, _ = _with_unit(name)
        found.append(RowCondition(of, bare, relation, limit))
    return tuple(found)


def require(
    conditions: Iterable[RowCondition], names: Collection[str], *, elsewhere: str = ""
) -> None:
    """Refuse conditions on values that are not among these names, with the names.

    `elsewhere`: which answer has others.
    """
    for each in conditions:
        if each.name not in names:
            more = f"; {elsewhere}" if elsewhere else ""
            known = choices(each.name, names)
            raise each.refused(f"expected a value of the answer: {known}{more}")


def checks(
    conditions: Sequence[RowCondition], rows: Iterable[Row], labels: Sequence[str]
) -> tuple[Check, ...]:
    """Judge conditions on the values of rows.

    Parameters
    ----------
    labels
        The columns that say of what a row is, such as `flow`.

    Raises
    ------
    InputError
        If there is no such value or row, or the limit is not in the unit of the value.

    """
    values = [value for row in rows for value in values_of(row, labels)]
    require(conditions, dict.fromkeys(value.name for value in values))
    return tuple(check for each in conditions for check in _judged(each, values))


def values_of(row: Row, labels: Sequence[str]) -> Iterator[Value]:
    """Yield the values of a row: one if it names its metric, else those of its columns."""
    of = tuple(_text(row[label]) for label in labels if row.get(label) not in (None, ""))
    metric = row.get("metric")
    if isinstance(metric, str) and "value" in row:
        about = {name: row.get(name) for name in _INTERVAL}
        own = Metric(metric).unit if metric in set(Metric) else ""
        unit = str(row.get("unit") or own)  # a benchmark has losses in per cent
        yield from _value(str(metric), of, unit, about)
        return
    for column, value in row.items():
        if column in labels:
            continue
        name, unit = _with_unit(column)
        if column in set(Metric):
            unit = Metric(column).unit
        elif not unit and metric in set(Metric):
            unit = Metric(str(metric)).unit
        yield from _value(name, of, unit, value)


def _value(name: str, of: tuple[str, ...], unit: str, value: object) -> Iterator[Value]:
    """Yield a value in its SI unit; nothing of what is no number."""
    entry = value if isinstance(value, Mapping) else {"value": value}
    if not set(entry) >= {"value"} or not set(entry) <= _INTERVAL:
        return
    numbers = {key: _number(each) for key, each in entry.items()}
    if any(each is None for each in numbers.values()):
        return
    found, low, high = (numbers.get(key) for key in ("value", *_ENDS))
    given = {each[1] for each in (found, low, high) if each is not None and each[1]}
    unit, size = _base(unit or next(iter(given), ""))
    scaled = [
        math.nan if each is None else each[0] * (1 if each[1] else size)
        for each in (found, low, high)
    ]
    ends = (scaled[1], scaled[2]) if math.isfinite(scaled[1] + scaled[2]) else None
    yield Value(name, of, unit, Estimate(scaled[0], math.nan, math.nan, ends=ends))


def _number(value: object) -> tuple[float, str] | None:
    """Return a number and its SI unit, of a text with a unit; NaN of None; None of other texts."""
    if value is None:
        return math.nan, ""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    try:
        return float(str(value)), ""
    except ValueError:
        pass
    try:
        read = quantity(str(value))
    except UnitError:
        return None
    unit, size = _BASES.get(read.dimension, ("", 1.0))
    return float(read.base) / size, unit


def _base(unit: str) -> tuple[str, float]:
    """Return the SI unit of a unit, and how many of it are one; none of what is counted."""
    if unit == "%":
        return "", 0.01
    if unit in {base for base, _ in _BASES.values()}:
        return unit, 1.0
    if unit not in UNITS:
        return "", 1.0
    dimension, size = UNITS[unit]
    base, per_base = _BASES.get(dimension, ("", 1.0))
    return base, float(size) / per_base


def _with_unit(column: str) -> tuple[str, str]:
    """Return the name of a value, and the unit that its column has in its name."""
    name = column.replace(".", "_")
    for suffix, unit in _SUFFIXES.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), unit
    return name, ""


def _text(label: object) -> str:
    if isinstance(label, Mapping):
        return ", ".join(f"{key} = {value}" for key, value in label.items())
    return str(label)


def _judged(wanted: RowCondition, values: Sequence[Value]) -> Iterator[Check]:
    named = [value for value in values if value.name == wanted.name]
    chosen = [value for value in named if not wanted.of or _is_of(value, wanted.of)]
    if not chosen:
        known = dict.fromkeys(label for value in named for label in value.labels)
        raise wanted.refused(f"expected what has {wanted.name}: {choices(wanted.of, known)}")
    for value in chosen:
        try:
            limit = limit_of(wanted.limit, value.unit, wanted.name)
        except ConditionError as error:
            raise wanted.refused(str(error)) from None
        yield Check(
            condition=str(wanted),
            metric=value.name,
            name=", ".join(value.labels),
            series="",
            point={},
            engine="",
            value=value.estimate,
            verdict=verdict_of(value.estimate, wanted.relation, limit),
            unit=value.unit,
        )


def _is_of(value: Value, name: str) -> bool:
    """Whether a value is of a label; flows of a table begin with its name."""
    return any(label == name or label.startswith(f"{name} ") for label in value.labels)
