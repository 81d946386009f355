"""INET's showcase of 10BASE-T1S: claims, and the rules that decide them."""

from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.verdicts import decision, every
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats, exact, student
from ethermeter.results.query import Results
from ethermeter.studies.judging import Entry, Finding, Rule, rules_of

DATA = (Metric.TIME_FRAME, Metric.TIME_PREAMBLE)
"""Channel time of data: frames with preambles and end delimiters."""


def number(entry: Entry, results: Results) -> Finding:
    """Mean of a metric over the replications."""
    return Finding(_mean(_values(entry, results, Metric(entry.text("metric")))))


def data_share(entry: Entry, results: Results) -> Finding:
    """Share of channel time in which data is on the line."""
    return Finding(_mean(np.sum([_values(entry, results, metric) for metric in DATA], axis=0)))


def overlaps(entry: Entry, results: Results) -> Finding:
    """Whether the values of the replications reach into the published range."""
    return _overlap(entry, _values(entry, results, Metric(entry.text("metric"))))


def best_to_worst(entry: Entry, results: Results) -> Finding:
    """Whether the ratio of most to fewest frames of a station reaches into the published range."""
    at = results.at(entry.series, entry.point())
    frames = [at.each(Metric.FRAMES, trial) for trial in range(at.replications)]
    ratios = [float(of.max() / of.min()) for of in frames]
    return _overlap(entry, np.array(ratios))


def within(entry: Entry, results: Results) -> Finding:
    """Whether the mean is within the published range, by its interval."""
    mean = _mean(_values(entry, results, Metric(entry.text("metric"))))
    low, high = entry.read("range", tuple[float, float])
    return Finding(mean, every([decision(mean, ">=", low), decision(mean, "<=", high)]))


def _values(entry: Entry, results: Results, metric: Metric) -> Floats:
    """Return the values of a metric at the point of an entry, shape `(replications,)`."""
    return results.at(entry.series, entry.point()).values(metric)


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
