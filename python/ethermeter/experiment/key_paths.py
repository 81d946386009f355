"""Key paths such as "stations.count": what they name, `--set` overrides, and sweeps of values."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ethermeter import units
from ethermeter.experiment import toml
from ethermeter.experiment.document import MOST_TRIALS, TABLES, tables_of
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.experiment.toml import EVERY, PathError, Tables, assigned
from ethermeter.faults import Fault, Faults, Key, choices, nearest, shown
from ethermeter.units import UnitError

LONGEST_PATH = 8
"""Parts a dotted key may have."""

_LISTED = {"stations": "group of stations", "flows": "flow"}
"""Tables of which a file has several, and what one of them is called."""


def resolved(
    document: Mapping[str, object], parts: Sequence[str], *, tops: Sequence[str] | None = None
) -> tuple[Key, ...]:
    """Return the path of a dotted key, split at its dots, with numbers for groups of stations.

    `tops` are the tables that it may be in, those whose keys can be varied if not given.

    Raises
    ------
    PathError
        If it names no known table, group or key, or begins with none of the tops.

    """
    tops = tables_of(document) if tops is None else tops
    if len(parts) < 2 or parts[0] not in tops or len(parts) > LONGEST_PATH:
        dots = [f"{top}." for top in tops]
        raise PathError(choices(f"{parts[0]}.", dots, "expected a dotted key that begins with "))
    top, rest = parts[0], list(parts[1:])
    path: list[Key] = [top]
    if top in _LISTED:
        group, rest = _group(document, top, rest)
        path.append(group)
    fields = keys_of(table_reader(TABLES[top]))
    if not rest or rest[0] not in fields:
        raise PathError(
            choices(rest[0] if rest else "", fields, f"expected one of the keys of {top}: ")
        )
    if top == "network":
        return (*path, *_named(document.get(top), rest))
    path += [_number(part) for part in rest]
    return tuple(path)


def _number(part: str) -> Key:
    """Return a part of a key as a number if it is one."""
    return int(part) if part.isascii() and part.isdigit() and len(part) < 6 else part


def _names(tables: Sequence[object]) -> list[object]:
    return [table.get("name") if isinstance(table, dict) else None for table in tables]


def _named(tree: object, rest: Sequence[str]) -> list[Key]:
    """Return the rest of a key, with numbers in place of the names of tables in lists."""
    path: list[Key] = []
    for at, key in enumerate(rest):
        part = _number(key)
        if isinstance(tree, list) and key == EVERY and tree:
            tree = tree[0]
        elif isinstance(tree, list):
            names = _names(tree)
            if not isinstance(part, int) and any(name is not None for name in names):
                if key not in names:
                    known = choices(key, [name for name in names if isinstance(name, str)])
                    raise PathError(
                        f"expected {known}, or a number below {len(tree)}, where the key says {key}"
                    )
                part = names.index(key)
            elif not isinstance(part, int) or part >= len(tree):
                raise PathError(f"expected a number below {len(tree)} where the key says {key}")
            tree = tree[int(part)]
        elif (
            at == 1
            and rest[0] == "models"
            and key not in (models := tree if isinstance(tree, dict) else {})
        ):
            known = choices(key, map(str, models), "expected one of the models of this file: ")
            raise PathError(f"{known}; where the key says {key}")
        elif isinstance(tree, dict):
            tree = tree.get(key)
        path.append(part)
    return path


def _group(document: Mapping[str, object], top: str, rest: list[str]) -> tuple[Key, list[str]]:
    """Return which table of several is meant, and the key within it."""
    groups = document.get(top)
    groups = groups if isinstance(groups, list) else []
    names = _names(groups)
    if not groups:
        raise PathError(f"expected at least one {_LISTED[top]}")
    if top == "flows" and rest[0] == EVERY:
        return EVERY, rest[1:]
    fields = keys_of(table_reader(TABLES[top]))
    if rest[0] in fields:
        return 0, rest
    if rest[0] in names:
        return names.index(rest[0]), rest[1:]
    if isinstance(number := _number(rest[0]), int) and number < len(groups):
        return number, rest[1:]
    what = "group" if top == "stations" else "flow"
    known = [name for name in names if isinstance(name, str)]
    near = nearest(rest[0], [*known, *fields])
    raise PathError(
        f"{f'did you mean {near[0]}? E' if near else 'e'}xpected a key of {top}, the name of a "
        f"{what} ({', '.join(known) or 'none'}) or its number below {len(groups)}; keys are "
        f"{', '.join(fields)}"
    )


_LONGEST = 10_000
_QUOTED_TABLES = ("vary", "sources")
_GROUPED_TABLES = ("segment", "stations", "network", "flows", "phases", "run", "search")


def overridden(document: Tables, overrides: Sequence[str]) -> tuple[Tables, list[Fault]]:
    """Return the document with the values set, and the faults of those that could not be.

    An override is a text such as "stations.count=12", "phases.transmit=2 s" or "segment.star={
    radius = '10 m' }". A key that is set is no longer varied.
    """
    result = dict(document)
    faults = []
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or len(text) > _LONGEST:
            allowed = 'expected "key.path=value"'
            faults.append(Fault("--set", key.strip() or "(missing)", shown(text), allowed))
            continue
        try:
            text.encode("utf-8")
            path = _path(result, key.strip())
            changed = assigned(result, path, toml.value_of(value.strip()))
        except (PathError, UnicodeEncodeError) as error:
            allowed = str(error) if isinstance(error, PathError) else "expected UTF-8 text"
            faults.append(Fault("--set", key.strip(), shown(value.strip()), allowed))
            continue
        result = _no_longer_varied(changed if isinstance(changed, dict) else result, path)
    return result, faults


def _path(document: Tables, key: str) -> tuple[Key, ...]:
    parts = _parts(key)
    if len(parts) > LONGEST_PATH:
        raise PathError(f"expected a key of at most {LONGEST_PATH} parts")
    if parts[0] in _QUOTED_TABLES and len(parts) > 1:
        return parts[0], ".".join(parts[1:])
    if parts[0] in _GROUPED_TABLES and len(parts) > 1:
        return resolved(document, parts, tops=_GROUPED_TABLES)
    if len(parts) > 1:
        known = choices(
            parts[0], (*_GROUPED_TABLES, *_QUOTED_TABLES), "expected a key that begins with "
        )
        raise PathError(f"{known}; or title, seed, series, notes")
    return (parts[0],)


def _parts(key: str) -> list[str]:
    """Split a key at its dots; parts in quotes keep theirs."""
    try:
        read: object = tomllib.loads(f"{key} = 0")
    except (ValueError, RecursionError):
        return key.split(".")
    parts: list[str] = []
    while isinstance(read, dict) and len(read) == 1:
        ((part, read),) = read.items()
        parts += part.split(".")
    return parts if read == 0 else key.split(".")


def _no_longer_varied(document: Tables, path: tuple[Key, ...]) -> Tables:
    vary = document.get("vary")
    if not isinstance(vary, dict) or path[0] == "vary":
        return document
    kept = {key: given for key, given in vary.items() if _resolved(document, key) != path}
    return {**document, "vary": kept} if len(kept) < len(vary) else document


def _resolved(document: Tables, key: str) -> tuple[Key, ...] | None:
    try:
        return resolved(document, key.split("."), tops=_GROUPED_TABLES)
    except PathError:
        return None


_ALLOWED = (
    "expected a list of values or { from = …, to = …, step = … }, the dotted key in quotes, such as"
    ' "stations.count"'
)
_RANGE_KEYS = ("from", "to", "step")


@dataclass(frozen=True, slots=True)
class Sweep:
    """A key with the values it goes through."""

    key: str
    """The key as written."""
    path: tuple[Key, ...]
    """Where it stands, a group of stations by its number."""
    values: tuple[object, ...]
    """The values, as an experiment file would have them."""
    texts: tuple[str, ...]
    """The values as text; they name a point."""


class SweepError(ValueError):
    """A range that gives no values; the message says what was allowed."""


def sweeps_of(document: Tables, *, file: str) -> tuple[list[Sweep], list[Fault]]:
    """Return the sweeps of the table `vary` that could be read, and the faults of the others."""
    faults = Faults(file, ("vary",))
    table = document.get("vary", {})
    if not isinstance(table, dict):
        return [], [Fault(file, "vary", shown(table), "expected a table")]
    sweeps: list[Sweep] = []
    taken: dict[tuple[Key, ...], str] = {}
    for key, given in table.items():
        try:
            if "." not in key and isinstance(given, dict):
                raise SweepError(_ALLOWED)
            path = resolved(document, key.split("."))
            values = _values(given)
        except (PathError, SweepError) as error:
            faults.add((key,), shown(given), str(error))
            continue
        texts = tuple(text_of(value) for value in values)
        first = {text: at for at, text in reversed(list(enumerate(texts)))}
        repeated = next((at for at, text in enumerate(texts) if first[text] < at), None)
        if path in taken:
            allowed = f'expected each key once; "{taken[path]}" is the same'
            faults.add((key,), shown(given), allowed)
        elif repeated is not None:
            allowed = "expected different values; this one was there before"
            faults.add((key, repeated), shown(values[repeated]), allowed)
        else:
            sweeps.append(Sweep(key, path, values, texts))
        taken[path] = key
    return sweeps, faults.found


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
