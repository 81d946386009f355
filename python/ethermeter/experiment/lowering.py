"""Lowering: points of an experiment as scenarios.

An experiment has thousands of points that differ in one or two tables. So each table is validated
once for every combination of the sweeps that touch it, and what is made of tables is made once for
every combination of these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace
from pydantic import BaseModel

from ethermeter import scenario
from ethermeter.experiment.document import validated
from ethermeter.experiment.flows import MOST_FLOWS, ExpandedFlow, Flow, expanded_flows
from ethermeter.experiment.key_paths import Sweep
from ethermeter.experiment.layout import Layout, layout, placement
from ethermeter.experiment.network import ExpandedNetwork, Network, expanded_network
from ethermeter.experiment.origin import Origins
from ethermeter.experiment.phases import Phases, Theory, assumed, schedule
from ethermeter.experiment.segment import Constants, Segment, constants_of
from ethermeter.experiment.stations import StationGroup, check_group, group_of
from ethermeter.experiment.toml import PathError, Tables, assigned, at, covers
from ethermeter.faults import Fault, Faults, InputError, KeyPath, dotted, shown
from ethermeter.scenario import Scenario
from ethermeter.stations import Group
from ethermeter.theory.assumptions import Assumptions
from ethermeter.trial import Live, core_trial

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
CacheKey = tuple[object, ...]
MOST_DELAYS = 4_000_000
"""Delays between places that an experiment may have in all its different layouts."""

TableKey = tuple[KeyPath, tuple[tuple[int, int], ...]]
"""A table and which value it has of each sweep that touches it."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of an experiment, found sound.

    Parameters
    ----------
    scenario
        Makes its scenario; put off where only soundness is asked for.
    live
        Settings that only a measurement needs; None on a medium, which cannot be measured.
    theory
        What theories assume besides; None of networks, which no theory here describes.

    """

    scenario: Callable[[], Scenario]
    live: Live | None = None
    theory: Assumptions | None = None


class Scenarios:
    """The scenarios of an experiment, made on demand.

    Parameters
    ----------
    document
        The tables of the experiment file.
    sweeps
        What is varied in it.
    engines
        Engines that answer.
    batches
        Equal parts of the measured window.
    file
        What faults call the file.
    folder
        Where files named in it are looked for.

    """

    def __init__(
        self,
        document: Tables,
        sweeps: Sequence[Sweep],
        *,
        engines: Sequence[str],
        batches: int,
        file: str,
        folder: Path,
    ) -> None:
        self._document = document
        self._sweeps = sweeps
        self._engines = engines
        self._batches = batches
        self._file = file
        self._folder = folder
        self._touching: dict[KeyPath, list[int]] = {}
        self._known: dict[CacheKey, object] = {}
        self._delays = 0
        self._names = _names(self._tables("stations"))

    def at(self, choice: Sequence[int]) -> Scenario:
        """Return the scenario of a point.

        Parameters
        ----------
        choice
            For each sweep, which of its values.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        return self.point(choice).scenario()

    def point(self, choice: Sequence[int]) -> Point:
        """Return a point; enough to know that it is sound.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        faults = _Faults()
        phases_key = self._key(("phases",), choice)
        phases = faults.of(lambda: self._phases(phases_key))
        if "network" in self._document:
            return self._over_links(choice, phases, faults)
        return self._on_medium(choice, phases, faults)

    # A segment: one medium with its stations.

    def _on_medium(
        self, choice: Sequence[int], phases: scenario.Phases | None, faults: "_Faults"
    ) -> Point:
        segment_key = self._key(("segment",), choice)
        theory_key = self._key(("theory",), choice)
        group_keys = [self._key(("stations", index), choice) for index in range(len(self._names))]
        segment = faults.of(lambda: self._model(segment_key, Segment))
        groups: list[StationGroup] = []
        for key in group_keys:
            try:
                groups.append(self._model(key, StationGroup))
            except InputError as error:
                faults.found += error.faults
        theory = faults.of(lambda: self._assumptions(theory_key))
        if segment is None or len(groups) < len(group_keys):
            raise InputError(faults.found)
        constants = faults.of(
            lambda: self._once(
                ("constants", segment_key), lambda: constants_of(segment, file=self._file)
            )
        )
        layout_key = (segment_key, tuple([placement(group) for group in groups]))
        laid = faults.of(
            lambda: self._once(("layout", layout_key), lambda: self._layout(segment, groups))
        )
        if constants is not None:
            faults.found += self._too_many(groups, constants)
        lowered: list[Group] = []
        for index, (group, key) in enumerate(zip(groups, group_keys, strict=True)):
            try:
                lowered += self._lowered(index, group, (key, segment_key), constants)
            except InputError as error:
                faults.found += error.faults
        if faults.found or constants is None or laid is None or phases is None or theory is None:
            raise InputError(faults.found)
        return Point(
            lambda: self._scenario_on_medium(constants, layout_key, laid, lowered, phases),
            theory=theory,
        )

    def _scenario_on_medium(
        self,
        constants: Constants,
        layout_key: CacheKey,
        laid: Layout,
        lowered: Sequence[Group],
        phases: scenario.Phases,
    ) -> Scenario:
        delay_ps = self._once(
            ("delays", layout_key), lambda: tuple(tuple(row) for row in laid.delays_ps())
        )
        stations, nodes, flows = [], [], []
        host = scenario.Kind(host=scenario.Host())
        for (flow, node), group, points in zip(self._names, lowered, laid.points, strict=True):
            stations.append(replace(group.stations, node=node, points=points))
            nodes.append(scenario.Node(name=node, count=len(points), kind=host))
            flows.append(replace(group.flow, name=flow, from_=node))
        medium = scenario.Medium(
            name="segment",
            bit_ps=constants.bit_ps,
            mac=scenario.Mac(csma_cd=constants.mac),
            delay_ps=delay_ps,
            stations=tuple(stations),
        )
        return Scenario(
            nodes=tuple(nodes),
            media=(medium,),
            flows=tuple(flows),
            phases=phases,
            batches=self._batches,
        )

    def _layout(self, segment: Segment, groups: Sequence[StationGroup]) -> Layout:
        found = layout(segment, groups, file=self._file)
        self._delays += found.size**2
        if self._delays > MOST_DELAYS:
            allowed = (
                f"expected at most {MOST_DELAYS} delays between places in all points together; "
                "use clusters, or vary less"
            )
            raise InputError([Fault(self._file, "segment", "more delays", allowed)])
        return found

    def _too_many(self, groups: Sequence[StationGroup], constants: Constants) -> list[Fault]:
        count, most = sum(group.count for group in groups), constants.max_stations
        if count <= most:
            return []
        largest = max(range(len(groups)), key=lambda index: groups[index].count)
        allowed = f"expected at most {most} stations in all on a segment of this standard"
        return [Fault(self._file, dotted(("stations", largest, "count")), str(count), allowed)]

    def _lowered(
        self, index: int, group: StationGroup, key: CacheKey, constants: Constants | None
    ) -> list[Group]:
        """Return a group with neither name nor attachment points.

        Without constants there is none, and only contradictions are looked for.
        """
        faults = Faults(self._file, ("stations", index))
        check_group(group, faults)
        faults.raise_all()
        if constants is None:
            return []
        folder, file = self._folder, self._file
        return [
            self._once(
                ("group", *key),
                lambda: group_of(group, index, constants=constants, folder=folder, file=file),
            )
        ]

    def _assumptions(self, key: TableKey) -> Assumptions:
        return self._once(("assumed", key), lambda: assumed(self._model(key, Theory)))

    # A network: nodes and links.

    def _over_links(
        self, choice: Sequence[int], phases: scenario.Phases | None, faults: "_Faults"
    ) -> Point:
        network_key = self._key(("network",), choice)
        wired = faults.of(lambda: self._network(network_key))
        flows: list[tuple[TableKey, Flow]] = []
        for index in range(len(self._tables("flows"))):
            key = self._key(("flows", index), choice)
            try:
                flows.append((key, self._model(key, Flow)))
            except InputError as error:
                faults.found += error.faults
        if wired is None or phases is None or faults.found:
            raise InputError(faults.found)
        sent: list[ExpandedFlow] = []
        for index, (key, flow) in enumerate(flows):
            try:
                sent += self._flows(index, flow, wired, (key, network_key))
            except InputError as error:
                faults.found += error.faults
            if len(sent) > MOST_FLOWS:
                value, allowed = f"{len(sent)} flows", f"expected at most {MOST_FLOWS} in all"
                faults.found.append(Fault(self._file, dotted(("flows", index)), value, allowed))
                break
        if faults.found:
            raise InputError(dict.fromkeys(faults.found))
        made = self._once(
            ("network scenario", *choice), lambda: self._checked(wired, sent, phases, choice)
        )
        exchanges = tuple([each.exchanges for each in sent])
        is_wanted = any(wanted is not None for wanted in exchanges)
        live = Live(tuple([each.port for each in sent]), exchanges if is_wanted else None)
        return Point(lambda: made, live=live)

    def _checked(
        self,
        wired: ExpandedNetwork,
        sent: Sequence[ExpandedFlow],
        phases: scenario.Phases,
        choice: Sequence[int],
    ) -> Scenario:
        """Return the scenario of a network, checked by the core."""
        from ethermeter import _core

        made = Scenario(
            nodes=tuple(wired.nodes),
            links=tuple(wired.links),
            flows=tuple([each.flow for each in sent]),
            clocks=wired.clocks,
            phases=phases,
            batches=self._batches,
        )
        found = _core.check_trial(core_trial(made))
        if found is not None:
            origins = Origins(
                wired.node_origins, wired.link_origins, [each.origin for each in sent]
            )
            document = self._assigned((), enumerate(choice))
            raise InputError([origins.fault(found, made, document, file=self._file)])
        return made

    def _network(self, key: TableKey) -> ExpandedNetwork:
        return self._once(
            ("network", key),
            lambda: expanded_network(self._model(key, Network), file=self._file),
        )

    def _flows(
        self, index: int, flow: Flow, wired: ExpandedNetwork, key: CacheKey
    ) -> list[ExpandedFlow]:
        engines, folder, file = self._engines, self._folder, self._file
        return self._once(
            ("flows", *key),
            lambda: expanded_flows(flow, index, wired, engines=engines, folder=folder, file=file),
        )

    # Tables of both.

    def _phases(self, key: TableKey) -> scenario.Phases:
        return self._once(
            ("schedule", key), lambda: schedule(self._model(key, Phases), file=self._file)
        )

    def _tables(self, name: str) -> Sequence[Mapping[str, object]]:
        tables = self._document.get(name, ())
        assert isinstance(tables, list | tuple), "validated"
        return tables

    def _key(self, table: KeyPath, choice: Sequence[int]) -> TableKey:
        """Return what a table depends on: which values of the sweeps that touch it."""
        touching = self._touching.get(table)
        if touching is None:
            touching = [
                index
                for index, sweep in enumerate(self._sweeps)
                if covers(sweep.path[: len(table)], table)
            ]
            self._touching[table] = touching
        return table, tuple([(index, choice[index]) for index in touching])

    def _once(self, key: CacheKey, make: Callable[[], T]) -> T:
        """Return what was made for a key before, or make it; faults are kept as well."""
        if key not in self._known:
            try:
                self._known[key] = make()
            except InputError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, InputError):
            raise InputError(found.faults)
        return found  # type: ignore[return-value]

    def _model(self, key: TableKey, model: type[M]) -> M:
        return self._once(("model", key), lambda: self._validated(key, model))

    def _validated(self, key: TableKey, model: type[M]) -> M:
        table, choice = key
        return validated(model, self._assigned(table, choice), file=self._file, within=table)

    def _assigned(self, table: KeyPath, choice: Iterable[tuple[int, int]]) -> object:
        """Return a table with the values of a point."""
        raw = at(self._document, table)
        raw = {} if raw is None else raw
        try:
            for index, value in choice:
                sweep = self._sweeps[index]
                raw = assigned(raw, sweep.path[len(table) :], sweep.values[value])
        except PathError as error:
            raise InputError([Fault(self._file, dotted(table), shown(raw), str(error))]) from None
        return raw


class _Faults:
    """Faults of a point found so far."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def of(self, make: Callable[[], T]) -> T | None:
        """Return what is made, or None where it has faults, which are kept."""
        try:
            return make()
        except InputError as error:
            self.found += error.faults
            return None


def _names(tables: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return the name of every group's flow and node: groups may share one, nodes may not."""
    found: list[tuple[str, str]] = []
    for index, raw in enumerate(tables):
        name = str(raw.get("name") or (f"group-{index}" if len(tables) > 1 else "stations"))
        node = name
        while any(node == taken for _, taken in found):
            node += "'"
        found.append((name, node))
    return found
