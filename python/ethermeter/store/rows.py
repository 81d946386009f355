"""What one trial adds to the tables of a run, as flat arrays."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ethermeter.metrics import ALL, Group, Masks, Metric, metrics_of
from ethermeter.scenario import CoderArrivals, Scenario
from ethermeter.stations import station_count

METRICS = metrics_of(Group.SEGMENT)
STATION_METRICS = metrics_of(Group.SEGMENT, of_each=True)
VOICE_METRICS = metrics_of(Group.SEGMENT_VOICE)
"""What a trial with voice has besides."""
VOICE_STATION_METRICS = metrics_of(Group.SEGMENT_VOICE, of_each=True)
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
SEGMENT_HISTOGRAMS: tuple[str, ...] = (
    "transmission_delay",
    "access_delay",
    "response_time",
    *VOICE_HISTOGRAMS,
)
HISTOGRAMS: tuple[str, ...] = (*SEGMENT_HISTOGRAMS, *FLOW_HISTOGRAMS, *CLOCK_HISTOGRAMS)
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
)
"""What is counted at the ports of a network: 2l and 2l + 1 are the ends of link l."""
BATCH_COUNTS: tuple[str, ...] = (
    "offered",
    "dropped",
    "arrived",
    "messages",
    "frames",
    "octets",
    "data_octets",
    "moved_octets",
    "completed",
    "timed_out",
    "arrivals_between",
    "acknowledged",
)
"""What is counted of every flow in every batch …"""
BATCH_SUMS: tuple[str, ...] = (
    "one_way_s",
    "round_trip_s",
    "between_arrivals_s",
    "acknowledgement_s",
)
"""… and the sums of times, in s."""
NOT_COUNTED = -1
"""Stands for a count by batch that was not made; for a sum NaN does."""
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
    flows
        Flows of a trial of a network, whose rows are of flows; 0 for a trial of a segment.
    histogram_flow
        Of a network: shape (buckets,), the flow whose bucket it is.
    ports
        Of a network: shape (ports x columns,), port by port what `PORT_COLUMNS` name.
    clocks
        What is read of clocks, as of `clocks_of`.
    flow_batch_counts, flow_batch_sums_s
        Of a network: shape (batches x flows x columns,), batch by batch and flow by flow what
        `BATCH_COUNTS` and `BATCH_SUMS` name; `NOT_COUNTED` and NaN what agents do not count by
        batch.

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
    flows: int = 0
    histogram_flow: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    ports: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    clocks: int = 0
    flow_batch_counts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    flow_batch_sums_s: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def octets(self) -> int:
        """Memory the rows take."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)


ARRAYS = (
    "values",
    "cautions",
    "batch_frames",
    "batch_charged_ps",
    "batch_delay_sum_s",
    "batch_delay_square_sum_s2",
    "histogram",
    "low_ps",
    "high_ps",
    "count",
    "histogram_flow",
    "ports",
    "flow_batch_counts",
    "flow_batch_sums_s",
)
"""Fields of `TrialRows` that are arrays."""


def flows_of(scenario: Scenario) -> int:
    """Return how many flows of a scenario have receivers; those on a medium have none."""
    return sum(bool(flow.to) for flow in scenario.flows)


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


def observations_of_flows(flows: int, *, voice: bool, clocks: int) -> int:
    """Return the number of observations of a trial of a network, by its voice and its clocks."""
    return (
        len(FLOW_METRICS) + (len(FLOW_VOICE_METRICS) if voice else 0) + len(clock_metrics(clocks))
    ) * (1 + flows)


def observations_of(stations: int, *, voice: bool) -> int:
    """How many observations a trial has, with or without voice."""
    of_voice = len(VOICE_METRICS) + stations * len(VOICE_STATION_METRICS) if voice else 0
    return len(METRICS) + stations * len(STATION_METRICS) + of_voice


def observations_of_scenario(scenario: Scenario, *, is_live: bool = False) -> int:
    """Return the number of observations of a trial of a scenario.

    A measured trial has none of clocks, for real hosts have their own.
    """
    if flows := flows_of(scenario):
        clocks = 0 if is_live else clocks_of(scenario)
        return observations_of_flows(flows, voice=has_voice(scenario), clocks=clocks)
    return observations_of(station_count(scenario), voice=has_voice(scenario))


@lru_cache(maxsize=1024)
def flow_layout(
    flows: int, *, voice: bool = False, clocks: int = 0
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int16]]:
    """Flow and metric of every observation of a trial of a network, in order; as of `layout`.

    First `FLOW_METRICS` of all flows, then each for every flow. With voice the same of
    `FLOW_VOICE_METRICS` follows, and where clocks are read (`clocks_of`) of `clock_metrics`.
    """
    every = list(Metric)
    blocks = [
        np.array([every.index(metric) for metric in metrics], np.int16)
        for metrics in (FLOW_METRICS, FLOW_VOICE_METRICS if voice else (), clock_metrics(clocks))
    ]
    numbers = np.arange(flows, dtype=np.int32)
    flow = np.concatenate(
        [
            part
            for of in blocks
            for part in (np.full(len(of), ALL, np.int32), np.tile(numbers, len(of)))
        ]
    )
    metric = np.concatenate([part for of in blocks for part in (of, np.repeat(of, flows))])
    flow.flags.writeable = False
    metric.flags.writeable = False
    return flow, metric


@lru_cache(maxsize=1024)
def layout(stations: int, *, voice: bool) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int16]]:
    """Station and metric of every observation of a trial, in order.

    First the whole segment, in the order of `METRICS`; then `STATION_METRICS`, each for all
    stations. With voice the same of `VOICE_METRICS` and `VOICE_STATION_METRICS` follows. Returns
    station numbers and indices into all of `Metric`, both of shape (rows,) and read-only.
    """
    tables = [(METRICS, STATION_METRICS), (VOICE_METRICS, VOICE_STATION_METRICS)][
        : 2 if voice else 1
    ]
    every = list(Metric)
    station = np.concatenate(
        [
            part
            for whole, each in tables
            for part in (
                np.full(len(whole), ALL, np.int32),
                np.tile(np.arange(stations, dtype=np.int32), len(each)),
            )
        ]
    )
    metric = np.concatenate(
        [
            part
            for whole, each in tables
            for part in (
                np.array([every.index(metric) for metric in whole], np.int16),
                np.repeat(np.array([every.index(metric) for metric in each], np.int16), stations),
            )
        ]
    )
    station.flags.writeable = False
    metric.flags.writeable = False
    return station, metric
