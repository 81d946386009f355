"""Part files: the results of finished trials while a run is under way, one row a trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ethermeter.store.files import opened, write_whole
from ethermeter.store.integrity import raise_lack
from ethermeter.store.rows import ARRAYS, NUMBERS, TrialRows

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "7"


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


def write(
    path: Path, finished: Sequence[tuple[int, TrialRows]], *, stamp: Stamp, within: Path
) -> None:
    """Write the rows of finished trials as one part file, wholly or not at all.

    `finished` has the index of each trial in the plan, and its rows; `within` is the run directory.
    Raises OSError if it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, object] = {"trial": pa.array([place for place, _ in finished], pa.int32())}
    for name in NUMBERS:
        columns[name] = pa.array([getattr(rows, name) for _, rows in finished])
    for name in ARRAYS:
        arrays = [getattr(rows, name) for _, rows in finished]
        offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays])]).astype(
            np.int32
        )
        columns[name] = pa.ListArray.from_arrays(
            pa.array(offsets), pa.array(np.concatenate(arrays))
        )
    table = pa.table(columns).replace_schema_metadata(stamp.metadata)
    # Encoded in memory first, so that the disk sees one plain write and a failure is an ordinary
    # OSError.
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )
    write_whole(path, sink.getvalue().to_pybytes(), within=within)


def rows_at(table: "pa.Table", at: int) -> TrialRows:
    """Return the rows of the trial at a row of a part that was read."""
    row = table.slice(at, 1)
    arrays = {
        name: row[name].combine_chunks().flatten().to_numpy(zero_copy_only=False) for name in ARRAYS
    }
    return TrialRows(**{name: row[name][0].as_py() for name in NUMBERS}, **arrays)


def read(path: Path, *, stamp: Stamp) -> "pa.Table":
    """Read a part file that must have a stamp, one row a trial.

    Raises BadPartError if it is torn, altered or belongs to another plan or version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(path) as file:
            table = pq.read_table(pa.BufferReader(file.read()), page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise_lack(error)
        raise BadPartError(f"{path}: torn: {error}") from error
    metadata = table.schema.metadata or {}
    if any(metadata.get(key) != value for key, value in stamp.metadata.items()):
        raise BadPartError(f"{path}: belongs to another plan or version")
    return table
