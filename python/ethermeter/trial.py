"""Trial: one line of a plan, with its only writer and its only reader."""

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import msgspec

from ethermeter.entities import Entity, flows_in, senders
from ethermeter.scenario import Scenario
from ethermeter.theory.assumptions import MODELS, NETWORK_MODELS, Assumptions
from ethermeter.traces import NO_TRACES, Trace, digests

SIMULATION, THEORY, IDEALISED, ABLATION = "simulation", "theory", "idealised", "ablation"
LIVE = "live"
RAW_FRAMES: Literal["packet"] = "packet"
"""Port by which the stations of a segment send."""

T = TypeVar("T")
LARGEST_SEED = 2**63 - 1
"""The largest seed."""


class Live(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of the flows of a scenario that only a measurement needs, one each."""

    ports: tuple[str, ...]
    """Port by which each flow is sent, on a segment those of a group: "udp", "tcp", "packet" or
    "xdp".
    """
    exchanges: tuple[int | None, ...] | None = None
    """Wanted exchanges of each flow; None where any number will do."""
    setup: Mapping[str, object] | None = None
    """What the bench of a bottleneck search sets besides; None of other trials."""
    warm_up_ps: int = 0
    """For how long hosts do what the first trial does before it begins."""


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
        "simulation", "theory/MODEL", "idealised/MODEL", "ablation/MODEL/STEP" or "live"; of a
        network "simulation", "theory/MODEL" or "live".
    point
        The varied keys with their values, as text.
    scenario
        What the engine needs to know; see docs/reference/trials.md. Shared between trials.
    line
        The exact JSON text that an engine receives.
    live, theory
        Settings that only a measurement needs, and what theories of a medium assume; None for other
        engines.
    traces
        Traces that its flows replay, by the SHA-256 of their text.
    """

    id: str
    series: str
    replication: int
    seed: int
    engine: str
    point: Mapping[str, str]
    scenario: Scenario = field(repr=False)
    line: str = field(repr=False)
    live: Live | None = field(default=None, repr=False)
    theory: Assumptions | None = field(default=None, repr=False)
    traces: Mapping[str, Trace] = field(default_factory=dict, repr=False, compare=False)

    def assumptions(self) -> Assumptions:
        """Return what theories assume besides the scenario."""
        assert self.theory is not None, "a trial of a theory"
        return self.theory

    def settings(self) -> Live:
        """Return the settings that only a measurement needs."""
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
    live: Live | None = None,
    theory: Assumptions | None = None,
    traces: Mapping[str, Trace] = NO_TRACES,
) -> Trial:
    """Return a trial with its line; `traces` has at least those that its flows replay."""
    line = _Line(id, series, replication, seed, engine, point, _raw(scenario))
    line.live = msgspec.UNSET if live is None else live
    line.theory = msgspec.UNSET if theory is None else theory
    own = {sha256: traces[sha256] for sha256 in digests(scenario)}
    text = _text(line)
    return Trial(id, series, replication, seed, engine, point, scenario, text, live, theory, own)


def digest_of(line: str) -> str:
    """Return the SHA-256 of the line of a trial, which its rows bear."""
    return hashlib.sha256(line.encode()).hexdigest()


def with_results(trials: Iterable[Trial], failed: Container[str]) -> tuple[Trial, ...]:
    """Return the trials that estimates are made from: all but those of these ids, which failed.

    Where every trial of a point failed they are kept, so that the point is there, without values.
    """

    def point(trial: Trial) -> tuple[object, ...]:
        return (trial.series, trial.engine, *sorted(trial.point.items()))

    every = tuple(trials)
    known = {point(trial) for trial in every if trial.id not in failed}
    return tuple(trial for trial in every if trial.id not in failed or point(trial) not in known)


def renumbered(trial: Trial, number: int, *, point: Mapping[str, str]) -> Trial:
    """Return a trial with another number and point, for another plan; its seed is the same."""
    read = msgspec.json.decode(trial.line, type=_Line)
    read.id, read.point = f"{trial.id.partition('/')[0]}/{number:05d}", dict(point)
    return replace(trial, id=read.id, point=read.point, line=_text(read))


def core_trial(scenario: Scenario | msgspec.Raw, *, id: str = "x", seed: int = 0) -> str:
    """Return a trial as the simulator reads it; `scenario` may be JSON already."""
    json = _raw(scenario) if isinstance(scenario, Scenario) else scenario
    return _text(_CoreTrial(id, seed, json))


def core_trial_of(line: str) -> str:
    """Return the trial of a line as the simulator reads it."""
    read = msgspec.json.decode(line, type=_Line)
    return core_trial(read.scenario, id=read.id, seed=read.seed)


def traces_of(trials: Iterable[Trial]) -> dict[str, Trace]:
    """Return the traces that flows of trials replay, by the SHA-256 of their text."""
    found: dict[str, Trace] = {}
    for trial in trials:
        found |= {sha256: trial.traces[sha256] for sha256 in trial.traces if sha256 not in found}
    return found


class Shared:
    """Scenarios that were read, and their tables: equal ones are one object.

    `most`: how many are kept; with one more, all others are forgotten.
    """

    def __init__(self, *, most: int | None = None) -> None:
        self._most = most
        self._scenarios: dict[bytes, Scenario] = {}
        self._known: dict[object, Any] = {}

    def scenario(self, text: msgspec.Raw) -> Scenario:
        """Return a scenario from its JSON; msgspec.ValidationError if it is none."""
        digest = hashlib.blake2b(text, digest_size=16).digest()
        found = self._scenarios.get(digest)
        if found is None:
            if len(self._scenarios) == self._most:
                self._scenarios, self._known = {}, {}
            read = msgspec.json.decode(text, type=Scenario)
            media = [
                msgspec.structs.replace(medium, delay_ps=self._one(medium.delay_ps))
                for medium in read.media
            ]
            found = self._scenarios[digest] = msgspec.structs.replace(
                read,
                nodes=tuple([self._one(node) for node in read.nodes]),
                links=tuple([self._one(link) for link in read.links]),
                media=tuple([self._one(medium) for medium in media]),
                flows=tuple([self._one(flow) for flow in read.flows]),
            )
        return found

    def _one(self, value: T) -> T:
        known: T = self._known.setdefault(value, value)
        return known


def _raw(scenario: Scenario) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(scenario))


def _text(line: _Line | _CoreTrial) -> str:
    return msgspec.json.encode(line).decode()


_KEYS = ("id", "series", "replication", "seed", "engine", "point", "scenario")
_COUNTING = "simulation|live"
_SPEAKING: Mapping[Entity, re.Pattern[str]] = {
    "station": re.compile(
        rf"{_COUNTING}|(theory|idealised|ablation)/({'|'.join(MODELS)})(/[a-z-]+)?", re.ASCII
    ),
    "flow": re.compile(rf"{_COUNTING}|theory/({'|'.join(NETWORK_MODELS)})", re.ASCII),
}
"""Engines by the entities that they count or speak of."""
_SOME = re.compile(".+", re.DOTALL)
_ENGINES = (
    'engine as "simulation", "theory/MODEL", "idealised/MODEL", "ablation/MODEL/STEP" or "live"; '
    'of a network "simulation", "theory/MODEL" or "live"'
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[0-9]{5,6}", re.ASCII)


# msgspec works out how to read a type when it is first used. Two threads that do so at once crash
# the interpreter (msgspec 0.22), and engines read trials on several.
for _kind in (dict[str, msgspec.Raw], Scenario, Assumptions, Live, _Line, _CoreTrial):
    msgspec.json.Decoder(_kind)


def read_trial(line: str, shared: Shared | None = None) -> Trial | str:
    """Return the trial of a line, or what was expected instead; `shared` is of the lines before."""
    try:
        items = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        plain = {key: msgspec.json.decode(items.get(key, b"null")) for key in _KEYS[:-1]}
    except msgspec.ValidationError:
        items, plain = {}, {"engine": None}
    except (ValueError, RecursionError) as error:
        reason = type(error).__name__ if isinstance(error, RecursionError) else error
        return f"expected a trial as JSON: {reason}"
    engine = plain["engine"]
    kind, _, model = engine.partition("/") if isinstance(engine, str) else ("", "", "")
    beside = {THEORY: THEORY, IDEALISED: THEORY, ABLATION: THEORY, LIVE: LIVE}.get(kind)
    if model in NETWORK_MODELS:  # these assume nothing beyond the scenario
        beside = None
    expected = (*_KEYS, beside) if beside else _KEYS
    if tuple(items) != expected:
        return f"expected a JSON object with the keys {', '.join(expected)}, in this order"
    theory, live = None, None
    try:
        scenario = (shared or Shared()).scenario(items["scenario"])
        if fault := _shape_fault(scenario):
            raise ValueError(fault)
        if beside == THEORY:
            theory = msgspec.json.decode(items[THEORY], type=Assumptions)
        elif beside == LIVE:
            live = msgspec.json.decode(items[LIVE], type=Live)
    except (ValueError, RecursionError) as error:
        reason = type(error).__name__ if isinstance(error, RecursionError) else error
        return f"expected a scenario: {reason}"
    engines = _SPEAKING["station" if senders(scenario) else "flow"]
    point, seed = plain["point"], plain["seed"]
    is_seed = _is_count(seed) and seed <= LARGEST_SEED
    is_point = isinstance(point, dict) and all(isinstance(text, str) for text in point.values())
    checks = {
        'id as "series/00000"': _matches(_ID, plain["id"]),
        "series as a text": _matches(_SOME, plain["series"]),
        "replication as an integer, 0 or above": _is_count(plain["replication"]),
        f"seed as an integer from 0 to {LARGEST_SEED}": is_seed,
        _ENGINES: _matches(engines, engine),
        "point as texts": is_point,
    }
    if wrong := [allowed for allowed, is_right in checks.items() if not is_right]:
        return "expected " + "; ".join(wrong)
    return Trial(**plain, scenario=scenario, line=line, live=live, theory=theory)


def _shape_fault(scenario: Scenario) -> str:
    """Return what a scenario lacks to be one of an experiment; "" if nothing."""
    if not scenario.media and not scenario.links:
        return "links between nodes, or a medium"
    contends = all(m.mac.csma_cd is not None or m.mac.plca is not None for m in scenario.media)
    stations = [len(medium.stations) for medium in scenario.media]
    groups, onto = len(senders(scenario)), len(scenario.flows) - flows_in(scenario)
    is_whole = groups == onto and groups in (0, sum(stations))
    if not contends or not is_whole or not (scenario.flows or scenario.links):
        return "media with CSMA/CD or PLCA, and on a segment one flow for each group of stations"
    return ""


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
