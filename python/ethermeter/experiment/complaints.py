"""Complaints: pydantic's errors as faults, in the words of an experiment file."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ethermeter.experiment import coder, components, flows, hosts, network
from ethermeter.experiment.assumptions import Theory
from ethermeter.experiment.document import DOCUMENTS
from ethermeter.experiment.frames import Growth, Mixed
from ethermeter.experiment.phases import NetworkRun, Phases, Run
from ethermeter.experiment.segment import Segment, Star
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.table import ALLOWED, is_tag
from ethermeter.faults import Fault, InputError, shown

Part = str | int
M = TypeVar("M", bound=BaseModel)

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)

_TABLES: dict[str, type[BaseModel]] = {
    "segment": Segment,
    "star": Star,
    "stations": StationGroup,
    "phases": Phases,
    "theory": Theory,
    "run": Run,
    "generator": hosts.Generator,
    "<regular>": hosts.Regular,
    "on_off": hosts.OnOffTimes,
    "coder": coder.Coder,
    "samples": Growth,
    "measured": hosts.Measurements,
    "linear": hosts.Limit,
    "constant": hosts.Slots,
    "load_register": hosts.Register,
    "mix": Mixed,
    "network": network.Network,
    "hosts": network.HostGroup,
    "switches": network.Switch,
    "clock": network.Clock,
    "routers": network.Router,
    "hubs": network.Hub,
    "links": network.Link,
    **dict.fromkeys(
        ("send", "receive", "ingress", "forward", "shared", "local", "inward", "outward"),
        components.Stage,
    ),
    "burst": components.Burst,
    "coalesce": components.Coalesce,
    "buffer": components.Buffer,
    "pause": components.Pause,
    "learns": components.Learns,
    "crossbar": components.Modules,
    "flows": flows.Flow,
    "response": flows.Response,
}
"""The table that stands under a key, or under the label of a choice whose table has more than the
key that marks it.
"""

_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
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


def dotted(parts: Sequence[Part]) -> str:
    """Return a key's path as it is written in `--set` and in faults."""
    return ".".join(
        part if isinstance(part, str) and _BARE.fullmatch(part) else _quoted(part) for part in parts
    )


def _quoted(part: Part) -> str:
    if isinstance(part, int):
        return str(part)
    return '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def faults_of(
    error: ValidationError, *, file: str, within: Sequence[Part] = ()
) -> list[tuple[tuple[Part, ...], Fault]]:
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


def validated(model: type[M], value: object, *, file: str, within: Sequence[Part] = ()) -> M:
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


def _allowed(details: ErrorDetails, place: tuple[Part, ...], *, title: str) -> str:
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


def table_at(place: Sequence[Part], *, title: str = "Document") -> type[BaseModel] | None:
    """Return the model of the table at a place; None for one of a choice, which its one key
    describes.

    Parameters
    ----------
    place
        The path of the table, with the labels of choices.
    title
        Name of the model that was validated; what is at an empty place.

    """
    names = [part for part in place if isinstance(part, str)]
    if not names:
        return DOCUMENTS.get(title) or {"Component": components.Component}.get(title)
    if names[-1] == "exponential":
        return hosts.Limit if "backoff" in names else hosts.OffsetExponential
    if len(names) > 1 and names[-2] == "models":
        return components.Model
    if names == ["run"]:
        return NetworkRun if title == "NetworkDocument" else Run
    return _TABLES.get(names[-1])


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a table by the keys under which a file has them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _keys_at(place: Sequence[Part], *, title: str) -> list[str]:
    if table := table_at(place, title=title):
        return list(fields_of(table))
    last = place[-1] if place else None
    return [last[1:-1]] if isinstance(last, str) and is_tag(last) else []
