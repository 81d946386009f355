"""JSON of flent, compressed or not: series over time by name."""

import math
from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.interval import Estimate, Floats
from ethermeter.analysis.samples import merged, ratio, samples_of
from ethermeter.faults import InputError
from ethermeter.imports.document import Document
from ethermeter.metrics import Metric

_SUMMARIES = ("avg", "sum", "totals", "mean", "fairness")
"""Words of series that are made of others."""
_MOST = 10_000_000


def flows(document: Document, file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return the estimates of each series: round trips of pings [ms], rates of TCP [Mbit/s]."""
    results = document.get("results")
    if not isinstance(results, Mapping):
        raise InputError.of(file, "results", str(results)[:50], "expected an object of series")
    found: dict[str, dict[Metric, Estimate]] = {}
    for name, series in results.items():
        lower = name.lower()
        is_trip = lower.startswith("ping")
        if not is_trip and not lower.startswith("tcp"):
            continue
        if any(word in lower.split() for word in _SUMMARIES):
            continue
        samples = _samples(series, name, file)
        if not len(samples):
            continue
        if is_trip:
            found[name] = samples_of(Metric.ROUND_TRIP, samples / 1e3)
        else:
            rate = ratio(merged(samples * 1e6), merged(np.ones(len(samples))))
            found[name] = {Metric.DATA_RATE: rate}
    if not found:
        allowed = "expected series that begin with Ping or TCP"
        raise InputError.of(file, "results", ", ".join(map(str, results))[:200], allowed)
    return found


def _samples(series: object, name: str, file: str) -> Floats:
    allowed = "expected a list of numbers from 0, or null where there is none"
    if not isinstance(series, list) or len(series) > _MOST:
        raise InputError.of(file, f"results.{name}", str(series)[:50], allowed)
    for each in series:
        is_number = isinstance(each, int | float) and not isinstance(each, bool)
        if each is not None and not (is_number and 0 <= each < math.inf):
            raise InputError.of(file, f"results.{name}", str(each)[:50], allowed)
    return np.array([each for each in series if each is not None], np.float64)
