"""Arrow: arrays of Arrow from arrays of NumPy and from texts.

`pyarrow.array` imports pandas wherever that is installed, which takes as long as a hundred small
trials.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


def load() -> None:
    """Import what writes tables; a run does it while its trials are simulated."""
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401


def numbers(
    values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None
) -> "pa.Array[Any]":
    """Return numbers, which are null where they are missing."""
    import pyarrow as pa

    found = np.ascontiguousarray(values)
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [valid, pa.py_buffer(found)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(found.dtype), len(found), buffers)


def values_of(column: "pa.Array[Any] | pa.ChunkedArray[Any]") -> npt.NDArray[Any]:
    """Return the numbers of a column; floats with NaN where some are null."""
    import pyarrow as pa

    array = column
    if isinstance(column, pa.ChunkedArray):
        # Some versions combine no chunks to a chunked array, and one chunk to itself.
        if not column.num_chunks:
            return np.empty(0, column.type.to_pandas_dtype())
        array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    valid, data = array.buffers()[:2]
    ends = slice(array.offset, array.offset + len(array))
    dtype = np.dtype(array.type.to_pandas_dtype())
    if data is None:
        return np.full(len(array), np.nan if valid is not None else 0, dtype)
    found = np.frombuffer(data, dtype)[ends]
    if valid is None or not array.null_count:
        return found
    known = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[ends]
    return np.where(known, found, np.nan)


def texts(words: Sequence[str | None]) -> "pa.Array[Any]":
    """Return texts, which are null where they are None."""
    import pyarrow as pa

    encoded = [b"" if word is None else word.encode() for word in words]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    missing = np.array([word is None for word in words], np.bool_)
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(words), buffers)


def dictionary(codes: npt.NDArray[Any], words: Sequence[str]) -> "pa.DictionaryArray":
    """Return words by their codes."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(numbers(codes.astype(np.int32)), texts(words))
