"""Sequential tests: samples are added until it is decided whether means are at least zero.

The method
----------
A margin is by how much a condition holds; its samples come from independent replications. All
margins of a value are judged together: it holds if every mean is at least zero, and fails if one is
below.

Samples are looked at a stated number of times, L. At a look, it

- holds if the lower limit of every mean is at least zero, each with the one-sided error e/L;
- fails if the upper limit of one of m means is below zero, with the one-sided error e/(L m);
- is undecided otherwise, and more samples are taken, until the last look.

The limits are Student's. A value that fails has a mean below zero, and is taken to hold only if the
lower limit of this very mean is wrong at one of L looks: with probability e at most. A value that
holds is taken to fail only if one of m upper limits is wrong at one of L looks: e at most. Both are
union bounds; nothing is assumed about how looks or margins depend on each other.

Where all samples of a margin are equal, Student's limits would be as narrow after two samples as
after a thousand. They are then used only after so many samples that equal values of a continuous
distribution on one side of its median would have the probability e/L: the sign test.

A sample of minus infinity is a value that cannot be satisfied at all, such as an undefined one; one
of these decides that it fails.

Source
------
Jennison and Turnbull, Group Sequential Methods, 2000, chapter 1 (looks); Berger, Technometrics
24(4), 1982 (several conditions that all must hold need no correction).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from ethermeter.analysis.verdicts import Decision
from ethermeter.results.interval import Floats


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """When samples are looked at, and with what error they are decided about.

    Parameters
    ----------
    looks
        Numbers of samples at which they are looked at, ascending.
    error
        Probability of a wrong decision, at most: of each kind, over all looks. 0 where the samples
        have no chance in them.
    equal
        Samples from which equal ones are decided about.
    """

    looks: tuple[int, ...]
    error: float
    equal: int = 1

    @property
    def most(self) -> int:
        """Samples at the last look."""
        return self.looks[-1]

    @property
    def can_decide(self) -> bool:
        """Whether there are samples enough for any decision."""
        return self.most >= min(2, self.equal)

    def next_look(self, taken: int) -> int:
        """Return the samples of the next look after so many; those taken after the last look."""
        return next((look for look in self.looks if look > taken), taken)

    def verdict(self, margins: Floats) -> Decision:
        """Decide about margins, shape `(margins, samples)`."""
        if np.isneginf(margins).any():
            return "fails"
        samples = margins.shape[1] if margins.ndim == 2 else 0
        if not samples:
            return "undecided"
        means = margins.mean(axis=1)
        is_equal = np.ptp(margins, axis=1) == 0
        errors = np.zeros(len(margins))
        if samples > 1:
            errors = margins.std(axis=1, ddof=1) / math.sqrt(samples)
        known = np.where(is_equal, samples >= self.equal, samples > 1)
        errors = np.where(is_equal, 0.0, errors)
        error = self.error / len(self.looks)
        one, every = (
            _quantile(share, samples - 1) if samples > 1 else 0.0
            for share in (error, error / len(margins))
        )
        if bool((known & (means - one * errors >= 0)).all()):
            return "holds"
        if bool((known & (means + every * errors < 0)).any()):
            return "fails"
        return "undecided"


def looks_up_to(most: int) -> tuple[int, ...]:
    """Return the looks of a test with at most so many samples: 5, then half as many again.

    With fewer than five samples a few that are close to each other by chance would decide too
    often where their distribution is not normal.

    Examples
    --------
    >>> looks_up_to(64)
    (5, 8, 12, 18, 27, 41, 64)
    """
    looks = [min(5, most)]
    while looks[-1] < most:
        following = math.ceil(1.5 * looks[-1])
        looks.append(most if 1.25 * following > most else following)
    return tuple(looks)


def sequential_test(error: float, *, most: int) -> SequentialTest:
    """Return a test with this error of a decision and at most so many samples."""
    looks = looks_up_to(most)
    return SequentialTest(looks, error, math.ceil(math.log2(len(looks) / error)))


def _quantile(error: float, degrees: int) -> float:
    """Student's t that is exceeded with this probability; 0 for no error at all."""
    return float(stdtrit(degrees, 1 - error)) if error > 0 else 0.0
