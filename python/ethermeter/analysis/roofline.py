"""Path roofline: the ceiling of every stage along a path, and how near to the lowest of them a flow
came.

The same for a measured path and a simulated one. All rates of one roofline count the same octets;
`counts` says which.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethermeter.analysis.interval import Estimate, exact
from ethermeter.faults import Fault, InputError, shown

FRAMES = "octets of frames, destination address to FCS"
DATA = "octets of the application's data"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a path.

    Parameters
    ----------
    name
        Distinct along the path.
    ceiling
        What it could carry alone, in bit/s.
    source
        Where the ceiling comes from.
    flows
        Flows that pass it, this one included.

    """

    name: str
    ceiling: Estimate
    source: str
    flows: int = 1


@dataclass(frozen=True, slots=True)
class Roofline:
    """A path, its stages in order, and what was achieved.

    Parameters
    ----------
    title
        What path.
    counts
        Which octets are counted in all rates.
    stages
        From source to sink; at least one.
    achieved
        In bit/s, or None if nothing was measured.

    """

    title: str
    counts: str
    stages: tuple[Stage, ...]
    achieved: Estimate | None

    @property
    def nearest(self) -> Stage:
        """The stage with the lowest ceiling, the first of several."""
        return min(self.stages, key=lambda stage: stage.ceiling.value)

    @property
    def margin(self) -> float | None:
        """The lowest ceiling over what was achieved; 1 where the path is as fast as its slowest
        stage; None without an achieved rate.
        """
        if self.achieved is None or not self.achieved.value > 0:
            return None
        return self.nearest.ceiling.value / self.achieved.value

    def as_json(self) -> dict[str, Any]:
        """Return the roofline as JSON; `read` is its inverse."""
        return {
            "title": self.title,
            "counts": self.counts,
            "stages": [
                {
                    "name": stage.name,
                    **_estimate(stage.ceiling),
                    "source": stage.source,
                    "flows": stage.flows,
                }
                for stage in self.stages
            ],
            "achieved": None if self.achieved is None else _estimate(self.achieved),
            "nearest": self.nearest.name,
            "margin": self.margin,
        }


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    """Write value, error and degrees of freedom; null for what is unknown or infinite."""
    error = estimate.error if math.isfinite(estimate.error) else None
    return {
        "bit_per_s": estimate.value,
        "error": error,
        "degrees": estimate.degrees if math.isfinite(estimate.degrees) else None,
    }


def read(value: object, *, file: str) -> Roofline:
    """Read a roofline from JSON.

    Parameters
    ----------
    value
        What `as_json` wrote.
    file
        The file, for faults.

    Raises
    ------
    InputError
        If it is none.

    """

    def wrong(key: str, what: object, allowed: str) -> InputError:
        return InputError([Fault(file, key, shown(what), allowed)])

    def rate(key: str, entry: object) -> Estimate:
        if not isinstance(entry, Mapping):
            raise wrong(key, entry, "expected a table with bit_per_s")
        number, error, degrees = (entry.get(name) for name in ("bit_per_s", "error", "degrees"))
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not (math.isfinite(number) and number > 0)
        ):
            raise wrong(f"{key}.bit_per_s", number, "expected a rate above zero in bit/s")
        if not isinstance(error, int | float | None) or not isinstance(degrees, int | float | None):
            raise wrong(key, entry, "expected numbers or null as error and degrees")
        return Estimate(
            float(number),
            math.nan if error is None else float(error),
            math.inf if degrees is None else float(degrees),
        )

    if not isinstance(value, Mapping):
        raise wrong("(file)", value, "expected a roofline as JSON")
    stages = value.get("stages")
    if not isinstance(stages, list) or not stages:
        raise wrong("stages", stages, "expected at least one stage")
    found = []
    for at, entry in enumerate(stages):
        key = f"stages.{at}"
        ceiling = rate(key, entry)
        flows = entry.get("flows", 1)
        if not isinstance(flows, int) or flows < 1:
            raise wrong(f"{key}.flows", flows, "expected a count of at least 1")
        found.append(
            Stage(
                str(entry.get("name", f"stage {at + 1}")),
                ceiling,
                str(entry.get("source", "")),
                flows,
            )
        )
    achieved = value.get("achieved")
    return Roofline(
        str(value.get("title", "Path")),
        str(value.get("counts", "")),
        tuple(found),
        None if achieved is None else rate("achieved", achieved),
    )


def of_scenario(
    scenario: Mapping[str, Any], flow: int, achieved: Estimate | None, *, place: str = ""
) -> Roofline:
    """Return the roofline of a flow of a network scenario, from its stages alone.

    A stage's ceiling is the bits of a frame over the time that the stage takes for it; with frames
    of several lengths, the mean of the one over the mean of the other. It assumes that nobody else
    needs the stage.

    Parameters
    ----------
    scenario
        A trial's scenario with `network` and `flows` (docs/formats.md), as checked when it was
        planned.
    flow
        Number of the flow, from 0; of several receivers the first is taken.
    achieved
        In bit/s of frames, destination address to FCS.
    place
        Where it was achieved, for the title.

    """
    flows = scenario["flows"]
    this = flows[flow]
    frames = _frames(this)
    mean_bits = sum(8 * octets * weight for octets, weight in frames)
    passing: dict[str, int] = {}
    for each in flows:
        for name, _ in _path(scenario, each["from"], each["to"][0]):
            passing[name] = passing.get(name, 0) + 1
    stages = []
    for name, stage in _path(scenario, this["from"], this["to"][0]):
        mean_ps = sum(_time_ps(stage, octets) * weight for octets, weight in frames)
        if mean_ps > 0:
            stages.append(Stage(name, exact(mean_bits / mean_ps * 1e12), "scenario", passing[name]))
    lengths = ", ".join(f"{octets:g}" for octets in dict.fromkeys(octets for octets, _ in frames))
    title = f"{this['name']}: {this['from']} to {this['to'][0]}, frames of {lengths} octets"
    return Roofline(f"{title} ({place})" if place else title, FRAMES, tuple(stages), achieved)


def _frames(flow: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return lengths of frames in octets and how many of each a message has in the mean."""
    frames = flow["frames"]
    if frames["kind"] == "fixed":
        messages = [(frames["bits"] / 8, 1.0)]
    elif frames["kind"] == "samples":
        messages = [
            (frames["max_bits"] / 8, 1.0)
        ]  # with packets grown to the most, a stage carries most
    else:
        total = sum(frames["weights"])
        messages = [
            (bits / 8, weight / total)
            for bits, weight in zip(frames["bits"], frames["weights"], strict=True)
        ]
    framing = flow.get("framing", "frame")
    if framing == "frame":
        return messages
    mtu = framing["udp"]["mtu_octets"]
    return [(octets, weight) for data, weight in messages for octets in _fragments(data, mtu)]


def _fragments(data_octets: float, mtu_octets: int) -> Iterator[float]:
    """Cut a UDP datagram into the frames of its IP fragments (RFC 791, section 3.2: all but the
    last hold a multiple of 8 octets).
    """
    left = data_octets + 8
    most = (mtu_octets - 20) // 8 * 8
    while left > 0:
        now = left if left <= mtu_octets - 20 else most
        yield max(64.0, now + 20 + 18)
        left -= now


def _time_ps(stage: Mapping[str, Any], octets: float) -> float:
    burst = stage.get("burst")
    bursts = math.ceil(octets / burst["octets"]) * burst["ps"] if burst else 0
    per_octet: float = stage.get("ps_per_octet", 0) * (octets + stage.get("extra_octets", 0))
    return float(stage.get("fixed_ps", 0)) + per_octet + bursts


def _path(
    network: Mapping[str, Any], source: str, sink: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the stages from one host to another, each with a name of its own; a network is a
    forest, so there is one way at most.
    """
    nodes = {node["name"]: node["kind"] for node in network["nodes"]}
    way = links_between(network["links"], source, sink)
    yield from _of_host(nodes[source], source, "send")
    for number, (before, link, node) in enumerate(way):
        framing = link.get("preamble_octets", 8) + link.get("gap_octets", 12)
        yield (
            f"wire {before} – {node}",
            {"ps_per_octet": link["ps_per_octet"], "extra_octets": framing},
        )
        after = way[number + 1][1] if number + 1 < len(way) else None
        yield from _of_junction(nodes[node], node, link, after)
    yield from _of_host(nodes[sink], sink, "receive")


def links_between(
    links: Sequence[Mapping[str, Any]], source: str, sink: str
) -> list[tuple[str, Mapping[str, Any], str]]:
    """Return the links from source to sink, each with the node before and after it."""
    reached: dict[str, list[tuple[str, Mapping[str, Any], str]]] = {source: []}
    waiting = [source]
    while waiting:
        node = waiting.pop(0)
        for link in links:
            ends = [end["node"] for end in link["ends"]]
            if node in ends:
                other = ends[1 - ends.index(node)]
                if other not in reached:
                    reached[other] = [*reached[node], (node, link, other)]
                    waiting.append(other)
    return reached[sink]


def _of_host(
    kind: Mapping[str, Any], name: str, way: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for stage in kind.get("host", {}).get(way, ()):
        yield f"{name} {stage['name']} ({way})", stage


def _of_junction(
    kind: Mapping[str, Any], name: str, before: Mapping[str, Any], after: Mapping[str, Any] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "router" in kind and (forward := kind["router"].get("forward")):
        yield f"{name} forwarding", forward
    if "switch" not in kind or after is None:
        return
    switch = kind["switch"]
    if ingress := switch.get("ingress"):
        yield f"{name} {ingress['name']} (in)", ingress
    fabric = switch.get("fabric", "ideal")
    if fabric == "ideal":
        return
    if shared := fabric.get("shared"):
        yield f"{name} {shared['name']}", shared
        return
    modules = [
        next(end.get("module", 0) for end in link["ends"] if end["node"] == name)
        for link in (before, after)
    ]
    crossbar = fabric["crossbar"]
    used = (
        ["local"] if modules[0] == modules[1] and crossbar.get("local") else ["inward", "outward"]
    )
    for part in used:
        yield f"{name} {crossbar[part]['name']} ({part})", crossbar[part]
