"""Faults: what is wrong with an input, one line each, with what would have been allowed."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TypeVar

LONGEST_VALUE = 80
"""Characters of a faulty value that are shown."""
MOST_LISTED = 50
"""Faults of one file that are listed; the others are counted."""

MOST_CHOICES = 30
"""Names that are listed where an unknown one stands."""
_NEAR = 0.7
"""Similarity above which a name is suggested, 0 to 1: two of three letters are not enough."""

ARGUMENTS = "arguments"
"""What stands for the file of a fault of an argument; a command line names its option instead."""

T = TypeVar("T")
Key = str | int
"""A key of a table, or an index of a list."""
KeyPath = tuple[Key, ...]
"""Keys from the top of a file to a value."""

MOST_NAMES = 6
"""Names that a sentence has of many."""
_LONGEST = (("key", 120), ("name", 60), ("value", LONGEST_VALUE), ("allowed", 600))
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input file; printable on one line of a terminal."""

    file: str
    """The file as the user named it."""
    key: str
    """Dotted path of the key, or the line of the file."""
    value: str
    """The value there, shortened to `LONGEST_VALUE` characters."""
    allowed: str
    """What was allowed instead."""
    name: str = ""
    """Name of the table that the key is of, where the key has its number."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", printable(self.file))
        for name, most in _LONGEST:
            text = printable(getattr(self, name)[: 4 * most])
            object.__setattr__(self, name, shortened(text, most))

    def __str__(self) -> str:
        """Return the fault as one line."""
        of = f" ({self.name})" if self.name else ""
        return f"{self.file}: {self.key}{of} = {self.value}: {self.allowed}"


class InputError(ValueError):
    """An input that cannot be used, with every fault found in it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__(self.faults)

    @classmethod
    def of_argument(cls, name: str, value: str, allowed: str) -> "InputError":
        """Return the error of a single fault of an argument of a function, by its name."""
        return cls([Fault(ARGUMENTS, name, value, allowed)])

    @classmethod
    def of(cls, file: str, key: str, value: str, allowed: str) -> "InputError":
        """Return the error of a single fault."""
        return cls([Fault(file, key, value, allowed)])

    def __str__(self) -> str:
        """Return a line for each fault, at most `MOST_LISTED` of a file, and how many more."""
        return "\n".join(lines(self.faults))


class Faults:
    """Faults of one file, or of its table at a path, found so far."""

    def __init__(self, file: str, within: KeyPath = ()) -> None:
        self.file = file
        self.within = within
        self.found: list[Fault] = []

    def add(self, key: Sequence[Key], value: object, allowed: str) -> None:
        """Add the fault of a value at a key path within the table."""
        self.found.append(Fault(self.file, dotted((*self.within, *key)), str(value), allowed))

    def error(self, key: Sequence[Key], value: object, allowed: str) -> InputError:
        """Return the error of a single fault, which is not added."""
        return InputError.of(self.file, dotted((*self.within, *key)), str(value), allowed)

    def of(self, make: Callable[[], T]) -> T | None:
        """Return what is made, or None if it has faults, which are added."""
        try:
            return make()
        except InputError as error:
            self.found += error.faults
            return None

    def raise_all(self) -> None:
        """Raise the faults together, each once.

        Raises
        ------
        InputError
            If there are any.

        """
        if self.found:
            raise InputError(dict.fromkeys(self.found))


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
    counts: Counter[str] = Counter()
    for fault in faults:
        counts[fault.file] += 1
        if counts[fault.file] <= MOST_LISTED:
            chosen.append(fault)
    return chosen, +Counter({file: count - MOST_LISTED for file, count in counts.items()})


def lines(faults: Iterable[Fault]) -> list[str]:
    """Return a line for each fault that is listed, then one for each file that has more."""
    chosen, more = listed(faults)
    return [
        *map(str, chosen),
        *(f"{file}: {count} more fault{'s' * (count > 1)}" for file, count in more.items()),
    ]


def choices(given: object, known: Iterable[str], lead: str = "one of ") -> str:
    """Return what is allowed where a name is not among the known ones; a near one comes first.

    `lead` stands before the list. Of very many names the nearest stand for the list, or the first.

    Examples
    --------
    >>> choices("poison-load", ["poisson-load", "schools-hub"])
    'did you mean poisson-load? One of poisson-load, schools-hub'
    >>> choices("speed", ["loss", "utilisation"])
    'one of loss, utilisation'
    >>> choices("host77", [f"host{number}" for number in range(31)])
    'did you mean host7, host27 or host17?'
    """
    names = list(dict.fromkeys(known))
    is_long = len(names) > MOST_CHOICES
    near = nearest(str(given).strip("\"'"), names, 3 if is_long else 1)
    if not names:
        return f"{lead}none: there are none"
    if near:
        *others, last = near
        question = f"did you mean {' or '.join([*([', '.join(others)] if others else []), last])}?"
        listing = f"{lead}{', '.join(names)}"
        return question if is_long else f"{question} {listing[0].upper()}{listing[1:]}"
    more = f" and {len(names) - MOST_CHOICES} more" if is_long else ""
    return f"{lead}{', '.join(names[:MOST_CHOICES])}{more}"


def nearest(given: str, names: Sequence[str], most: int = 1) -> list[str]:
    """Return the names most like one that was given, however they are capitalised."""
    by_lower = {name.lower(): name for name in reversed(names)}
    found = get_close_matches(given.lower(), list(by_lower), most, cutoff=_NEAR)
    return [by_lower[name] for name in found]


def shown(value: object) -> str:
    """Return a value of an input file as a person would write it, safe for one line.

    Tables and lists are shown only as far as fits, so that neither depth nor size of an input
    matters.
    """
    match value:
        case str():
            most = 2 * LONGEST_VALUE
            return f'"{value[:most]}' + '"' * (len(value) <= most)
        case bool():
            return "true" if value else "false"
        case int():
            # Python refuses to write integers of thousands of digits.
            is_short = value.bit_length() <= 256
            digits = value.bit_length() * 3 // 10
            return str(value) if is_short else f"an integer of about {digits} digits"
        case float():
            return repr(value)
        case dict():
            inner = ", ".join(
                f"{str(key)[:LONGEST_VALUE]} = {_glimpse(item)}"
                for key, item in islice(value.items(), 12)
            )
            return "{ " + inner + " }" if inner else "{}"
        case list() | tuple():
            return "[" + ", ".join(map(_glimpse, value[:12])) + "]"
        case _:
            return str(value)


def _glimpse(value: object) -> str:
    """Return one level of a nested value."""
    if isinstance(value, dict):
        return "{ … }"
    return "[ … ]" if isinstance(value, list | tuple) else shown(value)


def is_text(text: str) -> bool:
    """Whether a text can be written in UTF-8; a path need not be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """Return the text with every unprintable character written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "trial"), counted(12, "trial")
    ('1 trial', '12 trials')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def named(names: Sequence[str]) -> str:
    """Write the first names, at most six, and how many more there are.

    Examples
    --------
    >>> named(["a", "b"]), named("abcdefgh")
    ('a, b', 'a, b, c, d, e, f and 2 more')
    """
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def small_first(title: str) -> str:
    """Write a title, or a sentence, within a sentence; an abbreviation stays.

    Examples
    --------
    >>> small_first("Frame length"), small_first("PLCA")
    ('frame length', 'PLCA')
    """
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def shortened(text: str, most: int) -> str:
    """Return at most `most` characters of the text, marked with an ellipsis if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
