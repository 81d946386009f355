"""Frame lengths: fixed, mixed, measured, or gathered from a coder's samples.

Measured lengths are in a CSV file with the columns length_bytes and weight.
"""

import csv
import io
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from pydantic import Field, PlainValidator, StringConstraints, Tag, WithJsonSchema, model_validator

from ethermeter import scenario, units
from ethermeter.experiment.quantity import AnySize, Size, Table, Weight, choice, complaint, tag
from ethermeter.faults import Fault, InputError, shown
from ethermeter.units import UnitError

MOST_LENGTHS = 2000
"""Different lengths a mix may have."""

ALLOWED_FRAMES = (
    'expected a length such as "64 B", a mix such as "64 B x 7 + 1536 B x 1", { mix = [ { length ='
    ' "64 B", weight = 7 }, … ] }, { measured = "lengths.csv" } or, with a coder, { samples = {'
    ' least = "64 B", most = "1024 B", overhead = "6 B" } }'
)


class Mixed(Table):
    """A length of a mix."""

    length: Size
    """Length of the frame or, in `data`, of the data."""
    weight: Weight
    """Frequency of the length, relative to the other lengths."""


def _mix_of_text(value: object) -> list[Mixed]:
    """Read "64 B" or "64 B x 7 + 1536 B x 1"."""
    if not isinstance(value, str) or len(value) > 4000:
        raise complaint(ALLOWED_FRAMES)
    if "x" not in value:
        return [Mixed.model_construct(length=_size(value), weight=Fraction(1))]
    parts = []
    for part in value.split("+"):
        length, _, weight = part.partition("x")
        if not (weight.strip().isascii() and weight.strip().isdigit() and len(weight.strip()) <= 9):
            raise complaint(
                'expected parts such as "64 B x 7", each with a whole weight, joined by +; not'
                f' "{part.strip()[:40]}"'
            )
        parts.append(Mixed.model_construct(length=_size(length), weight=Fraction(int(weight))))
    return _checked(parts)


def _size(text: str) -> int:
    try:
        return units.size_bits(text.strip(), positive=True)
    except UnitError as error:
        raise complaint(str(error)) from None


def _checked(parts: list[Mixed]) -> list[Mixed]:
    """Return the parts that occur at all."""
    kept = [part for part in parts if part.weight > 0]
    if not kept:
        raise complaint("expected at least one weight above zero")
    return kept


class Mix(Table):
    """Frames of several lengths, drawn independently."""

    mix: Annotated[list[Mixed], Field(min_length=1, max_length=MOST_LENGTHS)]
    """The lengths, each with its weight."""

    @model_validator(mode="after")
    def _has_weight(self) -> "Mix":
        _checked(self.mix)
        return self


class MeasuredFrames(Table):
    """Frame lengths from a CSV file beside the experiment file."""

    measured: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Name of a CSV file beside the experiment file, with the columns length_bytes and weight."""


class Growth(Table):
    """Lengths of a frame that collects a coder's samples, each with the overhead."""

    least: Size
    """Length at which the frame is ready to be sent, overhead included."""
    most: Size
    """Largest length, overhead included; beyond it each new sample replaces the oldest."""
    overhead: AnySize
    """Part of the length that is not samples: addresses, type, check sequence and headers of a
    voice protocol; in `data` only the latter.
    """


class Samples(Table):
    """Frames that collect the samples of a coder."""

    samples: Growth
    """Smallest length, largest length and overhead."""


Frames = Annotated[
    Annotated[
        list[Mixed],
        PlainValidator(_mix_of_text),
        WithJsonSchema(
            {
                "type": "string",
                "description": 'a length such as "64 B", or a mix such as "64 B x 7 + 1536 B x 1"',
            }
        ),
        Tag(tag("text")),
    ]
    | Annotated[Mix, Tag(tag("mix"))]
    | Annotated[MeasuredFrames, Tag(tag("measured"))]
    | Annotated[Samples, Tag(tag("samples"))],
    choice("mix", "measured", "samples", allowed=ALLOWED_FRAMES),
]
"""Frame lengths of a group."""

Sizes = Sequence[tuple[int, Fraction]]
"""Lengths in bits with their weights."""

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
    assert not isinstance(frames, Samples)
    if isinstance(frames, MeasuredFrames):
        return measured_lengths(folder / frames.measured, name=frames.measured)
    mixed = frames.mix if isinstance(frames, Mix) else frames
    return [(part.length, part.weight) for part in mixed if part.weight > 0]


def frames_plan(sizes: Sizes) -> scenario.Lengths:
    """Return lengths in bits with their weights as in a plan."""
    if len(sizes) == 1:
        return scenario.FixedLengths(bits=sizes[0][0])
    return scenario.MixLengths(
        bits=tuple(bits for bits, _ in sizes), weights=tuple(float(weight) for _, weight in sizes)
    )
