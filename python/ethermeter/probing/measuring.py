"""Measuring: which peers of a host answer, and their values as one measurement."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ethermeter.faults import InputError
from ethermeter.probing import by_agent, by_iperf3, by_stamp
from ethermeter.probing.peers import (
    IPERF3_PORT,
    NS_PER_S,
    STAMP_PORT,
    PeerError,
    address_of,
    joined,
    stamp,
)
from ethermeter.probing.result import Measurement, Value

BY = ("agent", "stamp", "iperf3")
"""What a host may answer with."""
_PROBES = 3
_PROBED_NS = 500_000_000
_INTERVAL_NS = 10 * 1_000_000
_SHARE = 0.3
"""Share of the time that STAMP gets where iperf3 answers, too."""
Follow = Callable[[str, float], None]
"""Is called with what is measured and the share that is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be measured.

    Parameters
    ----------
    to
        The host: a name or an address, with a port if wanted; of agents its name in the file of
        hosts.
    by
        What it answers with; None: whatever does.
    duration_s
        Time of the measurement.
    streams, rate_bps
        Parallel streams, and the rate of UDP in all of them together; 0: as fast as possible.
    key
        Key of STAMP's authenticated mode.
    hosts
        File of hosts, for agents.
    origin
        Host from which agents measure, by its name in that file.

    """

    to: str
    by: str | None = None
    duration_s: float = 10.0
    streams: int = 1
    rate_bps: int = 0
    key: bytes | None = None
    hosts: Path | None = None
    origin: str | None = None


def measure(request: Request, follow: Follow = lambda _what, _share: None) -> Measurement:
    """Measure a host.

    Raises
    ------
    InputError
        If the request makes no sense.
    PeerError
        If nothing answers, or a peer refuses or breaks its protocol.

    """
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if request.by == "agent" or request.hosts is not None:
        return _by_agent(request, at, follow)
    address, port = address_of(request.to)
    answered: list[str] = []
    values: list[Value] = []
    limits: dict[str, str] = {}
    notes: list[str] = []
    refusals = []
    left_s = request.duration_s
    if request.by in (None, "stamp"):
        is_only = request.by == "stamp"
        place = joined(address, (port if is_only else None) or STAMP_PORT)
        follow("looking for a STAMP reflector", 0.0)
        if _reflects(place, request.key):
            stamp_s = request.duration_s * (1.0 if is_only else _SHARE)
            follow("round trips by STAMP", 0.0)
            found = stamp(
                place,
                packets=max(2, round(stamp_s * NS_PER_S / _INTERVAL_NS)),
                interval_ns=_INTERVAL_NS,
                key=request.key,
            )
            more, facts = by_stamp.values(found)
            values += more
            notes += facts
            answered.append("stamp")
            left_s -= stamp_s
        else:
            refusals.append(f"{place}: no STAMP reflector answers")
    if request.by in (None, "iperf3"):
        place = joined(address, port or IPERF3_PORT)
        done = 1 - left_s / request.duration_s

        def follow_iperf3(flow: str, share: float) -> None:
            follow(flow, done + (1 - done) * share)

        try:
            more, limits, facts = by_iperf3.measured(
                place,
                duration_s=left_s,
                streams=request.streams,
                rate_bps=request.rate_bps,
                follow=follow_iperf3,
            )
        except PeerError as error:
            if request.by == "iperf3":
                raise
            refusals.append(str(error))
        else:
            # STAMP's round trips are better: they have no work of the hosts in them.
            has_trips = "stamp" in answered
            values += [each for each in more if not (has_trips and each.flow == "round-trip")]
            facts = facts[1:] if has_trips else facts
            notes += facts
            answered.append("iperf3")
    if not answered:
        raise PeerError("; ".join(refusals))
    if answered == ["stamp"]:
        notes.append("throughput is not known: it needs an agent or iperf3 -s")
    notes += refusals
    return Measurement(request.to, at, tuple(answered), tuple(values), limits, tuple(notes))


def _reflects(place: str, key: bytes | None) -> bool:
    probed = stamp(
        place,
        packets=_PROBES,
        interval_ns=_INTERVAL_NS,
        timeout_ns=_PROBED_NS,
        patience_ns=_PROBED_NS,
        key=key,
    )
    return bool(probed.sequence)


def _by_agent(request: Request, at: str, follow: Follow) -> Measurement:
    if request.by not in (None, "agent"):
        allowed = "expected agent: the file describes hosts with agents"
        raise InputError.of_argument("by", f"{request.by} on hosts of a file", allowed)
    if request.hosts is None:
        address, _ = address_of(request.to)
        if not address.startswith("127."):
            allowed = (
                "expected a file with the hosts and their certificates to measure on, or a "
                "loopback address: agents send only what their receivers signed for"
            )
            raise InputError.of_argument("by", "agent", allowed)
        laboratory, here, there = None, "here", "there"
    else:
        from ethermeter import hosts_file

        laboratory = hosts_file.read(request.hosts).laboratory()
        there = by_agent.station_of(laboratory, "to", request.to)
        others = [name for name in laboratory.stations if name != there]
        if request.origin is not None:
            here = by_agent.station_of(laboratory, "origin", request.origin)
        elif len(others) == 1:
            here = others[0]
        else:
            allowed = f"expected the host to measure from: {', '.join(others) or 'none is left'}"
            raise InputError.of_argument("origin", "(missing)", allowed)
        if here == there:
            raise InputError.of_argument("origin", here, f"expected another host than {request.to}")
    values, limits, notes = by_agent.measured(
        here, there, laboratory=laboratory, duration_s=request.duration_s, follow=follow
    )
    return Measurement(request.to, at, ("agent",), tuple(values), limits, tuple(notes))
