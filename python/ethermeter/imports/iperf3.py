"""JSON of `iperf3 --json` and `--json-stream`: one flow, or two of a bidirectional test."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ethermeter.analysis.samples import exact, ratio
from ethermeter.faults import InputError
from ethermeter.imports.document import Document, finite
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate

_SUFFIXES = ("", "_bidir_reverse")


def of_stream(events: Sequence[Any], file: str) -> Document:
    """Return the document of a test that was written event by event."""
    intervals: list[object] = []
    found: dict[str, object] = {"intervals": intervals}
    for event in events:
        kind = event.get("event") if isinstance(event, Mapping) else None
        if kind is None or kind in found:
            allowed = "expected one test in each file"
            raise InputError.of(file, "(text)", "several documents", allowed)
        if kind == "interval":
            intervals.append(event.get("data"))
        else:
            found[kind] = event.get("data")
    return found


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
    is_server = "accepted_connection" in start or (
        "connected" in start and "connecting_to" not in start
    )
    end = _table(document, "end", file)
    found = {}
    for suffix in _SUFFIXES:
        received = end.get(f"sum_received{suffix}") or (end.get("sum") if not suffix else None)
        if not isinstance(received, Mapping):
            continue
        is_down = is_reverse != bool(suffix)
        flow = f"{protocol}-{'down' if is_down else 'up'}"
        # A server is not told what the client has received: it writes zeros.
        known = {} if is_server and is_down else _received(document, end, received, suffix, file)
        if values := known | _sent(end, suffix, file):
            found[flow] = values
    if not found and is_server:
        allowed = "expected the file of the client, which knows what it received"
        raise InputError.of(file, "end.sum_received", "the file of a server that sent", allowed)
    if not found:
        raise InputError.of(file, "end.sum_received", "(missing)", "expected the sums of a test")
    return found


def _received(
    document: Document,
    end: Document,
    received: Document,
    suffix: str,
    file: str,
) -> dict[Metric, Estimate]:
    is_sum = f"sum_received{suffix}" not in end
    key = "end.sum" if is_sum else f"end.sum_received{suffix}"
    value = _number(received, "bits_per_second", key, file)
    loss = _number(received, "lost_percent", key, file) / 100 if "lost_percent" in received else 0.0
    # Before 3.10, the only sum of UDP is that of the sender.
    found = {Metric.DATA_RATE: _with_interval(value, document, suffix, share=1 - loss * is_sum)}
    if "lost_percent" in received:
        found[Metric.LOSS] = exact(loss)
    if "jitter_ms" in received:
        found[Metric.JITTER] = exact(_number(received, "jitter_ms", key, file) / 1000)
    return found


def _sent(end: Document, suffix: str, file: str) -> dict[Metric, Estimate]:
    sent = end.get(f"sum_sent{suffix}")
    if not isinstance(sent, Mapping) or "retransmits" not in sent:
        return {}
    again = _number(sent, "retransmits", f"end.sum_sent{suffix}", file)
    return {Metric.RETRANSMITTED: exact(again)}


def _with_interval(value: float, document: Document, suffix: str, *, share: float) -> Estimate:
    """Return a share of a rate with the interval of the intervals of the client, around it."""
    octets, seconds = [], []
    intervals = document.get("intervals")
    for each in intervals if isinstance(intervals, list) else []:
        total = each.get(f"sum{suffix}") if isinstance(each, Mapping) else None
        if not isinstance(total, Mapping) or total.get("omitted"):
            continue
        pair = finite(total.get("bytes")), finite(total.get("seconds"))
        if pair[0] is not None and pair[1] is not None:
            octets.append(share * pair[0])
            seconds.append(pair[1])
    value *= share
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
    number = finite(of.get(key))
    if number is None or number < 0:
        value = str(of.get(key))[:50]
        raise InputError.of(file, f"{within}.{key}", value, "expected a number from 0")
    return number
