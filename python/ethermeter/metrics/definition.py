"""Definitions: what a metric means in the trials of a group, and how it is shown."""

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import partialmethod

from ethermeter.counts import Floats
from ethermeter.metrics.station_formulas import Formula, StationSums


@dataclass(frozen=True, slots=True)
class Label:
    """Title, unit shown and factor from the SI unit, axis from zero or not, largest value.

    `decimals`: how many are shown of every value; None for as many as its interval leaves.
    """

    title: str
    unit: str = ""
    factor: float = 1.0
    from_zero: bool = True
    most: float = math.inf
    decimals: int | None = None

    @property
    def axis(self) -> str:
        """Title, short enough for an axis, with its unit."""
        short = self.title.replace("Standard deviation", "SD")
        return f"{short} ({self.unit})" if self.unit else short


class Group(Enum):
    """Metrics that a trial has together: in which trials, of which entity, by which engines."""

    SEGMENT = ("every trial of a segment", "station", "simulation, theory")
    SEGMENT_VOICE = ("a segment on which some station has a coder", "station", "simulation")
    PLCA = ("a segment of 10BASE-T1S", "station", "simulation, theory")
    FLOW = ("every trial of a network", "flow", "simulation, live, theory")
    FLOW_VOICE = ("a network in which some flow has a coder", "flow", "simulation, live")
    CLOCK = ("a simulated network whose hosts have clocks", "flow", "simulation")
    SYNCHRONISED = ("a simulated network whose hosts synchronise clocks", "flow", "simulation")
    PEER = ("a measurement of a host without an experiment", "flow", "none")

    def __init__(self, trials: str, entity: str, engines: str) -> None:
        """Make a member from its row."""
        self.trials = trials
        self.entity = entity
        self.engines = engines


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric means in the trials of a group.

    Parameters
    ----------
    group
        The trials that have it.
    meaning
        What it counts or measures.
    is_of_each
        Whether it has a row of every station or flow, besides that of all together.
    formula
        Of stations on a medium; None of what is read from histograms, and of other entities.
    is_estimate
        Whether it is estimated from frames, so that few of them make it doubtful. Counts, shares of
        channel time and parameters are not.

    """

    group: Group
    meaning: str
    is_of_each: bool = True
    formula: Formula | None = None
    is_estimate: bool = True

    def of_all(self, sums: StationSums, with_total: StationSums) -> Floats:
        """Return the value of all stations together, from their sums without and with the total."""
        assert self.formula is not None, "a metric by formula"
        return self.formula(with_total)[..., -1] if self.is_of_each else self.formula(sums)


Scale = tuple[str, str, float]
"""SI unit (empty for a ratio or a count), unit shown, and factor from the one to the other."""
_NUMBER: Scale = ("", "", 1.0)


@dataclass(frozen=True, slots=True)
class Row:
    """Name, title, scale, axis from zero or not, largest value shown, decimals, and definitions.

    The first definition is that of segments, if it has one.
    """

    name: str
    title: str
    scale: Scale = _NUMBER
    from_zero: bool = True
    most: float = math.inf
    decimals: int | None = None
    definitions: tuple[Definition, ...] = ()

    def _defined(
        self,
        meaning: str,
        formula: Formula | None = None,
        *,
        group: Group,
        is_of_each: bool = True,
        is_exact: bool = False,
    ) -> "Row":
        """Add a definition; see `Definition`."""
        added = Definition(group, meaning, is_of_each, formula, not is_exact)
        return replace(self, definitions=(*self.definitions, added))

    segment = partialmethod(_defined, group=Group.SEGMENT, is_of_each=False)
    station = partialmethod(_defined, group=Group.SEGMENT)
    segment_voice = partialmethod(_defined, group=Group.SEGMENT_VOICE, is_of_each=False)
    voice = partialmethod(_defined, group=Group.SEGMENT_VOICE)
    bus = partialmethod(_defined, group=Group.PLCA, is_of_each=False)
    node = partialmethod(_defined, group=Group.PLCA)
    flow = partialmethod(_defined, group=Group.FLOW)
    flow_voice = partialmethod(_defined, group=Group.FLOW_VOICE)
    clock = partialmethod(_defined, group=Group.CLOCK)
    synchronised = partialmethod(_defined, group=Group.SYNCHRONISED)
    peer = partialmethod(_defined, group=Group.PEER)
