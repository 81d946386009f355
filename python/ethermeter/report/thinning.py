"""Thinning: what a page shows of more values than a person can see or a browser hold."""

from collections.abc import Sequence
from typing import TypeVar

MOST_PANELS = 16
"""Figures of one metric."""
MOST_VALUES = 2000
"""Values of one metric in all its figures together."""
FEWEST_PLACES = 20
"""Places along x that a curve keeps in any case."""
MOST_BARS = 60
"""Bars of a figure."""
MOST_ROWS = 500
"""Rows of a table."""

T = TypeVar("T")


def spread(items: Sequence[T], most: int) -> list[T]:
    """Pick items at even distances, the first and the last among them.

    All if they are no more than `most`, which is at least 2.

    Examples
    --------
    >>> spread(range(10), 4), spread("abc", 4)
    ([0, 3, 6, 9], ['a', 'b', 'c'])
    """
    if len(items) <= most:
        return list(items)
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]


def notice(points: int) -> str:
    """Say what is left out of the figures and tables of so many points; empty if nothing is."""
    if points <= MOST_ROWS:
        return ""
    drawn = (
        f" The figures of a metric together show about {MOST_VALUES:,} values in at most"
        f" {MOST_PANELS} panels: places along x at even distances, and of each curve its lowest and"
        " its highest value."
        if points > MOST_VALUES
        else ""
    )
    return (
        f"These are {points:,} points, more than a page can show. A table shows at most {MOST_ROWS}"
        f" rows, at even distances.{drawn} Every value is in <code>estimates.json</code> beside"
        " this page."
    )
