"""Cells: words of a table that a page sets apart; a terminal shows their text."""

from markupsafe import Markup

_TAGS = {"agrees": "holds", "differs": "missed"}


def tag(kind: str, text: str) -> Markup:
    """Return a word on a coloured ground."""
    return Markup('<span class="tag {}">{}</span>').format(kind, text)


def judged(value: str, verdict: str) -> str:
    """Return a value with its verdict, "agrees" or "differs"; another verdict is not written."""
    return (
        Markup("{} {}").format(value, tag(_TAGS[verdict], verdict)) if verdict in _TAGS else value
    )
