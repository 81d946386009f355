"""Ports at shared segments: with PLCA every frame gets a turn, so that its access has a bound.

A port on a bus serves a frame within the longest access delay and the frame itself, counted from
the end of the frame before it; so that its service curve is that of a wire whose frames are as much
longer. What the other ports of the bus may have is in its `Turn`. CSMA/CD has no bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ethermeter.scenario import Medium, Stations
from ethermeter.theory.bounds.network import Network
from ethermeter.theory.bounds.stages import Access, Timing
from ethermeter.theory.bounds.turns import Turn
from ethermeter.theory.bus import Bus, Member, bus_with

_CSMA_CD = "is at segment {name!r}: CSMA/CD has no bound"
_OBSTACLE = "is at segment {name!r}: {obstacle}"


def accesses_of(network: Network) -> dict[int, Access]:
    """Return the access of every port at a shared segment.

    Parameters
    ----------
    network
        A network with the visits of all that is sent in it.

    """
    found: dict[int, Access] = {}
    for medium, ports in _segments(network):
        found.update(zip(ports, _accesses(network, medium, ports), strict=True))
    return found


def buses_at(network: Network) -> dict[str, Bus]:
    """Return the buses of 10BASE-T1S among the shared segments, by name.

    A node has the frames that leave its port, of 0 bits if it sends none.
    """
    found = {medium.name: _bus(network, medium, ports) for medium, ports in _segments(network)}
    return {name: bus for name, bus in found.items() if bus is not None}


def _segments(network: Network) -> Iterator[tuple[Medium, range]]:
    """Yield each shared segment with the ports of its stations."""
    port = 2 * len(network.scenario.links)
    for medium in network.scenario.media:
        ports = range(port, port + 2 * len(medium.stations), 2)
        yield medium, ports
        port = ports.stop


def _bus(network: Network, medium: Medium, ports: range) -> Bus | None:
    octets = _octets_at(network, ports)
    members = [
        Member(stations.node, stations, shortest_bits=8 * least, longest_bits=8 * most)
        for stations, (least, most) in zip(medium.stations, octets, strict=True)
    ]
    return bus_with(medium, members)


def _accesses(network: Network, medium: Medium, ports: range) -> list[Access]:
    bus = _bus(network, medium, ports)
    if bus is None:
        return [Access(fault=_CSMA_CD.format(name=medium.name))] * len(ports)
    if bus.obstacles:
        fault = _OBSTACLE.format(name=medium.name, obstacle=bus.obstacles[0])
        return [Access(fault=fault)] * len(ports)
    # A node that sends nothing has an opportunity that nobody uses.
    senders = replace(bus, nodes=tuple([node for node in bus.nodes if node.longest_bits]))
    number = {of.node: port for of, port in zip(medium.stations, ports, strict=True)}
    return [_access(medium, senders, of, number) for of in medium.stations]


def _octets_at(network: Network, ports: range) -> list[tuple[int, int]]:
    """Return the shortest and the longest frame that leaves each port; 0 without any."""
    rows = network.rows
    found: dict[int, list[int]] = {port: [] for port in ports}
    for server, cost in zip(rows.server, rows.cost, strict=True):
        if server in found:
            ends = (cost.work.min(), cost.work.max())
            found[server] += [_octets(network.timings[server], float(one)) for one in ends]
    return [(min(of, default=0), max(of, default=0)) for of in found.values()]


def _octets(timing: Timing, work_ps: float) -> int:
    """Return the octets of a frame from the time that it takes."""
    return int((work_ps - timing.work_ps(0)) / timing.ps_per_octet + 0.5)


def _access(medium: Medium, bus: Bus, of: Stations, number: Mapping[str, int]) -> Access:
    """Return the access of the port of a station; `number`: of the ports, by node."""
    node = next((node for node in bus.nodes if node.group == of.node), None)
    if node is None:
        return Access()  # it sends nothing
    access_ps = bus.access_delay_ps(node)
    others = [other.points[0] for other in medium.stations if other is not of]
    ways = [medium.delay_ps[of.points[0]][point] for point in others]
    latency_ps = bus.plca.transmit_ps + bus.plca.carrier_on_ps
    turn = Turn(
        idle=bus.idle_ps(node),
        passing=bus.passing_ps(node),
        gap=bus.plca.csma_cd.gap_bits * bus.bit_ps,
        overhead=bus.overhead_ps(node),
        frames=bus.frames_per_access(node),
        others={number[name]: frames for name, frames in bus.frames_of_others(node).items()},
    )
    return Access(access_ps, (max(ways) + latency_ps, min(ways) + latency_ps), turn)
