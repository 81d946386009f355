"""Trial: one line of a plan, with its only writer and its only reader."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ethermeter.scenario import Flow, Link, Node, Phases, Scenario
from ethermeter.theory.assumptions import Assumptions
from ethermeter.theory.names import MODELS

SIMULATION, THEORY, IDEALISED, ABLATION = "simulation", "theory", "idealised", "ablation"
LIVE = "live"

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
        What the engine needs to know; see docs/formats.md. Shared between trials.
    line
        The exact JSON text that an engine receives.
    live
        What the engine "live" is told besides; None of other engines.
    theory
        What theories assume besides; None of a simulation and of networks.

    """

    id: str
    series: str
    replication: int
    seed: int
    engine: str
    point: Mapping[str, str]
    scenario: Scenario
    line: str
    live: Live | None = None
    theory: Assumptions | None = None

    @property
    def is_network(self) -> bool:
        """Whether its scenario has links instead of a medium."""
        return not self.scenario.media

    def assumptions(self) -> Assumptions:
        """Return what theories assume besides the scenario."""
        assert self.theory is not None, "a trial of a theory"
        return self.theory

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
    theory: Assumptions | msgspec.UnsetType = msgspec.UNSET


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
    scenario: Scenario,
    scenario_json: msgspec.Raw,
    live: Live | None = None,
    theory: Assumptions | None = None,
) -> Trial:
    """Return a trial with its line; `scenario_json` is the scenario as JSON."""
    line = _Line(id, series, replication, seed, engine, point, scenario_json)
    line.live = msgspec.UNSET if live is None else live
    line.theory = msgspec.UNSET if theory is None else theory
    return Trial(id, series, replication, seed, engine, point, scenario, _text(line), live, theory)


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


def scenario_of(tables: object, known: dict[Any, Any]) -> Scenario:
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


def _segment(table: object, known: dict[Any, Any]) -> Scenario:
    """Return the scenario of a segment, with the same objects for equal media and flows.

    Raises
    ------
    ValueError
        If it has another shape, or is none of a segment.

    """
    found = msgspec.convert(table, Scenario)
    media = found.media
    if (
        len(media) != 1
        or media[0].mac.csma_cd is None
        or not 0 < len(found.flows) == len(media[0].stations)
    ):
        raise ValueError("one medium with CSMA/CD, and one flow for each group of its stations")
    delay_ps = known.setdefault(media[0].delay_ps, media[0].delay_ps)
    medium = msgspec.structs.replace(media[0], delay_ps=delay_ps)
    return msgspec.structs.replace(
        found,
        nodes=tuple([known.setdefault(node, node) for node in found.nodes]),
        media=(known.setdefault(medium, medium),),
        flows=tuple([known.setdefault(flow, flow) for flow in found.flows]),
    )


_KEYS = ("id", "series", "replication", "seed", "engine", "point", "scenario")
_ENGINE = re.compile(
    rf"simulation|(theory|idealised|ablation)/({'|'.join(MODELS)})(/[a-z-]+)?", re.ASCII
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[0-9]{5,6}", re.ASCII)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


# msgspec works out how to read a type when it is first used. Two threads that do so at once crash
# the interpreter (msgspec 0.22), and engines read trials on several.
for _kind in (Scenario, Assumptions, Live, _Line, _CoreTrial):
    msgspec.json.Decoder(_kind)


def read_trial(line: str, known: dict[Any, Any]) -> Trial | str:
    """Return the trial of a line, or what was expected instead; `known` as of `scenario_of`."""
    try:
        read = json.loads(line, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        reason = type(error).__name__ if isinstance(error, RecursionError) else error
        return f"expected a trial as JSON: {reason}"
    scenario = read.get("scenario") if isinstance(read, dict) else None
    engine = read.get("engine") if isinstance(read, dict) else None
    has_medium = isinstance(scenario, dict) and "media" in scenario
    if has_medium:
        is_of_theory = isinstance(engine, str) and engine.startswith((THEORY, IDEALISED, ABLATION))
        beside = (THEORY,) if is_of_theory else ()
    else:
        beside = (LIVE,) if engine == LIVE else ()
    expected = (*_KEYS, *beside)
    if not isinstance(read, dict) or tuple(read) != expected:
        return f"expected a JSON object with the keys {', '.join(expected)}, in this order"
    point = read["point"]
    try:
        if has_medium:
            read["scenario"] = _segment(scenario, known)
            if beside:
                read[THEORY] = msgspec.convert(read[THEORY], Assumptions)
        else:
            read["scenario"] = scenario_of(scenario, known)
            if beside:
                read[LIVE] = msgspec.convert(read[LIVE], Live)
    except (ValueError, RecursionError) as error:  # a ValidationError is a ValueError
        reason = type(error).__name__ if isinstance(error, RecursionError) else error
        return f"expected a scenario: {reason}"
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
                isinstance(engine, str) and _ENGINE.fullmatch(engine)
                if has_medium
                else engine in (SIMULATION, LIVE),
                'engine as "simulation", "theory/MODEL", "idealised/MODEL" or "ablation/MODEL/STEP"; of a network "simulation" or "live"',
            ),
            (
                isinstance(point, dict)
                and all(_is_text(text) for item in point.items() for text in item),
                "point as texts",
            ),
        )
        if not holds
    ]
    return "expected " + "; ".join(wrong) if wrong else Trial(**read, line=line)


def _is_text(value: object) -> bool:
    """Whether it is a text that can be written as UTF-8; JSON can name halves of characters that
    cannot.
    """
    return isinstance(value, str) and not any(
        "\ud800" <= character <= "\udfff" for character in value
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
