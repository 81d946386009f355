"""Components: what hosts, switches and routers are made of, and models shipped with the package."""

import functools
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, Tag, model_validator

from ethermeter import scenario
from ethermeter.experiment import toml
from ethermeter.experiment.classes import Classes, classes_plan
from ethermeter.experiment.origin import lowered
from ethermeter.experiment.quantity import (
    PositiveTime,
    Table,
    choice,
    complaint,
    octets,
    tag,
    time_up_to,
    written,
)
from ethermeter.experiment.stations import MOST_QUEUED, room
from ethermeter.experiment.traffic import known_word
from ethermeter.units import PS_PER_S

NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"
"""What names of nodes, models and flows look like."""

MOST_OCTETS = 65_536
"""Octets that overlaps and additions to a frame may have."""

_ALLOWED_FABRIC = (
    'expected "ideal", { shared = { name = … } } or { crossbar = { inward = { name = … }, outward ='
    " { name = … } } }"
)
_ALLOWED_LEARNING = 'expected "known" or { learns = { age = "300 s", addresses = 8192 } }'

StageTime = Annotated[int, *time_up_to(PS_PER_S)]
"""A time of up to a second, in ps."""
Overlap = Annotated[int, *octets(least=0, most=MOST_OCTETS)]
Queue = Annotated[int | None, *room(MOST_QUEUED)]


class Burst(Table):
    """Transfers in bursts."""

    size: Annotated[int, *octets(least=1, most=10**8)]
    """Longest burst."""
    time: StageTime
    """Cost of each begun one."""


class Coalesce(Table):
    """When frames that wait for each other go on."""

    frames: Annotated[int, Field(ge=1, le=1_000_000)]
    """When there are so many, or …"""
    time: Annotated[int, *time_up_to(PS_PER_S, positive=True)]
    """… so long after the first."""


class Stage(Table):
    """A server that frames pass one by one, then `delay` to the next.

    A frame takes `fixed`, `per_byte` for each octet, and `burst`.
    """

    name: Annotated[str, StringConstraints(pattern=NAME)]
    """What it is called."""
    resource: Annotated[str, StringConstraints(pattern=NAME)] | None = None
    """Stages of one node with the same resource wait for each other."""
    fixed: StageTime = written("0 s")
    """Time for each frame."""
    per_byte: Annotated[int, *time_up_to(PS_PER_S // 1000)] = written("0 s")
    """Time for each octet of the frame, destination address to FCS."""
    extra: Annotated[int, *octets(least=-64, most=MOST_OCTETS)] = written("0 B")
    """Octets more than the frame's that it carries; fewer with a minus, such as "-4 B" where it
    carries no check sequence.
    """
    burst: Burst | None = None
    """Cost of each begun burst."""
    overlap: Overlap | None = None
    """Octets after which the next stage may begin; all of the frame if absent."""
    delay: StageTime = written("0 s")
    """Time to the next stage, in which this one is free."""
    queue: Queue = written("unlimited")
    """Frames there is room for, the one in service included."""
    coalesce: Coalesce | None = None
    """Frames that have passed wait for each other: an interrupt for several."""

    @model_validator(mode="after")
    def _fits(self) -> "Stage":
        if self.queue is not None and self.resource is not None:
            raise complaint("expected no queue where a resource is shared")
        if self.coalesce is not None and self.overlap is not None:
            raise complaint("expected at most one of coalesce and overlap")
        return self


class Pause(Table):
    """When a port asks its peer for silence (802.3-2022 annex 31B)."""

    high: Annotated[int, *octets(least=0, most=10**8)]
    """Above so much in the memory it asks, …"""
    low: Annotated[int, *octets(least=0, most=10**8)]
    """… at so little it lets the peer go on."""
    quanta: Annotated[int, Field(ge=1, le=65_535)] = 65_535
    """For how long it asks, in units of 512 bits; asked again at half of it."""


class Buffer(Table):
    """Memory for what a port receives."""

    size: Annotated[int, *octets(least=64, most=10**8)]
    """What finds no room is dropped."""
    pause: Pause | None = None
    """Flow control; none if absent."""

    @model_validator(mode="after")
    def _in_order(self) -> "Buffer":
        if self.pause is not None and not self.pause.low <= self.pause.high < self.size:
            raise complaint("expected pause.low up to pause.high, and pause.high below size")
        return self


class Learns(Table):
    """How a switch learns where stations are."""

    age: PositiveTime
    """What was not heard for so long is forgotten."""
    addresses: Annotated[int, Field(ge=1, le=10_000_000)]
    """Room for so many."""


class Learning(Table):
    """A switch that learns."""

    learns: Learns
    """How."""


class Shared(Table):
    """A backplane that all frames pass."""

    shared: Stage
    """It as a stage."""


class Modules(Table):
    """Modules of ports on a crossbar."""

    local: Stage | None = None
    """Between ports of one module; no stage if absent."""
    inward: Stage
    """From a module to the crossbar."""
    outward: Stage
    """From the crossbar to a module."""


class Crossbar(Table):
    """A crossbar of modules."""

    crossbar: Modules
    """Its stages, one of each for every module."""


Fabric = Annotated[
    Annotated[Literal["ideal"], known_word("ideal", allowed=_ALLOWED_FABRIC), Tag(tag("text"))]
    | Annotated[Shared, Tag(tag("shared"))]
    | Annotated[Crossbar, Tag(tag("crossbar"))],
    choice("shared", "crossbar", allowed=_ALLOWED_FABRIC),
]
"""What lies between the ports of a switch."""

LearningOrKnown = Annotated[
    Annotated[Literal["known"], known_word("known", allowed=_ALLOWED_LEARNING), Tag(tag("text"))]
    | Annotated[Learning, Tag(tag("learns"))],
    choice("learns", allowed=_ALLOWED_LEARNING),
]
"""What a switch knows of addresses."""


class Model(Table):
    """What a host, a switch or a router is made of; only keys of its kind may be given."""

    send: Annotated[list[Stage], Field(max_length=64)] = Field(default_factory=list)
    """Of a host: stages from the application to the wire."""
    receive: Annotated[list[Stage], Field(max_length=64)] = Field(default_factory=list)
    """Of a host: stages from the wire to the application."""
    ring: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    """Of a host: messages of a flow between its call and the end of the wire."""
    overlap: Overlap | None = None
    """Of a host or a switch: octets on the wire, preamble apart, after which the first stage may
    begin; all of the frame if absent.
    """
    buffer: Buffer | None = None
    """Of a host or a switch: memory for what a port receives; unlimited if absent."""
    learning: LearningOrKnown = "known"
    """Of a switch: what it knows of addresses."""
    ingress: Stage | None = None
    """Of a switch: a stage that each port has of its own."""
    fabric: Fabric = "ideal"
    """Of a switch: what lies between its ports."""
    queue: Queue = written("unlimited")
    """Of a switch or a router: frames there is room for at each port out, the one being sent
    included.
    """
    queue_size: Annotated[int, *octets(least=1, most=10**8)] | None = None
    """Of a switch: the same in octets."""
    forward: Stage | None = None
    """Of a router: a stage that all frames pass."""
    classes: Classes | None = None
    """Traffic classes of each output port, highest first; those of the network if absent."""

    @model_validator(mode="after")
    def _applications_wait(self) -> "Model":
        if any(stage.queue is not None for stage in self.send):
            raise complaint(
                "expected no queue in send: an application waits for room in its host's ring"
            )
        if self.ingress is not None and self.ingress.resource is not None:
            raise complaint("expected no resource in ingress: each port has its own")
        return self


class Component(Model):
    """A model that comes with the package, in a file of its own."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """What it is, in one line."""
    notes: Annotated[str, StringConstraints(max_length=10_000)] = ""
    """How its numbers were found."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Where each number comes from: dotted key to "kind: text"."""


HOST_KEYS = ("send", "receive", "ring", "overlap", "buffer", "classes")
SWITCH_KEYS = (
    *("learning", "overlap", "ingress", "fabric", "queue", "queue_size", "buffer"),
    "classes",
)
ROUTER_KEYS = ("forward", "queue", "classes")

_FOLDER = Path(__file__).parent.parent / "components"


def shipped_models() -> dict[str, Path]:
    """Return the files of the models that come with the package by name, sorted."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


@functools.lru_cache(maxsize=64)
def shipped_model(name: str) -> Component | None:
    """Return a model that comes with the package, None if there is none of this name."""
    from ethermeter.experiment.document import validated

    path = shipped_models().get(name)
    if path is None:
        return None
    text = toml.text_of(path, file=str(path))
    return validated(Component, toml.parsed(text, file=str(path)), file=str(path))


def host_plan(model: Model, clock: scenario.ClockSpec | None) -> scenario.Host:
    """Return a host as in a plan."""
    ring = None if model.ring == Model.model_fields["ring"].default else model.ring
    classes = classes_plan(model.classes)
    return lowered(scenario.Host, model, ring=ring, clock=clock, classes=classes)


def switch_plan(model: Model) -> scenario.Switch:
    """Return a switch as in a plan."""
    return lowered(scenario.Switch, model, classes=classes_plan(model.classes))


def router_plan(model: Model) -> scenario.Router:
    """Return a router as in a plan."""
    forward = lowered(scenario.Stage, model.forward or Stage(name="forward"))
    return lowered(scenario.Router, model, forward=forward, classes=classes_plan(model.classes))
