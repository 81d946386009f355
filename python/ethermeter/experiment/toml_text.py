"""TOML as text: what the standard library reads but does not write."""

import datetime
import math
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def inline(value: object) -> str:
    """Return a value on one line.

    Raises
    ------
    TypeError
        If TOML has no such value.

    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            # Python refuses to write integers of thousands of digits in decimal; TOML reads them in
            # hexadecimal as well.
            return str(value) if value < 1 << 256 else hex(value)
        case float():
            return _number(value)
        case str():
            return _text(value)
        case Mapping():
            items = ", ".join(f"{_key(str(key))} = {inline(item)}" for key, item in value.items())
            return "{ " + items + " }" if items else "{}"
        case list() | tuple():
            return "[" + ", ".join(inline(item) for item in value) + "]"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def document(tree: Mapping[str, object]) -> str:
    """Return a whole file: plain values first, then tables, then lists of tables."""
    lines = [
        f"{_key(key)} = {inline(value)}" for key, value in tree.items() if not _is_section(value)
    ]
    for key, value in tree.items():
        if isinstance(value, Mapping):
            lines += [
                "",
                f"[{_key(key)}]",
                *(f"{_key(str(inner))} = {inline(item)}" for inner, item in value.items()),
            ]
        elif _is_section(value) and isinstance(value, list):
            for table in value:
                lines += [
                    "",
                    f"[[{_key(key)}]]",
                    *(f"{_key(str(inner))} = {inline(item)}" for inner, item in table.items()),
                ]
    return "\n".join(lines) + "\n"


def _is_section(value: object) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
    )


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return (
        '"'
        + "".join(
            _ESCAPES.get(c) or (c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}") for c in text
        )
        + '"'
    )


def _number(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return repr(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
