"""Estimates: every point of every curve with its 95% interval.

The rule
--------
Trials with the same series, point and engine are replications. A value is the mean over them.

- With three replications or more, the interval is Student's t over the replications (Law and
  Kelton, Simulation Modeling and Analysis, section 9.4.1): nothing is assumed about what happens
  within a trial.
- With one or two, the standard error within each replication comes from batches of the measured
  window, by the rule of `ethermeter.results.batches`; degrees of freedom: batches - 1 for each. A
  run with such estimates carries the caution `one-replication`, once. The interval exists for the
  metrics whose formula needs only what is counted by batch: of stations the eight graphs,
  utilisation, frames and Jain's index; of flows rates, loss, means of times and counts within
  the measured window. The others (percentiles, extremes, counts of attempts, counts
  over the whole trial, voice, clocks) have no interval then: null, rather than one that was not
  measured. Neither has what hosts that measure do not count by batch
  (`ethermeter.engines.live.counts`).
- Trials that failed are no replications: nothing is known of them. A point with some carries the
  caution `failed-trials`.
- What could have happened and was not seen in any replication has an upper limit in place of an
  interval without width (`ethermeter.results.unseen`).
- A value of a theory has no error: its interval has no width.
"""

import functools
import itertools
import json
import math
from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, TypeVar

import msgspec
import numpy as np

from ethermeter.entities import entities_in
from ethermeter.json_values import damaged, described, finite, number
from ethermeter.metrics import Caution, EntityKind, Metric, caution_text
from ethermeter.metrics.evaluation import of_all_parts
from ethermeter.results import unseen
from ethermeter.results.batches import FEWEST, Within, ends, unknown
from ethermeter.results.batches import within as within_batches
from ethermeter.results.interval import LEVEL, Estimate, Floats
from ethermeter.results.slices import Source, batch_slices
from ethermeter.results.trials import Integers, Trial
from ethermeter.results.values import Whole, metrics_in, of_all

FILE = "estimates.json"
ENOUGH_REPLICATIONS = 3
MOST_AT_ONCE = 16384
"""Stations or flows of all trials together of which tables are in memory at a time."""
FORMULA_DEGREES = 1e9
"""Degrees of freedom of a formula's value, which has no error: null stands for no degrees, so
infinitely many are written as many.
"""
T = TypeVar("T", bound=Trial)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the experiment: what varied, the engine, replications and estimates.

    `failed` is the number of its trials that failed, besides the replications.
    """

    series: str
    point: Mapping[str, str]
    engine: str
    replications: int
    estimates: Mapping[Metric, Estimate]
    failed: int = 0


class Estimates(Mapping[Metric, Estimate]):
    """Estimates by metric, kept as an array of numbers.

    As objects, those of a large run would take ten times the memory. Those with `ends` must have
    finite ones.
    """

    __slots__ = ("_cautions", "_numbers", "_positions")

    def __init__(self, found: Mapping[Metric, Estimate]) -> None:
        self._positions = _positions(tuple(found))
        self._numbers = array("d")
        for each in found.values():
            self._numbers.extend(
                (each.value, each.error, each.degrees, *(each.ends or (math.nan, math.nan)))
            )
        self._cautions = {metric: each.cautions for metric, each in found.items() if each.cautions}

    def __getitem__(self, metric: Metric) -> Estimate:
        begin = 5 * self._positions[metric]
        value, error, degrees, low, high = self._numbers[begin : begin + 5]
        return Estimate(
            value,
            error,
            degrees,
            self._cautions.get(metric, ()),
            None if math.isnan(low) else (low, high),
        )

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


@functools.lru_cache
def _positions(metrics: tuple[Metric, ...]) -> dict[Metric, int]:
    """Position of every metric; one object for all points with the same metrics."""
    return {metric: at for at, metric in enumerate(metrics)}


def estimate(trials: Sequence[Trial], source: Source) -> tuple[Point, ...]:
    """Estimate every metric of all stations or flows at every point that has it.

    In the order of the plan, of which `trials` are a part; `source` has their results.
    """
    groups, firsts, replications = grouped(trials)
    whole = of_all(source, trials)
    several = np.array(replications) >= ENOUGH_REPLICATIONS
    within: dict[Metric, Within] = {}
    if not several.all():
        within = errors_within(
            (
                (at, _of_kind(of_all_parts(kind, of.left_out()), kind, trials[at[0]]))
                for kind, at, of in batch_slices(source, trials)
                if of.parts > 1
            ),
            len(trials),
        )
    columns = [
        summarised(whole.values[:, position], groups, replications, within=within.get(metric))
        for position, metric in enumerate(whole.metrics)
    ]
    masks = np.zeros((len(firsts), len(whole.metrics)), np.uint64)
    np.bitwise_or.at(masks, groups, whole.cautions)
    bits, is_there = masks.tolist(), whole.is_there.tolist()
    points = []
    for group, first in enumerate(firsts):
        example = trials[first]
        formula = example.engine.startswith("theory/")
        estimates = {}
        for position, metric in enumerate(whole.metrics):
            if not is_there[first][position]:
                continue
            found = columns[position][group]
            words = caution_text(mask).split() if (mask := bits[group][position]) else ()
            if formula:
                # A mean by a formula has no sampling error; a bound estimates nothing.
                is_bound = Caution.UPPER_BOUND in words
                error = math.nan if is_bound else 0.0
                found = Estimate(found.value, error, math.nan if is_bound else FORMULA_DEGREES)
            if unseen.is_unseen(metric, found.value, example.engine):
                members = np.flatnonzero(groups == group)
                exposed = _exposure(metric, whole, members, example)
                found = unseen.limited(metric, found, exposed)
            if words:
                found = replace(found, cautions=tuple(sorted({*found.cautions, *words})))
            estimates[metric] = found
        points.append(point_like(example, replications[group], Estimates(estimates)))
    return tuple(points)


def point_like(
    trial: Trial,
    replications: int,
    estimates: Mapping[Metric, Estimate],
    more: Mapping[str, str] = MappingProxyType({}),
) -> Point:
    """Return the point of a trial, with keys besides those that the experiment varies."""
    return Point(trial.series, {**trial.point, **more}, trial.engine, replications, estimates)


def _of_kind(
    values: Mapping[Metric, Floats], kind: EntityKind, trial: Trial
) -> Mapping[Metric, Floats]:
    """Return the values of metrics that are of a kind of entities in a trial."""
    there = metrics_in(trial)
    return {metric: of for metric, of in values.items() if there.get(metric) == kind.entity}


def _exposure(metric: Metric, whole: Whole, members: Integers, trial: Trial) -> float:
    """Sum over trials of a point of what `ethermeter.results.unseen` needs."""
    if not unseen.is_known_of_all(metric, trial.scenario):
        return math.nan
    there = metrics_in(trial)
    counted = {
        name: whole.values[members, whole.metrics.index(name)]
        for name in unseen.BEHIND
        if name in whole.metrics and there.get(name) == there.get(metric)
    }
    return float(unseen.exposure(metric, counted, trial.scenario).sum()) if counted else math.nan


def summarised(
    values: Floats, groups: Integers, replications: Sequence[int], *, within: Within | None
) -> list[Estimate]:
    """Estimate every point by the rule above, with `correlated-batches` where it applies.

    `values` has one value a trial, NaN where undefined, which makes its point undefined; `groups`
    the point of every trial; `within` the uncertainty of each trial's value, None without batches;
    all of the shape `(trials,)`. `replications` has the number of trials of every point.
    """
    count = np.array(replications, dtype=np.float64)

    def mean(of: Floats) -> Floats:
        return np.bincount(groups, weights=of, minlength=count.size) / count

    several = count >= ENOUGH_REPLICATIONS
    value = mean(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(
            several, np.sqrt(mean(np.square(values - value[groups])) / (count - 1)), np.nan
        )
    degrees = np.where(several, count - 1, np.nan)
    if within is None or several.all():
        return list(map(Estimate, value.tolist(), error.tolist(), degrees.tolist()))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(several, error, np.sqrt(mean(np.square(within.error)) / count))
        skewness = np.where(
            several,
            0.0,
            np.nan_to_num(mean(within.skewness * within.error**3) / (count**2 * error**3)),
        )
    degrees = np.where(several, degrees, mean(within.degrees) * count)
    low, high = ends(value, error, degrees, skewness)
    is_correlated = ~several & (mean(within.independent) < FEWEST)
    is_skewed = (skewness != 0) & (error > 0) & np.isfinite(low) & np.isfinite(high)
    cautions = [(Caution.CORRELATED_BATCHES.value,) if is_so else () for is_so in is_correlated]
    sides = zip(low.tolist(), high.tolist(), strict=True)
    skewed = [side if is_so else None for side, is_so in zip(sides, is_skewed, strict=True)]
    numbers = (value.tolist(), error.tolist(), degrees.tolist())
    return list(map(Estimate, *numbers, cautions, skewed))


def grouped(trials: Sequence[Trial]) -> tuple[Integers, list[int], list[int]]:
    """Find the point of every trial, the first trial of every point, and how many it has."""
    keys: dict[tuple[object, ...], int] = {}
    groups: list[int] = []
    firsts: list[int] = []
    sizes: list[int] = []
    for position, trial in enumerate(trials):
        group = keys.setdefault(_key(trial), len(keys))
        if group == len(firsts):
            firsts.append(position)
            sizes.append(0)
        sizes[group] += 1
        groups.append(group)
    return np.array(groups, dtype=np.int64), firsts, sizes


def _key(of: Trial | Point) -> tuple[object, ...]:
    """Return what distinguishes a point from all others."""
    return (of.series, of.engine, *sorted(of.point.items()))


def in_blocks(trials: Sequence[T]) -> Iterator[list[T]]:
    """Yield the trials in blocks of whole points, in the order of their first trials.

    No table is then in memory whole: a block has one point, or points of at most `MOST_AT_ONCE`
    stations or flows, each of them counted in every trial.
    """
    points, _, _ = grouped(trials)
    order = np.argsort(points, kind="stable")
    block: list[T] = []
    stations = 0
    for _, members in itertools.groupby(order.tolist(), key=points.__getitem__):
        point = [trials[member] for member in members]
        more = sum(entities_in(trial.scenario) for trial in point)
        if block and stations + more > MOST_AT_ONCE:
            yield block
            block, stations = [], 0
        block += point
        stations += more
    if block:
        yield block


def errors_within(
    by_batch: Iterable[tuple[Integers, Mapping[Metric, Floats]]], trials: int
) -> dict[Metric, Within]:
    """Find how sure every metric is within each trial; shape `(trials,)`, NaN without batches.

    `by_batch` has positions of trials, each trial once, and their values with one batch left out,
    shape `(trials, batches)`.
    """
    errors: dict[Metric, Within] = {}
    for positions, left in by_batch:
        metrics = [metric for metric, values in left.items() if values.shape[1] > 1]
        if not metrics:
            continue
        # All metrics at once: what is found of each alone takes as long as of all together.
        found = within_batches(np.stack([left[metric] for metric in metrics]))
        for at, metric in enumerate(metrics):
            errors.setdefault(metric, unknown(trials)).put(positions, found.at(at))
    return errors


def text_of(points: Sequence[Point]) -> str:
    """Text of `estimates.json`: one point a line; an undefined number is null."""
    return "".join(_texts(points))


def _texts(points: Sequence[Point]) -> Iterator[str]:
    """Yield the text of `estimates.json` in parts: that of a large run has tens of megabytes."""
    there = {metric for point in points for metric in point.estimates}
    used = [metric for metric in Metric if metric in there]
    # Some names are of stations as of flows; they mean what they mean of the points that there are.
    only_flows = all(Metric.MESSAGE_RATE in point.estimates for point in points)
    head = {
        "level": LEVEL,
        "cautions": run_cautions(points),
        "metrics": meanings(used, "flow" if only_flows else "station"),
    }
    yield from entries(head, "points", map(_entry_of, points))


def meanings(metrics: Iterable[Metric], entity: str = "") -> dict[str, dict[str, str]]:
    """Return units and meanings of metrics of an entity, as the files of a run have them."""
    return {
        metric.value: {"unit": metric.unit, "meaning": metric.meaning(entity)} for metric in metrics
    }


def entries(head: Mapping[str, object], name: str, rows: Iterable[object]) -> Iterator[str]:
    """Yield the text of a file of a run: a head in one line, and one row a line."""
    yield json.dumps(head, ensure_ascii=False).removesuffix("}")
    yield f', "{name}": [\n' if head else f'"{name}": [\n'
    for at, row in enumerate(rows):
        yield (",\n" if at else "") + msgspec.json.encode(row).decode()
    yield "\n]}\n"


def run_cautions(points: Sequence[Point]) -> list[str]:
    """Return the cautions of a whole run.

    `one-replication` if a point that is not a formula's has fewer than three replications.
    """
    few = any(
        point.replications < ENOUGH_REPLICATIONS and not point.engine.startswith("theory/")
        for point in points
    )
    return [Caution.ONE_REPLICATION.value] if few else []


class EstimateEntry(msgspec.Struct, omit_defaults=True):
    """An estimate in the files of a run; an undefined number is null."""

    value: Annotated[float | None, described("the estimate, in the unit of its metric")]
    low: Annotated[float | None, described("lower end of the 95% interval; null without one")]
    high: Annotated[float | None, described("upper end of the 95% interval; null without one")]
    error: Annotated[float | None, described("standard error; null of a limit")]
    degrees: Annotated[float | None, described("degrees of freedom of the standard error")]
    cautions: Annotated[tuple[str, ...], described("reasons to check the value")] = ()

    @classmethod
    def of(cls, found: Estimate) -> "EstimateEntry":
        """Return the entry of an estimate."""
        half = found.half_width if found.ends is None else 0.0
        low, high = found.ends or (found.value - half, found.value + half)
        value, error, degrees = finite(found.value), finite(found.error), finite(found.degrees)
        return cls(value, finite(low), finite(high), error, degrees, found.cautions)

    def read(self) -> Estimate:
        """Return the estimate."""
        numbers = (number(self.value), number(self.error), number(self.degrees))
        found = Estimate(*numbers, self.cautions)
        ends = (number(self.low), number(self.high))
        # Ends that are not those of Student's t belong to an interval that is not symmetrical.
        is_skewed = all(map(math.isfinite, ends)) and ends != (found.low, found.high)
        return replace(found, ends=ends) if is_skewed else found


class PointEntry(msgspec.Struct, omit_defaults=True):
    """A point of an experiment, as one engine answers it."""

    series: Annotated[str, described("series of the experiment")]
    point: Annotated[dict[str, str], described("varied keys with their values, as text")]
    engine: Annotated[str, described("the engine, such as simulation or theory/MODEL")]
    replications: Annotated[int, described("trials behind the estimates")]
    failed: Annotated[int, described("trials that failed, and are in no estimate")] = 0
    estimates: Annotated[dict[str, EstimateEntry], described("estimates by metric")] = {}

    def read(self) -> Point:
        """Return the point."""
        estimates = Estimates({Metric(name): of.read() for name, of in self.estimates.items()})
        where = (self.series, self.point, self.engine)
        return Point(*where, self.replications, estimates, self.failed)


class Meaning(msgspec.Struct):
    """Unit and meaning of a metric."""

    unit: str
    meaning: str


class EstimatesFile(msgspec.Struct):
    """Every metric at every point of a run, with its interval."""

    level: Annotated[float, described("confidence level of all intervals")]
    cautions: Annotated[list[str], described("cautions of the whole run")]
    metrics: Annotated[dict[str, Meaning], described("what the metrics are")]
    points: Annotated[list[PointEntry], described("points, in the order of the plan")]


def _entry_of(point: Point) -> PointEntry:
    estimates = {metric.value: EstimateEntry.of(of) for metric, of in point.estimates.items()}
    where = (point.series, dict(point.point), point.engine)
    return PointEntry(*where, point.replications, point.failed, estimates)


def points_of(text: str) -> tuple[Point, ...]:
    """Read the text of `estimates.json` back."""
    return _from_lines(StringIO(text))


def _from_lines(lines: Iterable[str]) -> tuple[Point, ...]:
    """Read `estimates.json` line by line, which takes a tenth of the memory of reading it whole."""
    each = iter(lines)
    head = next(each, "").rstrip()
    json.loads(head + "]}")
    decoder = msgspec.json.Decoder(PointEntry)
    points: list[Point] = []
    for line in each:
        if line.rstrip() == "]}":
            return tuple(points)
        points.append(decoder.decode(line.rstrip().removesuffix(",")).read())
    raise ValueError("the last line is not ]}")


_LAST: dict[tuple[object, ...], tuple[Point, ...]] = {}
"""Points of the file that was written or read last: the claims and the report follow each other."""


def _version(path: Path) -> tuple[object, ...]:
    """Return what distinguishes the versions of a file."""
    found = path.stat()
    return path.resolve(), found.st_ino, found.st_mtime_ns, found.st_size


def _remember(version: tuple[object, ...], points: tuple[Point, ...]) -> tuple[Point, ...]:
    _LAST.clear()
    _LAST[version] = points
    return points


def compute(run_dir: Path) -> tuple[Point, ...]:
    """Estimate every point of a run."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    found: list[Point] = []
    for block in in_blocks(run.replications()):
        found += estimate(block, run)
    failed = run.failed()
    return tuple(_less_failed(found, run.trials(), failed) if failed else found)


def _less_failed(
    points: Iterable[Point], trials: Sequence[Trial], failed: Container[str]
) -> Iterator[Point]:
    """Yield the points with the number of their trials that failed, and the caution of it.

    In the order of the plan, of which `trials` are all.
    """
    groups, firsts, sizes = grouped(trials)
    is_failed = np.array([trial.id in failed for trial in trials])
    counts = np.bincount(groups, weights=is_failed).astype(np.int64).tolist()
    of_key = {_key(point): point for point in points}
    word = Caution.FAILED_TRIALS.value
    for first, size, count in zip(firsts, sizes, counts, strict=True):
        point = of_key[_key(trials[first])]
        if not count:
            yield point
            continue
        estimates = {
            metric: replace(each, cautions=tuple(sorted({*each.cautions, word})))
            for metric, each in point.estimates.items()
        }
        rest = {"replications": size - count, "failed": count}
        yield replace(point, estimates=Estimates(estimates), **rest)


def write(run_dir: Path) -> Path:
    """Estimate every point of a run; the path of the `estimates.json` it writes."""
    from ethermeter.store import RunDirectory

    points = compute(run_dir)
    path = RunDirectory(run_dir).keep(FILE, _texts(points))
    _remember(_version(path), points)
    return path


def read(run_dir: Path) -> tuple[Point, ...]:
    """Estimates of a run: from its unaltered `estimates.json`, computed otherwise.

    Raises
    ------
    InputError
        If the file is not what `write` left.
    """
    from ethermeter.store.integrity import is_altered

    path = run_dir / FILE
    if not path.exists() or is_altered(run_dir, FILE):
        return compute(run_dir)
    try:
        version = _version(path)
        if version not in _LAST:
            with path.open(encoding="utf-8") as lines:
                _remember(version, _from_lines(lines))
        return _LAST[version]
    except (ValueError, msgspec.DecodeError) as fault:
        raise damaged(path, fault, "an estimates file") from fault
