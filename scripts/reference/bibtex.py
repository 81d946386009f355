"""BibTeX entries of the sources of models.

A source is "authors, title, where, year, what of it"; several are apart by a semicolon. What has no
authors of its own is a note on the source before it. What a model uses of a source, such as a
section, is not in its entry.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from string import ascii_lowercase

_AUTHOR = re.compile(r"((?:[A-Z]\.[ -]?)+[^,]+), ")
_END = r"(?P<year>\d{4})(?:, .+)?"
_KINDS = {
    "techreport": rf"(?P<title>.+), (?P<number>RFC \d+), {_END}",
    "article": (
        r"(?:(?P<title>.+), )?(?P<journal>[^,]+?) (?P<volume>\d+)(?:\((?P<number>\d+)\))?"
        rf", {_END}"
    ),
    "incollection": rf"(?P<title>.+), in: (?P<booktitle>[^,]+), (?P<publisher>[^,]+) {_END}",
    "book": rf"(?P<title>[^,]+)(?:, (?P<edition>\w+) edition)?, {_END}",
    "inproceedings": rf"(?P<title>.+), (?P<booktitle>[^,]+?),? {_END}",
}
"""Kinds of entries, and what follows the authors; the first that fits counts."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_SPECIAL = re.compile(r"([&%#_$])")


def entries(sources: Iterable[str]) -> str:
    """Return one entry for each different source."""
    apart = chain.from_iterable(map(_apart, sources))
    found = list(dict.fromkeys(map(_entry, apart)))
    keys = Counter(key for key, _, _ in found)
    letters = {key: iter(ascii_lowercase) for key, times in keys.items() if times > 1}
    return "\n".join(
        f"@{kind}{{{key}{next(letters[key]) if key in letters else ''},\n{body}}}\n"
        for key, kind, body in found
    )


def _apart(source: str) -> list[str]:
    """Return the sources of a text, each with the notes that follow it."""
    found: list[str] = []
    for part in source.split("; "):
        if found and not _AUTHOR.match(part):
            found[-1] += f"; {part}"
        else:
            found.append(part)
    return found


def _entry(source: str) -> tuple[str, str, str]:
    """Return key, kind and fields of a source."""
    authors: list[str] = []
    rest, _, more = source.partition("; ")
    while author := _AUTHOR.match(rest):
        authors.append(author[1])
        rest = rest[author.end() :]
    kind, fields = "misc", {"title": rest}
    for known, pattern in _KINDS.items() if authors else ():
        if match := re.fullmatch(pattern, rest):
            kind, fields = known, match.groupdict()
            break
    year = _YEAR.findall(rest)[0]
    lines = {
        "author": " and ".join(authors),
        **fields,
        "institution": "IETF" if kind == "techreport" else "",
        "note": more if _YEAR.search(more) else "",
        "year": year,
    }
    body = "".join(
        f"  {name} = {{{_value(name, text)}}},\n" for name, text in lines.items() if text
    )
    first = authors[0].split()[-1] if authors else rest.split()[0]
    return f"{first.lower()}{year}", kind, body


def _value(key: str, text: str) -> str:
    """Return a value as BibTeX reads it; a title keeps its capitals."""
    escaped = _SPECIAL.sub(r"\\\1", text)
    return f"{{{escaped}}}" if key == "title" else escaped
