"""What the settings of a bus of 10BASE-T1S do: to its cycles, its delays, and what it can carry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ethermeter.entities import flows_in, medium_of
from ethermeter.scenario import PlcaNodes, Scenario
from ethermeter.theory.bounds import buses_of
from ethermeter.theory.bus import EARLY, Bus, Node, bus_of

BURSTS = (0, 1, 3, 7, 15)
"""Values of `burst-cnt` that are compared."""
MUCH_TOO_LONG = 2
"""An opportunity that is so many times longer than needed is worth a warning."""


PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class NodeDelays:
    """Nodes that are alike, with their bounds in s; None without."""

    group: str
    node_ids: tuple[tuple[int, ...], ...]
    longest_opportunity_s: float
    attempt_delay_max_s: float | None
    """Longest access delay, from the first attempt of the MAC."""
    access_delay_max_s: float | None
    """The same from the head of the queue."""
    attempt_delay_max_with_two_ids_s: float | None
    """That from the first attempt if one of the nodes had a second ID half a cycle away."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """A bus whose nodes all had another `burst-cnt`; times in s."""

    burst_cnt: int
    longest_cycle_s: float
    attempt_delay_max_s: float
    """Longest of all nodes, from the first attempt of the MAC."""
    access_delay_max_s: float
    """The same from the head of the queue."""
    data_share: float
    """Share of the longest cycle in which frames are sent, with what is around them."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What is known of a bus before anything is simulated; times in s."""

    node_count: int
    """Opportunities of a cycle."""
    empty_cycle_s: float
    longest_cycle_s: float | None
    """None if it has no bound."""
    least_to_tmr_bits: int
    """Smallest safe `to-tmr`."""
    has_latencies: bool
    """Whether this is with latencies of PHYs."""
    nodes: tuple[NodeDelays, ...]
    bursts: tuple[Bursts, ...]
    warnings: tuple[str, ...]


def advice(scenario: Scenario) -> dict[str, Advice]:
    """Return what is known of the buses of a scenario, by the names of their segments.

    Where flows have receivers, nodes send the frames that these bring to them.
    """
    bus = bus_of(scenario)
    if bus is not None:
        buses = {medium_of(scenario).name: bus}
    else:
        buses = buses_of(scenario) if flows_in(scenario) else {}
    plcas = {
        medium.name: [each.plca for each in medium.stations if each.plca is not None]
        for medium in scenario.media
    }
    return {
        name: _of_bus(bus, plcas[name], scenario.phases.begin_ps) for name, bus in buses.items()
    }


def _of_bus(bus: Bus, plcas: Sequence[PlcaNodes], begin_ps: int) -> Advice:
    # A node that sends nothing has an opportunity that it does not use.
    senders = replace(bus, nodes=tuple([node for node in bus.nodes if node.longest_bits]))
    nodes = tuple(_alike(senders))
    counts = BURSTS if bus.is_bounded and nodes else ()
    bursts = tuple([_with_bursts(senders, count) for count in counts])
    warnings = (*bus.obstacles, *_warnings(bus, plcas, begin_ps))
    return Advice(
        node_count=senders.node_count,
        empty_cycle_s=senders.empty_ps / PS_PER_S,
        longest_cycle_s=senders.longest_ps / PS_PER_S if senders.is_bounded else None,
        least_to_tmr_bits=senders.least_opportunity_bits,
        has_latencies=bool(senders.plca.transmit_ps),
        nodes=nodes,
        bursts=bursts,
        warnings=warnings,
    )


def _alike(bus: Bus) -> list[NodeDelays]:
    """Return nodes of a group whose bounds are equal together."""
    found: dict[tuple[object, ...], list[Node]] = {}
    for node in bus.nodes:
        delay = bus.attempt_delay_ps(node) if bus.is_bounded else None
        found.setdefault((node.group, len(node.ids), delay), []).append(node)
    return [
        NodeDelays(
            group=nodes[0].group,
            node_ids=tuple([node.ids for node in nodes]),
            longest_opportunity_s=bus.used_ps(nodes[0]) / PS_PER_S,
            attempt_delay_max_s=_seconds(bus, bus.attempt_delay_ps, nodes[0]),
            access_delay_max_s=_seconds(bus, bus.access_delay_ps, nodes[0]),
            attempt_delay_max_with_two_ids_s=_seconds(bus, partial(_with_two_ids, bus), nodes[0]),
        )
        for nodes in found.values()
    ]


def _seconds(bus: Bus, bound_ps: Callable[[Node], int | None], node: Node) -> float | None:
    """Return a bound of a node in s; None if it has none."""
    time_ps = bound_ps(node) if bus.is_bounded else None
    return None if time_ps is None else time_ps / PS_PER_S


def _with_two_ids(bus: Bus, node: Node) -> int | None:
    """Return the bound of a node if it had a second opportunity in the middle of the others."""
    if len(node.ids) > 1 or bus.node_count > 254 or len(bus.nodes) < 3:
        return None
    (own,) = node.ids
    # The others keep their order; those of the second half of the cycle come one later.
    middle = (own + 1 + bus.node_count // 2) % (bus.node_count + 1)

    def moved(id: int) -> int:
        return id + (id >= middle)

    nodes = [
        replace(each, ids=tuple([moved(id) for id in each.ids]))
        for each in bus.nodes
        if each != node
    ]
    changed = replace(node, ids=tuple(sorted((moved(own), middle))))
    with_two = replace(bus, nodes=(*nodes, changed), node_count=bus.node_count + 1)
    return with_two.attempt_delay_ps(changed)


def _with_bursts(bus: Bus, count: int) -> Bursts:
    changed = replace(bus, nodes=tuple([replace(node, burst_count=count) for node in bus.nodes]))
    frames = sum(changed.frame_ps(node) * (1 + count) * len(node.ids) for node in changed.nodes)
    return Bursts(
        count,
        changed.longest_ps / PS_PER_S,
        max(map(changed.attempt_delay_ps, changed.nodes)) / PS_PER_S,
        max(map(changed.access_delay_ps, changed.nodes)) / PS_PER_S,
        frames / changed.longest_ps,
    )


def _warnings(bus: Bus, plcas: Sequence[PlcaNodes], begin_ps: int) -> list[str]:
    """Return what works, and is not as good as it could be."""
    if not plcas:
        return []
    found = []
    taken = {id for node in bus.nodes for id in node.ids}
    if unused := bus.node_count - len([id for id in taken if id < bus.node_count]):
        found.append(
            f"{_number(unused, 'opportunity', 'opportunities')} of a cycle"
            f" {'belongs' if unused == 1 else 'belong'} to no node:"
            f" {unused * bus.opportunity_ps / 1e6:g} µs of every cycle"
        )
    least = bus.least_opportunity_bits
    longest = max(plca.opportunity_bits for plca in plcas)
    if longest >= MUCH_TOO_LONG * least and bus.plca.transmit_ps:
        found.append(
            f"to-tmr of {longest} bit times is longer than the {least} that equation 148-1 asks for"
            " with these latencies; the standard's 32 leaves room for any PHY of clause 147"
        )
    gap = bus.plca.csma_cd.gap_bits
    if any(plca.burst_count and plca.burst_bits < gap for plca in plcas):
        found.append(f"burst-tmr must be at least {gap} bit times, a gap, or no burst goes on")
    if any(not plca.falls_back for plca in plcas):
        found.append("with fall-back off nodes are silent while the coordinator is")
    if begin_ps < bus.settled_ps:
        found.append(EARLY)
    return found


def _number(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def ranges(ids: Sequence[int]) -> str:
    """Write numbers with ranges.

    Examples
    --------
    >>> ranges([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    found: list[list[int]] = []
    for id in sorted(ids):
        if found and id == found[-1][-1] + 1:
            found[-1].append(id)
        else:
            found.append([id])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in found)
