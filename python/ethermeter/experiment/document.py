"""The experiment file as a whole: its data model, its JSON Schema, and its faults."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import (
    BaseModel,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ethermeter.experiment.components import (
    Buffer,
    Burst,
    Coalesce,
    Component,
    Learns,
    Model,
    Modules,
    Pause,
    Stage,
)
from ethermeter.experiment.flows import MOST_FLOWS, Flow, Response
from ethermeter.experiment.frames import Growth, Mixed
from ethermeter.experiment.network import Clock, HostGroup, Hub, Link, Network, Router, Switch
from ethermeter.experiment.phases import NetworkRun, Phases, Run
from ethermeter.experiment.quantity import ALLOWED, Table, complaint, is_tag
from ethermeter.experiment.segment import Segment, Star, standards
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.theory import Theory
from ethermeter.experiment.toml import Tables
from ethermeter.experiment.traffic import (
    Generator,
    Limit,
    Measurements,
    OffsetExponential,
    OnOffTimes,
    Register,
    Regular,
    Slots,
)
from ethermeter.experiment.voice import Coder
from ethermeter.faults import Fault, InputError, Key, dotted, shown
from ethermeter.trial import LARGEST_SEED

MOST_GROUPS = 1024
"""Groups of stations a file may have."""

MOST_TRIALS = 100_000
"""Trials a plan may have."""

SOURCE_KINDS = ("standard", "study", "fit", "assumption")
"""Where a parameter may come from."""

_NUMBER_OR_TEXT = {"type": ["number", "string"]}
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
                    "from": _NUMBER_OR_TEXT,
                    "to": _NUMBER_OR_TEXT,
                    "step": _NUMBER_OR_TEXT,
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
        raise complaint(
            f'expected "kind: text", kind being {", ".join(SOURCE_KINDS[:-1])} or'
            f" {SOURCE_KINDS[-1]}"
        )
    return value


def _as_it_is(value: object) -> object:
    return value


class _Common(Table):
    """Keys that every experiment file may have."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """What the experiment is, in one line."""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 1
    """Where all chance comes from."""
    series: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """Name of the series in figures; the file's name if absent."""
    notes: Annotated[str, StringConstraints(max_length=10_000)] = ""
    """Anything a reader should know."""
    vary: Annotated[Tables, PlainValidator(_as_it_is), WithJsonSchema(_VARY_SCHEMA)] = Field(
        default_factory=dict
    )
    """What is varied; read by `sweep`, which knows the values' exact arithmetic."""
    phases: Phases = Field(default_factory=Phases)
    """What happens when."""
    sources: dict[
        str,
        Annotated[
            str,
            PlainValidator(_source),
            WithJsonSchema({"type": "string", "pattern": rf"^({'|'.join(SOURCE_KINDS)}): \S"}),
        ],
    ] = Field(default_factory=dict)
    """Where a parameter comes from: quoted dotted key to "kind: text"."""


class Document(_Common):
    """An experiment: one shared segment, the stations on it, and what is varied."""

    segment: Segment
    """The shared medium."""
    stations: Annotated[list[StationGroup], Field(min_length=1, max_length=MOST_GROUPS)]
    """Groups of stations."""
    theory: Theory = Field(default_factory=Theory)
    """What theories assume beyond the other tables."""
    run: Run = Field(default_factory=Run)
    """How the trials are run."""

    @property
    def models(self) -> tuple[str, ...] | None:
        """Models that answer; None for all that apply."""
        return None if self.theory.models is None else tuple(self.theory.models)


class NetworkDocument(_Common):
    """An experiment: a network, who sends what over it, and what is varied."""

    network: Network
    """Hosts, switches, routers, hubs and links."""
    flows: Annotated[list[Flow], Field(min_length=1, max_length=MOST_FLOWS)]
    """Who sends what."""
    run: NetworkRun = Field(default_factory=NetworkRun)
    """How the trials are run."""

    @property
    def models(self) -> tuple[str, ...] | None:
        """Models that answer: none is of networks."""
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """A short form of experiment files: which tables a file has.

    Parameters
    ----------
    document
        The file as a whole.
    tables
        Tables whose keys can be varied and have a source.
    listed
        The one of these of which a file has several.

    """

    document: type[Document] | type[NetworkDocument]
    tables: Mapping[str, type[Table]]
    listed: str


SEGMENT = Form(
    Document,
    {"segment": Segment, "stations": StationGroup, "phases": Phases, "theory": Theory},
    "stations",
)
NETWORK = Form(NetworkDocument, {"network": Network, "flows": Flow, "phases": Phases}, "flows")
DOCUMENTS: dict[str, type[Table]] = {
    form.document.__name__: form.document for form in (SEGMENT, NETWORK)
}
"""The short forms of files by the names of their models."""


def form_of(document: Tables) -> Form:
    """Return the short form of a file."""
    has_network = "network" in document or ("flows" in document and "segment" not in document)
    return NETWORK if has_network else SEGMENT


def json_schema() -> Tables:
    """Return the JSON Schema (draft 2020-12) of an experiment file, by its short form."""
    kinds = {name: model.model_json_schema(mode="validation") for name, model in DOCUMENTS.items()}
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

_TABLES: dict[str, type[BaseModel]] = {
    "segment": Segment,
    "star": Star,
    "stations": StationGroup,
    "phases": Phases,
    "theory": Theory,
    "run": Run,
    "generator": Generator,
    "<regular>": Regular,
    "on_off": OnOffTimes,
    "coder": Coder,
    "samples": Growth,
    "measured": Measurements,
    "linear": Limit,
    "constant": Slots,
    "load_register": Register,
    "mix": Mixed,
    "network": Network,
    "hosts": HostGroup,
    "switches": Switch,
    "clock": Clock,
    "routers": Router,
    "hubs": Hub,
    "links": Link,
    **dict.fromkeys(
        ("send", "receive", "ingress", "forward", "shared", "local", "inward", "outward"),
        Stage,
    ),
    "burst": Burst,
    "coalesce": Coalesce,
    "buffer": Buffer,
    "pause": Pause,
    "learns": Learns,
    "crossbar": Modules,
    "flows": Flow,
    "response": Response,
}
"""The table that stands under a key, or under the label of a choice whose table has more than the
key that marks it.
"""

_WORDS: dict[str, Callable[[Mapping[str, object]], str]] = {
    ALLOWED: lambda context: str(context["allowed"]),
    "string_type": lambda _: "expected a text in quotes",
    "string_unicode": lambda _: "expected a text of Unicode characters",
    "int_type": lambda _: "expected an integer",
    "bool_type": lambda _: "expected true or false",
    "list_type": lambda _: "expected a list",
    "dict_type": lambda _: "expected a table",
    "model_type": lambda _: "expected a table",
    "literal_error": lambda context: f"expected {context['expected']}".replace("'", '"'),
    "greater_than_equal": lambda context: f"expected at least {context['ge']}",
    "less_than_equal": lambda context: f"expected at most {context['le']}",
    "dict_too_long": lambda context: f"expected at most {context['max_length']} of them",
    "too_short": lambda context: f"expected at least {context['min_length']} of them",
    "too_long": lambda context: f"expected at most {context['max_length']} of them",
    "string_too_short": lambda context: f"expected at least {context['min_length']} characters",
    "string_too_long": lambda context: f"expected at most {context['max_length']} characters",
    "string_pattern_mismatch": lambda _: (
        "expected a letter, then letters, digits, - or _, at most 32 in all"
    ),
}


def faults_of(
    error: ValidationError, *, file: str, within: Sequence[Key] = ()
) -> list[tuple[tuple[Key, ...], Fault]]:
    """Return each fault with its path.

    Parameters
    ----------
    error
        What pydantic found.
    file
        The file, as the user named it.
    within
        The path of the table that was validated.

    """
    faults = []
    for details in error.errors(include_url=False):
        # A key of a table of names that is none stands twice: as itself, and as what is wrong with
        # it.
        place = tuple(part for part in (*within, *details["loc"]) if part != "[key]")
        path = tuple(part for part in place if not is_tag(part))
        value = "(missing)" if details["type"] == "missing" else shown(details["input"])
        faults.append(
            (path, Fault(file, dotted(path), value, _allowed(details, place, title=error.title)))
        )
    return faults


def validated(model: type[M], value: object, *, file: str, within: Sequence[Key] = ()) -> M:
    """Return a table, read and found sound.

    Raises
    ------
    InputError
        With every fault in it.

    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InputError(fault for _, fault in faults_of(error, file=file, within=within)) from None


def _allowed(details: ErrorDetails, place: tuple[Key, ...], *, title: str) -> str:
    match details["type"]:
        case "missing":
            table = table_at(place[:-1], title=title)
            field = fields_of(table).get(str(place[-1])) if table else None
            return (
                "required: " + _sentence(field.description)
                if field and field.description
                else "required"
            )
        case "extra_forbidden":
            return f"unknown key; allowed: {', '.join(_keys_at(place[:-1], title=title))}"
        case kind if kind in _WORDS:
            return _WORDS[kind](details.get("ctx", {}))
        case _:
            return details["msg"]


def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def table_at(place: Sequence[Key], *, title: str = "Document") -> type[BaseModel] | None:
    """Return the model of the table at a place.

    None for one of a choice, which its one key describes.

    Parameters
    ----------
    place
        The path of the table, with the labels of choices.
    title
        Name of the model that was validated; what is at an empty place.

    """
    names = [part for part in place if isinstance(part, str)]
    if not names:
        return DOCUMENTS.get(title) or {"Component": Component}.get(title)
    if names[-1] == "exponential":
        return Limit if "backoff" in names else OffsetExponential
    if len(names) > 1 and names[-2] == "models":
        return Model
    if names == ["run"]:
        return NetworkRun if title == "NetworkDocument" else Run
    return _TABLES.get(names[-1])


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a table by the keys under which a file has them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _keys_at(place: Sequence[Key], *, title: str) -> list[str]:
    if table := table_at(place, title=title):
        return list(fields_of(table))
    last = place[-1] if place else None
    return [last[1:-1]] if isinstance(last, str) and is_tag(last) else []
