"""Paths: dotted keys such as "stations.count", and values set at them without changing the original."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ethermeter.experiment.assumptions import Theory
from ethermeter.experiment.complaints import Part
from ethermeter.experiment.phases import Phases, Run
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup

LONGEST_PATH = 8
"""Parts a dotted key may have."""

_TOP: dict[str, type[BaseModel]] = {"segment": Segment, "stations": StationGroup, "phases": Phases, "theory": Theory, "run": Run}


class PathError(ValueError):
    """A dotted key that leads nowhere; the message says what was allowed."""


def resolved(document: Mapping[str, Any], parts: Sequence[str], *, tops: Sequence[str]) -> tuple[Part, ...]:
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
        raise PathError(f"expected a dotted key that begins with {', '.join(f'{top}.' for top in tops)}")
    top, rest = parts[0], list(parts[1:])
    path: list[Part] = [top]
    if top == "stations":
        group, rest = _group(document, rest)
        path.append(group)
    fields = _TOP[top].model_fields
    if not rest or rest[0] not in fields:
        raise PathError(f"expected one of the keys of {top}: {', '.join(fields)}")
    path += [int(part) if part.isascii() and part.isdigit() and len(part) < 6 else part for part in rest]
    return tuple(path)


def _group(document: Mapping[str, Any], rest: list[str]) -> tuple[int, list[str]]:
    """Return which group is meant, and the key within it."""
    groups = document.get("stations")
    groups = groups if isinstance(groups, list) else []
    names = [group.get("name") if isinstance(group, dict) else None for group in groups]
    if not groups:
        raise PathError("expected at least one group of stations")
    if rest[0] in StationGroup.model_fields:
        return 0, rest
    if rest[0] in names:
        return names.index(rest[0]), rest[1:]
    if rest[0].isascii() and rest[0].isdigit() and len(rest[0]) < 6 and int(rest[0]) < len(groups):
        return int(rest[0]), rest[1:]
    known = ", ".join(str(name) for name in names if isinstance(name, str)) or "none"
    keys = ", ".join(StationGroup.model_fields)
    raise PathError(f"expected a key of stations, the name of a group ({known}) or its number below {len(groups)}; keys are {keys}")


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
        if not isinstance(head, int) or head >= len(tree):
            raise PathError(f"expected an index below {len(tree)} where the key says {head}")
        return [assigned(item, rest, value) if index == head else item for index, item in enumerate(tree)]
    if isinstance(tree, dict):
        key = str(head)
        return {**tree, key: assigned(tree.get(key, {}), rest, value)}
    raise PathError(f"expected a table for the key {head} to stand in")


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
