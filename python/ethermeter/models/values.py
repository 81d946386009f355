"""Values of the arguments of models: numbers with units, lists and ranges, and words."""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ethermeter.arguments import Range
from ethermeter.faults import ARGUMENTS, Fault, InputError, choices, shown
from ethermeter.theory.entry import MOST_POINTS, Model, Symbol
from ethermeter.units import PS_PER_S, Dimension, UnitError, parse

Values = dict[str, Any]
"""Values by the names of arguments or results, as arrays, numbers or words."""
_DIMENSIONS = {
    "s": Dimension.TIME,
    "bit": Dimension.SIZE,
    "bit/s": Dimension.RATE,
    "1/s": Dimension.FREQUENCY,
}
_RANGE = re.compile(r"(.+?)\.\.(.+?)(?:/([0-9]{1,6})(log)?)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_ONE = "one value"


def read(entry: Model, given: Mapping[str, object]) -> Values:
    """Read the values of the arguments of a model.

    Parameters
    ----------
    entry
        The model.
    given
        Values by name: as `value` takes them.

    Returns
    -------
    :
        By the names of the symbols, in the order in which they were given: a list of numbers or
        words, or one value of what takes no more.

    Raises
    ------
    InputError
        If a name or value is not one of the model's, or something it needs is not given; every
        fault at once.

    """
    faults: list[Fault] = []
    found: Values = {}
    for name, of in given.items():
        symbol = entry.symbol(name)
        if symbol is None:
            known = [each.argument for each in entry.symbols]
            allowed = f"an argument of {entry.name}: {choices(name, known)}"
            faults.append(Fault(ARGUMENTS, name, written(of), allowed))
            continue
        argument = name if "." in name else symbol.argument
        if argument in found:
            faults.append(Fault(ARGUMENTS, name, written(of), "expected once"))
            continue
        try:
            found[argument] = value(symbol, of)
        except UnitError as error:
            faults.append(Fault(ARGUMENTS, name, written(of), str(error)))
            found[argument] = None
    faults += [
        Fault(ARGUMENTS, symbol.argument, "not given", f"expected {_wanted(symbol)}")
        for symbol in entry.symbols
        if symbol.required and symbol.argument not in found
    ]
    if faults:
        raise InputError(faults)
    return found


def value(symbol: Symbol, given: object) -> Any:
    """Read a value of an argument.

    Parameters
    ----------
    symbol
        The argument.
    given
        A number in the unit of the argument, or a text: a number, with a unit or in that of the
        argument; a fraction in %; a list a,b,c; or a range from..to in steps of 1, from..to/50 of
        50 points, or from..to/50log of 50 points that are evenly apart by their logarithms. Of a
        word, one of those allowed, or a list. Several of them as a sequence, too.

    Returns
    -------
    :
        A list; of an argument that takes one value only, that value.

    Raises
    ------
    UnitError
        If it is no such value; the message has what was expected.

    """
    if isinstance(symbol.allowed, str):
        if not isinstance(given, str | Path | int | float):
            raise UnitError(f"expected {symbol.allowed}")
        return _unquoted(str(given))
    values = [each for part in _parts(given) for each in _values(symbol, part)]
    if not 1 <= len(values) <= MOST_POINTS:
        raise UnitError(f"expected from 1 to {MOST_POINTS} values")
    if symbol.single:
        if len(values) > 1:
            raise UnitError(_ONE)
        return values[0]
    return values


def written(given: object) -> str:
    """Return a value as it was written."""
    return given if isinstance(given, str) else shown(given)


def _parts(given: object) -> Iterable[object]:
    """Return the values that stand in a value of Python: it, or those of a sequence."""
    if isinstance(given, str):
        return given.split(",")
    if isinstance(given, np.ndarray):
        return list(given.reshape(-1).tolist())
    if isinstance(given, list | tuple | range):
        return [each for part in given for each in _parts(part)]
    return [given]


def _values(symbol: Symbol, part: object) -> list[Any]:
    if isinstance(symbol.allowed, tuple):
        return [_word(symbol, symbol.allowed, part)]
    assert isinstance(symbol.allowed, Range), "texts have no parts"
    match = _RANGE.fullmatch(part.strip()) if isinstance(part, str) else None
    numbers = _range(symbol, *match.groups()) if match else [_number(symbol, part)]
    if not symbol.allowed.holds(np.asarray(numbers)).all():
        raise UnitError(str(symbol.allowed))
    return numbers


def _word(symbol: Symbol, allowed: tuple[str, ...], part: object) -> str | bool:
    """Read a word, or a flag."""
    text = str(part).lower() if isinstance(part, bool | np.bool_) else str(part).strip()
    if text not in allowed:
        raise UnitError(f"expected {symbol.range}" if symbol.is_flag else choices(text, allowed))
    return text == "true" if symbol.is_flag else text


def _unquoted(text: str) -> str:
    """Return a text as it is compared: a value of a file may stand in quotes."""
    if not text.strip():
        raise UnitError("expected a value")
    return text.strip('"') if text.startswith('"') else text


def _wanted(symbol: Symbol) -> str:
    if not isinstance(symbol.allowed, Range):
        return symbol.range
    dimension = _DIMENSIONS.get(symbol.unit)
    with_unit = (
        f', with a unit as in "{dimension.example}" or in {symbol.unit}' if dimension else ""
    )
    return symbol.range + with_unit


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


def _number(symbol: Symbol, given: object) -> float:
    """Read a number, in the unit of the symbol unless it has one; `units` reads those that have."""
    if isinstance(given, int | float | np.number) and not isinstance(given, bool):
        return _floated(symbol, given)
    text = given.strip() if isinstance(given, str) else ""
    if _NUMBER.fullmatch(text):
        return float(text)
    dimension = _DIMENSIONS.get(symbol.unit)
    if dimension is None:
        # A fraction may be written in percent.
        percent = text.removesuffix("%").rstrip()
        if not symbol.unit and percent != text and _NUMBER.fullmatch(percent):
            return float(percent) / 100
        raise UnitError(f"expected {symbol.range}")
    try:
        base = parse(text, dimension)
    except UnitError as error:
        raise UnitError(f"{error}, or a number of {symbol.unit}") from None
    return float(base / PS_PER_S) if dimension is Dimension.TIME else float(base)


def _floated(symbol: Symbol, number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        raise UnitError(f"expected {symbol.range}") from None
