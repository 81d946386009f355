"""Jobs: messages of flows at a resource, and how long they wait there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.arguments import Array
from ethermeter.counts import Integers
from ethermeter.theory.bounds.stages import Timing
from ethermeter.theory.queueing.sources import Source
from ethermeter.theory.waiting import cobham, m_g_1, marchal, second_queue, superposed


@dataclass(frozen=True, slots=True)
class Work:
    """What a resource works on messages [ps]: its moments, that of frames at least and at most."""

    mean: float
    square: float
    frames: tuple[int, int]
    messages: tuple[int, ...]
    is_single: bool

    @classmethod
    def of(cls, source: Source, timing: Timing) -> "Work":
        """Return the work of the messages of a source."""
        each = [list(map(timing.work_ps, message)) for message in source.messages]
        messages = tuple(map(sum, each))
        pairs = list(zip(source.shares, messages, strict=True))
        every = [work for works in each for work in works]
        return cls(
            sum(share * work for share, work in pairs),
            sum(share * work**2 for share, work in pairs),
            (min(every), max(every)),
            messages,
            all(len(works) == 1 for works in each),
        )


@dataclass(slots=True)
class Job:
    """The messages of a flow at a resource.

    `scv`: of the times between their arrivals. `is_exact`: whether they are a Poisson process of
    single frames. `mean`, `square`: moments of their work [ps, ps²].
    """

    flow: int
    level: int
    rate: float
    scv: float
    is_exact: bool
    mean: float
    square: float
    works: tuple[int, int]
    """Shortest and longest work of a frame [ps]."""
    before: int
    """Resource before, or -1."""
    works_of: tuple[int, ...]
    """Work of each message [ps], with `shares`; `is_single`: whether each is one frame."""
    shares: tuple[float, ...]
    is_single: bool
    came_through: tuple[tuple[int, float], ...]
    """Resources from the last wire on, and the mean of its work there [ps]."""


def is_same(jobs: Sequence[Job], means: Sequence[float]) -> bool:
    """Whether jobs of single frames, of Poisson sources, need the times that they needed before."""
    return all(
        job.is_single and job.scv == 1 and job.mean == mean
        for job, mean in zip(jobs, means, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Meeting:
    """Jobs that meet at a queue, as arrays: `means` and `squares` of their work [ps, ps²]."""

    levels: Integers
    rates: Array
    means: Array
    squares: Array
    scvs: Array

    @classmethod
    def of(cls, jobs: Sequence[Job], levels: Integers) -> "Meeting":
        """Return jobs with their levels of priority."""
        values = np.array([(job.rate, job.mean, job.square, job.scv) for job in jobs]).T
        return cls(levels, *values)

    def part(self, here: Integers, most: Array) -> "Meeting":
        """Return some of the jobs, with works of which the mean is at most `most`."""
        means = self.means[here]
        scale = np.divide(most, means, out=np.ones(len(here)), where=means > most)
        return Meeting(
            self.levels[here],
            self.rates[here],
            means * scale,
            self.squares[here] * scale**2,
            self.scvs[here],
        )

    def service_scv(self) -> float:
        """Return the squared variation of the work of all jobs."""
        load = float(self.rates @ self.means)
        square = float(self.rates @ self.squares) * float(self.rates.sum())
        return max(square / load**2 - 1, 0.0) if load > 0 else 0.0

    def waits(self) -> Array:
        """Return the mean waiting time of each job."""
        rate, load = float(self.rates.sum()), float(self.rates @ self.means)
        if load == 0:
            return np.zeros(len(self.rates))
        square, mean = float(self.rates @ self.squares) / rate, load / rate
        c_a = superposed(self.rates, self.scvs, load)
        near = float(marchal(rate, mean, self.service_scv(), c_a))
        count = int(self.levels.max()) + 1
        if count == 1:
            return np.full(len(self.rates), near)
        exact = float(m_g_1(rate, mean, square))
        of_levels = (self.rates, self.rates * self.means, self.rates * self.squares)
        rates, loads, squares = (np.bincount(self.levels, of, count) for of in of_levels)
        share = np.where(rates > 0, rates, 1.0)
        waits = cobham(rates.astype(float), loads / share, squares / share)
        # Arrivals that are no Poisson process change all classes alike.
        factor = near / exact if math.isfinite(exact) and exact > 0 else 1.0
        found: Array = waits[self.levels] * factor
        return found


def waits_again(jobs: Sequence[Job]) -> Array:
    """Return the mean waiting time of jobs behind a queue of the same jobs with the same times."""
    shares: dict[int, float] = {}
    for job in jobs:
        for work, share in zip(job.works_of, job.shares, strict=True):
            shares[work] = shares.get(work, 0.0) + job.rate * share
    works = sorted(shares)
    rate = sum(shares.values())
    waits = second_queue(
        rate, np.array(works, np.float64), np.array([shares[work] for work in works]) / rate
    )
    of = dict(zip(works, waits, strict=True))
    return np.array(
        [sum(s * of[w] for w, s in zip(job.works_of, job.shares, strict=True)) for job in jobs]
    )
