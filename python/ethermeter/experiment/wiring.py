"""Wiring: the nodes and links of a network as the engines read them, groups written out, and
whatever contradicts itself in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ethermeter import topology
from ethermeter.experiment import components
from ethermeter.experiment.complaints import Part, dotted
from ethermeter.experiment.components import HOST_KEYS, ROUTER_KEYS, SWITCH_KEYS, Model
from ethermeter.experiment.layout import TWISTED_PAIR_VELOCITY
from ethermeter.experiment.network import MOST_NODES, HostGroup, Link, Network, Router, Switch
from ethermeter.faults import Fault, InputError, shown

Place = tuple[Part, ...]


@dataclass(slots=True)
class Wiring:
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
    node_places: list[Place] = field(default_factory=list)
    link_places: list[Place] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    tree: dict[str, int] = field(default_factory=dict)
    compares_clocks: bool = False

    @property
    def value(self) -> dict[str, Any]:
        """The network as in a plan."""
        return {
            "nodes": self.nodes,
            "links": self.links,
            **({"clocks": "compared"} if self.compares_clocks else {}),
        }


def wiring(network: Network, *, file: str) -> Wiring:
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
        self.made = Wiring()
        self.faults: list[Fault] = []
        self._place_of: dict[str, Place] = {}  # of every name

    def wrong(self, place: Place, value: str, allowed: str) -> None:
        self.faults.append(Fault(self.file, dotted(place), value, allowed))

    def make_nodes(self) -> None:
        total = sum(group.count or 1 for group in self.network.hosts)
        total += len(self.network.switches) + len(self.network.routers) + len(self.network.hubs)
        if total > MOST_NODES:
            self.wrong(("network",), f"{total} nodes", f"expected at most {MOST_NODES}")
            return
        for index, group in enumerate(self.network.hosts):
            place: Place = ("network", "hosts", index)
            plan = components.host_plan(self._model(group, place, HOST_KEYS, "host"))
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
                components.switch_plan(self._laid_over(model, switch, SWITCH_KEYS)),
                place,
            )
        for index, router in enumerate(self.network.routers):
            place = ("network", "routers", index)
            model = self._model(router, place, ROUTER_KEYS, "router")
            self._single(
                router.name,
                "router",
                components.router_plan(self._laid_over(model, router, ROUTER_KEYS)),
                place,
            )
        for index, hub in enumerate(self.network.hubs):
            self._single(hub.name, "hub", {"delay_ps": hub.delay}, ("network", "hubs", index))

    def _laid_over(self, model: Model, own: Switch | Router, keys: tuple[str, ...]) -> Model:
        return components.laid_over(
            model, {key: getattr(own, key) for key in keys if key in own.model_fields_set}
        )

    def _single(self, name: str, kind: str, plan: Mapping[str, Any], place: Place) -> None:
        self._name(name, place)
        self._node(name, kind, plan, place)

    def _name(self, name: str, place: Place) -> None:
        if name in self._place_of:
            other = dotted(self._place_of[name])
            allowed = f"expected a name of its own; {other} has it (hosts of a group are called by its name and a number)"
            self.wrong((*place, "name"), shown(name), allowed)
        self._place_of.setdefault(name, place)

    def _node(self, name: str, kind: str, plan: Mapping[str, Any], place: Place) -> None:
        self.made.nodes.append({"name": name, "kind": {kind: dict(plan)}})
        self.made.node_places.append(place)

    def _model(
        self, owner: HostGroup | Switch | Router, place: Place, keys: tuple[str, ...], kind: str
    ) -> Model:
        """Return the model that a node asks for; an empty one if it asks for none, or in vain."""
        if owner.model is None:
            return Model()
        model = self.network.models.get(owner.model) or components.shipped_model(owner.model)
        if model is None:
            known = ", ".join([*self.network.models, *components.shipped_models()]) or "none"
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
        self.made.compares_clocks = self.network.clocks == "compared"
        if self.made.compares_clocks and not any(group.clock for group in self.network.hosts):
            self.wrong(
                ("network", "clocks"),
                '"compared"',
                "expected a clock at one host at least: without, all clocks are true",
            )

    def make_links(self) -> None:
        kinds = {node["name"]: next(iter(node["kind"])) for node in self.made.nodes}
        used: dict[str, int] = dict.fromkeys(kinds, 0)
        sets = {name: number for number, name in enumerate(kinds)}
        for index, link in enumerate(self.network.links):
            place: Place = ("network", "links", index)
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

    def _link(self, link: Link, place: Place) -> dict[str, Any]:
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

    def _pairs(self, link: Link, place: Place, kinds: Mapping[str, str]) -> list[tuple[str, str]]:
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

    def _join(self, sets: dict[str, int], first: str, second: str, place: Place) -> None:
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
