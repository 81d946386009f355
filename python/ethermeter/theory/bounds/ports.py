"""Queues of the ports of an analysed network."""

from dataclasses import astuple, replace

import numpy as np

from ethermeter.theory.bounds.attempt import Attempt, server_reason
from ethermeter.theory.bounds.backlog import Backlog, Queued, backlog
from ethermeter.theory.bounds.curves import line, total
from ethermeter.theory.bounds.results import PortBound
from ethermeter.theory.bounds.tfa import ClassAnalysis, Indices


def port_bounds(attempt: Attempt) -> tuple[PortBound, ...]:
    """Return the bounds of the queues of all ports, by number."""
    ports = []
    for port in range(len(attempt.network.owner)):
        classes, reasons = [], []
        for level, one in enumerate(attempt.analysis.classes[port]):
            found = None
            if not attempt.network.servers[port].fault:
                found = _backlog(attempt, port, one)
            classes.append(found)
            reasons.append(None if found else server_reason(attempt, port, level))
        whole = classes[0] if len(classes) == 1 else _total(attempt, port, classes)
        ports.append(PortBound(port, tuple(classes), tuple(reasons), whole))
    return tuple(ports)


def _backlog(attempt: Attempt, port: int, analysed: ClassAnalysis) -> Backlog | None:
    """Return the backlog of a class, with frames that have not arrived completely."""
    wait_ps = float(attempt.visits.wait[analysed.visits].max(initial=0.0))
    has_classes = len(attempt.analysis.classes[port]) > 1
    if analysed.arrivals is not None and not has_classes:  # those of classes have it
        analysed = replace(analysed, arrivals=analysed.arrivals.delayed(wait_ps))
    return backlog(analysed, _queued(attempt, port, analysed.visits, wait_ps))


def _queued(attempt: Attempt, port: int, members: Indices, wait_ps: float) -> Queued:
    visits, analysis = attempt.visits, attempt.analysis
    timing = attempt.network.timings[port]
    costs = [attempt.network.rows.cost[visit] for visit in members]
    rates = analysis.rates[members]
    bursts = analysis.bursts[members] + (rates * wait_ps if wait_ps > 0 else 0.0)
    stairs = visits.stairs(members, rates, bursts, analysis.is_limited[members])
    message, shortest = visits.message[members], visits.shortest[members]
    longest = visits.longest[members]
    around = float(timing.work_ps(0))
    # Of what is no count of messages, some may be the longest frames, or the shortest ones.
    most_octets = message * (longest - around) / longest / timing.ps_per_octet
    octets = np.array([cost.octets for cost in costs], dtype=float)
    return Queued(
        stairs=stairs,
        frames=np.where(stairs.is_whole, visits.frames[members], message / shortest),
        octets=np.where(stairs.is_whole, octets, most_octets),
        is_single=bool(visits.is_single[members].all()),
        shortest=float(shortest.min(initial=np.inf)),
        longest=float(longest.max(initial=0.0)),
        gap=float(timing.gap_ps),
        around=around,
        octet=float(timing.ps_per_octet),
        access=float(timing.fixed_ps),
    )


def _total(attempt: Attempt, port: int, classes: list[Backlog | None]) -> Backlog | None:
    """Return the backlog of all classes: their sum, or less where the port is never idle."""
    options = []
    known = [one for one in classes if one is not None]
    if len(known) == len(classes):
        options.append(np.sum([astuple(one) for one in known], axis=0))
    server, analysed = attempt.servers[port], attempt.analysis.classes[port]
    arrivals = [one.arrivals for one in analysed if one.arrivals is not None]
    is_busy = all(one.idle_slope is None for one in server.classes)
    if is_busy and not server.fault and len(arrivals) == len(analysed):
        visits = np.concatenate([one.visits for one in analysed])
        together = ClassAnalysis(total(arrivals), (line(1.0, 0.0),), np.inf, visits)
        found = _backlog(attempt, port, together)
        if found is not None:
            options.append(np.array(astuple(found)))
    return Backlog(*np.min(options, axis=0).tolist()) if options else None
