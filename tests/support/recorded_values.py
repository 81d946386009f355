"""Values of shipped experiments and claims of studies, as recorded under tests/golden, and what
differs from them.
"""

import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import ethermeter as em
from ethermeter import experiment
from ethermeter.plan import Plan
from ethermeter.run import RunOptions, execute
from ethermeter.studies import registry
from ethermeter.trial import LIVE, SIMULATION, Trial

GOLDEN = Path(__file__).parents[1] / "golden"
VALUES = GOLDEN / "values"
CLAIMS = GOLDEN / "claims"
RENAMED = GOLDEN / "renamed.toml"

SIMULATED, OTHERS = 6, 2
"""Trials of an experiment that are run: of its simulation, and of each other engine."""
WINDOW_S = 0.4
"""Longest time that stations transmit; an experiment's phases are scaled down to it."""
TOLERANCE, LEAST = 1e-12, 1e-18
"""Relative and absolute difference within which values are equal."""
JUDGED = ("verdict", "ours", "low", "high")
"""What is recorded of a claim."""
UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

Values = dict[tuple[int, str, str], str]
"""Text of each value by number of the trial in the plan, metric, and entity."""


Claims = dict[str, tuple[str, ...]]
"""Texts of what is recorded of each claim, by its id."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """New names by the recorded ones."""

    experiments: Mapping[str, str]
    engines: Mapping[str, str]
    metrics: Mapping[str, str]
    cautions: Mapping[str, str]
    studies: Mapping[str, str]
    claims: Mapping[str, str]


def read_renamed() -> Renamed:
    """Intended renames since the values were recorded."""
    tables = tomllib.loads(RENAMED.read_text(encoding="utf-8"))
    return Renamed(*(tables.get(field.name, {}) for field in fields(Renamed)))


def names() -> list[str]:
    """Shipped experiments that have something to compute."""
    return [name for name, path in experiment.shipped().items() if set(_engines(path)) != {"live"}]


def recorded_names() -> list[str]:
    """Experiments whose values are recorded."""
    return [path.relative_to(VALUES).with_suffix("").as_posix() for path in VALUES.rglob("*.tsv")]


def file_of(name: str) -> Path:
    """File with an experiment's recorded values."""
    return VALUES / f"{name}.tsv"


def compute(name: str, *, jobs: int = 1) -> Values:
    """Run some trials of an experiment over a short window and return all their values."""
    loaded = em.load(name, overrides=_short_phases(experiment.shipped()[name]))
    everything = loaded.plan(replications=1)
    chosen = _chosen(everything.trials)
    plan = Plan("recorded", tuple(_seeded(everything.trials[number], number) for number in chosen))
    numbers = {trial.id: number for number, trial in zip(chosen, plan.trials, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        run = execute(
            plan, loaded.experiments, directory=Path(folder) / "run", options=RunOptions(jobs=jobs)
        )
        table = run.observations()
    found: Values = {
        (number, "seed", "trial"): str(everything.trials[number].seed) for number in chosen
    } | {(number, "engine", "trial"): everything.trials[number].engine for number in chosen}
    columns = [table[key].to_pylist() for key in ("trial", "station", "metric", "value", "caution")]
    last = {}
    for trial, station, *_ in zip(*columns, strict=True):
        last[trial] = max(last.get(trial, -1), station)
    for trial, station, metric, value, caution in zip(*columns, strict=True):
        # The first and the last station or flow stand for all; the totals notice the others.
        if station in (-1, 0, last[trial]):
            entity = "all" if station < 0 else str(station)
            found[numbers[trial], metric, entity] = _text(value) + (
                f" {caution}" if caution else ""
            )
    return found


def write(name: str, values: Values) -> None:
    """Record an experiment's values."""
    path = file_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    trials = sorted({trial for trial, _, _ in values})
    rows = dict.fromkeys((metric, entity) for _, metric, entity in values)
    lines = ["\t".join(["metric", "entity", *map(str, trials)])]
    lines += [
        "\t".join([*row, *(values.get((trial, *row), "") for trial in trials)]) for row in rows
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(name: str, renamed: Renamed) -> Values:
    """Recorded values of an experiment, by the names of today."""
    header, *lines = file_of(name).read_text(encoding="utf-8").splitlines()
    trials = [int(number) for number in header.split("\t")[2:]]
    found: Values = {}
    for line in lines:
        metric, entity, *texts = line.split("\t")
        for trial, text in zip(trials, texts, strict=True):
            if text:
                value, _, caution = text.partition(" ")
                if metric == "engine":
                    kind, _, model = value.partition("/")
                    value = "/".join(filter(None, (renamed.engines.get(kind, kind), model)))
                caution = renamed.cautions.get(caution, caution)
                name_today = renamed.metrics.get(metric, metric)
                found[trial, name_today, entity] = f"{value} {caution}".strip()
    return found


def differences(recorded: Values, found: Values) -> Iterator[str]:
    """Say of every value that differs which it is, what was recorded and what was found."""
    for key in recorded | found:
        before, now = recorded.get(key, "none"), found.get(key, "none")
        if before != now and not _close(before, now):
            trial, metric, entity = key
            yield f"trial {trial}, {metric} of {entity}: recorded {before}, found {now}"


def studies() -> list[str]:
    """Published studies."""
    return list(registry.names())


def recorded_studies() -> list[str]:
    """Studies whose claims are recorded."""
    return [path.stem for path in CLAIMS.glob("*.tsv")]


def judge(study: str) -> Claims:
    """Reproduce a study quickly and return what is found of its claims."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        printed = _printed("reproduce", study, "--quick", "--no-report", "--out", str(out))
    return {
        claim["id"]: tuple(_text(claim[key]).strip("'") for key in JUDGED)
        for claim in printed["claims"]["claims"]
    }


def write_claims(study: str, claims: Claims) -> None:
    """Record what was found of a study's claims."""
    CLAIMS.mkdir(exist_ok=True)
    rows = [("claim", *JUDGED), *((claim, *texts) for claim, texts in claims.items())]
    text = "".join("\t".join(row) + "\n" for row in rows)
    (CLAIMS / f"{study}.tsv").write_text(text, encoding="utf-8")


def read_claims(study: str, renamed: Renamed) -> Claims:
    """Recorded findings of a study's claims, by the names of today."""
    _, *lines = (CLAIMS / f"{study}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return {renamed.claims.get(claim, claim): tuple(texts) for claim, *texts in rows}


def differing_claims(recorded: Claims, found: Claims) -> Iterator[str]:
    """Say of every claim that differs what was recorded and what was found."""
    for claim in recorded | found:
        before, now = recorded.get(claim, ()), found.get(claim, ())
        same = len(before) == len(now) and all(
            old == new or _close(old, new) for old, new in zip(before, now, strict=True)
        )
        if not same:
            yield f"claim {claim}: recorded {', '.join(before)}, found {', '.join(now)}"


def _printed(*words: str) -> Any:
    """Return what `ethermeter WORDS --json` prints."""
    command = [sys.executable, "-m", "ethermeter", *words, "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {ended.stderr}")
    return json.loads(ended.stdout)


def _close(before: str, now: str) -> bool:
    old, new = before.split(" "), now.split(" ")
    try:
        close = math.isclose(float(old[0]), float(new[0]), rel_tol=TOLERANCE, abs_tol=LEAST)
    except ValueError:
        return False
    return close and old[1:] == new[1:]


def _engines(path: Path) -> Sequence[str]:
    run = tomllib.loads(path.read_text(encoding="utf-8")).get("run", {})
    engines: Sequence[str] = run.get("engines", ["simulation"])
    return engines


def _short_phases(path: Path) -> list[str]:
    """Overrides that scale phases down, so that stations transmit for `WINDOW_S`."""
    phases = tomllib.loads(path.read_text(encoding="utf-8"))["phases"]
    (_, transmit_s), *_ = _durations(phases["transmit"])
    if phases["measure"] == "all" or transmit_s <= WINDOW_S:
        return []
    scale = WINDOW_S / transmit_s
    return [
        f"phases.{key}={re.sub(r'[0-9.]+ *m?u?s', lambda found: _scaled(found[0], scale), text)}"
        for key, text in phases.items()
    ]


def _durations(text: str) -> list[tuple[str, float]]:
    return [
        (found[0], float(found[1]) * UNITS_S[found[2]])
        for found in re.finditer(r"([0-9.]+) *(m?u?s)", text)
    ]


def _scaled(text: str, scale: float) -> str:
    (_, seconds), *_ = _durations(text)
    return f"{round(seconds * scale * 1e9)} ns"


def _chosen(trials: Sequence[Trial]) -> list[int]:
    """Numbers of trials that are run, evenly over those of each engine."""
    by_engine: dict[str, list[int]] = {}
    for number, trial in enumerate(trials):
        if trial.engine != LIVE:
            by_engine.setdefault(trial.engine, []).append(number)
    chosen = set()
    for engine, numbers in by_engine.items():
        count = min(SIMULATED if engine == SIMULATION else OTHERS, len(numbers))
        chosen |= {numbers[round(k * (len(numbers) - 1) / max(1, count - 1))] for k in range(count)}
    return sorted(chosen)


def _seeded(trial: Trial, number: int) -> Trial:
    """Return a trial whose seed depends on its number only, not on names in its experiment."""
    seed = int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:7], "big")
    line, found = re.subn(r'"seed":\d+', f'"seed":{seed}', trial.line, count=1)
    if found != 1:
        raise ValueError(f"trial {trial.id} has no seed in its line")
    return replace(trial, seed=seed, line=line)


def _text(value: float | str | None) -> str:
    return "none" if value is None else repr(value)
