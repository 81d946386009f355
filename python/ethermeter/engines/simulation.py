"""The simulation engine: a trial through the compiled core, its counts as observations."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ethermeter import functions
from ethermeter.counts import (
    Buckets,
    ClassCounts,
    Counts,
    Floats,
    FlowBatch,
    Integers,
    PortCounts,
)
from ethermeter.engines.clocks import clock_table
from ethermeter.engines.flow_voice import flow_voice_table
from ethermeter.engines.flows import Measured, flow_table
from ethermeter.engines.plca import plca_table
from ethermeter.engines.stations import station_table, station_voice_table
from ethermeter.engines.table import Table
from ethermeter.nodes import is_segment
from ethermeter.scenario import Scenario
from ethermeter.store.rows import (
    BATCH_COUNTS,
    BATCH_SUMS,
    CLASS_COLUMNS,
    HISTOGRAMS,
    NOT_COUNTED,
    PORT_COLUMNS,
    TrialRows,
    clocks_of,
    has_plca,
    has_voice,
)
from ethermeter.traces import NO_TRACES, Trace
from ethermeter.trial import core_trial_of

if TYPE_CHECKING:
    from ethermeter._core import Watch

S_PER_PS = 1e-12
CLASS_COUNTS = ["number" if name == "class" else name for name in CLASS_COLUMNS]
"""Fields of `ClassCounts` in the order of the table's columns."""


def run_trial(
    line: str,
    scenario: Scenario,
    watch: "Watch | None" = None,
    traces: Mapping[str, Trace] = NO_TRACES,
) -> TrialRows:
    """Simulate the trial of a line of `plan.jsonl`, with its scenario; as `answer`."""
    makers = functions.Makers() if functions.named_in([scenario]) else None
    counts, core_s = simulated(core_trial_of(line), watch, traces, makers)
    return observe(scenario, counts, core_s=core_s)


def simulated(
    line: str,
    watch: "Watch | None" = None,
    traces: Mapping[str, Trace] = NO_TRACES,
    makers: "functions.Makers | None" = None,
) -> tuple[Counts, float]:
    """Return what the core counted in a trial of its own form, and the time it took in s.

    `makers` makes the functions in Python that its stations follow. Raises RuntimeError if it
    breaks off because of a fault of its own, FunctionError if such a function fails.
    """
    from ethermeter import _core

    given = {sha256: traces[sha256].core for sha256 in traces}
    begin_s = time.perf_counter()
    try:
        counts = _core.simulate_trial(line, watch, given, makers)
    except BaseException as error:
        # The class is made inside the extension and cannot be imported; it is no `Exception`, so it
        # would kill a thread unseen.
        if type(error).__name__ == "PanicException":
            raise RuntimeError(f"the simulator broke off: {error}") from None
        raise
    return counts, time.perf_counter() - begin_s


def observe(
    scenario: Scenario, counts: Counts, *, core_s: float, measured: Measured | None = None
) -> TrialRows:
    """Turn the counts of a trial into the values of every metric, of each entity and of all.

    Parameters
    ----------
    core_s
        Time that the engine took, in s.
    measured
        Of a measurement: see `ethermeter.engines.flows.Measured`. Then no clocks are read: hosts
        have their own.

    Returns
    -------
    :
        The rows in the order of `ethermeter.store.rows.layout`. A value without a sample is NaN and
        has the caution `no-samples`; one that is estimated from fewer than 30 frames or messages
        has `few-samples`.
    """
    clocks = clocks_of(scenario) if measured is None else 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = [table.rows() for table in _tables(scenario, counts, measured, clocks=clocks)]
    values, cautions = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    histograms = _histograms(counts)
    entity, low_ps, high_ps, count = (
        np.concatenate([getattr(buckets, name) for _, buckets in histograms])
        for name in ("entity", "low_ps", "high_ps", "count")
    )
    stations, of_flows = counts.stations, counts.flows.batches
    flows = len(counts.flows.offered)
    sums = [f"{name.removesuffix('_s')}_ps" for name in BATCH_SUMS]
    return TrialRows(
        stations=len(stations.frames),
        values=values,
        cautions=cautions,
        batch_frames=stations.batches.frames.astype(np.int64).ravel(),
        batch_charged_ps=stations.batches.charged_ps.astype(np.int64).ravel(),
        batch_delay_sum_s=_floats(stations.batches.delay_ps).ravel() * S_PER_PS,
        batch_delay_square_sum_s2=stations.batches.delay_ps2.ravel() * S_PER_PS * S_PER_PS,
        histogram=np.repeat(
            np.array([HISTOGRAMS.index(name) for name, _ in histograms], np.uint8),
            [len(buckets.count) for _, buckets in histograms],
        ),
        low_ps=low_ps,
        high_ps=high_ps,
        count=count,
        events=counts.events,
        core_s=core_s,
        implementation=counts.implementation or "",
        flows=flows,
        histogram_flow=entity.astype(np.int32) if flows else np.empty(0, np.int32),
        ports=_columns(counts.ports, PORT_COLUMNS).astype(np.int64),
        port_classes=_columns(counts.ports.classes, CLASS_COUNTS).astype(np.int64),
        clocks=clocks,
        flow_batch_counts=_whole(_columns(of_flows, BATCH_COUNTS)),
        flow_batch_sums_s=_floats(_columns(of_flows, sums)) * S_PER_PS,
        plca=int(has_plca(scenario)),
    )


def _tables(
    scenario: Scenario, counts: Counts, measured: Measured | None, *, clocks: int
) -> list[Table]:
    """Return the tables of a trial by the entities that its scenario has: stations or flows."""
    voice = has_voice(scenario)
    if is_segment(scenario):
        others = [station_voice_table(scenario, counts)] if voice else []
        others += [plca_table(counts)] if has_plca(scenario) else []
        return [station_table(scenario, counts), *others]
    tables = [flow_table(scenario, counts, measured)]
    if voice:
        tables.append(flow_voice_table(scenario, counts))
    if clocks:
        tables.append(clock_table(scenario, counts.flows.clocks, clocks=clocks))
    return tables


def _histograms(counts: Counts) -> list[tuple[str, Buckets]]:
    """Return the histograms that a trial has, by the names of `HISTOGRAMS`."""
    medium, flows = counts.medium, counts.flows
    found: list[tuple[str, Buckets | None]] = [
        ("transmission_delay", medium.transmission_delay),
        ("access_delay", medium.access_delay),
        ("response_time", medium.response_time),
        ("one_way_delay", flows.one_way.buckets),
        ("round_trip", flows.round_trip.buckets),
        ("inter_arrival", flows.between_arrivals.buckets),
    ]
    if (plca := medium.plca) is not None:
        found.append(("attempt_delay", plca.access_from_attempt.buckets))
        found.append(("cycle_time", plca.cycle.buckets))
    if (voice := counts.stations.voice) is not None:
        found += [("voice_delay", voice.voice_delay), ("sample_delay", voice.sample_delay)]
    if (of_flows := flows.voice) is not None:
        found.append(("voice_delay", of_flows.voice_delay.buckets))
        found.append(("sample_delay", of_flows.sample_delay.buckets))
    if (clocks := flows.clocks) is not None:
        found.append(("clock_delay", clocks.clock.buckets))
        if clocks.synchronised is not None:
            found.append(("synchronised_delay", clocks.synchronised.delays.buckets))
    return [(name, buckets) for name, buckets in found if buckets is not None]


def _columns(
    counts: PortCounts | ClassCounts | FlowBatch, names: Sequence[str]
) -> Floats | Integers:
    """Return some fields row by row, flat; without entities nothing."""
    columns = [getattr(counts, name) for name in names]
    return np.stack(columns, axis=-1).ravel() if columns[0].size else np.empty(0)


def _whole(counts: Floats | Integers) -> Integers:
    return np.where(np.isnan(counts), NOT_COUNTED, counts).astype(np.int64)


def _floats(values: object) -> Floats:
    return np.asarray(values, np.float64)
