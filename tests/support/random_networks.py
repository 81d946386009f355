"""Random trees of switches with bounded sources, for tests of bounds against simulations."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from ethermeter import scenario
from ethermeter.framing import frame_octets
from ethermeter.scenario import Flow, Framing, FramingTable, Scenario, Udp
from msgspec.structs import replace

RATES_PS = (800_000, 80_000, 8_000)
"""Durations of an octet: 10, 100 and 1000 Mb/s."""
TAG_OCTETS = 4
WINDOW_PERIODS = 4
Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of switches in the making, with its links by their ends."""

    nodes: tuple[scenario.Node, ...]
    links: tuple[scenario.Link, ...]

    def path(self, sender: str, receiver: str) -> tuple[int, ...]:
        """Return the output ports from one node to another; port 2l leaves the first end of l."""
        ports_of: dict[str, list[tuple[int, str]]] = {}
        for number, link in enumerate(self.links):
            one, other = (end.node for end in link.ends)
            ports_of.setdefault(one, []).append((2 * number, other))
            ports_of.setdefault(other, []).append((2 * number + 1, one))
        came: dict[str, tuple[int, ...]] = {sender: ()}
        ahead = deque([sender])
        while ahead:
            node = ahead.popleft()
            for port, other in ports_of[node]:
                if other not in came:
                    came[other] = (*came[node], port)
                    ahead.append(other)
        return came[receiver]

    def octet_ps(self, port: int) -> int:
        """Duration of an octet at a port."""
        return self.links[port // 2].ps_per_octet


def random_scenario(rng: Generator, *, classes: bool = True, load: float = 0.95) -> Scenario:
    """Return a tree of 1 to 5 switches, 2 to 8 hosts and 1 to 12 flows with bounded sources.

    No port is loaded beyond `load`. Half of the scenarios have phases at which the first frames of
    all flows reach one port together.
    """
    tree = _tree(rng, classes=classes)
    flows = list(_flows(rng, tree, classes=classes))
    flows = _slowed(tree, flows, load * rng.uniform(0.3, 1.0))
    if rng.random() < 0.5:
        flows = _synchronised(rng, tree, flows)
    longest = max(_period_ps(flow) for flow in flows)
    end = 2 * WINDOW_PERIODS * longest
    return Scenario(
        nodes=tree.nodes,
        links=tree.links,
        flows=tuple(flows),
        phases=scenario.Phases(
            begin_ps=0,
            stop_ps=WINDOW_PERIODS * longest,
            measure_from_ps=0,
            measure_to_ps=end,
            end_ps=end,
            spread_ps=0,
        ),
        batches=1,
    )


def _tree(rng: Generator, *, classes: bool) -> Tree:
    switches = [f"s{number}" for number in range(rng.integers(1, 6))]
    hosts = [f"h{number}" for number in range(rng.integers(2, 9))]
    links = [(name, switches[rng.integers(at)]) for at, name in enumerate(switches) if at]
    links += [(name, switches[rng.integers(len(switches))]) for name in hosts]
    made = tuple(
        scenario.Link(
            ends=tuple(scenario.End(node=name) for name in ends),
            ps_per_octet=int(rng.choice(RATES_PS)),
            delay_ps=int(rng.integers(0, 2_000_000)),
        )
        for ends in links
    )
    kinds = {name: scenario.Kind(switch=_switch(rng)) for name in switches}
    kinds |= {name: scenario.Kind(host=_host(rng)) for name in hosts}
    if classes and rng.random() < 0.8:
        kinds = {
            name: _with_classes(rng, kind, _slowest(name, made)) for name, kind in kinds.items()
        }
    return Tree(tuple(scenario.Node(name=name, kind=kind) for name, kind in kinds.items()), made)


def _slowest(node: str, links: tuple[scenario.Link, ...]) -> int:
    """Bit rate of the slowest link of a node."""
    of_node = [link for link in links if node in [end.node for end in link.ends]]
    return 8 * 10**12 // max(link.ps_per_octet for link in of_node)


def _stage(rng: Generator, name: str) -> scenario.Stage:
    return scenario.Stage(
        name=name,
        fixed_ps=int(rng.integers(0, 2_000_000)),
        ps_per_octet=int(rng.choice([0, 1_000, 4_000])),
        delay_ps=int(rng.choice([0, 500_000])),
    )


def _switch(rng: Generator) -> scenario.Switch:
    shared = rng.random() < 0.2
    return scenario.Switch(
        learning="known",
        overlap_octets=14 if rng.random() < 0.25 else None,
        ingress=_stage(rng, "in") if rng.random() < 0.25 else None,
        fabric=scenario.FabricTable(shared=_stage(rng, "backplane")) if shared else "ideal",
    )


def _host(rng: Generator) -> scenario.Host:
    has = rng.random() < 0.25
    return scenario.Host(
        send=(_stage(rng, "send"),) if has else (),
        receive=(_stage(rng, "receive"),) if has else (),
    )


def _with_classes(rng: Generator, kind: scenario.Kind, rate_bps: int) -> scenario.Kind:
    """Return a node with a random scheduler; the rate is that of its slowest link."""
    numbers = rng.permutation(8).tolist()
    cuts = np.sort(rng.choice(np.arange(1, 8), rng.integers(0, 4), replace=False)).tolist()
    groups = [numbers[a:b] for a, b in zip([0, *cuts], [*cuts, 8], strict=True)]
    first = int(rng.integers(0, min(2, len(groups))))  # shaped classes may be below a strict one
    shaped = int(rng.integers(0, len(groups) - first)) if rng.random() < 0.4 else 0
    quanta = rng.random() < 0.4
    made = tuple(
        scenario.Class(
            priorities=tuple(sorted(group)),
            idle_slope_bps=(
                int(rate_bps * rng.uniform(0.4, 0.9) / shaped)
                if first <= at < first + shaped
                else None
            ),
            quantum_octets=(
                int(rng.integers(64, 4000)) if quanta and at >= first + shaped else None
            ),
        )
        for at, group in enumerate(groups)
    )
    if kind.switch is not None:
        return scenario.Kind(switch=replace(kind.switch, classes=made))
    assert kind.host is not None, "a host or a switch"
    return scenario.Kind(host=replace(kind.host, classes=made))


def _flows(rng: Generator, tree: Tree, *, classes: bool) -> Iterator[Flow]:
    hosts = [node.name for node in tree.nodes if node.kind.host is not None]
    for number in range(rng.integers(1, 13)):
        sender, receiver = rng.permutation(hosts)[:2].tolist()
        framing: Framing = "frame"
        octets = int(rng.choice([64, 128, 512, 1518, rng.integers(64, 1519)]))
        if rng.random() < 0.15:
            framing, octets = FramingTable(udp=Udp(mtu_octets=1500)), int(rng.integers(1, 8000))
        flow = Flow(
            name=f"f{number}",
            from_=sender,
            to=(receiver,),
            frames=scenario.FixedLengths(bits=8 * octets),
            framing=framing,
            arrivals=scenario.RegularArrivals(period_ps=int(rng.integers(10**8, 10**10))),
            priority=int(rng.integers(8)) if classes and rng.random() < 0.8 else None,
        )
        if rng.random() < 0.3:
            flow = _bucket(rng, flow)
        yield flow


def _bucket(rng: Generator, flow: Flow) -> Flow:
    """Return a flow with a token bucket that holds from one to four messages."""
    burst = int(rng.uniform(1, 4) * volume_octets(flow))
    arrivals = scenario.TokenBucketArrivals(rate_bps=10**6, burst_octets=burst)
    return replace(flow, arrivals=arrivals)


def lengths_of(flow: Flow) -> list[int]:
    """Octets of the frames of a message, the tag included."""
    assert isinstance(flow.frames, scenario.FixedLengths), "messages of one length"
    tag = 0 if flow.priority is None else TAG_OCTETS
    return [octets + tag for octets in frame_octets(flow.framing, flow.frames.bits // 8)]


def volume_octets(flow: Flow) -> int:
    """Octets of a message on the wire: preambles, frames and gaps."""
    return sum(octets + 20 for octets in lengths_of(flow))


def _rate(flow: Flow) -> float:
    """Messages per picosecond."""
    if isinstance(flow.arrivals, scenario.TokenBucketArrivals):
        return flow.arrivals.rate_bps / 8 / volume_octets(flow) / 1e12
    assert isinstance(flow.arrivals, scenario.RegularArrivals)
    return 1 / flow.arrivals.period_ps


def _period_ps(flow: Flow) -> int:
    return int(1 / _rate(flow))


def _slowed(tree: Tree, flows: list[Flow], load: float) -> list[Flow]:
    """Return the flows at the rate at which the busiest stage has the given load."""
    busy: dict[int, float] = {}
    for flow in flows:
        path = tree.path(flow.from_, flow.to[0])
        for port in path:
            share = _rate(flow) * volume_octets(flow) * tree.octet_ps(port)
            busy[port] = busy.get(port, 0.0) + share
    stages = _stage_loads(tree, flows)
    factor = load / max([*busy.values(), *stages.values()])
    return [_at_rate(flow, factor) for flow in flows]


def _stage_loads(tree: Tree, flows: list[Flow]) -> Mapping[str, float]:
    """Load of all stages of each node together: never below that of the busiest of them."""
    loads: dict[str, float] = {}
    owners = {
        2 * at + side: end.node
        for at, link in enumerate(tree.links)
        for side, end in enumerate(link.ends)
    }
    kinds = {node.name: node.kind for node in tree.nodes}
    for flow in flows:
        path = tree.path(flow.from_, flow.to[0])
        for node in [*(owners[port] for port in path), flow.to[0]]:
            for stage in _stages(kinds[node]):
                time_ps = sum(
                    stage.fixed_ps + stage.ps_per_octet * octets for octets in lengths_of(flow)
                )
                key = f"{node} {stage.name}"
                loads[key] = loads.get(key, 0.0) + _rate(flow) * time_ps
    return loads


def _stages(kind: scenario.Kind) -> list[scenario.Stage]:
    if kind.host is not None:
        return [*kind.host.send, *kind.host.receive]
    assert kind.switch is not None, "a host or a switch"
    fabric = kind.switch.fabric
    shared = None if isinstance(fabric, str) else fabric.shared
    return [stage for stage in (kind.switch.ingress, shared) if stage is not None]


def _at_rate(flow: Flow, factor: float) -> Flow:
    if isinstance(flow.arrivals, scenario.TokenBucketArrivals):
        rate_bps = max(1, int(flow.arrivals.rate_bps * factor))
        return replace(flow, arrivals=replace(flow.arrivals, rate_bps=rate_bps))
    assert isinstance(flow.arrivals, scenario.RegularArrivals)
    period_ps = int(flow.arrivals.period_ps / factor) + 1
    return replace(flow, arrivals=replace(flow.arrivals, period_ps=period_ps))


def _synchronised(rng: Generator, tree: Tree, flows: list[Flow]) -> list[Flow]:
    """Return the flows with phases at which their first frames reach a common port together."""
    paths = [tree.path(flow.from_, flow.to[0]) for flow in flows]
    shared = rng.choice([port for path in paths for port in path])
    ahead = [
        sum(
            (8 + lengths_of(flow)[0]) * tree.octet_ps(port) + tree.links[port // 2].delay_ps
            for port in path[: path.index(shared) if shared in path else 0]
        )
        for flow, path in zip(flows, paths, strict=True)
    ]
    made = []
    for flow, ahead_ps in zip(flows, ahead, strict=True):
        phase_ps = max(ahead) - ahead_ps
        if isinstance(flow.arrivals, scenario.RegularArrivals):
            phase_ps %= flow.arrivals.period_ps
        assert isinstance(flow.arrivals, scenario.RegularArrivals | scenario.TokenBucketArrivals)
        made.append(replace(flow, arrivals=replace(flow.arrivals, phase_ps=phase_ps)))
    return made
