"""Marks: what the letters beside values of a table mean."""

from collections.abc import Iterable, Iterator

from ethermeter.blocks import Text


def legend(lines: Iterable[str]) -> Iterator[Text]:
    """Lay out what the marks of a table mean, one text a mark."""
    return (Text(line, indent="    ") for line in lines)
