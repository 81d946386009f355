"""[network]: hosts, switches, routers, hubs and links, and the network as in a plan, with groups written
out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from ethermeter import topology
from ethermeter.experiment.components import (
    HOST_KEYS,
    NAME,
    ROUTER_KEYS,
    SWITCH_KEYS,
    Buffer,
    Fabric,
    LearningOrKnown,
    Model,
    Overlap,
    Queue,
    Stage,
    host_plan,
    laid_over,
    router_plan,
    shipped_model,
    shipped_models,
    switch_plan,
)
from ethermeter.experiment.layout import TWISTED_PAIR_VELOCITY
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
from ethermeter.faults import Fault, InputError, Key, dotted, shown
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
    clocks: Literal["synchronised", "unsynchronised"] = "unsynchronised"
    """Whether receivers of streams synchronise with their senders' clocks; simulation only."""
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


KeyPath = tuple[Key, ...]


@dataclass(slots=True)
class ExpandedNetwork:
    """A network written out.

    Parameters
    ----------
    nodes, links
        As in a plan.
    node_places, link_places
        For each of these, the table of the file that it comes from.
    members
        The hosts of every host and group of hosts, by its name.
    groups
        Names of groups, which have a number of hosts.
    tree
        For every node a number that all nodes have with which it is joined.
    compares_clocks
        Whether receivers of streams compare clocks with their senders.

    """

    nodes: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    node_places: list[KeyPath] = field(default_factory=list)
    link_places: list[KeyPath] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    tree: dict[str, int] = field(default_factory=dict)
    compares_clocks: bool = False

    @property
    def value(self) -> dict[str, Any]:
        """The tables of a scenario that hold the network."""
        return {
            "nodes": self.nodes,
            "links": self.links,
            **({"clocks": "compared"} if self.compares_clocks else {}),
        }


def expanded_network(network: Network, *, file: str) -> ExpandedNetwork:
    """Write a network out.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    maker = _Maker(network, file)
    maker.make_nodes()
    maker.make_links()
    maker.compare_clocks()
    if maker.faults:
        raise InputError(maker.faults)
    return maker.made


class _Maker:
    """A wiring under construction, with the faults found so far."""

    def __init__(self, network: Network, file: str) -> None:
        self.network = network
        self.file = file
        self.made = ExpandedNetwork()
        self.faults: list[Fault] = []
        self._place_of: dict[str, KeyPath] = {}  # of every name

    def wrong(self, place: KeyPath, value: str, allowed: str) -> None:
        self.faults.append(Fault(self.file, dotted(place), value, allowed))

    def make_nodes(self) -> None:
        total = sum(group.count or 1 for group in self.network.hosts)
        total += len(self.network.switches) + len(self.network.routers) + len(self.network.hubs)
        if total > MOST_NODES:
            self.wrong(("network",), f"{total} nodes", f"expected at most {MOST_NODES}")
            return
        for index, group in enumerate(self.network.hosts):
            place: KeyPath = ("network", "hosts", index)
            plan = host_plan(self._model(group, place, HOST_KEYS, "host"))
            if group.clock is not None:
                plan["clock"] = group.clock.plan()
            self._name(group.name, place)
            names = (
                [group.name]
                if group.count is None
                else [f"{group.name}{number}" for number in range(1, group.count + 1)]
            )
            self.made.members[group.name] = names
            if group.count is not None:
                self.made.groups.add(group.name)
            for name in names:
                if group.count is not None:
                    self._name(name, place)
                self._node(name, "host", plan, place)
        for index, switch in enumerate(self.network.switches):
            place = ("network", "switches", index)
            model = self._model(switch, place, SWITCH_KEYS, "switch")
            self._single(
                switch.name,
                "switch",
                switch_plan(self._laid_over(model, switch, SWITCH_KEYS)),
                place,
            )
        for index, router in enumerate(self.network.routers):
            place = ("network", "routers", index)
            model = self._model(router, place, ROUTER_KEYS, "router")
            self._single(
                router.name,
                "router",
                router_plan(self._laid_over(model, router, ROUTER_KEYS)),
                place,
            )
        for index, hub in enumerate(self.network.hubs):
            self._single(hub.name, "hub", {"delay_ps": hub.delay}, ("network", "hubs", index))

    def _laid_over(self, model: Model, own: Switch | Router, keys: tuple[str, ...]) -> Model:
        return laid_over(
            model, {key: getattr(own, key) for key in keys if key in own.model_fields_set}
        )

    def _single(self, name: str, kind: str, plan: Mapping[str, Any], place: KeyPath) -> None:
        self._name(name, place)
        self._node(name, kind, plan, place)

    def _name(self, name: str, place: KeyPath) -> None:
        if name in self._place_of:
            other = dotted(self._place_of[name])
            allowed = f"expected a name of its own; {other} has it (hosts of a group are called by its name and a number)"
            self.wrong((*place, "name"), shown(name), allowed)
        self._place_of.setdefault(name, place)

    def _node(self, name: str, kind: str, plan: Mapping[str, Any], place: KeyPath) -> None:
        self.made.nodes.append({"name": name, "kind": {kind: dict(plan)}})
        self.made.node_places.append(place)

    def _model(
        self, owner: HostGroup | Switch | Router, place: KeyPath, keys: tuple[str, ...], kind: str
    ) -> Model:
        """Return the model that a node asks for; an empty one if it asks for none, or in vain."""
        if owner.model is None:
            return Model()
        model = self.network.models.get(owner.model) or shipped_model(owner.model)
        if model is None:
            known = ", ".join([*self.network.models, *shipped_models()]) or "none"
            self.wrong(
                (*place, "model"),
                shown(owner.model),
                f"expected a model of this file or one that comes with ethermeter: {known}",
            )
            return Model()
        said = model.model_fields_set & set(Model.model_fields)
        if stray := sorted(said - set(keys)):
            allowed = f"expected a model of a {kind}, which may have {', '.join(keys)}; this one has {', '.join(stray)}"
            self.wrong((*place, "model"), shown(owner.model), allowed)
        return model

    def compare_clocks(self) -> None:
        self.made.compares_clocks = self.network.clocks == "synchronised"
        if self.made.compares_clocks and not any(group.clock for group in self.network.hosts):
            self.wrong(
                ("network", "clocks"),
                '"synchronised"',
                "expected a clock at one host at least: hosts without one have no clock error",
            )

    def make_links(self) -> None:
        kinds = {node["name"]: next(iter(node["kind"])) for node in self.made.nodes}
        used: dict[str, int] = dict.fromkeys(kinds, 0)
        sets = {name: number for number, name in enumerate(kinds)}
        for index, link in enumerate(self.network.links):
            place: KeyPath = ("network", "links", index)
            plan = self._link(link, place)
            for first, second in self._pairs(link, place, kinds):
                has_hub = "hub" in (kinds[first], kinds[second])
                if has_hub and link.half_duplex is False:
                    self.wrong(
                        (*place, "half_duplex"),
                        "false",
                        "expected true, or nothing: a hub's links are half-duplex",
                    )
                self._join(sets, first, second, place)
                for name in (first, second):
                    used[name] += 1
                half = {"half_duplex": True} if link.half_duplex or has_hub else {}
                modules = link.modules or [0, 0]
                ends = [
                    {"node": name, **({"module": module} if module else {})}
                    for name, module in zip((first, second), modules, strict=True)
                ]
                self.made.links.append({"ends": ends, **plan, **half})
                self.made.link_places.append(place)
        self.made.tree = sets
        # Two of one name are a fault already.
        for name, place in {
            node["name"]: place
            for node, place in zip(self.made.nodes, self.made.node_places, strict=True)
        }.items():
            if kinds[name] == "host" and used[name] != 1:
                self.wrong(
                    place,
                    name,
                    f"expected a host to have exactly one link, this one has {used[name]}",
                )

    def _link(self, link: Link, place: KeyPath) -> dict[str, Any]:
        rate = link.rate if link.rate is not None else self.network.rate
        if rate is None:
            self.wrong((*place, "rate"), "(missing)", "required, or else network.rate: a bit rate")
        delay = link.delay or 0
        if link.length is not None:
            delay = topology.propagation_ps(
                link.length, velocity=link.velocity or TWISTED_PAIR_VELOCITY
            )
        said = {"preamble_octets": link.preamble} if link.preamble != 8 else {}
        said |= {"gap_octets": link.gap} if link.gap != 12 else {}
        return {"ps_per_octet": rate, "delay_ps": delay, **said}

    def _pairs(self, link: Link, place: KeyPath, kinds: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return what a link joins; a group has one for each of its hosts."""
        sides: list[list[str]] = []
        for side, name in enumerate(link.ends):
            hosts = self.made.members.get(name) or ([name] if name in kinds else [])
            if not hosts:
                known = ", ".join(dict.fromkeys([*self.made.members, *kinds]))
                self.wrong(
                    (*place, "ends", side),
                    shown(name),
                    f"expected the name of a node or of a group: {known}",
                )
            sides.append(hosts)
        first, second = sides
        if len(first) > 1 and len(second) > 1:
            self.wrong(
                (*place, "ends"),
                shown(link.ends),
                "expected at most one group: its hosts are joined to one node",
            )
            return []
        return [(one, other) for one in first for other in second]

    def _join(self, sets: dict[str, int], first: str, second: str, place: KeyPath) -> None:
        if sets[first] == sets[second]:
            allowed = (
                "expected no loop: other links join these two already, and there is no spanning tree here"
                if first != second
                else "expected two different nodes"
            )
            self.wrong((*place, "ends"), f"{first}, {second}", allowed)
            return
        old = sets[second]
        for name, number in sets.items():
            if number == old:
                sets[name] = sets[first]
