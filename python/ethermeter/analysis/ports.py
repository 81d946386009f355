"""Ports: what was counted at the ends of a network's links, point by point."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.metrics.formulas import floats
from ethermeter.nodes import links_in, wires_of
from ethermeter.results.estimates import grouped, summarised
from ethermeter.results.interval import Estimate, Floats
from ethermeter.results.slices import Source
from ethermeter.results.trials import PS_PER_S, Trial
from ethermeter.scenario import Scenario
from ethermeter.store.columns import PORTS

COUNTS = (
    "dropped",
    "buffer_dropped",
    "pauses_sent",
    "pauses_received",
    "collisions",
    "late_collisions",
    *("used", "yielded", "missed", "logical_collisions", "beacons_lost", "status_changes"),
)
"""What is counted in the window, beside frames and octets; means over the replications."""
MOST = ("queue_most", "queue_octets_most", "buffer_most")
"""Largest values, over the replications too."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port: the node that sends there and the one that receives, and what it did.

    A port is busy while it sends, preamble included, and for the gap after each frame, so that one
    that sends all the time is busy for 1.
    """

    # number, node, peer: 2l and 2l + 1 are the ends of link l; which node it is of, and which is at
    # the other end
    number: int
    node: str
    peer: str
    share: Estimate  # Part of its time that it was busy
    # Part of the time that its medium was busy: the same, but on half-duplex links all ports of the
    # collision domain together, without the time that collisions took
    medium: Estimate
    # frame_rate, bit_rate: Frames per second, and their bits per second, destination address to FCS
    frame_rate: float
    bit_rate: float
    counts: Mapping[str, float]  # By the words of `COUNTS` and `MOST`
    # access_s, access_most_s: Mean and longest time from the head of the queue to the first bit, at
    # shared segments; NaN elsewhere and without frames
    access_s: float = math.nan
    access_most_s: float = math.nan

    @property
    def link(self) -> int:
        """Number of its link."""
        return self.number // 2


@dataclass(frozen=True, slots=True)
class PortPoint:
    """The ports of a network at one point of the experiment.

    `first` is the index of the point's first trial in the plan.
    """

    series: str
    point: dict[str, str]
    engine: str
    first: int
    ports: tuple[Port, ...]

    @property
    def busiest(self) -> Port:
        """The first port with the busiest medium; on a shared medium, the one that sent most."""
        return max(self.ports, key=lambda port: (port.medium.value, port.share.value))


def estimate(trials: Sequence[Trial], source: Source) -> tuple[PortPoint, ...]:
    """Estimate what the ports did at every point of networks, in the order of the plan.

    Of a measurement these are the ports at emulated media, and none without them.

    Shares have intervals over three replications or more, by the rule of
    `ethermeter.results.estimates`.
    """
    groups, firsts, _ = grouped(trials)
    table = source.gathered(PORTS, [trial.id for trial in trials])
    found = []
    for group, first in enumerate(firsts):
        members = np.flatnonzero(groups == group)
        of_trial, rows = trials[first], int(table.rows[first])
        if not rows:
            continue
        columns = {name: floats(of) for name, of in table.alike(members, rows).items()}
        if made := tuple(_ports(of_trial.scenario, columns)):
            point = dict(of_trial.point)
            found.append(PortPoint(of_trial.series, point, of_trial.engine, first, made))
    return tuple(found)


def _ports(scenario: Scenario, columns: Mapping[str, Floats]) -> Iterator[Port]:
    """Estimate every port from its figures, arrays of shape `(replications, ports)`."""
    phases, links = scenario.phases, links_in(scenario)
    window_ps = phases.measure_to_ps - phases.measure_from_ps
    window_s = window_ps / PS_PER_S
    gap_ps = np.repeat([float(link.gap_octets * link.ps_per_octet) for link in links], 2)
    busy = (columns["busy_ps"] + columns["frames"] * gap_ps) / window_ps
    media = wires_of(scenario)
    known = np.nan_to_num(busy)
    together = np.array([np.bincount(media, weights=of_trial) for of_trial in known])[:, media]
    shares, mediums = _estimates(known), _estimates(together)
    for port in range(2 * len(links)):
        if np.isnan(columns["frames"][:, port]).any():
            continue  # a measurement counts at shared media only
        ends = [end.node for end in links[port // 2].ends]
        if port % 2 and port >= 2 * len(scenario.links):
            continue  # a segment's end of what joins a node to it: it sends nothing
        means = {name: float(values[:, port].mean()) for name, values in columns.items()}
        has_access = port >= 2 * len(scenario.links) and means["frames"] > 0
        yield Port(
            number=port,
            node=ends[port % 2],
            peer=ends[1 - port % 2],
            share=shares[port],
            medium=mediums[port],
            frame_rate=means["frames"] / window_s,
            bit_rate=8 * means["octets"] / window_s,
            counts={
                # Runs of older versions did not count all of them.
                **{name: means[name] for name in COUNTS if name in columns},
                **{name: float(columns[name][:, port].max()) for name in MOST if name in columns},
            },
            access_s=means["access_ps"] / means["frames"] / PS_PER_S if has_access else math.nan,
            access_most_s=(
                float(columns["access_most_ps"][:, port].max()) / PS_PER_S
                if has_access
                else math.nan
            ),
        )


def _estimates(values: Floats) -> list[Estimate]:
    """Estimate each column, at most 1.

    Frames are counted at their end, so a window may hold a gap more than its share.
    """
    trials, ports = values.shape
    groups = np.tile(np.arange(ports, dtype=np.int64), trials)
    return summarised(np.minimum(values, 1.0).ravel(), groups, [trials] * ports, within=None)
