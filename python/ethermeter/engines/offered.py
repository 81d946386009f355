"""Offered load: flows of a network that offer a link of their path more than it carries."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ethermeter.framing import message_octets
from ethermeter.nodes import over_links
from ethermeter.scenario import (
    CoderArrivals,
    ConstantTimes,
    ExponentialTimes,
    FixedLengths,
    Flow,
    Host,
    Link,
    MixLengths,
    OnOffArrivals,
    PoissonArrivals,
    RegularArrivals,
    SamplesLengths,
    SaturatedArrivals,
    Scenario,
    Spurts,
    Stage,
    Times,
    TokenBucketArrivals,
    TraceArrivals,
    UniformTimes,
)


def overloaded(scenario: Scenario) -> npt.NDArray[np.bool_]:
    """Whether each flow waits without limit at a link that is offered more than it carries.

    Shape (flows,). A parameter of the scenario, not a result. Voice counts with its shortest
    packets, and never waits at the link of its own host, which has one packet at a time. A
    saturated source offers what the slowest stage of its host, its link and its own service time
    let through, shared among the saturated flows of the host. Flows that wait for responses or
    acknowledgements, or whose source is filled by a process, offer no more than is carried.
    Responses, and stages of nodes other than the sender, are not counted.
    """
    flows, network = scenario.flows, over_links(scenario)
    links, kinds = network.links, {node.name: node.kind for node in network.nodes}
    own = {end.node: link for link in links for end in link.ends}
    load: dict[tuple[int, str], float] = {}
    paths = paths_of(scenario)
    for flow, path in zip(flows, paths, strict=True):
        if _is_open(flow):
            host = kinds[flow.from_].host
            assert host is not None, "flows begin at hosts"
            between_ps = _between_ps(flow, host, own[flow.from_])
            if _is_saturated(flow):
                between_ps *= sum(
                    _is_open(other) and _is_saturated(other) and other.from_ == flow.from_
                    for other in flows
                )
            for link, node in path:
                wire_ps = _wire_ps(flow, links[link])
                load[link, node] = load.get((link, node), 0.0) + wire_ps / between_ps

    def is_endless(flow: Flow, node: str) -> bool:
        kind = kinds[node]
        if kind.host is not None:
            waits = not isinstance(
                flow.arrivals, SaturatedArrivals | CoderArrivals | TokenBucketArrivals
            )
            return waits and flow.queue_frames is None
        if kind.switch is not None:
            return kind.switch.queue_frames is None and kind.switch.queue_octets is None
        return kind.router is None or kind.router.queue_frames is None

    # A source that fills its own link wholly is at 1 there, give or take a rounding.
    return np.array(
        [
            _is_open(flow)
            and any(load[step] > 1 + 1e-9 and is_endless(flow, step[1]) for step in path)
            for flow, path in zip(flows, paths, strict=True)
        ]
    )


def paths_of(scenario: Scenario) -> list[set[tuple[int, str]]]:
    """Links on the paths of every flow to its receivers, each with the node that sends on it."""
    neighbours = _neighbours(scenario)
    return [
        {step for to in flow.to for step in _path(neighbours, flow.from_, to)}
        for flow in scenario.flows
    ]


def _is_saturated(flow: Flow) -> bool:
    return isinstance(flow.arrivals, SaturatedArrivals) and flow.shaper is None


def _is_open(flow: Flow) -> bool:
    """Whether messages come whatever became of those before."""
    return flow.transfer is None and flow.response is None and flow.generator is None


def _neighbours(scenario: Scenario) -> dict[str, list[tuple[int, str]]]:
    """Links of every node with the node at the other end."""
    network = over_links(scenario)
    neighbours: dict[str, list[tuple[int, str]]] = {node.name: [] for node in network.nodes}
    for number, link in enumerate(network.links):
        first, second = (end.node for end in link.ends)
        neighbours[first].append((number, second))
        neighbours[second].append((number, first))
    return neighbours


def _path(
    neighbours: Mapping[str, list[tuple[int, str]]], start: str, to: str
) -> Iterator[tuple[int, str]]:
    """Links on the way, each with the node that sends on it."""
    before: dict[str, tuple[int, str]] = {}
    waiting = [start]
    for node in waiting:
        for link, other in neighbours[node]:
            if other != start and other not in before:
                before[other] = (link, node)
                waiting.append(other)
    at = to
    while at != start:
        yield before[at]
        at = before[at][1]


def _messages(flow: Flow) -> list[tuple[list[int], float]]:
    """Octets of the frames of each message that a flow may send, and how often it does."""
    match flow.frames:
        case SamplesLengths(min_bits=bits) | FixedLengths(bits=bits):
            return [(message_octets(flow, bits), 1.0)]
        case MixLengths(bits=sizes, weights=weights):
            total = sum(weights)
            return [
                (message_octets(flow, bits), weight / total)
                for bits, weight in zip(sizes, weights, strict=True)
            ]


def _wire_ps(flow: Flow, link: Link) -> float:
    """Mean time that a message takes on a link: preambles, frames and gaps."""
    around = link.preamble_octets + link.gap_octets
    octets = sum(
        weight * sum(length + around for length in lengths) for lengths, weight in _messages(flow)
    )
    return float(octets * link.ps_per_octet)


def talking_share(spurts: Spurts | None) -> float:
    """Share of the time in which a coder makes samples."""
    if spurts is None:
        return 1.0
    return spurts.talk_mean_ps / (spurts.talk_mean_ps + spurts.silence_mean_ps)


def packet_ps(arrivals: CoderArrivals, frames: SamplesLengths) -> int:
    """Time in which a coder makes the samples of its shortest packet."""
    samples = -(-(frames.min_bits - frames.overhead_bits) // arrivals.sample_bits)
    return max(1, samples) * arrivals.sample_ps


def _between_ps(flow: Flow, host: Host, link: Link) -> float:
    """Return the mean time between messages of a source behind its token bucket."""
    bucket = flow.arrivals if isinstance(flow.arrivals, TokenBucketArrivals) else flow.shaper
    between_ps = _source_between_ps(flow, host, link)
    if bucket is None:
        return between_ps
    return max(between_ps, _wire_ps(flow, link) / link.ps_per_octet * 8e12 / bucket.rate_bps)


def _source_between_ps(flow: Flow, host: Host, link: Link) -> float:
    """Return the mean time between messages of a source.

    Of a saturated one, and of a token bucket, it is the least that its host and its link allow.
    """
    match flow.arrivals:
        case PoissonArrivals(mean_ps=mean_ps) | TraceArrivals(mean_ps=mean_ps):
            return mean_ps
        case OnOffArrivals() as arrivals:
            return arrivals.period_ps * (1 + arrivals.off_mean_ps / arrivals.on_mean_ps)
        case RegularArrivals(period_ps=period_ps):
            return float(period_ps)
        case CoderArrivals() as coder:
            assert isinstance(flow.frames, SamplesLengths), "packets of a coder hold samples"
            every_ps = packet_ps(coder, flow.frames) / talking_share(coder.spurts)
            return max(every_ps, _wire_ps(flow, link))
        case SaturatedArrivals() | TokenBucketArrivals():
            pass
    stages = [
        sum(
            weight * sum(_service_ps(stage, length) for length in lengths)
            for lengths, weight in _messages(flow)
        )
        for stage in host.send
    ]
    stages.append(_wire_ps(flow, link))
    # The source goes on when the first stage has let its message pass; what comes after works
    # meanwhile.
    return max(stages[0] + _mean_ps(flow.service), *stages)


def _service_ps(stage: Stage, octets: int) -> float:
    carried = max(octets + stage.extra_octets, 0)
    burst = stage.burst
    bursts = 0 if burst is None else -(-carried // burst.octets) * burst.ps
    return float(stage.fixed_ps + carried * stage.ps_per_octet + bursts)


def _mean_ps(times: Times) -> float:
    """Mean of a distribution of times."""
    match times:
        case ConstantTimes(ps=ps):
            return float(ps)
        case UniformTimes(low_ps=low_ps, high_ps=high_ps):
            return float(low_ps + high_ps) / 2
        case ExponentialTimes(offset_ps=offset_ps, mean_ps=mean_ps):
            return float(offset_ps + mean_ps)
        case _:
            return float(np.average(times.values_ps, weights=times.weights))
