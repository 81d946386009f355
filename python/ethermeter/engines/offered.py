"""Offered: which flows of a network are offered more than a wire on their way carries, while they
may wait without limit.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.framing import frame_octets


def overloaded(scenario: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    """Whether each flow waits without limit at a wire that is offered more than it carries; shape
    (flows,).

    A parameter of the scenario, not a result. Voice counts with its shortest packets, and never
    waits at its own host's wire: there is one packet at a time. A saturated source offers what its
    host's slowest stage, its link and its own service time let through, shared among the saturated
    flows of the host. Flows that wait for answers or acknowledgements, or whose source is filled by
    a process, offer no more than goes; answers, and stages of others than the sender, are not
    counted.
    """
    flows, links = scenario["flows"], scenario["links"]
    kinds = {node["name"]: next(iter(node["kind"].items())) for node in scenario["nodes"]}
    own = {end["node"]: link for link in links for end in link["ends"]}
    load: dict[tuple[int, str], float] = {}
    paths = ways_of(scenario)
    for flow, path in zip(flows, paths, strict=True):
        if _is_open(flow):
            between_ps = _between_ps(flow, kinds[flow["from"]][1], own[flow["from"]])
            if _is_saturated(flow):
                between_ps *= sum(
                    _is_open(other) and _is_saturated(other) and other["from"] == flow["from"]
                    for other in flows
                )
            for link, node in path:
                load[link, node] = (
                    load.get((link, node), 0.0) + _wire_ps(flow, links[link]) / between_ps
                )

    def is_endless(flow: Mapping[str, Any], node: str) -> bool:
        kind, settings = kinds[node]
        if kind == "host":
            return (
                flow["arrivals"]["kind"] not in ("saturated", "coder")
                and flow.get("queue_frames") is None
            )
        return all(settings.get(room) is None for room in ("queue_frames", "queue_octets"))

    # A source that fills its own link wholly is at 1 there, give or take a rounding.
    return np.array(
        [
            _is_open(flow)
            and any(load[step] > 1 + 1e-9 and is_endless(flow, step[1]) for step in path)
            for flow, path in zip(flows, paths, strict=True)
        ]
    )


def ways_of(scenario: Mapping[str, Any]) -> list[set[tuple[int, str]]]:
    """Links on the ways of every flow to its receivers, each with the node that sends on it."""
    ways = _ways(scenario)
    return [
        {step for to in flow["to"] for step in _path(ways, flow["from"], to)}
        for flow in scenario["flows"]
    ]


def _is_saturated(flow: Mapping[str, Any]) -> bool:
    return bool(flow["arrivals"]["kind"] == "saturated")


def _is_open(flow: Mapping[str, Any]) -> bool:
    """Whether messages come whatever became of those before."""
    if "transfer" in flow:
        return False
    return flow.get("response") is None and flow.get("generator") is None


def _ways(scenario: Mapping[str, Any]) -> dict[str, list[tuple[int, str]]]:
    """Links of every node with the node at the other end."""
    ways: dict[str, list[tuple[int, str]]] = {node["name"]: [] for node in scenario["nodes"]}
    for number, link in enumerate(scenario["links"]):
        first, second = (end["node"] for end in link["ends"])
        ways[first].append((number, second))
        ways[second].append((number, first))
    return ways


def _path(
    ways: Mapping[str, list[tuple[int, str]]], start: str, to: str
) -> Iterator[tuple[int, str]]:
    """Links on the way, each with the node that sends on it."""
    before: dict[str, tuple[int, str]] = {}
    waiting = [start]
    for node in waiting:
        for link, other in ways[node]:
            if other != start and other not in before:
                before[other] = (link, node)
                waiting.append(other)
    at = to
    while at != start:
        yield before[at]
        at = before[at][1]


def _messages(flow: Mapping[str, Any]) -> list[tuple[list[int], float]]:
    """Octets of the frames of each message that a flow may send, and how often it does."""
    frames = flow["frames"]
    if frames["kind"] == "samples":
        return [(frame_octets(flow.get("framing", "frame"), frames["min_bits"] // 8), 1.0)]
    sizes = [frames["bits"]] if frames["kind"] == "fixed" else frames["bits"]
    weights = [1.0] if frames["kind"] == "fixed" else frames["weights"]
    total = sum(weights)
    return [
        (frame_octets(flow.get("framing", "frame"), bits // 8), weight / total)
        for bits, weight in zip(sizes, weights, strict=True)
    ]


def _wire_ps(flow: Mapping[str, Any], link: Mapping[str, Any]) -> float:
    """Mean time that a message takes on a link: preambles, frames and gaps."""
    around = link.get("preamble_octets", 8) + link.get("gap_octets", 12)
    octets = sum(
        weight * sum(length + around for length in lengths) for lengths, weight in _messages(flow)
    )
    return float(octets * link["ps_per_octet"])


def _between_ps(flow: Mapping[str, Any], host: Mapping[str, Any], link: Mapping[str, Any]) -> float:
    """Mean time between messages of a source; of a saturated one, the least that its host and its
    link leave.
    """
    arrivals = flow["arrivals"]
    match arrivals["kind"]:
        case "poisson":
            return float(arrivals["mean_ps"])
        case "on_off":
            return float(arrivals["period_ps"]) * (
                1 + float(arrivals["off_mean_ps"]) / float(arrivals["on_mean_ps"])
            )
        case "regular":
            return float(arrivals["period_ps"])
        case "coder":
            spurts, frames = arrivals["spurts"], flow["frames"]
            share = (
                1.0
                if spurts is None
                else spurts["talk_mean_ps"] / (spurts["talk_mean_ps"] + spurts["silence_mean_ps"])
            )
            samples = max(
                1, -(-(frames["min_bits"] - frames["overhead_bits"]) // arrivals["sample_bits"])
            )
            return max(float(samples * arrivals["sample_ps"] / share), _wire_ps(flow, link))
    stages = [
        sum(
            weight * sum(_service_ps(stage, length) for length in lengths)
            for lengths, weight in _messages(flow)
        )
        for stage in host.get("send", ())
    ]
    stages.append(_wire_ps(flow, link))
    # The source goes on when the first stage has let its message pass; what comes after works
    # meanwhile.
    return max(stages[0] + _mean_ps(flow.get("service", {"kind": "constant", "ps": 0})), *stages)


def _service_ps(stage: Mapping[str, Any], octets: int) -> float:
    carried = max(octets + stage.get("extra_octets", 0), 0)
    burst = stage.get("burst")
    bursts = -(-carried // burst["octets"]) * burst["ps"] if burst else 0
    return float(stage.get("fixed_ps", 0) + carried * stage.get("ps_per_octet", 0) + bursts)


def _mean_ps(times: Mapping[str, Any]) -> float:
    """Mean of a distribution of times."""
    match times["kind"]:
        case "constant":
            return float(times["ps"])
        case "uniform":
            return float(times["low_ps"] + times["high_ps"]) / 2
        case "exponential":
            return float(times["offset_ps"] + times["mean_ps"])
        case _:
            return float(np.average(times["values_ps"], weights=times["weights"]))
