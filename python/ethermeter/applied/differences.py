"""Differences: what theories assume, and what of it is not so in a situation."""

from collections.abc import Callable
from enum import StrEnum

from ethermeter.applied.situation import Situation


class Assumption(StrEnum):
    """Something that a theory takes for granted."""

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


def _propagation(situation: Situation) -> str:
    return f"{situation.propagation_s * 1e6:.3g} us"


def _overhead(situation: Situation) -> str | None:
    bits, deaf_s = situation.overhead_bits, situation.deaf_s
    told = [f"{bits:.0f} bit a packet, counted as part of it"] * bool(bits) + [
        f"{deaf_s * 1e6:.3g} us of deaf time"
    ] * bool(deaf_s)
    return f"no preamble, jam or gap; here {', and '.join(told)}" if told else None


_TEXTS: dict[Assumption, Callable[[Situation], str | None]] = {
    Assumption.SLOTTED: lambda s: (
        "stations start at the beginnings of common slots; here at any time"
    ),
    Assumption.NO_OVERHEAD: _overhead,
    Assumption.EQUALLY_FAR: lambda s: (
        None
        if s.equally_far or s.stations < 2
        else f"all stations are {_propagation(s)} apart; here at most that far"
    ),
    Assumption.NON_PERSISTENT: lambda s: (
        "a station that finds the medium busy tries again later; here it waits for the end"
    ),
    Assumption.P_PERSISTENT: lambda s: (
        "a station that waited starts with a certain probability a slot; here at once"
        if s.persistence < 1
        else None
    ),
    Assumption.INFINITE_POPULATION: lambda s: f"infinitely many stations; here {s.stations}",
    Assumption.FIXED_RETRANSMISSION: lambda s: (
        f"stations try again at a fixed rate; here {s.backoff} backoff"
    ),
    Assumption.KNOWN_QUEUE: lambda s: (
        f"every station knows how many wait and starts with the best probability; here {s.backoff} backoff"
    ),
    Assumption.POISSON_ATTEMPTS: lambda s: (
        f"new and repeated attempts together are Poisson; here {s.backoff} backoff makes them"
    ),
    Assumption.LOST_AFTER_COLLISION: lambda s: (
        f"a frame that collided is forgotten and thought of anew; here {s.backoff} backoff"
    ),
    Assumption.CONSTANT_COLLISION: lambda s: (
        "every collision lasts equally long; here it depends on who collides"
    ),
    Assumption.ALWAYS_READY: lambda s: (
        f"every station always has a frame; here its host needs {s.service_s * 1e6:.3g} us between two"
        if s.service_s
        else None
    ),
    Assumption.ONE_LENGTH: lambda s: (
        "all packets are equally long; here they are not" if len(s.packet_bits) > 1 else None
    ),
    Assumption.TOKEN: lambda s: "a token gives the turn; here stations contend",
}

OTHER_PROTOCOL = {Assumption.NON_PERSISTENT, Assumption.P_PERSISTENT, Assumption.TOKEN}
"""Assumptions with which a model is one of another protocol."""


def differences(assumed: tuple[Assumption, ...], situation: Situation) -> dict[Assumption, str]:
    """Return those assumptions that do not hold in a situation, each with what it says and what is
    there.
    """
    found = {assumption: _TEXTS[assumption](situation) for assumption in assumed}
    return {assumption: text for assumption, text in found.items() if text is not None}
