"""Rooms of a network: where frames may be lost, and where room that is limited cannot be full.

Room that holds the largest backlog by network calculus is no limit.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ethermeter.nodes import room_of
from ethermeter.scenario import Flow, Host, Link, Switch
from ethermeter.theory.bounds import Bounds, bounds_of
from ethermeter.theory.bounds.network import Network
from ethermeter.theory.queueing.sources import Source, source_of


class Rooms:
    """The rooms of ports, stages, receive buffers and sources of a network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._flows_of = Counter(flow.from_ for flow in network.scenario.flows)
        self._found: Bounds | None = None

    def source_of(self, flow: Flow, link: Link) -> Source | str:
        """Return what a flow offers by its host's link, or why it has no open source."""
        source = source_of(flow, link)
        if isinstance(source, str) or flow.queue_frames is None:
            return source
        # Alone at its host, regular messages that leave before the next one comes never wait.
        longest = max(
            sum(octets + link.preamble_octets + link.gap_octets for octets in message)
            for message in source.messages
        )
        is_alone = self._flows_of[flow.from_] == 1
        is_in_time = source.scv == 0 and source.rate * longest * link.ps_per_octet <= 1
        has_stages = bool(self._network.host(self._network.number[flow.from_]).send)
        if is_alone and is_in_time and not has_stages:
            return source
        return replace(source, room=flow.queue_frames)

    def of_stage(self, server: int) -> str | None:
        """Return why a stage may lose frames, if it has limited room."""
        if server not in self._network.stage_rooms:
            return None
        return "its room is limited, and stages have no model"

    def of_port(self, server: int, level: int) -> tuple[int | None, int | None]:
        """Return the room of a class at a port that may be full, in frames and octets."""
        network = self._network
        if server >= len(network.owner):
            return None, None
        frames, octets = room_of(network.kinds[network.owner[server]], level)
        if (frames, octets) == (None, None):
            return None, None
        bound = self._bounds().ports[server].classes[level]
        if bound is None:
            return frames, octets
        return (
            None if frames is None or bound.held_frames <= frames else frames,
            None if octets is None or bound.held_octets <= octets else octets,
        )

    def full_buffer(self, servers: Iterable[int]) -> str | None:
        """Return which receive buffer behind some wires may be full, if one may."""
        network = self._network
        for port in sorted(at for at in servers if at < len(network.owner)):
            node = network.owner[port ^ 1]
            kind = network.kinds[node]
            buffer = kind.buffer if isinstance(kind, Host | Switch) else None
            if buffer is None or (isinstance(kind, Host) and not kind.receive):
                continue
            held = [self._bounds().ports[out].total for out in network.ports[node]]
            most = sum(math.inf if one is None else one.held_octets for one in held)
            if isinstance(kind, Host) or most > buffer.octets:
                name = network.nodes[node].name
                return f"the receive buffer of {name} may be full, and its loss has no model"
        return None

    def _bounds(self) -> Bounds:
        """Return what queues hold at most; found once, where some room is limited."""
        if self._found is None:
            self._found = bounds_of(self._network.scenario, budget_s=0)
        return self._found
