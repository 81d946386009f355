"""The catalogue: every model, what it assumes, in which units, and how far it is to be trusted."""

from ethermeter.arguments import ArgumentError
from ethermeter.theory import entries_delay, entries_finite, entries_throughput
from ethermeter.theory.entry import Aspect, Assumption, Model, Output, Symbol

__all__ = ["Aspect", "Assumption", "Model", "Output", "Symbol", "model", "models"]


def models() -> dict[str, Model]:
    """Return the models by name, in order of their years."""
    entries = sorted(
        (*entries_throughput.ENTRIES, *entries_delay.ENTRIES, *entries_finite.ENTRIES),
        key=lambda entry: entry.year,
    )
    return {entry.name: entry for entry in entries}


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
