"""Talk spurts and silences, and the number of simultaneously active talkers."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ethermeter.arguments import ArgumentError, Array, Numbers, plain, together
from ethermeter.voice.arguments import ACTIVITY, CIRCUITS, PROBABILITY, TALK_S, TALKERS

MOST_TALKERS = int(TALKERS.high)


@dataclass(frozen=True, slots=True)
class TalkPattern:
    """Means of a talker's spurts and silences, both exponential."""

    name: str  # Its name here
    # talk_s, silence_s: Mean duration of a spurt and of a silence [s]
    talk_s: float
    silence_s: float
    source: str  # Where the numbers come from
    confidence: str  # How sure they are

    @property
    def activity(self) -> float:
        """Fraction of time in which a talker talks."""
        return self.talk_s / (self.talk_s + self.silence_s)


PATTERNS: Mapping[str, TalkPattern] = MappingProxyType(
    {
        pattern.name: pattern
        for pattern in (
            TalkPattern(
                "brady-1968",
                1.2,
                1.8,
                "Brady, BSTJ 47(1), 1968, as later papers round it",
                "doubtful: from memory, no text that states it was found; Brady's means depend on "
                "the detector's threshold, and his "
                "silences are not exponential",
            ),
            TalkPattern(
                "p59",
                1.004,
                1.587,
                "ITU-T P.59 (1993), artificial conversational speech",
                "from memory; no text that states it was found",
            ),
        )
    }
)
"""Patterns by name."""


@dataclass(frozen=True, slots=True)
class Talking:
    """How many of N independent talkers talk at the same time."""

    # mean, deviation: Mean number, and its standard deviation
    mean: Array
    deviation: Array
    exceeding: Array  # Probability that more talk than there is room for
    frozen_out: Array  # Fraction of the talk that finds no room, where what exceeds it is lost


def activity_of(talk_s: Numbers, *, silence_s: Numbers) -> Any:
    """Fraction of time in which a talker talks; spurts and silences have means of 1e-6 to 1e6 s."""
    talk, silence = together("activity-of", talk_s=(talk_s, TALK_S), silence_s=(silence_s, TALK_S))
    return plain(talk / (talk + silence))


def talking(talkers: Numbers, *, activity: Numbers, room: Numbers) -> Talking:
    """Return how many of N talkers talk at the same time, and how often they are too many.

    N and the room, the largest number of simultaneous talkers, are from 0 to 10 000; a call has two
    talkers. Talkers are independent. The two of a call are not: mostly one listens while the other
    talks, so that calls of two vary less than this. Durations do not matter, only their ratio.

    Source
    ------
    The binomial distribution; freeze-out as in speech interpolation (TASI).

    Examples
    --------
    >>> found = talking(10, activity=0.4, room=7)
    >>> f"{found.mean:.1f} {found.exceeding:.6f}"
    '4.0 0.012295'
    """
    n, a, c = together(
        "talking", talkers=(talkers, TALKERS), activity=(activity, ACTIVITY), room=(room, CIRCUITS)
    )
    exceeding, frozen = np.zeros(n.shape), np.zeros(n.shape)
    for at in np.ndindex(n.shape):
        number, most = int(n[at]), int(c[at])
        mass = _binomial(number, float(a[at]))[most + 1 :]
        exceeding[at] = min(mass.sum(), 1.0)
        if mass.size and a[at] > 0:
            frozen[at] = min(
                float(mass @ np.arange(1.0, mass.size + 1)) / (number * float(a[at])), 1.0
            )
    return Talking(
        mean=plain(n * a),
        deviation=plain(np.sqrt(n * a * (1 - a))),
        exceeding=plain(exceeding),
        frozen_out=plain(frozen),
    )


def talking_quantile(talkers: Numbers, *, activity: Numbers, exceeding: Numbers) -> Any:
    """Quantile of the number of active talkers: exceeded with at most a given probability.

    The probability is from 1e-12 to 1 - 1e-9; talkers and activity are as for `talking`.

    Examples
    --------
    >>> float(talking_quantile(10, activity=0.4, exceeding=0.01))
    8.0
    """
    n, a, e = together(
        "talking-quantile",
        talkers=(talkers, TALKERS),
        activity=(activity, ACTIVITY),
        exceeding=(exceeding, PROBABILITY),
    )
    found = np.zeros(n.shape)
    for at in np.ndindex(n.shape):
        found[at] = _quantile(int(n[at]), float(a[at]), float(e[at]))
    return plain(found)


def admitted(room: Numbers, *, activity: Numbers, exceeding: Numbers) -> Any:
    """Most talkers of whom more than `room` are active with at most a given probability.

    The activity is above 0, the probability from 1e-12 to 1 - 1e-9.

    Raises
    ------
    ArgumentError
        If an argument is out of its range, or more than 10 000 could be admitted.

    Source
    ------
    The binomial distribution, as for `talking`.

    Examples
    --------
    >>> float(admitted(7, activity=0.4, exceeding=0.02))
    10.0
    """
    function = "admitted"
    c, a, e = together(
        function,
        room=(room, CIRCUITS),
        activity=(activity, ACTIVITY),
        exceeding=(exceeding, PROBABILITY),
    )
    found = np.zeros(c.shape)
    for at in np.ndindex(c.shape):
        most, each, allowed = int(c[at]), float(a[at]), float(e[at])
        low, high = most, MOST_TALKERS
        if _beyond(high, each, most) <= allowed:
            raise ArgumentError(
                function,
                "activity",
                f"{each:.12g}",
                f"one at which fewer than {MOST_TALKERS} talkers are admitted to {most} circuits",
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _beyond(middle, each, most) <= allowed else (low, middle)
        found[at] = low
    return plain(found)


def _beyond(talkers: int, activity: float, room: int) -> float:
    return float(_binomial(talkers, activity)[room + 1 :].sum())


def _quantile(talkers: int, activity: float, exceeding: float) -> int:
    mass = _binomial(talkers, activity)
    # Summed from above, so that small probabilities are not lost beside 1.
    above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
    return int(np.argmax(above <= exceeding))


def _binomial(talkers: int, activity: float) -> Array:
    """Return the probabilities of 0, 1, … N of them talking, shape (N + 1,)."""
    mass = np.zeros(talkers + 1)
    if activity in (0.0, 1.0) or talkers == 0:
        mass[talkers if activity == 1.0 else 0] = 1.0
        return mass
    k = np.arange(1.0, talkers + 1)
    # Relative to the likeliest, so that neither end overflows; what underflows is nothing.
    steps = np.log((talkers - k + 1) / k) + np.log(activity) - np.log1p(-activity)
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    mass = np.exp(logs - logs.max())
    return np.asarray(mass / mass.sum())
