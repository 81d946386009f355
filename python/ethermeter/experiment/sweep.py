"""Sweeps: the values a key goes through."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ethermeter import units
from ethermeter.experiment import toml
from ethermeter.experiment.document import MOST_TRIALS, form_of
from ethermeter.experiment.key_paths import resolved
from ethermeter.experiment.toml import PathError, Tables
from ethermeter.faults import Fault, Key, dotted, shown
from ethermeter.units import UnitError

_ALLOWED = (
    "expected a list of values or { from = …, to = …, step = … }, the dotted key in quotes, such as"
    ' "stations.count"'
)
_RANGE_KEYS = ("from", "to", "step")


@dataclass(frozen=True, slots=True)
class Sweep:
    """A key with the values it goes through.

    Parameters
    ----------
    key
        The key as written.
    path
        Where it stands, a group of stations by its number.
    values
        The values, as an experiment file would have them.
    texts
        The values as text; they name a point.

    """

    key: str
    path: tuple[Key, ...]
    values: tuple[object, ...]
    texts: tuple[str, ...]


class SweepError(ValueError):
    """A range that gives no values; the message says what was allowed."""


def sweeps_of(document: Tables, *, file: str) -> tuple[list[Sweep], list[Fault]]:
    """Read the table `vary`.

    Returns
    -------
    :
        The sweeps that could be read, and the faults of the others.

    """
    table = document.get("vary", {})
    if not isinstance(table, dict):
        return [], [Fault(file, "vary", shown(table), "expected a table")]
    tops = tuple(form_of(document).tables)
    sweeps: list[Sweep] = []
    faults: list[Fault] = []
    taken: dict[tuple[Key, ...], str] = {}
    for key, given in table.items():
        place = dotted(("vary", key))
        try:
            if "." not in key and isinstance(given, dict):
                raise SweepError(_ALLOWED)
            path = resolved(document, key.split("."), tops=tops)
            values = _values(given)
        except (PathError, SweepError) as error:
            faults.append(Fault(file, place, shown(given), str(error)))
            continue
        texts = tuple(text_of(value) for value in values)
        if path in taken:
            faults.append(
                Fault(
                    file,
                    place,
                    shown(given),
                    f'expected each key once; "{taken[path]}" is the same',
                )
            )
        elif (twice := _first_twice(texts)) is not None:
            faults.append(
                Fault(
                    file,
                    dotted(("vary", key, twice)),
                    shown(values[twice]),
                    "expected different values; this one was there before",
                )
            )
        else:
            sweeps.append(Sweep(key, path, values, texts))
        taken[path] = key
    return sweeps, faults


def text_of(value: object) -> str:
    """Return a value as the text that names a point."""
    if isinstance(value, str):
        return " ".join(value.split())
    return toml.inline(value)


def _values(given: object) -> tuple[object, ...]:
    if isinstance(given, list):
        if not 1 <= len(given) <= MOST_TRIALS:
            raise SweepError(f"expected from 1 to {MOST_TRIALS} values, got {len(given)}")
        return tuple(given)
    if not isinstance(given, dict) or not {"from", "to"} <= set(given) <= set(_RANGE_KEYS):
        raise SweepError(_ALLOWED)
    ends = [given[key] for key in _RANGE_KEYS if key in given]
    if all(isinstance(end, str) for end in ends):
        return _quantities(ends)
    if all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
        return _numbers(ends)
    raise SweepError("expected from, to and step all as numbers or all as texts with the same unit")


def _numbers(ends: Sequence[float]) -> tuple[int | float, ...]:
    if not all(
        math.isfinite(end) and abs(end) <= 1e15 for end in ends if isinstance(end, float)
    ) or any(abs(end) > 10**15 for end in ends):
        raise SweepError("expected finite numbers up to 1e15")
    whole = all(isinstance(end, int) for end in ends)
    if len(ends) == 2 and not whole:
        raise SweepError("expected a step, for the values are not integers")
    steps = _steps([units.exact(end) for end in (*ends, 1)][:3])
    return tuple(int(step) if whole else float(step) for step in steps)


def _quantities(ends: Sequence[str]) -> tuple[str, ...]:
    if len(ends) < 3:
        raise SweepError("expected a step, for the values have a unit")
    try:
        read = [units.quantity(end) for end in ends]
    except UnitError as error:
        raise SweepError(str(error)) from None
    if len({quantity.unit for quantity in read}) != 1:
        raise SweepError("expected the same unit in from, to and step")
    return tuple(
        f"{units.decimal_text(number)} {read[0].unit}"
        for number in _steps([quantity.number for quantity in read])
    )


def _steps(ends: Sequence[Fraction]) -> list[Fraction]:
    first, last, step = ends
    if step <= 0:
        raise SweepError("expected a step above zero")
    if last < first:
        raise SweepError("expected to at or above from")
    # Counted before any is made: a step of 1e-30 must not fill the memory.
    count = (last - first) // step + 1
    if count > MOST_TRIALS:
        raise SweepError(f"expected at most {MOST_TRIALS} values, got {count}")
    return [first + step * index for index in range(int(count))]


def _first_twice(texts: Sequence[str]) -> int | None:
    seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen:
            return index
        seen.add(text)
    return None
