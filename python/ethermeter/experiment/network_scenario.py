"""Scenarios of networks: one point of an experiment as the engines read it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethermeter.experiment.complaints import Part, dotted, validated
from ethermeter.experiment.flows import Flow
from ethermeter.experiment.messages import Messages, messages
from ethermeter.experiment.moments import moments
from ethermeter.experiment.network import Network
from ethermeter.experiment.paths import PathError, assigned, at, covers
from ethermeter.experiment.phases import Phases
from ethermeter.experiment.piece import Piece, piece
from ethermeter.experiment.sweep import Sweep
from ethermeter.experiment.wiring import Place, Wiring, wiring
from ethermeter.faults import Fault, InputError, shown

MOST_KEPT = 256
"""Points whose parts are kept, so that one that was checked need not be made again."""


@dataclass(frozen=True, slots=True)
class NetworkParts:
    """What the scenario of a point is made of."""

    network: Piece
    flows: Piece
    moments: Piece
    told: Mapping[str, Any]
    """What only hosts that measure it are told."""


def _told(said: Messages) -> dict[str, Any]:
    """Return what only hosts that measure it are told of its flows; what nobody has said is left
    out.
    """
    exchanges = (
        {"exchanges": said.exchanges}
        if any(wanted is not None for wanted in said.exchanges)
        else {}
    )
    return {"ports": said.ports, **exchanges}


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
        return self._in_batches(self.parts(choice))

    def live(self, choice: Sequence[int]) -> Piece:
        """Return the scenario of a point with what only hosts that measure it are told.

        Raises
        ------
        InputError
            With every fault of this point.

        """
        parts = self.parts(choice)
        scenario, told = self._in_batches(parts), piece(parts.told)
        return Piece(
            {**scenario.value, "live": told.value},
            f'{scenario.text.removesuffix("}")},"live":{told.text}}}',
        )

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

    def _in_batches(self, parts: NetworkParts) -> Piece:
        scenario = _joined(parts)
        return Piece(
            {**scenario.value, "batches": self._batches},
            f'{scenario.text.removesuffix("}")},"batches":{self._batches}}}',
        )

    def _made(self, choice: Sequence[int]) -> NetworkParts:
        faults: list[Fault] = []
        wired: Wiring | None = None
        when: Piece | None = None
        flows: list[Flow] = []
        try:
            wired = wiring(
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
            when = piece(moments(phases, file=self._file))
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
        said = messages(flows, wired, engines=self._engines, folder=self._folder, file=self._file)
        parts = NetworkParts(piece(wired.value), piece(said.flows), when, _told(said))
        refused = _refused(_joined(parts).text)
        if refused is not None:
            raise InputError([_translated(refused, wired, said, file=self._file)])
        return parts

    def _raw(self, table: Place, choice: Sequence[int]) -> object:
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


def _joined(parts: NetworkParts) -> Piece:
    return Piece(
        {"network": parts.network.value, "flows": parts.flows.value, "phases": parts.moments.value},
        f'{{"network":{parts.network.text},"flows":{parts.flows.text},"phases":{parts.moments.text}}}',
    )


def _refused(scenario: str) -> str | None:
    """Return why the core would not simulate a scenario, None if it would."""
    from ethermeter import _core

    keys = {
        "id": "x/00000",
        "series": "",
        "replication": 0,
        "seed": 0,
        "engine": "simulation",
        "point": {},
    }
    try:
        _core.check_network(f'{json.dumps(keys).removesuffix("}")},"scenario":{scenario}}}')
    except ValueError as error:
        return str(error)
    return None


_PLACED = re.compile(
    r"(?:scenario\.)?(network\.nodes|network\.links|flows)\[(\d+)\]\.?([\w.\[\]]*): (.*)", re.DOTALL
)
_GOT = re.compile(r"(.*)[,;] got (.*)", re.DOTALL)
_KEYS = {
    "octets": "size",
    "high_octets": "high",
    "low_octets": "low",
    "delay_ps": "delay",
    "ps_per_octet": "rate",
    "queue_frames": "queue",
}
"""What keys of a plan are called in a file, where they differ."""


def _translated(refused: str, wired: Wiring, said: Messages, *, file: str) -> Fault:
    """Return the core's word as a fault of the file: the key as far as it is one of the file's,
    what was allowed as the core says it.
    """
    match = _PLACED.fullmatch(refused)
    if match is None:
        return Fault(file, "network", "(as it is)", refused)
    table, number, rest, text = match.groups()
    places = {
        "network.nodes": wired.node_places,
        "network.links": wired.link_places,
        "flows": said.places,
    }[table]
    path: list[Part] = list(places[int(number)])
    for part in re.findall(r"\w+", rest):
        if part in ("kind", "host", "switch", "router", "hub"):
            continue
        path.append(int(part) if part.isdigit() else _KEYS.get(part, part))
    got = _GOT.fullmatch(text)
    allowed, value = (got.group(1), got.group(2)) if got else (text, "(as it is)")
    return Fault(file, dotted(path), value, re.sub(r"^must (be )?", "expected ", allowed))
