"""JSON of `iperf3 --json`: one flow, or two of a bidirectional test."""

import math
from collections.abc import Mapping

import numpy as np

from ethermeter.analysis.interval import Estimate
from ethermeter.analysis.samples import exact, ratio
from ethermeter.faults import InputError
from ethermeter.imports.document import Document
from ethermeter.metrics import Metric

_SUFFIXES = ("", "_bidir_reverse")


def flows(document: Document, file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return the estimates of each direction: `tcp-up`, `tcp-down`, `udp-up`, `udp-down`."""
    if "error" in document:
        allowed = "expected a test that ended without an error"
        raise InputError.of(file, "error", str(document["error"])[:200], allowed)
    start = _table(document, "start", file)
    test = _table(start, "test_start", file)
    protocol = str(test.get("protocol", "")).lower()
    if protocol not in ("tcp", "udp"):
        raise InputError.of(file, "start.test_start.protocol", protocol[:50], "expected TCP or UDP")
    is_reverse = bool(test.get("reverse", 0))
    end = _table(document, "end", file)
    found = {}
    for suffix in _SUFFIXES:
        received = end.get(f"sum_received{suffix}") or (end.get("sum") if not suffix else None)
        if not isinstance(received, Mapping):
            continue
        is_down = is_reverse != bool(suffix)
        flow = f"{protocol}-{'down' if is_down else 'up'}"
        found[flow] = _estimates(document, end, received, suffix, file)
    if not found:
        raise InputError.of(file, "end.sum_received", "(missing)", "expected the sums of a test")
    return found


def _estimates(
    document: Document,
    end: Document,
    received: Document,
    suffix: str,
    file: str,
) -> dict[Metric, Estimate]:
    key = f"end.sum_received{suffix}"
    value = _number(received, "bits_per_second", key, file)
    found = {Metric.DATA_RATE: _with_interval(value, document, suffix)}
    if "lost_percent" in received:
        loss = _number(received, "lost_percent", key, file) / 100
        found[Metric.LOSS] = exact(loss)
    if "jitter_ms" in received:
        found[Metric.JITTER] = exact(_number(received, "jitter_ms", key, file) / 1000)
    sent = end.get(f"sum_sent{suffix}")
    if isinstance(sent, Mapping) and "retransmits" in sent:
        again = _number(sent, "retransmits", f"end.sum_sent{suffix}", file)
        found[Metric.RETRANSMITTED] = exact(again)
    return found


def _with_interval(value: float, document: Document, suffix: str) -> Estimate:
    """Return a rate with the interval of the intervals of the client, around it."""
    octets, seconds = [], []
    intervals = document.get("intervals")
    for each in intervals if isinstance(intervals, list) else []:
        total = each.get(f"sum{suffix}") if isinstance(each, Mapping) else None
        if not isinstance(total, Mapping) or total.get("omitted"):
            continue
        pair = total.get("bytes"), total.get("seconds")
        if all(isinstance(one, int | float) and math.isfinite(one) for one in pair):
            octets.append(float(pair[0]))  # type: ignore[arg-type]
            seconds.append(float(pair[1]))  # type: ignore[arg-type]
    spread = ratio(8 * np.array(octets), np.array(seconds)) if octets else exact(math.nan)
    if not spread.has_interval:
        return exact(value)
    ends = (value + spread.low - spread.value, value + spread.high - spread.value)
    return Estimate(value, spread.error, spread.degrees, spread.cautions, ends)


def _table(of: Document, key: str, file: str) -> Document:
    found = of.get(key)
    if not isinstance(found, Mapping):
        raise InputError.of(file, key, str(found)[:50], "expected an object, as iperf3 writes it")
    return found


def _number(of: Document, key: str, within: str, file: str) -> float:
    found = of.get(key)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or not 0 <= float(found) < math.inf:  # type: ignore[arg-type]
        raise InputError.of(file, f"{within}.{key}", str(found)[:50], "expected a number from 0")
    return float(found)  # type: ignore[arg-type]
