"""Frame lengths: fixed, mixed, measured, or gathered from a coder's samples.

Measured lengths are in a CSV file with the columns length_bytes and weight.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from ethermeter import scenario, units
from ethermeter.experiment.quantity import Form, Size, Weight, complaint, text
from ethermeter.experiment.tables import FileTable, ListOf, OneOf, Wrapped, table_reader
from ethermeter.faults import Fault, InputError, shown

MOST_LENGTHS = 2000
"""Different lengths a mix may have."""

ALLOWED_FRAMES = (
    'expected a length such as "64 B", a mix such as "64 B x 7 + 1536 B x 1", { mix = [ { length ='
    ' "64 B", weight = 7 }, … ] }, { measured = "lengths.csv" } or, with a coder, { samples = {'
    ' least = "64 B", most = "1024 B", overhead = "6 B" } }'
)

Sizes = Sequence[tuple[int, Fraction]]
"""Lengths in bits with their weights."""


class Mixed(FileTable, frozen=True, kw_only=True):
    """A length of a mix."""

    length: Size
    """Length of the frame or, in `data`, of the data."""
    weight: Weight
    """Frequency of the length, relative to the other lengths."""


@dataclass(frozen=True, slots=True)
class MeasuredFrames:
    """Frame lengths from a CSV file beside the experiment file."""

    file: str
    """Its name."""


def _mix_of_text(value: object) -> Sizes:
    """Read "64 B" or "64 B x 7 + 1536 B x 1"."""
    if not isinstance(value, str) or len(value) > 4000:
        raise complaint(ALLOWED_FRAMES)
    if "x" not in value:
        return [(_size(value), Fraction(1))]
    parts = []
    for part in value.split("+"):
        length, _, weight = part.partition("x")
        if not (weight.strip().isascii() and weight.strip().isdigit() and len(weight.strip()) <= 9):
            raise complaint(
                'expected parts such as "64 B x 7", each with a whole weight, joined by +; not'
                f' "{part.strip()[:40]}"'
            )
        parts.append((_size(length), Fraction(int(weight))))
    return _occurring(parts)


def _size(value: str) -> int:
    return units.size_bits(value.strip(), positive=True)


def _occurring(parts: Sizes) -> Sizes:
    """Return the parts that occur at all."""
    kept = [(bits, weight) for bits, weight in parts if weight > 0]
    if not kept:
        raise complaint("expected at least one weight above zero")
    return kept


def _mix(parts: Sequence[Mixed]) -> Sizes:
    return _occurring([(part.length, part.weight) for part in parts])


FRAMES = OneOf(
    {
        "mix": Wrapped(
            "mix",
            ListOf(table_reader(Mixed), 1, MOST_LENGTHS),
            _mix,
            "The lengths, each with its weight.",
        ),
        "measured": Wrapped(
            "measured",
            text(1, 200),
            MeasuredFrames,
            "Name of a CSV file beside the experiment file, with the columns length_bytes and"
            " weight.",
        ),
        "samples": Wrapped("samples", table_reader(scenario.SamplesLengths)),
    },
    ALLOWED_FRAMES,
    Form(
        _mix_of_text,
        {
            "type": "string",
            "description": 'a length such as "64 B", or a mix such as "64 B x 7 + 1536 B x 1"',
        },
    ),
)
Frames = Annotated[Sizes | MeasuredFrames | scenario.SamplesLengths, FRAMES]
"""Frame lengths of a group."""

COLUMNS = ["length_bytes", "weight"]
"""The header of the file."""

LARGEST_FILE_BYTES = 1_000_000
"""The largest file that is measured_lengths."""

_MOST_BYTES = units.LARGEST_BITS // 8


def measured_lengths(path: Path, *, name: str) -> list[tuple[int, Fraction]]:
    """Read lengths in bits with their weights from a file, which faults call `name`.

    Raises
    ------
    InputError
        With every row that is wrong.

    """
    try:
        if not path.is_file():
            allowed = f"expected a CSV file with the columns {', '.join(COLUMNS)}"
            raise InputError.of(name, "(file)", "missing", allowed)
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except InputError:
        raise
    except csv.Error as error:
        raise InputError.of(name, "(file)", str(error), "expected a CSV file") from None
    except (OSError, ValueError) as error:
        value, allowed = type(error).__name__, "expected a readable CSV file in UTF-8"
        raise InputError.of(name, "(file)", value, allowed) from None
    if len(data) > LARGEST_FILE_BYTES:
        allowed = f"expected at most {LARGEST_FILE_BYTES} bytes"
        raise InputError.of(name, "(file)", "too large", allowed)
    return _rows_lengths(rows, name=name)


def _rows_lengths(rows: list[list[str]], *, name: str) -> list[tuple[int, Fraction]]:
    if not rows or [cell.strip() for cell in rows[0]] != COLUMNS:
        header = shown(",".join(rows[0]) if rows else "")
        raise InputError.of(name, "line 1", header, f"expected the header {','.join(COLUMNS)}")
    faults, lengths = [], []
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        length, weight = (_number(cell) for cell in (*row, "", "")[:2])
        key, value, allowed = f"line {number}", ",".join(row), ""
        if len(row) != len(COLUMNS):
            allowed = f"expected {len(COLUMNS)} columns"
        elif length is None or length.denominator != 1 or not 0 < length <= _MOST_BYTES:
            key, value = f"{key}, length_bytes", row[0]
            allowed = f"expected a whole number of bytes from 1 to {_MOST_BYTES}"
        elif weight is None or weight < 0:
            key, value, allowed = f"{key}, weight", row[1], "expected a number, zero or above"
        elif weight > 0:
            lengths.append((8 * int(length), weight))
        if allowed:
            faults.append(Fault(name, key, shown(value), allowed))
    if not faults and not 1 <= len(lengths) <= MOST_LENGTHS:
        allowed = f"expected from 1 to {MOST_LENGTHS} rows with a weight above zero"
        faults.append(Fault(name, "(file)", f"{len(lengths)} rows", allowed))
    if faults:
        raise InputError(faults)
    return lengths


def _number(cell: str) -> Fraction | None:
    try:
        value = float(cell) if len(cell) <= 40 else math.nan
    except ValueError:
        return None
    return units.exact(value) if math.isfinite(value) else None


def sizes_of(frames: Frames | None, *, folder: Path) -> Sizes:
    """Return lengths in bits with their weights; those of a file of measured lengths are read."""
    assert frames is not None
    assert not isinstance(frames, scenario.SamplesLengths)
    if isinstance(frames, MeasuredFrames):
        return measured_lengths(folder / frames.file, name=frames.file)
    return frames


def frames_plan(sizes: Sizes) -> scenario.Lengths:
    """Return lengths in bits with their weights as in a plan."""
    if len(sizes) == 1:
        return scenario.FixedLengths(bits=sizes[0][0])
    return scenario.MixLengths(
        bits=tuple(bits for bits, _ in sizes), weights=tuple(float(weight) for _, weight in sizes)
    )
