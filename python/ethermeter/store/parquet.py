"""The tables of a finished run, as Parquet files.

Equal results give equal bytes.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ethermeter.metrics import Metric, caution_text
from ethermeter.store.arrow import dictionary, numbers, texts, values_of
from ethermeter.store.columns import (
    FACTS,
    FLOW_BATCHES,
    NOT_COUNTED,
    STATION_BATCHES,
    TABLES,
    TIMES,
    ColumnKind,
    columns_in,
)
from ethermeter.store.files import written_whole
from ethermeter.store.trial_result import Fact, facts_in

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FILES = tuple(f"{name}.parquet" for name in (*TABLES, FACTS))
"""Files that a run may have; which of them follows from its plan."""
GROUP_ROWS = 1 << 17
"""Values of entities after which a row group is closed; trials are never split.

It depends on the plan alone, as every setting here.
"""
_OWNERS = {STATION_BATCHES: "stations", FLOW_BATCHES: "flows"}
"""Tables whose rows are the entities of which another table has the batches."""


def file_of(table: str) -> str:
    """Return the name of the file of a table."""
    return f"{table}.parquet"


def row_groups(sizes: Sequence[int]) -> Iterator[range]:
    """Cut the trials of a plan into row groups, by the size of each."""
    begin, rows = 0, 0
    for place, size in enumerate(sizes):
        rows += size
        if rows >= GROUP_ROWS:
            yield range(begin, place + 1)
            begin, rows = place + 1, 0
    if begin < len(sizes):
        yield range(begin, len(sizes))


def write_all(
    directory: Path,
    ids: Sequence[str],
    sizes: Sequence[int],
    parts_of: Callable[[range], "pa.Table"],
    *,
    tables: Collection[str],
) -> None:
    """Write the tables, sorted by the order of the plan.

    Parameters
    ----------
    ids, sizes
        Of each trial, in the order of the plan; its size decides only where row groups end.
    parts_of
        Gives the rows of parts of a range of trials, in that order.
    tables
        Tables that the run has, and the beginnings of optional columns.

    Raises
    ------
    OSError
        If a table cannot be written; those that were there stay.
    """
    optional = frozenset(tables)
    makers: dict[str, Callable[[pa.Table, Sequence[str]], pa.Table]] = {
        name: partial(_table, name, columns_in(name, optional)) for name in TABLES if name in tables
    }
    if FACTS in tables:
        makers[FACTS] = _facts
    with ExitStack() as stack, ThreadPoolExecutor(2, thread_name_prefix="tables") as threads:
        writers: dict[str, pq.ParquetWriter] = {}

        def write(name: str) -> None:
            table = makers[name](rows, trials)
            if name not in writers:
                file = stack.enter_context(written_whole(directory / file_of(name)))
                writers[name] = stack.enter_context(_writer(file, table.schema))
            writers[name].write_table(table, row_group_size=max(1, len(table)))

        for group in row_groups(sizes):
            rows, trials = parts_of(group).combine_chunks(), [ids[place] for place in group]
            for _ in threads.map(write, makers):
                pass


def _writer(file: IO[bytes], schema: "pa.Schema") -> "pq.ParquetWriter":
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Floats hardly repeat: a dictionary of them would only cost time.
    repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=repeated,
        version="2.6",
    )


def _lengths(rows: "pa.Table", table: str) -> npt.NDArray[np.int64]:
    """Return how many rows of a table each trial has."""
    found = np.zeros(len(rows), np.int64)
    for name in TABLES[table].columns:
        if (key := f"{table}/{name}") in rows.column_names:
            # A trial may lack columns that others have.
            found = np.maximum(found, _list_lengths(rows[key]))
    return found


def _list_lengths(column: "pa.ChunkedArray[Any]") -> npt.NDArray[np.int64]:
    """Return the lengths of lists, 0 of one that is missing."""
    import pyarrow.compute as pc

    return np.asarray(np.nan_to_num(values_of(pc.list_value_length(column))), np.int64)


def _flat(
    rows: "pa.Table", table: str, name: str, lengths: npt.NDArray[np.int64]
) -> npt.NDArray[Any]:
    """Return a column, one trial after the other; what a trial with rows lacks is not counted."""
    kind = TABLES[table].columns[name]
    nothing = {"whole": NOT_COUNTED, "float": np.nan}.get(kind, 0)
    key = f"{table}/{name}"
    if key not in rows.column_names:
        return np.full(lengths.sum(), nothing)
    flat: npt.NDArray[Any] = values_of(rows[key].combine_chunks().flatten())
    there = _list_lengths(rows[key])
    if (there == lengths).all():
        return flat
    found = np.full(lengths.sum(), nothing, flat.dtype)
    found[np.repeat(there > 0, lengths)] = flat
    return found


def _trial_column(ids: Sequence[str], lengths: npt.NDArray[np.int64]) -> "pa.DictionaryArray":
    return dictionary(np.repeat(np.arange(len(ids)), lengths), ids)


def _within(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Index of every row in its trial."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _table(table: str, columns: Sequence[str], rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    entry, lengths = TABLES[table], _lengths(rows, table)
    found: dict[str, pa.Array[Any]] = {"trial": _trial_column(ids, lengths)}
    within = _within(lengths)
    if entry.has_batches:
        wide = np.repeat(_lengths(rows, _OWNERS[table]), lengths)
        found["batch"] = numbers((within // wide).astype(np.int32))
        within = within % wide
    if entry.entity:
        found[entry.entity] = numbers(within.astype(np.int32))
    for name in columns:
        found[name] = _column(entry.columns[name], _flat(rows, table, name, lengths))
    return pa.table(found)


def _column(kind: ColumnKind, values: npt.NDArray[Any]) -> Any:
    """Return a column for people: null what was not counted, words for codes and masks."""
    match kind:
        case "whole":
            return numbers(values.astype(np.int64), values == NOT_COUNTED)
        case "number":
            return numbers(values.astype(np.int64))
        case "float":
            return numbers(values, np.isnan(values))
        case "time":
            return dictionary(values, list(TIMES))
        case "metric":
            return dictionary(values, list(Metric))
        case "cautions":
            # Only the masks that occur become words: there are far more combinations.
            masks, codes = np.unique(values, return_inverse=True)
            return dictionary(codes, [caution_text(int(mask)) for mask in masks])


def _facts(rows: "pa.Table", ids: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    of_trials = [facts_in(text) for text in rows["facts"].to_pylist()]
    lengths = np.array([len(facts) for facts in of_trials], np.int64)
    facts = [fact for found in of_trials for fact in found]
    columns: dict[str, pa.Array[Any]] = {}
    for name in Fact.__struct_fields__:
        values = [getattr(fact, name) for fact in facts]
        if name == "number":
            columns[name] = numbers(np.array(values, np.int32))
        elif name in ("load", "queue_frames", "scale"):
            found = np.array([np.nan if value is None else value for value in values], np.float64)
            missing = np.array([value is None for value in values], np.bool_)
            columns[name] = numbers(found, missing)
        else:
            columns[name] = texts(values)
    return pa.table({"trial": _trial_column(ids, lengths)} | columns)
