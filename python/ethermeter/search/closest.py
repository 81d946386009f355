"""Closest names: what somebody may have meant by an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_LISTED = 40
"""Names that are listed if none is close."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the known names that are closest to one, as the end of a fault, or all of them.

    Examples
    --------
    >>> suggestion("los", ["loss", "goodput"])
    'closest: loss'
    """
    names = list(dict.fromkeys(known))
    close = get_close_matches(name, names, n=4, cutoff=0.6)
    if close:
        return f"closest: {', '.join(close)}"
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"one of {', '.join(names[:MOST_LISTED])}{more}"
