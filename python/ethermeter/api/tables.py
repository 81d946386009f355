"""Tables of a run as files: a workbook with a sheet for each, or CSV files."""

import csv
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.faults import InputError

if TYPE_CHECKING:
    from ethermeter.analysis.tables import Row

WORKBOOK, TEXT = ".xlsx", ".csv"
WIDEST = 40
"""Width of a column of a workbook at most, in letters."""


def require(file: Path) -> None:
    """Refuse a file in which no tables can be written.

    Raises
    ------
    InputError
        If its ending is none of those, or openpyxl is not installed.

    """
    if file.suffix not in (WORKBOOK, TEXT):
        raise InputError.of_argument("tables", str(file), f"expected one of {WORKBOOK}, {TEXT}")
    if file.suffix == WORKBOOK and find_spec("openpyxl") is None:
        allowed = f"openpyxl, which is not installed: pip install 'ethermeter[xlsx]'; or {TEXT}"
        raise InputError.of_argument("tables", str(file), allowed)


def write(file: Path, tables: "Mapping[str, Sequence[Row]]") -> tuple[Path, ...]:
    """Write tables, and return the files: one workbook, or a CSV file for each table.

    A CSV file has the name of its table before the ending, as in `tables-bounds.csv`.
    """
    if file.suffix == WORKBOOK:
        _workbook(file, tables)
        return (file,)
    written = []
    from ethermeter.analysis.tables import columns

    for name, rows in tables.items():
        path = file.with_stem(f"{file.stem}-{name}")
        with path.open("w", encoding="utf-8", newline="") as text:
            lines = csv.DictWriter(text, columns(rows), lineterminator="\n")
            lines.writeheader()
            lines.writerows(rows)
        written.append(path)
    return tuple(written)


def _workbook(file: Path, tables: "Mapping[str, Sequence[Row]]") -> None:
    import openpyxl
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    from ethermeter.analysis.tables import columns

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in tables.items():
        sheet, heads = book.create_sheet(name), columns(rows)
        sheet.append(heads)
        for row in rows:
            sheet.append([row.get(head) for head in heads])
        sheet.freeze_panes = "A2"
        sheet.auto_filter.ref = sheet.dimensions
        for at, head in enumerate(heads, 1):
            sheet.cell(1, at).font = Font(bold=True)
            texts = [head, *(of for row in rows if isinstance(of := row.get(head), str))]
            width = min(WIDEST, 2 + max(map(len, texts)))
            sheet.column_dimensions[get_column_letter(at)].width = width
    book.save(file)
