"""INET's showcase of 10BASE-T1S: claims, and the rules that decide them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.analysis.interval import Estimate, Floats, exact, student
from ethermeter.metrics import Metric
from ethermeter.results.values import of_all, values_of_each
from ethermeter.studies.judging import Entry, Finding, judged, published, rules_of
from ethermeter.studies.replications import Curves

DATA = (Metric.TIME_FRAME, Metric.TIME_PREAMBLE)
"""Channel time of data: frames with preambles and end delimiters."""


class Run:
    """What the rules read: values by replication, and frames by station."""

    def __init__(self, curves: Curves, frames: Sequence[Mapping[Metric, Floats]]) -> None:
        """Keep them; `frames` has the frames of every station, trial by trial."""
        self._curves, self._frames = curves, frames

    def values(self, entry: Entry, metric: Metric) -> Floats:
        """Values of a metric at the point of an entry, shape `(replications,)`."""
        return self._curves.values(entry.series, entry.point(), metric)

    def frames(self, entry: Entry) -> list[Floats]:
        """Frames of every station, replication by replication."""
        return [
            self._frames[at][Metric.FRAMES]
            for at in self._curves.trials(entry.series, entry.point())
        ]


Rule = Callable[[Entry, Run], Finding]


def of_run(run_dir: Path) -> tuple[Claim, ...]:
    """Every claim against a finished run."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    trials = run.replications()
    frames = values_of_each(run, trials, (Metric.FRAMES,))
    found = Run(Curves(trials, of_all(run, trials)), frames)
    return judged(published(__package__), lambda entry: RULES[entry.rule](entry, found))


def number(entry: Entry, run: Run) -> Finding:
    """Mean of a metric over the replications."""
    return Finding(_mean(run.values(entry, Metric(entry.text("metric")))))


def data_share(entry: Entry, run: Run) -> Finding:
    """Share of channel time in which data is on the line."""
    return Finding(_mean(np.sum([run.values(entry, metric) for metric in DATA], axis=0)))


def overlaps(entry: Entry, run: Run) -> Finding:
    """Whether the values of the replications reach into the published range."""
    return _overlap(entry, run.values(entry, Metric(entry.text("metric"))))


def best_to_worst(entry: Entry, run: Run) -> Finding:
    """Whether the ratio of most to fewest frames of a station reaches into the published range."""
    ratios = [float(frames.max() / frames.min()) for frames in run.frames(entry)]
    return _overlap(entry, np.array(ratios))


def within(entry: Entry, run: Run) -> Finding:
    """Whether the mean is within the published range."""
    mean = _mean(run.values(entry, Metric(entry.text("metric"))))
    low, high = entry.read("range", tuple[float, float])
    return Finding(mean, low <= mean.value <= high)


def _overlap(entry: Entry, values: Floats) -> Finding:
    low, high = entry.read("range", tuple[float, float])
    least, most = float(values.min()), float(values.max())
    scale = entry.number("scale", 1.0)
    remark = f"{least * scale:.4g} to {most * scale:.4g} over {len(values)} seeds"
    return Finding(_mean(values), least <= high and most >= low, remark)


def _mean(values: Floats) -> Estimate:
    """Return the mean over replications; without an error where all are equal."""
    return exact(float(values[0])) if np.ptp(values) == 0 else student(values)


RULES: Mapping[str, Rule] = rules_of(globals())
