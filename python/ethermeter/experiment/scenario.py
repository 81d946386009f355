"""Scenario: one point of an experiment as the engines read it.

An experiment has thousands of points that differ in one or two tables. So each table is validated
once for every combination of the sweeps that touch it, each layout is made once, and a scenario is
put together from pieces that are already text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ethermeter.experiment import traffic
from ethermeter.experiment.assumptions import Theory, assumed
from ethermeter.experiment.complaints import Part, dotted, faults_of
from ethermeter.experiment.layout import Layout, layout, placement
from ethermeter.experiment.medium import CONSTANTS, medium
from ethermeter.experiment.moments import moments
from ethermeter.experiment.paths import PathError, assigned, at
from ethermeter.experiment.phases import Phases
from ethermeter.experiment.piece import Piece, compact, piece
from ethermeter.experiment.segment import Segment
from ethermeter.experiment.stations import StationGroup
from ethermeter.experiment.sweep import Sweep
from ethermeter.faults import Fault, InputError, shown

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Key = tuple[object, ...]
MOST_DELAYS = 4_000_000
"""Delays between places that an experiment may have in all its different layouts."""

TableKey = tuple[tuple[Part, ...], tuple[tuple[int, int], ...]]
"""A table and which value it has of each sweep that touches it."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a scenario is made of."""

    constants: Mapping[str, Any]
    layout_key: Key
    layout: Layout
    hosts: Sequence[Piece]
    moments: Piece
    assumed: Piece


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
        self._touching: dict[tuple[Part, ...], list[int]] = {}
        self._known: dict[Key, Any] = {}
        self._delays = 0

    def at(self, choice: Sequence[int]) -> Piece:
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
        layout_key = parts.layout_key
        delays = self._once(("delays", layout_key), lambda: piece(parts.layout.delays_ps()))
        places = self._once(
            ("places", layout_key), lambda: [piece(list(group)) for group in parts.layout.places]
        )
        segment = self._once(("segment", layout_key), lambda: _segment(parts.constants, delays))
        groups = [
            self._group(index, host, place)
            for index, (host, place) in enumerate(zip(parts.hosts, places, strict=True))
        ]
        return self._joined(segment, groups, parts.moments)

    def assumed(self, choice: Sequence[int]) -> Piece:
        """Return what theories assume at a point beyond its scenario.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        return self.parts(choice).assumed

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
        when = tried(lambda: self._once(("moments", phases_key), lambda: self._moments(phases_key)))
        theory = tried(
            lambda: self._once(
                ("assumed", theory_key), lambda: piece(assumed(self._model(theory_key, Theory)))
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
        hosts: list[Piece] = []
        for index, (group, key) in enumerate(zip(groups, group_keys, strict=True)):
            try:
                hosts.append(self._host(index, group, (key, segment_key), constants))
            except InputError as error:
                faults += error.faults
        if faults or constants is None or laid is None or when is None or theory is None:
            raise InputError(faults)
        return Parts(constants, layout_key, laid, hosts, when, theory)

    def _key(self, table: tuple[Part, ...], choice: Sequence[int]) -> TableKey:
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

    def _once(self, key: Key, make: Callable[[], T]) -> T:
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

    def _moments(self, key: TableKey) -> Piece:
        return piece(moments(self._model(key, Phases), file=self._file))

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

    def _host(
        self, index: int, group: StationGroup, key: Key, constants: Mapping[str, Any] | None
    ) -> Piece:
        """Return a group without its name and places; without constants only its contradictions are
        looked for.
        """

        def made() -> Piece:
            return piece(
                traffic.group_of(
                    group, index, constants=constants or {}, folder=self._folder, file=self._file
                )
            )

        if faults := traffic.contradictions(group, index, file=self._file):
            raise InputError(faults)
        return self._once(("host", *key), made) if constants is not None else Piece({}, "{}")

    def _group(self, index: int, host: Piece, place: Piece) -> Piece:
        raw = self._document["stations"][index]
        name = raw.get("name") or (f"group-{index}" if self._groups > 1 else "stations")
        return Piece(
            {"name": name, "places": place.value, **host.value},
            f'{{"name":{compact(name)},"places":{place.text},{host.text.removeprefix("{")}',
        )

    def _joined(self, segment: Piece, groups: Sequence[Piece], when: Piece) -> Piece:
        value = {
            "segment": segment.value,
            "groups": [group.value for group in groups],
            "phases": when.value,
            "batches": self._batches,
        }
        listed = ",".join([group.text for group in groups])
        return Piece(
            value,
            f'{{"segment":{segment.text},"groups":[{listed}],"phases":{when.text},"batches":{self._batches}}}',
        )


def _segment(constants: Mapping[str, Any], delays: Piece) -> Piece:
    known = {name: constants[name] for name in CONSTANTS}
    # Only where there is one, so that other plans keep their hash.
    if constants["deaf_ps"]:
        known["deaf_ps"] = constants["deaf_ps"]
    return Piece(
        {**known, "delay_ps": delays.value},
        f'{compact(known).removesuffix("}")},"delay_ps":{delays.text}}}',
    )
