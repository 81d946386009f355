"""TOML: a file as tables, tables as text, and values at key paths in tables."""

import datetime
import itertools
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ethermeter.faults import InputError, Key, shown

Tables = dict[str, Any]
"""A file as TOML gives it: plain values, lists and tables, whose types `tables` checks."""

LARGEST_FILE_BYTES = 16_000_000
"""The largest experiment file that is read."""

DEEPEST = 24
"""Tables and lists that may stand in each other."""

# The standard library's parser needs quadratic time for a key of very many parts, so these are
# refused before it sees them.
_LONG_KEY = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){25}"""
)
_WHERE = re.compile(r"(.*?)(?: \(at (?:line (\d+), column (\d+)|end of document)\))", re.DOTALL)


def text_of(path: Path, *, file: str, most_bytes: int = LARGEST_FILE_BYTES) -> str:
    """Return the text of a UTF-8 file.

    Raises
    ------
    InputError
        If it cannot be read, is too large, empty, or no UTF-8.

    """

    def wrong(value: str, allowed: str) -> InputError:
        return InputError.of(file, "(file)", value, allowed)

    try:
        if path.is_dir():
            raise wrong("a directory", "expected a file")
        if not path.exists():
            raise wrong("missing", "expected a file that exists")
        if not path.is_file():
            raise wrong("not a regular file", "expected a file")
        with path.open("rb") as opened:
            # As much room is made as is asked for, of whatever length the file is.
            data = opened.read(min(os.fstat(opened.fileno()).st_size, most_bytes) + 1)
    except InputError:
        raise
    except OSError as error:
        raise wrong(error.strerror or type(error).__name__, "expected a readable file") from None
    except ValueError:
        raise wrong(shown(str(path)), "expected the name of a file") from None
    if len(data) > most_bytes:
        raise wrong("too large", f"expected at most {most_bytes} bytes")
    if not data.strip():
        raise wrong("empty", "expected a file with something in it")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        value = f"byte 0x{data[error.start]:02x} in line {line}"
        raise wrong(value, "expected UTF-8 text") from None


def parsed(text: str, *, file: str) -> Tables:
    """Return the tables of a TOML text.

    Raises
    ------
    InputError
        If it is no TOML, with the line, or nested deeper than any experiment.

    """
    if (long := _LONG_KEY.search(text)) is not None:
        number = text.count("\n", 0, long.start()) + 1
        allowed = f"expected keys of at most {DEEPEST} parts"
        raise InputError.of(file, f"line {number}", shown(long.group()), allowed)
    try:
        document = tomllib.loads(text)
        is_shallow = _is_shallow(document)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(str(error), text, file=file) from None
    except RecursionError:
        is_shallow = False
    except ValueError as error:
        # Integers of thousands of digits and impossible dates raise a plain ValueError.
        allowed = f"expected valid TOML: {str(error).partition(';')[0]}"
        raise InputError.of(file, "(file)", "no value of TOML", allowed) from None
    if not is_shallow:
        allowed = f"expected at most {DEEPEST} nested tables and lists"
        raise InputError.of(file, "(file)", "nested too deeply", allowed)
    return document


def value_of(text: str) -> object:
    """Return a TOML value, or the text itself, so that quotes need not survive a shell."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # More than one key means that the text went on after its value, in a line of its own.
    return read["value"] if set(read) == {"value"} else text


def _syntax(message: str, text: str, *, file: str) -> InputError:
    match = _WHERE.fullmatch(message)
    lines = text.split("\n")
    number = int(match.group(2)) if match and match.group(2) else len(lines)
    line = lines[number - 1] if number <= len(lines) else ""
    allowed = f"expected valid TOML: {match.group(1) if match else message}"
    return InputError.of(file, f"line {number}", line.strip()[:200] or "(empty)", allowed)


def _is_shallow(tree: object) -> bool:
    """Whether no table or list stands deeper than `DEEPEST`; found without recursion."""
    level: list[Any] = [tree]
    for _ in range(DEEPEST):
        items = itertools.chain.from_iterable(
            each.values() if isinstance(each, dict) else each for each in level
        )
        level = [item for item in items if isinstance(item, dict | list)]
    return not level


_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = str.maketrans(
    {code: f"\\u{code:04x}" for code in (*range(32), 127)}
    | {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
)


def inline(value: object) -> str:
    """Return a value on one line; raise `TypeError` if TOML has none of its type."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            # Python refuses to write integers of thousands of digits in decimal; TOML reads them in
            # hexadecimal as well.
            return str(value) if value < 1 << 256 else hex(value)
        case float():
            return repr(value)  # "nan", "inf" and "-inf" are those of TOML
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case Mapping():
            items = ", ".join(_lines(value))
            return "{ " + items + " }" if items else "{}"
        case list() | tuple():
            return "[" + ", ".join(inline(item) for item in value) + "]"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def document(tree: Mapping[str, object]) -> str:
    """Return a whole file: plain values first, then tables, then lists of tables."""
    lines = _lines({key: value for key, value in tree.items() if not _is_section(value)})
    for key, value in tree.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key_text(key)}]", *_lines(value)]
        elif isinstance(value, list) and _is_section(value):
            for table in value:
                lines += ["", f"[[{_key_text(key)}]]", *_lines(table)]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, object]) -> list[str]:
    return [f"{_key_text(str(key))} = {inline(item)}" for key, item in table.items()]


def _is_section(value: object) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
    )


def _key_text(key: str) -> str:
    return key if _BARE.fullmatch(key) else inline(key)


EVERY = "*"
"""Stands for every table of a list."""


class PathError(ValueError):
    """A dotted key that leads nowhere; the message says what was allowed."""


def assigned(tree: object, path: Sequence[Key], value: object) -> object:
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


def covers(path: Sequence[Key], place: Sequence[Key]) -> bool:
    """Whether what stands at a place is at or below what a path speaks of."""
    return len(path) <= len(place) and all(
        part in (EVERY, of) for part, of in zip(path, place, strict=False)
    )


def at(tree: object, path: Sequence[Key]) -> object:
    """Return what stands at a path, None if nothing does."""
    for part in path:
        if isinstance(tree, dict):
            tree = tree.get(str(part))
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            return None
    return tree
