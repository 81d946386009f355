"""The result of a trial: what an engine counted or answered, as tables of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ethermeter.counts import (
    Buckets,
    ClassCounts,
    ClockDelays,
    Column,
    Counts,
    Exact,
    Floats,
    FlowCounts,
    MediumCounts,
    SynchronisedDelays,
    TransferCounts,
    flat,
    zeros,
)
from ethermeter.entities import stations_on
from ethermeter.metrics import Masks, Metric
from ethermeter.nodes import clocks_of
from ethermeter.scenario import Scenario
from ethermeter.store.columns import (
    CAUTION,
    DTYPES,
    FLOW_BATCHES,
    FLOWS,
    HISTOGRAMS,
    MEDIA,
    METRIC_CODES,
    NOT_COUNTED,
    OF_MEDIA,
    OF_NODES,
    PORT_CLASSES,
    PORTS,
    REST,
    STATION_BATCHES,
    STATIONS,
    TABLES,
    TIME_CODES,
    VALUES,
    Columns,
)


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a theory says besides values, about a flow or port of the scenario, or the network.

    `about` a flow stands for its one-way delay. `method` is how there is a bound, `reason` why
    there is none, or no mean; of an engine why it failed. `load` is what is offered to a port over
    what it carries, gaps included, `queue_frames` the mean number of frames in its queue. `scale`
    is by how much all flows may grow before `resource` is full.
    """

    about: Literal["flow", "round-trip", "port", "queue", "saturation", "engine"]
    number: int = 0
    method: str | None = None
    reason: str | None = None
    load: float | None = None
    queue_frames: float | None = None
    scale: float | None = None
    resource: str | None = None


_FACTS = msgspec.json.Decoder(tuple[Fact, ...])


@dataclass(frozen=True, slots=True, eq=False)
class TrialResult:
    """What an engine answers for a trial.

    Parameters
    ----------
    tables
        Columns of equal length by the names of `TABLES`; of a table with batches, batch by batch.
        Without a row of its entities, nothing is known of the trial.
    facts
        Of a theory.
    events
        Transmissions simulated.
    core_s
        Time that the engine took, in s. It is summed for the provenance and is in no table.
    implementation
        Of the simulator that ran: "fast" or "reference"; empty without one.
    digest
        Of the trial, as `ethermeter.trial.digest_of`; empty of a measured one.

    """

    tables: Mapping[str, Columns]
    facts: tuple[Fact, ...] = ()
    events: int = 0
    core_s: float = 0.0
    implementation: str = ""
    digest: str = ""

    @property
    def octets(self) -> int:
        """Memory that the tables take."""
        return sum(column.nbytes for table in self.tables.values() for column in table.values())

    @property
    def is_known(self) -> bool:
        """Whether anything is known; of a trial that failed nothing is."""
        return any(self.rows(name) for name in (STATIONS, FLOWS, VALUES))

    @property
    def is_sound(self) -> bool:
        """Whether all tables are known ones, with columns of equal lengths."""
        return all(
            name in TABLES
            and columns.keys() <= TABLES[name].columns.keys()
            and len({len(column) for column in columns.values()}) <= 1
            for name, columns in self.tables.items()
        )

    @property
    def failure(self) -> str | None:
        """Why the engine failed; None if it did not."""
        reasons = (fact.reason for fact in self.facts if fact.about == "engine")
        return next(reasons, None)

    def rows(self, table: str) -> int:
        """Return how many rows a table has."""
        columns = self.tables.get(table)
        return len(next(iter(columns.values()))) if columns else 0


def failed(why: str = "") -> TrialResult:
    """Return the result of a trial that failed: without values, and with the reason of a theory."""
    return TrialResult({}, (Fact("engine", reason=why),) if why else ())


def facts_text(facts: Sequence[Fact]) -> str:
    """Return facts as JSON; empty without any."""
    return msgspec.json.encode(facts).decode() if facts else ""


def facts_in(text: str) -> tuple[Fact, ...]:
    """Return facts from JSON."""
    return _FACTS.decode(text) if text else ()


Cautions = Mapping[str, Mapping[str, Masks]]
"""Cautions of the entities of tables, by the columns of these; see `TABLES`."""


def counted(
    scenario: Scenario, counts: Counts, *, cautions: Cautions, core_s: float
) -> TrialResult:
    """Return the result of a trial of which an engine counted everything."""
    tables: dict[str, Columns] = {HISTOGRAMS: _histograms(counts)}
    if counts.media:
        media = [flat(medium) for medium in counts.media]
        counters = _beside(media, [stations_on(medium) for medium in scenario.media])
        nodes = {name: column for name, column in counters.items() if name.startswith(OF_NODES)}
        tables[STATIONS] = {**cautions[STATIONS], **_inexact(flat(counts.stations)), **nodes}
        tables[MEDIA] = {name: column for name, column in counters.items() if name not in nodes}
        tables[STATION_BATCHES] = _raveled(flat(counts.stations.batches))
    if len(counts.flows.offered):
        tables[FLOWS] = {**cautions[FLOWS], **flat(_with_all(scenario, counts.flows))}
        tables[FLOW_BATCHES] = _raveled(flat(counts.flows.batches))
    if len(counts.ports.frames):
        tables[PORTS] = flat(counts.ports)
        classes = {
            column.name: getattr(counts.ports.classes, column.name)
            for column in fields(ClassCounts)
        }
        tables[PORT_CLASSES] = {
            "port": classes.pop("port"),
            "class": classes.pop("number"),
        } | classes
    return TrialResult(
        {name: _typed(name, columns) for name, columns in tables.items()},
        events=counts.events,
        core_s=core_s,
        implementation=counts.implementation or "",
    )


def _beside(media: Sequence[Mapping[str, Column]], stations: Sequence[int]) -> dict[str, Column]:
    """Return the counters of media beside each other; NaN what some medium does not count."""
    if len(media) == 1:
        return dict(media[0])
    names = dict.fromkeys(name for medium in media for name in medium)
    return {
        name: np.concatenate(
            [
                medium.get(name, np.full(count if name.startswith(OF_NODES) else 1, np.nan))
                for medium, count in zip(media, stations, strict=True)
            ]
        )
        for name in names
    }


def _with_all(scenario: Scenario, flows: FlowCounts) -> FlowCounts:
    """Return counts of flows with those of transfers, and of clocks that are read."""
    number = len(flows.offered)
    clocks = flows.clocks
    if clocks_of(scenario):
        clocks = clocks or zeros(ClockDelays, number)
        synchronised = clocks.synchronised or zeros(SynchronisedDelays, number)
        clocks = replace(clocks, synchronised=synchronised)
    return replace(flows, transfer=flows.transfer or zeros(TransferCounts, number), clocks=clocks)


def _raveled(columns: Columns) -> dict[str, npt.NDArray[Any]]:
    return {name: column.ravel() for name, column in columns.items()}


def _inexact(columns: dict[str, Column]) -> dict[str, Column]:
    """Return counters of which the exact one is two: the nearest float, and what is left."""
    squares: Exact = columns["delay_ps2"]
    rounded = squares.astype(np.float64)
    rest = [exact - int(near) for exact, near in zip(squares, rounded.tolist(), strict=True)]
    return {**columns, "delay_ps2": rounded, f"delay_ps2{REST}": np.array(rest, np.int64)}


def exact(columns: Columns, name: str) -> Exact:
    """Return a sum as exact integers from a table that has it rounded, and what was left."""
    rounded, rest = columns[name], columns[name + REST]
    whole = [int(near) + int(column) for near, column in zip(rounded.flat, rest.flat, strict=True)]
    return np.array(whole, np.object_).reshape(rounded.shape)


def _typed(table: str, columns: Columns) -> Columns:
    """Return columns in the types of their table."""
    found = {}
    for name, values in columns.items():
        kind = TABLES[table].columns[name]
        if kind == "whole" and values.dtype.kind == "f":
            values = np.where(np.isnan(values), NOT_COUNTED, values)
        found[name] = values if values.dtype.type is DTYPES[kind] else values.astype(DTYPES[kind])
    return found


def _histograms(counts: Counts) -> Columns:
    flows, of_stations = counts.flows, counts.stations.voice
    found: dict[str, Buckets | None] = {
        "one_way_delay": flows.one_way.buckets,
        "round_trip": flows.round_trip.buckets,
        "inter_arrival": flows.between_arrivals.buckets,
        "responder_round_trip": flows.responder_round_trip,
        **_of_media(counts.media),
    }
    if of_stations is not None:
        found["voice_delay"] = of_stations.voice_delay
        found["sample_delay"] = of_stations.sample_delay
    if (voice := flows.voice) is not None:
        found["voice_delay"] = voice.voice_delay.buckets
        found["sample_delay"] = voice.sample_delay.buckets
    if (clocks := flows.clocks) is not None:
        found["clock_delay"] = clocks.clock.buckets
        if clocks.synchronised is not None:
            found["synchronised_delay"] = clocks.synchronised.delays.buckets
    some = {
        name: column for name, column in found.items() if column is not None and len(column.count)
    }
    lengths = [len(column.count) for column in some.values()]
    codes = np.array([TIME_CODES[name] for name in some], np.uint8)
    names = ("entity", "low_ps", "high_ps", "count")
    columns = {
        name: np.concatenate(
            [np.empty(0, np.int64), *(getattr(column, name) for column in some.values())]
        )
        for name in names
    }
    return {"time": np.repeat(codes, lengths), **columns}


def _of_media(media: Sequence[MediumCounts]) -> dict[str, Buckets]:
    """Return the histograms of media by time; a bucket's entity is the number of its medium."""
    found: dict[str, list[Buckets]] = {name: [] for name in OF_MEDIA}
    for number, medium in enumerate(media):
        plca = medium.plca
        of_medium = {
            "transmission_delay": medium.transmission_delay,
            "access_delay": medium.access_delay,
            "response_time": medium.response_time,
            "attempt_delay": None if plca is None else plca.access_from_attempt.buckets,
            "cycle_time": None if plca is None else plca.cycle.buckets,
        }
        for name, buckets in of_medium.items():
            if buckets is not None:
                of_all = replace(buckets, entity=buckets.entity + number) if number else buckets
                found[name].append(of_all)
    names = [column.name for column in fields(Buckets)]
    return {
        time: each[0]
        if len(each) == 1
        else Buckets(*(np.concatenate([getattr(of, name) for of in each]) for name in names))
        for time, each in found.items()
        if each
    }


def values_table(
    values: Mapping[Metric, tuple[float, Floats]],
    cautions: Mapping[Metric, tuple[np.uint64, Masks]],
) -> Columns:
    """Return the table of a theory's values of all entities together and of each, by metric.

    Both mappings have the same metrics. What has neither a value nor a caution has no row.
    """
    columns: dict[str, list[npt.NDArray[Any]]] = {
        "entity": [],
        "metric": [],
        "value": [],
        CAUTION: [],
    }
    for metric, (of_all, of_each) in values.items():
        together, each = cautions[metric]
        columns["entity"].append(np.arange(-1, len(of_each)))
        columns["metric"].append(np.full(len(of_each) + 1, METRIC_CODES[metric]))
        columns["value"].append(np.concatenate([[of_all], of_each]))
        columns[CAUTION].append(np.concatenate([[together], each]).astype(np.uint64))
    joined = {name: np.concatenate([np.empty(0), *parts]) for name, parts in columns.items()}
    joined[CAUTION] = np.concatenate([np.empty(0, np.uint64), *columns[CAUTION]])
    has_row = ~np.isnan(joined["value"]) | (joined[CAUTION] != 0)
    return _typed(VALUES, {name: column[has_row] for name, column in joined.items()})
