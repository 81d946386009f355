"""Distributions: histograms of several trials together, as shares above each value."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.metrics.statistics import merged
from ethermeter.results.interval import Floats
from ethermeter.results.slices import Source
from ethermeter.results.trials import PS_PER_S
from ethermeter.store.columns import HISTOGRAMS, TIMES


@dataclass(frozen=True, slots=True)
class Distribution:
    """Share of the frames at or above each value: 1 at the first value, 0 at the last.

    Shapes `(edges,)`.
    """

    value_s: Floats
    exceeding: Floats
    frames: int


def distribution(source: Source, time: str, trials: Sequence[Sequence[str]]) -> list[Distribution]:
    """Add the histograms of trials, for each group of trials; every frame counts alike.

    `time` is the name of a histogram, such as "transmission_delay". `trials` has the ids of the
    trials of every group; no trial is in two. Shares are those at the edges of the buckets, where
    they are exact; a group without a frame has none.
    """
    ids = [trial for group in trials for trial in group]
    owner = np.repeat(np.arange(len(trials)), [len(group) for group in trials])
    trial, columns = source.gathered(HISTOGRAMS, ids).each(np.arange(len(ids)))
    rows = columns["time"] == list(TIMES).index(time) if columns else np.empty(0, np.bool_)
    group = owner[trial[rows]]
    low_s, high_s = (columns[name][rows] / PS_PER_S for name in ("low_ps", "high_ps"))
    count = columns["count"][rows].astype(np.float64)
    found = []
    for at in range(len(trials)):
        mine = group == at
        low, edges, frames = merged(low_s[mine], high_s[mine], count[mine])
        total = float(frames.sum())
        if not total:
            found.append(Distribution(np.empty(0), np.empty(0), 0))
            continue
        above = np.concatenate([[total], total - np.cumsum(frames)]).astype(np.float64) / total
        values = np.concatenate([low[:1], edges])
        found.append(Distribution(values, above, round(total)))
    return found
