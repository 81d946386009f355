"""Ports at shared segments: with PLCA every frame gets a turn, so that its access has a bound.

A port on a bus serves a frame within the longest access delay and the frame itself, counted from
the end of the frame before it; so that its service curve is that of a wire whose frames are as much
longer. CSMA/CD has no bound.
"""

from dataclasses import replace

from ethermeter.scenario import Medium
from ethermeter.theory.bounds.network import Network
from ethermeter.theory.bounds.stages import Access, Timing
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
    port = 2 * len(network.scenario.links)
    found: dict[int, Access] = {}
    for medium in network.scenario.media:
        ports = range(port, port + 2 * len(medium.stations), 2)
        found.update(zip(ports, _accesses(network, medium, ports), strict=True))
        port = ports.stop
    return found


def _accesses(network: Network, medium: Medium, ports: range) -> list[Access]:
    octets = [_octets_at(network, port) for port in ports]
    members = [
        Member(stations.node, stations, shortest_bits=8 * least, longest_bits=8 * most)
        for stations, (least, most) in zip(medium.stations, octets, strict=True)
    ]
    bus = bus_with(medium, members)
    if bus is None:
        return [Access(fault=_CSMA_CD.format(name=medium.name))] * len(ports)
    if bus.obstacles:
        fault = _OBSTACLE.format(name=medium.name, obstacle=bus.obstacles[0])
        return [Access(fault=fault)] * len(ports)
    # A node that sends nothing has an opportunity that nobody uses.
    senders = replace(bus, nodes=tuple([node for node in bus.nodes if node.longest_bits]))
    return [_access(network, medium, senders, station, port) for station, port in enumerate(ports)]


def _octets_at(network: Network, port: int) -> tuple[int, int]:
    """Return the shortest and the longest frame that leaves a port; 0 without any."""
    timing, rows = network.timings[port], network.rows
    works = [work for server, work in zip(rows.server, rows.work, strict=True) if server == port]
    found = [_octets(timing, float(one)) for work in works for one in (work.min(), work.max())]
    return min(found, default=0), max(found, default=0)


def _octets(timing: Timing, work_ps: float) -> int:
    """Return the octets of a frame from the time that it takes."""
    return int((work_ps - timing.work_ps(0)) / timing.ps_per_octet + 0.5)


def _access(network: Network, medium: Medium, bus: Bus, station: int, port: int) -> Access:
    of = medium.stations[station]
    node = next((node for node in bus.nodes if node.group == of.node), None)
    if node is None:
        return Access()  # it sends nothing
    access_ps = bus.access_delay_ps(node)
    others = [other.points[0] for other in medium.stations if other is not of]
    ways = [medium.delay_ps[of.points[0]][point] for point in others]
    latency_ps = bus.plca.transmit_ps + bus.plca.carrier_on_ps
    shortest_ps = network.timings[port].service_ps(node.shortest_bits // 8)
    between_ps = shortest_ps + bus.plca.csma_cd.gap_bits * bus.bit_ps
    return Access(
        access_ps=access_ps,
        delays_ps=(max(ways) + latency_ps, min(ways) + latency_ps),
        line_rate=(access_ps + shortest_ps) / between_ps,
    )
