"""Bounds of a scenario: the network by total-flow analysis, under assumptions that are checked.

A message is released at its source, and called by its host when the last one of its flow has passed
the first stage, or has been answered. The analysis first assumes that every message is called at
once. Where its result contradicts that for a flow, the flow is analysed again without: as long as
no message has been late, the result holds, so that the first late message cannot come.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ethermeter.nodes import links_in, rebroadcasts
from ethermeter.scenario import CoderArrivals, Flow, Host, Scenario
from ethermeter.theory.bounds.attempt import Attempt, Planned, path_reason
from ethermeter.theory.bounds.curves import largest_delay, line, sum_of_buckets
from ethermeter.theory.bounds.network import Emission, Network, Sent
from ethermeter.theory.bounds.ports import port_bounds
from ethermeter.theory.bounds.results import Bounds, DelayBound, FlowBound, PortBound
from ethermeter.theory.bounds.segments import accesses_of, buses_at
from ethermeter.theory.bounds.sources import (
    Arrivals,
    arrivals_of,
    gathering_coder,
    is_made_when_called,
    leaves_at_once,
    limits_of,
    messages_of,
    prompt_coder,
    transfer_messages,
)
from ethermeter.theory.bounds.stages import PS_PER_S, Access
from ethermeter.theory.bounds.tfa import Analysis, Server, Visits, analyse
from ethermeter.theory.bounds.tightening import Ends, tighter_paths
from ethermeter.theory.bus import Bus

_ROUNDING_PS = 2**-10
_TRANSFER = "a transfer has no arrival curve"
_LATE = "messages may wait at their source for those before them"
_CLOCKS = "exchanges of times between clocks are not bounded"
_REBROADCASTS = "hosts that send broadcasts again are not bounded"
_RETRANSMISSIONS = "requests that are sent again are not bounded"
_DEFAULT_RING = 256


@dataclass(slots=True)
class _Assumptions:
    """What is assumed of calls: flows of which messages may be late, and how late at most [ps]."""

    late: set[int] = field(default_factory=set)
    wait_ps: dict[int, float] = field(default_factory=dict)


def bounds_of(scenario: Scenario, *, budget_s: float = 10.0) -> Bounds:
    """Return the bounds of a network.

    Parameters
    ----------
    scenario
        A scenario of hosts and links that the simulator accepts.
    budget_s
        Estimated time for the tighter method, the linear program of PLP [s]; 0 for none. It is used
        where its estimate is within what is left; the estimate depends on no clock.

    Returns
    -------
    :
        The bounds. What has none is None, with the reason.

    Source
    ------
    Le Boudec and Thiran, Network Calculus, LNCS 2050, 2001; see `tfa`, `plp` and `schedulers`.

    """
    if scenario.clocks == "compared":
        return _refused(scenario, _CLOCKS)
    if rebroadcasts(scenario):
        return _refused(scenario, _REBROADCASTS)
    if any(flow.response and flow.response.retransmit for flow in scenario.flows):
        return _refused(scenario, _RETRANSMISSIONS)
    accesses = _accesses(scenario)
    assumed = _Assumptions()
    while True:
        attempt = _attempt(scenario, assumed, accesses)
        more = {flow for flow in range(len(scenario.flows)) if _is_late(attempt, flow)}
        waits = {} if more - assumed.late else _waits_ps(attempt, assumed)
        if more <= assumed.late and not waits:
            break
        assumed.late |= more
        assumed.wait_ps.update(waits)
    if budget_s > 0 and not attempt.analysis.cycle:
        attempt.tighter_ps = tighter_paths(
            attempt.servers, attempt.visits, attempt.analysis, _paths(attempt), budget_s=budget_s
        )
    flows = tuple(_flow_bound(attempt, flow) for flow in range(len(scenario.flows)))
    return Bounds(flows, port_bounds(attempt), attempt.analysis.cycle)


def _paths(attempt: Attempt) -> dict[Ends, list[int]]:
    """Return the visits of every path with a bound: of messages, responses, and there and back."""
    ends: list[Ends] = []
    for planned in attempt.planned:
        if planned.request.arrivals.wait_ps is not None:
            ends += [(end, -1) for end in planned.sent.last.values()]
        for emission, sent in planned.responses:
            ends += [(end, after) for end in sent.last.values() for after in (emission.after, -1)]
    found = {(end, after): attempt.path(end, after=after) for end, after in ends}
    return {
        key: path for key, path in found.items() if np.isfinite(attempt.analysis.hop[path]).all()
    }


def _refused(scenario: Scenario, reason: str) -> Bounds:
    flows = []
    for flow in scenario.flows:
        none = DelayBound((None,) * len(flow.to), None, reason)
        back = none if flow.response else None
        flows.append(FlowBound(flow.name, none, "TFA", back, back))
    ports = tuple(
        PortBound(port, (None,), (reason,), None) for port in range(2 * len(links_in(scenario)))
    )
    return Bounds(tuple(flows), ports)


# Building


def _accesses(scenario: Scenario) -> Mapping[int, Access]:
    """Return the access of ports to shared segments, which depends on frames, not on how many."""
    return accesses_of(_with_frames(scenario)) if scenario.media else {}


def buses_of(scenario: Scenario) -> dict[str, Bus]:
    """Return the buses of 10BASE-T1S of a network, by the names of their segments."""
    return buses_at(_with_frames(scenario)) if scenario.media else {}


def _with_frames(scenario: Scenario) -> Network:
    """Return a network whose visits have their frames, but not how many."""
    hosts = _hosts(scenario)
    loops = {
        number: 1.0
        for number, flow in enumerate(scenario.flows)
        if _needs_loop(flow, hosts[flow.from_], is_late=False)
    }
    return _built(scenario, _Assumptions(), loops, {})[0]


def _attempt(scenario: Scenario, assumed: _Assumptions, accesses: Mapping[int, Access]) -> Attempt:
    """Return the network under assumptions, analysed."""
    loops: dict[int, float] = {}
    hosts = _hosts(scenario)
    needing = [
        number
        for number, flow in enumerate(scenario.flows)
        if _needs_loop(flow, hosts[flow.from_], is_late=number in assumed.late)
    ]
    if needing:
        # The shortest times do not depend on what is sent.
        bare = _built(scenario, assumed, dict.fromkeys(needing, 1.0), accesses)
        nothing = np.zeros(0)
        empty = Analysis(nothing, nothing, nothing, nothing, np.zeros(0, dtype=bool), [])
        unloaded = Attempt(*bare, bare[0].visits(), (), empty)
        loops = {number: _loop_ps(unloaded, number) for number in needing}
    network, planned = _built(scenario, assumed, loops, accesses)
    visits = network.visits()
    servers = _unordered(network, planned, visits, assumed.late)
    return Attempt(network, planned, visits, servers, analyse(servers, visits))


def _hosts(scenario: Scenario) -> dict[str, Host]:
    """Return the settings of all hosts, by name."""
    found = ((node.name, node.kind.host) for node in scenario.nodes)
    return {name: host for name, host in found if host is not None}


def _around_octets(network: Network, host: int) -> int:
    link = network.links[network.ports[host][0] // 2]
    return link.preamble_octets + link.gap_octets


def _needs_loop(flow: Flow, host: Host, *, is_late: bool) -> bool:
    """Whether the calls of a flow are bounded by the time that each takes."""
    if flow.transfer is not None or isinstance(flow.arrivals, CoderArrivals):
        return False
    has_curve = bool(arrivals_of(flow, around_octets=0).buckets)
    return not has_curve or (is_late and not _queues_at_source(flow, host, is_late=True))


def _loop_ps(unloaded: Attempt, number: int) -> float:
    """Return the shortest time between two calls of a flow: through a stage, or there and back."""
    planned = unloaded.planned[number]
    flow = unloaded.network.scenario.flows[number]
    service_ps = limits_of(flow.service)[0]
    first = planned.sent.first
    if flow.response is None:
        timing = unloaded.network.timings[unloaded.network.rows.timing[first]]
        messages = planned.request.arrivals.messages
        least_ps = min(sum(map(timing.work_ps, message)) for message in messages)
        return max(least_ps + service_ps, 1.0)
    think_ps = limits_of(flow.response.think)[0]
    back_ps = [
        unloaded.least_ps(planned.sent.last[host])
        + think_ps
        + unloaded.least_ps(sent.last[emission.to[0]], after=emission.after)
        for (emission, sent) in planned.responses
        for host in (emission.host,)
    ]
    timeout_ps = flow.response.timeout_ps or np.inf
    return max(min(max(back_ps, default=np.inf), timeout_ps) + service_ps, 1.0)


def _built(
    scenario: Scenario,
    assumed: _Assumptions,
    loops: dict[int, float],
    accesses: Mapping[int, Access],
) -> tuple[Network, list[Planned]]:
    network = Network(scenario, accesses)
    numbers = range(len(scenario.flows))
    return network, [_plan(network, number, assumed, loops.get(number)) for number in numbers]


def _plan(network: Network, number: int, assumed: _Assumptions, loop_ps: float | None) -> Planned:
    """Add the visits of a flow, and of what is sent back."""
    flow = network.scenario.flows[number]
    host, to = network.number[flow.from_], tuple(network.number[name] for name in flow.to)
    is_group, is_late = flow.address != "unicast", number in assumed.late
    if flow.transfer is not None:
        messages = transfer_messages(flow)
        tcp = Arrivals(messages, (1.0,) * len(messages), (), None, _TRANSFER)
        request = Emission(number, host, to, is_group, flow.priority or 0, tcp)
        back = replace(request, host=to[0], to=(host,))
        return Planned(request, network.emit(request), [(back, network.emit(back))])
    arrivals = _arrivals(network, number, assumed, loop_ps)
    queues = _queues_at_source(flow, network.host(host), is_late=is_late)
    is_alternate = flow.response is None and not leaves_at_once(flow, network.host(host))
    request = Emission(
        number,
        host,
        to,
        is_group,
        flow.priority or 0,
        arrivals,
        is_single=flow.response is not None and flow.response.timeout_ps is None,
        is_one_at_host=is_alternate and not queues,
        is_alternate=is_alternate and limits_of(flow.service) == (0, 0),
        others=network.taking(flow.address, to),
    )
    planned = Planned(request, network.emit(request))
    if flow.response is not None:
        for receiver in planned.sent.last:
            planned.responses.append(_respond(network, flow, planned, receiver))
    return planned


def _released(network: Network, flow: Flow) -> Arrivals:
    """Return what a source without a coder releases to its host."""
    return arrivals_of(flow, around_octets=_around_octets(network, network.number[flow.from_]))


def _arrivals(
    network: Network, number: int, assumed: _Assumptions, loop_ps: float | None
) -> Arrivals:
    """Return what a host calls."""
    flow, is_late = network.scenario.flows[number], number in assumed.late
    if isinstance(flow.arrivals, CoderArrivals):
        if not is_late and limits_of(flow.service) == (0, 0):
            return prompt_coder(flow, flow.arrivals)
        around = _around_octets(network, network.number[flow.from_])
        return gathering_coder(flow, flow.arrivals, around_octets=around)
    released = _released(network, flow)
    if loop_ps is None:
        return released
    largest = max(released.measure)
    buckets = [(largest / loop_ps, largest)]
    if not released.buckets:
        reason = None if is_made_when_called(flow) else released.reason
        return replace(
            released, buckets=tuple(buckets), wait_ps=None if reason else 0.0, reason=reason
        )
    wait_ps = assumed.wait_ps.get(number)
    if wait_ps is None or released.wait_ps is None:
        return replace(released, buckets=tuple(buckets), wait_ps=None, reason=_LATE)
    rate, burst = released.buckets[-1]
    buckets.append((rate, burst + rate * wait_ps))
    return replace(released, buckets=tuple(buckets), wait_ps=released.wait_ps + wait_ps)


def _respond(
    network: Network, flow: Flow, planned: Planned, receiver: int
) -> tuple[Emission, Sent]:
    """Add the responses of a receiver: behind its requests, one for each."""
    assert flow.response is not None
    request = planned.request
    messages = messages_of(flow, flow.response.frames)
    least, most = limits_of(flow.response.think)
    after = -1
    if most < np.inf:
        after = network.think(planned.sent.last[receiver], request, (least, most))
    # A response for each request, of which the smallest has the least measure.
    unit = min(request.arrivals.measure)
    arrivals = replace(
        request.arrivals, messages=messages, measure=(unit,) * len(messages), wait_ps=0.0
    )
    emission = replace(
        request,
        host=receiver,
        to=(request.host,),
        is_group=flow.response.address != "unicast",
        others=network.taking(flow.response.address, (*request.to, request.host)),
        arrivals=arrivals,
        after=after,
    )
    return emission, network.emit(emission)


def _unordered(
    network: Network, planned: list[Planned], visits: Visits, late: set[int]
) -> tuple[Server, ...]:
    """Return the servers; where several flows are late, messages are not in order of release."""
    if not late:
        return tuple(network.servers)
    servers = list(network.servers)
    together = Counter(zip(visits.server.tolist(), visits.level.tolist(), strict=True))
    for number in late:
        first, request = planned[number].sent.first, planned[number].request
        flow, host = network.scenario.flows[number], network.host(request.host)
        server = int(visits.server[first])
        is_alone = together[server, int(visits.level[first])] == 1
        if _queues_at_source(flow, host, is_late=True) and not is_alone:
            servers[server] = replace(servers[server], is_ordered=False)
    return tuple(servers)


def _queues_at_source(flow: Flow, host: Host, *, is_late: bool) -> bool:
    """Whether messages wait at their source as if in the queue of the first stage.

    Not where a frame of a lower class may go between one message and the call of the next.
    """
    is_message = flow.response is None and not isinstance(flow.arrivals, CoderArrivals)
    if not is_late or not is_message or limits_of(flow.service) != (0, 0):
        return False
    return bool(host.send) or len(host.classes) <= 1


# Checking


def _is_late(attempt: Attempt, number: int) -> bool:
    """Whether a message of a flow may be called after its release, against the assumption."""
    planned, flow = attempt.planned[number], attempt.network.scenario.flows[number]
    arrivals = planned.request.arrivals
    if flow.transfer is not None or arrivals.reason is not None:
        return False
    service_ps = limits_of(flow.service)[1]
    if isinstance(flow.arrivals, CoderArrivals):
        return attempt.longest_ps(planned.sent.wire) > arrivals.least_span_ps(2)
    is_prompt = leaves_at_once(flow, attempt.network.host(planned.request.host))
    if is_made_when_called(flow) or (is_prompt and flow.response is None):
        return False
    if is_prompt and arrivals.wait_ps != 0:
        return True
    return _turn_ps(attempt, number) + service_ps > arrivals.least_span_ps(2)


def _turn_ps(attempt: Attempt, number: int) -> float:
    """Return the longest time from the call of a message until the next one may be called."""
    planned, flow = attempt.planned[number], attempt.network.scenario.flows[number]
    if flow.response is None:
        first = planned.sent.first
        return float(attempt.analysis.hop[first] - attempt.visits.tail[first])
    back_ps = [
        attempt.longest_ps(sent.last[planned.request.host]) if emission.after >= 0 else np.inf
        for emission, sent in planned.responses
    ]
    return min(max(back_ps, default=0.0), flow.response.timeout_ps or np.inf)


def _waits_ps(attempt: Attempt, assumed: _Assumptions) -> dict[int, float]:
    """Return the longest waits of late messages at their sources that are bounded now.

    A source is a queue of which each message takes at most a turn.
    """
    found = {}
    for number in assumed.late - set(assumed.wait_ps):
        flow = attempt.network.scenario.flows[number]
        if attempt.planned[number].request.arrivals.reason != _LATE:
            continue
        released = _released(attempt.network, flow)
        turn_ps = _turn_ps(attempt, number) + limits_of(flow.service)[1]
        least = min(released.measure)
        buckets = np.array(released.buckets * 2)[:2] * turn_ps / least
        if released.wait_ps is not None and np.isfinite(turn_ps):
            work = sum_of_buckets(buckets[None, :, 0], buckets[None, :, 1])
            wait_ps = largest_delay(work, line(1.0, 0.0)) - turn_ps
            if np.isfinite(wait_ps):
                found[number] = wait_ps
    return found


# Results


def _seconds(ps: float) -> float | None:
    return float(np.ceil(ps - _ROUNDING_PS)) / PS_PER_S if np.isfinite(ps) else None


def _flow_bound(attempt: Attempt, number: int) -> FlowBound:
    planned, flow = attempt.planned[number], attempt.network.scenario.flows[number]
    reason = _source_reason(attempt, number)
    wait_ps = planned.request.arrivals.wait_ps
    if reason is not None or wait_ps is None:
        wait_ps, reason = np.inf, reason or planned.request.arrivals.reason
    if len(planned.sent.last) < len(planned.request.to):
        return _without_path(flow)
    ends = [(planned.sent.last[host], -1) for host in planned.request.to]
    delay = _delay(attempt, ends, wait_ps, reason)
    method = "PLP" if any(end in attempt.tighter_ps for end in ends) else "TFA"
    if flow.response is None:
        return FlowBound(flow.name, delay, method)
    back = [
        (sent.last[planned.request.host], emission.after) for emission, sent in planned.responses
    ]
    response = _delay(attempt, back, 0.0, None)
    has_chain = all(after >= 0 for _, after in back)
    unbounded = None if has_chain else "the time to respond has no bound"
    if not has_chain:
        wait_ps = np.inf
    round_trip = _delay(attempt, [(end, -1) for end, _ in back], wait_ps, reason or unbounded)
    return FlowBound(flow.name, delay, method, response, round_trip)


def _without_path(flow: Flow) -> FlowBound:
    reason = "a router does not forward to groups, so that a receiver gets nothing"
    none = DelayBound((None,) * len(flow.to), None, reason)
    back = none if flow.response else None
    return FlowBound(flow.name, none, "TFA", back, back)


def _delay(
    attempt: Attempt, ends: list[tuple[int, int]], wait_ps: float, reason: str | None
) -> DelayBound:
    found = [_seconds(wait_ps + attempt.longest_ps(end, after=after)) for end, after in ends]
    known = [one for one in found if one is not None]
    if len(known) == len(found):
        return DelayBound(tuple(found), max(known))
    for end, after in ends:
        reason = reason or path_reason(attempt, attempt.path(end, after=after))
    return DelayBound(tuple(found), None, reason)


def _source_reason(attempt: Attempt, number: int) -> str | None:
    """Return why the wait of messages at their source has no bound."""
    planned, flow = attempt.planned[number], attempt.network.scenario.flows[number]
    if planned.request.arrivals.wait_ps is None:
        return planned.request.arrivals.reason
    if flow.transfer is not None or isinstance(flow.arrivals, CoderArrivals):
        return None
    host = attempt.network.host(planned.request.host)
    is_prompt = leaves_at_once(flow, host)
    if is_made_when_called(flow):
        return None
    if is_prompt and limits_of(flow.service)[1] > 0:
        return _LATE
    if (host.send or is_prompt) and flow.response is None:
        ring = host.ring or _DEFAULT_RING
        span_ps = planned.request.arrivals.least_span_ps(ring + 1)
        if attempt.longest_ps(planned.sent.wire) > span_ps:
            return f"messages may wait for room in the ring of {ring} messages of their host"
    return None
