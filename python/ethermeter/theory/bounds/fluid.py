"""Networks of FIFO servers and fluid flows: the model of the literature, without packets.

Any consistent units of data and time. A delay is that of a bit, from the source to the end of its
path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.theory.bounds.curves import time_to_serve
from ethermeter.theory.bounds.plp import Forest, TreeFlow, TreeServer, tree_delay
from ethermeter.theory.bounds.tfa import Analysis, Server, Visits, analyse


@dataclass(frozen=True, slots=True)
class FluidServer:
    """A FIFO server.

    `service`: (rate, latency) of its service curve, the largest of rate · (t − latency)⁺.
    `line_rate`: rate at which it sends at most; None without a limit.
    """

    name: str
    service: tuple[tuple[float, float], ...]
    line_rate: float | None = None


@dataclass(frozen=True, slots=True)
class FluidFlow:
    """A flow: (rate, burst) of one or two token buckets, and the servers of its path in order."""

    name: str
    buckets: tuple[tuple[float, float], ...]
    path: tuple[int, ...]


def total_flow_delays(servers: Sequence[FluidServer], flows: Sequence[FluidFlow]) -> list[float]:
    """Return the bound of each flow's delay by total-flow analysis; infinite if there is none.

    The line of each server but a flow's first limits all that comes from the server before.

    Source
    ------
    As `ethermeter.theory.bounds.tfa`.

    """
    visits = _visits(flows)
    hop = _analysed(servers, visits).hop
    return [float(hop[visits.flow == flow].sum()) for flow in range(len(flows))]


def _analysed(servers: Sequence[FluidServer], visits: Visits) -> Analysis:
    return analyse(
        tuple(
            Server(server.name, service=time_to_serve(server.service), line_rate=server.line_rate)
            for server in servers
        ),
        visits,
    )


def _visits(flows: Sequence[FluidFlow]) -> Visits:
    """Return the visits of fluid flows: frames of no length, all of a delay is jitter."""
    flow: list[int] = []
    server: list[int] = []
    parent: list[int] = []
    rates: list[tuple[float, float]] = []
    bursts: list[tuple[float, float]] = []
    for number, one in enumerate(flows):
        fast, slow = sorted(one.buckets, reverse=True)[0], sorted(one.buckets)[0]
        for hop, at in enumerate(one.path):
            parent.append(len(flow) - 1 if hop else -1)
            flow.append(number)
            server.append(at)
            rates.append((fast[0], slow[0]))
            bursts.append((fast[1], slow[1]))
    count = len(flow)
    zeros, ones = np.zeros(count), np.ones(count)
    parents = np.array(parent, dtype=np.int64)
    return Visits(
        flow=np.array(flow, dtype=np.int64),
        emission=np.array(flow, dtype=np.int64),
        server=np.array(server, dtype=np.int64),
        level=np.zeros(count, dtype=np.int64),
        parent=parents,
        feeder=parents,
        rates=np.array(rates),
        bursts=np.array(bursts),
        shortest=zeros,
        longest=zeros,
        message=zeros,
        tail=zeros,
        least=zeros,
        wait=zeros,
        ratio=ones,
        is_single=np.zeros(count, dtype=bool),
        is_alternate=np.zeros(count, dtype=bool),
        is_counted=np.zeros(count, dtype=bool),
        frames=ones,
        span=ones,
        work=tuple(np.ones(1) for _ in range(count)),
        line=tuple(np.ones(1) for _ in range(count)),
    )


def tree_delays(servers: Sequence[FluidServer], flows: Sequence[FluidFlow]) -> list[float]:
    """Return the bound of each flow's delay by the linear program of PLP; infinite if none.

    Each is at most that of total-flow analysis, of which the program has the delays of servers.

    Source
    ------
    As `ethermeter.theory.bounds.plp`.

    """
    visits = _visits(flows)
    hop = _analysed(servers, visits).hop
    delays = np.full(len(servers), np.inf)
    delays[visits.server] = hop
    trees = [
        TreeServer(server.service, server.line_rate, 0.0, 0.0, float(delay), 0.0)
        for server, delay in zip(servers, delays, strict=True)
    ]
    paths = [
        TreeFlow(
            one.buckets,
            one.path,
            (1.0,) * len(one.path),
            tuple(float(delays[list(one.path[:at])].sum()) for at in range(len(one.path))),
        )
        for one in flows
    ]
    forest = Forest(paths)
    found = []
    for one in flows:
        largest = float(delays[list(one.path)].sum())
        tight = tree_delay(trees, forest, one.path) if np.isfinite(largest) else None
        found.append(largest if tight is None else min(largest, tight))
    return found
