"""The tables of a finished run: observations, batches and histograms.

Equal results give equal bytes.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
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
    CLASS_COLUMNS,
    CLOCK_HISTOGRAMS,
    HISTOGRAMS,
    HISTOGRAMS_WITHOUT_VOICE,
    METRICS,
    NETWORK_HISTOGRAMS,
    NOT_COUNTED,
    PORT_COLUMNS,
    SEGMENT_HISTOGRAMS,
    VOICE_METRICS,
    Remark,
    layout,
    remarks_in,
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
PORT_CLASSES, REMARKS = "port-classes.parquet", "remarks.parquet"
NETWORK_TABLES = (PORTS, FLOW_BATCHES, PORT_CLASSES, REMARKS)
"""Of a run with networks only; of traffic classes and remarks, where there are any."""
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
    of_networks: Collection[str] = (),
) -> None:
    """Write the tables, sorted by the order of the plan.

    Parameters
    ----------
    ids, observations
        Of each trial, in the order of the plan; how many observations it has decides only where row
        groups end.
    rows_of
        Gives the part rows of a range of trials, in that order.
    of_networks
        Tables that the run has of its networks, of `NETWORK_TABLES`.

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
        HISTOGRAM_TABLE: partial(_histograms, networks=bool(of_networks)),
    }
    of_network = {
        PORTS: _ports,
        FLOW_BATCHES: _flow_batches,
        PORT_CLASSES: _port_classes,
        REMARKS: _remarks,
    }
    makers |= {name: make for name, make in of_network.items() if name in of_networks}
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

    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(words, pa.string()))


def _trial_column(ids: Sequence[str], lengths: npt.NDArray[np.int64]) -> "pa.DictionaryArray":
    return _words(np.repeat(np.arange(len(ids)), lengths), ids)


def _within(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Index of every row in its trial."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _by_batch(
    rows: "pa.Table", ids: Sequence[str], lengths: npt.NDArray[np.int64], entity: str
) -> "dict[str, pa.DictionaryArray | npt.NDArray[np.int32]]":
    """Trial, batch and station or flow of every row; trials without such entities have no rows."""
    within, wide = _within(lengths), np.repeat(rows[f"{entity}s"].to_numpy(), lengths)
    return {
        "trial": _trial_column(ids, lengths),
        "batch": (within // wide).astype(np.int32),
        entity: (within % wide).astype(np.int32),
    }


def _observations(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "values")
    names = ("stations", "flows", "clocks", "plca")
    stations, flows, clocks, plca = (rows[name].to_pylist() for name in names)
    kinds = [
        partial(layout, own or count, of_flows=own > 0, clocks=read, plca=turns > 0)
        for own, count, read, turns in zip(flows, stations, clocks, plca, strict=True)
    ]
    # Trials with voice have more metrics.
    voice = [length > len(kind()[0]) for kind, length in zip(kinds, lengths.tolist(), strict=True)]
    layouts = [kind(voice=has) for kind, has in zip(kinds, voice, strict=True)]
    # A dictionary holds the words that its kind of run may have, so that more kinds do not change
    # the bytes of others.
    words = METRICS
    if any(voice):
        words = (*METRICS, *VOICE_METRICS)
    if any(plca):
        words = tuple(metric for metric in Metric if metric.group is not Group.PEER)
    elif any(flows):
        talks = any(own and has for own, has in zip(flows, voice, strict=True))
        words = tuple(
            metric
            for metric in Metric
            if metric.group not in (Group.PLCA, Group.PEER)
            and (talks or metric.group is not Group.FLOW_VOICE)
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
            "station": np.concatenate([station for station, _ in layouts]),
            "metric": _words(code_of[np.concatenate([metric for _, metric in layouts])], words),
            "value": _flat(rows, "values"),
            "caution": _words(codes, [caution_text(int(mask)) for mask in masks]),
        }
    )


def _batches(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    sums = ("frames", "charged_ps", "delay_sum_s", "delay_square_sum_s2")
    columns = {name: _flat(rows, f"batch_{name}") for name in sums}
    return pa.table(_by_batch(rows, ids, _lengths(rows, "batch_frames"), "station") | columns)


def _flow_batches(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    columns = _by_batch(rows, ids, _lengths(rows, "flow_batch_counts") // len(BATCH_COUNTS), "flow")
    for names, flat in ((BATCH_COUNTS, "flow_batch_counts"), (BATCH_SUMS, "flow_batch_sums_s")):
        for name, values in zip(names, _columns(rows, flat, len(names)), strict=True):
            columns[name] = pa.array(values, mask=np.isnan(values) | (values == NOT_COUNTED))
    return pa.table(columns)


def _columns(rows: "pa.Table", name: str, number: int) -> npt.NDArray[Any]:
    """Columns of rows that lie one after the other in a list column."""
    return np.ascontiguousarray(_flat(rows, name).reshape(-1, number).T)


def _histograms(rows: "pa.Table", ids: Sequence[str], *, networks: bool) -> "pa.Table":
    import pyarrow as pa

    kinds = _flat(rows, "histogram")
    of_segments = (
        SEGMENT_HISTOGRAMS
        if (kinds >= HISTOGRAMS_WITHOUT_VOICE).any()
        else SEGMENT_HISTOGRAMS[:HISTOGRAMS_WITHOUT_VOICE]
    )
    has_clocks = rows["clocks"].to_numpy().any()
    of_networks = NETWORK_HISTOGRAMS[: None if has_clocks else -len(CLOCK_HISTOGRAMS)]
    words = of_networks if networks else of_segments
    if rows["plca"].to_numpy().any():
        words = HISTOGRAMS
    columns = {
        "trial": _trial_column(ids, _lengths(rows, "count")),
        "metric": _words(kinds, words),
        "low_s": _flat(rows, "low_ps") / PS_PER_S,
        "high_s": _flat(rows, "high_ps") / PS_PER_S,
        "count": _flat(rows, "count"),
    }
    if networks:
        # Trials of segments beside them have histograms of all stations together.
        of_flows = np.repeat(rows["flows"].to_numpy() > 0, _lengths(rows, "count"))
        station = np.full(len(kinds), ALL, np.int32)
        station[of_flows] = _flat(rows, "histogram_flow")
        columns["station"] = station
    return pa.table(columns)


def _ports(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "ports") // len(PORT_COLUMNS)
    numbers = {"trial": _trial_column(ids, lengths), "port": _within(lengths).astype(np.int32)}
    return pa.table(numbers | _counted(rows, "ports", PORT_COLUMNS))


def _port_classes(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    lengths = _lengths(rows, "port_classes") // len(CLASS_COLUMNS)
    columns = _counted(rows, "port_classes", CLASS_COLUMNS)
    return pa.table({"trial": _trial_column(ids, lengths)} | columns)


def _counted(
    rows: "pa.Table", name: str, columns: Sequence[str]
) -> "dict[str, pa.DictionaryArray | pa.Array]":
    """Columns of counts that lie one after the other in a list column; null what is not counted."""
    import pyarrow as pa

    counts = zip(columns, _columns(rows, name, len(columns)), strict=True)
    return {column: pa.array(values, mask=values == NOT_COUNTED) for column, values in counts}


def _remarks(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    of_trials = [remarks_in(text) for text in rows["remarks"].to_pylist()]
    lengths = np.array([len(remarks) for remarks in of_trials], np.int64)
    remarks = [remark for found in of_trials for remark in found]
    columns = {
        name: pa.array([getattr(remark, name) for remark in remarks], kind)
        for name, kind in zip(
            Remark.__struct_fields__,
            (pa.string(), pa.int32(), pa.string(), pa.string()),
            strict=True,
        )
    }
    return pa.table({"trial": _trial_column(ids, lengths)} | columns)
