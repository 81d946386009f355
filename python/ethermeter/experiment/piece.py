"""Pieces: parts of a scenario, as values and as the text of which a plan's lines are made."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a scenario, as a value and as compact JSON; values are shared between scenarios and
    must not be changed.
    """

    value: Any
    text: str


def compact(value: object) -> str:
    """Return the JSON text of a value: ASCII, no spaces, keys in the order given."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def piece(value: Any) -> Piece:
    """Return a value with its text."""
    return Piece(value, compact(value))
