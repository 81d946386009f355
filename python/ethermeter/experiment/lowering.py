"""Lowering: points of an experiment as scenarios.

An experiment has thousands of points that differ in one or two tables. So each table is validated
once for every combination of the sweeps that touch it, and what is made of tables is made once for
every combination of these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace
from pydantic import BaseModel

from ethermeter import scenario
from ethermeter.experiment import plca
from ethermeter.experiment.document import validated
from ethermeter.experiment.flows import MOST_FLOWS, ExpandedFlow, Flow, expanded_flows
from ethermeter.experiment.key_paths import Sweep
from ethermeter.experiment.layout import Layout, group_at, layout, placement
from ethermeter.experiment.network import ExpandedNetwork, Network, expanded_network
from ethermeter.experiment.origin import Origins
from ethermeter.experiment.phases import Phases, Theory, assumed, schedule
from ethermeter.experiment.plca import Wanted, nodes_of
from ethermeter.experiment.segment import Constants, Segment, constants_of
from ethermeter.experiment.stations import StationGroup, check_group, group_of
from ethermeter.experiment.toml import PathError, Tables, assigned, at, covers
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.faults import Faults, InputError, KeyPath, dotted, shown
from ethermeter.scenario import Scenario
from ethermeter.station_groups import Group
from ethermeter.theory.assumptions import Assumptions
from ethermeter.traces import Trace
from ethermeter.trial import RAW_FRAMES, Live, core_trial

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
CacheKey = tuple[object, ...]
MOST_DELAYS = 4_000_000
"""Delays between attachment points that an experiment may have in all its different layouts."""

TableKey = tuple[KeyPath, tuple[tuple[int, int], ...]]
"""A table and which value it has of each sweep that touches it."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of an experiment, found sound."""

    scenario: Callable[[], Scenario]
    """Makes its scenario; put off where only soundness is asked for."""
    live: Live | None = None
    """Settings that only a measurement needs."""
    theory: Assumptions | None = None
    """What theories assume besides; None of networks, which no theory here describes."""


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
        self._files = TraceFiles(folder)
        self._touching: dict[KeyPath, list[int]] = {}
        self._known: dict[CacheKey, object] = {}
        self._delays = 0
        self._names = _names(self._tables("stations"))

    @property
    def traces(self) -> Mapping[str, Trace]:
        """Traces that the scenarios made so far replay, by the SHA-256 of their text."""
        return self._files.traces

    def at(self, choice: Sequence[int]) -> Scenario:
        """Return the scenario of a point, which has a value of each sweep by its index.

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
        faults = Faults(self._file)
        key = self._key(("phases",), choice)
        phases = faults.of(
            lambda: self._once(
                ("schedule", key), lambda: schedule(self._model(key, Phases), file=self._file)
            )
        )
        if "network" in self._document:
            return self._over_links(choice, phases, faults)
        return self._on_medium(choice, phases, faults)

    # A segment: one medium with its stations.

    def _on_medium(
        self, choice: Sequence[int], phases: scenario.Phases | None, faults: Faults
    ) -> Point:
        file = self._file
        segment_key, theory_key = self._key(("segment",), choice), self._key(("theory",), choice)
        segment = faults.of(lambda: self._model(segment_key, Segment))
        groups = self._listed("stations", StationGroup, choice, faults)
        theory = faults.of(
            lambda: self._once(
                ("assumed", theory_key), lambda: assumed(self._model(theory_key, Theory))
            )
        )
        if segment is None or len(groups) < len(self._names):
            raise InputError(faults.found)
        constants = faults.of(
            lambda: self._once(("constants", segment_key), lambda: constants_of(segment, file=file))
        )
        tables = [group for _, group in groups]
        layout_key = (segment_key, tuple([placement(group) for group in tables]))
        laid = faults.of(
            lambda: self._once(("layout", layout_key), lambda: self._layout(segment, tables))
        )
        if constants is not None:
            count, most = sum(group.count for group in tables), constants.max_stations
            if count > most:
                largest = max(range(len(tables)), key=lambda index: tables[index].count)
                allowed = f"expected at most {most} stations in all on a segment of this standard"
                faults.add(("stations", largest, "count"), count, allowed)
        lowered: list[Group] = []
        for index, (key, group) in enumerate(groups):
            of_group = Faults(file, ("stations", index))
            check_group(group, self._engines, of_group)
            faults.found += of_group.found
            if constants is not None and not of_group.found:
                make = partial(group_of, group, index, constants, self._files, file)
                made = faults.of(partial(self._once, ("group", key, segment_key), make))
                lowered += [] if made is None else [made]
        if constants is not None:
            nodes = self._turns(segment, constants, tables, faults)
            lowered = [
                Group(replace(group.stations, plca=of), group.flow) if of is not None else group
                for group, of in zip(lowered, nodes, strict=False)
            ]
        if faults.found or constants is None or laid is None or phases is None or theory is None:
            raise InputError(faults.found)
        return Point(
            lambda: self._scenario_on_medium(constants, layout_key, laid, lowered, phases),
            live=Live((RAW_FRAMES,) * len(lowered)),
            theory=theory,
        )

    def _turns(
        self,
        segment: Segment,
        constants: Constants,
        groups: Sequence[StationGroup],
        faults: Faults,
    ) -> Sequence[scenario.PlcaNodes | None]:
        """Return PLCA of each group."""
        wanted = [
            Wanted(group.plca, group.count, bool(group.down), ("stations", index))
            for index, group in enumerate(groups)
        ]
        if constants.mac.plca is not None:
            return nodes_of(segment.plca, wanted, faults)
        plca.refuse(wanted, segment.standard, ("segment", "standard"), faults)
        return [None] * len(groups)

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
            mac=constants.mac,
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
        places = [group_at(group, index) for index, group in enumerate(groups)]
        found = layout(segment, places, file=self._file)
        self._delays += found.size**2
        if self._delays > MOST_DELAYS:
            allowed = (
                f"expected at most {MOST_DELAYS} delays between attachment points, in all points "
                "together; use clusters, or vary less"
            )
            raise InputError.of(self._file, "segment", "more delays", allowed)
        return found

    # A network: nodes and links.

    def _over_links(
        self, choice: Sequence[int], phases: scenario.Phases | None, faults: Faults
    ) -> Point:
        file = self._file
        network_key = self._key(("network",), choice)
        network = faults.of(
            lambda: self._once(
                ("network", network_key),
                lambda: expanded_network(self._model(network_key, Network), file=file),
            )
        )
        flows = self._listed("flows", Flow, choice, faults)
        if network is None or phases is None or faults.found:
            raise InputError(faults.found)
        sent: list[ExpandedFlow] = []
        for index, (key, flow) in enumerate(flows):
            make = partial(
                expanded_flows,
                flow,
                index,
                network,
                engines=self._engines,
                files=self._files,
                file=file,
            )
            sent += faults.of(partial(self._once, ("flows", key, network_key), make)) or []
            if len(sent) > MOST_FLOWS:
                allowed = f"expected at most {MOST_FLOWS} in all"
                faults.add(("flows", index), f"{len(sent)} flows", allowed)
                break
        faults.raise_all()
        made = self._once(
            ("network scenario", *choice), lambda: self._checked(network, sent, phases, choice)
        )
        exchanges = tuple([each.exchanges for each in sent])
        is_wanted = any(wanted is not None for wanted in exchanges)
        live = Live(tuple([each.port for each in sent]), exchanges if is_wanted else None)
        return Point(lambda: made, live=live)

    def _checked(
        self,
        network: ExpandedNetwork,
        sent: Sequence[ExpandedFlow],
        phases: scenario.Phases,
        choice: Sequence[int],
    ) -> Scenario:
        """Return the scenario of a network, checked by the core."""
        from ethermeter import _core

        made = Scenario(
            nodes=tuple(network.nodes),
            links=tuple(network.links),
            media=tuple(network.media),
            flows=tuple([each.flow for each in sent]),
            clocks=network.clocks,
            phases=phases,
            batches=self._batches,
        )
        if found := _core.check_trial(core_trial(made)):
            flow_origins = [each.origin for each in sent]
            origins = Origins(
                network.node_origins, network.link_origins, flow_origins, network.station_origins
            )
            document = self._assigned((), enumerate(choice))
            faults = [origins.fault(each, made, document, file=self._file) for each in found]
            raise InputError(dict.fromkeys(faults))
        return made

    # Tables of both.

    def _tables(self, name: str) -> Sequence[Mapping[str, object]]:
        tables = self._document.get(name)
        return tables if isinstance(tables, list | tuple) else ()

    def _listed(
        self, name: str, model: type[M], choice: Sequence[int], faults: Faults
    ) -> list[tuple[TableKey, M]]:
        """Return the tables of a list that have no faults."""
        keys = [self._key((name, index), choice) for index in range(len(self._tables(name)))]
        found = [(key, faults.of(partial(self._model, key, model))) for key in keys]
        return [(key, table) for key, table in found if table is not None]

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
        """Return a table with the values of a point, validated."""

        def make() -> M:
            table, choice = key
            return validated(model, self._assigned(table, choice), file=self._file, within=table)

        return self._once(("model", key), make)

    def _assigned(self, table: KeyPath, choice: Iterable[tuple[int, int]]) -> object:
        """Return a table with the values of a point."""
        raw = at(self._document, table)
        raw = {} if raw is None else raw
        try:
            for index, value in choice:
                sweep = self._sweeps[index]
                raw = assigned(raw, sweep.path[len(table) :], sweep.values[value])
        except PathError as error:
            raise InputError.of(self._file, dotted(table), shown(raw), str(error)) from None
        return raw


def _names(tables: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return the name of every group's flow and node: groups may share one, nodes may not."""
    found: list[tuple[str, str]] = []
    for index, raw in enumerate(tables):
        given = raw.get("name") if isinstance(raw, Mapping) else None
        usual = f"group-{index}" if len(tables) > 1 else "stations"
        name = given if isinstance(given, str) and given else usual
        node = name
        while any(node == taken for _, taken in found):
            node += "'"
        found.append((name, node))
    return found
