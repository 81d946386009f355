"""The catalogue: every model, what it assumes, in which units, and how far it is to be trusted."""

from itertools import chain

from ethermeter.arguments import ArgumentError
from ethermeter.theory import (
    almes_lazowska,
    bux,
    coyle_liu,
    kleinrock_tobagi,
    lam,
    metcalfe_boggs,
    takagi_kleinrock,
    tasaka,
    tobagi_hunt,
    tobagi_hunt_finite,
)
from ethermeter.theory.entry import Aspect, Assumption, Model, Output, Symbol

__all__ = ["Aspect", "Assumption", "Model", "Output", "Symbol", "model", "models"]


_MODULES = (
    kleinrock_tobagi,
    metcalfe_boggs,
    almes_lazowska,
    tobagi_hunt,
    tobagi_hunt_finite,
    lam,
    bux,
    coyle_liu,
    takagi_kleinrock,
    tasaka,
)


def models() -> dict[str, Model]:
    """Return the models by name, in order of their years."""
    return {entry.name: entry for entry in chain.from_iterable(each.ENTRIES for each in _MODULES)}


def model(name: str) -> Model:
    """Return the model of that name.

    Raises
    ------
    ArgumentError
        If there is none.

    """
    known = models()
    if name not in known:
        raise ArgumentError("command line", "MODEL", name, f"one of {', '.join(known)}")
    return known[name]
