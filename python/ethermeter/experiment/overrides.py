"""Overrides: values set from outside, written "key.path=TOML value"."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from ethermeter.experiment.complaints import Part
from ethermeter.experiment.paths import LONGEST_PATH, PathError, assigned, resolved
from ethermeter.faults import Fault, shown

_LONGEST = 10_000
_QUOTED_TABLES = ("vary", "sources")
_GROUPED_TABLES = ("segment", "stations", "network", "flows", "phases", "run")


def overridden(
    document: Mapping[str, Any], overrides: Sequence[str]
) -> tuple[dict[str, Any], list[Fault]]:
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
    """Return a TOML value; what is none counts as a text, so that quotes need not survive a shell."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # More than one key means that the text went on after its value, in a line of its own.
    return read["value"] if set(read) == {"value"} else text


def _path(document: Mapping[str, Any], key: str) -> tuple[Part, ...]:
    parts = _parts(key)
    if len(parts) > LONGEST_PATH:
        raise PathError(f"expected a key of at most {LONGEST_PATH} parts")
    if parts[0] in _QUOTED_TABLES and len(parts) > 1:
        return parts[0], ".".join(parts[1:])
    if parts[0] in _GROUPED_TABLES and len(parts) > 1:
        return resolved(document, parts, tops=_GROUPED_TABLES)
    if len(parts) > 1:
        raise PathError(
            f"expected a key that begins with {', '.join((*_GROUPED_TABLES, *_QUOTED_TABLES))}, or title, seed, series, notes"
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


def _no_longer_varied(document: dict[str, Any], path: tuple[Part, ...]) -> dict[str, Any]:
    vary = document.get("vary")
    if not isinstance(vary, dict) or path[0] == "vary":
        return document
    kept = {key: given for key, given in vary.items() if _resolved(document, key) != path}
    return {**document, "vary": kept} if len(kept) < len(vary) else document


def _resolved(document: Mapping[str, Any], key: str) -> tuple[Part, ...] | None:
    try:
        return resolved(document, key.split("."), tops=_GROUPED_TABLES)
    except PathError:
        return None
