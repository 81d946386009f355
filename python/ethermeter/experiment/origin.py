"""Origins: keys of an experiment file and the values of a scenario that come from them."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_type_hints

from msgspec import Struct

from ethermeter import scenario
from ethermeter.experiment.quantity import Table, as_written, file_keys
from ethermeter.experiment.toml import at
from ethermeter.faults import Fault, Key, KeyPath, dotted, shown
from ethermeter.scenario import FileKey

S = TypeVar("S", bound=Struct)
CoreFault = tuple[Sequence[Key], str | None, str | tuple[int, int]]
"""A fault of the core: keys and indices within a scenario, the value, and what is allowed, which is
words, or the least and the most of an integer.
"""


def _key_of(struct: type[Struct], field: str) -> str:
    """Return the key of a file: one of several ("delay|length"), or none of a table it has not."""
    found = file_keys(struct)[field].name if field in struct.__struct_fields__ else None
    return field if found is None else found


def lowered(struct: type[S], table: Table, **given: object) -> S:
    """Return a table of a file, with its tables, as a struct of a scenario.

    Fields that are given, or that the table does not have, are not read from it.
    """
    fields = type(table).model_fields
    read = {
        name: _value(inner, getattr(table, key))
        for name, inner in _structs(struct).items()
        if name not in given and (key := _key_of(struct, name)) in fields
    }
    return struct(**given, **read)


def _value(struct: type[Struct] | None, value: object) -> object:
    if isinstance(value, list):
        return tuple([_value(struct, each) for each in value])
    if not isinstance(value, Table):
        return value
    assert struct is not None, "a table is read into a struct"
    return lowered(struct, value)


@functools.cache
def _structs(struct: type[Struct]) -> Mapping[str, type[Struct] | None]:
    """Return the struct that each field of a struct may hold; None for other values."""

    def inside(hint: Any) -> Iterator[type[Struct]]:
        if isinstance(hint, type) and issubclass(hint, Struct):
            yield hint
        for each in get_args(hint):
            yield from inside(each)

    hints = get_type_hints(struct)
    return {name: next(inside(hints[name]), None) for name in struct.__struct_fields__}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file sets the values of a node, a link or a flow."""

    path: KeyPath
    """Its table."""
    elsewhere: Mapping[str, KeyPath] = field(default_factory=dict)
    """The table of each key that has its value from another one: a model, or the network."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a file sets the values of a network's nodes, links and flows."""

    nodes: Sequence[Origin] = ()
    links: Sequence[Origin] = ()
    flows: Sequence[Origin] = ()
    stations: Sequence[Sequence[Origin]] = ()
    """Of each segment those of its stations."""

    def key(
        self, steps: Sequence[Key], made: scenario.Scenario, document: object
    ) -> tuple[KeyPath, FileKey]:
        """Return the key of a file (its tables) from which a value of its scenario comes.

        With it, what the file calls the value; `steps` are keys and indices within the scenario.
        """
        match list(steps):
            case ["nodes" | "links" | "flows" as kind, int(number), *rest]:
                origin, value = getattr(self, kind)[number], getattr(made, kind)[number]
                return _key(origin, value, rest, document)
            case ["media", int(medium), "stations", int(number), *_]:
                return self.stations[medium][number].path, FileKey()
            case ["media", int(medium), *_]:
                return ("network", "segments", medium), FileKey()
            case ["batches"]:
                return ("run", "batches"), FileKey()
            case ["phases" | "flows" as top, *_]:
                return (top,), FileKey()
            case ["clocks"]:
                return ("network", "clocks"), FileKey()
            case _:
                return ("network",), FileKey()

    def fault(
        self, found: CoreFault, made: scenario.Scenario, document: object, *, file: str
    ) -> Fault:
        """Return a fault of the core as one of the file."""
        steps, value, allowed = found
        key, of_file = self.key(steps, made, document)
        given = at(document, key)
        if value is None or isinstance(given, str | int | float):
            value = "(missing)" if given is None else shown(given)
        if not isinstance(allowed, str):
            least, most = (as_written(limit, of_file.unit) for limit in allowed)
            allowed = f"expected from {least} to {most}"
        return Fault(file, dotted(key), value, allowed)


def _key(
    origin: Origin, value: Struct, steps: Sequence[Key], document: object
) -> tuple[KeyPath, FileKey]:
    keys, of_file = _keys(value, steps)
    if not keys:
        return origin.path, of_file
    path = origin.elsewhere.get(str(keys[0]).partition("|")[0], origin.path)
    for key in keys:
        table = at(document, path)
        if isinstance(table, str | int | float):
            break  # a plain value, such as the time "1 us" or the name of a shipped model
        names = str(key).split("|")
        given = [name for name in names if isinstance(table, Mapping) and name in table]
        path = (*path, key if isinstance(key, int) else [*given, *names][0])
    return path, of_file


def _keys(value: object, steps: Sequence[Key]) -> tuple[list[Key], FileKey]:
    """Return a path within a value of a scenario in the keys of a file, alternatives included."""
    keys: list[Key] = []
    of_file = FileKey()
    for step in steps:
        if isinstance(step, int):
            keys.append(step)
            value = value[step] if isinstance(value, tuple) and step < len(value) else None
            continue
        of_file, name = FileKey(), step
        attribute = "from_" if step == "from" else step
        if isinstance(value, Struct) and attribute in value.__struct_fields__:
            of_file = file_keys(type(value))[attribute]
            name = step if of_file.name in (None, attribute) else str(of_file.name)
        keys += [key for key in name.split(".") if key]
        value = getattr(value, attribute, None)
    return keys, of_file
