"""Network: hosts, switches, routers and hubs, and the links between them."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from ethermeter.experiment.components import (
    NAME,
    Buffer,
    Fabric,
    LearningOrKnown,
    Model,
    Overlap,
    Queue,
    Stage,
)
from ethermeter.experiment.quantity import (
    ClockDrift,
    ClockOffset,
    DriftSpread,
    Length,
    OctetTime,
    OffsetSpread,
    Velocity,
    octets,
    short_time,
)
from ethermeter.experiment.table import Table, complaint
from ethermeter.units import PS_PER_S

MOST_NODES = 1000
"""Nodes a network may have."""

Name = Annotated[str, StringConstraints(pattern=NAME)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class Clock(Table):
    """What a host's clock shows: the true time, its offset, and what it has gained since the trial
    began.
    """

    offset: ClockOffset = Field(default="0 s", validate_default=True)
    """How far it is ahead when the trial begins; behind with a minus."""
    drift: ClockDrift = Field(default="0 ppm", validate_default=True)
    """By how much it goes too fast; too slow with a minus."""
    offset_spread: OffsetSpread = Field(default="0 s", validate_default=True)
    """So much is added to the offset at most, or taken from it: uniform, drawn by the seed, for
    each host of a group.
    """
    drift_spread: DriftSpread = Field(default="0 ppm", validate_default=True)
    """The same of the drift."""

    def plan(self) -> dict[str, Any]:
        """Return the clock as a plan has it."""
        spreads = {"offset_spread_ps": self.offset_spread, "drift_spread_ppb": self.drift_spread}
        return {
            "offset_ps": self.offset,
            "drift_ppb": self.drift,
            **{name: spread for name, spread in spreads.items() if spread},
        }


class HostGroup(Table):
    """A host, or several equal ones."""

    name: Name
    """Name of the host; of a group, hosts are called by it and their number, from 1."""
    count: Annotated[int, Field(ge=1, le=MOST_NODES)] | None = None
    """Number of hosts of a group; one host if not said."""
    model: ModelName | None = None
    """What it is made of: a model of this file, or one that comes with the package; an ideal host
    if not said.
    """
    clock: Clock | None = None
    """What its clock shows; of a simulation only.

    Delays are read by clocks where one end of a stream has one; the other's is true then.
    """


class Switch(Table):
    """A switch; what it says itself holds instead of what its model says."""

    name: Name
    """Name of the switch."""
    model: ModelName | None = None
    """What it is made of; an ideal switch if not said."""
    learning: LearningOrKnown = "known"
    """What it knows of addresses."""
    overlap: Overlap | None = None
    """Octets, preamble apart, after which a frame goes on (cut-through); all of it if not said."""
    ingress: Stage | None = None
    """A stage that each port has of its own."""
    fabric: Fabric = "ideal"
    """What lies between its ports."""
    queue: Queue = Field(default="unlimited", validate_default=True)
    """Frames there is room for at each port out, the one being sent included."""
    queue_size: Annotated[int, *octets(least=1, most=10**8)] | None = None
    """The same in octets."""
    buffer: Buffer | None = None
    """Memory of each port in, and flow control."""

    @model_validator(mode="after")
    def _each_its_own(self) -> "Switch":
        if self.ingress is not None and self.ingress.resource is not None:
            raise complaint("expected no resource in ingress: each port has its own")
        return self


class Router(Table):
    """A router; what it says itself holds instead of what its model says."""

    name: Name
    """Name of the router."""
    model: ModelName | None = None
    """What it is made of; an ideal router if not said."""
    forward: Stage | None = None
    """A stage that all frames pass."""
    queue: Queue = Field(default="unlimited", validate_default=True)
    """Frames there is room for at each port out, the one being sent included."""


class Hub(Table):
    """A hub: it joins half-duplex links into one collision domain."""

    name: Name
    """Name of the hub."""
    delay: Annotated[int, *short_time(PS_PER_S)] = Field(default="0 s", validate_default=True)
    """From one link to another."""


class Link(Table):
    """A cable between two nodes, or one to each host of a group."""

    ends: Annotated[list[Name], Field(min_length=2, max_length=2)]
    """Names of what it joins; of a group, every host has a link of its own."""
    modules: (
        Annotated[
            list[Annotated[int, Field(ge=0, le=MOST_NODES)]], Field(min_length=2, max_length=2)
        ]
        | None
    ) = None
    """At each end, the module of the switch that has the port, from 0; the first if not said."""
    rate: OctetTime | None = None
    """Bit rate; the network's if not said."""
    delay: Annotated[int, *short_time(PS_PER_S)] | None = None
    """One-way propagation time; instead of `length`."""
    length: Length | None = None
    """Length of the cable."""
    velocity: Velocity | None = None
    """Propagation velocity over the speed of light; that of twisted pair if not said."""
    preamble: Annotated[int, *octets(least=0, most=65_536)] = Field(
        default="8 B", validate_default=True
    )
    """Preamble and delimiter."""
    gap: Annotated[int, *octets(least=0, most=65_536)] = Field(
        default="12 B", validate_default=True
    )
    """Inter-frame gap."""
    half_duplex: bool | None = None
    """Whether only one end may send at a time; if not said, a hub's links are so and others not."""

    @model_validator(mode="after")
    def _one_way(self) -> "Link":
        if self.delay is not None and self.length is not None:
            raise complaint("expected at most one of delay and length")
        if self.velocity is not None and self.length is None:
            raise complaint("expected velocity with length only")
        return self


class Network(Table):
    """Hosts, switches, routers, hubs and links: a forest, for no two nodes may be joined twice."""

    rate: OctetTime | None = None
    """Bit rate of links that say nothing else."""
    clocks: Literal["compared", "not compared"] = "not compared"
    """Whether receivers of streams ask their senders for the time as in a live test, where either
    has a clock; of a simulation only.
    """
    models: Annotated[dict[Name, Model], Field(max_length=MOST_NODES)] = Field(default_factory=dict)
    """What nodes are made of, by the name under which they ask for it."""
    hosts: Annotated[list[HostGroup], Field(min_length=1, max_length=MOST_NODES)]
    """Hosts."""
    switches: Annotated[list[Switch], Field(max_length=MOST_NODES)] = Field(default_factory=list)
    """Switches."""
    routers: Annotated[list[Router], Field(max_length=MOST_NODES)] = Field(default_factory=list)
    """Routers."""
    hubs: Annotated[list[Hub], Field(max_length=MOST_NODES)] = Field(default_factory=list)
    """Hubs."""
    links: Annotated[list[Link], Field(min_length=1, max_length=MOST_NODES)]
    """Links."""
