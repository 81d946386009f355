"""Bisection with chance: the last position of a list at which conditions still hold.

Positions are in the order of difficulty: it is taken for granted that what holds at a position
holds at all before it. A position is tried with replications until a sequential test decides about
it, or has taken its last look.

First the list is halved by the means, whether they are decided or not, down to two neighbours: the
estimate. Then, where the test left positions undecided, the gaps between these and the nearest that
are decided are halved. So the answer has an estimate and two positions between which the truth lies
unless a decision is wrong. With at most M positions and the error e/M of a decision, this happens
with probability e at most, by the union bound; the replications of a position are independent of
those of others before it.
"""

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from ethermeter.analysis.sequential import SequentialTest
from ethermeter.analysis.verdicts import Decision
from ethermeter.results.interval import Floats


@dataclass(frozen=True, slots=True)
class Tried:
    """What is known about a position: by the means, and by the test."""

    is_enough: bool
    verdict: Decision


@dataclass(frozen=True, slots=True)
class Ends:
    """How far a search has come; -1 stands before the first position.

    `estimate`: last position that holds by the means. `sure`: last that is decided to hold, before
    any that is decided to fail. `fails`: first that is decided to fail; the number of positions if
    none is.
    """

    estimate: int
    sure: int
    fails: int


@dataclass(frozen=True, slots=True)
class Step:
    """Replications of a position to run next: from `begin` on, below `end`."""

    position: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Bisection:
    """A search over positions.

    Parameters
    ----------
    count
        Positions, at least one.
    test
        How a position is judged.
    has_ends
        Whether the first and the last position are tried before others, together with the middle.
    most
        Positions that are tried at most, beside those that the estimate needs.
    """

    count: int
    test: SequentialTest
    has_ends: bool = False
    most: int | None = None

    def tried(
        self,
        samples: Mapping[int, Floats],
        runs: Mapping[int, int],
        unsettled: Set[int] = frozenset(),
    ) -> dict[int, Tried]:
        """Judge the positions that need no more replications.

        `samples`: margins of each position, shape `(margins, samples)`. `runs`: its replications so
        far, those without a result included. `unsettled`: positions whose samples say no more than
        that they fail; those that do not are undecided.
        """
        found = {}
        for position, margins in samples.items():
            verdict = self.test.verdict(margins)
            if verdict != "undecided" or runs[position] >= self.test.most:
                is_enough = margins.size > 0 and bool((margins.mean(axis=1) >= 0).all())
                decided = {"holds": True, "fails": False, "undecided": is_enough}[verdict]
                found[position] = Tried(decided, verdict)
                if position in unsettled and verdict != "fails":
                    found[position] = Tried(is_enough=False, verdict="undecided")
        return found

    def steps(
        self,
        samples: Mapping[int, Floats],
        runs: Mapping[int, int],
        unsettled: Set[int] = frozenset(),
    ) -> tuple[Step, ...]:
        """Return what to run next; nothing when the search is over. Arguments as of `tried`."""
        tried = self.tried(samples, runs, unsettled)
        if waiting := sorted(runs.keys() - tried.keys()):
            return tuple(
                Step(position, runs[position], self.test.next_look(runs[position]))
                for position in waiting
            )
        return tuple(Step(position, 0, self.test.looks[0]) for position in self._next(tried))

    def ends(self, tried: Mapping[int, Tried]) -> Ends:
        """Return how far the search has come."""
        low, _ = _between(tried, self.count, lambda each: each.is_enough, lambda _: True)
        sure, fails = _between(
            tried,
            self.count,
            lambda each: each.verdict == "holds",
            lambda each: each.verdict != "undecided",
        )
        return Ends(low, sure, fails)

    def positions_left(self, tried: Mapping[int, Tried]) -> int:
        """About how many positions are still to be tried."""
        low, high = _between(tried, self.count, lambda each: each.is_enough, lambda _: True)
        return math.ceil(math.log2(high - low)) + (2 * self.has_ends if not tried else 0)

    def _next(self, tried: Mapping[int, Tried]) -> tuple[int, ...]:
        """Return the positions to try next."""
        if not tried and self.has_ends:
            return tuple(sorted({0, (self.count - 1) // 2, self.count - 1}))
        low, high = _between(tried, self.count, lambda each: each.is_enough, lambda _: True)
        if high - low > 1:
            return ((low + high) // 2,)
        if not self.test.can_decide or not self._may_refine(tried):
            return ()
        ends = self.ends(tried)
        between = [at for at in tried if ends.sure < at < ends.fails]
        if not between:
            return ()
        gaps = ((ends.sure, min(between)), (max(between), ends.fails))
        return tuple((one + other) // 2 for one, other in gaps if other - one > 1)

    def _may_refine(self, tried: Mapping[int, Tried]) -> bool:
        return self.most is None or len(tried) + 1 < self.most


def most_positions(count: int) -> int:
    """Return how many positions a search that begins with the ends may try.

    The ends, and twice as many as halving takes: for the estimate, and for both sides of it.
    """
    return 2 + 2 * math.ceil(math.log2(max(count, 2)))


def _between(
    tried: Mapping[int, Tried],
    count: int,
    is_enough: Callable[[Tried], bool],
    counts: Callable[[Tried], bool],
) -> tuple[int, int]:
    """Return the last position that is enough before the first that is not, and this one.

    Of the positions that count; -1 and `count` where there are none.
    """
    good = {at: is_enough(each) for at, each in tried.items() if counts(each)}
    high = min((at for at, is_so in good.items() if not is_so), default=count)
    return max((at for at, is_so in good.items() if is_so and at < high), default=-1), high
