"""Backoff: which law the attempts of each station of an emulated segment fit.

After the n-th collision of a frame a station waits r slots (802.3-2022 section 4.2.3.2.5). Of each
wait the capture has the least and the most slots that it can have been: one number where the medium
was silent at its end, a range where the station then deferred to others. Where these ranges are
follows from what others sent before, so that under a law the probability below the range, plus a
random share of that of the range, is uniform from 0 to 1, independently from wait to wait. The test
of a law is that of Kolmogorov and Smirnov on these numbers.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ethermeter.captures.counts import SegmentAttempts, StationAttempts

FALSE_ALARM = 0.01
"""Probability that the test rejects the law that a station has."""
LEAST_WAITS = 100
"""Waits below which nothing is said. With so many, of which half follow a first collision, linear
backoff is rejected in two of three captures.
"""
MOST_WAITS = 10_000
"""Waits that are tested, chosen at random: instants are known to 1% of a slot, which more of them
would show.
"""
MOST_UNEXPLAINED = 0.05
"""Share of waits that may be neither whole slots nor end with a gap: else the constants of the
segment are not those of 802.3.
"""
STANDARD_LIMIT = 10
"""backoffLimit (802.3-2022 section 4.4.2)."""

Verdict = Literal["conforms", "deviates", "undecided"]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Law:
    """A law of backoff: r is uniform from 0 to below a range.

    Parameters
    ----------
    name
        The law in words.
    range_of
        Return the range after some numbers of collisions.

    """

    name: str
    range_of: Callable[[Integers], Integers]


def exponential(limit: int) -> Law:
    """Return truncated binary exponential backoff: 0 <= r < 2^min(n, limit)."""
    of = " of 802.3" if limit == STANDARD_LIMIT else ""
    name = f"truncated binary exponential{of} (limit {limit})"
    return Law(name, lambda collisions: 2 ** np.minimum(collisions, limit))


def linear(limit: int) -> Law:
    """Return linear backoff: 0 <= r <= min(n, limit)."""
    return Law(f"linear (limit {limit})", lambda collisions: np.minimum(collisions, limit) + 1)


def constant(slots: int) -> Law:
    """Return backoff over a constant range: 0 <= r < slots."""
    name = "none" if slots == 1 else f"constant ({slots} slots)"
    return Law(name, lambda collisions: np.full_like(collisions, slots))


STANDARD = exponential(STANDARD_LIMIT)
_LIMITS = range(17)
_SLOTS = (*range(2, 64), *(2**power for power in range(6, 12)))
OTHERS: tuple[Law, ...] = (
    *(linear(STANDARD_LIMIT), constant(1)),
    *(exponential(limit) for limit in _LIMITS if limit not in (0, STANDARD_LIMIT)),
    *(linear(limit) for limit in _LIMITS if limit not in (0, STANDARD_LIMIT)),
    *map(constant, _SLOTS),
)
"""Laws that are tried where the standard's does not fit; of two that are as likely, the earlier."""
AS_LIKELY = 1.92
"""Logarithm of the likelihood by which laws are as likely: half of the 95% quantile of chi squared
with one degree of freedom.
"""


@dataclass(frozen=True, slots=True)
class StationBackoff:
    """The backoff of a station, as its attempts show it.

    Parameters
    ----------
    name
        Interface of the file.
    attempts, collisions
        Attempts, and those that collided.
    waits
        Waits between a collision and the next attempt of the frame.
    verdict
        `conforms` if the law of the standard is not rejected, `deviates` if it is.
    p_value
        Probability of so large a deviation under the law of the standard; None if undecided.
    law
        The law: that of the standard if it is not rejected, else the likeliest of `OTHERS` that is
        not; None if there is none.
    reason
        Why nothing is said; empty otherwise.
    given_up
        Attempts after which frames were given up, and how many were.

    """

    name: str
    attempts: int
    collisions: int
    waits: int
    verdict: Verdict
    p_value: float | None
    law: str | None
    reason: str
    given_up: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Waits:
    """Waits: collisions before each, and the least and the most slots that it was."""

    collisions: Integers
    least: Integers
    most: Integers

    def below(self, law: Law) -> tuple[Floats, Floats]:
        """Return the probabilities of fewer slots than the least, and of at most the most."""
        slots = law.range_of(self.collisions)
        return np.minimum(self.least, slots) / slots, np.minimum(self.most + 1, slots) / slots

    def log_likelihood(self, law: Law) -> float:
        """Return the logarithm of the probability of all waits."""
        low, high = self.below(law)
        with np.errstate(divide="ignore"):
            return float(np.log(high - low).sum())

    def p_value(self, law: Law) -> float:
        """Return the probability of so large a deviation from a law; 0 if a wait cannot be."""
        from scipy.stats import kstest

        low, high = self.below(law)
        if (high <= low).any():
            return 0.0
        # The same whenever these waits are tested, and others with other waits.
        digest = hashlib.sha256(np.stack([self.collisions, self.least, self.most]).tobytes())
        random = np.random.default_rng(int.from_bytes(digest.digest()))
        shares = random.random(len(low))
        return float(kstest(low + shares * (high - low), "uniform").pvalue)


def backoffs(segment: SegmentAttempts, *, is_complete: bool) -> list[StationBackoff]:
    """Return the backoff of each station of a segment that has sent.

    `is_complete` says that the capture lacks no attempt.
    """
    why = "" if is_complete else "the capture lacks attempts"
    if segment.has_logical:
        why = "MACs get collision signals from PLCA"
    return [_backoff(station, why) for station in segment.stations if station.attempts]


def _backoff(station: StationAttempts, why: str) -> StationBackoff:
    rows = np.array(station.waits, np.int64).reshape(-1, 4)
    count = int(rows[:, 3].sum())
    if not why:
        why = "; ".join(_obstacles(station, count))
    waits = _waits(rows)
    p_value, law = (None, None) if why else _judged(waits)
    if p_value is None:
        verdict: Verdict = "undecided"
    else:
        verdict = "deviates" if p_value < FALSE_ALARM else "conforms"
    return StationBackoff(
        name=station.name,
        attempts=station.attempts,
        collisions=station.collisions,
        waits=count,
        verdict=verdict,
        p_value=p_value,
        law=None if law is None else law.name,
        reason=why,
        given_up=tuple(station.given_up),
    )


def _obstacles(station: StationAttempts, count: int) -> Iterator[str]:
    if station.unexplained > MOST_UNEXPLAINED * (count + station.unexplained):
        yield (
            f"{station.unexplained} waits are no whole slots: the constants are not those of 802.3"
            " at 10 or 100 Mb/s"
        )
    elif count < LEAST_WAITS:
        yield f"{count} waits after collisions, expected {LEAST_WAITS} or more"


def _waits(rows: Integers) -> _Waits:
    collisions, least, most, count = rows.T
    index = np.repeat(np.arange(len(rows)), count)
    if len(index) > MOST_WAITS:
        index = np.random.default_rng(0).choice(index, MOST_WAITS, replace=False)
    return _Waits(collisions[index], least[index], most[index])


def _judged(waits: _Waits) -> tuple[float, Law | None]:
    """Return the p-value of the standard's law, and the law that fits."""
    p_value = waits.p_value(STANDARD)
    if p_value >= FALSE_ALARM:
        return p_value, STANDARD
    likelihoods = [waits.log_likelihood(law) for law in OTHERS]
    fitting = [
        (likelihood, law)
        for likelihood, law in zip(likelihoods, OTHERS, strict=True)
        if np.isfinite(likelihood) and waits.p_value(law) >= FALSE_ALARM
    ]
    most = max((likelihood for likelihood, _ in fitting), default=0.0)
    return p_value, next((law for likely, law in fitting if likely >= most - AS_LIKELY), None)
