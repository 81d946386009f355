"""Sheets: the cells of a CSV file or of a spreadsheet (xlsx) as text, row by row.

CSV is read as spreadsheets write it: in UTF-8, UTF-16 or Windows-1252, with commas, semicolons,
tabs or bars between the cells, and line breaks within quoted ones.
"""

import csv
import datetime
import hashlib
import io
import re
import string
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from ethermeter.faults import InputError, choices, shown

LARGEST_BYTES = 16_000_000
"""The largest file that is read."""
LARGEST_UNPACKED_BYTES = 128_000_000
"""The largest contents of a spreadsheet, unpacked."""
MOST_COLUMNS = 256
"""Columns that a sheet may have."""
DELIMITERS = ",;\t|"
"""What may stand between the cells of a CSV file."""
_BLANK = DELIMITERS + string.whitespace
_SEP = re.compile(r'"?sep=(.)"?(?:\r\n?|\n)', re.IGNORECASE)
_ZIP, _OLD = b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
_ALLOWED = "expected a CSV file, or a spreadsheet (xlsx)"


class Unreadable(str):
    """The text of a cell whose value cannot be used; `allowed` says what can."""

    __slots__ = ("allowed",)
    allowed: str

    @classmethod
    def of(cls, text: str, allowed: str) -> "Unreadable":
        """Return the text of a cell with what is allowed instead."""
        made = cls(text)
        made.allowed = allowed
        return made


Row = tuple[int, list[str]]
"""Number of a row, from 1 as spreadsheets count, and its cells without spaces around them."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a sheet that have a cell with something in it."""

    rows: Sequence[Row]
    delimiter: str
    """What stands between the cells of a CSV file; empty of a spreadsheet."""
    sha256: str
    """SHA-256 of the file, in hexadecimal."""


def read_sheet(
    path: Path,
    *,
    name: str,
    most_rows: int,
    sheet: str | None = None,
    score: Callable[[Sequence[str]], int] = len,
) -> Sheet:
    """Read a file, which faults call `name`.

    Parameters
    ----------
    path
        The file.
    name
        What faults call it.
    most_rows
        Rows that it may have, headings included.
    sheet
        Name of the sheet of a spreadsheet; the first if None.
    score
        How well cells fit as headings. Of the delimiters of a CSV file the one is taken whose first
        row fits best, then that with most cells.

    Raises
    ------
    InputError
        If it cannot be read, or has too many rows.

    """

    def wrong(value: str, allowed: str) -> InputError:
        return InputError.of(name, "(file)", value, allowed)

    data = _bytes(path, wrong)
    if data.startswith(_OLD):
        raise wrong(
            "a spreadsheet of an old format", "expected xlsx or CSV: save it as one of these"
        )
    delimiter = ""
    rows: Iterator[Row]
    if data.startswith(_ZIP):
        rows = iter(_spreadsheet_rows(data, sheet, most_rows, wrong))
    elif sheet is not None:
        raise wrong("a CSV file", "expected a spreadsheet (xlsx) where a sheet is named")
    else:
        text = decoded(data, wrong)
        delimiter, has_line = delimiter_of(text, score)
        rows = islice(csv_rows(text, delimiter, wrong), int(has_line), None)
    filled = ((number, _stripped(cells)) for number, cells in rows)
    kept = [row for row in islice(((n, c) for n, c in filled if any(c)), most_rows + 1)]
    for number, cells in kept:
        if any(cells[MOST_COLUMNS:]):
            raise wrong(f"row {number}: more columns", f"expected at most {MOST_COLUMNS}")
    if not kept:
        raise wrong("empty", "expected a row of headings, and rows below it")
    if len(kept) > most_rows:
        raise wrong("more rows", f"expected at most {most_rows}, headings included")
    return Sheet(kept, delimiter, hashlib.sha256(data).hexdigest())


Wrong = Callable[[str, str], InputError]
"""Makes the error of a file as a whole: the value, and what is allowed."""


def _bytes(path: Path, wrong: Wrong) -> bytes:
    try:
        if not path.is_file():
            raise wrong("a directory" if path.is_dir() else "missing", _ALLOWED)
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except InputError:
        raise
    except OSError as error:
        value = error.strerror or type(error).__name__
        raise wrong(value, "expected a readable file") from None
    except ValueError:
        raise wrong(shown(str(path)), "expected the name of a file") from None
    if len(data) > LARGEST_BYTES:
        raise wrong("too large", f"expected at most {LARGEST_BYTES} bytes")
    return data


def _stripped(cells: Sequence[str]) -> list[str]:
    return [cell if isinstance(cell, Unreadable) else cell.strip() for cell in cells]


# CSV


def decoded(data: bytes, wrong: Wrong) -> str:
    """Return the text of a CSV file.

    It is UTF-16 if it has the byte order mark of it, else UTF-8, else Windows-1252, which
    spreadsheets write in Western Europe.
    """
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if is_wide else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
        break
    raise wrong("not a text", _ALLOWED)


def delimiter_of(text: str, score: Callable[[Sequence[str]], int]) -> tuple[str, bool]:
    """Return what stands between the cells of a CSV text, and whether its first line says so.

    Spreadsheets heed such a line: "sep=;".
    """
    if (line := _SEP.match(text)) is not None:
        return line[1], True
    fits = {each: _headings(text, each) for each in DELIMITERS}
    return max(fits, key=lambda each: (score(fits[each]), len(fits[each]))), False


def csv_rows(text: str, delimiter: str, wrong: Wrong) -> Iterator[Row]:
    """Yield the rows of a CSV text, empty ones too."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    for number in count(1):
        try:
            cells = next(reader, None)
        except csv.Error as error:
            allowed = "expected quotes around a cell as spreadsheets write them, doubled within it"
            raise wrong(f"row {number}: {error}", allowed) from None
        if cells is None:
            return
        yield number, cells


def _headings(text: str, delimiter: str) -> list[str]:
    """Return the first row that is not empty, as far as it can be read."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        filled = (cells for cells in reader if any(cell.strip(_BLANK) for cell in cells))
        return next(filled, [])
    except csv.Error:
        return []


# Spreadsheets


def _spreadsheet_rows(
    data: bytes, sheet: str | None, most_rows: int, wrong: Wrong
) -> Sequence[Row]:
    """Return the rows of a sheet with something in them, up to one more than it may have."""
    try:
        import openpyxl
    except ImportError:
        allowed = "installed: pip install 'ethermeter[xlsx]'; or save the sheet as CSV"
        raise wrong("openpyxl is missing, which reads spreadsheets", allowed) from None
    try:
        _check_size(data, wrong)
        with warnings.catch_warnings():
            # Of what a sheet has besides cells, such as validations, and is not read.
            warnings.simplefilter("ignore")
            # Formulas too: one without a stored value looks like an empty cell.
            values, formulas = (
                openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=is_value)
                for is_value in (True, False)
            )
            names = values.sheetnames
            if sheet is not None and sheet not in names:
                raise wrong(shown(sheet), choices(sheet, names, "expected a sheet of the file: "))
            chosen = sheet or names[0]
            both = (
                book[chosen].iter_rows(max_col=MOST_COLUMNS + 1, values_only=True)
                for book in (values, formulas)
            )
            rows: list[Row] = []
            for number, cells in enumerate(zip(*both, strict=True), start=1):
                texts = [_text(*pair) for pair in zip(*cells, strict=True)]
                if any(texts):
                    rows.append((number, texts))
                if len(rows) > most_rows:
                    break
    except InputError:
        raise
    except Exception as error:  # the library names no errors of damaged files
        value = f"damaged: {type(error).__name__}"
        raise wrong(value, "expected a spreadsheet (xlsx) that spreadsheet programs open") from None
    return rows


def _check_size(data: bytes, wrong: Wrong) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        octets = sum(entry.file_size for entry in archive.infolist())
    if octets > LARGEST_UNPACKED_BYTES:
        raise wrong("too large", f"expected at most {LARGEST_UNPACKED_BYTES} bytes unpacked")


def _text(value: object, formula: object) -> str:
    """Return a cell as text; a number as a spreadsheet shows it, with at most 15 digits."""
    match value:
        case None if isinstance(formula, str) and formula.startswith("="):
            allowed = "expected a formula whose value is stored: open and save it in a spreadsheet"
            return Unreadable.of(formula, allowed)
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value:.15g}"
        case datetime.date() | datetime.time() | datetime.timedelta():
            allowed = "expected a number or a text: the cell has the format of a date or a time"
            return Unreadable.of(str(value), allowed)
        case _:
            return str(value)
