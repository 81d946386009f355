"""Lowering: points of an experiment as scenarios.

A file has a network and its flows, or their short form: a segment and its stations. Either way is
read into tables of a network and of flows, and these become a scenario.

An experiment has thousands of points that differ in one or two tables. So each table is validated
once for every combination of the sweeps that touch it, and what is made of tables is made once for
every combination of these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from ethermeter import scenario
from ethermeter.experiment.document import check_answers
from ethermeter.experiment.flows import (
    MOST_FLOWS,
    ExpandedFlow,
    Flow,
    check_flow,
    expanded_flows,
    live_settings,
    sent_flow,
)
from ethermeter.experiment.key_paths import Sweep
from ethermeter.experiment.layout import PLACEMENTS
from ethermeter.experiment.network import ExpandedNetwork, Network, Wire, expanded_network
from ethermeter.experiment.origin import Origins
from ethermeter.experiment.phases import OF_NETWORKS, Phases, Theory, assumed, schedule
from ethermeter.experiment.segment import Constants, Segment, constants_of
from ethermeter.experiment.stations import (
    SOURCE_KEYS,
    StationGroup,
    check_group,
    check_groups,
    flow_of,
    names_of,
    network_of,
)
from ethermeter.experiment.tables import FileTable, read_table
from ethermeter.experiment.toml import PathError, Tables, assigned, at, covers
from ethermeter.experiment.trace_files import TraceFiles
from ethermeter.faults import Faults, InputError, KeyPath, dotted, shown
from ethermeter.scenario import Scenario
from ethermeter.theory.assumptions import ANSWERING, Assumptions
from ethermeter.traces import Trace
from ethermeter.trial import Live, core_trial

T = TypeVar("T")
M = TypeVar("M", bound=FileTable)
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
    live: Live
    """Settings that only a measurement needs."""
    theory: Assumptions | None
    """What theories of stations assume besides; None where flows have receivers."""


class _Tables(NamedTuple):
    """What the tables of a point stand for, with keys of what depends on the same values."""

    network: ExpandedNetwork | None
    """None if it has faults."""
    network_key: CacheKey
    layout_key: CacheKey
    """Key of what depends only on where stations are."""
    flows: Sequence[tuple[TableKey, tuple[Flow, int]]]
    """Flows without faults, each with the number of hosts that share its load."""
    over: ExpandedNetwork | Constants | None
    """What flows go over, the network or the medium that receives them; None if it has faults."""
    over_key: CacheKey


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
        self._touching: dict[CacheKey, list[int]] = {}
        self._known: dict[CacheKey, object] = {}
        self._delays = 0
        self._names = names_of(self._tables("stations"))

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
        file, faults = self._file, Faults(self._file)

        def make_phases(table: Phases) -> tuple[scenario.Phases, int]:
            return schedule(table, file=file), table.warm_up

        timed = faults.of(partial(self._derived, Phases, ("phases",), choice, make_phases))
        theory = faults.of(partial(self._derived, Theory, ("theory",), choice, assumed))
        tables = (self._long if "network" in self._document else self._short)(choice, faults)
        sent, network = self._sent(tables, faults), tables.network
        if network is None or not sent:
            raise InputError(dict.fromkeys(faults.found))
        # What the core finds does not wait for sound phases.
        phases, warm_up_ps = timed or make_phases(Phases())
        live = live_settings(sent, warm_up_ps)
        make: Callable[[], Scenario] = partial(self._scenario, tables, network, sent, phases)
        if not network.is_medium:
            # Hosts, links and flows contradict each other in ways that the core finds.
            check = partial(self._checked, make, network, sent, choice)
            made = self._once_or_fault(("checked", *choice), check, faults)
            faults.raise_all()
            assert made is not None, "else it has faults"
            return Point(lambda: made, live, None)
        faults.raise_all()
        return Point(make, live, theory)

    def _long(self, choice: Sequence[int], faults: Faults) -> _Tables:
        """Return a network and its flows."""
        expand = partial(expanded_network, file=self._file)
        network = faults.of(partial(self._derived, Network, ("network",), choice, expand))

        def flow_at(key: TableKey) -> tuple[Flow, int]:
            flow = self._model(key, Flow)
            check_flow(flow, key[0], self._engines, file=self._file)
            return flow, 1

        flows = self._listed("flows", flow_at, choice, faults)
        key = self._key(("network",), choice)
        return _Tables(network, key, key, flows, network, key)

    def _short(self, choice: Sequence[int], faults: Faults) -> _Tables:
        """Return what a segment and its stations stand for."""
        file, count = self._file, len(self._names)

        def flow_at(key: TableKey) -> tuple[Flow, int]:
            group, index = self._model(key, StationGroup), int(key[0][1])
            flow = flow_of(group, index, self._names[index])
            faults = Faults(file, key[0])
            check_group(group, self._engines, faults)
            faults.of(lambda: check_flow(flow, key[0], self._engines, file=file))
            faults.raise_all()
            return flow, group.count

        def expand() -> ExpandedNetwork:
            keys = [self._key(("stations", index), choice) for index in range(count)]
            groups = [self._model(key, StationGroup) for key in keys]
            segment, faults = self._model(segment_key, Segment), Faults(file)
            check_groups(segment, groups, faults)
            is_medium = not any(group.has_receivers for group in groups)
            if not is_medium:
                check_answers(self._document, OF_NETWORKS, ANSWERING, faults)
            network = network_of(segment, groups, self._names)
            expanded = faults.of(lambda: expanded_network(network, file=file, is_medium=is_medium))
            faults.raise_all()
            assert expanded is not None, "else it has faults"
            return expanded

        flows = self._listed("stations", flow_at, choice, faults)
        segment_key = self._key(("segment",), choice)
        constants = faults.of(
            partial(self._derived, Segment, ("segment",), choice, partial(constants_of, file=file))
        )
        network_key = segment_key, self._key(("stations",), choice, _is_of_medium)
        layout_key = segment_key, self._key(("stations",), choice, _is_of_layout)
        network = self._once_or_fault(("network", network_key), expand, faults)
        if network is not None:
            self._count(network, layout_key, faults)
        if network.is_medium if network is not None else not any(flow.to for _, (flow, _) in flows):
            return _Tables(network, network_key, layout_key, flows, constants, segment_key)
        return _Tables(network, network_key, layout_key, flows, network, network_key)

    def _count(self, network: ExpandedNetwork, key: CacheKey, faults: Faults) -> None:
        """Find too many delays in all the layouts of an experiment."""

        def count() -> None:
            self._delays += sum(each.layout.size**2 for each in network.segments)
            if self._delays > MOST_DELAYS:
                allowed = (
                    f"expected at most {MOST_DELAYS} delays between attachment points, in all "
                    "points together; use clusters, or vary less"
                )
                raise InputError.of(self._file, "segment", "more delays", allowed)

        self._once_or_fault(("count", key), count, faults)

    def _sent(self, tables: _Tables, faults: Faults) -> list[ExpandedFlow]:
        """Return every flow of a point; none if what they go over has faults."""
        over, file, sent = tables.over, self._file, list[ExpandedFlow]()
        if over is None:
            return sent
        for key, (flow, senders) in tables.flows:
            sent_on = partial(self._sent_on, key, flow, senders, over)
            make = partial(expanded_flows, flow, key[0], over, sent_on, file)
            sent += self._once_or_fault(("flows", key, tables.over_key), make, faults) or ()
            if len(sent) > MOST_FLOWS:
                allowed = f"expected at most {MOST_FLOWS} in all"
                faults.add(key[0], f"{len(sent)} flows", allowed)
                break
        return sent

    def _sent_on(
        self,
        key: TableKey,
        flow: Flow,
        senders: int,
        over: ExpandedNetwork | Constants,
        wire: Wire,
    ) -> scenario.Flow:
        """Return a flow of hosts that send on a wire."""
        medium = over if isinstance(over, Constants) else None
        make = partial(sent_flow, flow, key[0], wire, senders, medium, self._files, self._file)
        # In networks that differ elsewhere it is the same.
        return self._once(("sent", key, wire), make) if medium is None else make()

    def _scenario(
        self,
        tables: _Tables,
        network: ExpandedNetwork,
        sent: Sequence[ExpandedFlow],
        phases: scenario.Phases,
    ) -> Scenario:
        def media() -> tuple[scenario.Medium, ...]:
            return tuple(
                replace(each.medium, delay_ps=self._once(key, each.layout.rows_ps))
                for number, each in enumerate(network.segments)
                for key in [("delays", tables.layout_key, number)]
            )

        return Scenario(
            nodes=tuple(network.nodes),
            links=tuple(network.links),
            media=self._once(("media", tables.network_key), media),
            flows=tuple([each.flow for each in sent]),
            clocks=network.clocks,
            phases=phases,
            batches=self._batches,
        )

    def _checked(
        self,
        make: Callable[[], Scenario],
        network: ExpandedNetwork,
        sent: Sequence[ExpandedFlow],
        choice: Sequence[int],
    ) -> Scenario:
        """Return a scenario, checked by the core."""
        from ethermeter import _core

        made = make()
        if found := _core.check_trial(core_trial(made)):
            origins = Origins(
                nodes=network.node_origins,
                links=network.link_origins,
                flows=[each.origin for each in sent],
                media=[each.path for each in network.segments],
                stations=[each.origins for each in network.segments],
                whole=network.path,
            )
            document = self._assigned((), enumerate(choice))
            faults = [origins.fault(each, made, document, file=self._file) for each in found]
            raise InputError(dict.fromkeys(faults))
        return made

    def _tables(self, name: str) -> Sequence[Mapping[str, object]]:
        tables = self._document.get(name)
        return tables if isinstance(tables, list | tuple) else ()

    def _listed(
        self,
        name: str,
        make: Callable[[TableKey], T],
        choice: Sequence[int],
        faults: Faults,
    ) -> list[tuple[TableKey, T]]:
        """Return what is made of those tables of a list that have no faults."""
        keys = [self._key((name, index), choice) for index in range(len(self._tables(name)))]
        tables = [
            (key, self._once_or_fault(("table", key), partial(make, key), faults)) for key in keys
        ]
        return [(key, table) for key, table in tables if table is not None]

    def _key(
        self,
        table: KeyPath,
        choice: Sequence[int],
        touches: Callable[[KeyPath], bool] | None = None,
    ) -> TableKey:
        """Return what a table depends on: which values of the sweeps that touch it.

        Of all the tables of a list, `touches` says which keys of one matter.
        """
        touching = self._touching.get((table, touches))
        if touching is None:
            touching = [
                index
                for index, sweep in enumerate(self._sweeps)
                if covers(sweep.path[: len(table)], table)
                and (touches is None or touches(sweep.path[len(table) + 1 :]))
            ]
            self._touching[table, touches] = touching
        return table, tuple([(index, choice[index]) for index in touching])

    def _derived(
        self, model: type[M], table: KeyPath, choice: Sequence[int], make: Callable[[M], T]
    ) -> T:
        """Return what is made of a table with the values of a point."""
        key = self._key(table, choice)
        return self._once(("made", key), lambda: make(self._model(key, model)))

    def _once(self, key: CacheKey, make: Callable[[], T]) -> T:
        """Return what was made for a key before, or make it; faults are kept as well."""
        known = self._cached(key, make)
        if isinstance(known, InputError):
            raise InputError(known.faults)
        return known

    def _once_or_fault(self, key: CacheKey, make: Callable[[], T], faults: Faults) -> T | None:
        """Return what is made once for a key, or None if it has faults, which are added."""
        known = self._cached(key, make)
        if isinstance(known, InputError):
            faults.found += known.faults
            return None
        return known

    def _cached(self, key: CacheKey, make: Callable[[], T]) -> T | InputError:
        if key not in self._known:
            try:
                self._known[key] = make()
            except InputError as error:
                self._known[key] = error
        return self._known[key]  # type: ignore[return-value]

    def _model(self, key: TableKey, model: type[M]) -> M:
        """Return a table with the values of a point, validated."""

        def make() -> M:
            table, choice = key
            return read_table(model, self._assigned(table, choice), file=self._file, within=table)

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


def _is_of_medium(key: KeyPath) -> bool:
    """Whether a key of a group says where its stations are, or how they contend."""
    return key[0] not in SOURCE_KEYS or key == ("arrivals",)  # coders contend in another way


def _is_of_layout(key: KeyPath) -> bool:
    """Whether a key of a group says where its stations are."""
    return key[0] in ("count", *PLACEMENTS)
