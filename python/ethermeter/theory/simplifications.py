"""Simplifications: the assumptions of the models, and those that a scenario violates."""

from collections.abc import Callable
from enum import StrEnum

from ethermeter.theory.inputs import ModelInputs


class Simplification(StrEnum):
    """A simplifying assumption of a theory."""

    SLOTTED = "slotted"
    NO_OVERHEAD = "no-overhead"
    EQUALLY_FAR = "equally-far"
    NON_PERSISTENT = "non-persistent"
    P_PERSISTENT = "p-persistent"
    INFINITE_POPULATION = "infinite-population"
    FIXED_RETRANSMISSION = "fixed-retransmission"
    KNOWN_QUEUE = "known-queue"
    POISSON_ATTEMPTS = "poisson-attempts"
    LOST_AFTER_COLLISION = "lost-after-collision"
    CONSTANT_COLLISION = "constant-collision"
    ALWAYS_READY = "always-ready"
    ONE_LENGTH = "one-length"
    TOKEN = "token"


def _overhead(inputs: ModelInputs) -> str | None:
    bits, turnaround_s = inputs.overhead_bits, inputs.turnaround_s
    texts = [f"{bits:.0f} bit a packet, counted as part of it"] * bool(bits) + [
        f"{turnaround_s * 1e6:.3g} µs of turnaround time"
    ] * bool(turnaround_s)
    return f"no preamble, jam or gap; here {', and '.join(texts)}" if texts else None


_TEXTS: dict[Simplification, Callable[[ModelInputs], str | None]] = {
    Simplification.SLOTTED: lambda s: (
        "stations start at the beginnings of common slots; here at any time"
    ),
    Simplification.NO_OVERHEAD: _overhead,
    Simplification.EQUALLY_FAR: lambda s: (
        None
        if s.equally_far or s.stations < 2
        else f"all stations are {s.propagation_s * 1e6:.3g} µs apart; here at most that far"
    ),
    Simplification.NON_PERSISTENT: lambda s: (
        "a station that finds the medium busy tries again later; here it waits for the end"
    ),
    Simplification.P_PERSISTENT: lambda s: (
        "a station that waited starts with a certain probability a slot; here at once"
        if s.persistence < 1
        else None
    ),
    Simplification.INFINITE_POPULATION: lambda s: f"infinitely many stations; here {s.stations}",
    Simplification.FIXED_RETRANSMISSION: lambda s: (
        f"stations try again at a fixed rate; here {s.backoff} backoff"
    ),
    Simplification.KNOWN_QUEUE: lambda s: (
        f"every station knows how many wait and starts with the best probability; here {s.backoff}"
        " backoff"
    ),
    Simplification.POISSON_ATTEMPTS: lambda s: (
        f"new and repeated attempts together are Poisson; here {s.backoff} backoff makes them"
    ),
    Simplification.LOST_AFTER_COLLISION: lambda s: (
        f"a frame that collided is forgotten and thought of anew; here {s.backoff} backoff"
    ),
    Simplification.CONSTANT_COLLISION: lambda s: (
        "every collision lasts equally long; here it depends on who collides"
    ),
    Simplification.ALWAYS_READY: lambda s: (
        f"every station always has a frame; here its host needs {s.service_s * 1e6:.3g} µs between"
        " two"
        if s.service_s
        else None
    ),
    Simplification.ONE_LENGTH: lambda s: (
        "all packets are equally long; here they are not" if len(s.packet_bits) > 1 else None
    ),
    Simplification.TOKEN: lambda s: "a token gives the turn; here stations contend",
}


def named(words: str) -> tuple[Simplification, ...]:
    """Return simplifications by their names, which are separated by spaces."""
    return tuple(map(Simplification, words.split()))


OTHER_PROTOCOL = {Simplification.NON_PERSISTENT, Simplification.P_PERSISTENT, Simplification.TOKEN}
"""Assumptions with which a model is one of another protocol."""


def violated(assumed: tuple[Simplification, ...], inputs: ModelInputs) -> dict[Simplification, str]:
    """Return the assumptions that do not hold for the inputs, each with a text that says why."""
    found = {assumption: _TEXTS[assumption](inputs) for assumption in assumed}
    return {assumption: text for assumption, text in found.items() if text is not None}
