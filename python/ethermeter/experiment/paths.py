"""Paths: dotted keys such as "stations.count", and values set at them without changing the
original.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ethermeter.experiment.assumptions import Theory
from ethermeter.experiment.complaints import Part, fields_of
from ethermeter.experiment.flows import Flow
from ethermeter.experiment.network import Network
from ethermeter.experiment.phases import Phases, Run
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup

LONGEST_PATH = 8
"""Parts a dotted key may have."""

EVERY = "*"
"""Stands for every table of a list, flows and parts of networks."""

_TOP: dict[str, type[BaseModel]] = {
    "segment": Segment,
    "stations": StationGroup,
    "network": Network,
    "flows": Flow,
    "phases": Phases,
    "theory": Theory,
    "run": Run,
}
_LISTED = {"stations": "group of stations", "flows": "flow"}
"""Tables of which a file has several, and what one of them is called."""


class PathError(ValueError):
    """A dotted key that leads nowhere; the message says what was allowed."""


def resolved(
    document: Mapping[str, Any], parts: Sequence[str], *, tops: Sequence[str]
) -> tuple[Part, ...]:
    """Return the path of a dotted key, with a group of stations as its number.

    Parameters
    ----------
    document
        The experiment file, as read.
    parts
        The key, split at its dots.
    tops
        Tables the key may begin with.

    Raises
    ------
    PathError
        If it names no known table, group or key.

    """
    if len(parts) < 2 or parts[0] not in tops or len(parts) > LONGEST_PATH:
        raise PathError(
            f"expected a dotted key that begins with {', '.join(f'{top}.' for top in tops)}"
        )
    top, rest = parts[0], list(parts[1:])
    path: list[Part] = [top]
    if top in _LISTED:
        group, rest = _group(document, top, rest)
        path.append(group)
    fields = fields_of(_TOP[top])
    if not rest or rest[0] not in fields:
        raise PathError(f"expected one of the keys of {top}: {', '.join(fields)}")
    if top == "network":
        return (*path, *_named(document.get(top), rest))
    path += [_number(part) for part in rest]
    return tuple(path)


def _number(part: str) -> Part:
    """Return a part of a key as a number if it is one."""
    return int(part) if part.isascii() and part.isdigit() and len(part) < 6 else part


def _names(tables: Sequence[object]) -> list[object]:
    return [table.get("name") if isinstance(table, dict) else None for table in tables]


def _named(tree: object, rest: Sequence[str]) -> list[Part]:
    """Return the rest of a key with the tables of lists by their number, where the key has their
    names.
    """
    path: list[Part] = []
    for at, key in enumerate(rest):
        part = _number(key)
        if isinstance(tree, list) and key == EVERY and tree:
            tree = tree[0]
        elif isinstance(tree, list):
            names = _names(tree)
            if not isinstance(part, int) and any(name is not None for name in names):
                if key not in names:
                    known = ", ".join(str(name) for name in names if isinstance(name, str))
                    raise PathError(
                        f"expected one of {known}, or a number below {len(tree)}, where the key says {key}"
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
            raise PathError(
                f"expected one of the models of this file: {', '.join(map(str, models)) or 'none'}; where the key says {key}"
            )
        elif isinstance(tree, dict):
            tree = tree.get(key)
        path.append(part)
    return path


def _group(document: Mapping[str, Any], top: str, rest: list[str]) -> tuple[Part, list[str]]:
    """Return which table of several is meant, and the key within it."""
    groups = document.get(top)
    groups = groups if isinstance(groups, list) else []
    names = _names(groups)
    if not groups:
        raise PathError(f"expected at least one {_LISTED[top]}")
    if top == "flows" and rest[0] == EVERY:
        return EVERY, rest[1:]
    fields = fields_of(_TOP[top])
    if rest[0] in fields:
        return 0, rest
    if rest[0] in names:
        return names.index(rest[0]), rest[1:]
    if rest[0].isascii() and rest[0].isdigit() and len(rest[0]) < 6 and int(rest[0]) < len(groups):
        return int(rest[0]), rest[1:]
    known = ", ".join(str(name) for name in names if isinstance(name, str)) or "none"
    what = "group" if top == "stations" else "flow"
    raise PathError(
        f"expected a key of {top}, the name of a {what} ({known}) or its number below {len(groups)}; keys are {', '.join(fields)}"
    )


def assigned(tree: object, path: Sequence[Part], value: object) -> object:
    """Return a copy of the tree with a value set; only the tables on the way are copied.

    Raises
    ------
    PathError
        If something on the way is no table.

    """
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(tree, list):
        if head == EVERY:
            return [assigned(item, rest, value) for item in tree]
        if not isinstance(head, int) or head >= len(tree):
            raise PathError(f"expected an index below {len(tree)} where the key says {head}")
        return [
            assigned(item, rest, value) if index == head else item
            for index, item in enumerate(tree)
        ]
    if isinstance(tree, dict):
        key = str(head)
        return {**tree, key: assigned(tree.get(key, {}), rest, value)}
    raise PathError(f"expected a table for the key {head} to stand in")


def covers(path: Sequence[Part], place: Sequence[Part]) -> bool:
    """Whether what stands at a place is at or below what a path speaks of."""
    return len(path) <= len(place) and all(
        part in (EVERY, of) for part, of in zip(path, place, strict=False)
    )


def at(tree: object, path: Sequence[Part]) -> object:
    """Return what stands at a path, None if nothing does."""
    for part in path:
        if isinstance(tree, dict):
            tree = tree.get(str(part))
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            return None
    return tree
