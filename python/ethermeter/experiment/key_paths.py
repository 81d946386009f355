"""Key paths such as "stations.count": what they name, and `--set` overrides."""

import tomllib
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from ethermeter.experiment.document import fields_of
from ethermeter.experiment.flows import Flow
from ethermeter.experiment.network import Network
from ethermeter.experiment.phases import Phases, Run
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.theory import Theory
from ethermeter.experiment.toml import EVERY, PathError, Tables, assigned
from ethermeter.faults import Fault, Key, shown

LONGEST_PATH = 8
"""Parts a dotted key may have."""

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


def resolved(
    document: Mapping[str, object], parts: Sequence[str], *, tops: Sequence[str]
) -> tuple[Key, ...]:
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
    path: list[Key] = [top]
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
                    known = ", ".join(str(name) for name in names if isinstance(name, str))
                    raise PathError(
                        f"expected one of {known}, or a number below {len(tree)}, where the key"
                        f" says {key}"
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
                f"expected one of the models of this file: {', '.join(map(str, models)) or 'none'};"
                f" where the key says {key}"
            )
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
        f"expected a key of {top}, the name of a {what} ({known}) or its number below"
        f" {len(groups)}; keys are {', '.join(fields)}"
    )


_LONGEST = 10_000
_QUOTED_TABLES = ("vary", "sources")
_GROUPED_TABLES = ("segment", "stations", "network", "flows", "phases", "run")


def overridden(document: Tables, overrides: Sequence[str]) -> tuple[Tables, list[Fault]]:
    """Return the document with the values set, and the faults of those that could not be.

    A key that is set is no longer varied: whoever sets it means the value to hold.

    Parameters
    ----------
    document
        The experiment file, as read.
    overrides
        Texts such as "stations.count=12", "phases.transmit=2 s" or "segment.star={ radius = '10 m'
        }".

    """
    result = dict(document)
    faults = []
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or len(text) > _LONGEST:
            faults.append(
                Fault("--set", key.strip() or "(missing)", shown(text), 'expected "key.path=value"')
            )
            continue
        try:
            _encodable(text)
            path = _path(result, key.strip())
            changed = assigned(result, path, _value(value.strip()))
        except PathError as error:
            faults.append(Fault("--set", key.strip(), shown(value.strip()), str(error)))
            continue
        result = _no_longer_varied(changed if isinstance(changed, dict) else result, path)
    return result, faults


def _encodable(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise PathError("expected UTF-8 text") from None


def _value(text: str) -> object:
    """Return a TOML value, or the text itself, so that quotes need not survive a shell."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # More than one key means that the text went on after its value, in a line of its own.
    return read["value"] if set(read) == {"value"} else text


def _path(document: Tables, key: str) -> tuple[Key, ...]:
    parts = _parts(key)
    if len(parts) > LONGEST_PATH:
        raise PathError(f"expected a key of at most {LONGEST_PATH} parts")
    if parts[0] in _QUOTED_TABLES and len(parts) > 1:
        return parts[0], ".".join(parts[1:])
    if parts[0] in _GROUPED_TABLES and len(parts) > 1:
        return resolved(document, parts, tops=_GROUPED_TABLES)
    if len(parts) > 1:
        raise PathError(
            f"expected a key that begins with {', '.join((*_GROUPED_TABLES, *_QUOTED_TABLES))}, or"
            " title, seed, series, notes"
        )
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
