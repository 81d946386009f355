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
from ethermeter.entities import Entity, is_bus, is_voice, receiver_flows, senders
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.metrics.formulas import READ_DELAY, SYNCHRONISED_DELAY
from ethermeter.nodes import clocks_of, has_classes
from ethermeter.scenario import Scenario
from ethermeter.theory.assumptions import NETWORK_MODELS
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
    "responder_round_trip": ("responder_round_trip", False),
}
"""Times that have histograms: what slices call them, and whether they are readings of clocks."""
OF_MEDIA = (
    *("transmission_delay", "access_delay", "response_time", "attempt_delay", "cycle_time"),
)
"""Times of which a medium has the histogram."""
OF_VOICE = ("voice_delay", "sample_delay")
"""Times of voice, of which a medium has it where flows have it as receiver."""
TIME_CODES = {name: at for at, name in enumerate(TIMES)}
ColumnKind = Literal["whole", "float", "number", "cautions", "time", "metric"]
"""Kinds of columns: counts, others, numbers of entities, and codes."""
OF_NODES = "plca.nodes."
OF_LIVE = ("caution.spacing", "caution.window", "caution.clocks", "caution.exchanges")
"""Cautions of measured values that depend on the metric; see `ethermeter.metrics.concerns`."""
OVERDUE = "overdue"
"""Column of the messages that came after their deadline, where some flow has one."""
GENERATOR = "generator."
"""Begins the columns of the buffers of generators."""
OPTIONAL = (
    OVERDUE,
    "voice.",
    "calls.",
    GENERATOR,
    "plca.",
    "transfer.",
    "clocks.clock.",
    "clocks.synchronised.",
    *OF_LIVE,
)
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


def kinds_in(scenario: Scenario, engine: str) -> tuple[EntityKind, ...]:
    """Return what the metrics of a scenario's trials are of, by engine.

    A theory of networks speaks of flows only, without voice and clocks, and other theories of
    stations only. Of measurements, agents count flows and emulated media their stations; real hosts
    have clocks of their own.
    """
    flows, model = receiver_flows(scenario), engine.removeprefix(f"{THEORY}/")
    due = [EntityKind.DUE] * any(flow.deadline_ps is not None for flow in flows)
    if model in NETWORK_MODELS:
        return (EntityKind.FLOW, *due)
    found: list[EntityKind] = []
    if scenario.media:
        found.append(EntityKind.STATION)
        if any(group.flow.deadline_ps is not None for group in senders(scenario)):
            found.append(EntityKind.DUE_STATION)
        if any(group.has_coder for group in senders(scenario)):
            found.append(EntityKind.TALKER)
        if any(group.flow.calls is not None for group in senders(scenario)):
            found.append(EntityKind.CALLER)
        if engine == SIMULATION and any(
            group.flow.generator is not None for group in senders(scenario)
        ):
            found.append(EntityKind.GENERATOR)
        if any(map(is_bus, scenario.media)):
            found.append(EntityKind.BUS)
    if flows:
        clocks = 0 if engine == LIVE else clocks_of(scenario)
        found.append(EntityKind.FLOW)
        if any(map(is_voice, flows)):
            found.append(EntityKind.CALL)
        found += due
        found += (EntityKind.CLOCK, EntityKind.SYNCHRONISED)[:clocks]
    return tuple(found)


@cache
def entity_by_metric(kinds: tuple[EntityKind, ...]) -> Mapping[Metric, Entity]:
    """Return of which entities each metric is, in trials with some kinds.

    What stations and flows both have is of flows, where there are some.
    """
    in_order = sorted(kinds, key=lambda kind: kind.entity == "flow")
    there = {metric: kind.entity for kind in in_order for metric in metrics_of(kind)}
    return {metric: there[metric] for metric in Metric if metric in there}


def time_of(time: str, scenario: Scenario) -> Entity:
    """Return of which entities the histograms of a time are in the trials of a scenario."""
    if time == "responder_round_trip":
        return "responder"
    if time in OF_MEDIA or (time in OF_VOICE and not receiver_flows(scenario)):
        return "medium"
    return "flow"


def tables_of(trial: Trial) -> set[str]:
    """Return the tables that a trial may have rows in, and the beginnings of optional columns."""
    scenario, kinds = trial.scenario, kinds_in(trial.scenario, trial.engine)
    entities = {kind.entity for kind in kinds}
    ports = {PORTS, *([PORT_CLASSES] if has_classes(scenario) else [])}
    if trial.engine.startswith(THEORY):
        return {VALUES, FACTS, *(ports if "flow" in entities else ())}
    found = {HISTOGRAMS}
    if {EntityKind.DUE_STATION, EntityKind.DUE} & set(kinds):
        found.add(OVERDUE)
    if {EntityKind.TALKER, EntityKind.CALL} & set(kinds):
        found.add("voice.")
    if EntityKind.CALLER in kinds:
        found.add("calls.")
    if "station" in entities:
        found |= {STATIONS, MEDIA, STATION_BATCHES}
        found |= {GENERATOR} if EntityKind.GENERATOR in kinds else set()
        found |= {"plca."} if EntityKind.BUS in kinds else set()
        found |= set() if trial.engine in (SIMULATION, LIVE) else {FACTS}
    if "flow" in entities:
        found |= {FLOWS, FLOW_BATCHES, *ports}
        if trial.engine == LIVE:
            return found | {"transfer.", *OF_LIVE}
        if any(flow.transfer is not None for flow in scenario.flows):
            found.add("transfer.")
        found |= set(("clocks.clock.", "clocks.synchronised.")[: clocks_of(scenario)])
    return found


@cache
def columns_in(table: str, optional: frozenset[str]) -> tuple[str, ...]:
    """Return the columns that a table has in a run with some optional ones, in order."""
    left_out = tuple(entry for entry in OPTIONAL if entry not in optional)
    return tuple(name for name in TABLES[table].columns if not name.startswith(left_out))
