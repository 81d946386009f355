"""Gathered: a table of several trials as arrays, whether of a run directory or of memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Integers
from ethermeter.metrics import Metric, caution_mask
from ethermeter.store.arrow import values_of
from ethermeter.store.columns import CAUTION, NOT_COUNTED, TABLES, TIMES, Columns
from ethermeter.store.trial_result import TrialResult

if TYPE_CHECKING:
    import pyarrow as pa


NUMBERS = {
    name for column in TABLES.values() for name, kind in column.columns.items() if kind == "number"
}
"""Columns of whole numbers that are always known."""


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The rows of some trials: where those of each begin, how many they are, and the columns.

    Masks of cautions, codes of times and of metrics are numbers, as in `TrialResult`. Whole numbers
    that were not counted of some row are floats with NaN.
    """

    first: Integers
    rows: Integers
    columns: Columns

    def alike(self, trials: Integers, rows: int) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of trials that have so many rows each, shape (trials, rows)."""
        at = self.first[trials][:, None] + np.arange(rows)
        return {name: values[at] for name, values in self.columns.items()}

    def each(self, trials: Integers) -> tuple[Integers, dict[str, npt.NDArray[Any]]]:
        """Return the rows of some trials: the position of each among these, and its columns."""
        rows = self.rows[trials]
        at = np.repeat(self.first[trials] - np.cumsum(rows) + rows, rows) + np.arange(rows.sum())
        column = np.repeat(np.arange(len(trials)), rows)
        return column, {name: values[at] for name, values in self.columns.items()}


def gathered(tables: Sequence[Columns], trials: Sequence[str] = ()) -> Gathered:
    """Return the tables of trials, in order; of none, `trials` have no rows."""
    if not tables:
        none = np.zeros(len(trials), np.int64)
        return Gathered(none, none, {})
    names = dict.fromkeys(name for columns in tables for name in columns)
    rows = np.array(
        [len(next(iter(column.values()))) if column else 0 for column in tables], np.int64
    )
    found = {}
    for name in names:
        parts = [
            _nullable(name, column[name])
            if name in column
            else np.full(count, 0 if _is_mask(name) else np.nan)
            for column, count in zip(tables, rows.tolist(), strict=True)
            if count
        ]
        found[name] = np.concatenate(parts) if parts else np.empty(0)
        if _is_mask(name):
            found[name] = found[name].astype(np.uint64)
    return Gathered(np.cumsum(rows) - rows, rows, found)


def _is_mask(name: str) -> bool:
    return name.startswith(CAUTION)


def of_results(results: Sequence[TrialResult], table: str) -> Gathered:
    """Return a table of results in memory."""
    return gathered([result.tables.get(table, {}) for result in results])


def _nullable(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != np.int64 or name in NUMBERS:
        return values
    missing = values == NOT_COUNTED
    return np.where(missing, np.nan, values) if missing.any() else values


def of_arrow(name: str, table: "pa.Table", trials: Sequence[str]) -> Gathered:
    """Return a table of a run directory, of trials by their ids."""
    place = {trial: at for at, trial in enumerate(trials)}
    codes, words = _codes(table["trial"])
    at = np.array([place.get(word, -1) for word in words], np.int64)[codes]
    rows = np.bincount(at[at >= 0], minlength=len(trials))
    # The rows of a trial follow each other.
    begins = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]])) if len(at) else at
    first = np.zeros(len(trials), np.int64)
    first[at[begins][at[begins] >= 0]] = begins[at[begins] >= 0]
    kinds = TABLES[name].columns
    columns = {
        column: _array(table[column], kinds[column])
        for column in table.column_names
        if column in kinds
    }
    return Gathered(first, rows, columns)


def _array(column: "pa.ChunkedArray", kind: str) -> npt.NDArray[Any]:
    if kind in ("whole", "number", "float"):
        return values_of(column)
    codes, words = _codes(column)
    numbers: Mapping[str, int] = {}
    if kind == "time":
        numbers = {time: code for code, time in enumerate(TIMES)}
    elif kind == "metric":
        numbers = {metric.value: code for code, metric in enumerate(Metric)}
    else:
        numbers = {word: int(caution_mask(word.split())) for word in words}
    kinds = {"cautions": np.uint64, "time": np.uint8, "metric": np.int16}
    return np.array([numbers[word] for word in words], kinds[kind])[codes]


def _codes(column: "pa.ChunkedArray") -> tuple[Integers, list[str]]:
    import pyarrow as pa

    if not len(column):
        return np.empty(0, np.int64), []
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # some versions combine to a single chunk
        encoded = pa.concat_arrays(encoded.chunks)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    codes = values_of(encoded.indices).astype(np.int64)
    return codes, encoded.dictionary.to_pylist()
