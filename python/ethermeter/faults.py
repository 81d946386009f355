"""Faults: what is wrong with an input, one line each, with what would have been allowed."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

LONGEST_VALUE = 80
"""Characters of a faulty value that are shown."""
MOST_LISTED = 50
"""Faults of one file that are listed; the others are counted."""

T = TypeVar("T")
Key = str | int
"""A key of a table, or an index of a list."""
KeyPath = tuple[Key, ...]
"""Keys from the top of a file to a value."""

_LONGEST_KEY = 120
_LONGEST_TEXT = 600
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input file.

    Parameters
    ----------
    file
        The file as the user named it.
    key
        Dotted path of the key, or the place in the file.
    value
        What stands there; shortened to 80 characters.
    allowed
        What was allowed instead.

    """

    file: str
    key: str
    value: str
    allowed: str

    def __post_init__(self) -> None:
        # A fault is one line of a terminal whatever the file held, so its parts are made safe once,
        # here.
        object.__setattr__(self, "file", printable(self.file))
        object.__setattr__(
            self, "key", shortened(printable(self.key[: 4 * _LONGEST_KEY]), _LONGEST_KEY)
        )
        object.__setattr__(
            self, "value", shortened(printable(self.value[: 4 * LONGEST_VALUE]), LONGEST_VALUE)
        )
        object.__setattr__(
            self, "allowed", shortened(printable(self.allowed[: 4 * _LONGEST_TEXT]), _LONGEST_TEXT)
        )

    def __str__(self) -> str:
        """Return the fault as one line."""
        return f"{self.file}: {self.key} = {self.value}: {self.allowed}"


class InputError(ValueError):
    """An input that cannot be used, with every fault found in it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__(self.faults)

    @classmethod
    def of(cls, file: str, key: str, value: str, allowed: str) -> "InputError":
        """Return the error of a single fault."""
        return cls([Fault(file, key, value, allowed)])

    def __str__(self) -> str:
        """Return a line for each fault, at most `MOST_LISTED` of a file, and how many more."""
        return "\n".join(lines(self.faults))


def dotted(path: Sequence[Key]) -> str:
    """Return a key path as it is written in `--set` and in faults."""
    return ".".join(
        key if isinstance(key, str) and _BARE.fullmatch(key) else _quoted(key) for key in path
    )


def _quoted(key: Key) -> str:
    if isinstance(key, int):
        return str(key)
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def listed(faults: Iterable[Fault]) -> tuple[list[Fault], Counter[str]]:
    """Return at most `MOST_LISTED` faults of each file, and how many more each file has."""
    chosen: list[Fault] = []
    met: Counter[str] = Counter()
    for fault in faults:
        met[fault.file] += 1
        if met[fault.file] <= MOST_LISTED:
            chosen.append(fault)
    return chosen, Counter(
        {file: count - MOST_LISTED for file, count in met.items() if count > MOST_LISTED}
    )


def lines(faults: Iterable[Fault]) -> list[str]:
    """Return a line for each fault that is listed, then one for each file that has more."""
    chosen, more = listed(faults)
    return [
        *map(str, chosen),
        *(f"{file}: {count} more fault{'s' * (count > 1)}" for file, count in more.items()),
    ]


def shown(value: object) -> str:
    """Return a value of an input file as a person would write it, safe for one line.

    Tables and lists are shown only as far as fits, so that neither depth nor size of an input
    matters.
    """
    match value:
        case str():
            return (
                '"' + value[: 2 * LONGEST_VALUE] + ('"' if len(value) <= 2 * LONGEST_VALUE else "")
            )
        case bool():
            return "true" if value else "false"
        case int():
            # Python refuses to write integers of thousands of digits, which no person would read.
            return (
                str(value)
                if abs(value) < 1 << 256
                else f"an integer of about {value.bit_length() * 3 // 10} digits"
            )
        case float():
            return repr(value)
        case dict():
            inner = ", ".join(
                f"{str(key)[:LONGEST_VALUE]} = {_glimpse(item)}"
                for key, item in _first(value.items())
            )
            return "{ " + inner + " }" if inner else "{}"
        case list() | tuple():
            return "[" + ", ".join(_glimpse(item) for item in _first(value)) + "]"
        case _:
            return str(value)


def _glimpse(value: object) -> str:
    """Return one level of a nested value."""
    if isinstance(value, dict):
        return "{ … }"
    return "[ … ]" if isinstance(value, list | tuple) else shown(value)


def _first(items: Iterable[T]) -> list[T]:
    return [item for _, item in zip(range(12), items, strict=False)]


def printable(text: str) -> str:
    """Return the text with every unprintable character written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def shortened(text: str, most: int) -> str:
    """Return at most `most` characters of the text, marked with an ellipsis if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
