"""Round trips of our station and of sockperf, and latency through wires of a rate."""

import json
import math

import numpy as np
from ethermeter.testbed import Testbed, Wire, WireKind, make_testbed

from benches.live.process import LIMIT_S, PORT, SECONDS, Running, address, found, give_time, station

WIRE_BPS = 10_000_000
WIRE_SIZES = [64, 200, 400, 800, 1200, 1518]
WIRE_EXCHANGES = 100
WIRE_PAUSE_US = 8000
"""Longer than the round trip of a long frame, so that each is alone on the wire."""


def ours_round_trip(port: str, bed: Testbed, program: str) -> dict[str, float]:
    """Request and respond with frames of 64 octets, both ends spinning."""
    one, other = bed.hosts
    responder = station(
        program,
        other,
        1,
        "respond",
        *address(port, other, one),
        f"seconds={SECONDS + 1}",
        "spin=1",
        "batch=1",
    )
    words = [
        "request",
        *address(port, one, other),
        f"seconds={SECONDS}",
        "spin=1",
        "batch=1",
        "frame=64",
    ]
    out, _ = station(program, one, 0, *words).end()
    responder.stop()
    requested = json.loads(out)
    return {quantile: requested["round_trip_ns"][quantile] / 1000 for quantile in ("p50", "p99")}


def sockperf(bed: Testbed) -> dict[str, float]:
    """Do the same with sockperf, UDP payloads of 18 octets; it prints half of a round trip."""
    one, other = bed.hosts
    server = Running(
        other, 1, ["sockperf", "server", "-i", other.ipv4, "-p", str(PORT), "--nonblocked"]
    )
    give_time(server)
    words = [
        "sockperf",
        "ping-pong",
        "-i",
        other.ipv4,
        "-p",
        str(PORT),
        "-m",
        "18",
        "-t",
        str(math.ceil(SECONDS)),
        "--nonblocked",
    ]
    out, _ = Running(one, 0, words).end()
    server.stop()
    return {
        name: 2 * float(found(rf"percentile {number}\.000 = +([0-9.]+)", out))
        for name, number in (("p50", 50), ("p99", 99))
    }


def latency_slope(program: str, kind: WireKind) -> dict[str, float]:
    """Fit the latency of lone frames against their size, through two wires and a switch.

    Parameters
    ----------
    program
        Path of our station.
    kind
        Kind of wire.

    Returns
    -------
    :
        `error`: relative error of the slope to the time of an octet on both wires; `slope_us` and
        `intercept_us` of the medians of round trips, halved; `slept`: share of the time that the
        relay slept, where there is one.

    """
    medians_us = []
    # Both ends sleep while they wait, and wake at real-time priority: else other processes would
    # delay long frames more.
    real_time = ("--fifo", "1", program)
    with make_testbed(2, layout="switch", wires=Wire(WIRE_BPS, kind=kind)) as bed:
        one, other = bed.hosts
        for octets in WIRE_SIZES:
            words = [
                f"seconds={WIRE_EXCHANGES * WIRE_PAUSE_US / 1e6}",
                f"interval={WIRE_PAUSE_US}",
                "batch=1",
                f"frame={octets}",
            ]
            responder = station(
                "chrt",
                other,
                1,
                *real_time,
                "respond",
                *address("udp", other, one),
                f"seconds={LIMIT_S}",
                "batch=1",
            )
            out, _ = station(
                "chrt", one, 0, *real_time, "request", *address("udp", one, other), *words
            ).end()
            responder.stop()
            medians_us.append(json.loads(out)["round_trip_ns"]["p50"] / 2000)
    slope_us, intercept_us = (float(value) for value in np.polyfit(WIRE_SIZES, medians_us, 1))
    expected_us = 2 * 8e6 / WIRE_BPS
    fitted = {
        "error": abs(slope_us / expected_us - 1),
        "slope_us": slope_us,
        "intercept_us": intercept_us,
    }
    result = bed.relay and bed.relay.result
    return fitted | ({"slept": result.slept_ns / result.over_ns} if result else {})
