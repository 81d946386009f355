"""Offered: which flows of a network are offered more than a wire on their way carries, while they may wait without limit."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.framing import frame_octets


def overloaded(scenario: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    """Whether each flow waits without limit at a wire that is offered more than it carries; shape (flows,).

    A parameter of the scenario, not a result. Sources that are saturated, or wait for answers, offer no more than goes; hosts' own stages
    and answers are not counted.
    """
    network, flows = scenario["network"], scenario["flows"]
    kinds = {node["name"]: next(iter(node["kind"].items())) for node in network["nodes"]}
    ways = _ways(network)
    load: dict[tuple[int, str], float] = {}
    paths = []
    for flow in flows:
        path = {step for to in flow["to"] for step in _path(ways, flow["from"], to)}
        paths.append(path)
        if _is_open(flow):
            for link, node in path:
                load[link, node] = load.get((link, node), 0.0) + _share(flow, network["links"][link])

    def is_endless(flow: Mapping[str, Any], node: str) -> bool:
        kind, settings = kinds[node]
        if kind == "host":
            return flow.get("queue_frames") is None
        return all(settings.get(room) is None for room in ("queue_frames", "queue_octets"))

    return np.array(
        [
            _is_open(flow) and any(load[step] > 1 and is_endless(flow, step[1]) for step in path)
            for flow, path in zip(flows, paths, strict=True)
        ]
    )


def _is_open(flow: Mapping[str, Any]) -> bool:
    """Whether messages come whatever became of those before."""
    return flow["arrivals"]["kind"] != "saturated" and flow.get("response") is None


def _ways(network: Mapping[str, Any]) -> dict[str, list[tuple[int, str]]]:
    """Links of every node with the node at the other end."""
    ways: dict[str, list[tuple[int, str]]] = {node["name"]: [] for node in network["nodes"]}
    for number, link in enumerate(network["links"]):
        first, second = (end["node"] for end in link["ends"])
        ways[first].append((number, second))
        ways[second].append((number, first))
    return ways


def _path(ways: Mapping[str, list[tuple[int, str]]], start: str, to: str) -> Iterator[tuple[int, str]]:
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


def _share(flow: Mapping[str, Any], link: Mapping[str, Any]) -> float:
    """Share of a link's time that a flow is offered for: preamble, frames and gaps."""
    arrivals, frames = flow["arrivals"], flow["frames"]
    sizes = [frames["bits"]] if frames["kind"] == "fixed" else frames["bits"]
    weights = [1.0] if frames["kind"] == "fixed" else frames["weights"]
    around = link.get("preamble_octets", 8) + link.get("gap_octets", 12)
    octets = [sum(length + around for length in frame_octets(flow.get("framing", "frame"), bits // 8)) for bits in sizes]
    mean_ps = float(np.average(octets, weights=weights)) * link["ps_per_octet"]
    between_ps = float(arrivals["mean_ps"] if arrivals["kind"] == "poisson" else arrivals["period_ps"])
    if arrivals["kind"] == "on_off":
        between_ps *= 1 + float(arrivals["off_mean_ps"]) / float(arrivals["on_mean_ps"])
    return float(mean_ps / between_ps)
