"""Counts: what an engine counted in a trial, before any formula.

The types mirror those of `crates/trial/src/counts.rs`, name by name; what each field counts is
written there. Rust has a structure for each entity, Python an array over the entities: a field of
`FlowCounts` has the shape `(flows,)`, of `FlowBatch` and `StationBatches` `(batches, entities)`, of
`EndCounts` `(flows, 2)`, of losses by cause `(flows, len(LOSSES))`. Entities that a scenario lacks
are arrays of length 0.

- A count, a time and a sum that stays below 64 bits are integers. An engine that does not count
  something for some entity gives floats with NaN there, and formulas answer NaN.
- A sum that may pass 64 bits is a float in ps (or ps²), rounded once: relative error 1e-16.
- `StationCounts.delay_ps2` is exact, as Python integers: a standard deviation is what is left when
  nearly equal squares are subtracted.
- A number that is optional for an entity is a float, NaN where it is missing. An optional
  structure is None if no entity has it, else it holds zeros for entities that lack it.

`ethermeter._core` fills them (`crates/python/src/counts.rs`); `zeros` and `unknown` make the
structures of a given number of entities, from which `dataclasses.replace` makes others.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from ethermeter.scenario import Implementation

LOSSES = ("queue", "buffer", "filtered", "ignored", "attempts", "damaged")
"""Where a copy of a frame may end elsewhere than at its destination: columns of `lost`."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = Integers | Floats
"""Counts: integers, or floats with NaN where an engine does not count them."""
Exact = npt.NDArray[np.object_]
"""Python integers, of any size."""

T = TypeVar("T")
Column = npt.NDArray[Any]
"""Whole numbers, floats, or flags."""


class Adds(Enum):
    """How the counts of several entities, or of several times, make that of all together."""

    SUM = "sum"
    MOST = "maximum"
    NONE = "none"
    """Each entity has its own, as a parameter or an estimate."""


_BY_CAUSE = {"columns": LOSSES}
_ENDS = {"columns": ("sender", "receiver")}
_MOST = {"adds": Adds.MOST}
_OPTIONAL = {"zero": np.nan, "adds": Adds.NONE}
_TIME = {"adds": Adds.NONE}
_BATCHES: Mapping[str, int] = {"batches": 0}


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Filled buckets `[low_ps, high_ps)` of histograms as columns, in rising order of each entity.

    The first bucket of an entity begins at its least time, and the last one ends a picosecond after
    its largest. `entity` is the index of the station, flow, end (two a flow) or responder in the
    scenario; 0 for a medium.
    """

    entity: Integers
    low_ps: Integers
    high_ps: Integers
    count: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Congestion windows as columns: from `from_ps` on an end (two a flow) had `octets`."""

    entity: Integers
    from_ps: Integers
    octets: Integers


@dataclass(frozen=True, slots=True, eq=False)
class StationBatches:
    """Counts of stations by batch."""

    frames: Numbers
    charged_ps: Numbers
    delay_ps: Numbers
    delay_ps2: Floats


@dataclass(frozen=True, slots=True, eq=False)
class CallCounts:
    """Counts of calls of stations."""

    offered: Numbers
    refused: Numbers
    call_ps: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class StationVoice:
    """Counts of voice on a medium."""

    samples: Numbers
    samples_delivered: Numbers
    samples_lost: Numbers
    samples_buffered: Numbers
    voice_frames: Numbers
    voice_delay_ps: Floats
    samples_sent: Numbers
    sample_delay_ps: Floats
    voice_delay: Buckets
    sample_delay: Buckets


@dataclass(frozen=True, slots=True, eq=False)
class StationGenerator:
    """Counts of the buffers of generators."""

    output_ps: Floats
    transmitted_ps: Floats
    filling_ps: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class StationCounts:
    """Counts of the stations on all media, medium by medium."""

    frames: Numbers
    bits: Numbers
    charged_ps: Numbers
    collisions: Numbers
    late_collisions: Numbers
    discarded: Numbers
    resumed: Numbers
    offered: Numbers
    dropped: Numbers
    damaged: Numbers
    overdue: Numbers
    delay_ps: Numbers
    delay_ps2: Exact
    access_ps: Numbers
    response_ps: Numbers
    waiting_ps: Numbers
    offered_load: Floats
    batches: StationBatches = field(metadata=_BATCHES)
    voice: StationVoice | None
    calls: CallCounts | None
    generator: StationGenerator | None


@dataclass(frozen=True, slots=True, eq=False)
class Delays:
    """Times of one kind."""

    count: Numbers
    sum_ps: Floats
    max_ps: Numbers = field(metadata=_MOST)
    buckets: Buckets


@dataclass(frozen=True, slots=True, eq=False)
class PlcaNodeCounts:
    """Counts of stations with PLCA."""

    used: Integers
    yielded: Integers
    missed: Integers
    logical_collisions: Integers
    burst_frames: Integers
    beacons_lost: Integers
    status_changes: Integers
    ok_ps: Integers
    access_max_ps: Integers = field(metadata=_MOST)
    attempt_max_ps: Integers = field(metadata=_MOST)


@dataclass(frozen=True, slots=True, eq=False)
class PlcaCounts:
    """Counts of a medium with PLCA; times have one entity, the medium."""

    time_ps: Integers = field(
        metadata={"entities": 3, "parts": ("beacon", "commit", "opportunity")}
    )
    cycle: Delays
    access_from_attempt: Delays
    opportunities: Integers = field(metadata={"entities": 1})
    nodes: PlcaNodeCounts


@dataclass(frozen=True, slots=True, eq=False)
class MediumCounts:
    """Counts of a shared medium."""

    time_ps: Integers = field(
        metadata={"entities": 5, "parts": ("frame", "preamble", "gap", "collision", "idle")}
    )
    attempts_per_frame: Integers = field(metadata={"entities": 0})
    colliders: Integers = field(metadata={"entities": 0})
    transmission_delay: Buckets
    access_delay: Buckets
    response_time: Buckets | None
    plca: PlcaCounts | None


@dataclass(frozen=True, slots=True, eq=False)
class SignedDelays:
    """Times of one kind, of either sign; buckets of several receivers may overlap."""

    count: Numbers
    sum_ps: Floats
    buckets: Buckets


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """Copies of frames over the whole trial."""

    sent: Numbers
    copied: Numbers
    delivered: Numbers
    lost: Numbers = field(metadata=_BY_CAUSE)
    in_flight: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class FlowBatch:
    """Counts of flows by batch."""

    offered: Numbers
    dropped: Numbers
    arrived: Numbers
    messages: Numbers
    overdue: Numbers
    frames: Numbers
    octets: Numbers
    data_octets: Numbers
    moved_octets: Numbers
    completed: Numbers
    timed_out: Numbers
    arrivals_between: Numbers
    acknowledged: Numbers
    one_way_ps: Floats
    round_trip_ps: Floats
    between_arrivals_ps: Floats
    acknowledgement_ps: Floats


@dataclass(frozen=True, slots=True, eq=False)
class HostSamples:
    """Samples of coders at their hosts."""

    made: Numbers
    sent: Numbers
    lost: Numbers
    left: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class FlowVoice:
    """Samples that coders of flows made in the window."""

    host: HostSamples
    delivered: Numbers
    lost: Numbers = field(metadata=_BY_CAUSE)
    under_way: Numbers
    voice_delay: Delays
    sample_delay: Delays


@dataclass(frozen=True, slots=True, eq=False)
class EndCounts:
    """Counts of the two ends of connections."""

    segments: Numbers
    retransmitted: Numbers
    timeouts: Numbers
    fast_retransmissions: Numbers
    acknowledgements: Numbers
    acknowledgement_delay: Delays
    windows: Windows


@dataclass(frozen=True, slots=True, eq=False)
class TransferCounts:
    """Counts of transfers; octets are a float, for hosts report rates."""

    octets: Floats
    whole_ps: Floats = field(metadata=_OPTIONAL)
    ends: EndCounts = field(metadata=_ENDS)


@dataclass(frozen=True, slots=True, eq=False)
class ClockEstimate:
    """Estimates of clocks' relations, NaN without one."""

    at_ns: Floats = field(metadata=_OPTIONAL)
    offset_ns: Floats = field(metadata=_OPTIONAL)
    uncertainty_ns: Floats = field(metadata=_OPTIONAL)
    drift: Floats = field(metadata=_OPTIONAL)
    drift_uncertainty: Floats = field(metadata=_OPTIONAL)
    contradictions: Floats = field(metadata=_OPTIONAL)
    kept: Floats = field(metadata=_OPTIONAL)
    fastest_round_trip_ns: Floats = field(metadata=_OPTIONAL)
    delay_uncertainty_ns: Floats = field(metadata=_OPTIONAL)


@dataclass(frozen=True, slots=True, eq=False)
class SynchronisedDelays:
    """One-way delays after clock synchronisation."""

    delays: SignedDelays
    unrelated: Numbers
    before_sent: Numbers
    error_most_ps: Numbers = field(metadata=_MOST)
    estimate: ClockEstimate
    delay_uncertainty_ns: Floats = field(metadata=_OPTIONAL)
    contradictions: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class ClockDelays:
    """One-way delays of flows by the clocks of their hosts."""

    clock: SignedDelays
    synchronised: SynchronisedDelays | None


@dataclass(frozen=True, slots=True, eq=False)
class FlowCounts:
    """Counts of the flows that have receivers.

    Messages were offered for `offered_ps`, and received for `received_ps`: the measured window,
    except where hosts count over the whole transmission. `queued` were not sent before its end.
    """

    balance: Balance
    offered_ps: Numbers = field(metadata=_TIME)
    received_ps: Numbers = field(metadata=_TIME)
    queued: Numbers
    reordered: Numbers
    offered: Numbers
    dropped: Numbers
    messages: Numbers
    frames: Numbers
    octets: Numbers
    data_octets: Numbers
    arrived: Numbers
    overdue: Numbers
    answers: Numbers
    answer_octets: Numbers
    completed: Numbers
    timed_out: Numbers
    duplicates: Numbers
    resent: Numbers
    one_way: Delays
    answer_one_way: Delays
    round_trip: Delays
    answer_round_trip: Delays
    responder_round_trip: Buckets
    between_arrivals: Delays
    batches: FlowBatch = field(metadata=_BATCHES)
    transfer: TransferCounts | None
    voice: FlowVoice | None
    clocks: ClockDelays | None


@dataclass(frozen=True, slots=True, eq=False)
class ClockPair:
    """Counts of pairs of hosts that synchronise clocks, over the whole trial."""

    sender: Integers
    receiver: Integers
    requests: Numbers
    answered: Numbers
    lost: Numbers
    balance: Balance
    estimate: ClockEstimate


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """Counts of classes at ports as columns: by number of the port, and of the class in it."""

    port: Integers
    number: Integers
    arrived: Integers
    frames: Integers
    octets: Integers
    dropped: Integers
    queue_most: Integers
    queue_octets_most: Integers


@dataclass(frozen=True, slots=True, eq=False)
class PortCounts:
    """Counts of ports, in the order of `ethermeter.nodes.links_of`."""

    frames: Numbers
    octets: Numbers
    dropped: Numbers
    buffer_dropped: Numbers
    queue_most: Numbers
    buffer_most: Numbers
    pauses_sent: Numbers
    pauses_received: Numbers
    collisions: Numbers
    late_collisions: Numbers
    busy_ps: Numbers
    queue_octets_most: Numbers
    classes: ClassCounts
    access_ps: Numbers
    access_most_ps: Numbers
    used: Numbers
    yielded: Numbers
    missed: Numbers
    logical_collisions: Numbers
    beacons_lost: Numbers
    status_changes: Numbers
    ok_ps: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class NodeCounts:
    """Counts of nodes."""

    flooded: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Everything that was counted in one trial."""

    window_ps: int
    events: int
    media: tuple[MediumCounts, ...]
    stations: StationCounts
    flows: FlowCounts
    ports: PortCounts
    nodes: NodeCounts
    clock_pairs: ClockPair
    cautions: tuple[str, ...]
    implementation: Implementation | None = None
    """Implementation of the simulator that ran; `None` of a measurement."""


def zeros(kind: type[T], *shape: int) -> T:
    """Return a structure of zeros and of empty histograms; what is optional is missing.

    `kind` is a class of this module, but `Counts`. The shape is the number of entities, after that
    of batches for counts by batch.
    """
    found: T = _filled(kind, shape, 0)
    return found


def unknown(kind: type[T], *shape: int) -> T:
    """Return the same of NaN: of an engine that counts none of it."""
    found: T = _filled(kind, shape, np.nan)
    return found


def _filled(kind: Any, shape: tuple[int, ...], number: float, zero: float = 0) -> Any:
    """Return a structure or an array; `zero` is what stands for 0 in it."""
    if get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind):
        return None
    if get_origin(kind) is not None:
        number = number or zero
        types_of = {Exact: np.object_, Floats: np.float64}
        return np.full(shape, number, np.float64 if number else types_of.get(kind, np.int64))
    if kind in (Buckets, Windows, ClassCounts):
        return kind(*(np.empty(0, np.int64) for _ in fields(kind)))
    found: dict[str, object] = {}
    for of in fields(kind):
        inner = shape
        if "entities" in of.metadata:
            inner = (of.metadata["entities"],)
        if "columns" in of.metadata:
            inner = (*shape, len(of.metadata["columns"]))
        if "batches" in of.metadata:
            inner = (of.metadata["batches"], *shape)
        found[of.name] = _filled(of.type, inner, number, of.metadata.get("zero", 0))
    return kind(**found)


def joined(each: Sequence[T]) -> T:
    """Return the counts of several entities, in order, from structures of one entity each.

    An optional structure holds zeros for entities that lack it. Histograms of the ends of
    connections must be empty.
    """
    found: T = _joined(each, axis=0)
    return found


def _joined(each: Sequence[Any], *, axis: int) -> Any:
    some = next((one for one in each if one is not None), None)
    if some is None:
        return None
    if isinstance(some, np.ndarray):
        return np.concatenate(each, axis=axis)
    each = [zeros(type(some), 1) if one is None else one for one in each]
    values = {
        of.name: _joined(
            [getattr(one, of.name) for one in each], axis=1 if "batches" in of.metadata else axis
        )
        for of in fields(some)
    }
    if isinstance(some, Buckets):
        values["entity"] = np.repeat(np.arange(len(each)), [len(one.entity) for one in each])
    return replace(some, **values)


Metadata = Mapping[Any, Any]
_COUNTERS: dict[type, tuple[tuple[str, Metadata], ...]] = {}


def _counters(kind: type) -> tuple[tuple[str, Metadata], ...]:
    """Return name and metadata of the fields of a structure that are counters or hold some."""
    if kind not in _COUNTERS:
        hints = get_type_hints(kind)
        others = (Buckets, Windows, ClassCounts)
        _COUNTERS[kind] = tuple(
            (of.name, of.metadata)
            for of in fields(kind)
            if not any(part in others for part in (hints[of.name], *get_args(hints[of.name])))
            and "batches" not in of.metadata
            and ("entities" not in of.metadata or of.metadata["entities"])
        )
    return _COUNTERS[kind]


def flat(structure: Any, prefix: str = "", columns: Sequence[str] = ()) -> dict[str, Column]:
    """Return the counters of a structure by name, such as `one_way.sum_ps`, each an array.

    Its last axis is that of entities; what has several columns of each entity has a counter a
    column, such as `balance.lost.queue`. Histograms, counts by batch and what is missing are left
    out.
    """
    found: dict[str, Column] = {}
    for name, metadata in _counters(type(structure)):
        value = getattr(structure, name)
        within = metadata.get("columns", columns)
        if value is None:
            continue
        if not isinstance(value, np.ndarray):
            found |= flat(value, f"{prefix}{name}.", within)
        elif "parts" in metadata:
            for at, part in enumerate(metadata["parts"]):
                found[f"{prefix}{name}.{part}"] = value[at : at + 1]
        elif within:
            for at, column in enumerate(within):
                found[f"{prefix}{name}.{column}"] = value[..., at]
        else:
            found[prefix + name] = value
    return found


@dataclass(frozen=True, slots=True)
class Counter:
    """How a counter adds, and whether it is a float or a whole number; exact ones are sums."""

    adds: Adds
    is_float: bool


def counters_of(kind: type, prefix: str = "", columns: Sequence[str] = ()) -> dict[str, Counter]:
    """Return the counters that a structure may have, by their names in `flat`, in that order."""
    hints = get_type_hints(kind)
    found: dict[str, Counter] = {}
    for name, metadata in _counters(kind):
        parts = (hints[name], *get_args(hints[name]))
        inner = [of for of in parts if isinstance(of, type) and is_dataclass(of)]
        within = metadata.get("parts", metadata.get("columns", columns))
        if inner:
            found |= counters_of(inner[0], f"{prefix}{name}.", within)
            continue
        is_float = hints[name] in (Floats, Exact)
        counter = Counter(metadata.get("adds", Adds.SUM), is_float)
        names = [f"{prefix}{name}.{part}" for part in within] or [prefix + name]
        found |= dict.fromkeys(names, counter)
    return found


NO_STATIONS = zeros(StationCounts, 0)
NO_FLOWS = zeros(FlowCounts, 0)
NO_PORTS = zeros(PortCounts, 0)
NO_NODES = zeros(NodeCounts, 0)
NO_CLOCK_PAIRS = zeros(ClockPair, 0)
"""Counts of scenarios that lack these entities."""
