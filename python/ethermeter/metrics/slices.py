"""Slices: what the entities of one kind counted in a time, as formulas of metrics take it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np

from ethermeter.counts import Adds, Buckets, Column, Floats, Integers
from ethermeter.metrics.statistics import PS_PER_S, merged_by, ranked

T = TypeVar("T")


class NotCountedError(LookupError):
    """A counter that a slice does not have, such as one that is not kept by batch."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Buckets of `entities` stations or flows of each trial, or of one medium.

    The entity of a bucket counts through the trials too, if there are several: entity k of trial t
    is `t * entities + k`. `is_read` is whether times are readings of clocks, of which buckets of
    several receivers may overlap: these are put in order, not merged.
    """

    buckets: Buckets
    entities: int
    is_read: bool = False

    def of_each(self) -> Buckets:
        """Return the buckets in the order that `ranked` needs."""
        if not self.is_read:
            return self.buckets
        it = self.buckets
        return _chosen(it, np.lexsort((it.low_ps, it.entity)))

    def pooled(self) -> Buckets:
        """Return the buckets of all entities of each trial together, whose number is then 0."""
        it = self.buckets
        trial = it.entity // max(1, self.entities)
        if self.is_read:
            together = replace(it, entity=trial)
            return _chosen(together, np.lexsort((it.low_ps, trial)))
        return Buckets(*merged_by(trial, it.low_ps, it.high_ps, it.count))


def _chosen(buckets: Buckets, rows: Integers) -> Buckets:
    return Buckets(
        buckets.entity[rows], buckets.low_ps[rows], buckets.high_ps[rows], buckets.count[rows]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """What the entities of one kind counted in a time: a whole window, or some of its batches.

    Parameters
    ----------
    entities
        How many there are: the last axis of counters. The axes before it, those of trials and of
        batches, are the same for all counters.
    window_ps
        Length of the measured window, shape `(…, 1)`.
    counters
        By name, shape `(…, entities)`, or `(…, 1)` of a medium that they share: counts by their
        names in `ethermeter.counts.flat`, and parameters. NaN is what an engine does not count.
    counted_ps
        Time of the window in which was counted, shape `(…, 1)`; None for all of it.
    adds
        How counters add that are not summed; those of the entities are `Adds.NONE`.
    histograms
        By name; none where a part of the window was counted.
    """

    entities: int
    window_ps: Floats
    counters: Mapping[str, Column]
    counted_ps: Floats | None = None
    adds: Mapping[str, Adds] = field(default_factory=dict)
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    is_pooled: bool = False
    _known: dict[str, object] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return a counter; NotCountedError if it has none of that name."""
        try:
            return self.counters[name]
        except KeyError:
            raise NotCountedError(name) from None

    @property
    def is_whole(self) -> bool:
        """Whether the whole window was counted."""
        return self.counted_ps is None

    @property
    def time_ps(self) -> Floats:
        """Time in which was counted, shape `(…, 1)`."""
        return self.window_ps if self.counted_ps is None else self.counted_ps

    @property
    def parts(self) -> int:
        """How many times as long the window is as what was counted in it: its batches."""
        if self.counted_ps is None:
            return 1
        return round(float((self.window_ps / self.counted_ps).flat[0]))

    def once(self, name: str, make: Callable[["Slice"], T]) -> T:
        """Return what several formulas need, which is made for the first of them."""
        if name not in self._known:
            self._known[name] = make(self)
        return cast(T, self._known[name])

    def together(self) -> "Slice":
        """Return the slice of all entities as one; counters that do not add are left out."""
        return self.once("together", _together)

    def left_out(self) -> "Slice":
        """Return what all batches but one counted, for each of them.

        The second axis is that of batches, of which there are at least two.
        """
        assert self.counted_ps is not None, "a slice by batch"
        counters = {
            name: values
            if values.shape[1] == 1
            else values.sum(axis=1, keepdims=True, dtype=np.float64) - values
            for name, values in self.counters.items()
        }
        counted_ps = self.counted_ps * (self.parts - 1)
        return replace(self, counters=counters, counted_ps=counted_ps, _known={})

    def ranks_s(self, name: str) -> Floats:
        """Return quantiles of a histogram and its largest time in s, shape `(…, entities, 5)`.

        Their ranks are those of `ethermeter.metrics.statistics.RANKS`. NotCountedError without the
        histogram.
        """
        return self.once(f"ranks of {name}", lambda counted: counted._ranks_s(name))

    def _ranks_s(self, name: str) -> Floats:
        try:
            histogram = self.histograms[name]
        except KeyError:
            raise NotCountedError(name) from None
        lead = self.window_ps.shape[:-1]
        entities = 1 if self.is_pooled else histogram.entities
        buckets = histogram.pooled() if self.is_pooled else histogram.of_each()
        found = ranked(buckets, entities * int(np.prod(lead)))
        return found.reshape(*lead, entities, found.shape[-1]) / PS_PER_S


def _together(counted: Slice) -> Slice:
    counters = {}
    for name, values in counted.counters.items():
        adds = counted.adds.get(name, Adds.SUM)
        if values.shape[-1] == 1:
            counters[name] = values
        elif adds is Adds.SUM:
            counters[name] = values.sum(axis=-1, keepdims=True)
        elif adds is Adds.MOST:
            counters[name] = values.max(axis=-1, keepdims=True)
    return replace(counted, entities=1, counters=counters, is_pooled=True, _known={})
