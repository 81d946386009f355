"""Values of shipped experiments, of live results and of claims of studies, as recorded in
tests/golden/values.txt, and what differs from them.

A subject is an experiment, a live result ("measured/…") or a study ("claims/…"). Its parts are
trials, by their numbers in the plan, the files of its run, or claims. A part has rows:

- of a metric: the value of all entities, of the first, of the last, and of each
- of a counter of ports: the sum, that of the first port, of the last, and of each
- of a counter of classes or by batch, and of a histogram: the sum, and each
- of facts: their number, and each
- of a claim: what `JUDGED` names

"Each" sees a change of any entity, batch or bucket. Of whole numbers it is a digest; of others a
mean that can be compared to within rounding, with a digest of their signs and cautions.
"""

import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path

import ethermeter as em
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from ethermeter import experiment
from ethermeter.engines.live.observed import observe
from ethermeter.engines.live.trials import trial_of
from ethermeter.engines.work import Finished, Work
from ethermeter.execution import Execution, execute
from ethermeter.plan import Plan
from ethermeter.results.frame import observations
from ethermeter.store import RunDirectory
from ethermeter.store.columns import FLOW_BATCHES, STATION_BATCHES
from ethermeter.store.result import read as read_result
from ethermeter.studies import registry
from ethermeter.trial import LIVE, SIMULATION, Trial
from msgspec.structs import astuple

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDED = GOLDEN / "values.txt"
RENAMED = GOLDEN / "renamed.toml"
MEASURED, CLAIMS, FILES = "measured", "claims", "files"
"""Folder of live results and what their subjects begin with; the same of claims; a part."""

SIMULATED, OTHERS = 6, 2
"""Trials of an experiment that are run: of its simulation, and of each other engine."""
WINDOW_S = 0.4
"""Longest time that stations transmit; an experiment's phases are scaled down to it."""
TOLERANCE, LEAST = 1e-12, 1e-18
"""Relative and absolute difference within which values are equal."""
GROWTH = 1.1
"""How much larger than recorded a file may be; it may be smaller."""
SIZED = ("boggs1988/i-1", "industrial-ring", "10base-t1s/plca-or-csma")
"""Experiments whose run directories are recorded by their sizes."""
ENTITIES, SUMMED = ("all", "first", "last", "each"), ("all", "each")
WITHOUT_ENDS = ("class", "batch", "flow-batch", "histogram", "facts")
"""Kinds of rows that have what `SUMMED` names; others have what `ENTITIES` name."""
JUDGED = ("verdict", "ours", "low", "high")
"""What is recorded of a claim."""
UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
NUMBERS = ("station", "flow", "batch")
"""Columns that number the rows of a table."""
NOTHING, SAME = ".", "="
"""Texts of no value, and of one that is as the one before it in its row."""
SHORT = {"nan!no-samples": "_", "!few-samples": "~"}
"""Shorter texts in the file."""
WEIGHTS = (math.sqrt(5) - 1) / 2
"""Entity k weighs 1 plus the fraction of k times this: each has a weight of its own."""

Rows = dict[str, tuple[str, ...]]
Parts = dict[str, Rows]
Floats = npt.NDArray[np.float64]


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
    """Shipped experiments that have something to compute, and live results."""
    shipped = experiment.shipped()
    results = (GOLDEN / MEASURED).glob("*.json")
    return [name for name, path in shipped.items() if set(_engines(path)) != {LIVE}] + [
        f"{MEASURED}/{path.stem}" for path in sorted(results)
    ]


def studies() -> list[str]:
    """Published studies, as subjects."""
    return [f"{CLAIMS}/{name}" for name in registry.names()]


def compute(subject: str) -> Parts:
    """Compute all values of a subject: of an experiment some trials over a short window."""
    kind, _, name = subject.partition("/")
    if kind == CLAIMS:
        return _judged(name)
    is_measured = kind == MEASURED
    path = GOLDEN / f"{subject}.toml" if is_measured else experiment.shipped()[subject]
    loaded = em.load(path, overrides=[] if is_measured else _short_phases(path))
    everything = loaded.plan(replications=1).trials
    numbers = [0] if is_measured else _chosen(everything)
    plan = Plan("recorded", tuple(_seeded(everything[number], number) for number in numbers))
    place = _Recorded((GOLDEN / f"{subject}.json").read_bytes()) if is_measured else None
    with tempfile.TemporaryDirectory() as folder:
        run = execute(
            plan,
            loaded.experiments,
            directory=Path(folder) / "run",
            options=Execution(jobs=1),
            place=place,
        )
        found = {
            str(number): rows | {"seed": (str(everything[number].seed),)}
            for number, rows in zip(numbers, _trials(run), strict=True)
        }
        if subject in SIZED:
            files = [path for path in sorted(run.path.iterdir()) if path.name != "provenance.json"]
            found[FILES] = {path.name: (str(path.stat().st_size),) for path in files}
    return found


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A place whose one test gives a recorded result."""

    result: bytes
    name: str = "recorded"

    def check(self, works: Sequence[Work]) -> None:
        pass

    def run(self, works: Sequence[Work], directory: Path) -> Iterator[Finished]:
        for work in works:
            yield Finished(work.place, observe(trial_of(work), read_result(self.result), took_s=0))


def _trials(run: RunDirectory) -> Iterator[Rows]:
    """Rows of each trial of a run, of all its tables."""
    trials = run.trials()
    counters = {
        "port": run.ports(),
        "class": run.port_classes(),
        "batch": run.table(STATION_BATCHES),
        "flow-batch": run.table(FLOW_BATCHES),
    }
    values, histograms = observations(run, trials), run.histograms()
    facts = list(run.facts())
    has_networks = any(trial.scenario.links for trial in trials)
    for trial in trials:
        rows: Rows = {"engine": (trial.engine,)}
        for metric, table in _by_metric(_of(trial, values)):
            rows[metric] = _observed(table)
        for kind, table in counters.items():
            of_trial = _of(trial, table)
            for name in set(of_trial.column_names) - {kind, *NUMBERS}:
                if (column := of_trial[name]).null_count < len(column):
                    texts = _counted(column)
                    rows[f"{kind}.{name}"] = (
                        (texts[0], texts[-1]) if kind in WITHOUT_ENDS else texts
                    )
        of_trial = _of(trial, histograms)
        for time in pc.unique(of_trial["time"]).to_pylist() if len(of_trial) else ():
            table = of_trial.filter(pc.equal(of_trial["time"], time))
            names = ["low_ps", "high_ps", "count"]
            buckets = [_whole(table[name]).tobytes() for name in names]
            if has_networks or trial.scenario.flows[0].to:
                buckets.append(_whole(table["entity"]).tobytes())
            rows[f"histogram.{time}"] = (_counted(table["count"])[0], _digest(*buckets))
        of_trial = [fact for trial_id, fact in facts if trial_id == trial.id]
        if of_trial:
            said = [value for fact in of_trial for value in astuple(fact)]
            texts = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in said]
            rows["facts"] = (str(len(of_trial)), _digest(" ".join(texts).encode()))
        yield rows


def _of(trial: Trial, table: pa.Table | None) -> pa.Table:
    if table is None:
        return pa.table({})
    return table.filter(pc.equal(table["trial"], trial.id)).drop_columns("trial")


def _by_metric(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for metric in pc.unique(table["metric"]).to_pylist():
        yield metric, table.filter(pc.equal(table["metric"], metric))


def _observed(table: pa.Table) -> tuple[str, ...]:
    """Texts of a metric: of all entities together, which come first, and of each."""
    cautions = [text.replace(" ", ",") for text in table["caution"].to_pylist()]
    values, has_all = table["value"].to_numpy(), table["entity"][0].as_py() < 0
    of_all = _text(values[0], cautions[0]) if has_all else NOTHING
    return of_all, *_of_each(values[has_all:], cautions[has_all:])


def _counted(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Texts of a counter: the sum, the first, the last, and each."""
    if pa.types.is_floating(column.type):
        values = column.fill_null(math.nan).to_numpy()
        return _text(np.nansum(values)), *_of_each(values, [""] * len(values))
    numbers = _whole(column)
    each = _digest(numbers.tobytes()) if len(set(numbers)) > 1 else str(numbers[0])
    return str(pc.sum(column).as_py()), str(numbers[0]), str(numbers[-1]), each


def _of_each(values: Floats, cautions: Sequence[str]) -> tuple[str, ...]:
    """Texts of the first and last value, and the mean of all with their signs and cautions."""
    if len(values) < 3:
        return tuple(map(_text, values, cautions))
    there = np.isfinite(values) & (np.abs(values) > LEAST)
    signs = np.where(there, np.sign(values), np.where(np.abs(values) <= LEAST, 0, values))
    marks = [f"{sign:g}!{caution}" for sign, caution in zip(signs, cautions, strict=True)]
    weights = 1 + np.modf(np.arange(len(values)) * WEIGHTS)[0][there]
    # Of logarithms: a change of a small value is seen as well as one of a large value.
    mean = np.exp(weights @ np.log(np.abs(values[there])) / weights.sum()) if there.any() else 0.0
    first, last = _text(values[0], cautions[0]), _text(values[-1], cautions[-1])
    if len(set(marks)) > 1:
        return first, last, _text(mean) + _digest("".join(marks).encode())
    is_one = not there.any() or (values == values[0]).all()
    return first, last, first if is_one else _text(signs[0] * mean, cautions[0])


def _whole(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return column.fill_null(-1).to_numpy().astype(np.int64)


def _digest(*contents: bytes) -> str:
    return "#" + hashlib.sha256(b"".join(contents)).hexdigest()[:12]


def _text(value: float | str | None, caution: str = "") -> str:
    if value is None or isinstance(value, str):
        return value or "none"
    return f"{value:.14g}" + (f"!{caution}" if caution else "")


def _judged(study: str) -> Parts:
    """Reproduce a study quickly and return what is found of its claims."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = ("study", study, "--quick", "--no-report", "--out", str(out), "--json")
        command = [sys.executable, "-m", "ethermeter", *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {ended.stderr}")
    claims = json.loads(ended.stdout)["claims"]["claims"]
    return {CLAIMS: {claim["id"]: tuple(_text(claim[key]) for key in JUDGED) for claim in claims}}


def write(found: Mapping[str, Parts]) -> None:
    """Record the values of subjects in place of their recorded ones, by the names of today."""
    lines = []
    for subject, parts in sorted((read(read_renamed()) | found).items()):
        by_row: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for part, rows in parts.items():
            for name, texts in rows.items():
                by_row[name][_shortened(texts)].append(part)
        lines.append(subject)
        for name, by_texts in sorted(by_row.items()):
            lines += [f" {name}", *(f"  {','.join(of)} {texts}" for texts, of in by_texts.items())]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(renamed: Renamed) -> dict[str, Parts]:
    """Recorded values by subject, by the names of today."""
    found: dict[str, Parts] = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        match len(line) - len(line.lstrip(" ")):
            case 0:
                subject = _subject_today(line, renamed)
                found[subject] = parts = defaultdict(dict)
                names = renamed.claims if subject.startswith(CLAIMS) else renamed.metrics
            case 1:
                name = line.strip()
            case _:
                of, *words = line.split()
                texts = _lengthened(words, renamed)
                for part in of.split(","):
                    parts[part][names.get(name, name)] = texts
    return found


def _shortened(texts: Sequence[str]) -> str:
    words = [SAME if now == before else now for before, now in pairwise(("", *texts))]
    for text, short in SHORT.items():
        words = [word.replace(text, short) for word in words]
    return " ".join(words)


def _lengthened(words: Sequence[str], renamed: Renamed) -> tuple[str, ...]:
    texts: list[str] = []
    for word in words:
        for text, short in SHORT.items():
            word = word.replace(short, text)
        value, mark, cautions = word.partition("!")
        value, slash, model = value.partition("/")
        cautions = ",".join(renamed.cautions.get(each, each) for each in cautions.split(","))
        today = renamed.engines.get(value, value) + slash + model + mark + cautions
        texts.append(texts[-1] if word == SAME else today)
    return tuple(texts)


def _subject_today(subject: str, renamed: Renamed) -> str:
    kind, _, name = subject.partition("/")
    if kind == CLAIMS:
        return f"{CLAIMS}/{renamed.studies.get(name, name)}"
    return renamed.experiments.get(subject, subject)


def differences(recorded: Parts, found: Parts) -> Iterator[str]:
    """Say of every recorded value that is missing or differs what was recorded and found."""
    for part, rows in recorded.items():
        where = f"trial {part}" if part.isdigit() else part
        for name, texts in rows.items():
            is_summed = name.partition(".")[0] in WITHOUT_ENDS
            columns = JUDGED if part == CLAIMS else SUMMED if is_summed else ENTITIES
            now = (*found.get(part, {}).get(name, ()), *["nothing"] * len(columns))
            for before, after, of in zip(texts, now, columns, strict=False):
                if before not in (after, NOTHING) and not _is_close(part, before, after):
                    yield f"{where}, {name} of {of}: recorded {before}, found {after}"


def added(recorded: Parts, found: Parts) -> list[str]:
    """Rows that are found and not recorded."""
    there = {(part, name) for part, rows in recorded.items() for name in rows}
    rows = [(part, name) for part, rows in found.items() for name in rows]
    return [f"{part}, {name}" for part, name in rows if (part, name) not in there]


def _is_close(part: str, before: str, now: str) -> bool:
    (old, *marks), (new, *new_marks) = (re.split("([!#])", text) for text in (before, now))
    try:
        if part == FILES:
            return float(new) <= GROWTH * float(old)
        close = math.isclose(float(old), float(new), rel_tol=TOLERANCE, abs_tol=LEAST)
    except ValueError:
        return False
    return close and marks == new_marks


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
