"""Ports: what was counted at the ends of a network's links, point by point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.analysis.estimates import grouped, summarised
from ethermeter.analysis.interval import Estimate, Floats
from ethermeter.analysis.tables import PS_PER_S, Trial, codes

if TYPE_CHECKING:
    import pyarrow as pa

COUNTS = ("dropped", "buffer_dropped", "pauses_sent", "pauses_received", "collisions", "late_collisions")
"""What is counted in the window, beside frames and octets; means over the replications."""
MOST = ("queue_most", "buffer_most")
"""Largest values, over the replications too."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port: the node that sends there and the one that receives, and what it did; `share` is the part of its time in which it sent."""

    number: int
    node: str
    peer: str
    share: Estimate
    frame_rate: float  # 1/s
    bit_rate: float  # bit/s, destination address to FCS
    counts: dict[str, float]

    @property
    def link(self) -> int:
        """Number of its link."""
        return self.number // 2


@dataclass(frozen=True, slots=True)
class PortPoint:
    """The ports of a network at one point of the experiment; `first` is the place of the point's first trial in the plan."""

    series: str
    point: dict[str, str]
    engine: str
    first: int
    ports: tuple[Port, ...]

    @property
    def busiest(self) -> Port:
        """The port that sent for most of its time; the first of several."""
        return max(self.ports, key=lambda port: port.share.value)


def estimate(trials: Sequence[Trial], ports: "pa.Table") -> tuple[PortPoint, ...]:
    """Estimate what the ports did at every point whose trials were simulated networks, in the order of the plan.

    Parameters
    ----------
    trials
        The plan, in its order.
    ports
        Arrow table as `docs/formats.md` has it.

    Returns
    -------
    :
        Shares have intervals over three replications or more, by the rule of `ethermeter.analysis.estimates`.
    """
    groups, firsts, replications = grouped(trials)
    trial, _ = codes(ports["trial"], [trial.id for trial in trials])
    number = ports["port"].to_numpy().astype(np.int64)
    columns = {name: ports[name].to_numpy().astype(np.float64) for name in ports.column_names if name not in ("trial", "port")}
    of = np.where(trial >= 0, groups[trial], -1)
    found = []
    for group, first in enumerate(firsts):
        rows = np.nonzero(of == group)[0]
        if rows.size:
            mine = {name: values[rows] for name, values in columns.items()}
            made = tuple(_ports(trials[first], mine, number[rows], replications[group]))
            example = trials[first]
            found.append(PortPoint(example.series, dict(example.point), example.engine, first, made))
    return tuple(found)


def _ports(
    trial: Trial, columns: dict[str, Floats], number: "np.ndarray[tuple[int], np.dtype[np.int64]]", replications: int
) -> Iterator[Port]:
    phases, links = trial.scenario["phases"], trial.scenario["network"]["links"]
    window_ps = phases["measure_to_ps"] - phases["measure_from_ps"]
    window_s = window_ps / PS_PER_S
    counts = [replications] * (2 * len(links))
    shares = summarised(columns["busy_ps"] / window_ps, number, counts, within=None)
    for port in range(2 * len(links)):
        mine = number == port
        ends = [end["node"] for end in links[port // 2]["ends"]]

        def mean(name: str, mine: "np.ndarray[tuple[int], np.dtype[np.bool_]]" = mine) -> float:
            return float(columns[name][mine].mean())

        yield Port(
            number=port,
            node=ends[port % 2],
            peer=ends[1 - port % 2],
            share=Estimate(*shares[port]),
            frame_rate=mean("frames") / window_s,
            bit_rate=8 * mean("octets") / window_s,
            counts={**{name: mean(name) for name in COUNTS}, **{name: float(columns[name][mine].max()) for name in MOST}},
        )
