"""[network]: hosts, switches, routers, hubs, segments and links, as in a plan, group by group."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from ethermeter import scenario, topology
from ethermeter.experiment.classes import Classes
from ethermeter.experiment.components import (
    KINDS,
    Component,
    Model,
    Node,
    keys_of_kind,
    shipped_model,
    shipped_models,
)
from ethermeter.experiment.layout import TWISTED_PAIR_VELOCITY
from ethermeter.experiment.media import (
    Attached,
    Attachment,
    ExpandedSegment,
    NetworkSegment,
    expanded_segment,
)
from ethermeter.experiment.origin import Origin
from ethermeter.experiment.quantity import (
    NAME,
    Length,
    Name,
    OctetTime,
    Velocity,
    complaint,
    form_of,
    integer,
    text,
)
from ethermeter.experiment.segment import Constants
from ethermeter.experiment.tables import (
    FileTable,
    ListOf,
    NamedTables,
    file_keys,
    keys_of,
    lowered,
    read_table,
    table_reader,
)
from ethermeter.faults import Faults, Key, KeyPath, choices, dotted, shown
from ethermeter.framing import FCS_OCTETS, message_octets
from ethermeter.nodes import (
    Neighbours,
    classes_of,
    kind_of,
    links_of,
    neighbours_of,
    path_of,
)

MOST_NODES = 1000
"""Nodes a network may have."""

ModelName = Annotated[str, text(1, 64)]


class NamedNode(Node, frozen=True, kw_only=True):
    """A node with a name; its keys replace those of its model."""

    name: Name
    """Name of the node."""
    model: ModelName | None = None
    """Name of a table in `network.models`, or of a model that comes with the package. If absent the
    node is ideal: it takes no time and has unlimited buffers.
    """


class HostGroup(NamedNode, frozen=True, kw_only=True):
    """A host, or a group of equal hosts; its keys replace those of its model."""

    OF = (scenario.Host,)

    name: Name
    """Name of the host or of the group. The hosts of a group have its name and a number: sender1,
    sender2, …
    """
    count: Annotated[int, integer(1, MOST_NODES)] | None = None
    """Number of hosts of a group; a single host if absent."""


class Switch(NamedNode, frozen=True, kw_only=True):
    """A switch; its keys replace those of its model."""

    OF = (scenario.Switch,)


class Router(NamedNode, frozen=True, kw_only=True):
    """A router; its keys replace those of its model."""

    OF = (scenario.Router,)


class Hub(FileTable, frozen=True, kw_only=True):
    """A hub: it joins half-duplex links into one collision domain."""

    OF = (scenario.Hub,)

    name: Name
    """Name of the hub."""


_MODULE = form_of(file_keys(scenario.End)["module"]) or integer()


class Link(Attachment, frozen=True, kw_only=True):
    """A link between two nodes, or between a node and each host of a group, or to a segment.

    Keys of attachments are those of links to a segment.
    """

    OF = (scenario.Link, scenario.Stations)
    LEFT_OUT = frozenset({"clock_error"})  # clocks of media in networks are perfect

    ends: Annotated[tuple[str, ...], ListOf(NAME, 2, 2)]
    """Names of the two ends. One of them may be a group, each of whose hosts gets a link."""
    modules: Annotated[tuple[int, ...], ListOf(_MODULE, 2, 2)] | None = None
    """Crossbar module of the port at each end, from 0; [0, 0] if absent."""
    rate: OctetTime | None = None
    """Bit rate, or time of an octet; `network.rate` if absent."""
    delay: Annotated[int | None, replace(file_keys(scenario.Link)["delay_ps"], name=None)] = None
    """One-way propagation delay, at most 1 s; instead of `length`. 0 s if both are absent."""
    length: Length | None = None
    """Length of the cable; instead of `delay`."""
    velocity: Velocity | None = None
    """Propagation velocity over the speed of light, with `length`; 0.585 (twisted pair) if absent.
    """
    half_duplex: bool | None = None
    """Whether only one end may send at a time. If absent, links of a hub are half-duplex and others
    are not.
    """

    def check(self) -> None:
        """Refuse two propagation delays, or a velocity without a length."""
        if self.delay is not None and self.length is not None:
            raise complaint("expected at most one of delay and length")
        if self.velocity is not None and self.length is None:
            raise complaint("expected velocity with length only")


WIRE = ("rate", "delay", "length", "velocity", "preamble", "gap", "half_duplex", "modules")
"""Keys of a link between nodes; a segment has these of its own."""


def _tables(struct: type[FileTable], least: int = 0) -> ListOf:
    return ListOf(table_reader(struct), least, MOST_NODES)


class Network(FileTable, frozen=True, kw_only=True):
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
    models: Annotated[dict[str, Model], NamedTables(table_reader(Model), NAME, MOST_NODES)] = (
        msgspec.field(default_factory=dict)
    )
    """Models of nodes, by the name that a node has in `model`."""
    hosts: Annotated[tuple[HostGroup, ...], _tables(HostGroup, 1)] = ()
    """Hosts and groups of hosts; those that flows name if absent."""
    switches: Annotated[tuple[Switch, ...], _tables(Switch)] = ()
    """Switches of the network."""
    routers: Annotated[tuple[Router, ...], _tables(Router)] = ()
    """Routers of the network."""
    hubs: Annotated[tuple[Hub, ...], _tables(Hub)] = ()
    """Hubs of the network."""
    segments: Annotated[tuple[NetworkSegment, ...], _tables(NetworkSegment)] = ()
    """Shared segments."""
    links: Annotated[tuple[Link, ...], _tables(Link, 1)] = ()
    """Links between nodes, and from nodes to segments. A host that needs no table, and each host if
    the file has no links, is joined to the only switch, router, hub or segment of the file, or to a
    switch if it has none.
    """


@dataclass(frozen=True, slots=True)
class Wire:
    """What a host sends on: its link, or its medium."""

    octet_ps: int
    preamble_bits: int
    gap_bits: int
    fcs_bits: int

    @classmethod
    def of(cls, over: Constants | scenario.Link) -> "Wire":
        """Return the wire of the stations of a medium, or of the hosts at a link."""
        if isinstance(over, Constants):
            mac = over.csma_cd
            return cls(8 * over.bit_ps, mac.preamble_bits, mac.gap_bits, over.fcs_bits)
        around = 8 * over.preamble_octets, 8 * over.gap_octets
        return cls(over.ps_per_octet, *around, 8 * FCS_OCTETS)

    def charged_bits(self, flow: scenario.Flow, bits: int) -> int:
        """Return the bits of a message of this length: preambles, frames and gaps.

        Charged as Boggs et al. (1988, section 3.3) charge.
        """
        frames = message_octets(flow, bits)
        return 8 * sum(frames) + bits % 8 + len(frames) * (self.preamble_bits + self.gap_bits)


@dataclass(slots=True)
class ExpandedNetwork:
    """A network written out, host by host."""

    nodes: list[scenario.Node] = field(default_factory=list)
    links: list[scenario.Link] = field(default_factory=list)
    node_origins: list[Origin] = field(default_factory=list)
    """Where the file sets the values of each node."""
    link_origins: list[Origin] = field(default_factory=list)
    path: KeyPath = ("network",)
    """Where the file has it."""
    is_medium: bool = False
    """Whether it is one medium, which receives all frames; a node stands for equal stations."""
    segments: list[ExpandedSegment] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)
    """The hosts of every host and group of hosts, by its name."""
    groups: set[str] = field(default_factory=set)
    """Names of groups, which have a number of hosts."""
    clocks: scenario.Comparing = "not_compared"
    kinds: dict[str, str] = field(default_factory=dict)
    """Kind of every node, such as "host", by name."""
    tree: dict[str, int] = field(default_factory=dict)
    """For every node a number that is common to all nodes to which links lead from it."""

    _wires: dict[str, scenario.Link | Constants] = field(default_factory=dict)
    _with_classes: set[str] = field(default_factory=set)
    _neighbours: Neighbours | None = None

    @property
    def every_link(self) -> tuple[scenario.Link, ...]:
        """Its links and those of its segments, as of `ethermeter.nodes.links_in`."""
        return (*self.links, *[link for each in self.segments for link in links_of(each.medium)])

    def wire_of(self, host: str) -> scenario.Link | Constants:
        """Return the link of a host, or the medium that it is on."""
        if not self._wires:
            self._wires = {
                stations.node: each.constants
                for each in self.segments
                for stations in each.medium.stations
            }
            self._wires |= {end.node: link for link in self.links for end in link.ends}
        return self._wires[host]

    def has_classes_between(self, sender: str, receiver: str) -> bool:
        """Whether a port on the path between two hosts has traffic classes."""
        links = self.every_link
        if self._neighbours is None:
            self._neighbours = neighbours_of(self.kinds, links)
            self._with_classes = {node.name for node in self.nodes if classes_of(node)}
        return any(
            node in self._with_classes and not links[link].half_duplex
            for link, node in path_of(self._neighbours, sender, receiver)
        )


def expanded_network(network: Network, *, file: str, is_medium: bool = False) -> ExpandedNetwork:
    """Write a network out; `is_medium` says that it is a medium, which receives all frames.

    Raises
    ------
    InputError
        With everything in it that contradicts itself.

    """
    maker = _Maker(
        network, file, ExpandedNetwork(path=_path(network, "network"), is_medium=is_medium)
    )
    maker.make_nodes()
    maker.make_links()
    maker.make_segments()
    maker.check_links()
    maker.check_classes()
    maker.check_clocks()
    maker.faults.raise_all()
    return maker.made


def network_in(table: object, *, file: str) -> ExpandedNetwork:
    """Return the table `network` of a file written out.

    Raises
    ------
    InputError
        With everything in it that is wrong.

    """
    return expanded_network(read_table(Network, table, file=file, within=("network",)), file=file)


LISTS = {"switch": "switches", "router": "routers"}


def _path(table: FileTable, *usual: Key) -> KeyPath:
    """Return where the file has a table; `usual` is where one that was read is."""
    return table.written or usual


class _Maker:
    """A network in the making, with the faults found so far."""

    def __init__(self, network: Network, file: str, made: ExpandedNetwork) -> None:
        self.network = network
        self.faults = Faults(file)
        self.made = made
        self._has_unknown_ends = False
        self._path_of: dict[str, KeyPath] = {}  # of every name
        self._count_of: dict[str, int] = {}  # of every node
        self._attached: dict[str, list[Attached]] = {each.name: [] for each in network.segments}

    def make_nodes(self) -> None:
        network = self.network
        total = sum(group.count or 1 for group in network.hosts)
        total += len(network.switches) + len(network.routers)
        total += len(network.hubs) + len(network.segments)
        if total > MOST_NODES and not self.made.is_medium:
            # Without nodes, all links and flows would lead nowhere.
            path = _path(network, "network")
            raise self.faults.error(path, f"{total} nodes", f"expected at most {MOST_NODES}")
        for index, group in enumerate(network.hosts):
            self._hosts(group, _path(group, "network", "hosts", index))
        for kind, nodes in (("switch", network.switches), ("router", network.routers)):
            for index, node in enumerate(nodes):
                made, origin = self._kind(node, ("network", LISTS[kind], index), kind)
                self._node(node.name, made, origin)
        for index, hub in enumerate(network.hubs):
            kind_of_hub = scenario.Kind(hub=lowered(scenario.Hub, hub))
            self._node(hub.name, kind_of_hub, Origin(("network", "hubs", index)))
        for index, segment in enumerate(network.segments):
            self._name(segment.name, _path(segment, "network", "segments", index))
            self.made.kinds[segment.name] = "segment"

    def _hosts(self, group: HostGroup, path: KeyPath) -> None:
        kind, origin = self._kind(group, path, "host")
        names, count = [group.name], 1
        if self.made.is_medium:
            count = group.count or 1
        elif group.count is not None:
            self._name(group.name, path)
            names = [f"{group.name}{number}" for number in range(1, group.count + 1)]
            self.made.groups.add(group.name)
        self.made.members[group.name] = names
        for name in names:
            self._node(name, kind, origin, count)

    def _name(self, name: str, path: KeyPath) -> None:
        if name in self._path_of:
            allowed = (
                f"expected a unique name; {dotted(self._path_of[name])} has it "
                "(hosts of a group have its name and a number)"
            )
            self.faults.add((*path, "name"), shown(name), allowed)
        self._path_of.setdefault(name, path)

    def _node(self, name: str, kind: scenario.Kind, origin: Origin, count: int = 1) -> None:
        self._name(name, origin.path)
        node = scenario.Node(name=name, count=count, kind=kind)
        self.made.nodes.append(node)
        self.made.node_origins.append(origin)
        self.made.kinds[name] = kind_of(node)[0]
        self._count_of[name] = count

    def _kind(self, owner: NamedNode, path: KeyPath, kind: str) -> tuple[scenario.Kind, Origin]:
        """Return a node as in a plan, and the origin of its values.

        Its keys go before those of its model, and classes of these before those of the network.
        """
        fields = dict(owner.core)
        elsewhere: dict[str, KeyPath] = {}
        if (model := self._model(owner, path, kind)) is not None:
            of_file = owner.model in self.network.models
            base = ("network", "models", str(owner.model)) if of_file else (*path, "model")
            fields = {**model.core, **fields}
            keys = (key for key in keys_of_kind(kind) if key not in owner.given)
            elsewhere = dict.fromkeys(keys, base)
        if "classes" not in fields and self.network.classes is not None:
            fields["classes"] = self.network.classes
            elsewhere["classes"] = ("network",)
        made: Any = KINDS[kind](**fields)
        return scenario.Kind(**{kind: made}), Origin(path, elsewhere)

    def _model(self, owner: NamedNode, path: KeyPath, kind: str) -> Model | None:
        """Return the model of a node; None if it names none, or none of its kind."""
        if owner.model is None:
            return None
        model = self.network.models.get(owner.model) or shipped_model(owner.model)
        if model is None:
            lead = "expected a model of this file or one that comes with ethermeter: "
            allowed = choices(owner.model, [*self.network.models, *shipped_models()], lead)
            self.faults.add((*path, "model"), shown(owner.model), allowed)
            return None
        keys = keys_of_kind(kind)
        if stray := sorted(model.given - set(keys) - set(Component.__struct_fields__)):
            allowed = (
                f"expected a model of a {kind}, which may have {', '.join(keys)}; "
                f"this one has {', '.join(stray)}"
            )
            self.faults.add((*path, "model"), shown(owner.model), allowed)
            return None
        return model

    def check_classes(self) -> None:
        """Find classes of a node that has half-duplex links only, and idle slopes beyond a link.

        At a half-duplex link and on a segment a port has one queue for all frames.
        """
        ends = [(end.node, link) for link in self.made.every_link for end in link.ends]
        links: dict[str, list[scenario.Link]] = {name: [] for name in self.made.kinds}
        for name, link in ends:
            links[name].append(link)
        for node, origin in zip(self.made.nodes, self.made.node_origins, strict=True):
            of_node = links[node.name]
            if (
                not of_node
                or not (classes := classes_of(node))
                or not all(link.ps_per_octet for link in of_node)
            ):
                continue
            path = (*origin.elsewhere.get("classes", origin.path), "classes")
            slope_bps = sum(each.idle_slope_bps or 0 for each in classes)
            full = [link.ps_per_octet for link in of_node if not link.half_duplex]
            if not full:
                if path[:-1] == origin.path:
                    allowed = "expected a full-duplex link: a port at any other has one queue"
                    self.faults.add(path, "classes", allowed)
                continue
            rate_bps = 8e12 / max(full)
            if slope_bps >= rate_bps:
                allowed = (
                    "expected idle slopes that sum to less than the rate of every link of "
                    f"{node.name}, here {rate_bps / 1e6:g} Mb/s"
                )
                self.faults.add(path, f"{slope_bps / 1e6:g} Mb/s", allowed)

    def check_clocks(self) -> None:
        if self.network.clocks != "synchronised":
            return
        self.made.clocks = "compared"
        if not any("clock" in group.given for group in self.network.hosts):
            allowed = "expected a clock at one host at least: hosts without one have no clock error"
            self.faults.add(("network", "clocks"), '"synchronised"', allowed)

    def make_links(self) -> None:
        kinds, tree = self.made.kinds, self.made.tree
        tree.update({name: number for number, name in enumerate(kinds)})
        for index, link in enumerate(self.network.links):
            path = _path(link, "network", "links", index)
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
                made = lowered(
                    scenario.Link,
                    link,
                    ends=tuple(
                        [
                            scenario.End(node=name, module=module)
                            for name, module in zip(ends, link.modules or (0, 0), strict=True)
                        ]
                    ),
                    ps_per_octet=link.rate or self.network.rate or 0,
                    delay_ps=delay_ps,
                    half_duplex=bool(link.half_duplex) or has_hub,
                )
                self.made.links.append(made)
                self.made.link_origins.append(origin)

    def _attach(self, link: Link, path: KeyPath) -> bool:
        """Take up a link to a segment; whether it is one."""
        sides = [side for side, name in enumerate(link.ends) if name in self._attached]
        attaching = keys_of(table_reader(Attachment))
        allowed = "expected with a link to a segment only"
        if sides:
            allowed = "not allowed at a segment, which has its own; see network.segments"
        for key in WIRE if sides else attaching:
            if key in link.given:
                value = getattr(link, key, None)
                is_plain = isinstance(value, str | int | float)
                self.faults.add((*path, key), value if is_plain else f"{key} is given", allowed)
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
        if nodes := [name for ends in pairs for name in ends if name != segment]:
            stations = sum(self._count_of[name] for name in nodes)
            self._attached[segment].append(Attached(link, path, nodes, stations))
        return True

    def make_segments(self) -> None:
        made = self.made
        for index, segment in enumerate(self.network.segments):
            attached = self._attached[segment.name]
            path = _path(segment, "network", "segments", index)
            if sum(each.count for each in attached) < 2 and not segment.written:
                allowed = "expected links from at least two nodes to the segment"
                self.faults.add((*path, "name"), segment.name, allowed)
            make = partial(expanded_segment, segment, attached, path, file=self.faults.file)
            if (expanded := self.faults.of(make)) is not None:
                made.segments.append(expanded)

    def check_links(self) -> None:
        if self._has_unknown_ends:
            return  # whose link it is does not show
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
                self._has_unknown_ends = True
        first, second = sides
        if len(first) > 1 and len(second) > 1:
            allowed = "expected at most one group: its hosts are joined to one node"
            self.faults.add((*path, "ends"), shown(list(link.ends)), allowed)
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
