"""Columns: the tables of a trial and of a run, by what they hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

import numpy as np

from ethermeter.counts import (
    ClassCounts,
    Column,
    FlowBatch,
    FlowCounts,
    MediumCounts,
    PortCounts,
    StationBatches,
    StationCounts,
    counters_of,
)
from ethermeter.metrics import Group, Metric
from ethermeter.metrics.formulas import READ_DELAY, SYNCHRONISED_DELAY
from ethermeter.nodes import clocks_of, has_classes, is_segment
from ethermeter.scenario import Scenario
from ethermeter.station_groups import has_plca, has_voice
from ethermeter.trial import LIVE, SIMULATION, THEORY, Trial

STATIONS, MEDIA, FLOWS = "stations", "media", "flows"
STATION_BATCHES, FLOW_BATCHES = "station-batches", "flow-batches"
HISTOGRAMS, PORTS, PORT_CLASSES = "histograms", "ports", "port-classes"
VALUES, FACTS = "values", "facts"
NOT_COUNTED = -1
"""Stands for a whole number that was not counted; of other numbers NaN does."""
CAUTION = "caution"
"""Column of the cautions of all values of an entity; others that begin so are those of some."""
REST = "_rest"
"""Ends the name of what is to be added to a sum that was rounded, so that it is exact."""
TIMES: Mapping[str, tuple[str, bool]] = {
    "transmission_delay": ("transmission_delay", False),
    "access_delay": ("access_delay", False),
    "response_time": ("response_time", False),
    "voice_delay": ("voice.voice_delay", False),
    "sample_delay": ("voice.sample_delay", False),
    "one_way_delay": ("one_way", False),
    "round_trip": ("round_trip", False),
    "inter_arrival": ("between_arrivals", False),
    "clock_delay": (READ_DELAY, True),
    "synchronised_delay": (SYNCHRONISED_DELAY, True),
    "attempt_delay": ("attempt_delay", False),
    "cycle_time": ("cycle_time", False),
}
"""Times that have histograms: what slices call them, and whether they are readings of clocks."""
TIME_CODES = {name: at for at, name in enumerate(TIMES)}
ColumnKind = Literal["whole", "float", "number", "cautions", "time", "metric"]
"""Kinds of columns: counts, others, numbers of entities, and codes."""
OF_NODES = "plca.nodes."
OF_LIVE = ("caution.spacing", "caution.window", "caution.clocks", "caution.exchanges")
"""Cautions of measured values that depend on the metric; see `ethermeter.metrics.concerns`."""
OPTIONAL = ("voice.", "plca.", "transfer.", "clocks.clock.", "clocks.synchronised.", *OF_LIVE)
"""Columns that only some runs have, by the beginning of their names."""
OF_QUEUES = "caution.queues"
"""Cautions of stations that hold for what is not of coders, nor of PLCA."""


@dataclass(frozen=True, slots=True)
class TableOf:
    """A table: the column that numbers the rows of a trial, if any, and the others in order."""

    entity: str
    columns: Mapping[str, ColumnKind]
    has_batches: bool = False


def _counted(kind: type, leave: Sequence[str] = ()) -> dict[str, ColumnKind]:
    found: dict[str, ColumnKind] = {}
    for name, counter in counters_of(kind).items():
        if name.startswith(tuple(leave)):
            continue
        found[name] = "float" if counter.is_float else "whole"
    return found


def _stations() -> dict[str, ColumnKind]:
    found: dict[str, ColumnKind] = {CAUTION: "cautions", OF_QUEUES: "cautions"}
    for name, column in _counted(StationCounts).items():
        found[name] = column
        if name == "delay_ps2":
            found[name + REST] = "number"
    of_nodes = _counted(MediumCounts)
    return found | {name: entry for name, entry in of_nodes.items() if name.startswith(OF_NODES)}


TABLES: Mapping[str, TableOf] = {
    STATIONS: TableOf("station", _stations()),
    MEDIA: TableOf("medium", _counted(MediumCounts, [OF_NODES])),
    FLOWS: TableOf(
        "flow",
        {CAUTION: "cautions", **dict.fromkeys(OF_LIVE, "cautions"), **_counted(FlowCounts)},
    ),
    STATION_BATCHES: TableOf("station", _counted(StationBatches), has_batches=True),
    FLOW_BATCHES: TableOf("flow", _counted(FlowBatch), has_batches=True),
    HISTOGRAMS: TableOf(
        "",
        {
            "time": "time",
            "entity": "number",
            **dict.fromkeys(("low_ps", "high_ps", "count"), "number"),
        },
    ),
    PORTS: TableOf("port", _counted(PortCounts)),
    PORT_CLASSES: TableOf(
        "",
        {
            "port": "number",
            "class": "number",
            **{
                entry.name: "whole"
                for entry in fields(ClassCounts)
                if entry.name not in ("port", "number")
            },
        },
    ),
    VALUES: TableOf(
        "", {"entity": "number", "metric": "metric", "value": "float", CAUTION: "cautions"}
    ),
}
"""The tables of a trial, but that of its facts."""
DTYPES: Mapping[ColumnKind, Any] = {
    "whole": np.int64,
    "float": np.float64,
    "number": np.int64,
    "cautions": np.uint64,
    "time": np.uint8,
    "metric": np.int16,
}
Columns = Mapping[str, Column]
METRIC_CODES = {metric: at for at, metric in enumerate(Metric)}


def groups_of(scenario: Scenario, engine: str) -> tuple[Group, ...]:
    """Return the groups of metrics that the trials of a scenario have, by engine.

    A measured trial has none of clocks, for real hosts have their own; a theory of a network none
    of voice either.
    """
    voice = has_voice(scenario)
    if is_segment(scenario):
        of_segment = [Group.SEGMENT, *[Group.SEGMENT_VOICE] * voice]
        return (*of_segment, *[Group.PLCA] * has_plca(scenario))
    if engine.startswith(THEORY):
        return (Group.FLOW,)
    clocks = 0 if engine == LIVE else clocks_of(scenario)
    return (
        *(Group.FLOW, *[Group.FLOW_VOICE] * voice),
        *(Group.CLOCK, Group.SYNCHRONISED)[:clocks],
    )


def tables_of(trial: Trial) -> set[str]:
    """Return the tables that a trial may have rows in, and the beginnings of optional columns."""
    scenario = trial.scenario
    if trial.engine.startswith(THEORY):
        found = {VALUES, FACTS}
        if not is_segment(scenario):
            found |= {PORTS, *([PORT_CLASSES] if has_classes(scenario) else [])}
        return found
    voice = {"voice."} if has_voice(scenario) else set()
    if is_segment(scenario):
        plca = {"plca."} if has_plca(scenario) else set()
        facts = set() if trial.engine in (SIMULATION, LIVE) else {FACTS}
        return {STATIONS, MEDIA, STATION_BATCHES, HISTOGRAMS, *voice, *plca, *facts}
    found = {FLOWS, FLOW_BATCHES, HISTOGRAMS, PORTS, *voice}
    if has_classes(scenario):
        found.add(PORT_CLASSES)
    if trial.engine == LIVE:
        return found | {"transfer.", *OF_LIVE}
    if any(flow.transfer is not None for flow in scenario.flows):
        found.add("transfer.")
    return found | set(("clocks.clock.", "clocks.synchronised.")[: clocks_of(scenario)])


@cache
def columns_in(table: str, optional: frozenset[str]) -> tuple[str, ...]:
    """Return the columns that a table has in a run with some optional ones, in order."""
    left_out = tuple(entry for entry in OPTIONAL if entry not in optional)
    return tuple(name for name in TABLES[table].columns if not name.startswith(left_out))
