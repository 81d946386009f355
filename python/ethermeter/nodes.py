"""Nodes: of which kind each node of a scenario is, and the links between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ethermeter.scenario import (
    Class,
    CsmaCd,
    End,
    Host,
    Hub,
    Kind,
    Link,
    Medium,
    Node,
    Router,
    Scenario,
    Switch,
)

Settings = Host | Switch | Router | Hub
"""Settings of a node, by its kind."""
Neighbours = Mapping[str, Sequence[tuple[int, str]]]
"""Of every node the numbers of its links, each with the node at the other end."""


def classes_of(node: Node) -> tuple[Class, ...]:
    """Return the traffic classes of a node's output ports, highest first; none for one queue."""
    kind = node.kind
    owner = kind.host or kind.switch or kind.router
    return () if owner is None else owner.classes


def kind_of(node: Node) -> tuple[str, Settings]:
    """Return the kind of a node, such as "host", and its settings."""
    every = ((name, getattr(node.kind, name)) for name in ("host", "switch", "router", "hub"))
    return next((name, settings) for name, settings in every if settings is not None)


def room_of(settings: Settings, traffic_class: int | None) -> tuple[int | None, int | None]:
    """Return the room of a port in frames and octets; None without a limit.

    Where a port has traffic classes, the room is that of a class; one without room of its own has
    the room of the node.
    """
    frames = settings.queue_frames if isinstance(settings, Switch | Router) else None
    octets = settings.queue_octets if isinstance(settings, Switch) else None
    if traffic_class is None or isinstance(settings, Hub) or not settings.classes:
        return frames, octets
    own = settings.classes[traffic_class]
    return own.queue_frames or frames, own.queue_octets or octets


def hosts_in(scenario: Scenario) -> list[str]:
    """Names of all hosts of a scenario."""
    return [node.name for node in scenario.nodes if node.kind.host is not None]


def has_classes(scenario: Scenario) -> bool:
    """Whether some node of a scenario has traffic classes at its ports."""
    kinds = (node.kind for node in scenario.nodes)
    owners = (kind.host or kind.switch or kind.router for kind in kinds)
    return any(owner is not None and bool(owner.classes) for owner in owners)


def clocks_of(scenario: Scenario) -> int:
    """Return what is read of clocks in a simulation.

    0 nothing, 1 delays by the clocks as they are, 2 also by comparing them.
    """
    hosts = (node.kind.host for node in scenario.nodes)
    if not any(host is not None and host.clock is not None for host in hosts):
        return 0
    return 2 if scenario.clocks == "compared" else 1


def rebroadcasts(scenario: Scenario) -> bool:
    """Whether some host of a scenario sends broadcasts that it receives again."""
    hosts = (node.kind.host for node in scenario.nodes)
    return any(host is not None and host.rebroadcast is not None for host in hosts)


def nodes_in(scenario: Scenario) -> tuple[Node, ...]:
    """Return the nodes of a scenario, then a hub for each of its media."""
    hubs = [Node(name=medium.name, kind=Kind(hub=Hub())) for medium in scenario.media]
    return (*scenario.nodes, *hubs)


@lru_cache(maxsize=256)
def links_in(scenario: Scenario) -> tuple[Link, ...]:
    """Return the links of a scenario, then those that join stations to its media, half-duplex.

    The latter are in the order of the stations, so that ports 2l and 2l + 1 are the ends of link l
    of what is returned. Preamble and gap of such a link are whole octets; what its delay is depends
    on the receiver, here it is 0.
    """
    return (*scenario.links, *(link for medium in scenario.media for link in links_of(medium)))


def wires_of(scenario: Scenario) -> npt.NDArray[np.int64]:
    """Return what each port sends on, by number: its wire, or all half-duplex links at hubs."""
    links = links_in(scenario)
    hubs = {node.name for node in nodes_in(scenario) if node.kind.hub is not None}
    domain = list(range(len(links)))
    first_at: dict[str, int] = {}
    for number, link in enumerate(links):
        for end in link.ends:
            if end.node in hubs:
                old, new = domain[number], domain[first_at.setdefault(end.node, number)]
                domain = [new if of == old else of for of in domain]
    media = [
        2 * domain[port // 2] + (0 if links[port // 2].half_duplex else port % 2)
        for port in range(2 * len(links))
    ]
    return np.array(media, dtype=np.int64)


def paths_of(scenario: Scenario) -> list[set[tuple[int, str]]]:
    """Links on the paths of every flow to its receivers, each with the node that sends on it."""
    neighbours = neighbours_of((node.name for node in nodes_in(scenario)), links_in(scenario))
    return [
        {step for to in flow.to for step in path_of(neighbours, flow.from_, to)}
        for flow in scenario.flows
    ]


def neighbours_of(nodes: Iterable[str], links: Iterable[Link]) -> Neighbours:
    """Return the numbers of the links of every node, each with the node at the other end."""
    neighbours: dict[str, list[tuple[int, str]]] = {name: [] for name in nodes}
    for number, link in enumerate(links):
        first, second = (end.node for end in link.ends)
        neighbours[first].append((number, second))
        neighbours[second].append((number, first))
    return neighbours


def path_of(neighbours: Neighbours, start: str, to: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the links between two nodes, each with the node that sends on it."""
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


def mac_of(medium: Medium) -> CsmaCd:
    """Return the constants of the medium access of a medium, with PLCA or without."""
    found = medium.mac.csma_cd if medium.mac.plca is None else medium.mac.plca.csma_cd
    assert found is not None, "lowering makes nothing else"
    return found


def links_of(medium: Medium) -> list[Link]:
    """Return the links of a medium in a network, as of `links_in`."""
    mac = mac_of(medium)
    return [
        Link(
            ends=(End(node=stations.node), End(node=medium.name)),
            ps_per_octet=8 * medium.bit_ps,
            preamble_octets=mac.preamble_bits // 8,
            gap_octets=mac.gap_bits // 8,
            half_duplex=True,
        )
        for stations in medium.stations
    ]
