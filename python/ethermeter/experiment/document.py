"""The experiment file as a whole, as a data model."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, PlainValidator, StringConstraints, WithJsonSchema

from ethermeter.experiment.assumptions import Theory
from ethermeter.experiment.flows import MOST_FLOWS, Flow
from ethermeter.experiment.network import Network
from ethermeter.experiment.phases import NetworkRun, Phases, Run
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.table import Table, complaint

MOST_GROUPS = 1024
"""Groups of stations a file may have."""

MOST_TRIALS = 100_000
"""Trials a plan may have."""

LARGEST_SEED = 2**63 - 1
"""The largest seed."""

SOURCE_KINDS = ("standard", "study", "fit", "assumption")
"""Where a parameter may come from."""

_NUMBER_OR_TEXT = {"type": ["number", "string"]}
_VARY_SCHEMA = {
    "type": "object",
    "description": "what is varied: quoted dotted key to values; all combinations are run, the last key changing fastest",
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
            f'expected "kind: text", kind being {", ".join(SOURCE_KINDS[:-1])} or {SOURCE_KINDS[-1]}'
        )
    return value


def _as_it_is(value: object) -> object:
    return value


class _Common(Table):
    """What every experiment file may say."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """What the experiment is, in one line."""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 1
    """Where all chance comes from."""
    series: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """Name of the series in figures; the file's name if not said."""
    notes: Annotated[str, StringConstraints(max_length=10_000)] = ""
    """Anything a reader should know."""
    vary: Annotated[dict[str, Any], PlainValidator(_as_it_is), WithJsonSchema(_VARY_SCHEMA)] = (
        Field(default_factory=dict)
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
    """What theories assume beyond what is said above."""
    run: Run = Field(default_factory=Run)
    """How the trials are run."""


class NetworkDocument(_Common):
    """An experiment: a network, who sends what over it, and what is varied."""

    network: Network
    """Hosts, switches, routers, hubs and links."""
    flows: Annotated[list[Flow], Field(min_length=1, max_length=MOST_FLOWS)]
    """Who sends what."""
    run: NetworkRun = Field(default_factory=NetworkRun)
    """How the trials are run."""


DOCUMENTS: dict[str, type[Table]] = {"Document": Document, "NetworkDocument": NetworkDocument}
"""The kinds of files by the names of their models."""


def is_of_network(document: Mapping[str, Any]) -> bool:
    """Whether a file speaks of a network rather than of a segment."""
    return "network" in document or ("flows" in document and "segment" not in document)
