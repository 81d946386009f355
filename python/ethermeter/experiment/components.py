"""Components: what hosts, switches and routers are made of, and models shipped with the package."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct, field

from ethermeter import scenario
from ethermeter.experiment import toml
from ethermeter.experiment.quantity import TITLE, complaint, text
from ethermeter.experiment.tables import (
    CHECKS,
    FORMS,
    FileTable,
    keyed,
    read_table,
    table_reader,
)

FORMS[scenario.Fabric] = keyed(
    scenario.FabricTable,
    "ideal",
    'expected "ideal", { shared = { name = … } } or { crossbar = { inward = { name = … }, outward ='
    " { name = … } } }",
)
FORMS[scenario.Learning] = keyed(
    scenario.LearningTable,
    "known",
    'expected "known" or { learns = { age = "300 s", addresses = 8192 } }',
)


def _check_stage(stage: scenario.Stage) -> None:
    if stage.queue_frames is not None and stage.resource is not None:
        raise complaint("expected no queue where a resource is shared")
    if stage.coalesce is not None and stage.overlap_octets is not None:
        raise complaint("expected at most one of coalesce and overlap")


def _check_buffer(buffer: scenario.Buffer) -> None:
    for name, marks in (("pause", buffer.pause), ("back_pressure", buffer.back_pressure)):
        if marks is not None and not marks.low_octets <= marks.high_octets < buffer.octets:
            raise complaint(f"expected {name}.low up to {name}.high, and {name}.high below size")
    if buffer.pause is not None and (buffer.shared or buffer.back_pressure is not None):
        raise complaint("expected pause, or shared and back_pressure")


CHECKS[scenario.Stage] = _check_stage
CHECKS[scenario.Buffer] = _check_buffer

KINDS: Mapping[str, type[Struct]] = {
    "host": scenario.Host,
    "switch": scenario.Switch,
    "router": scenario.Router,
}
"""Kinds of nodes that may have a model."""


class Node(FileTable, frozen=True, kw_only=True):
    """Keys of a host, a switch or a router."""

    def check(self) -> None:
        """Refuse queues and resources at stages that have none."""
        send: Any = self.core.get("send", ())
        if any(stage.queue_frames is not None for stage in send):
            raise complaint(
                "expected no queue in send: an application waits for room in its host's ring"
            )
        ingress: Any = self.core.get("ingress")
        if ingress is not None and ingress.resource is not None:
            raise complaint("expected no resource in ingress: each port has its own")


class Model(Node, frozen=True, kw_only=True):
    """Model of a host, a switch or a router; it has keys of one of these only."""

    OF = tuple(KINDS.values())
    LEFT_OUT = frozenset({"clock"})


class Component(Model, frozen=True, kw_only=True):
    """A model that comes with the package, in a file of its own."""

    title: Annotated[str, TITLE]
    """Title of the model, in one line."""
    notes: Annotated[str, text(0, 10_000)] = ""
    """Origin of the numbers."""
    sources: dict[str, str] = field(default_factory=dict)
    """Source of each number: its dotted path has a text "KIND: TEXT"."""


def keys_of_kind(kind: str) -> list[str]:
    """Return the keys that the model of a kind of nodes may have."""
    return [key for key in table_reader(KINDS[kind]).fields if key not in Model.LEFT_OUT]


_FOLDER = Path(__file__).parent.parent / "components"


def shipped_models() -> dict[str, Path]:
    """Return the files of the models that come with the package by name, sorted."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


@functools.lru_cache(maxsize=64)
def shipped_model(name: str) -> Component | None:
    """Return a model that comes with the package, None if there is none of this name."""
    path = shipped_models().get(name)
    if path is None:
        return None
    text_of_file = toml.text_of(path, file=str(path))
    return read_table(Component, toml.parsed(text_of_file, file=str(path)), file=str(path))
