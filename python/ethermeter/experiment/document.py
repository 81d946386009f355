"""The experiment file as a whole: its tables, and its JSON Schema."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import field

# For their forms.
from ethermeter.experiment import classes, components, traffic, transfers  # noqa: F401
from ethermeter.experiment.flows import MOST_FLOWS, Flow
from ethermeter.experiment.message_tables import FlowList
from ethermeter.experiment.network import Network
from ethermeter.experiment.phases import ENGINES, OF_NETWORKS, Phases, Run, Theory
from ethermeter.experiment.quantity import TITLE, Form, complaint, integer, plural, text
from ethermeter.experiment.search import Search
from ethermeter.experiment.segment import Segment, standards
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.tables import (
    FileTable,
    ListOf,
    NamedTables,
    Schema,
    keys_of,
    table_reader,
)
from ethermeter.experiment.toml import Tables
from ethermeter.faults import Faults, InputError, choices, shown
from ethermeter.theory.assumptions import ANSWERING, MODELS
from ethermeter.trial import LARGEST_SEED

MOST_GROUPS = 1024
"""Groups of stations a file may have."""

MOST_TRIALS = 100_000
"""Trials a plan may have."""

SOURCE_KINDS = ("standard", "study", "fit", "assumption")
"""Where a parameter may come from."""

_VARY_SCHEMA = {
    "type": "object",
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


class Document(FileTable, frozen=True, kw_only=True):
    """An experiment: a network with its flows, or a segment with its stations; what is varied."""

    title: Annotated[str, TITLE]
    """Title of the experiment, in one line."""
    seed: Annotated[int, integer(0, LARGEST_SEED)] = 1
    """Seed of all random draws."""
    series: Annotated[str, text(1, 100)] | None = None
    """Name of the series in figures; the name of the file if absent."""
    notes: Annotated[str, text(0, 10_000)] = ""
    """Text for readers of the file."""
    vary: Annotated[Tables, Form(lambda value: value, _VARY_SCHEMA)] = field(default_factory=dict)
    """Varied keys: each dotted path, in quotes, has a list or a range of values. All combinations
    are run; the last key changes fastest.
    """
    segment: Segment | None = None
    """The shared medium; with `stations`."""
    stations: (
        Annotated[tuple[StationGroup, ...], ListOf(table_reader(StationGroup), 1, MOST_GROUPS)]
        | None
    ) = None
    """Groups of stations on the segment; with `segment`."""
    network: Network | None = None
    """Nodes, segments and links of the network; with `flows`, and an ideal switch with the hosts
    that these name if absent.
    """
    flows: Annotated[tuple[Flow, ...], FlowList(table_reader(Flow), 1, MOST_FLOWS)] | None = None
    """Flows: messages and transfers between hosts; with `network`. Message tables among them, or a
    name of one, stand for a flow for each row.
    """
    phases: Phases = Phases()
    """Phases of a trial: how long it transmits, and when it is measured."""
    theory: Theory = Theory()
    """Assumptions of the engines `theory` and `idealised`, and the models that answer."""
    run: Run = Run()
    """Engines, replications and batches."""
    search: Search | None = None
    """Question of `ethermeter find value`; other commands ignore it."""
    sources: Annotated[
        dict[str, str],
        NamedTables(
            Form(_source, {"type": "string", "pattern": rf"^({'|'.join(SOURCE_KINDS)}): \S"})
        ),
    ] = field(default_factory=dict)
    """Source of each parameter: its dotted path, in quotes, has a text "KIND: TEXT", where KIND is
    standard, study, fit or assumption.
    """

    @classmethod
    def requires(cls, table: Mapping[str, object]) -> Iterable[str]:
        """Require the tables of one of the two forms, of a file that shows which it has."""
        if not any(key in table for key in (*SHORT[:2], *LONG[:2])):
            return ()
        return (listed_in(table), main_in(table))


SHORT = ("segment", "stations", "phases", "theory")
"""Tables whose keys can be varied and have a source, of a file with a segment."""
LONG = ("network", "flows", "phases")
"""Tables whose keys can be varied and have a source, of a file with a network."""
_OF_THE_OTHER = {SHORT: ("network", "flows"), LONG: ("segment", "stations")}
TABLES: dict[str, type[FileTable]] = {
    "segment": Segment,
    "stations": StationGroup,
    "network": Network,
    "flows": Flow,
    "phases": Phases,
    "theory": Theory,
    "run": Run,
    "search": Search,
}
"""Tables of a file."""


def tables_of(document: Mapping[str, object]) -> tuple[str, ...]:
    """Return the tables of a file whose keys can be varied and have a source."""
    has_network = "network" in document or ("flows" in document and "segment" not in document)
    return LONG if has_network else SHORT


def main_in(document: Mapping[str, object]) -> str:
    """Return the table of a file that has what its traffic goes over."""
    return tables_of(document)[0]


def listed_in(document: Mapping[str, object]) -> str:
    """Return the table of a file that it has several of, each with traffic."""
    return tables_of(document)[1]


def required_table(document: Tables, name: str, *, file: str, why: str) -> Tables:
    """Return a table of a file that a question needs.

    Raises
    ------
    InputError
        If the file has none; `why` says what it is for.

    """
    table: Tables | None = document.get(name)
    if table is None:
        raise InputError.of(file, name, "(missing)", f"required: {why}")
    return table


def segments_in(document: Tables) -> dict[str, Tables]:
    """Return the tables of the shared segments of a sound file, by their dotted keys."""
    listed = document.get("network", {}).get("segments", ())
    alone = {"segment": document["segment"]} if "segment" in document else {}
    return alone | {f"network.segments.{at}": table for at, table in enumerate(listed)}


def check_form(document: Tables, faults: Faults) -> None:
    """Find tables and keys that do not go with the tables that a file has."""
    known = [
        key
        for key in keys_of(table_reader(Document))
        if key not in _OF_THE_OTHER[tables_of(document)]
    ]
    if not any(key in document for key in (*SHORT[:2], *LONG[:2])):
        allowed = "required: a network, by its flows, or a segment with stations"
        faults.add(("flows",), "(missing)", allowed)
    for key in _OF_THE_OTHER[tables_of(document)]:
        if key in document:
            faults.add(
                (key,), shown(document[key]), f"unknown key; {choices(key, known, 'allowed: ')}"
            )
    is_network = tables_of(document) == LONG
    if is_network:
        check_answers(document, OF_NETWORKS, ANSWERING, faults)
    else:
        check_answers(document, ENGINES, MODELS, faults)
    theory = document.get("theory")
    if not is_network or not isinstance(theory, Mapping):
        return
    for key in theory:
        if key != "models" and key in keys_of(table_reader(Theory)):
            allowed = "unknown key; allowed: models; others are assumptions on a segment"
            faults.add(("theory", key), shown(theory[key]), allowed)


def check_answers(
    document: Tables, engines: Sequence[str], models: Sequence[str], faults: Faults
) -> None:
    """Find engines and models of theory that do not answer."""
    _check_words(document.get("run"), ("run", "engines"), engines, faults)
    _check_words(document.get("theory"), ("theory", "models"), models, faults)


def _check_words(
    table: object, path: tuple[str, str], known: Sequence[str], faults: Faults
) -> None:
    """Find words of a list that a file of this form cannot have."""
    words = table.get(path[1]) if isinstance(table, Mapping) else None
    for index, word in enumerate(words if isinstance(words, list) else ()):
        if isinstance(word, str) and word not in known:
            allowed = f"expected {plural(known)}"
            if word in ENGINES:
                allowed += "; what theories assume of a network is not simulated"
            faults.add((*path, index), shown(word), allowed)


def json_schema() -> Tables:
    """Return the JSON Schema (draft 2020-12) of an experiment file."""
    tables: Schema = {}
    whole = table_reader(Document).schema_in(tables)
    tables["Segment"]["properties"]["standard"]["enum"] = list(standards())
    tables["Document"]["oneOf"] = [{"required": list(SHORT[:2])}, {"required": [LONG[1]]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole, "$defs": tables}
