"""Path roofline: the ceiling of every stage along a path, and how near a flow came.

The same for a measured path and a simulated one. All rates of one roofline count the same octets;
`counts` says which.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ethermeter.faults import InputError, shown
from ethermeter.framing import message_octets
from ethermeter.json_values import finite, number
from ethermeter.nodes import links_in, nodes_in
from ethermeter.results.interval import Estimate, exact
from ethermeter.scenario import FixedLengths, Flow, Kind, Link, MixLengths, SamplesLengths, Scenario
from ethermeter.scenario import Stage as ScenarioStage

FRAMES = "octets of frames, destination address to FCS"
DATA = "octets of the application's data"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a path."""

    name: str  # Distinct along the path
    ceiling: Estimate  # What it could carry alone, in bit/s
    source: str  # Where the ceiling comes from
    flows: int = 1  # Flows that pass it, this one included


@dataclass(frozen=True, slots=True)
class Roofline:
    """A path, its stages in order, and what was achieved."""

    title: str  # What path
    counts: str  # Which octets are counted in all rates
    stages: tuple[Stage, ...]  # From source to sink; at least one
    achieved: Estimate | None  # In bit/s, or None if nothing was measured

    @property
    def nearest(self) -> Stage:
        """The stage with the lowest ceiling, the first of several."""
        return min(self.stages, key=lambda stage: stage.ceiling.value)

    @property
    def margin(self) -> float | None:
        """The lowest ceiling over the achieved rate; None without an achieved rate.

        1 where the path is as fast as its slowest stage.
        """
        if self.achieved is None or not self.achieved.value > 0:
            return None
        return self.nearest.ceiling.value / self.achieved.value


class RateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A rate in bit/s with its standard error; None for what is unknown or infinite."""

    bit_per_s: float
    error: float | None
    degrees: float | None

    @classmethod
    def of(cls, rate: Estimate) -> "RateEntry":
        """Return the entry of a rate."""
        return cls(bit_per_s=rate.value, error=finite(rate.error), degrees=finite(rate.degrees))

    def read(self) -> Estimate:
        """Return the rate."""
        degrees = math.inf if self.degrees is None else self.degrees
        return Estimate(self.bit_per_s, number(self.error), degrees)


class StageEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A stage with its ceiling."""

    name: str
    bit_per_s: float
    error: float | None
    degrees: float | None
    source: str
    flows: int

    @classmethod
    def of(cls, stage: Stage) -> "StageEntry":
        """Return the entry of a stage."""
        ceiling = msgspec.structs.asdict(RateEntry.of(stage.ceiling))
        return cls(name=stage.name, **ceiling, source=stage.source, flows=stage.flows)

    def read(self) -> Stage:
        """Return the stage."""
        rate = RateEntry(bit_per_s=self.bit_per_s, error=self.error, degrees=self.degrees)
        return Stage(self.name, rate.read(), self.source, self.flows)


class RooflineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A roofline in files of JSON."""

    title: str
    counts: str
    stages: tuple[StageEntry, ...]
    achieved: RateEntry | None
    nearest: str
    margin: float | None

    @classmethod
    def of(cls, roofline: Roofline) -> "RooflineEntry":
        """Return the entry of a roofline."""
        achieved = roofline.achieved
        return cls(
            title=roofline.title,
            counts=roofline.counts,
            stages=tuple(map(StageEntry.of, roofline.stages)),
            achieved=None if achieved is None else RateEntry.of(achieved),
            nearest=roofline.nearest.name,
            margin=roofline.margin,
        )

    def read(self) -> Roofline:
        """Return the roofline."""
        achieved = None if self.achieved is None else self.achieved.read()
        stages = tuple(stage.read() for stage in self.stages)
        return Roofline(self.title, self.counts, stages, achieved)


def read(value: object, *, file: str) -> Roofline:
    """Read a roofline from the JSON of a `RooflineEntry`; raises `InputError` naming the file."""

    def wrong(key: str, what: object, allowed: str) -> InputError:
        return InputError.of(file, key, shown(what), allowed)

    def rate(key: str, entry: object) -> Estimate:
        if not isinstance(entry, Mapping):
            raise wrong(key, entry, "expected a table with bit_per_s")
        bps, error, degrees = (entry.get(name) for name in ("bit_per_s", "error", "degrees"))
        if (
            isinstance(bps, bool)
            or not isinstance(bps, int | float)
            or not (math.isfinite(bps) and bps > 0)
        ):
            raise wrong(f"{key}.bit_per_s", bps, "expected a rate above zero in bit/s")
        if not isinstance(error, int | float | None) or not isinstance(degrees, int | float | None):
            raise wrong(key, entry, "expected numbers or null as error and degrees")
        return Estimate(
            float(bps),
            math.nan if error is None else float(error),
            math.inf if degrees is None else float(degrees),
        )

    if not isinstance(value, Mapping):
        raise wrong("(file)", value, "expected a roofline as JSON")
    stages = value.get("stages")
    if not isinstance(stages, list | tuple) or not stages:
        raise wrong("stages", stages, "expected at least one stage")
    found = []
    for at, entry in enumerate(stages):
        key = f"stages.{at}"
        ceiling = rate(key, entry)
        flows = entry.get("flows", 1)
        if not isinstance(flows, int) or flows < 1:
            raise wrong(f"{key}.flows", flows, "expected a count of at least 1")
        name, source = str(entry.get("name", f"stage {at + 1}")), str(entry.get("source", ""))
        found.append(Stage(name, ceiling, source, flows))
    achieved = value.get("achieved")
    return Roofline(
        str(value.get("title", "Path")),
        str(value.get("counts", "")),
        tuple(found),
        None if achieved is None else rate("achieved", achieved),
    )


def of_scenario(
    scenario: Scenario, flow: int, achieved: Estimate | None, *, place: str = ""
) -> Roofline:
    """Return the roofline of a flow of a network scenario, from its stages alone.

    A stage's ceiling is the bits of a frame over the time that the stage takes for it; with frames
    of several lengths, the mean of the one over the mean of the other. It assumes that no other
    host needs the stage. `flow` is its number; of several receivers the first is taken. `achieved`
    is in bit/s of frames, destination address to FCS; `place` is where it was achieved, for the
    title.
    """
    flows = scenario.flows
    this = flows[flow]
    frames = _frames(this)
    mean_bits = sum(8 * octets * weight for octets, weight in frames)
    passing = _passing(scenario)
    stages = []
    for name, stage in path_between(scenario, this.from_, this.to[0]):
        mean_ps = sum(_time_ps(stage, octets) * weight for octets, weight in frames)
        if mean_ps > 0:
            stages.append(Stage(name, exact(mean_bits / mean_ps * 1e12), "scenario", passing[name]))
    lengths = ", ".join(f"{octets:g}" for octets in dict.fromkeys(octets for octets, _ in frames))
    title = f"{this.name}: {this.from_} to {this.to[0]}, frames of {lengths} octets"
    return Roofline(f"{title} ({place})" if place else title, FRAMES, tuple(stages), achieved)


def _frames(flow: Flow) -> list[tuple[int, float]]:
    """Return lengths of frames in octets with tags, and how many a message has in the mean."""
    match flow.frames:
        # With packets grown to the most, a stage carries most.
        case FixedLengths(bits=bits) | SamplesLengths(max_bits=bits):
            messages = [(bits, 1.0)]
        case MixLengths(bits=sizes, weights=weights):
            total = sum(weights)
            mixed = zip(sizes, weights, strict=True)
            messages = [(bits, weight / total) for bits, weight in mixed]
    return [(octets, weight) for bits, weight in messages for octets in message_octets(flow, bits)]


def _time_ps(stage: ScenarioStage, octets: float) -> float:
    burst = stage.burst
    bursts = 0 if burst is None else math.ceil(octets / burst.octets) * burst.ps
    service_ps = stage.fixed_ps + stage.ps_per_octet * (octets + stage.extra_octets) + bursts
    return service_ps + stage.recovery_ps


@functools.lru_cache(maxsize=4)
def _passing(scenario: Scenario) -> Counter[str]:
    """Return how many flows pass each stage; kept, for it is the same for each flow."""
    paths = (path_between(scenario, flow.from_, flow.to[0]) for flow in scenario.flows)
    return Counter(name for path in paths for name, _ in path)


def path_between(scenario: Scenario, source: str, sink: str) -> Iterator[tuple[str, ScenarioStage]]:
    """Yield the stages from one host to another, each with a name of its own.

    A wire is a stage with the preamble, after which it recovers for the gap. A network is a forest,
    so there is one path at most.
    """
    nodes = {node.name: node.kind for node in nodes_in(scenario)}
    path = links_between(links_in(scenario), source, sink)
    for stage in () if (host := nodes[source].host) is None else host.send:
        yield f"{source} {stage.name} (send)", stage
    for at, (before, link, node) in enumerate(path):
        name = f"wire {before} – {node}"
        yield name, _wire(name, link, nodes[node])
        after = path[at + 1][1] if at + 1 < len(path) else None
        yield from _of_junction(nodes[node], node, link, after)
    for stage in () if (host := nodes[sink].host) is None else host.receive:
        yield f"{sink} {stage.name} (receive)", stage


def _wire(name: str, link: Link, end: Kind) -> ScenarioStage:
    """Return a direction of a link as a stage; its receiver may begin before its end."""
    receiver = end.host or end.switch
    overlap = None if receiver is None else receiver.overlap_octets
    return ScenarioStage(
        name=name,
        ps_per_octet=link.ps_per_octet,
        extra_octets=link.preamble_octets,
        overlap_octets=None if overlap is None else overlap + link.preamble_octets,
        delay_ps=link.delay_ps,
        recovery_ps=link.gap_octets * link.ps_per_octet,
    )


def links_between(links: Sequence[Link], source: str, sink: str) -> list[tuple[str, Link, str]]:
    """Return the links from source to sink, each with the node before and after it."""
    beside: dict[str, list[tuple[Link, str]]] = {}
    for link in links:
        one, other = (end.node for end in link.ends)
        beside.setdefault(one, []).append((link, other))
        beside.setdefault(other, []).append((link, one))
    came_by: dict[str, tuple[str, Link, str] | None] = {source: None}
    waiting = [source]
    while sink not in came_by:
        node = waiting.pop()
        for link, other in beside.get(node, ()):
            if other not in came_by:
                came_by[other] = (node, link, other)
                waiting.append(other)
    found = []
    while (hop := came_by[sink]) is not None:
        found.append(hop)
        sink = hop[0]
    return found[::-1]


def _of_junction(
    kind: Kind, name: str, before: Link, after: Link | None
) -> Iterator[tuple[str, ScenarioStage]]:
    if kind.router is not None:
        yield f"{name} forwarding", kind.router.forward
    if kind.switch is None or after is None:
        return
    ingress, fabric = kind.switch.ingress, kind.switch.fabric
    if ingress is not None:
        yield f"{name} {ingress.name} (in)", ingress
    if isinstance(fabric, str):
        return
    if fabric.shared is not None:
        yield f"{name} {fabric.shared.name}", fabric.shared
        return
    modules = [
        next(end.module for end in link.ends if end.node == name) for link in (before, after)
    ]
    crossbar = fabric.crossbar
    if crossbar is None:
        return
    if modules[0] == modules[1] and crossbar.local is not None:
        yield f"{name} {crossbar.local.name} (local)", crossbar.local
        return
    yield f"{name} {crossbar.inward.name} (inward)", crossbar.inward
    yield f"{name} {crossbar.outward.name} (outward)", crossbar.outward
