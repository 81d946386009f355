"""Trial: one line of a plan, with its only writer and its only reader."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ethermeter.nodes import is_network
from ethermeter.scenario import Flow, Link, Node, Phases, Scenario
from ethermeter.theory.names import MODELS

SIMULATION, THEORY, IDEALISED, LIVE = "simulation", "theory", "idealised", "live"

LARGEST_SEED = 2**63 - 1
"""The largest seed."""


class Live(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of the flows of a scenario that only a measurement needs, one each."""

    ports: tuple[str, ...]
    """Port by which each flow is sent: "udp", "tcp", "packet" or "xdp"."""
    exchanges: tuple[int | None, ...] | None = None
    """Wanted exchanges of each flow; None where any number will do."""
    setup: Mapping[str, object] | None = None
    """What the bench of a bottleneck search sets besides; None of other trials."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial: a point of an experiment, run once.

    Parameters
    ----------
    id
        "series slug/number", unique in the plan.
    series
        Name of the series in figures.
    replication
        Which repetition of its point this is, from 0.
    seed
        Where its chance comes from, below 2^63.
    engine
        The engine that answers: "simulation", "theory/MODEL", "idealised/MODEL",
        "ablation/MODEL/STEP" or "live".
    point
        The varied keys with their values, as text.
    scenario
        What the engine needs to know; see docs/formats.md. Shared between trials, not to be
        changed.
    line
        The exact JSON text that an engine receives.
    live
        What the engine "live" is told besides; None of other engines.

    """

    id: str
    series: str
    replication: int
    seed: int
    engine: str
    point: Mapping[str, str]
    scenario: Any
    line: str
    live: Live | None = None

    @property
    def is_network(self) -> bool:
        """Whether its scenario has links instead of a medium."""
        return is_network(self.scenario)

    def settings(self) -> Live:
        """Return what the engine "live" is told besides the scenario."""
        assert self.live is not None, "a trial of the engine live"
        return self.live


class _Line(msgspec.Struct):
    id: str
    series: str
    replication: int
    seed: int
    engine: str
    point: Mapping[str, str]
    scenario: msgspec.Raw
    live: Live | msgspec.UnsetType = msgspec.UNSET


class _CoreTrial(msgspec.Struct):
    id: str
    seed: int
    scenario: msgspec.Raw


def planned(
    *,
    id: str,
    series: str,
    replication: int,
    seed: int,
    engine: str,
    point: Mapping[str, str],
    scenario: Any,
    scenario_json: msgspec.Raw,
    live: Live | None = None,
) -> Trial:
    """Return a trial with its line; `scenario_json` is the scenario as JSON."""
    told = msgspec.UNSET if live is None else live
    line = _text(_Line(id, series, replication, seed, engine, point, scenario_json, told))
    return Trial(id, series, replication, seed, engine, point, scenario, line, live)


def renumbered(trial: Trial, number: int, *, point: Mapping[str, str]) -> Trial:
    """Return a trial for another plan: with another number and point, the same seed and scenario."""
    read = msgspec.json.decode(trial.line, type=_Line)
    read.id, read.point = f"{trial.id.partition('/')[0]}/{number:05d}", dict(point)
    return replace(trial, id=read.id, point=read.point, line=_text(read))


def core_trial(scenario: msgspec.Raw, *, id: str = "x", seed: int = 0) -> str:
    """Return a trial as the simulator reads it; `scenario` is the scenario as JSON."""
    return _text(_CoreTrial(id, seed, scenario))


def core_trial_of(line: str) -> str:
    """Return the trial of a line as the simulator reads it."""
    read = msgspec.json.decode(line, type=_Line)
    return core_trial(read.scenario, id=read.id, seed=read.seed)


_TABLES: dict[str, type] = {"nodes": Node, "links": Link, "flows": Flow}


def scenario_of(tables: object, known: dict[str, Any]) -> Scenario:
    """Return a scenario read from JSON; equal nodes, links, flows and phases are one object.

    Parameters
    ----------
    tables
        What was read.
    known
        By its text what was seen before; is extended.

    Raises
    ------
    msgspec.ValidationError
        If it is none.

    """

    def one_of_equals(value: object, kind: type) -> Any:
        text = f"{kind.__name__} {value!r}"
        if text not in known:
            known[text] = msgspec.convert(value, kind)
        return known[text]

    if not isinstance(tables, dict):
        return msgspec.convert(tables, Scenario)
    typed = dict(tables)
    for name, kind in _TABLES.items():
        if isinstance(tables.get(name), list):
            typed[name] = tuple([one_of_equals(value, kind) for value in tables[name]])
    if "phases" in tables:
        typed["phases"] = one_of_equals(tables["phases"], Phases)
    return msgspec.convert(typed, Scenario)


def _text(line: _Line | _CoreTrial) -> str:
    return msgspec.json.encode(line).decode()


def _one_of_equals(value: Any, known: dict[str, Any]) -> Any:
    """Return the same object for equal lists and objects of JSON, and for those in them: scenarios
    of a plan differ in little.

    Parameters
    ----------
    value
        What was read.
    known
        By its text what was seen before; is extended.

    """
    if not isinstance(value, dict | list):
        return value
    text = repr(value)  # tells 1 from 1.0 and true, which are equal
    if text not in known:
        known[text] = (
            {key: _one_of_equals(each, known) for key, each in value.items()}
            if isinstance(value, dict)
            else [_one_of_equals(each, known) for each in value]
        )
    return known[text]


_KEYS = ("id", "series", "replication", "seed", "engine", "point", "scenario")
_SCENARIO_KEYS = ("segment", "groups", "phases", "batches")
_ENGINE = re.compile(
    rf"simulation|(theory|idealised|ablation)/({'|'.join(MODELS)})(/[a-z-]+)?", re.ASCII
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[0-9]{5,6}", re.ASCII)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def read_trial(line: str, known: dict[str, Any]) -> Trial | str:
    """Return the trial of a line, or what was expected instead; `known` as of `_one_of_equals`."""
    try:
        read = json.loads(line, parse_constant=_refused)
        tables = read.get("scenario") if isinstance(read, dict) else None
        has_network = isinstance(tables, dict) and "links" in tables
        if isinstance(tables, dict) and not has_network:
            read["scenario"] = {key: _one_of_equals(value, known) for key, value in tables.items()}
    except (ValueError, RecursionError) as error:
        return f"expected a trial as JSON: {type(error).__name__ if isinstance(error, RecursionError) else error}"
    is_live = has_network and read.get("engine") == LIVE
    expected = (*_KEYS, LIVE) if is_live else _KEYS
    if not isinstance(read, dict) or tuple(read) != expected:
        return f"expected a JSON object with the keys {', '.join(expected)}, in this order"
    point, scenario, engine = read["point"], read["scenario"], read["engine"]
    keys = _SCENARIO_KEYS if engine == SIMULATION else (*_SCENARIO_KEYS, "theory")
    try:
        live = msgspec.convert(read.pop(LIVE), Live) if is_live else None
        if has_network:
            read["scenario"] = scenario_of(scenario, known)
    except msgspec.ValidationError as error:
        return f"expected a trial of a network: {error}"
    wrong = [
        text
        for holds, text in (
            (isinstance(read["id"], str) and _ID.fullmatch(read["id"]), 'id as "series/00000"'),
            (_is_text(read["series"]) and read["series"], "series as a text"),
            (_is_count(read["replication"]), "replication as an integer, 0 or above"),
            (
                _is_count(read["seed"]) and read["seed"] <= LARGEST_SEED,
                f"seed as an integer from 0 to {LARGEST_SEED}",
            ),
            (
                engine in (SIMULATION, LIVE)
                if has_network
                else isinstance(engine, str) and _ENGINE.fullmatch(engine),
                'engine as "simulation", "theory/MODEL", "idealised/MODEL" or "ablation/MODEL/STEP"; of a network "simulation" or "live"',
            ),
            (
                isinstance(point, dict)
                and all(_is_text(text) for item in point.items() for text in item),
                "point as texts",
            ),
            (
                has_network or (isinstance(scenario, dict) and tuple(scenario) == keys),
                f"scenario with the keys {', '.join(keys)}",
            ),
        )
        if not holds
    ]
    return "expected " + "; ".join(wrong) if wrong else Trial(**read, line=line, live=live)


def _is_text(value: object) -> bool:
    """Whether it is a text that can be written as UTF-8; JSON can name halves of characters that
    cannot.
    """
    return isinstance(value, str) and not any(
        "\ud800" <= character <= "\udfff" for character in value
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
