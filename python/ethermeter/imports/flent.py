"""JSON of flent, compressed or not: series over time by name."""

from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.samples import merged, ratio, samples_of
from ethermeter.faults import InputError
from ethermeter.imports.document import Document, finite
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, Floats

_SUMMARIES = ("avg", "sum", "totals", "mean", "fairness")
"""Words of series that are made of others."""
_OF_SOCKETS = "::"
"""Between the name of a series and that of a figure of its socket, which is no rate."""
_MOST = 10_000_000


def flows(document: Document, file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return the estimates of each series: round trips of pings [ms], rates of TCP [Mbit/s].

    Of pings, those that were measured, where the file has them: the series is on a grid of times.
    """
    results = document.get("results")
    if not isinstance(results, Mapping):
        raise InputError.of(file, "results", str(results)[:50], "expected an object of series")
    found: dict[str, dict[Metric, Estimate]] = {}
    for name, series in results.items():
        lower = name.lower()
        is_trip = lower.startswith("ping")
        if not is_trip and not lower.startswith("tcp"):
            continue
        if any(word in lower.split() for word in _SUMMARIES) or _OF_SOCKETS in name:
            continue
        measured = _measured(document, name) if is_trip else None
        samples = _samples(series if measured is None else measured, name, file)
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


def _measured(document: Document, name: str) -> list[object] | None:
    """Values of a series as they were measured; None if the file has none."""
    raw = document.get("raw_values")
    each = raw.get(name) if isinstance(raw, Mapping) else None
    if not isinstance(each, list):
        return None
    return [one["val"] for one in each if isinstance(one, Mapping) and "val" in one] or None


def _samples(series: object, name: str, file: str) -> Floats:
    allowed = "expected a list of numbers from 0, or null where there is none"
    if not isinstance(series, list) or len(series) > _MOST:
        raise InputError.of(file, f"results.{name}", str(series)[:50], allowed)
    numbers = [finite(each) for each in series if each is not None]
    for each, number in zip((each for each in series if each is not None), numbers, strict=True):
        if number is None or number < 0:
            raise InputError.of(file, f"results.{name}", str(each)[:50], allowed)
    return np.array(numbers, np.float64)
