"""Part files: the results of finished trials while a run is under way, one row a trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ethermeter.store.arrow import numbers, texts, values_of
from ethermeter.store.columns import DTYPES, TABLES
from ethermeter.store.files import opened, write_whole
from ethermeter.store.integrity import raise_lack
from ethermeter.store.trial_result import TrialResult, facts_in, facts_text

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "8"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a part file belongs to: the hash of a plan or of a strategy's question, and a version.

    Another version of ethermeter may count otherwise, so its parts are not mixed with ours.
    """

    plan_hash: str
    version: str

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The stamp as it stands in the file."""
        return {
            b"ethermeter.plan": self.plan_hash.encode(),
            b"ethermeter.version": self.version.encode(),
            b"ethermeter.part": FORMAT.encode(),
        }


class BadPartError(Exception):
    """A part file that is torn or belongs to something else."""


NUMBERS = ("events", "core_s", "implementation", "digest")
"""Fields of a result that are a value a trial."""
FACTS = "facts"


def write(
    path: Path, finished: Sequence[tuple[int, TrialResult]], *, stamp: Stamp, within: Path
) -> None:
    """Write the results of finished trials as one part file, wholly or not at all.

    `finished` has the index of each trial in the plan, and its result; `within` is the run
    directory. A column of a table is a list of each trial, null where it has none. Raises OSError
    if it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    results = [result for _, result in finished]
    columns: dict[str, object] = {
        "trial": numbers(np.array([place for place, _ in finished], np.int32)),
        "events": numbers(np.array([result.events for result in results], np.int64)),
        "core_s": numbers(np.array([result.core_s for result in results], np.float64)),
        "implementation": texts([result.implementation for result in results]),
        "digest": texts([result.digest for result in results]),
        FACTS: texts([facts_text(result.facts) for result in results]),
    }
    for table, of in TABLES.items():
        tables = [result.tables.get(table, {}) for result in results]
        rows = np.array([result.rows(table) for result in results])
        some = set().union(*tables)
        for name, kind in of.columns.items():
            if name in some:
                lists = [columns_of.get(name) for columns_of in tables]
                columns[f"{table}/{name}"] = _lists(lists, rows, DTYPES[kind])
    encoded = pa.table(columns).replace_schema_metadata(stamp.metadata)
    # Encoded in memory first, so that the disk sees one plain write and a failure is an ordinary
    # OSError.
    sink = pa.BufferOutputStream()
    pq.write_table(
        encoded,
        sink,
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )
    write_whole(path, sink.getvalue().to_pybytes(), within=within)


def _lists(
    lists: Sequence[npt.NDArray[Any] | None], rows: npt.NDArray[np.int64], kind: Any
) -> "pa.ListArray":
    """Return lists of so many rows, null where there is none."""
    import pyarrow as pa

    arrays = [values for values in lists if values is not None]
    missing = np.zeros(len(lists), np.bool_)
    if len(arrays) < len(lists):
        missing = np.array([values is None for values in lists], np.bool_)
    offsets = np.concatenate([[0], np.cumsum(np.where(missing, 0, rows))]).astype(np.int32)
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    values = numbers(np.concatenate(arrays).astype(kind, copy=False))
    kinds = pa.list_(values.type)
    buffers = [valid, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kinds, len(lists), buffers, children=[values])


def result_at(table: "pa.Table", at: int) -> TrialResult:
    """Return the result of the trial at a row of a part that was read."""
    row = table.slice(at, 1)
    tables: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for name in row.column_names:
        of, slash, column = name.partition("/")
        if slash and not row[name].null_count:
            values = values_of(row[name].combine_chunks().flatten())
            tables.setdefault(of, {})[column] = values
    others = {name: row[name][0].as_py() for name in NUMBERS}
    return TrialResult(tables, facts_in(row[FACTS][0].as_py()), **others)


def read(path: Path, *, stamp: Stamp) -> "pa.Table":
    """Read a part file that must have a stamp, one row a trial.

    Raises BadPartError if it is torn, altered or belongs to another plan or version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(path) as file:
            content = pa.BufferReader(file.read())
            # One file alone: a dataset of many takes long to import.
            with pq.ParquetFile(content, page_checksum_verification=True) as parquet:
                table = parquet.read()
    except (OSError, pa.ArrowException) as error:
        raise_lack(error)
        raise BadPartError(f"{path}: torn: {error}") from error
    metadata = table.schema.metadata or {}
    if any(metadata.get(key) != value for key, value in stamp.metadata.items()):
        raise BadPartError(f"{path}: belongs to another plan or version")
    return table
