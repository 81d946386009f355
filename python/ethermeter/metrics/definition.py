"""Definitions: what a metric means of a kind of entity, its formula, and how it is shown."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partialmethod

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats
from ethermeter.entities import Entity
from ethermeter.metrics.cautions import Caution
from ethermeter.metrics.formulas import READ_DELAY, SYNCHRONISED_DELAY, Formula
from ethermeter.metrics.slices import Slice


@dataclass(frozen=True, slots=True)
class Label:
    """Title, unit shown and factor from the SI unit, axis from zero or not, largest value.

    `decimals`: how many are shown of every value; None for as many as its interval leaves.
    `least`: smallest value there can be. It and `most` are in the unit shown.
    """

    title: str
    unit: str = ""
    factor: float = 1.0
    from_zero: bool = True
    most: float = math.inf
    decimals: int | None = None
    least: float = -math.inf

    @property
    def axis(self) -> str:
        """Title, short enough for an axis, with its unit."""
        short = self.title.replace("Standard deviation", "SD")
        return f"{short} ({self.unit})" if self.unit else short


class EntityKind(Enum):
    """What metrics are of: a kind of entity, in which trials, by which engines.

    `samples` is the counter of what their values are estimated from, `members` the parameter of the
    entities that have them; empty if all have.
    """

    STATION = ("every trial with a shared medium", "station", "simulation, theory", "frames")
    TALKER = (
        "trials in which a station with a coder sends onto its medium",
        "station",
        "simulation",
        "talk_frames",
    )
    CALLER = (
        "trials in which a station sends onto its medium in calls only",
        "station",
        "simulation",
        "calls.offered",
        "has_calls",
    )
    GENERATOR = (
        "trials in which a station that sends onto its medium has a generator",
        "station",
        "simulation",
        "frames",
    )
    BUS = ("every trial with a bus of 10BASE-T1S", "station", "simulation, theory", "frames")
    FLOW = (
        "every trial of flows with receivers",
        "flow",
        "simulation, live, theory",
        "messages",
    )
    CALL = (
        "trials in which a flow with receivers has a coder",
        "flow",
        "simulation, live",
        "voice.voice_delay.count",
        "talks",
    )
    DUE_STATION = (
        "trials in which a station that sends onto its medium has a deadline",
        "station",
        "simulation",
        "frames_due",
        "is_due",
    )
    DUE = (
        "trials in which a flow with receivers has a deadline",
        "flow",
        "simulation, live, theory",
        "messages_due",
        "is_due",
    )
    CLOCK = (
        "simulated trials of flows between hosts with clocks",
        "flow",
        "simulation",
        f"{READ_DELAY}.count",
    )
    SYNCHRONISED = (
        "simulated trials of flows between hosts that synchronise clocks",
        "flow",
        "simulation",
        f"{SYNCHRONISED_DELAY}.count",
    )
    PEER = ("a measurement of a host without an experiment", "flow", "none", "")

    def __init__(
        self, trials: str, entity: Entity, engines: str, samples: str, members: str = ""
    ) -> None:
        """Make a member from its row."""
        self.trials = trials
        self.entity = entity
        self.engines = engines
        self.samples = samples
        self.members = members


Doubt = tuple[Caution, Callable[[Slice, Floats], npt.NDArray[np.bool_]]]
"""A caution, and of which entities it holds, by the slice and their values."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric means of a kind of entity.

    Parameters
    ----------
    kind
        What has it.
    meaning
        What it counts or measures.
    formula
        Of what engines count; None of what only other programs say.
    samples
        Counter of what it is estimated from: few of them make it doubtful. None of counts, shares
        of channel time and parameters.
    doubt
        A further caution.

    """

    kind: EntityKind
    meaning: str
    formula: Formula | None
    samples: str | None
    doubt: Doubt | None = None

    @property
    def is_of_each(self) -> bool:
        """Whether each station or flow has it, besides all together."""
        return self.formula is None or self.formula.each is not None

    @property
    def is_estimate(self) -> bool:
        """Whether it is estimated from samples."""
        return self.samples is not None


Scale = tuple[str, str, float]
"""SI unit (empty for a ratio or a count), unit shown, and factor from the one to the other."""
_NUMBER: Scale = ("", "", 1.0)


@dataclass(frozen=True, slots=True)
class Row:
    """Name, title, scale, axis from zero or not, largest value shown, decimals, and definitions.

    The first definition is that of stations, if it has one. `is_signed` if values may be below
    zero.
    """

    name: str
    title: str
    scale: Scale = _NUMBER
    from_zero: bool = True
    most: float = math.inf
    decimals: int | None = None
    definitions: tuple[Definition, ...] = ()
    is_signed: bool = False

    def _defined(
        self,
        meaning: str,
        formula: Formula | None = None,
        *,
        kind: EntityKind,
        samples: str | None = None,
        is_exact: bool = False,
        doubt: Doubt | None = None,
    ) -> "Row":
        """Add a definition; see `Definition`. Its samples are those of the kind unless given."""
        counter = None if is_exact else samples or kind.samples
        added = Definition(kind, meaning, formula, counter, doubt)
        return replace(self, definitions=(*self.definitions, added))

    station = partialmethod(_defined, kind=EntityKind.STATION)
    voice = partialmethod(_defined, kind=EntityKind.TALKER)
    caller = partialmethod(_defined, kind=EntityKind.CALLER)
    generator = partialmethod(_defined, kind=EntityKind.GENERATOR)
    bus = partialmethod(_defined, kind=EntityKind.BUS)
    flow = partialmethod(_defined, kind=EntityKind.FLOW)
    flow_voice = partialmethod(_defined, kind=EntityKind.CALL)
    due_station = partialmethod(_defined, kind=EntityKind.DUE_STATION)
    due = partialmethod(_defined, kind=EntityKind.DUE)
    clock = partialmethod(_defined, kind=EntityKind.CLOCK)
    synchronised = partialmethod(_defined, kind=EntityKind.SYNCHRONISED)
    peer = partialmethod(_defined, kind=EntityKind.PEER)
