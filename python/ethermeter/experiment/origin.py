"""Origins: keys of an experiment file and the values of a scenario that come from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from ethermeter import scenario
from ethermeter.experiment.quantity import as_written
from ethermeter.experiment.tables import file_keys
from ethermeter.experiment.toml import at
from ethermeter.faults import Fault, Key, KeyPath, dotted, shown
from ethermeter.scenario import FileKey

CoreFault = tuple[Sequence[Key], str | None, str | tuple[int, int]]
"""A fault of the core: keys and indices within a scenario, the value, and what is allowed, which is
words, or the least and the most of an integer.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file sets the values of a node, a link or a flow."""

    path: KeyPath
    """Its table."""
    elsewhere: Mapping[str, KeyPath] = field(default_factory=dict)
    """The table of each key that has its value from another one: a model, or the network."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a file sets the values of a network's nodes, links, media and flows."""

    nodes: Sequence[Origin] = ()
    links: Sequence[Origin] = ()
    flows: Sequence[Origin] = ()
    media: Sequence[KeyPath] = ()
    stations: Sequence[Sequence[Origin]] = ()
    """Of each medium those of its stations."""
    whole: KeyPath = ("network",)

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
            case ["media", int(medium), "stations", int(number), *rest]:
                value = made.media[medium].stations[number]
                return _key(self.stations[medium][number], value, rest, document)
            case ["media", int(medium), *_]:
                return self.media[medium], FileKey()
            case ["batches"]:
                return ("run", "batches"), FileKey()
            case ["phases" | "flows" as top, *_]:
                return (top,), FileKey()
            case ["clocks"]:
                return ("network", "clocks"), FileKey()
            case _:
                return self.whole, FileKey()

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
