"""A network under assumptions about calls, and its analysis."""

from dataclasses import dataclass, field

import numpy as np

from ethermeter.theory.bounds.network import Emission, Network, Sent
from ethermeter.theory.bounds.tfa import Analysis, Server, Visits
from ethermeter.theory.bounds.tightening import Ends


@dataclass(slots=True)
class Planned:
    """A flow in the network: what it sends, and what is sent back."""

    request: Emission
    sent: Sent
    responses: list[tuple[Emission, Sent]] = field(default_factory=list)


@dataclass(slots=True)
class Attempt:
    """A network under assumptions, and its analysis.

    `tighter_ps`: delays of paths that are smaller than by total-flow analysis. `reasons`: why
    classes of servers have no bound, of those that were asked for.
    """

    network: Network
    planned: list[Planned]
    visits: Visits
    servers: tuple[Server, ...]
    analysis: Analysis
    tighter_ps: dict[Ends, float] = field(default_factory=dict)
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)

    def path(self, visit: int, *, after: int = -1) -> list[int]:
        """Return the visits up to one, the first one first, from behind `after`."""
        found = []
        while visit not in (after, -1):
            found.append(visit)
            visit = int(self.visits.parent[visit])
        return found[::-1]

    def longest_ps(self, visit: int, *, after: int = -1) -> float:
        """Return the longest time from the release to the end of a visit."""
        longest_ps = float(self.analysis.hop[self.path(visit, after=after)].sum())
        return min(longest_ps, self.tighter_ps.get((visit, after), np.inf))

    def least_ps(self, visit: int, *, after: int = -1) -> float:
        """Return the shortest time from the release to the end of a visit."""
        return float(self.visits.least[self.path(visit, after=after)].sum())


def path_reason(attempt: Attempt, path: list[int]) -> str | None:
    """Return why the first server of a path without a bound has none."""
    for visit in path:
        if not np.isfinite(attempt.analysis.hop[visit]):
            server = int(attempt.visits.server[visit])
            return server_reason(attempt, server, int(attempt.visits.level[visit]))
    return None


def server_reason(attempt: Attempt, number: int, level: int) -> str:
    """Return why a class of a server has no bound."""
    found = attempt.reasons.get((number, level))
    if found is None:
        found = attempt.reasons[number, level] = _server_reason(attempt, number, level)
    return found


def _server_reason(attempt: Attempt, number: int, level: int) -> str:
    server, analysis = attempt.network.servers[number], attempt.analysis
    if server.fault:
        return f"{server.name} {server.fault}"
    for one in analysis.classes[number][: level + 1]:
        unknown = one.visits[~np.isfinite(analysis.bursts[one.visits]).all(axis=1)]
        if one.arrivals is None and len(unknown):
            name, why = _source(attempt, unknown[0])
            why = why or "its delay before has no bound"
            return f"{server.name} is shared with flow {name!r}: {why}"
    members = np.concatenate([one.visits for one in analysis.classes[number][: level + 1]])
    load = sum(one.arrivals.slope for one in analysis.classes[number][: level + 1] if one.arrivals)
    # A flow behind a time without a bound comes at the rate of a wire, but offers its own.
    offered = float(attempt.visits.rates[members].min(axis=1).sum())
    own = analysis.classes[number][level]
    text = f"{server.name} has no room for its load: "
    if own.load is not None:
        if own.load < 1:
            return (
                f"{server.name}: the waits on its line grow with each other without a fixed point"
            )
        text += f"its frames and what may go between them take {own.load:.4g} of the time"
    elif analysis.cycle and min(load, offered) < 1:
        names = " → ".join(analysis.cycle)
        return f"paths depend on each other in a cycle without a fixed point: {names}"
    else:
        text += f"arrivals of {load:.4g} of its rate"
    slope = server.classes[level].idle_slope
    if slope is not None:
        if own.arrivals is not None and own.arrivals.slope <= slope:
            return f"{server.name}: classes above leave less than its idle slope of {slope:.4g}"
        return f"{text}, of which its class has an idle slope of {slope:.4g}"
    for visit in members:
        name, why = _source(attempt, visit)
        if why is not None:
            return f"{text}; flow {name!r} may take what its own wire carries: {why}"
    return text


def _source(attempt: Attempt, visit: int) -> tuple[str, str | None]:
    """Return the name of a visit's flow, and why its source has no arrival curve."""
    flow = int(attempt.visits.flow[visit])
    name = attempt.network.scenario.flows[flow].name
    return name, attempt.planned[flow].request.arrivals.reason
