"""Message tables: flows as rows of a CSV file or a spreadsheet beside the experiment file.

A row becomes a table of `[[flows]]` with the values that a file would have, before tables are read,
so that all that holds for flows holds for rows. `FlowOrigins` knows the cell of each value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import msgspec

from ethermeter.experiment.flows import MOST_FLOWS, RECEIVERS, Flow
from ethermeter.experiment.quantity import text
from ethermeter.experiment.sheets import Sheet, Unreadable, read_sheet
from ethermeter.experiment.tables import (
    ListOf,
    NamedTables,
    Reader,
    Schema,
    keys_of,
    read_table,
    table_reader,
)
from ethermeter.experiment.toml import EVERY, Tables, value_of
from ethermeter.faults import Fault, Faults, InputError, KeyPath, choices, dotted, shown
from ethermeter.scenario import FileKey
from ethermeter.units import UNITS, UnitError

Columns = Mapping[str, tuple[str, tuple[str, ...]]]
COLUMNS: Columns = {
    "name": ("name", ("message", "flow", "stream")),
    "from": ("from", ("sender", "source", "talker")),
    "to": ("to", ("receiver", "receivers", "destination", "destinations", "listener", "listeners")),
    "size": ("frames", ("frame size", "frame length")),
    "period": ("arrivals.regular", ("cycle", "cycle time", "interval")),
    "jitter": ("arrivals.jitter", ()),
    "phase": ("arrivals.phase", ()),
    "priority": ("priority", ("prio", "pcp")),
    "deadline": ("deadline", ()),
}
"""Columns of a message table: the key of a flow that each is, and other headings that it may have.

Besides these, each key of a flow may be a column, by its dotted path.
"""
UNIT_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("byte", "bytes", "Byte", "Bytes", "octet", "octets", "Octets"), "B"),
    **dict.fromkeys(("bits", "Bit", "Bits"), "bit"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("usec", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nanosecond", "nanoseconds"), "ns"),
}
"""Words of people for units of a file."""
MOST_NAMES = 200
"""Columns that a mapping may name, or leave out."""


class MessageTable(Flow, frozen=True, kw_only=True):
    """Flows as rows of a table; other keys of a flow hold for each row without a cell for them."""

    table: Annotated[str, text(1, 200)]
    """Name of a file beside the experiment file: CSV, or a spreadsheet (xlsx), with a row of
    headings and a row for each flow.
    """
    sheet: Annotated[str, text(1, 100)] | None = None
    """Name of the sheet of a spreadsheet; the first if absent."""
    columns: Annotated[dict[str, str], NamedTables(text(1, 200), None, MOST_NAMES)] = msgspec.field(
        default_factory=dict
    )
    """Headings of the file that are not those of a message table: the column or the key of a flow,
    and its heading, such as `size = "Payload (byte)"`.
    """
    ignore: Annotated[tuple[str, ...], ListOf(text(1, 200), 0, MOST_NAMES)] = ()
    """Headings of columns that are not read; ["*"] leaves out all that are no columns of a message
    table.
    """
    source: Annotated[str, FileKey("from")] = ""
    """Name of the host that sends, where no column has it."""
    to: Annotated[tuple[str, ...], RECEIVERS] = ()
    """Name of the host that receives, or of a group, or a list of these, where no column has it."""


OWN = ("table", "sheet", "columns", "ignore")
"""Keys of a message table that are none of a flow."""


class FlowList(ListOf):
    """The flows of a file; message tables among them are written out before they are read."""

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""
        flows = super().schema_in(tables)
        table, name = table_reader(MessageTable).schema_in(tables), {"type": "string"}
        several = {**flows, "items": {"anyOf": [flows["items"], table]}}
        return {"anyOf": [several, {**name, "description": "a file name, such as messages.csv"}]}


# Where a flow comes from.


@dataclass(frozen=True, slots=True)
class FlowOrigin:
    """Where a flow of the document stands in the files that a person wrote."""

    entry: str
    """Dotted path of its table in the experiment file."""
    table: str = ""
    """Name of the file with its row; empty of a flow that is none."""
    row: int = 0
    headings: Mapping[str, str] = field(default_factory=dict)
    """Heading by the dotted key of a flow, of columns from which the row takes the key."""
    shared: frozenset[str] = frozenset()
    """Keys that the row has from the table of the experiment file."""

    def located(self, fault: Fault, key: str) -> Fault:
        """Return a fault of the flow, at a dotted key in it, as one of the file with its value."""
        heading = next(_nearest(key, self.headings), None)
        is_shared = heading is None and key.partition(".")[0] in self.shared
        if not self.table or is_shared:
            return replace(fault, key=f"{self.entry}.{key}" if key else self.entry)
        column = key if heading is None else self.headings[heading]
        return replace(fault, file=self.table, key=f"row {self.row}{', ' * bool(column)}{column}")


def _nearest(key: str, columns: Mapping[str, str]) -> Iterator[str]:
    """Yield the columns of a row that a fault at a key may come from, the likeliest first."""
    yield from (column for column in columns if key == column)
    yield from (column for column in columns if key.startswith(f"{column}."))
    yield from (column for column in columns if key and column.startswith(f"{key}."))


@dataclass(frozen=True, slots=True)
class WrittenFlows:
    """The flows of a document, those of message tables included."""

    flows: list[object]
    origins: Sequence[FlowOrigin]
    files: Mapping[str, str]
    """SHA-256 of each message table, by its name."""
    unread: bool
    """Whether a message table could not be read."""


def written_flows(given: object, *, faults: Faults, folder: Path) -> WrittenFlows | None:
    """Return the flows of a document with its message tables written out; None without any.

    `given` is what the file has as `flows`, `faults` are those of the experiment file, to which the
    faults of tables are added, and `folder` is where these are looked for.
    """
    entries = given if isinstance(given, list) else [given]
    tables = [{"table": each} if isinstance(each, str) else each for each in entries]
    if not any(isinstance(each, dict) and "table" in each for each in tables):
        return None
    flows: list[object] = []
    origins: list[FlowOrigin] = []
    files: dict[str, str] = {}
    unread = False
    for index, each in enumerate(tables):
        path: KeyPath = ("flows", index) if isinstance(given, list) else ("flows",)
        if not isinstance(each, dict) or "table" not in each:
            flows.append(each)
            origins.append(FlowOrigin(dotted(path)))
            continue
        made = faults.of(partial(_rows, each, path, folder, MOST_FLOWS - len(flows), faults))
        if made is None:
            unread = True
            continue
        rows, cells, digest = made
        flows += rows
        origins += cells
        files[each["table"]] = digest
    return WrittenFlows(flows, origins, files, unread)


# A table.


@dataclass(frozen=True, slots=True)
class _Column:
    """A column that is read."""

    heading: str
    key: str
    """Dotted key of a flow."""
    is_quantity: bool
    """Whether the key has a text, such as a number with a unit, and no plain number."""
    unit: str
    """Unit that the heading has; empty without one."""


def _rows(
    entry: Tables, path: KeyPath, folder: Path, most: int, faults: Faults
) -> tuple[list[Tables], list[FlowOrigin], str]:
    """Return the flows of a message table, their origins, and the digest of its file.

    Faults of cells are added to `faults`; those of the table as a whole are raised.
    """
    table = read_table(MessageTable, entry, file=faults.file, within=path)
    sheet = read_sheet(
        folder / table.table,
        name=table.table,
        most_rows=most + 1,
        sheet=table.sheet,
        score=lambda cells: sum(_read_heading(cell, table.columns) is not None for cell in cells),
    )
    (first, headings), *rows = sheet.rows
    if not rows:
        allowed = "expected a row for each flow below the headings"
        raise InputError.of(table.table, "(file)", "no rows", allowed)
    columns = _columns([" ".join(each.split()) for each in headings], first, table, path, faults)
    shared = {key: value for key, value in entry.items() if key not in OWN}
    cells = _Cells(columns, sheet)
    wrong = Faults(table.table)
    flows: list[Tables] = []
    origins: list[FlowOrigin] = []
    for number, texts in rows:
        flow = deepcopy(shared)
        given = {}
        for at, cell in enumerate(texts):
            if not cell or (column := columns.get(at)) is None:
                if cell and (at >= len(headings) or not headings[at]):
                    allowed = "expected an empty cell: there is no heading above it"
                    wrong.found.append(Fault(table.table, f"row {number}", shown(cell), allowed))
                continue
            given[column.key] = column.heading
            try:
                value = cells.value(cell, column)
            except UnitError as error:
                place = f"row {number}, {column.heading}"
                wrong.found.append(Fault(table.table, place, shown(cell), str(error)))
                value = cell
            _put(flow, column.key.split("."), value)
        if isinstance(to := flow.get("to"), list) and len(to) > 1 and "pairs" not in flow:
            flow.setdefault("cast", "multicast")
        blank = {
            column.key: column.heading
            for column in columns.values()
            if column.key not in given and column.key.partition(".")[0] not in shared
        }
        origins.append(
            FlowOrigin(dotted(path), table.table, number, given | blank, frozenset(shared))
        )
        flows.append(flow)
    faults.found += wrong.found
    return flows, origins, sheet.sha256


def _put(flow: Tables, path: Sequence[str], value: object) -> None:
    """Set a value at a key path; what is no table on the way is replaced."""
    *tables, last = path
    for key in tables:
        if not isinstance(flow.get(key), dict):
            flow[key] = {}
        flow = flow[key]
    flow[last] = value


# Headings.

_UNIT = re.compile(r"(.+?)\s*(?:\[([^]]*)\]|\(([^)]*)\)|(?:/|_|\bin\b)\s*(\w+))")
"""A heading with a unit behind it: "Period [ms]", "size (octets)", "Delay / us", "period_ms"."""


def _unit(text: str) -> str:
    """Return the unit of a file that a text stands for; empty if it is none."""
    text = text.strip()
    return text if text in UNITS else UNIT_WORDS.get(text, "")


def _words(heading: str) -> str:
    """Return a heading in lower case, its words with single spaces between them."""
    return " ".join(re.findall(r"[^\W_]+", heading.lower()))


@cache
def _known() -> Mapping[str, str]:
    """Return the keys of flows by headings for them."""
    return {word: key for name, (key, words) in COLUMNS.items() for word in (name, *words)}


@cache
def _reader(key: str) -> Reader | None:
    """Return what reads the values of a flow at a dotted key; None if there is no such key."""
    reader: Reader | None = table_reader(Flow)
    for part in key.split("."):
        reader = keys_of(reader).get(part) if reader is not None else None
    return reader


def _key(name: str) -> str | None:
    """Return the key of a flow that a column of this name has; None if there is none."""
    if (key := _known().get(_words(name))) is not None:
        return key
    return name if _reader(name) is not None else None


def _parts(heading: str) -> tuple[str, str]:
    """Return a heading without the unit behind it, and what may be this unit."""
    parts = _UNIT.fullmatch(heading)
    return (parts[1], parts[2] or parts[3] or parts[4] or "") if parts else (heading, "")


def _read_heading(heading: str, mapped: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the key of a flow that a heading stands for, and what stands for a unit in it.

    `mapped` has the headings of columns that the experiment file names.
    """
    heading = " ".join(heading.split())
    by_heading = {_words(given): name for name, given in mapped.items() if _key(name) is not None}
    bare, unit = _parts(heading)
    for name in dict.fromkeys((heading, bare)):
        if (key := _key(by_heading.get(_words(name), name))) is not None:
            return key, unit
    return None


def _columns(
    headings: Sequence[str], row: int, table: MessageTable, path: KeyPath, faults: Faults
) -> Mapping[int, _Column]:
    """Return the columns of a table that are read, by their numbers; InputError if some cannot."""
    wrong, of_entry = Faults(table.table), Faults(faults.file, path)
    where = f"row {row}"
    known = {_words(name) for heading in headings for name in (heading, _parts(heading)[0])}
    for name, heading in table.columns.items():
        if _key(name) is None:
            of_entry.add(("columns", name), shown(heading), f"unknown column; {_choices(name)}")
        if _words(heading) not in known:
            allowed = choices(
                heading, filter(None, headings), f"expected a heading of {table.table}: "
            )
            of_entry.add(("columns", name), shown(heading), allowed)
    ignored = {_words(heading) for heading in table.ignore}
    found: dict[int, _Column] = {}
    for at, heading in enumerate(headings):
        if not heading or _words(heading) in ignored:
            continue
        read = _read_heading(heading, table.columns)
        if read is None:
            if EVERY not in table.ignore:
                allowed = f"unknown column; {_choices(heading)}; see columns and ignore of flows"
                wrong.found.append(Fault(table.table, where, shown(heading), allowed))
            continue
        key, text = read
        is_quantity, unit = _has_text(key), _unit(text)
        if text and not unit and is_quantity and key not in _WORDS:
            allowed = "expected a unit in the heading, such as ms, us or B, or none"
            wrong.found.append(Fault(table.table, where, shown(heading), allowed))
        same = next((each for each in found.values() if each.key == key), None)
        if same is not None:
            allowed = f"expected one column for {key}; {same.heading} is one"
            wrong.found.append(Fault(table.table, where, shown(heading), allowed))
        found[at] = _Column(heading, key, is_quantity, unit if is_quantity else "")
    for key in ("from", "to"):
        if key not in table.given and all(column.key != key for column in found.values()):
            allowed = f'required: a column "{key}", or one that columns names: {{ {key} = "…" }}'
            wrong.found.append(Fault(table.table, where, "(missing)", allowed))
    if wrong.found or of_entry.found:
        raise InputError([*of_entry.found, *wrong.found])
    return found


def _choices(name: str) -> str:
    return choices(name, COLUMNS, "allowed: the keys of a flow, and ")


_WORDS = ("name", "from", "to")
"""Keys whose texts have no unit."""


def _has_text(key: str) -> bool:
    """Whether a key of a flow has a text, and no plain number or truth value."""
    reader = _reader(key)
    assert reader is not None, "a key of a flow"
    schema = reader.schema_in({})
    kinds = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return not {each.get("type") for each in kinds} & {"integer", "number", "boolean"}


# Cells.

_NUMBER = re.compile(r"([+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(.*)", re.DOTALL)
_NAMES = re.compile(r"[,;|/\r\n]+")
"""What stands between several receivers in a cell."""


class _Cells:
    """The values of cells, of a table with one mark of decimals."""

    def __init__(self, columns: Mapping[int, _Column], sheet: Sheet) -> None:
        self._is_continental = sheet.delimiter in (";", "\t")
        numbers = (
            match[1]
            for _, texts in sheet.rows[1:]
            for at, text in enumerate(texts)
            if at in columns and (match := _NUMBER.fullmatch(text))
        )
        self._has_comma = any("," in number for number in numbers)

    def value(self, text: str, column: _Column) -> object:
        """Return what a file would have in place of a cell; UnitError if there is no such thing."""
        if isinstance(text, Unreadable):
            raise UnitError(text.allowed)
        if column.key == "to":
            names = [name for part in _NAMES.split(text) if (name := part.strip())]
            return names[0] if len(names) == 1 else names
        if column.key in _WORDS:
            return text
        match = _NUMBER.fullmatch(text)
        if match is None:
            return value_of(text) if not column.is_quantity or text[0] in "{[" else text
        unit = _unit(match[2])
        if match[2] and not (unit and column.is_quantity):
            return text  # no number with a unit, such as a mix of lengths, or a fault
        digits = self._pointed(match[1])
        if not column.is_quantity:
            return value_of(digits)
        if unit and column.unit and unit != column.unit:
            allowed = f"expected {column.unit}, as in the heading, or no unit in one of both"
            raise UnitError(allowed)
        return f"{digits} {unit or column.unit}".strip()

    def _pointed(self, number: str) -> str:
        """Return a number with a decimal point."""
        if "." in number and self._has_comma:
            raise UnitError("expected a decimal comma, as in other cells, and no mark of thousands")
        whole, comma, rest = number.partition(",")
        if comma and len(rest) == 3 and not self._is_continental:
            raise UnitError(
                f"expected {whole}{rest} or {whole}.{rest}, whichever the comma stands for"
            )
        return number.replace(",", ".")
