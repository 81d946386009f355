"""Distributions: histograms of several trials together, as shares above each value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.analysis.interval import Floats
from ethermeter.analysis.tables import codes
from ethermeter.metrics.formulas import merged

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Distribution:
    """Share of the frames at or above each value: 1 at the first value, 0 at the last.

    Shapes `(edges,)`.
    """

    value_s: Floats
    exceeding: Floats
    frames: int


def distribution(
    histograms: "pa.Table", metric: str, trials: Sequence[Sequence[str]]
) -> list[Distribution]:
    """Add the histograms of trials, for each group of trials; every frame counts alike.

    `metric` is the name of a histogram, such as "transmission_delay". `trials` has the ids of the
    trials of every group; no trial is in two. Shares are those at the edges of the buckets, where
    they are exact; a group without a frame has none.
    """
    ids = [trial for group in trials for trial in group]
    owner = np.repeat(np.arange(len(trials)), [len(group) for group in trials])
    trial, _ = codes(histograms["trial"], ids)
    # Few of a study's trials are asked for: the other columns are looked at only where they are.
    few = histograms.take(np.nonzero(trial >= 0)[0])
    kind, _ = codes(few["metric"], [metric])
    rows = kind == 0
    group = owner[trial[trial >= 0][rows]]
    low_s, high_s = (few[name].to_numpy()[rows] for name in ("low_s", "high_s"))
    count = few["count"].to_numpy()[rows].astype(np.float64)
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
