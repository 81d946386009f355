"""Lowering: points of an experiment as the engines read them.

An experiment has thousands of points that differ in one or two tables. So each table is validated
once for every combination of the sweeps that touch it, each layout is made once, and a scenario is
put together from tables that are JSON already.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from ethermeter import scenario
from ethermeter.experiment.document import faults_of, validated
from ethermeter.experiment.flows import ExpandedFlows, Flow, expanded_flows
from ethermeter.experiment.key_paths import PathError, assigned, at, covers
from ethermeter.experiment.layout import Layout, layout, placement
from ethermeter.experiment.network import ExpandedNetwork, Network, expanded_network
from ethermeter.experiment.phases import Phases, schedule
from ethermeter.experiment.segment import Segment, csma_cd, medium
from ethermeter.experiment.stations import StationGroup, contradictions, group_of
from ethermeter.experiment.sweep import Sweep
from ethermeter.experiment.theory import Theory, assumed
from ethermeter.faults import Fault, InputError, Key, KeyPath, dotted, shown
from ethermeter.scenario import Scenario
from ethermeter.stations import Group
from ethermeter.theory.assumptions import Assumptions
from ethermeter.trial import Live, core_trial


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value with its JSON; values are shared between scenarios and must not be changed."""

    value: Any
    json: msgspec.Raw


def encoded(value: Any) -> Encoded:
    """Return a value with its JSON."""
    return Encoded(value, msgspec.Raw(msgspec.json.encode(value)))


def table(**items: Encoded) -> Encoded:
    """Return the table of these items."""
    raw = msgspec.json.encode({key: item.json for key, item in items.items()})
    return Encoded({key: item.value for key, item in items.items()}, msgspec.Raw(raw))


def merged(*tables: Encoded) -> Encoded:
    """Return one table with the keys of several, in their order."""
    value: dict[str, Any] = {}
    raw: dict[str, msgspec.Raw] = {}
    for each in tables:
        value |= each.value
        raw |= msgspec.json.decode(each.json, type=dict[str, msgspec.Raw])
    return Encoded(value, msgspec.Raw(msgspec.json.encode(raw)))


T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
CacheKey = tuple[object, ...]
MOST_DELAYS = 4_000_000
"""Delays between places that an experiment may have in all its different layouts."""

TableKey = tuple[tuple[Key, ...], tuple[tuple[int, int], ...]]
"""A table and which value it has of each sweep that touches it."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a scenario is made of."""

    constants: Mapping[str, Any]
    layout_key: CacheKey
    layout: Layout
    groups: Sequence[Group]
    phases: scenario.Phases
    assumptions: Assumptions


class Scenarios:
    """The scenarios of an experiment, made on demand.

    Parameters
    ----------
    document
        The experiment file, as read.
    sweeps
        What is varied in it.
    batches
        Parts of the measured window.
    file
        What faults call the file.
    folder
        Where files named in it are looked for.

    """

    def __init__(
        self,
        document: Mapping[str, Any],
        sweeps: Sequence[Sweep],
        *,
        batches: int,
        file: str,
        folder: Path,
    ) -> None:
        self._document = document
        self._sweeps = sweeps
        self._batches = batches
        self._file = file
        self._folder = folder
        self._groups = len(document["stations"])
        self._names = _names(document["stations"])
        self._touching: dict[tuple[Key, ...], list[int]] = {}
        self._known: dict[CacheKey, Any] = {}
        self._delays = 0

    def at(self, choice: Sequence[int]) -> Encoded:
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
        parts = self.parts(choice)
        key = parts.layout_key
        delay_ps = self._once(
            ("delays", key), lambda: tuple(tuple(row) for row in parts.layout.delays_ps())
        )
        groups = [
            self._group(index, group, points)
            for index, (group, points) in enumerate(
                zip(parts.groups, parts.layout.places, strict=True)
            )
        ]
        medium = scenario.Medium(
            name="segment",
            bit_ps=parts.constants["bit_ps"],
            mac=scenario.Mac(csma_cd=csma_cd(parts.constants)),
            delay_ps=delay_ps,
            stations=tuple([group.stations for group in groups]),
        )
        host = scenario.Kind(host=scenario.Host())
        nodes = [
            scenario.Node(name=group.stations.node, count=group.count, kind=host)
            for group in groups
        ]
        return encoded(
            scenario.Scenario(
                nodes=tuple(nodes),
                media=(medium,),
                flows=tuple([group.flow for group in groups]),
                phases=parts.phases,
                batches=self._batches,
            )
        )

    def assumptions(self, choice: Sequence[int]) -> Assumptions:
        """Return what theories assume at a point beyond its scenario.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        return self.parts(choice).assumptions

    def parts(self, choice: Sequence[int]) -> Parts:
        """Return what the scenario of a point is made of; enough to know that it is sound.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        faults: list[Fault] = []

        def tried(make: Callable[[], T]) -> T | None:
            try:
                return make()
            except InputError as error:
                faults.extend(error.faults)
                return None

        segment_key = self._key(("segment",), choice)
        phases_key = self._key(("phases",), choice)
        theory_key = self._key(("theory",), choice)
        group_keys = [self._key(("stations", index), choice) for index in range(self._groups)]
        segment = tried(lambda: self._model(segment_key, Segment))
        groups = []
        for key in group_keys:
            try:
                groups.append(self._model(key, StationGroup))
            except InputError as error:
                faults += error.faults
        when = tried(
            lambda: self._once(("schedule", phases_key), lambda: self._schedule(phases_key))
        )
        theory = tried(
            lambda: self._once(
                ("assumed", theory_key), lambda: assumed(self._model(theory_key, Theory))
            )
        )
        if segment is None or len(groups) < len(group_keys):
            raise InputError(faults)
        constants = tried(
            lambda: self._once(("medium", segment_key), lambda: medium(segment, file=self._file))
        )
        layout_key = (segment_key, tuple([placement(group) for group in groups]))
        laid = tried(
            lambda: self._once(("layout", layout_key), lambda: self._layout(segment, groups))
        )
        if constants is not None:
            faults += self._too_many(groups, constants)
        lowered: list[Group] = []
        for index, (group, key) in enumerate(zip(groups, group_keys, strict=True)):
            try:
                lowered += self._lowered(index, group, (key, segment_key), constants)
            except InputError as error:
                faults += error.faults
        if faults or constants is None or laid is None or when is None or theory is None:
            raise InputError(faults)
        return Parts(constants, layout_key, laid, lowered, when, theory)

    def _key(self, table: tuple[Key, ...], choice: Sequence[int]) -> TableKey:
        """Return what a table depends on: which values of the sweeps that touch it."""
        touching = self._touching.get(table)
        if touching is None:
            touching = [
                index
                for index, sweep in enumerate(self._sweeps)
                if sweep.path[: len(table)] == table
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
        made: T = found
        return made

    def _model(self, key: TableKey, model: type[M]) -> M:
        return self._once(("model", key), lambda: self._validated(key, model))

    def _validated(self, key: TableKey, model: type[M]) -> M:
        table, choice = key
        raw = at(self._document, table)
        raw = {} if raw is None else raw
        try:
            for index, value in choice:
                sweep = self._sweeps[index]
                raw = assigned(raw, sweep.path[len(table) :], sweep.values[value])
            return model.model_validate(raw)
        except ValidationError as error:
            raise InputError(
                fault for _, fault in faults_of(error, file=self._file, within=table)
            ) from None
        except PathError as error:
            raise InputError([Fault(self._file, dotted(table), shown(raw), str(error))]) from None

    def _schedule(self, key: TableKey) -> scenario.Phases:
        phases = schedule(self._model(key, Phases), file=self._file)
        return msgspec.convert(phases, scenario.Phases)

    def _layout(self, segment: Segment, groups: Sequence[StationGroup]) -> Layout:
        found, faults = layout(segment, groups, file=self._file)
        if found is None:
            raise InputError(faults)
        self._delays += found.size**2
        if self._delays > MOST_DELAYS:
            allowed = f"expected at most {MOST_DELAYS} delays between places in all points together; use clusters, or vary less"
            raise InputError([Fault(self._file, "segment", "more delays", allowed)])
        return found

    def _too_many(
        self, groups: Sequence[StationGroup], constants: Mapping[str, Any]
    ) -> list[Fault]:
        count, most = sum(group.count for group in groups), constants["max_stations"]
        if count <= most:
            return []
        largest = max(range(len(groups)), key=lambda index: groups[index].count)
        allowed = f"expected at most {most} stations in all on a segment of this standard"
        return [Fault(self._file, dotted(("stations", largest, "count")), str(count), allowed)]

    def _lowered(
        self, index: int, group: StationGroup, key: CacheKey, constants: Mapping[str, Any] | None
    ) -> list[Group]:
        """Return a group with neither name nor attachment points; without constants none, only its
        contradictions are looked for.
        """
        if faults := contradictions(group, index, file=self._file):
            raise InputError(faults)
        if constants is None:
            return []
        made = self._once(
            ("group", *key),
            lambda: group_of(
                group, index, constants=constants, folder=self._folder, file=self._file
            ),
        )
        return [made]

    def _group(self, index: int, group: Group, points: tuple[int, ...]) -> Group:
        """Return a group with its name and attachment points."""
        flow_name, node = self._names[index]
        return Group(
            msgspec.structs.replace(group.stations, node=node, points=points),
            msgspec.structs.replace(group.flow, name=flow_name, from_=node),
        )


def _names(tables: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the name of every group's flow and node: names of groups may be equal, of nodes not."""
    found: list[tuple[str, str]] = []
    for index, raw in enumerate(tables):
        name = raw.get("name") or (f"group-{index}" if len(tables) > 1 else "stations")
        node = name
        while any(node == taken for _, taken in found):
            node += "'"
        found.append((name, node))
    return found


MOST_KEPT = 256
"""Points whose parts are kept, so that one that was checked need not be made again."""


@dataclass(frozen=True, slots=True)
class NetworkParts:
    """What the scenario of a point is made of."""

    scenario: Encoded
    live: Live
    """Settings that only a measurement needs."""


def live_settings(expanded: ExpandedFlows) -> Live:
    """Flow settings that only a measurement needs: ports, and wanted exchanges where given."""
    is_wanted = any(wanted is not None for wanted in expanded.exchanges)
    return Live(tuple(expanded.ports), tuple(expanded.exchanges) if is_wanted else None)


class NetworkScenarios:
    """The scenarios of an experiment on networks, made on demand.

    Parameters
    ----------
    document
        The experiment file, as read.
    sweeps
        What is varied in it.
    engines
        Who answers.
    batches
        Equal parts of the measured window.
    file
        What faults call the file.
    folder
        Where files named in it are looked for.

    """

    def __init__(
        self,
        document: Mapping[str, Any],
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
        self._known: dict[tuple[int, ...], NetworkParts] = {}

    def at(self, choice: Sequence[int]) -> Encoded:
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
        return self.parts(choice).scenario

    def live(self, choice: Sequence[int]) -> Live:
        """Return the settings of a point that only a measurement needs.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        return self.parts(choice).live

    def parts(self, choice: Sequence[int]) -> NetworkParts:
        """Return what the scenario of a point is made of; enough to know that it is sound.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        key = tuple(choice)
        if key not in self._known:
            found = self._made(key)
            if len(self._known) == MOST_KEPT:
                self._known.clear()
            self._known[key] = found
        return self._known[key]

    def _made(self, choice: Sequence[int]) -> NetworkParts:
        faults: list[Fault] = []
        wired: ExpandedNetwork | None = None
        when: dict[str, int] | None = None
        flows: list[Flow] = []
        try:
            wired = expanded_network(
                validated(
                    Network, self._raw(("network",), choice), file=self._file, within=("network",)
                ),
                file=self._file,
            )
        except InputError as error:
            faults += error.faults
        try:
            phases = validated(
                Phases, self._raw(("phases",), choice), file=self._file, within=("phases",)
            )
            when = schedule(phases, file=self._file)
        except InputError as error:
            faults += error.faults
        for index in range(len(self._document["flows"])):
            place = ("flows", index)
            try:
                flows.append(
                    validated(Flow, self._raw(place, choice), file=self._file, within=place)
                )
            except InputError as error:
                faults += error.faults
        if wired is None or when is None or faults:
            raise InputError(faults)
        expanded = expanded_flows(
            flows, wired, engines=self._engines, folder=self._folder, file=self._file
        )
        from ethermeter import _core

        more = {"flows": expanded.flows, "phases": when, "batches": self._batches}
        scenario = encoded(msgspec.convert({**wired.value, **more}, Scenario))
        found = _core.check_trial(core_trial(scenario.json))
        if found is not None:
            raise InputError([_of_file(found, wired, expanded, file=self._file)])
        return NetworkParts(scenario, live_settings(expanded))

    def _raw(self, table: KeyPath, choice: Sequence[int]) -> object:
        raw = at(self._document, table)
        raw = {} if raw is None else raw
        for sweep, value in zip(self._sweeps, choice, strict=True):
            if covers(sweep.path[: len(table)], table):
                try:
                    raw = assigned(raw, sweep.path[len(table) :], sweep.values[value])
                except PathError as error:
                    raise InputError(
                        [Fault(self._file, dotted(table), shown(raw), str(error))]
                    ) from None
        return raw


_KEYS = {
    "octets": "size",
    "high_octets": "high",
    "low_octets": "low",
    "delay_ps": "delay",
    "ps_per_octet": "rate",
    "queue_frames": "queue",
}
"""What keys of a scenario are called in a file, where they differ."""
_NO_KEYS = ("kind", "host", "switch", "router", "hub")
"""Tables of a scenario that a file does not have."""


def _of_file(
    fault: tuple[str, str | None, str],
    wired: ExpandedNetwork,
    expanded: ExpandedFlows,
    *,
    file: str,
) -> Fault:
    """Return a fault of a scenario as one of the file, with the key from which the value comes."""
    path, value, allowed = fault
    origins = {"nodes": wired.node_places, "links": wired.link_places, "flows": expanded.places}
    keys = [int(key) if key.isdigit() else key for key in re.findall(r"\w+", path)]
    match keys:
        case [str(top), int(number), *rest] if top in origins:
            renamed = [_KEYS.get(key, key) if isinstance(key, str) else key for key in rest]
            of_file = [*origins[top][number], *(key for key in renamed if key not in _NO_KEYS)]
        case ["batches"]:
            of_file = ["run", "batches"]
        case ["phases" | "flows" as top, *_]:
            of_file = [top]
        case _:
            of_file = ["network"]
    value = "(as it is)" if value is None else value
    return Fault(file, dotted(of_file), value, re.sub(r"^must (be )?", "expected ", allowed))
