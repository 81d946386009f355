"""JSON of `irtt client -o`, compressed or not: round trips one by one."""

from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.samples import exact, samples_of
from ethermeter.faults import InputError
from ethermeter.imports.document import Document, finite
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate

FLOW = "irtt"
_NS = 1e-9


def flows(document: Document, file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return the estimates of the round trips, in which the server's own time is not.

    Delays of one way are left out: what the clocks differ by is in them.
    """
    trips, stats = document["round_trips"], document["stats"]
    allowed = "expected an object, as irtt writes it"
    if not isinstance(stats, Mapping):
        raise InputError.of(file, "stats", str(stats)[:50], allowed)
    if not isinstance(trips, list):
        raise InputError.of(file, "round_trips", str(trips)[:50], "expected a list of round trips")
    times_s = []
    for number, each in enumerate(trips):
        if not isinstance(each, Mapping):
            raise InputError.of(file, f"round_trips[{number}]", str(each)[:50], allowed)
        if str(each.get("lost")).lower() != "false":
            continue
        delay = each.get("delay")
        time_ns = finite(delay.get("rtt")) if isinstance(delay, Mapping) else None
        if time_ns is None or time_ns < 0:
            key = f"round_trips[{number}].delay.rtt"
            raise InputError.of(file, key, str(delay)[:50], "expected a number of ns from 0")
        times_s.append(time_ns * _NS)
    found = samples_of(Metric.ROUND_TRIP, np.array(times_s))
    sent, received, twice = (
        _count(stats, key, file) for key in ("packets_sent", "packets_received", "duplicates")
    )
    if received > sent:
        value = f"{received:g} of {sent:g}"
        raise InputError.of(file, "stats.packets_received", value, "expected at most packets_sent")
    found |= {Metric.DUPLICATES: exact(twice)}
    if sent:
        found |= {Metric.LOSS: exact(1 - received / sent)}
    return {FLOW: found}


def _count(stats: Document, key: str, file: str) -> float:
    number = finite(stats.get(key))
    if number is None or number < 0:
        value = str(stats.get(key))[:50]
        raise InputError.of(file, f"stats.{key}", value, "expected a number from 0")
    return number
