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
    """What a resource works on messages: its moments [ps, ps²]."""

    mean: float
    square: float
    frames: tuple[int, int]
    """Shortest and longest work of a frame [ps]."""
    messages: tuple[int, ...]
    """Work of each message [ps]; `is_single`: whether each is one frame."""
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
    """The messages of a flow at a resource, from its source, with the work on them.

    `is_exact`: whether they are a Poisson process of single frames.
    """

    visit: int
    flow: int
    level: int
    source: Source
    work: Work
    is_exact: bool
    before: int
    """Resource before, or -1."""


def is_same(jobs: Sequence[Job], means: Sequence[float]) -> bool:
    """Whether jobs of single frames, of Poisson sources, need the times that they needed before."""
    return all(
        job.work.is_single and job.source.scv == 1 and job.work.mean == mean
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
        values = np.array(
            [(job.source.rate, job.work.mean, job.work.square, job.source.scv) for job in jobs]
        ).T
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
        for work, share in zip(job.work.messages, job.source.shares, strict=True):
            shares[work] = shares.get(work, 0.0) + job.source.rate * share
    works = sorted(shares)
    rate = sum(shares.values())
    waits = second_queue(
        rate, np.array(works, np.float64), np.array([shares[work] for work in works]) / rate
    )
    of = dict(zip(works, waits, strict=True))
    return np.array(
        [
            sum(s * of[w] for w, s in zip(job.work.messages, job.source.shares, strict=True))
            for job in jobs
        ]
    )
