"""What one trial adds to the tables of a run, as flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats, FlowBatch, Integers
from ethermeter.metrics import ALL, Caution, Group, Masks, Metric, caution_mask, metrics_of
from ethermeter.nodes import is_segment
from ethermeter.scenario import CoderArrivals, Scenario
from ethermeter.station_groups import station_count

METRICS = metrics_of(Group.SEGMENT)
STATION_METRICS = metrics_of(Group.SEGMENT, of_each=True)
VOICE_METRICS = metrics_of(Group.SEGMENT_VOICE)
"""What a trial with voice has besides."""
VOICE_STATION_METRICS = metrics_of(Group.SEGMENT_VOICE, of_each=True)
PLCA_METRICS = metrics_of(Group.PLCA)
"""What a trial of 10BASE-T1S has besides."""
PLCA_STATION_METRICS = metrics_of(Group.PLCA, of_each=True)
FLOW_METRICS = metrics_of(Group.FLOW)
"""What a trial of a network has instead: each of these of every flow and of all."""
FLOW_VOICE_METRICS = metrics_of(Group.FLOW_VOICE)
"""What it has besides where some flow is voice; the same, after all of those."""
CLOCK_METRICS = metrics_of(Group.CLOCK)
"""What a simulated trial of a network has besides whose hosts have clocks: each of these of every
flow and of all, after all others …
"""
SYNCHRONISED_METRICS = metrics_of(Group.SYNCHRONISED)
"""… and where these are synchronised."""
VOICE_HISTOGRAMS: tuple[str, ...] = ("voice_delay", "sample_delay")
FLOW_HISTOGRAMS: tuple[str, ...] = ("one_way_delay", "round_trip", "inter_arrival")
CLOCK_HISTOGRAMS: tuple[str, ...] = ("clock_delay", "synchronised_delay")
PLCA_HISTOGRAMS: tuple[str, ...] = ("attempt_delay", "cycle_time")
SEGMENT_HISTOGRAMS: tuple[str, ...] = (
    "transmission_delay",
    "access_delay",
    "response_time",
    *VOICE_HISTOGRAMS,
)
NETWORK_HISTOGRAMS: tuple[str, ...] = (*SEGMENT_HISTOGRAMS, *FLOW_HISTOGRAMS, *CLOCK_HISTOGRAMS)
HISTOGRAMS: tuple[str, ...] = (*NETWORK_HISTOGRAMS, *PLCA_HISTOGRAMS)
HISTOGRAMS_WITHOUT_VOICE = 3
"""How many of these, from the first, a trial without voice may have."""
PORT_COLUMNS: tuple[str, ...] = (
    "frames",
    "octets",
    "busy_ps",
    "dropped",
    "queue_most",
    "buffer_dropped",
    "buffer_most",
    "pauses_sent",
    "pauses_received",
    "collisions",
    "late_collisions",
    "queue_octets_most",
    *("access_ps", "access_most_ps", "used", "yielded", "missed"),
    *("logical_collisions", "beacons_lost", "status_changes", "ok_ps"),
)
"""What is counted at the ports of a network, in the order of `ethermeter.nodes.links_of`; from
`access_ps` on, of those on shared media.
"""
CLASS_COLUMNS: tuple[str, ...] = (
    *("port", "class", "arrived", "frames", "octets", "dropped"),
    *("queue_most", "queue_octets_most"),
)
"""What is counted of every traffic class of a port that has several; the highest is class 0."""
_BATCH = [of.name for of in fields(FlowBatch)]
BATCH_COUNTS = tuple(name for name in _BATCH if not name.endswith("_ps"))
"""What is counted of every flow in every batch …"""
BATCH_SUMS = tuple(f"{name.removesuffix('_ps')}_s" for name in _BATCH if name.endswith("_ps"))
"""… and the sums of times, in s."""
NOT_COUNTED = -1
"""Stands for a count that was not made, of a port or by batch; for a sum NaN does."""


class Remark(msgspec.Struct, frozen=True, array_like=True):
    """What a theory says besides values: how it answers about a flow or a port, or why it does not.

    About a flow, its one-way delay or its round trip; `number` is that of the flow or port. Of a
    queue the load that is offered to the port, gaps included, and the mean number of frames; of the
    saturation of a network by how much all flows may grow before a resource is full, and which; of
    an engine that failed, why.
    """

    about: Literal["flow", "round-trip", "port", "queue", "saturation", "engine"]
    number: int
    kind: Literal["method", "reason", "load", "scale"]
    text: str


_REMARKS = msgspec.json.Decoder(tuple[Remark, ...])


def remarks_text(remarks: Sequence[Remark]) -> str:
    """Return remarks as a row holds them; empty without any."""
    return msgspec.json.encode(remarks).decode() if remarks else ""


def remarks_in(text: str) -> tuple[Remark, ...]:
    """Return the remarks of a row."""
    return _REMARKS.decode(text) if text else ()


@dataclass(frozen=True, slots=True, eq=False)
class TrialRows:
    """The rows of one trial, in the order `layout` gives.

    Which station and which metric a value belongs to follows from its place, so that only values
    and cautions are carried.

    Parameters
    ----------
    stations
        Stations of the trial, n; 0 for a trial of a network.
    values, cautions
        Shape (rows,): value in the metric's unit, NaN where there is no sample; cautions as a mask
        of `ethermeter.metrics.caution_mask`.
    batch_frames, batch_charged_ps, batch_delay_sum_s, batch_delay_square_sum_s2
        Shape (batches x n,), batch by batch: frames; channel time in ps; sums over frames of the
        delay in s and of its square in s².
    histogram, low_ps, high_ps, count
        Shape (buckets,): index into `HISTOGRAMS`, bucket [low, high) in ps, frames (of
        `sample_delay`: samples) in it.
    events
        Transmissions simulated.
    core_s
        Time the simulator took, in s. It is summed for the provenance and is in no table.
    implementation
        Of the simulator that ran: "fast" or "reference"; empty without one.
    flows
        Flows of a trial of a network, whose rows are of flows; 0 for a trial of a segment.
    histogram_flow
        Of a network: shape (buckets,), the flow whose bucket it is.
    ports
        Of a network: shape (ports x columns,), port by port what `PORT_COLUMNS` name;
        `NOT_COUNTED` what the engine does not know.
    port_classes
        Of a network: shape (classes of ports x columns,), what `CLASS_COLUMNS` name, likewise.
    clocks
        What is read of clocks, as of `clocks_of`.
    plca
        1 of a segment of 10BASE-T1S, else 0.
    flow_batch_counts, flow_batch_sums_s
        Of a network: shape (batches x flows x columns,), batch by batch and flow by flow what
        `BATCH_COUNTS` and `BATCH_SUMS` name; `NOT_COUNTED` and NaN what agents do not count by
        batch.
    remarks
        Of a theory of networks: see `remarks_text`.
    digest
        Of the trial, as `ethermeter.trial.digest_of`; empty of a measured one.

    """

    stations: int
    values: Floats
    cautions: Masks
    batch_frames: Integers
    batch_charged_ps: Integers
    batch_delay_sum_s: Floats
    batch_delay_square_sum_s2: Floats
    histogram: npt.NDArray[np.uint8]
    low_ps: Integers
    high_ps: Integers
    count: Integers
    events: int
    core_s: float
    implementation: str = ""
    flows: int = 0
    histogram_flow: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    ports: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    port_classes: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    clocks: int = 0
    flow_batch_counts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    flow_batch_sums_s: Floats = field(default_factory=lambda: np.empty(0))
    remarks: str = ""
    plca: int = 0
    digest: str = ""

    @property
    def has_values(self) -> bool:
        """Whether anything is known; of a trial that failed nothing is."""
        return not bool(np.isnan(self.values).all())

    @property
    def octets(self) -> int:
        """Memory the rows take."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)


def formula_rows(
    values: Floats,
    cautions: Masks,
    *,
    stations: int = 0,
    cells: int = 0,
    flows: int = 0,
    ports: Integers | None = None,
    port_classes: Integers | None = None,
    remarks: str = "",
    plca: int = 0,
    core_s: float = 0.0,
) -> TrialRows:
    """Return the rows of a formula: no frames, in `cells` batches of stations, and no histograms.

    The other arguments are those of `TrialRows`.
    """
    none = np.empty(0, np.int64)
    return TrialRows(
        stations=stations,
        values=values,
        cautions=cautions,
        batch_frames=np.zeros(cells, np.int64),
        batch_charged_ps=np.zeros(cells, np.int64),
        batch_delay_sum_s=np.zeros(cells),
        batch_delay_square_sum_s2=np.zeros(cells),
        histogram=np.empty(0, np.uint8),
        low_ps=none,
        high_ps=none,
        count=none,
        events=0,
        core_s=core_s,
        flows=flows,
        ports=none if ports is None else ports,
        port_classes=none if port_classes is None else port_classes,
        remarks=remarks,
        plca=plca,
    )


def failed_rows(scenario: Scenario, why: str) -> TrialRows:
    """Return the rows of a trial of which a theory failed: without values, and with the reason."""
    flows, stations = flows_of(scenario), 0 if flows_of(scenario) else station_count(scenario)
    entities, _ = layout_of(scenario, is_theory=True)
    return formula_rows(
        np.full(len(entities), np.nan),
        np.full(len(entities), caution_mask([Caution.NO_SAMPLES])),
        stations=stations,
        cells=stations * scenario.batches,
        flows=flows,
        plca=int(has_plca(scenario)),
        remarks=remarks_text([Remark("engine", 0, "reason", why)]),
    )


def failure_in(rows: TrialRows) -> str | None:
    """Return why the engine of a trial failed; None if it did not."""
    reasons = (remark.text for remark in remarks_in(rows.remarks) if remark.about == "engine")
    return next(reasons, None)


NUMBERS = tuple(of.name for of in fields(TrialRows) if of.type in (int, float, str))
ARRAYS = tuple(of.name for of in fields(TrialRows) if of.name not in NUMBERS)
"""Fields of `TrialRows` that are arrays."""


def flows_of(scenario: Scenario) -> int:
    """Return how many flows of a scenario have receivers; those on a medium have none."""
    return sum(bool(flow.to) for flow in scenario.flows)


def has_classes(scenario: Scenario) -> bool:
    """Whether some node of a scenario has traffic classes at its ports."""
    kinds = (node.kind for node in scenario.nodes)
    owners = (kind.host or kind.switch or kind.router for kind in kinds)
    return any(owner is not None and bool(owner.classes) for owner in owners)


def clocks_of(scenario: Scenario) -> int:
    """Return what is read of clocks in a simulation.

    0 nothing, 1 delays by the clocks as they are, 2 also by comparing them.
    """
    hosts = (node.kind.host for node in scenario.nodes)
    if not any(host is not None and host.clock is not None for host in hosts):
        return 0
    return 2 if scenario.clocks == "compared" else 1


def clock_metrics(clocks: int) -> tuple[Metric, ...]:
    """Name the metrics that a trial has besides those of flows, by what is read of its clocks."""
    return (
        (*CLOCK_METRICS, *SYNCHRONISED_METRICS) if clocks == 2 else CLOCK_METRICS if clocks else ()
    )


def has_voice(scenario: Scenario) -> bool:
    """Whether some station of a scenario sends voice, or some flow is voice."""
    return any(isinstance(flow.arrivals, CoderArrivals) for flow in scenario.flows)


def has_plca(scenario: Scenario) -> bool:
    """Whether a scenario is a segment of 10BASE-T1S."""
    return is_segment(scenario) and scenario.media[0].mac.plca is not None


def observations_of_scenario(
    scenario: Scenario, *, is_live: bool = False, is_theory: bool = False
) -> int:
    """Return the number of observations of a trial of a scenario; arguments of `layout_of`."""
    return len(layout_of(scenario, is_live=is_live, is_theory=is_theory)[0])


def layout_of(
    scenario: Scenario, *, is_live: bool = False, is_theory: bool = False
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int16]]:
    """Return the `layout` of a trial of a scenario.

    A measured trial has no observations of clocks, for real hosts have their own; a theory of a
    network none of voice either.
    """
    flows = flows_of(scenario)
    of_network = is_theory and flows > 0
    return layout(
        flows or station_count(scenario),
        of_flows=flows > 0,
        voice=has_voice(scenario) and not of_network,
        plca=has_plca(scenario),
        clocks=0 if is_live or not flows or of_network else clocks_of(scenario),
    )


@lru_cache(maxsize=1024)
def layout(
    entities: int,
    *,
    of_flows: bool = False,
    voice: bool = False,
    plca: bool = False,
    clocks: int = 0,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int16]]:
    """Station or flow, and metric, of every observation of a trial, in order.

    First the whole segment, in the order of `METRICS`; then `STATION_METRICS`, each for all
    stations. With voice the same of `VOICE_METRICS` and `VOICE_STATION_METRICS` follows, with PLCA
    that of `PLCA_METRICS` and `PLCA_STATION_METRICS`. Of a network it is `FLOW_METRICS`, with voice
    `FLOW_VOICE_METRICS`, and where clocks are read (`clocks_of`) `clock_metrics`, of all flows and
    of each. Returns numbers of stations or flows and indices into all of `Metric`, both of shape
    (rows,) and read-only.
    """
    tables = [(METRICS, STATION_METRICS)]
    tables += [(VOICE_METRICS, VOICE_STATION_METRICS)] * voice
    tables += [(PLCA_METRICS, PLCA_STATION_METRICS)] * plca
    if of_flows:
        each = (FLOW_METRICS, FLOW_VOICE_METRICS if voice else (), clock_metrics(clocks))
        tables = [(metrics, metrics) for metrics in each]
    index = {metric: at for at, metric in enumerate(Metric)}
    numbers: list[npt.NDArray[np.int64]] = []
    metrics: list[npt.ArrayLike] = []
    for of_all, of_each in tables:
        numbers += [np.full(len(of_all), ALL), np.tile(np.arange(entities), len(of_each))]
        metrics += [[index[metric] for metric in of_all]]
        metrics += [np.repeat([index[metric] for metric in of_each], entities)]
    entity = np.concatenate(numbers).astype(np.int32)
    metric = np.concatenate(metrics).astype(np.int16)
    entity.flags.writeable = metric.flags.writeable = False
    return entity, metric
