"""Tables of an experiment file: one reader for all of them, and what it knows of their keys.

A table is a struct: one of a scenario, or one that only files have (`FileTable`). Keys, units and
ranges of the former come from `crates/trial`. A table that only files have may have the keys of
structs of a scenario besides its own (`OF`); their values are handed on unseen (`lowered`).
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT, Struct

from ethermeter.experiment import quantity, toml
from ethermeter.experiment.quantity import Form, as_written
from ethermeter.experiment.toml import Tables
from ethermeter.faults import (
    LONGEST_VALUE,
    Fault,
    InputError,
    Key,
    KeyPath,
    choices,
    dotted,
    nearest,
    shown,
    small_first,
)
from ethermeter.scenario import FileKey
from ethermeter.units import UnitError

S = TypeVar("S", bound=Struct)
Schema = Tables


class FileTable(Struct, frozen=True, kw_only=True):
    """A table that only files have."""

    OF: ClassVar[tuple[type[Struct], ...]] = ()
    """Structs of a scenario whose keys it has besides its own."""
    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    """Keys of these structs that it does not have."""
    ELSEWHERE: ClassVar[str] = ""
    """What has those keys, for a person who writes one here."""

    given: frozenset[str] = frozenset()
    """Keys that the file has."""
    core: Mapping[str, object] = msgspec.field(default_factory=dict)
    """Values of fields of `OF` that the file has."""
    written: KeyPath = ()
    """Where the file has what a table stands for; empty of a table that was read."""

    @classmethod
    def requires(cls, _: Mapping[str, object], /) -> Iterable[str]:
        """Return keys that the table of a file must have besides those without a default."""
        return ()

    def check(self) -> None:
        """Refuse values that contradict each other, by `UnitError` or `TableError`."""


CHECKS: dict[type[Struct], Callable[[Any], None]] = {}
"""What `FileTable.check` is, for structs of a scenario."""


class Reader(Protocol):
    """Reads values of a file."""

    def read(self, value: Any, /) -> Any:
        """Return a value; `UnitError` says what is allowed, `TableError` has faults within it."""

    def schema_in(self, tables: Schema, /) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""


class InnerFault(NamedTuple):
    """A fault of a table: where in it, the value, and what is allowed."""

    path: KeyPath
    value: str
    allowed: str


class TableError(ValueError):
    """A value with faults within it."""

    def __init__(self, faults: Sequence[InnerFault]) -> None:
        self.faults = faults
        super().__init__(faults)


def faults_below(error: UnitError | TableError, key: Key, value: object) -> list[InnerFault]:
    """Return the faults of a value that has this key."""
    if isinstance(error, TableError):
        return [each._replace(path=(key, *each.path)) for each in error.faults]
    return [InnerFault((key,), shown(value), str(error))]


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """A list of values that are read alike."""

    item: Reader
    least: int = 0
    most: int | None = None
    check: Callable[[list[Any]], None] | None = None

    def read(self, value: object) -> tuple[Any, ...]:
        """Return the values."""
        if not isinstance(value, list):
            raise UnitError("expected a list")
        if len(value) < self.least:
            raise UnitError(f"expected at least {self.least} of them")
        if self.most is not None and len(value) > self.most:
            raise UnitError(f"expected at most {self.most} of them")
        read, faults = [], []
        for index, each in enumerate(value):
            try:
                read.append(self.item.read(each))
            except (UnitError, TableError) as error:
                faults += faults_below(error, index, each)
        if faults:
            raise TableError(faults)
        if self.check is not None:
            self.check(read)
        return tuple(read)

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""
        limits = {"minItems": self.least or None, "maxItems": self.most}
        given = {key: each for key, each in limits.items() if each is not None}
        return {"type": "array", "items": self.item.schema_in(tables), **given}


@dataclass(frozen=True, slots=True, eq=False)
class NamedTables:
    """A table whose keys are names."""

    item: Reader
    name: Form | None = None
    most: int | None = None

    def read(self, value: object) -> dict[str, object]:
        """Return the values by name."""
        if not isinstance(value, dict):
            raise UnitError("expected a table")
        if self.most is not None and len(value) > self.most:
            raise UnitError(f"expected at most {self.most} of them")
        read, faults = {}, []
        for name, each in value.items():
            try:
                if self.name is not None:
                    self.name.read(name)
            except UnitError as error:
                faults += faults_below(error, name, name)
            try:
                read[name] = self.item.read(each)
            except (UnitError, TableError) as error:
                faults += faults_below(error, name, each)
        if faults:
            raise TableError(faults)
        return read

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""
        item = self.item.schema_in(tables)
        pattern = self.name.schema.get("pattern") if self.name is not None else None
        inner = (
            {"patternProperties": {pattern: item}} if pattern else {"additionalProperties": item}
        )
        return {"type": "object", **inner}


@dataclass(frozen=True, slots=True, eq=False)
class Wrapped:
    """A table of one key, whose value is read."""

    key: str
    inner: Reader
    make: Callable[[Any], Any] | None = None
    description: str | type[Struct] = ""
    """What the key is, or the struct in whose source that stands."""

    @property
    def fields(self) -> Mapping[str, Reader]:
        """What is read by the key of the file."""
        return {self.key: self.inner}

    def read(self, value: Any) -> Any:
        """Return the value of the key."""
        faults = [_unknown(key, value[key], (self.key,)) for key in value if key != self.key]
        try:
            read = self.inner.read(value[self.key])
        except (UnitError, TableError) as error:
            faults = [*faults_below(error, self.key, value[self.key]), *faults]
        if faults:
            raise TableError(faults)
        return read if self.make is None else self.make(read)

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""
        inner = self.inner.schema_in(tables)
        text = self.description
        if not isinstance(text, str):
            text = descriptions(text).get(self.key, "")
        if text:
            inner = {**inner, "description": text}
        return {
            "type": "object",
            "properties": {self.key: inner},
            "required": [self.key],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """A word, or a table that one of its keys tells from others."""

    kinds: Mapping[str, "TableReader | Wrapped"]
    """Readers of the tables, by that key."""
    allowed: str
    """What is allowed where a value is none of them."""
    plain: Form | None = None
    """Form of what is no table."""

    def read(self, value: object) -> Any:
        """Return the value of the kind."""
        if isinstance(value, dict):
            for key in value:
                if (kind := self.kinds.get(key)) is not None:
                    return kind.read(value)
        elif self.plain is not None and isinstance(value, str):
            return self.plain.read(value)
        raise UnitError(self.allowed)

    @property
    def fields(self) -> Mapping[str, Reader]:
        """What is read by the key of the file, of all kinds."""
        return {key: each for kind in self.kinds.values() for key, each in kind.fields.items()}

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""
        plain = [] if self.plain is None else [dict(self.plain.schema)]
        return {"oneOf": [*plain, *(kind.schema_in(tables) for kind in self.kinds.values())]}


class Field(NamedTuple):
    """A field of a struct."""

    name: str
    key: str
    """Key of the file."""
    hint: Any
    """Its type."""
    is_required: bool
    is_core: bool = False
    """Whether it is one of a struct of a scenario, not of the table that is read."""


class TableReader:
    """Reads tables of one kind.

    Parameters
    ----------
    struct
        The kind.

    """

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct

    # Compiled when the first table is read: then all `FORMS` are known.

    @functools.cached_property
    def _fields(self) -> Mapping[str, Field]:
        """Its fields by the key of the file: its own, then those of structs of a scenario."""
        own = list(fields_of(self.struct))
        own.sort(key=lambda field: field.name not in self.struct.__annotations__)
        fields = {field.key: field for field in own}
        if issubclass(self.struct, FileTable):
            others = (field for struct in self.struct.OF for field in fields_of(struct))
            for field in others:
                if field.key not in self.struct.LEFT_OUT:
                    fields.setdefault(field.key, field._replace(is_core=True))
        return fields

    @functools.cached_property
    def fields(self) -> Mapping[str, Reader]:
        """What is read by the key of the file."""
        return {key: reader_of(field.hint) for key, field in self._fields.items()}

    @functools.cached_property
    def required(self) -> list[str]:
        """Keys that a file must have."""
        return [key for key, field in self._fields.items() if field.is_required]

    def read(self, value: object) -> Any:
        """Return the table, or raise with all its faults."""
        if not isinstance(value, dict):
            is_off = value is False and "enable" in self.fields
            raise UnitError(f"expected a table{': { enable = false }' if is_off else ''}")
        readers, fields = self.fields, self._fields
        own: dict[str, object] = {}
        core: dict[str, object] = {}
        faults: list[InnerFault] = []
        for key, each in value.items():
            if (reader := readers.get(key)) is None:
                faults.append(self._unknown(key, each))
                continue
            try:
                field = fields[key]
                (core if field.is_core else own)[field.name] = reader.read(each)
            except (UnitError, TableError) as error:
                faults += faults_below(_unquoted(error, each, reader), key, each)
        required: Iterable[str] = self.required
        check = CHECKS.get(self.struct)
        if issubclass(self.struct, FileTable):
            required = (*required, *self.struct.requires(value))
            check = self.struct.check
            own |= {"given": frozenset(value), "core": core}
        # A required key that is misspelt is not missing, too.
        unknown = [key for key in value if key not in readers]
        meant = {near for key in unknown for near in nearest(key, list(readers))}
        for key in required:
            if key not in value and key not in meant:
                faults.append(InnerFault((key,), "(missing)", self._required(key)))
        if faults:
            order = [*readers, *value]
            raise TableError(sorted(faults, key=lambda fault: order.index(fault.path[0])))
        made = self.struct(**own)
        if check is not None:
            check(made)
        return made

    def _unknown(self, key: str, value: object) -> InnerFault:
        elsewhere = ""
        if issubclass(self.struct, FileTable) and key in self.struct.LEFT_OUT:
            elsewhere = self.struct.ELSEWHERE
        if elsewhere:
            allowed = f"unknown key; {elsewhere}; allowed: {', '.join(self.fields)}"
            return InnerFault((key,), shown(value), allowed)
        return _unknown(key, value, self.fields)

    def _required(self, key: str) -> str:
        text = descriptions(self.struct).get(key, "")
        return f"required: {small_first(text.rstrip('.'))}" if text else "required"

    def schema_in(self, tables: Schema) -> Schema:
        """Return its JSON Schema; those of tables in it are put into `tables`."""
        name = self.struct.__name__
        if name not in tables:
            tables[name] = {}
            tables[name] = self._schema(tables)
        return {"$ref": f"#/$defs/{name}"}

    def _schema(self, tables: Schema) -> Schema:
        texts = descriptions(self.struct)
        properties = {}
        for key, reader in self.fields.items():
            properties[key] = reader.schema_in(tables)
            if key in texts:
                if "description" in properties[key]:
                    properties[key] = {"allOf": [properties[key]]}
                properties[key]["description"] = texts[key]
            # What depends on other keys is said in words.
            default = _default(self.struct, key, reader)
            if default is not None and "absent" not in texts.get(key, ""):
                properties[key]["default"] = default
        return {
            "type": "object",
            "description": inspect.cleandoc(self.struct.__doc__ or ""),
            "properties": properties,
            **({"required": self.required} if self.required else {}),
            "additionalProperties": False,
        }


def _unquoted(
    error: UnitError | TableError, value: object, reader: Reader
) -> UnitError | TableError:
    """Return the error of a value, which is a number or a truth but for its quotes, if it is."""
    is_table = isinstance(error, TableError)
    if is_table or not isinstance(value, str) or len(value) > LONGEST_VALUE:
        return error
    try:
        bare = toml.value_of(value)
        if isinstance(bare, str):
            return error
        reader.read(bare)
    except (UnitError, TableError):
        return error
    return UnitError(f"{error}; in quotes it is a text: write {value.strip()}")


def _unknown(key: str, value: object, known: Iterable[str]) -> InnerFault:
    return InnerFault((key,), shown(value), f"unknown key; {choices(key, known, 'allowed: ')}")


def fields_of(struct: type[Struct]) -> Iterator[Field]:
    """Yield each field that a file has."""
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        key = file_keys(struct)[field.name].name
        is_made = key is not None and (key == "" or "|" in key or "." in key)
        if field.name in FileTable.__struct_fields__ or is_made:
            continue
        is_required = field.default is NODEFAULT and field.default_factory is NODEFAULT
        yield Field(field.name, str(key or field.encode_name), hints[field.name], is_required)


@functools.cache
def table_reader(struct: type[Struct]) -> TableReader:
    """Return the reader of tables of one kind."""
    return TableReader(struct)


FORMS: dict[object, Reader] = {}
"""Readers of types of a scenario that a file writes in a form of its own.

`traffic`, `classes`, `components` and `transfers` add them.
"""


def reader_of(hint: Any) -> Reader:
    """Return the reader of values of a type; of an optional one, of those that are there."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        for note in notes:
            if hasattr(note, "schema_in"):
                return note  # type: ignore[no-any-return]
        key = next((note for note in notes if isinstance(note, FileKey)), FileKey())
        is_list = get_origin(inner) is tuple
        item = get_args(inner)[0] if is_list else inner
        form = quantity.form_of(key, is_float=float in _members(item)) or reader_of(item)
        return ListOf(form, *(key.items or ())) if is_list else form
    if (known := FORMS.get(hint)) is not None:
        return known
    members = _members(hint)
    if len(members) == 1 and members[0] is not hint:
        return reader_of(members[0])
    origin = get_origin(hint)
    if origin is Literal:
        return quantity.words(*get_args(hint))
    if origin in (tuple, list):
        return ListOf(reader_of(get_args(hint)[0]))
    if origin is dict:
        return NamedTables(reader_of(get_args(hint)[1]))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return table_reader(hint)
    return _PLAIN[hint]


_PLAIN: Mapping[object, Form] = {
    bool: quantity.TRUTH,
    int: quantity.integer(),
    str: quantity.text(),
}


def _members(hint: Any) -> list[Any]:
    """Return the types of a union, without None."""
    if get_origin(hint) in (Union, UnionType):
        return [each for each in get_args(hint) if each is not type(None)]
    return [hint]


def tagged(
    union: Any, allowed: str, *, plain: Form | None = None, **kinds: TableReader | Wrapped
) -> OneOf:
    """Return the reader of a union of structs with tags, which are keys in a file.

    `kinds` stand for those of the same key. A struct that has its tag among its keys is written as
    it is, another one as a table behind its tag.
    """
    made: dict[str, TableReader | Wrapped] = {}
    for struct in _members(union):
        tag = str(struct.__struct_config__.tag).replace("-", "_")
        if tag in kinds:
            made[tag] = kinds[tag]
        elif struct.__struct_fields__:
            inner = table_reader(struct)
            made[tag] = inner if tag in inner.fields else Wrapped(tag, inner)
    return OneOf(made | kinds, allowed, plain)


def keyed(struct: type[Struct], word: str, allowed: str) -> OneOf:
    """Return the reader of a word, or of a struct of which exactly one field is set."""
    hints = get_type_hints(struct, include_extras=True)

    def wrapped(name: str) -> Wrapped:
        return Wrapped(name, reader_of(hints[name]), lambda value: struct(**{name: value}), struct)

    kinds = {name: wrapped(name) for name in struct.__struct_fields__}
    return OneOf(kinds, allowed, quantity.words(word, allowed=allowed))


@functools.cache
def file_keys(struct: type[Struct]) -> Mapping[str, FileKey]:
    """Return what a file calls each field of a struct, how it writes it, and its range."""
    hints = get_type_hints(struct, include_extras=True)
    keys = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {
        name: next(
            (each for each in get_args(hints[name]) if isinstance(each, FileKey)), FileKey(key)
        )
        for name, key in keys
    }


def most_of(struct: type[Struct], field: str) -> int:
    """Return the largest integer that the core allows."""
    most = file_keys(struct)[field].most
    assert most is not None, f"{struct.__name__}.{field} has a range"
    return most


def _default(struct: type[Struct], key: str, reader: Reader) -> object:
    """Return the default of a key as a file writes it; None if it has none."""
    for of in (struct, *getattr(struct, "OF", ())):
        for field in msgspec.structs.fields(of):
            if key in (file_keys(of)[field.name].name, field.encode_name):
                unit = reader.unit if isinstance(reader, Form) else None
                value = None if field.default is NODEFAULT else as_written(field.default, unit)
                return value if isinstance(value, str | int | float) else None
    return None


@functools.cache
def descriptions(table: type[Struct]) -> Mapping[str, str]:
    """Return the docstrings of the fields of a table, by the keys that a file has them under."""
    texts: dict[str, str] = {}
    for struct in getattr(table, "OF", ()):
        texts |= descriptions(struct)
    for owner in reversed(table.__mro__):
        if owner in (FileTable, Struct, object) or not issubclass(owner, Struct):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in pairwise(body.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and field.target.id in table.__struct_fields__
            ):
                name = file_keys(table)[field.target.id].name
                texts[name or field.target.id] = inspect.cleandoc(ast.literal_eval(text.value))
    return texts


def keys_of(reader: Reader) -> Mapping[str, Reader]:
    """Return the readers of the keys of a table; empty if it is none."""
    return getattr(reader, "fields", {})


def keys_at(struct: type[Struct], path: Sequence[Key]) -> list[str]:
    """Return the keys that a file may have at a path within a table."""
    reader: Reader | None = table_reader(struct)
    for key in path:
        if isinstance(reader, ListOf | NamedTables):
            reader = reader.item
        else:
            reader = keys_of(reader).get(str(key)) if reader is not None else None
    return [] if reader is None else list(keys_of(reader))


def faults_of(
    error: UnitError | TableError, value: object, *, file: str, within: KeyPath = ()
) -> list[tuple[KeyPath, Fault]]:
    """Return each fault of a value at a path with its path."""
    if isinstance(error, UnitError):
        return [(within, Fault(file, dotted(within), shown(value), str(error)))]
    paths = [(*within, *fault.path) for fault in error.faults]
    return [
        (path, Fault(file, dotted(path), fault.value, fault.allowed))
        for path, fault in zip(paths, error.faults, strict=True)
    ]


def read_table(struct: type[S], value: object, *, file: str, within: KeyPath = ()) -> S:
    """Return a table, or raise every fault in it as `InputError`."""
    try:
        table: S = table_reader(struct).read(value)
    except (UnitError, TableError) as error:
        faults = faults_of(error, value, file=file, within=within)
        raise InputError(fault for _, fault in faults) from None
    return table


def lowered(struct: type[S], table: FileTable, **given: object) -> S:
    """Return a struct of a scenario with the values that a table has for it, and those given."""
    fields = struct.__struct_fields__
    core = {name: value for name, value in table.core.items() if name in fields}
    return struct(**core | given)
