"""[network]: hosts, switches, routers, hubs, segments and links, as in a plan, group by group."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ethermeter import scenario, topology
from ethermeter.experiment.classes import Classes
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
    router_plan,
    shipped_model,
    shipped_models,
    switch_plan,
)
from ethermeter.experiment.layout import TWISTED_PAIR_VELOCITY
from ethermeter.experiment.network_segments import (
    Attached,
    NetworkSegment,
    check_link,
    medium_of,
)
from ethermeter.experiment.origin import Origin, lowered
from ethermeter.experiment.plca import GroupPlca, Outages
from ethermeter.experiment.quantity import (
    Length,
    OctetTime,
    Table,
    Velocity,
    complaint,
    read_as,
    written,
)
from ethermeter.experiment.segment import MOST_PLACES
from ethermeter.faults import Faults, KeyPath, choices, dotted, shown
from ethermeter.nodes import classes_of, kind_of, links_of
from ethermeter.scenario import ClockSpec

MOST_NODES = 1000
"""Nodes a network may have."""

CrossbarModule = Annotated[int, *read_as(scenario.End, "module")]
Name = Annotated[str, StringConstraints(pattern=NAME)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class Clock(Table):
    """Clock of a host, by its offset and drift from true time."""

    offset: Annotated[int, *read_as(ClockSpec, "offset_ps")] = written("0 s")
    """Offset from true time at the start of the trial, -10 s to 10 s; positive if the clock is
    ahead.
    """
    drift: Annotated[int, *read_as(ClockSpec, "drift_ppb")] = written("0 ppm")
    """Frequency error of the clock, -1000 ppm to 1000 ppm; positive if the clock is fast."""
    offset_spread: Annotated[int, *read_as(ClockSpec, "offset_spread_ps")] = written("0 s")
    """Largest deviation from `offset`, at most 10 s; uniform, drawn by the seed for each host of a
    group.
    """
    drift_spread: Annotated[int, *read_as(ClockSpec, "drift_spread_ppb")] = written("0 ppm")
    """Largest deviation from `drift`, at most 1000 ppm; uniform, drawn by the seed for each host of
    a group.
    """


class HostGroup(Table):
    """A host, or a group of equal hosts."""

    name: Name
    """Name of the host or of the group. The hosts of a group have its name and a number: sender1,
    sender2, …
    """
    count: Annotated[int, Field(ge=1, le=MOST_NODES)] | None = None
    """Number of hosts of a group; a single host if absent."""
    model: ModelName | None = None
    """Name of a table in `network.models`, or of a model that comes with the package. If absent the
    host is ideal: it takes no time and has unlimited buffers.
    """
    clock: Clock | None = None
    """Clock of the host, for simulations only; true time if absent. A stream has clock metrics if
    one of its ends has a clock.
    """
    classes: Classes | None = None
    """Traffic classes of the host's port, as in `network.classes`; those of its model or of the
    network if absent.
    """


class Switch(Table):
    """A switch; its keys replace those of its model."""

    name: Name
    """Name of the switch."""
    model: ModelName | None = None
    """Name of a table in `network.models`, or of a model that comes with the package. If absent the
    switch is ideal: it takes no time and has unlimited buffers.
    """
    learning: LearningOrKnown = "known"
    """Learning of addresses. With "known" the switch knows all addresses from the start."""
    overlap: Overlap | None = None
    """Octets on the wire, without preamble, after which a frame continues (cut-through); all of the
    frame if absent.
    """
    ingress: Stage | None = None
    """Stage of each input port; none if absent."""
    fabric: Fabric = "ideal"
    """Switching fabric. "ideal" takes no time; `shared` is a backplane, `crossbar` joins modules of
    ports.
    """
    queue: Queue = written("unlimited")
    """Room of the queue of each output port in frames, the one being sent included."""
    queue_size: Annotated[int, *read_as(scenario.Switch, "queue_octets")] | None = None
    """Room of the queue of each output port in octets; unlimited if absent."""
    buffer: Buffer | None = None
    """Memory of each input port, and flow control; unlimited if absent."""
    classes: Classes | None = None
    """Traffic classes of each output port, as in `network.classes`; those of its model or of the
    network if absent.
    """

    @model_validator(mode="after")
    def _each_its_own(self) -> "Switch":
        if self.ingress is not None and self.ingress.resource is not None:
            raise complaint("expected no resource in ingress: each port has its own")
        return self


class Router(Table):
    """A router; its keys replace those of its model."""

    name: Name
    """Name of the router."""
    model: ModelName | None = None
    """Name of a table in `network.models`, or of a model that comes with the package. If absent the
    router is ideal: it takes no time and has unlimited buffers.
    """
    forward: Stage | None = None
    """Stage that all frames pass; it takes no time if absent."""
    queue: Queue = written("unlimited")
    """Room of the queue of each output port in frames, the one being sent included."""
    classes: Classes | None = None
    """Traffic classes of each output port, as in `network.classes`; those of its model or of the
    network if absent.
    """


class Hub(Table):
    """A hub: it joins half-duplex links into one collision domain."""

    name: Name
    """Name of the hub."""
    delay: Annotated[int, *read_as(scenario.Hub, "delay_ps")] = written("0 s")
    """Delay from one link to another, at most 1 s."""


class Link(Table):
    """A link between two nodes, or between a node and each host of a group, or to a segment."""

    ends: Annotated[list[Name], Field(min_length=2, max_length=2)]
    """Names of the two ends. One of them may be a group, each of whose hosts gets a link."""
    modules: (
        Annotated[
            list[CrossbarModule],
            Field(min_length=2, max_length=2),
        ]
        | None
    ) = None
    """Crossbar module of the port at each end, from 0; [0, 0] if absent."""
    rate: OctetTime | None = None
    """Bit rate, or time of an octet; `network.rate` if absent."""
    delay: Annotated[int, *read_as(scenario.Link, "delay_ps")] | None = None
    """One-way propagation delay, at most 1 s; instead of `length`. 0 s if both are absent."""
    length: Length | None = None
    """Length of the cable; instead of `delay`."""
    velocity: Velocity | None = None
    """Propagation velocity over the speed of light, with `length`; 0.585 (twisted pair) if absent.
    """
    preamble: Annotated[int, *read_as(scenario.Link, "preamble_octets")] = written("8 B")
    """Preamble with start-of-frame delimiter."""
    gap: Annotated[int, *read_as(scenario.Link, "gap_octets")] = written("12 B")
    """Inter-frame gap."""
    half_duplex: bool | None = None
    """Whether only one end may send at a time. If absent, links of a hub are half-duplex and others
    are not.
    """
    position: Length | None = None
    """At a segment: position of the nodes along its length."""
    positions: Annotated[list[Length], Field(min_length=1, max_length=MOST_NODES)] | None = None
    """At a segment: position of each host of the group along its length."""
    cluster: Annotated[int, Field(ge=0, le=MOST_PLACES - 1)] | None = None
    """At a segment: cluster, branch or row of `delays` of the nodes, from 0."""
    plca: GroupPlca | None = None
    """At a segment of 10BASE-T1S: PLCA settings of the nodes that differ from those of the segment.
    """
    down: Outages | None = None
    """At a segment of 10BASE-T1S: intervals in which the nodes are silent; never if absent."""

    @model_validator(mode="after")
    def _one_way(self) -> "Link":
        if self.delay is not None and self.length is not None:
            raise complaint("expected at most one of delay and length")
        if self.velocity is not None and self.length is None:
            raise complaint("expected velocity with length only")
        return self


class Network(Table):
    """Nodes, segments and links of a network; at most one path joins two nodes."""

    rate: OctetTime | None = None
    """Bit rate of links without a `rate` of their own, or time of an octet."""
    clocks: Literal["synchronised", "unsynchronised"] = "unsynchronised"
    """Whether receivers of streams estimate offset and drift of their senders' clocks
    ("synchronised"); simulation only, with a `clock` at one host at least.
    """
    classes: Classes | None = None
    """Traffic classes of hosts, switches and routers without `classes` of their own: the number of
    classes, as 802.1Q recommends them, or a list of tables with `priorities` and optionally
    `idle_slope`, `quantum`, `queue` and `queue_size`, highest class first. One queue for each port
    if absent.
    """
    models: Annotated[dict[Name, Model], Field(max_length=MOST_NODES)] = Field(default_factory=dict)
    """Models of nodes, by the name that a node has in `model`."""
    hosts: Annotated[list[HostGroup], Field(min_length=1, max_length=MOST_NODES)]
    """Hosts and groups of hosts."""
    switches: Annotated[list[Switch], Field(max_length=MOST_NODES)] = Field(default_factory=list)
    """Switches of the network."""
    routers: Annotated[list[Router], Field(max_length=MOST_NODES)] = Field(default_factory=list)
    """Routers of the network."""
    hubs: Annotated[list[Hub], Field(max_length=MOST_NODES)] = Field(default_factory=list)
    """Hubs of the network."""
    segments: Annotated[list[NetworkSegment], Field(max_length=MOST_NODES)] = Field(
        default_factory=list
    )
    """Shared segments."""
    links: Annotated[list[Link], Field(min_length=1, max_length=MOST_NODES)]
    """Links between nodes, and from nodes to segments."""


@dataclass(slots=True)
class ExpandedNetwork:
    """A network written out, host by host."""

    nodes: list[scenario.Node] = field(default_factory=list)
    links: list[scenario.Link] = field(default_factory=list)
    node_origins: list[Origin] = field(default_factory=list)
    """Where the file sets the values of each node."""
    link_origins: list[Origin] = field(default_factory=list)
    media: list[scenario.Medium] = field(default_factory=list)
    """Segments, with their stations."""
    station_origins: list[list[Origin]] = field(default_factory=list)
    """Of each segment those of its stations."""
    members: dict[str, list[str]] = field(default_factory=dict)
    """The hosts of every host and group of hosts, by its name."""
    groups: set[str] = field(default_factory=set)
    """Names of groups, which have a number of hosts."""
    clocks: scenario.Comparing = "not_compared"
    kinds: dict[str, str] = field(default_factory=dict)
    """Kind of every node, such as "host", by name."""
    tree: dict[str, int] = field(default_factory=dict)
    """For every node a number that is common to all nodes to which links lead from it."""

    _with_classes: set[str] | None = None
    _neighbours: dict[str, list[str]] = field(default_factory=dict)

    @property
    def every_link(self) -> tuple[scenario.Link, ...]:
        """Its links and those of its segments, as of `ethermeter.nodes.over_links`."""
        return (*self.links, *[link for medium in self.media for link in links_of(medium)])

    def has_classes_between(self, sender: str, receiver: str) -> bool:
        """Whether a port on the path between two hosts has traffic classes."""
        if self._with_classes is None:
            self._with_classes = {node.name for node in self.nodes if classes_of(node)}
            self._neighbours = {name: [] for name in self.kinds}
            for link in self.every_link:
                first, second = (end.node for end in link.ends)
                self._neighbours[first].append(second)
                self._neighbours[second].append(first)
        before = {sender: sender}
        waiting = [sender]
        for node in waiting:
            new = [other for other in self._neighbours[node] if other not in before]
            before.update(dict.fromkeys(new, node))
            waiting += new
        node = before[receiver]
        while node != sender and node not in self._with_classes:
            node = before[node]
        return node in self._with_classes


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
    maker.make_segments()
    maker.check_links()
    maker.check_classes()
    maker.check_clocks()
    maker.faults.raise_all()
    return maker.made


class _Maker:
    """A network in the making, with the faults found so far."""

    def __init__(self, network: Network, file: str) -> None:
        self.network = network
        self.faults = Faults(file)
        self.made = ExpandedNetwork()
        self._path_of: dict[str, KeyPath] = {}  # of every name
        self._attached: dict[str, list[Attached]] = {each.name: [] for each in network.segments}

    def make_nodes(self) -> None:
        network = self.network
        total = sum(group.count or 1 for group in network.hosts)
        total += len(network.switches) + len(network.routers)
        total += len(network.hubs) + len(network.segments)
        if total > MOST_NODES:
            self.faults.add(("network",), f"{total} nodes", f"expected at most {MOST_NODES}")
            return
        for index, group in enumerate(network.hosts):
            self._hosts(group, ("network", "hosts", index))
        for index, switch in enumerate(network.switches):
            model, origin = self._model(switch, ("network", "switches", index), SWITCH_KEYS)
            self._node(switch.name, scenario.Kind(switch=switch_plan(model)), origin)
        for index, router in enumerate(network.routers):
            model, origin = self._model(router, ("network", "routers", index), ROUTER_KEYS)
            self._node(router.name, scenario.Kind(router=router_plan(model)), origin)
        for index, hub in enumerate(network.hubs):
            kind = scenario.Kind(hub=lowered(scenario.Hub, hub))
            self._node(hub.name, kind, Origin(("network", "hubs", index)))
        for index, segment in enumerate(network.segments):
            self._name(segment.name, ("network", "segments", index))
            self.made.kinds[segment.name] = "segment"

    def _hosts(self, group: HostGroup, path: KeyPath) -> None:
        model, origin = self._model(group, path, HOST_KEYS)
        clock = None if group.clock is None else lowered(ClockSpec, group.clock)
        kind = scenario.Kind(host=host_plan(model, clock))
        names = [group.name]
        if group.count is not None:
            self._name(group.name, path)
            names = [f"{group.name}{number}" for number in range(1, group.count + 1)]
            self.made.groups.add(group.name)
        self.made.members[group.name] = names
        for name in names:
            self._node(name, kind, origin)

    def _name(self, name: str, path: KeyPath) -> None:
        if name in self._path_of:
            allowed = (
                f"expected a unique name; {dotted(self._path_of[name])} has it "
                "(hosts of a group have its name and a number)"
            )
            self.faults.add((*path, "name"), shown(name), allowed)
        self._path_of.setdefault(name, path)

    def _node(self, name: str, kind: scenario.Kind, origin: Origin) -> None:
        self._name(name, origin.path)
        node = scenario.Node(name=name, kind=kind)
        self.made.nodes.append(node)
        self.made.node_origins.append(origin)
        self.made.kinds[name] = kind_of(node)[0]

    def _model(
        self, owner: HostGroup | Switch | Router, path: KeyPath, keys: tuple[str, ...]
    ) -> tuple[Model, Origin]:
        """Return the model of a node with the node's own keys set in it, and their origin.

        The model is an empty one if the node names none, or one that is unknown.
        """
        own = {key: getattr(owner, key) for key in keys if key in owner.model_fields_set}
        if owner.model is None:
            return self._with_classes(Model().model_copy(update=own), Origin(path))
        model = self.network.models.get(owner.model) or shipped_model(owner.model)
        if model is None:
            lead = "expected a model of this file or one that comes with ethermeter: "
            allowed = choices(owner.model, [*self.network.models, *shipped_models()], lead)
            self.faults.add((*path, "model"), shown(owner.model), allowed)
            return Model(), Origin(path)
        given = model.model_fields_set & set(Model.model_fields)
        if stray := sorted(given - set(keys)):
            kind = {HOST_KEYS: "host", SWITCH_KEYS: "switch", ROUTER_KEYS: "router"}[keys]
            allowed = (
                f"expected a model of a {kind}, which may have {', '.join(keys)}; "
                f"this one has {', '.join(stray)}"
            )
            self.faults.add((*path, "model"), shown(owner.model), allowed)
        of_file = owner.model in self.network.models
        base = ("network", "models", owner.model) if of_file else (*path, "model")
        bases = {key: base for key in keys if key not in own}
        return self._with_classes(model.model_copy(update=own), Origin(path, bases))

    def _with_classes(self, model: Model, origin: Origin) -> tuple[Model, Origin]:
        """Return a model that has the network's classes if it has none, and its origin."""
        if model.classes is not None or self.network.classes is None:
            return model, origin
        made = model.model_copy(update={"classes": self.network.classes})
        return made, Origin(origin.path, {**origin.elsewhere, "classes": ("network",)})

    def check_classes(self) -> None:
        """Find classes at half-duplex links, and idle slopes beyond a link."""
        ends = [(end.node, link) for link in self.made.every_link for end in link.ends]
        links: dict[str, list[scenario.Link]] = {name: [] for name in self.made.kinds}
        for name, link in ends:
            links[name].append(link)
        for node, origin in zip(self.made.nodes, self.made.node_origins, strict=True):
            if not (classes := classes_of(node)) or not links[node.name]:
                continue
            path = (*origin.elsewhere.get("classes", origin.path), "classes")
            slope_bps = sum(each.idle_slope_bps or 0 for each in classes)
            rate_bps = 8e12 / max(link.ps_per_octet for link in links[node.name])
            if any(link.half_duplex for link in links[node.name]):
                value = f"classes of {node.name}"
                allowed = "expected no classes at a half-duplex link: give it half_duplex = false"
                self.faults.add(path, value, allowed)
            elif slope_bps >= rate_bps:
                allowed = (
                    "expected idle slopes that sum to less than the rate of every link of "
                    f"{node.name}, here {rate_bps / 1e6:g} Mb/s"
                )
                self.faults.add(path, f"{slope_bps / 1e6:g} Mb/s", allowed)

    def check_clocks(self) -> None:
        if self.network.clocks != "synchronised":
            return
        self.made.clocks = "compared"
        if not any(group.clock for group in self.network.hosts):
            allowed = "expected a clock at one host at least: hosts without one have no clock error"
            self.faults.add(("network", "clocks"), '"synchronised"', allowed)

    def make_links(self) -> None:
        kinds, tree = self.made.kinds, self.made.tree
        tree.update({name: number for number, name in enumerate(kinds)})
        for index, link in enumerate(self.network.links):
            path: KeyPath = ("network", "links", index)
            if self._attach(link, path):
                continue
            origin = self._link_origin(link, path)
            delay_ps = link.delay or 0
            if link.length is not None:
                delay_ps = topology.propagation_ps(
                    link.length, velocity=link.velocity or TWISTED_PAIR_VELOCITY
                )
            for ends in self._pairs(link, path):
                has_hub = "hub" in (kinds[end] for end in ends)
                if has_hub and link.half_duplex is False:
                    allowed = "expected true, or nothing: a hub's links are half-duplex"
                    self.faults.add((*path, "half_duplex"), "false", allowed)
                self._join(tree, ends, path)
                made = scenario.Link(
                    ends=tuple(
                        [
                            scenario.End(node=name, module=module)
                            for name, module in zip(ends, link.modules or (0, 0), strict=True)
                        ]
                    ),
                    ps_per_octet=link.rate or self.network.rate or 0,
                    delay_ps=delay_ps,
                    preamble_octets=link.preamble,
                    gap_octets=link.gap,
                    half_duplex=bool(link.half_duplex) or has_hub,
                )
                self.made.links.append(made)
                self.made.link_origins.append(origin)

    def _attach(self, link: Link, path: KeyPath) -> bool:
        """Take up a link to a segment; whether it is one."""
        sides = [side for side, name in enumerate(link.ends) if name in self._attached]
        faults = Faults(self.faults.file, path)
        check_link(link, is_of_segment=bool(sides), faults=faults)
        self.faults.found += faults.found
        if not sides:
            return False
        segment, other = link.ends[sides[0]], link.ends[1 - sides[0]]
        if self.made.kinds.get(other) in ("segment", "hub"):
            allowed = "expected a host, a group of hosts, a switch or a router at a segment"
            self.faults.add((*path, "ends", 1 - sides[0]), shown(other), allowed)
            return True
        pairs = self._pairs(link, path)
        for ends in pairs:
            self._join(self.made.tree, ends, path)
        nodes = [name for ends in pairs for name in ends if name != segment]
        if nodes:
            self._attached[segment].append(Attached(nodes, link, path))
        return True

    def make_segments(self) -> None:
        for index, segment in enumerate(self.network.segments):
            attached = self._attached[segment.name]
            path: KeyPath = ("network", "segments", index)
            make = partial(medium_of, segment, attached, path, file=self.faults.file)
            if (medium := self.faults.of(make)) is not None:
                self.made.media.append(medium)
                origins = [Origin(each.path) for each in attached for _ in each.nodes]
                self.made.station_origins.append(origins)

    def check_links(self) -> None:
        used = Counter(end.node for link in self.made.links for end in link.ends)
        used.update(name for each in self._attached.values() for of in each for name in of.nodes)
        for name, path in self._path_of.items():
            if self.made.kinds.get(name) == "host" and used[name] != 1:
                allowed = f"expected a host to have exactly one link, this one has {used[name]}"
                self.faults.add(path, name, allowed)

    def _link_origin(self, link: Link, path: KeyPath) -> Origin:
        if link.rate is not None:
            return Origin(path)
        if self.network.rate is None:
            allowed = "required, or else network.rate: a bit rate"
            self.faults.add((*path, "rate"), "(missing)", allowed)
        return Origin(path, {"rate": ("network",)})

    def _pairs(self, link: Link, path: KeyPath) -> list[tuple[str, str]]:
        """Return what a link joins; a group has one for each of its hosts."""
        kinds, members = self.made.kinds, self.made.members
        sides: list[list[str]] = []
        for side, name in enumerate(link.ends):
            sides.append(members.get(name) or ([name] if name in kinds else []))
            if not sides[-1]:
                lead = "expected the name of a node or of a group: "
                allowed = choices(name, [*members, *kinds], lead)
                self.faults.add((*path, "ends", side), shown(name), allowed)
        first, second = sides
        if len(first) > 1 and len(second) > 1:
            allowed = "expected at most one group: its hosts are joined to one node"
            self.faults.add((*path, "ends"), shown(link.ends), allowed)
            return []
        return [(one, other) for one in first for other in second]

    def _join(self, tree: dict[str, int], ends: tuple[str, str], path: KeyPath) -> None:
        first, second = ends
        old = tree[second]
        if tree[first] == old:
            allowed = (
                "expected no loop: other links join these two already, "
                "and there is no spanning tree here"
                if first != second
                else "expected two different nodes"
            )
            self.faults.add((*path, "ends"), f"{first}, {second}", allowed)
            return
        for name, number in tree.items():
            if number == old:
                tree[name] = tree[first]
