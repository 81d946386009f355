"""The tables of a finished run: observations, batches and histograms.

Equal results give equal bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ethermeter.metrics import ALL, Group, Metric, caution_text
from ethermeter.store.files import written_whole
from ethermeter.store.rows import (
    BATCH_COUNTS,
    BATCH_SUMS,
    CLOCK_HISTOGRAMS,
    HISTOGRAMS,
    HISTOGRAMS_WITHOUT_VOICE,
    METRICS,
    NOT_COUNTED,
    PORT_COLUMNS,
    SEGMENT_HISTOGRAMS,
    VOICE_METRICS,
    flow_layout,
    layout,
    observations_of,
    observations_of_flows,
)

if TYPE_CHECKING:
    import pyarrow as pa

PS_PER_S = 1e12
OBSERVATIONS, BATCHES, HISTOGRAM_TABLE = (
    "observations.parquet",
    "batches.parquet",
    "histograms.parquet",
)
TABLES = (OBSERVATIONS, BATCHES, HISTOGRAM_TABLE)
PORTS, FLOW_BATCHES = "ports.parquet", "flow-batches.parquet"
NETWORK_TABLES = (PORTS, FLOW_BATCHES)
"""Of a run with networks only."""
MEASURED = {"value", "delay_sum_s", "delay_square_sum_s2", *BATCH_SUMS}
"""Columns whose values hardly repeat, so that a dictionary of them would only cost time."""
GROUP_ROWS = 1 << 17
"""Observations after which a row group is closed; trials are never split.

It depends on the plan alone, as every setting here.
"""


def row_groups(observations: Sequence[int]) -> Iterator[range]:
    """Cut the trials of a plan into row groups, by the number of observations of each."""
    begin, rows = 0, 0
    for place, count in enumerate(observations):
        rows += count
        if rows >= GROUP_ROWS:
            yield range(begin, place + 1)
            begin, rows = place + 1, 0
    if begin < len(observations):
        yield range(begin, len(observations))


def write_all(
    directory: Path,
    ids: Sequence[str],
    observations: Sequence[int],
    rows_of: Callable[[range], "pa.Table"],
    *,
    networks: bool = False,
) -> None:
    """Write the tables, sorted by the order of the plan.

    Parameters
    ----------
    ids, observations
        Of each trial, in the order of the plan; how many observations it has decides only where row
        groups end.
    rows_of
        Gives the part rows of a range of trials, in that order.
    networks
        Whether there are trials of networks, whose ports, and whose flows by batch, have tables of
        their own.

    Raises
    ------
    OSError
        If a table cannot be written; those that were there stay.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    makers: dict[str, Callable[[pa.Table, Sequence[str]], pa.Table]] = {
        OBSERVATIONS: _observations,
        BATCHES: _batches,
        HISTOGRAM_TABLE: partial(_histograms, networks=networks),
    }
    if networks:
        makers |= {PORTS: _ports, FLOW_BATCHES: _flow_batches}
    with ExitStack() as stack:
        writers: dict[str, pq.ParquetWriter] = {}
        for group in row_groups(observations):
            rows = rows_of(group).combine_chunks()
            for name, make in makers.items():
                table = make(rows, [ids[place] for place in group])
                if name not in writers:
                    file = stack.enter_context(written_whole(directory / name))
                    words = [field.name for field in table.schema if field.name not in MEASURED]
                    writers[name] = stack.enter_context(
                        pq.ParquetWriter(
                            file,
                            table.schema,
                            compression="zstd",
                            compression_level=3,
                            use_dictionary=words,
                            version="2.6",
                        )
                    )
                writers[name].write_table(table, row_group_size=max(1, len(table)))


def _flat(rows: "pa.Table", name: str) -> npt.NDArray[Any]:
    """Values of a list column, one trial after the other."""
    flat: npt.NDArray[Any] = rows[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat


def _lengths(rows: "pa.Table", name: str) -> npt.NDArray[np.int64]:
    import pyarrow.compute as pc

    lengths: npt.NDArray[np.int64] = pc.list_value_length(rows[name]).to_numpy().astype(np.int64)
    return lengths


def _words(codes: npt.NDArray[Any], words: Sequence[str]) -> "pa.DictionaryArray":
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32)), pa.array(list(words), pa.string())
    )


def _trial_column(ids: Sequence[str], lengths: npt.NDArray[np.int64]) -> "pa.DictionaryArray":
    return _words(np.repeat(np.arange(len(ids)), lengths), ids)


def _observations(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "values")
    stations = rows["stations"].to_numpy().tolist()
    flows = rows["flows"].to_numpy().tolist()
    clocks = rows["clocks"].to_numpy().tolist()
    # Trials with voice have more metrics.
    voice = [
        length
        > (
            observations_of_flows(own, voice=False, clocks=read)
            if own
            else observations_of(count, voice=False)
        )
        for own, read, count, length in zip(flows, clocks, stations, lengths.tolist(), strict=True)
    ]
    layouts = [
        flow_layout(own, voice=has, clocks=read) if own else layout(count, voice=has)
        for own, read, count, has in zip(flows, clocks, stations, voice, strict=True)
    ]
    # A dictionary holds the words that its kind of run may have, so that more kinds do not change
    # the bytes of others.
    words = METRICS
    if any(voice):
        words = (*METRICS, *VOICE_METRICS)
    if any(flows):
        talks = any(own and has for own, has in zip(flows, voice, strict=True))
        words = tuple(
            metric
            for metric in Metric
            if (talks or metric.group is not Group.FLOW_VOICE)
            and (any(clocks) or metric.group not in (Group.CLOCK, Group.SYNCHRONISED))
        )
    place = {metric: at for at, metric in enumerate(words)}
    code_of = np.array([place.get(metric, -1) for metric in Metric])
    # Only the masks that occur become words: there are far more combinations than ever stand in one
    # run.
    masks, codes = np.unique(_flat(rows, "cautions"), return_inverse=True)
    return pa.table(
        {
            "trial": _trial_column(ids, lengths),
            "station": pa.array(np.concatenate([station for station, _ in layouts])),
            "metric": _words(code_of[np.concatenate([metric for _, metric in layouts])], words),
            "value": pa.array(_flat(rows, "values")),
            "caution": _words(codes, [caution_text(int(mask)) for mask in masks]),
        }
    )


def _batches(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "batch_frames")
    stations = rows["stations"].to_numpy()
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    wide = np.repeat(stations, lengths)  # a network has none, and so no rows here
    return pa.table(
        {
            "trial": _trial_column(ids, lengths),
            "batch": pa.array((within // wide).astype(np.int32)),
            "station": pa.array((within % wide).astype(np.int32)),
            "frames": pa.array(_flat(rows, "batch_frames")),
            "charged_ps": pa.array(_flat(rows, "batch_charged_ps")),
            "delay_sum_s": pa.array(_flat(rows, "batch_delay_sum_s")),
            "delay_square_sum_s2": pa.array(_flat(rows, "batch_delay_square_sum_s2")),
        }
    )


def _flow_batches(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "flow_batch_counts") // len(BATCH_COUNTS)
    counts = _flat(rows, "flow_batch_counts").reshape(-1, len(BATCH_COUNTS))
    sums_s = _flat(rows, "flow_batch_sums_s").reshape(-1, len(BATCH_SUMS))
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    wide = np.repeat(rows["flows"].to_numpy(), lengths)

    def column(values: npt.NDArray[Any], unknown: npt.NDArray[np.bool_]) -> "pa.Array":
        return pa.array(np.ascontiguousarray(values), mask=unknown)

    return pa.table(
        {
            "trial": _trial_column(ids, lengths),
            "batch": pa.array((within // wide).astype(np.int32)),
            "flow": pa.array((within % wide).astype(np.int32)),
            **{
                name: column(counts[:, at], counts[:, at] == NOT_COUNTED)
                for at, name in enumerate(BATCH_COUNTS)
            },
            **{
                name: column(sums_s[:, at], np.isnan(sums_s[:, at]))
                for at, name in enumerate(BATCH_SUMS)
            },
        }
    )


def _histograms(rows: "pa.Table", ids: Sequence[str], *, networks: bool) -> "pa.Table":
    import pyarrow as pa

    kinds = _flat(rows, "histogram")
    of_segments = (
        SEGMENT_HISTOGRAMS
        if (kinds >= HISTOGRAMS_WITHOUT_VOICE).any()
        else SEGMENT_HISTOGRAMS[:HISTOGRAMS_WITHOUT_VOICE]
    )
    of_networks = (
        HISTOGRAMS if rows["clocks"].to_numpy().any() else HISTOGRAMS[: -len(CLOCK_HISTOGRAMS)]
    )
    words = of_networks if networks else of_segments
    columns = {
        "trial": _trial_column(ids, _lengths(rows, "count")),
        "metric": _words(kinds, words),
        "low_s": pa.array(_flat(rows, "low_ps") / PS_PER_S),
        "high_s": pa.array(_flat(rows, "high_ps") / PS_PER_S),
        "count": pa.array(_flat(rows, "count")),
    }
    if networks:
        # Trials of segments beside them have histograms of all stations together.
        of_flows = np.repeat(rows["flows"].to_numpy() > 0, _lengths(rows, "count"))
        station = np.full(len(kinds), ALL, np.int32)
        station[of_flows] = _flat(rows, "histogram_flow")
        columns["station"] = pa.array(station)
    return pa.table(columns)


def _ports(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "ports") // len(PORT_COLUMNS)
    counts = _flat(rows, "ports").reshape(-1, len(PORT_COLUMNS))
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return pa.table(
        {
            "trial": _trial_column(ids, lengths),
            "port": pa.array(within.astype(np.int32)),
            **{
                name: pa.array(np.ascontiguousarray(counts[:, at]))
                for at, name in enumerate(PORT_COLUMNS)
            },
        }
    )
