"""Measured frame lengths: a CSV file with the columns length_bytes and weight."""

import csv
import io
import math
from fractions import Fraction
from pathlib import Path

from ethermeter import units
from ethermeter.experiment.frames import MOST_LENGTHS
from ethermeter.faults import Fault, InputError, shown

COLUMNS = ["length_bytes", "weight"]
"""The header of the file."""

LARGEST_FILE_BYTES = 1_000_000
"""The largest file that is read."""

_MOST_BYTES = units.LARGEST_BITS // 8


def read(path: Path, *, name: str) -> list[tuple[int, Fraction]]:
    """Read lengths in bits with their weights.

    Parameters
    ----------
    path
        The file.
    name
        What faults call it.

    Raises
    ------
    InputError
        With every row that is wrong.

    """
    try:
        if not path.is_file():
            raise InputError(
                [
                    Fault(
                        name,
                        "(file)",
                        "missing",
                        f"expected a CSV file with the columns {', '.join(COLUMNS)}",
                    )
                ]
            )
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            [Fault(name, "(file)", type(error).__name__, "expected a readable CSV file in UTF-8")]
        ) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise InputError(
            [Fault(name, "(file)", "too large", f"expected at most {LARGEST_FILE_BYTES} bytes")]
        )
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise InputError([Fault(name, "(file)", str(error), "expected a CSV file")]) from None
    return _lengths(rows, name=name)


def _lengths(rows: list[list[str]], *, name: str) -> list[tuple[int, Fraction]]:
    if not rows or [cell.strip() for cell in rows[0]] != COLUMNS:
        raise InputError(
            [
                Fault(
                    name,
                    "line 1",
                    shown(",".join(rows[0]) if rows else ""),
                    f"expected the header {','.join(COLUMNS)}",
                )
            ]
        )
    faults, lengths = [], []
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        length, weight = (_number(cell) for cell in (*row, "", "")[:2])
        if len(row) != len(COLUMNS):
            faults.append(
                Fault(
                    name, f"line {number}", shown(",".join(row)), f"expected {len(COLUMNS)} columns"
                )
            )
        elif length is None or length.denominator != 1 or not 0 < length <= _MOST_BYTES:
            faults.append(
                Fault(
                    name,
                    f"line {number}, length_bytes",
                    shown(row[0]),
                    f"expected a whole number of bytes from 1 to {_MOST_BYTES}",
                )
            )
        elif weight is None or weight < 0:
            faults.append(
                Fault(
                    name,
                    f"line {number}, weight",
                    shown(row[1]),
                    "expected a number, zero or above",
                )
            )
        elif weight > 0:
            lengths.append((8 * int(length), weight))
    if not faults and not 1 <= len(lengths) <= MOST_LENGTHS:
        faults.append(
            Fault(
                name,
                "(file)",
                f"{len(lengths)} rows",
                f"expected from 1 to {MOST_LENGTHS} rows with a weight above zero",
            )
        )
    if faults:
        raise InputError(faults)
    return lengths


def _number(cell: str) -> Fraction | None:
    try:
        value = float(cell) if len(cell) <= 40 else math.nan
    except ValueError:
        return None
    return units.exact(value) if math.isfinite(value) else None
