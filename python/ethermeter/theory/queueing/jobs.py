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

    `rate`: messages in a picosecond that come there, those that were lost before left out.
    `is_exact`: whether they are a Poisson process of single frames.
    """

    visit: int
    flow: int
    level: int
    source: Source
    rate: float
    work: Work
    is_exact: bool
    before: int
    """Resource before, or -1."""


def is_repeated(jobs: Sequence[Job], before: Sequence[Job]) -> bool:
    """Whether single frames need the times that they needed at a resource before."""
    return all(
        job.work.is_single and job.work.messages == was.work.messages
        for job, was in zip(jobs, before, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Spared:
    """What jobs of a queue would be spared of their mean waits if only those of one resource came.

    `messages`: the mean over the messages of each; `work`: over their work, of which long messages
    have more. `resources`: of each the resource before that spares it, or -1.
    """

    messages: Array
    work: Array
    resources: Integers


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
            [(job.rate, job.work.mean, job.work.square, job.source.scv) for job in jobs]
        ).T
        return cls(levels, *values)

    def behind(self, here: Integers, before: Array) -> "Meeting":
        """Return some of the jobs, with the work that spaces them behind a resource before.

        `before`: their mean works there. The smaller one counts: behind a slower resource they do
        not wait for each other at all; behind a faster one of constant works, by what a queue of
        the works here waits more than one of the works there.
        """
        means = self.means[here]
        scale = np.divide(before, means, out=np.ones(len(here)), where=means > before)
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

    def spared(self, waits: Array, spared: "Spared") -> Array:
        """Return the waits of jobs some of which are spared a part of them.

        W_i' = W_i − s_i + Σ_j ρ_j (s_i − z_j), the sum over the jobs j of other resources, of the
        level of i or above it; z_j is s_j over its work. An approximation; for one level:

        - What is spared is missing in the work V that is left here: Δ = Σ ρ_i z_i (Little's law for
          work). Jobs of other resources find V, so that they wait less by the Δ of this one.
        - Conservation: V = Σ ρ_i W_i and the work in service, so that Δ = Σ ρ_i x_i + Δ Σ_j ρ_j,
          with x_i what the spared jobs wait less, and j the jobs of other resources. It holds with
          x_i = z_i (1 − Σ_j ρ_j).

        Of several levels, a job finds in the same way only what is not behind it. `waits`: as if
        all jobs met here for the first time.
        """
        loads, has_one = self.rates * self.means, spared.resources >= 0
        _, group = np.unique(spared.resources, return_inverse=True)

        def of_others(values: Array) -> Array:
            """Return the sum of values over the jobs j of each job i."""
            shape = (int(group.max()) + 1, int(self.levels.max()) + 1)
            sums = np.bincount(group * shape[1] + self.levels, values, shape[0] * shape[1])
            sums = sums.reshape(shape).cumsum(axis=1)
            met: Array = sums.sum(axis=0)[self.levels]
            return met - np.where(has_one, sums[group, self.levels], 0.0)

        changes = spared.messages * of_others(loads) - of_others(loads * spared.work)
        found: Array = np.maximum(waits - spared.messages + changes, 0.0)
        return found

    def shares_of_turns(self) -> Array:
        """Return the wait of each job over that of all, where jobs take turns, a message each time.

        Proportional to 1 − ρ + x_i, so that the sum of ρ_i W_i is that of one queue. An
        approximation: x_i is ρ_i where all messages are alike (Boxma and Meister 1987, limited
        service without times between, as of `ethermeter.theory.boxma_meister_1987`). Where they are
        not, a job of many short ones waits for its turns: x_i is half ρ_i and half ρ times its
        share of the messages, by which random networks are met best (`benches.means`).
        """
        loads = self.rates * self.means
        load = float(loads.sum())
        turns = max(1 - load, 0.0) + (loads + load * self.rates / self.rates.sum()) / 2
        shares: Array = turns * load / (loads @ turns)
        return shares


def waits_again(jobs: Sequence[Job], levels: Integers) -> tuple[Array, Array]:
    """Return the mean waits of jobs behind a queue of the same jobs with the same times.

    Those of their messages, and those of their work: each message counts as often as its work is
    long. `levels`: of each job its level of priority at that queue, 0 the highest.
    """
    kinds: dict[tuple[tuple[int, ...], tuple[float, ...]], int] = {}
    kind = [kinds.setdefault((of.work.messages, of.source.shares), len(kinds)) for of in jobs]
    works = sorted({work for messages, _ in kinds for work in messages})
    number = {work: at for at, work in enumerate(works)}
    of_kinds = np.zeros((len(kinds), len(works)))
    for at, pair in enumerate(kinds):
        for work, share in zip(*pair, strict=True):
            of_kinds[at, number[work]] += share
    shares = of_kinds[kind]
    offered = shares.T * np.array([job.rate for job in jobs])
    rates: Array = np.stack([np.bincount(levels, each) for each in offered], axis=1)
    waits = second_queue(rates, np.array(works, np.float64))[levels]
    of_work = shares * works
    return (shares * waits).sum(axis=1), (of_work * waits).sum(axis=1) / of_work.sum(axis=1)
