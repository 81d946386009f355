"""Values of iperf3 tests: throughput, loss, jitter, handshakes, and what limited them."""

import math
from collections.abc import Callable

import numpy as np

from ethermeter.analysis.samples import exact, ratio
from ethermeter.live_reports import Iperf3Measurement
from ethermeter.metrics import Caution, Metric
from ethermeter.probing.peers import PeerError, iperf3
from ethermeter.probing.result import Value, distribution, within
from ethermeter.results.interval import Estimate

BY = "iperf3"
LIGHT_BPS = 1_000_000
"""Rate of the light streams: loss and jitter of a path that is not full."""
BUSY = 0.9
"""Share of a processor beyond which its host is the limit."""
_MOSTLY = 0.5
_LOSSY = 0.001
_DIFFERS = 0.1
"""Share of a rate by which two ends that count the same octets may differ."""
TESTS = (
    ("tcp-up", "tcp", "up"),
    ("tcp-down", "tcp", "down"),
    ("udp-up", "udp", "up"),
    ("udp-down", "udp", "down"),
    ("light-up", "udp", "up"),
    ("light-down", "udp", "down"),
)
"""Tests of a probe: flow, protocol and direction."""


def measured(
    to: str,
    *,
    duration_s: float,
    streams: int = 1,
    rate_bps: int = 0,
    follow: Callable[[str, float], None],
) -> tuple[list[Value], dict[str, str], list[str]]:
    """Perform the tests with a server; return values, limits by flow, and notes.

    `duration_s` is the time of all tests together, `rate_bps` that of UDP in all streams together,
    0 for as fast as possible. `follow` is called with each test and the share that is done.
    """
    values: list[Value] = []
    limits: dict[str, str] = {}
    opened_s: list[float] = []
    failures: list[str] = []
    # Light streams take half as long as the others.
    whole_s = duration_s / 5
    for index, (flow, protocol, direction) in enumerate(TESTS):
        follow(flow, index / len(TESTS))
        is_light = flow.startswith("light")
        rate = LIGHT_BPS if is_light else rate_bps if protocol == "udp" else 0
        count = 1 if is_light else streams
        # The shortest test is long enough for five intervals of 0.1 s.
        test_s = max(0.5, whole_s / 2 if is_light else whole_s)
        try:
            found = iperf3(
                to,
                protocol=protocol,
                direction=direction,
                duration_s=test_s,
                streams=count,
                rate_bps=rate // count,
            )
        except PeerError as error:
            # A path that blocks UDP, say, still has its values of TCP.
            if index == 0:
                raise
            failures.append(f"{flow}: {error}")
            continue
        opened_s += [each / 1e9 for each in found.opened_in_ns]
        values += values_of(flow, found, direction)
        limits[flow] = limit_of(found, direction, rate)
    handshakes = distribution("round-trip", Metric.ROUND_TRIP, np.array(opened_s), BY)
    notes = ["the round trip is that of opening connections: it has the work of both hosts"]
    return values + handshakes, limits, notes + failures


def values_of(flow: str, found: Iperf3Measurement, direction: str) -> list[Value]:
    """Return the values of one test."""
    is_busy = max(found.own_processor, found.server_processor) > BUSY
    cautions = [Caution.HOST_LIMITED] if is_busy else []
    values = [Value.made(flow, Metric.DATA_RATE, _rate(found, direction, cautions), BY)]
    if found.sent_again is not None:
        values.append(Value.made(flow, Metric.RETRANSMITTED, exact(float(found.sent_again)), BY))
    if (datagrams := found.datagrams) is not None:
        loss = datagrams.missing / datagrams.seen if datagrams.seen else math.nan
        values.append(Value.made(flow, Metric.LOSS, exact(loss, cautions), BY))
        values.append(Value.made(flow, Metric.JITTER, exact(datagrams.jitter_s, cautions), BY))
        if datagrams.reordered is not None and datagrams.duplicates is not None:
            values.append(Value.made(flow, Metric.REORDERED, exact(float(datagrams.reordered)), BY))
            values.append(
                Value.made(flow, Metric.DUPLICATES, exact(float(datagrams.duplicates)), BY)
            )
    return values


def _rate(found: Iperf3Measurement, direction: str, cautions: list[Caution]) -> Estimate:
    """Return the rate of payload by the receiver, with the interval of this host's intervals.

    Octets that TCP acknowledged, or that arrived here, are those that the receiver got. Of UDP to
    the server this host knows only what it sent: there is no interval. A server that reports
    something else than this host has counted is cautioned.
    """
    value = found.octets * 8e9 / found.window_ns if found.window_ns else math.nan
    if direction == "up" and found.datagrams is not None:
        return exact(value, cautions)
    octets = np.array([each.octets for each in found.intervals], np.float64)
    seconds = np.array([each.ns for each in found.intervals], np.float64) / 1e9
    spread = ratio(octets * 8, seconds, cautions)
    differs_bps = abs(value - spread.value)
    if differs_bps > max(_DIFFERS * max(value, spread.value), spread.half_width):
        return exact(value, [*cautions, Caution.CONTRADICTED])
    if not spread.has_interval:
        return exact(value, cautions)
    # The interval is that of the own intervals, around the receiver's value.
    low, high = value + (spread.low - spread.value), value + (spread.high - spread.value)
    of_value = Estimate(value, spread.error, spread.degrees, spread.cautions, (low, high))
    return within(of_value, 0.0)


def limit_of(found: Iperf3Measurement, direction: str, rate_bps: int) -> str:
    """Say what limited a test, as far as both ends tell."""
    if found.own_processor > BUSY:
        return f"this host: a thread had {found.own_processor:.0%} of a processor"
    if found.server_processor > BUSY:
        return f"the server: it had {found.server_processor:.0%} of a processor"
    if (datagrams := found.datagrams) is not None:
        if datagrams.seen and datagrams.missing / datagrams.seen > _LOSSY:
            return "the path or the receiver: datagrams were lost"
        sender = "this host" if direction == "up" else "the server"
        return "the rate asked for" if rate_bps else f"what {sender} hands to its interface"
    busy_us = sum(each.busy_us for each in found.tcp)
    if busy_us:
        if sum(each.receiver_limited_us for each in found.tcp) / busy_us > _MOSTLY:
            return "the server's receive window"
        if sum(each.buffer_limited_us for each in found.tcp) / busy_us > _MOSTLY:
            return "the send buffer of this host"
    if found.sent_again:
        return f"the path: TCP sent {found.sent_again} segments again"
    if found.sent_again is None:
        return "not known: the server does not report retransmissions"
    return "the path, or TCP's congestion window: nothing was lost"
