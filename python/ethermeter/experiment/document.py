"""The experiment file as a whole: its data model, its JSON Schema, and its faults."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, NamedTuple, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    ValidationError,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ethermeter.experiment.flows import MOST_FLOWS, Flow
from ethermeter.experiment.network import Network
from ethermeter.experiment.phases import NetworkRun, NetworkTheory, Phases, Run, Theory
from ethermeter.experiment.quantity import ALLOWED, Table, Title, complaint, is_tag
from ethermeter.experiment.search import Search
from ethermeter.experiment.segment import Segment, standards
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.toml import Tables
from ethermeter.faults import Fault, InputError, Key, choices, dotted, shown
from ethermeter.trial import LARGEST_SEED

MOST_GROUPS = 1024
"""Groups of stations a file may have."""

MOST_TRIALS = 100_000
"""Trials a plan may have."""

SOURCE_KINDS = ("standard", "study", "fit", "assumption")
"""Where a parameter may come from."""

_VARY_SCHEMA = {
    "type": "object",
    "description": (
        "what is varied: quoted dotted key to values; all combinations are run, the last key"
        " changing fastest"
    ),
    "additionalProperties": {
        "oneOf": [
            {"type": "array", "minItems": 1, "maxItems": MOST_TRIALS},
            {
                "type": "object",
                "properties": {
                    key: {"type": ["number", "string"]} for key in ("from", "to", "step")
                },
                "required": ["from", "to"],
                "additionalProperties": False,
            },
        ]
    },
}
_SOURCE = re.compile(rf"({'|'.join(SOURCE_KINDS)}): \S.*", re.DOTALL)


def _source(value: object) -> str:
    if isinstance(value, dict):
        raise complaint(
            'expected the dotted key in quotes, such as "segment.round_trip" = "study: section 3.6"'
        )
    if not isinstance(value, str) or len(value) > 1000 or _SOURCE.fullmatch(value) is None:
        kinds = f"{', '.join(SOURCE_KINDS[:-1])} or {SOURCE_KINDS[-1]}"
        raise complaint(f'expected "kind: text", kind being {kinds}')
    return value


class _Common(Table):
    """Keys that every experiment file may have."""

    title: Title
    """Title of the experiment, in one line."""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 1
    """Seed of all random draws."""
    series: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """Name of the series in figures; the name of the file if absent."""
    notes: Annotated[str, StringConstraints(max_length=10_000)] = ""
    """Text for readers of the file."""
    vary: Annotated[Tables, PlainValidator(lambda value: value), WithJsonSchema(_VARY_SCHEMA)] = (
        Field(default_factory=dict)
    )
    """Varied keys: each dotted path, in quotes, has a list or a range of values. All combinations
    are run; the last key changes fastest.
    """
    phases: Phases = Field(default_factory=Phases)
    """Phases of a trial: how long it transmits, and when it is measured."""
    search: Search | None = None
    """Question of `ethermeter search`; other commands ignore it."""
    sources: dict[
        str,
        Annotated[
            str,
            PlainValidator(_source),
            WithJsonSchema({"type": "string", "pattern": rf"^({'|'.join(SOURCE_KINDS)}): \S"}),
        ],
    ] = Field(default_factory=dict)
    """Source of each parameter: its dotted path, in quotes, has a text "KIND: TEXT", where KIND is
    standard, study, fit or assumption.
    """


class Document(_Common):
    """An experiment on one shared segment: its stations, and the keys that are varied."""

    segment: Segment
    """The shared medium."""
    stations: Annotated[list[StationGroup], Field(min_length=1, max_length=MOST_GROUPS)]
    """Groups of stations on the segment."""
    theory: Theory = Field(default_factory=Theory)
    """Assumptions of the engines `theory` and `idealised`."""
    run: Run = Field(default_factory=Run)
    """Engines, replications and batches."""

    @property
    def models(self) -> tuple[str, ...] | None:
        """Models that answer; None for all that apply."""
        return None if self.theory.models is None else tuple(self.theory.models)


class NetworkDocument(_Common):
    """An experiment on a network: its nodes, its flows, and the keys that are varied."""

    network: Network
    """Nodes, segments and links of the network."""
    flows: Annotated[list[Flow], Field(min_length=1, max_length=MOST_FLOWS)]
    """Flows: messages and transfers between hosts."""
    theory: NetworkTheory = Field(default_factory=NetworkTheory)
    """Theories that answer: "network-calculus" by worst-case bounds, "queueing" by means; both if
    absent.
    """
    run: NetworkRun = Field(default_factory=NetworkRun)
    """Engines, replications and batches."""

    @property
    def models(self) -> tuple[str, ...] | None:
        """Theories that answer; None for all."""
        return None if self.theory.models is None else tuple(self.theory.models)


class Form(NamedTuple):
    """A short form of experiment files."""

    document: type[Document] | type[NetworkDocument]
    """The file as a whole."""
    tables: tuple[str, ...]
    """Tables whose keys can be varied and have a source."""
    listed: str
    """The one of these of which a file has several."""


SEGMENT = Form(Document, ("segment", "stations", "phases", "theory"), "stations")
NETWORK = Form(NetworkDocument, ("network", "flows", "phases"), "flows")
TABLES: dict[str, type[Table]] = {
    "segment": Segment,
    "stations": StationGroup,
    "network": Network,
    "flows": Flow,
    "phases": Phases,
    "theory": Theory,
    "run": Run,
    "search": Search,
}
"""Tables of files of both short forms."""


def form_of(document: Mapping[str, object]) -> Form:
    """Return the short form of a file."""
    has_network = "network" in document or ("flows" in document and "segment" not in document)
    return NETWORK if has_network else SEGMENT


def tables_of(document: Mapping[str, object]) -> tuple[str, ...]:
    """Return the tables of a file whose keys can be varied and have a source."""
    return form_of(document).tables


def keys_at(document: Mapping[str, object], path: Sequence[Key]) -> list[str]:
    """Return the keys that a file may have at a path."""
    return list(fields_at(form_of(document).document, path))


def json_schema() -> Tables:
    """Return the JSON Schema (draft 2020-12) of an experiment file, by its short form."""
    from ethermeter.experiment.descriptions import DescribedSchema

    kinds = {
        form.document.__name__: form.document.model_json_schema(schema_generator=DescribedSchema)
        for form in (SEGMENT, NETWORK)
    }
    tables: Tables = {}
    for schema in kinds.values():
        tables |= schema.pop("$defs")
    tables["Segment"]["properties"]["standard"]["enum"] = list(standards())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "if": {"anyOf": [{"required": ["network"]}, {"required": ["flows"]}]},
        "then": {"$ref": "#/$defs/NetworkDocument"},
        "else": {"$ref": "#/$defs/Document"},
        "$defs": {**tables, **kinds},
    }


M = TypeVar("M", bound=BaseModel)

_ALLOWED = {
    ALLOWED: "{allowed}",
    "string_type": "expected a text in quotes",
    "string_unicode": "expected a text of Unicode characters",
    "int_type": "expected an integer",
    "bool_type": "expected true or false",
    "list_type": "expected a list",
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "dict_too_long": "expected at most {max_length} of them",
    "too_short": "expected at least {min_length} of them",
    "too_long": "expected at most {max_length} of them",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "string_pattern_mismatch": (
        "expected a letter, then letters, digits, - or _, at most 32 in all"
    ),
}
"""What was allowed instead, by the type of an error of pydantic."""


def faults_of(
    error: ValidationError, model: type[BaseModel], *, file: str, within: Sequence[Key] = ()
) -> list[tuple[tuple[Key, ...], Fault]]:
    """Return each fault of a table with its path; `within` is the path of the table."""
    faults = []
    for details in error.errors(include_url=False):
        # The key "[key]" stands for the one before it, which is not a valid name.
        inner = tuple(key for key in details["loc"] if key != "[key]")
        path = (*within, *(key for key in inner if not is_tag(key)))
        value = "(missing)" if details["type"] == "missing" else shown(details["input"])
        faults.append((path, Fault(file, dotted(path), value, _allowed(details, model, inner))))
    return faults


def validated(model: type[M], value: object, *, file: str, within: Sequence[Key] = ()) -> M:
    """Return a table, or raise every fault in it as `InputError`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = faults_of(error, model, file=file, within=within)
        raise InputError(fault for _, fault in found) from None


def _allowed(details: ErrorDetails, model: type[BaseModel], path: Sequence[Key]) -> str:
    kind = details["type"]
    if kind == "missing":
        from ethermeter.experiment.descriptions import descriptions

        table = table_at(model, path[:-1])
        text = descriptions(table).get(str(path[-1]), "") if table else ""
        return f"required: {text[:1].lower()}{text[1:].rstrip('.')}" if text else "required"
    if kind == "extra_forbidden":
        return f"unknown key; {choices(path[-1], fields_at(model, path[:-1]), 'allowed: ')}"
    if kind not in _ALLOWED:
        return details["msg"]
    text = _ALLOWED[kind].format_map(details.get("ctx", {}))
    return text.replace("'", '"') if kind == "literal_error" else text


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a table by the keys under which a file has them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def fields_at(model: type[BaseModel], path: Sequence[Key]) -> dict[str, FieldInfo]:
    """Return the fields of the table at a path, which has the labels of choices."""
    table = table_at(model, path)
    return fields_of(table) if table else {}


def table_at(model: type[BaseModel], path: Sequence[Key]) -> type[BaseModel] | None:
    """Return the table at a path, which has the labels of choices; None if it is no table."""
    found: object = model
    for key in path:
        found = next(_inside(found, key), None)
    return next((kind for _, kind in _kinds(found) if _is_table(kind)), None)


def _is_table(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _inside(annotation: object, key: Key) -> Iterator[object]:
    """Yield the annotation of what is at a key, index or label of a choice."""
    for label, kind in _kinds(annotation):
        if is_tag(key):
            yield from [kind] * (label == key)
        elif _is_table(kind):
            yield from (field.annotation for name, field in fields_of(kind).items() if name == key)
        elif get_origin(kind) is (dict if isinstance(key, str) else list):
            yield get_args(kind)[-1]


def _kinds(annotation: object, label: str | None = None) -> Iterator[tuple[str | None, object]]:
    """Yield the types that an annotation allows, each with its label in a choice."""
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        labels = [note.tag for note in notes if isinstance(note, Tag)]
        yield from _kinds(annotation, labels[0] if labels else label)
    elif get_origin(annotation) in (Union, UnionType):
        for each in get_args(annotation):
            yield from _kinds(each, label)
    else:
        yield label, annotation
