"""Arguments of `ethermeter theory eval MODEL`: names and values, with units, lists and ranges."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethermeter.arguments import ArgumentError, Range
from ethermeter.faults import Fault, InputError, choices
from ethermeter.theory.entry import Model, Symbol
from ethermeter.theory.evaluation import Evaluation
from ethermeter.units import PS_PER_S, Dimension, UnitError, parse

MOST_POINTS = 100_000
"""Combinations that are evaluated at once, and values of one argument."""

MOST_ROWS = 2000
"""The same for models that give a row for each."""

_DIMENSIONS = {
    "s": Dimension.TIME,
    "bit": Dimension.SIZE,
    "bit/s": Dimension.RATE,
    "1/s": Dimension.FREQUENCY,
}
_RANGE = re.compile(r"(.+?)\.\.(.+?)(?:/([0-9]{1,6})(log)?)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)


def evaluate(entry: Model, arguments: Sequence[str]) -> Evaluation:
    """Evaluate a model at all combinations of the values given.

    Parameters
    ----------
    entry
        The model.
    arguments
        Texts `name=value`.

    Raises
    ------
    InputError
        If a name or value is not one of the model's, or something it needs is not given; every
        fault at once.

    """
    given = read(entry, arguments)
    # A mix takes its rows as they are; everything else that has several values is varied.
    mixed = "weights" in given
    rows = {name: values for name, values in given.items() if mixed and _symbol(entry, name).row}
    numbers = {
        name: values
        for name, values in given.items()
        if name not in rows and isinstance(values, list)
    }
    words = {name: value for name, value in given.items() if not isinstance(value, list)}
    points = math.prod(len(values) for values in numbers.values())
    most = MOST_ROWS if any(output.axis for output in entry.outputs) else MOST_POINTS
    if points > most:
        raise InputError.of("command line", "values", f"{points} combinations", f"at most {most}")
    grids = np.meshgrid(*(np.array(values) for values in numbers.values()), indexing="ij")
    flat = {name: grid.reshape(-1) for name, grid in zip(numbers, grids, strict=True)}
    try:
        found = entry.function(
            **flat, **{name: np.array(values) for name, values in rows.items()}, **words
        )
    except ArgumentError as error:
        raise InputError(
            [Fault("command line", fault.key, fault.value, fault.allowed) for fault in error.faults]
        ) from None
    varied = {name: flat[name].tolist() for name, values in numbers.items() if len(values) > 1}
    fixed: dict[str, object] = {
        name: values[0] for name, values in numbers.items() if len(values) == 1
    }
    fields = {
        output.field: np.atleast_1d(np.asarray(getattr(found, output.field), dtype=np.float64))
        for output in entry.outputs
    }
    return Evaluation(
        varied,
        {**fixed, **rows, **words},
        fields,
        np.atleast_1d(np.asarray(found.outside_range)),
        points,
    )


def read(entry: Model, arguments: Sequence[str]) -> dict[str, object]:
    """Return the values by name: a list of numbers, a word, or a flag.

    Raises
    ------
    InputError
        With every fault found.

    """
    faults: list[Fault] = []
    found: dict[str, object] = {}
    known = [symbol.argument for symbol in entry.symbols]
    for argument in arguments:
        name, equals, text = argument.partition("=")
        symbol = entry.symbol(name)
        if not equals:
            faults.append(Fault("command line", "argument", argument, "expected NAME=VALUE"))
        elif symbol is None:
            allowed = f"an argument of {entry.name}: {choices(name, known)}"
            faults.append(Fault("command line", name, text, allowed))
        elif name in found:
            faults.append(Fault("command line", name, text, "expected once"))
        else:
            try:
                found[name] = value(symbol, text.strip())
            except UnitError as error:
                faults.append(Fault("command line", name, text, str(error)))
                found[name] = None
    missing = [
        symbol for symbol in entry.symbols if symbol.required and symbol.argument not in found
    ]
    faults += [
        Fault("command line", symbol.argument, "not given", f"expected {_wanted(symbol)}")
        for symbol in missing
    ]
    if faults:
        raise InputError(faults)
    return found


def _symbol(entry: Model, name: str) -> Symbol:
    symbol = entry.symbol(name)
    assert symbol is not None, "names are checked when they are read"
    return symbol


def _wanted(symbol: Symbol) -> str:
    if not isinstance(symbol.allowed, Range):
        return symbol.range
    dimension = _DIMENSIONS.get(symbol.unit)
    with_unit = (
        f', with a unit as in "{dimension.example}" or in {symbol.unit}' if dimension else ""
    )
    return symbol.range + with_unit


def value(symbol: Symbol, text: str) -> Any:
    """Read a value: numbers with units, lists and ranges, or one of the words allowed.

    Raises
    ------
    UnitError
        If it is none; the message has what was expected.

    """
    if not isinstance(symbol.allowed, Range):
        if text not in symbol.allowed:
            raise UnitError(f"expected {symbol.range}")
        return text == "true" if symbol.is_flag else text
    values: list[float] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        values += _range(symbol, *match.groups()) if match else [_number(symbol, part)]
        if len(values) > MOST_POINTS:
            raise UnitError(f"expected at most {MOST_POINTS} values")
    return values


def _range(
    symbol: Symbol, first: str, last: str, points: str | None, log: str | None
) -> list[float]:
    low, high = _number(symbol, first), _number(symbol, last)
    if points is None:
        if low != math.floor(low) or high != math.floor(high) or not 0 <= high - low < MOST_POINTS:
            raise UnitError(
                f"expected whole numbers from..to, ascending, at most {MOST_POINTS} of them, or "
                "from..to/points"
            )
        return [low + step for step in range(int(high - low) + 1)]
    count = int(points)
    if not 2 <= count <= MOST_POINTS:
        raise UnitError(f"expected from 2 to {MOST_POINTS} points")
    if log is None:
        return [float(value) for value in np.linspace(low, high, count)]
    if not (low > 0 and high > 0):
        raise UnitError("expected ends above zero for points spread evenly by their logarithm")
    return [float(value) for value in np.geomspace(low, high, count)]


def _number(symbol: Symbol, text: str) -> float:
    """Read a number, in the unit of the symbol unless it has one; `units` reads those that have."""
    written = text.strip()
    if _NUMBER.fullmatch(written):
        return float(written)
    dimension = _DIMENSIONS.get(symbol.unit)
    if dimension is None:
        raise UnitError(f"expected {symbol.range}")
    try:
        base = parse(written, dimension)
    except UnitError as error:
        raise UnitError(f"{error}, or a number of {symbol.unit}") from None
    return float(base / PS_PER_S) if dimension is Dimension.TIME else float(base)
