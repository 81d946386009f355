"""JSON values: what files and commands write as JSON."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import msgspec

from ethermeter.faults import InputError


def plain(value: object) -> object:
    """Return a value as JSON has it, recursively; an undefined number is None.

    Examples
    --------
    >>> plain({"delay_s": (float("nan"), 0.5)})
    {'delay_s': [None, 0.5]}
    """
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _ if is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case msgspec.Struct():
            return _fields(value)
        case Path():
            return str(value)
        case _:
            return value


def _fields(value: msgspec.Struct) -> dict[str, object]:
    """Return the fields of a struct, by the names and without those that msgspec writes."""
    found = {}
    for field in msgspec.structs.fields(value):
        each = getattr(value, field.name)
        is_left_out = value.__struct_config__.omit_defaults and each == field.default
        if each is not msgspec.UNSET and not is_left_out:
            found[field.encode_name] = plain(each)
    return found


def described(text: str) -> msgspec.Meta:
    """Return a description of a field, for the JSON Schema of its file."""
    return msgspec.Meta(description=text)


def finite(value: float) -> float | None:
    """Return a number as JSON has it: None if it is undefined; an integer stays one."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def number(value: float | None) -> float:
    """Return a number read from JSON: NaN where it is null."""
    return math.nan if value is None else value


def damaged(path: Path, error: Exception, kind: str) -> InputError:
    """Return the fault of a derived file of a run that cannot be read."""
    allowed = f"not {kind}; write it anew with: ethermeter report"
    return InputError.of(str(path), "content", str(error), allowed)
