"""Origins: keys of an experiment file and the values of a scenario that come from them."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_type_hints

from msgspec import Struct

from ethermeter import scenario
from ethermeter.experiment.quantity import Table
from ethermeter.experiment.toml import at
from ethermeter.faults import Fault, Key, KeyPath, dotted, shown

S = TypeVar("S", bound=Struct)
KEYS: Mapping[type[Struct], Mapping[str, str]] = {
    scenario.Node: {"kind": ""},
    scenario.Kind: {"host": "", "switch": "", "router": "", "hub": ""},
    scenario.Host: {"overlap_octets": "overlap"},
    scenario.Switch: {
        "overlap_octets": "overlap",
        "queue_frames": "queue",
        "queue_octets": "queue_size",
    },
    scenario.Router: {"queue_frames": "queue"},
    scenario.Hub: {"delay_ps": "delay"},
    scenario.ClockSpec: {
        "offset_ps": "offset",
        "drift_ppb": "drift",
        "offset_spread_ps": "offset_spread",
        "drift_spread_ppb": "drift_spread",
    },
    scenario.Learns: {"age_ps": "age"},
    scenario.Buffer: {"octets": "size"},
    scenario.Pause: {"high_octets": "high", "low_octets": "low"},
    scenario.Stage: {
        "fixed_ps": "fixed",
        "ps_per_octet": "per_byte",
        "extra_octets": "extra",
        "overlap_octets": "overlap",
        "delay_ps": "delay",
        "queue_frames": "queue",
    },
    scenario.Burst: {"octets": "size", "ps": "time"},
    scenario.Coalesce: {"ps": "time"},
    scenario.Class: {
        "quantum_octets": "quantum",
        "idle_slope_bps": "idle_slope",
        "queue_frames": "queue",
        "queue_octets": "queue_size",
    },
    scenario.Shaper: {"rate_bps": "rate", "burst_octets": "burst"},
    scenario.Link: {
        "ps_per_octet": "rate",
        "delay_ps": "delay|length",
        "preamble_octets": "preamble",
        "gap_octets": "gap",
    },
    scenario.End: {"node": "", "module": ""},
    scenario.Flow: {
        "address": "cast",
        "frames": "frames|data",
        "framing": "",
        "codec": "arrivals.coder.codec",
        "queue_frames": "queue",
    },
    scenario.FramingTable: {"udp": ""},
    scenario.Udp: {"mtu_octets": "mtu"},
    scenario.Response: {"frames": "frames|data", "timeout_ps": "timeout"},
    scenario.Transfer: {"job": ""},
    scenario.Stream: {"octets": "size"},
    scenario.File: {
        "octets": "size",
        "block_octets": "block",
        "request_octets": "request",
        "answer_octets": "answer",
    },
    scenario.Tcp: {
        "mtu_octets": "mtu",
        "option_octets": "options",
        "window_octets": "window",
        "send_buffer_octets": "send_buffer",
        "least_timeout_ps": "least_timeout",
        "timeout_margin_ps": "timeout_margin",
        "first_timeout_ps": "first_timeout",
        "read_ps_per_octet": "read_per_byte",
    },
    scenario.Acknowledge: {"ps": "time"},
}
"""Keys of an experiment file by the keys of a scenario, where they differ: one key, one of several
("delay|length"), or none ("") for a table that a file does not have.
"""


def lowered(struct: type[S], table: Table, **given: object) -> S:
    """Return a table of a file, with its tables, as a struct of a scenario.

    Fields that are given, or that the table does not have, are not read from it.
    """
    keys, fields = KEYS.get(struct, {}), type(table).model_fields
    read = {
        name: _value(inner, getattr(table, key))
        for name, inner in _structs(struct).items()
        if name not in given and (key := keys.get(name, name)) in fields
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

    def key(self, path: str, made: scenario.Scenario, document: object) -> KeyPath:
        """Return the key of a file (its tables) from which a value of its scenario comes.

        The path within the scenario is one such as "links[3].delay_ps".
        """
        steps: list[Key] = [int(s) if s.isdigit() else s for s in re.findall(r"\w+", path)]
        match steps:
            case ["nodes" | "links" | "flows" as kind, int(number), *rest]:
                origin, value = getattr(self, kind)[number], getattr(made, kind)[number]
                return _key(origin, value, rest, document)
            case ["media", int(medium), "stations", int(number), *_]:
                return self.stations[medium][number].path
            case ["media", int(medium), *_]:
                return "network", "segments", medium
            case ["batches"]:
                return "run", "batches"
            case ["phases" | "flows" as top, *_]:
                return (top,)
            case ["clocks"]:
                return "network", "clocks"
            case _:
                return ("network",)

    def fault(
        self,
        found: tuple[str, str | None, str],
        made: scenario.Scenario,
        document: object,
        *,
        file: str,
    ) -> Fault:
        """Return a fault of the core (path, value, what is allowed) as one of the file."""
        path, value, allowed = found
        key = self.key(path, made, document)
        given = at(document, key)
        if value is None or isinstance(given, str | int | float):
            value = "(missing)" if given is None else shown(given)
        words = re.sub(r"^must (be )?", "expected ", allowed)
        return Fault(file, dotted(key), value, re.sub(r"[a-z_]+_[a-z]+", _spelled, words))


def _key(origin: Origin, value: Struct, steps: Sequence[Key], document: object) -> KeyPath:
    keys = _keys(value, steps)
    if not keys:
        return origin.path
    path = origin.elsewhere.get(str(keys[0]).partition("|")[0], origin.path)
    for key in keys:
        table = at(document, path)
        if isinstance(table, str | int | float):
            break  # a plain value, such as the time "1 us" or the name of a shipped model
        names = str(key).split("|")
        given = [name for name in names if isinstance(table, Mapping) and name in table]
        path = (*path, key if isinstance(key, int) else [*given, *names][0])
    return path


def _keys(value: object, steps: Sequence[Key]) -> list[Key]:
    """Return a path within a value of a scenario in the keys of a file, alternatives included."""
    if not steps:
        return []
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return [step, *_keys(value[step] if isinstance(value, tuple) else None, rest)]
    fields = getattr(value, "__struct_fields__", ())
    attribute = "from_" if step == "from" else step
    if fields and attribute not in fields:
        # The path of the core leaves out which variant of a choice is set.
        chosen = next((name for name in fields if getattr(value, name) is not None), "")
        return _keys(getattr(value, chosen, None), steps)
    spelled = KEYS.get(type(value), {}).get(step, step) if isinstance(value, Struct) else step
    keys: list[Key] = [key for key in spelled.split(".") if key]
    return [*keys, *_keys(getattr(value, attribute, None), rest)]


_SPELLED = {name: key for keys in KEYS.values() for name, key in keys.items() if "_" in name}


def _spelled(match: "re.Match[str]") -> str:
    """Return a key of a scenario in a text as a file spells it."""
    return _SPELLED.get(match.group(), match.group()).partition("|")[0]
