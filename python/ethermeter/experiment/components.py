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
    Table,
    Title,
    choice,
    complaint,
    read_as,
    tag,
    written,
)
from ethermeter.experiment.traffic import known_word

NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"
"""What names of nodes, models and flows look like."""

_ALLOWED_FABRIC = (
    'expected "ideal", { shared = { name = … } } or { crossbar = { inward = { name = … }, outward ='
    " { name = … } } }"
)
_ALLOWED_LEARNING = 'expected "known" or { learns = { age = "300 s", addresses = 8192 } }'

Overlap = Annotated[int, *read_as(scenario.Host, "overlap_octets")]
Queue = Annotated[int | None, *read_as(scenario.Switch, "queue_frames")]


class Burst(Table):
    """Cost of transfers that go in bursts."""

    size: Annotated[int, *read_as(scenario.Burst, "octets")]
    """Largest size of a burst."""
    time: Annotated[int, *read_as(scenario.Burst, "ps")]
    """Time for each burst, the last incomplete one included."""


class Coalesce(Table):
    """Coalescing: served frames wait for each other and continue together."""

    frames: Annotated[int, *read_as(scenario.Coalesce, "frames")]
    """Number of waiting frames after which they continue."""
    time: Annotated[int, *read_as(scenario.Coalesce, "ps")]
    """Longest wait of the first frame; all waiting frames continue then."""


class Stage(Table):
    """A stage of a node, which serves one frame at a time in the order of arrival.

    The service takes `fixed`, `per_byte` for each octet, and the time of the bursts. The frame
    reaches the next stage `delay` later.
    """

    name: Annotated[str, StringConstraints(pattern=NAME)]
    """Name of the stage."""
    resource: Annotated[str, StringConstraints(pattern=NAME)] | None = None
    """Resource that the stage occupies during a service; stages of one node with the same resource
    exclude each other. Not with `queue`.
    """
    fixed: Annotated[int, *read_as(scenario.Stage, "fixed_ps")] = written("0 s")
    """Service time for each frame, at most 1 s."""
    per_byte: Annotated[int, *read_as(scenario.Stage, "ps_per_octet")] = written("0 s")
    """Service time for each octet of the frame, destination address to FCS; at most 1 ms."""
    extra: Annotated[int, *read_as(scenario.Stage, "extra_octets")] = written("0 B")
    """Octets added to the length of the frame; negative, such as "-4 B", where the stage carries no
    check sequence.
    """
    burst: Burst | None = None
    """Service time for bursts; none if absent."""
    overlap: Overlap | None = None
    """Octets after which the next stage may begin; all of the frame if absent. Not with `coalesce`.
    """
    delay: Annotated[int, *read_as(scenario.Stage, "delay_ps")] = written("0 s")
    """Time from the end of the service to the next stage, at most 1 s; the stage is free meanwhile.
    """
    queue: Queue = written("unlimited")
    """Room of the queue in frames, the one in service included; neither in `send` nor with
    `resource`.
    """
    coalesce: Coalesce | None = None
    """Coalescing of served frames, as by one interrupt for several; none if absent. Not with
    `overlap`.
    """

    @model_validator(mode="after")
    def _fits(self) -> "Stage":
        if self.queue is not None and self.resource is not None:
            raise complaint("expected no queue where a resource is shared")
        if self.coalesce is not None and self.overlap is not None:
            raise complaint("expected at most one of coalesce and overlap")
        return self


class Pause(Table):
    """Flow control by PAUSE frames (802.3-2022 annex 31B)."""

    high: Annotated[int, *read_as(scenario.Pause, "high_octets")]
    """Occupied memory above which the port asks its peer to pause; below `size`."""
    low: Annotated[int, *read_as(scenario.Pause, "low_octets")]
    """Occupied memory at which the peer may send again; at most `high`."""
    quanta: Annotated[int, *read_as(scenario.Pause, "quanta")] = 65_535
    """Duration of a pause in units of 512 bit times; the request is repeated after half of it."""


class Buffer(Table):
    """Memory of a port for frames that it receives."""

    size: Annotated[int, *read_as(scenario.Buffer, "octets")]
    """Size of the memory; a frame that finds no room is dropped."""
    pause: Pause | None = None
    """Flow control by PAUSE frames; none if absent."""

    @model_validator(mode="after")
    def _in_order(self) -> "Buffer":
        if self.pause is not None and not self.pause.low <= self.pause.high < self.size:
            raise complaint("expected pause.low up to pause.high, and pause.high below size")
        return self


class Learns(Table):
    """Address learning of a switch."""

    age: Annotated[int, *read_as(scenario.Learns, "age_ps")]
    """Time after the last frame from an address at which the switch forgets it."""
    addresses: Annotated[int, *read_as(scenario.Learns, "addresses")]
    """Largest number of addresses that the switch knows at a time."""


class Learning(Table):
    """Address learning."""

    learns: Learns
    """Ageing time and number of addresses."""


class Shared(Table):
    """A backplane that all frames pass."""

    shared: Stage
    """Stage of the backplane."""


class Modules(Table):
    """Stages of a crossbar between modules of ports."""

    local: Stage | None = None
    """Stage between two ports of one module; no stage if absent."""
    inward: Stage
    """Stage from a module to the crossbar."""
    outward: Stage
    """Stage from the crossbar to a module."""


class Crossbar(Table):
    """A crossbar between modules of ports."""

    crossbar: Modules
    """Stages of the crossbar; each module has its own."""


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
    """Model of a host, a switch or a router; it has keys of one of these only."""

    send: Annotated[list[Stage], Field(max_length=64)] = Field(default_factory=list)
    """Hosts: stages from the application to the link, at most 64."""
    receive: Annotated[list[Stage], Field(max_length=64)] = Field(default_factory=list)
    """Hosts: stages from the link to the application, at most 64."""
    ring: Annotated[int, *read_as(scenario.Host, "ring")] = 256
    """Hosts: largest number of a flow's messages between their call and the end of their
    transmission.
    """
    overlap: Overlap | None = None
    """Hosts and switches: octets on the wire, without preamble, after which the first stage may
    begin; all of the frame if absent.
    """
    buffer: Buffer | None = None
    """Hosts and switches: memory of each port for frames that it receives; unlimited if absent."""
    learning: LearningOrKnown = "known"
    """Switches: learning of addresses. With "known" the switch knows all addresses from the start.
    """
    ingress: Stage | None = None
    """Switches: stage of each input port; none if absent."""
    fabric: Fabric = "ideal"
    """Switches: switching fabric. "ideal" takes no time; `shared` is a backplane, `crossbar` joins
    modules of ports.
    """
    queue: Queue = written("unlimited")
    """Switches and routers: room of the queue of each output port in frames, the one being sent
    included.
    """
    queue_size: Annotated[int, *read_as(scenario.Switch, "queue_octets")] | None = None
    """Switches: room of the queue of each output port in octets; unlimited if absent."""
    forward: Stage | None = None
    """Routers: stage that all frames pass; it takes no time if absent."""
    classes: Classes | None = None
    """Traffic classes of each output port, as in `network.classes`; those of the network if absent.
    """

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

    title: Title
    """Title of the model, in one line."""
    notes: Annotated[str, StringConstraints(max_length=10_000)] = ""
    """Origin of the numbers."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Source of each number: its dotted path has a text "KIND: TEXT"."""


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
