"""Evaluation: a model's values at all combinations of the values of its arguments."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethermeter.arguments import OUTSIDE
from ethermeter.faults import ARGUMENTS, Fault, InputError
from ethermeter.models import values
from ethermeter.models.values import Values
from ethermeter.theory.entry import Model


@dataclass(frozen=True, slots=True)
class Point:
    """What a model gives for one combination of values."""

    given: Values  # Values of the arguments, in SI units
    # What the model gives, in SI units; None where it is undefined. Some results are lists.
    found: Values
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model's values at all combinations of what was given."""

    model: str  # Its name
    units: Mapping[str, str]  # Units of arguments and results by name; empty without one
    fixed: Values  # Values of the arguments that are the same at all points
    confidence: Mapping[str, str]  # How sure the numbers are that a word stands for, by the word
    points: tuple[Point, ...]

    @property
    def any_outside(self) -> bool:
        """Whether any point is outside the model's range."""
        return any(OUTSIDE in point.cautions for point in self.points)

    def rows(self) -> Iterator[Values]:
        """Yield a row for each point: what varies, what was found, and cautions."""
        for point in self.points:
            given = {
                f"given.{name}" if name in point.found else name: value
                for name, value in point.given.items()
            }
            yield {**given, **point.found, "cautions": list(point.cautions)}


@dataclass(frozen=True, slots=True)
class _Part:
    """Points with the same words: values of arguments, and results, one a point."""

    given: Values  # What is the same at all points is no list
    found: Mapping[str, Sequence[Any]]
    outside: Sequence[bool]


def evaluate(entry: Model, given: Mapping[str, object]) -> Evaluation:
    """Evaluate a model at all combinations of the values given.

    Parameters
    ----------
    entry
        The model.
    given
        Values of its arguments by name, as `ethermeter.models.values.value` takes them.

    Raises
    ------
    InputError
        If a name or value is not one of the model's, something it needs is not given, or the model
        has no value there.

    """
    read = _completed(entry, values.read(entry, given))
    # A mix takes its rows as they are; everything else that has several values is varied.
    rows = {name: read.pop(name) for name in _rows(entry, read)}
    words = {name: of for name, of in read.items() if _is_word(entry, name)}
    numbers = {name: of for name, of in read.items() if name not in words}
    refuse_many(entry, read)
    grids = np.meshgrid(*(np.array(of) for of in numbers.values()), indexing="ij")
    flat = {name: grid.reshape(-1) for name, grid in zip(numbers, grids, strict=True)}
    parts = [
        _part(entry, flat, rows, dict(zip(words, chosen, strict=True)))
        for chosen in itertools.product(*words.values())
    ]
    return _together(entry, parts, {name for name, of in read.items() if len(of) > 1}, rows)


def refuse_many(entry: Model, read: Values) -> None:
    """Refuse more combinations of values than a model takes at once.

    Raises
    ------
    InputError
        If there are more.

    """
    points = math.prod(len(of) for of in read.values() if isinstance(of, list))
    if points > entry.most_points:
        allowed = f"at most {entry.most_points}"
        raise InputError.of_argument("values", f"{points} combinations", allowed)


def _completed(entry: Model, read: Values) -> Values:
    """Return what was given, after what is shown always, which has its default unless given."""
    shown = {
        symbol.argument: read.get(symbol.argument, [symbol.default])
        for symbol in entry.symbols
        if symbol.always and (symbol.argument in read or symbol.default is not None)
    }
    return shown | {name: of for name, of in read.items() if name not in shown}


def _rows(entry: Model, read: Mapping[str, object]) -> list[str]:
    rows = [symbol.argument for symbol in entry.symbols if symbol.row and symbol.argument in read]
    return rows if "weights" in read else []


def _is_word(entry: Model, name: str) -> bool:
    symbol = entry.symbol(name)
    return symbol is not None and isinstance(symbol.allowed, tuple)


def _part(entry: Model, flat: Values, rows: Values, words: Values) -> _Part:
    """Evaluate a model for numbers, one a point, and one word each."""
    count = next((of.size for of in flat.values()), 1)
    mixed = {name: np.array(of) for name, of in rows.items()}
    try:
        made = entry.function(**flat, **mixed, **words)
    except InputError as error:
        raise InputError(_named(entry, fault) for fault in error.faults) from None
    results = [output.field for output in entry.outputs]
    found = (
        dict(made)
        if isinstance(made, Mapping)
        else {name: getattr(made, name) for name in (*results, "outside_range")}
    )
    outside = np.broadcast_to(found.pop("outside_range", False), count).tolist()
    # What follows from words is an argument that was left out.
    follows = {name: of for name, of in found.items() if name not in results}
    given: Values = {name: of.tolist() for name, of in flat.items()} | dict(words)
    given |= {
        name: of if isinstance(of, str) else [float(of)] * count for name, of in follows.items()
    }
    return _Part(
        given,
        {name: _column(of, count) for name, of in found.items() if name in results},
        outside,
    )


def _named(entry: Model, fault: Fault) -> Fault:
    """Return a fault of the function as one of the argument."""
    symbol = entry.symbol(fault.key)
    key = fault.key if symbol is None else symbol.argument
    return Fault(ARGUMENTS, key, fault.value, fault.allowed)


def _column(found: Any, count: int) -> list[Any]:
    """Return a result at each point; what is undefined is None, and the end of a row left out."""
    array = np.asarray(found, dtype=np.float64)
    shape = (count, *array.shape[1:]) if array.ndim else (count,)
    return [_bare(value) for value in np.broadcast_to(array, shape)]


def _bare(value: Any) -> Any:
    if getattr(value, "ndim", 0):
        row = [_bare(item) for item in value]
        while row and row[-1] is None:
            row.pop()
        return row
    return float(value) if math.isfinite(value) else None


def _together(entry: Model, parts: Sequence[_Part], varied: set[str], rows: Values) -> Evaluation:
    """Put points together, with the arguments that say which each is."""
    always = {symbol.argument for symbol in entry.symbols if symbol.always}
    first = parts[0].given
    columns = [
        name
        for name, of in first.items()
        if name in varied or (name in always and isinstance(of, list))
    ]
    # Words that vary say first which point it is.
    columns.sort(key=lambda name: isinstance(first[name], list))
    fixed = {
        name: of[0] if isinstance(of, list) else of
        for name, of in first.items()
        if name not in columns
    }
    said = {of for part in parts for of in part.given.values() if isinstance(of, str)}
    units = {symbol.argument: symbol.unit for symbol in entry.symbols}
    return Evaluation(
        entry.name,
        units | {output.field: output.unit for output in entry.outputs},
        fixed | dict(rows),
        {each.name: each.confidence for each in entry.data if each.name in said},
        tuple(point for part in parts for point in _points(part, columns)),
    )


def _points(part: _Part, columns: Sequence[str]) -> Iterator[Point]:
    for at, outside in enumerate(part.outside):
        given = {
            name: of[at] if isinstance(of := part.given[name], list) else of for name in columns
        }
        found = {name: of[at] for name, of in part.found.items()}
        yield Point(given, found, (OUTSIDE,) if outside else ())
