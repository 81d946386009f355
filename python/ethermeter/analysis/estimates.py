"""Estimates: every point of every curve with its 95% interval.

The rule
--------
Trials with the same series, point and engine are replications. A value is the mean over them.

- With three replications or more, the interval is Student's t over the replications (Law and
  Kelton, Simulation Modeling and Analysis, section 9.4.1): nothing is assumed about what happens
  within a trial.
- With one or two, the standard error within each replication comes from batches of the measured
  window, by the rule of `ethermeter.analysis.batches`; degrees of freedom: batches - 1 for each. A
  run with such estimates carries the caution `one-replication`, once. The interval exists for the
  metrics whose formula needs only what is counted by batch: of segments the eight graphs,
  utilisation, frames and Jain's index; of networks rates, loss, means of times and counts within
  the measured window. The others (percentiles, extremes, counts of attempts, counts
  over the whole trial, voice, clocks) have no interval then: null, rather than one that was not
  measured. Neither has what hosts that measure do not count by batch
  (`ethermeter.engines.live.counts`).
- Trials that failed are no replications: nothing is known of them. A point with some carries the
  caution `failed-trials`.
- What could have happened and was not seen in any replication has an upper limit in place of an
  interval without width (`ethermeter.analysis.unseen`).
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
from typing import TypeVar

import msgspec
import numpy as np

from ethermeter.analysis import unseen
from ethermeter.analysis.batches import FEWEST, Within, ends, unknown
from ethermeter.analysis.batches import within as within_batches
from ethermeter.analysis.interval import LEVEL, Estimate, Floats
from ethermeter.analysis.tables import Integers, Trial
from ethermeter.json_values import damaged, finite, number
from ethermeter.metrics import Caution, Metric, caution_text
from ethermeter.metrics.evaluation import of_all_parts
from ethermeter.results.slices import Source, batch_slices
from ethermeter.results.values import Whole, of_all
from ethermeter.scenario import Scenario
from ethermeter.station_groups import entities_in

FILE = "estimates.json"
ENOUGH_REPLICATIONS = 3
MOST_AT_ONCE = 4096
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
                (at, of_all_parts(group, of.left_out()))
                for group, at, of in batch_slices(source, trials)
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
    points = []
    for group, first in enumerate(firsts):
        example = trials[first]
        formula = example.engine.startswith("theory/")
        estimates = {}
        for position, metric in enumerate(whole.metrics):
            if not whole.is_there[first, position]:
                continue
            found = columns[position][group]
            words = caution_text(int(masks[group, position])).split()
            if formula:
                # A mean by a formula has no sampling error; a bound estimates nothing.
                is_bound = Caution.UPPER_BOUND in words
                error = math.nan if is_bound else 0.0
                found = Estimate(found.value, error, math.nan if is_bound else FORMULA_DEGREES)
            if unseen.is_unseen(metric, found.value, example.engine):
                members = np.flatnonzero(groups == group)
                exposed = _exposure(metric, whole, members, example.scenario)
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


def _exposure(metric: Metric, whole: Whole, members: Integers, scenario: Scenario) -> float:
    """Sum over trials of a point of what `ethermeter.analysis.unseen` needs."""
    counted = {
        name: whole.values[members, whole.metrics.index(name)]
        for name in unseen.BEHIND
        if name in whole.metrics
    }
    return float(unseen.exposure(metric, counted, scenario).sum()) if counted else math.nan


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
        for metric, values in left.items():
            if values.shape[1] > 1:
                errors.setdefault(metric, unknown(trials)).put(positions, within_batches(values))
    return errors


def to_json(points: Sequence[Point]) -> str:
    """Text of `estimates.json`: one point a line; an undefined number is null."""
    return "".join(_texts(points))


def _texts(points: Sequence[Point]) -> Iterator[str]:
    """Yield the text of `estimates.json` in parts: that of a large run has tens of megabytes."""
    used = [metric for metric in Metric if any(metric in point.estimates for point in points)]
    # Some names are of segments as of flows; they mean what they mean of the points that there are.
    only_flows = all(Metric.MESSAGE_RATE in point.estimates for point in points)
    head = {
        "level": LEVEL,
        "cautions": run_cautions(points),
        "metrics": meanings(used, of_flows=only_flows),
    }
    yield from entries(head, "points", map(_point_json, points))


def meanings(metrics: Iterable[Metric], *, of_flows: bool = False) -> dict[str, dict[str, str]]:
    """Return units and meanings of metrics, as the files of a run have them."""
    return {
        metric.value: {"unit": metric.unit, "meaning": metric.meaning(of_flows=of_flows)}
        for metric in metrics
    }


def entries(head: Mapping[str, object], name: str, rows: Iterable[object]) -> Iterator[str]:
    """Yield the text of a file of a run: a head in one line, and one row a line."""
    yield json.dumps(head, ensure_ascii=False).removesuffix("}")
    yield f', "{name}": [\n' if head else f'"{name}": [\n'
    for at, row in enumerate(rows):
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        yield (",\n" if at else "") + text
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


def estimate_json(found: Estimate) -> dict[str, object]:
    """One estimate as the files of a run have it; an undefined number is null."""
    names = ("value", "low", "high", "error", "degrees")
    cautions = {"cautions": found.cautions} if found.cautions else {}
    return {**{name: finite(getattr(found, name)) for name in names}, **cautions}


def estimates_json(found: Mapping[Metric, Estimate]) -> dict[str, object]:
    """Return estimates by the names of their metrics, as the files of a run have them."""
    return {metric.value: estimate_json(each) for metric, each in found.items()}


class EstimateEntry(msgspec.Struct):
    """An estimate in the files of a run."""

    value: float | None
    low: float | None
    high: float | None
    error: float | None
    degrees: float | None
    cautions: tuple[str, ...] = ()

    def read(self) -> Estimate:
        """Return the estimate."""
        numbers = (number(self.value), number(self.error), number(self.degrees))
        found = Estimate(*numbers, self.cautions)
        ends = (number(self.low), number(self.high))
        # Ends that are not those of Student's t belong to an interval that is not symmetrical.
        is_skewed = all(map(math.isfinite, ends)) and ends != (found.low, found.high)
        return replace(found, ends=ends) if is_skewed else found


class _PointEntry(msgspec.Struct):
    series: str
    point: dict[str, str]
    engine: str
    replications: int
    estimates: dict[str, EstimateEntry]
    failed: int = 0

    def read(self) -> Point:
        estimates = Estimates({Metric(name): of.read() for name, of in self.estimates.items()})
        where = (self.series, self.point, self.engine)
        return Point(*where, self.replications, estimates, self.failed)


def _point_json(point: Point) -> dict[str, object]:
    return {
        "series": point.series,
        "point": point.point,
        "engine": point.engine,
        "replications": point.replications,
        **({"failed": point.failed} if point.failed else {}),
        "estimates": estimates_json(point.estimates),
    }


def from_json(text: str) -> tuple[Point, ...]:
    """Read the text of `estimates.json` back."""
    return _from_lines(StringIO(text))


def _from_lines(lines: Iterable[str]) -> tuple[Point, ...]:
    """Read `estimates.json` line by line, which takes a tenth of the memory of reading it whole."""
    each = iter(lines)
    head = next(each, "").rstrip()
    json.loads(head + "]}")
    decoder = msgspec.json.Decoder(_PointEntry)
    points: list[Point] = []
    for line in each:
        if line.rstrip() == "]}":
            return tuple(points)
        points.append(decoder.decode(line.rstrip().removesuffix(",")).read())
    raise ValueError("the last line is not ]}")


@functools.lru_cache(maxsize=1)
def _read(path: Path, stamp: tuple[int, int, int]) -> tuple[Point, ...]:
    """Read a file once for the claims and the report, which follow each other.

    `stamp` distinguishes its versions.
    """
    del stamp
    with path.open(encoding="utf-8") as lines:
        return _from_lines(lines)


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

    return RunDirectory(run_dir).keep(FILE, _texts(compute(run_dir)))


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
        found = path.stat()
        return _read(path.resolve(), (found.st_ino, found.st_mtime_ns, found.st_size))
    except (ValueError, msgspec.DecodeError) as fault:
        raise damaged(path, fault, "an estimates file") from fault
