"""Query: what was found in trials, by series, point, metric and entity."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self, TypeVar, cast, get_args, overload

import numpy as np

from ethermeter.counts import Buckets, Floats, Integers
from ethermeter.entities import Entity, names_of
from ethermeter.faults import InputError, choices
from ethermeter.metrics import Masks, Metric
from ethermeter.metrics.main import metric_choices
from ethermeter.metrics.statistics import pooled
from ethermeter.results import estimates, frame
from ethermeter.results.estimates import Point
from ethermeter.results.frame import By, Library
from ethermeter.results.interval import Estimate
from ethermeter.results.slices import InMemory, Source
from ethermeter.results.trials import Trial, window_s
from ethermeter.results.values import OfEach, Whole, metrics_in, of_all, of_each, of_media
from ethermeter.scenario import Scenario
from ethermeter.store import RunDirectory
from ethermeter.store.columns import FLOWS, HISTOGRAMS, PORTS, STATIONS, TIMES, VALUES, time_of
from ethermeter.store.directory import PLAN
from ethermeter.store.gathered import Gathered
from ethermeter.store.integrity import PROVENANCE
from ethermeter.store.trial_result import Fact, TrialResult
from ethermeter.swept import Swept
from ethermeter.trial import SIMULATION

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ethermeter.results.frame import Frame

Where = Mapping[str, str]
"""A point of the experiment: text by varied key."""
T = TypeVar("T")
_ANYWHERE: Where = MappingProxyType({})


class MissingError(Exception):
    """The results do not hold what is asked for."""


@dataclass(frozen=True, eq=False)
class _Held:
    """Trials and where their results are, and what was computed of them so far."""

    trials: Sequence[Trial]
    source: Source
    run: RunDirectory | None = None
    given: Sequence[Point] | None = None
    each: dict[int, Mapping[Metric, OfEach]] = field(default_factory=dict)
    made: dict[str, object] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[tuple[str, str, frozenset[tuple[str, str]]], list[int]]:
        """Positions of the trials of every point by series, engine and point."""
        found: dict[tuple[str, str, frozenset[tuple[str, str]]], list[int]] = {}
        for at, trial in enumerate(self.trials):
            found.setdefault(_place(trial), []).append(at)
        return found

    @cached_property
    def whole(self) -> Whole:
        return of_all(self.source, self.trials)

    @cached_property
    def points(self) -> dict[tuple[str, str, frozenset[tuple[str, str]]], Point]:
        """Estimates of every point."""
        found = self.given
        if found is None and self.run is not None:
            found = estimates.read(self.run.path)
        elif found is None:
            found = estimates.estimate(self.trials, self.source)
        return {_place(point): point for point in found}

    def of_each(self, at: int) -> Mapping[Metric, OfEach]:
        """Values of single stations or flows of a trial, of which all trials are read at once."""
        if at not in self.each:
            engine = self.trials[at].engine
            alike = [row for row, trial in enumerate(self.trials) if trial.engine == engine]
            trials = [self.trials[row] for row in alike]
            there = set().union(*(metrics_in(trial) for trial in trials))
            found = of_each(self.source, trials, [metric for metric in Metric if metric in there])
            self.each.update(zip(alike, found, strict=True))
        return self.each[at]


@dataclass(frozen=True, eq=False)
class Results:
    """Results of trials, in memory or of a run directory: all of them, or those of a point.

    `engine` is whose points `at` finds, and `least` how many replications a point must have.
    """

    _held: _Held
    _rows: Sequence[int]
    engine: str = SIMULATION
    least: int = 1

    @classmethod
    def of(
        cls, trials: Sequence[Trial], source: Source, *, points: Sequence[Point] | None = None
    ) -> Self:
        """Return the results of trials; their estimates are computed if they are not given."""
        return cls(_Held(trials, source, given=points), range(len(trials)))

    @classmethod
    def of_trial(cls, trial: Trial, result: TrialResult) -> Self:
        """Return the results of one trial in memory."""
        return cls.of((trial,), InMemory({trial.id: result}))

    @classmethod
    def of_run(cls, path: Path) -> Self:
        """Return the results of a finished run, without the trials that failed."""
        held = _held(path, stamp_of(path))
        return cls(held, range(len(held.trials)))

    def by(self, engine: str, *, least: int = 1) -> Self:
        """Return the same results, of which `at` finds the points of an engine."""
        return replace(self, engine=engine, least=least)

    def trials(self) -> list[Trial]:
        """Return the trials, in the order of the plan."""
        return [self._held.trials[row] for row in self._rows]

    def at(self, series: str, where: Where = _ANYWHERE, *, engine: str = "") -> Self:
        """Return the results of the replications of a point.

        Raises MissingError if there are too few.
        """
        place = (series, engine or self.engine, frozenset(where.items()))
        rows = self._held.places.get(place, [])
        if len(rows) < self.least:
            few = f"fewer than {self.least} replications for" if self.least > 1 else "no trial of"
            raise MissingError(f"{few} {series}, {dict(where)}")
        return replace(self, _rows=rows, engine=place[1])

    def points(self, series: str | None = None, *, engine: str = "") -> Iterator[Self]:
        """Yield the results of every point of an engine, and of one series, in the plan's order."""
        for (name, of, _), rows in self._held.places.items():
            if of == (engine or self.engine) and series in (None, name):
                yield replace(self, _rows=rows, engine=of)

    def along(self, series: str, key: str, where: Where | None = _ANYWHERE) -> list[Swept]:
        """Return the values of `key` at points that are otherwise at `where`, in the plan's order.

        At all points where it is None.
        """
        found: dict[Swept, None] = {}
        for results in self.points(series):
            point = results.point
            text = point.pop(key, None)
            if text is not None and where in (None, point):
                found[text] = None
        return list(found)

    @property
    def _first(self) -> Trial:
        return self._held.trials[self._rows[0]]

    @property
    def series(self) -> str:
        """Series of the first trial."""
        return self._first.series

    @property
    def point(self) -> dict[str, Swept]:
        """Point of the first trial."""
        return {key: Swept(text) for key, text in self._first.point.items()}

    @property
    def scenario(self) -> Scenario:
        """Scenario of the first trial, as the engines read it."""
        return self._first.scenario

    @property
    def window_s(self) -> float:
        """Length of the measured window of the first trial, in s."""
        return window_s(self.scenario)

    @cached_property
    def entities(self) -> list[str]:
        """Names of the stations and of the flows of all trials, in their order."""
        return list(dict.fromkeys([*self.names("station"), *self.names("flow")]))

    def names(self, entity: Entity) -> list[str]:
        """Return the names of all media, stations or flows of the trials, in their order."""
        scenarios = {id(trial.scenario): trial.scenario for trial in self.trials()}
        names = (name for scenario in scenarios.values() for name in names_of(entity, scenario))
        return list(dict.fromkeys(names))

    @property
    def replications(self) -> int:
        """Number of the trials."""
        return len(self._rows)

    def values(self, metric: Metric | str, entity: str = "") -> Floats:
        """Return the values of a metric, of an entity by its name or of all; `(trials,)`.

        A metric of stations is of a station, or of all of a medium; one of flows is of a flow.

        Raises MissingError if the trials do not have the metric or the entity.
        """
        metric = self._asked(metric)
        whole, rows = self._held.whole, list(self._rows)
        of_entity = {metrics_in(trial).get(metric) for trial in self.trials()}
        has_all = metric in whole.metrics and whole.is_there[rows, whole.place(metric)].all()
        if None in of_entity or not (entity or has_all):
            raise MissingError(f"no {metric.value} of {entity or 'all'} in {self._text}")
        if not entity:
            return whole.values[rows, whole.place(metric)]
        kind: Entity = "flow" if "flow" in of_entity else "station"
        if kind == "station" and entity in (media := names_of("medium", self.scenario)):
            found = of_media(self._held.source, self.trials(), [metric])
            return np.array([of[metric].values[media.index(entity)] for of in found])
        number = self.number(entity, kind)
        return np.array([self._held.of_each(row)[metric].values[number] for row in rows])

    def value(self, metric: Metric | str, entity: str = "") -> float:
        """Return the mean of `values` over the trials."""
        return float(self.values(metric, entity).mean())

    def estimate(self, metric: Metric | str) -> Estimate:
        """Return the estimate of a metric of all stations or flows of a point, with its interval.

        Raises MissingError if the point does not have it.
        """
        asked = self._asked(metric)
        point = self._held.points.get(_place(self._first))
        if point is None or asked not in point.estimates:
            raise MissingError(f"no {asked.value} in {self._text}")
        return point.estimates[asked]

    def _asked(self, metric: Metric | str) -> Metric:
        return metric if isinstance(metric, Metric) else self.known(metric)

    def number(self, name: str, entity: Entity) -> int:
        """Return the number of a medium, station or flow of the first trial by its name.

        Raises MissingError if there is none.
        """
        names = names_of(entity, self.scenario)
        if name not in names:
            raise MissingError(f"no {name} in {self._text}")
        return names.index(name)

    @overload
    def frame(
        self,
        *metrics: Metric | str,
        by: By = ...,
        series: str | None = ...,
        library: Literal["pandas"] = ...,
    ) -> "pd.DataFrame": ...
    @overload
    def frame(
        self,
        *metrics: Metric | str,
        by: By = ...,
        series: str | None = ...,
        library: Literal["polars"],
    ) -> "pl.DataFrame": ...
    @overload
    def frame(
        self,
        *metrics: Metric | str,
        by: By = ...,
        series: str | None = ...,
        library: Literal["arrow"],
    ) -> "pa.Table": ...
    def frame(
        self,
        *metrics: Metric | str,
        by: By = "point",
        series: str | None = None,
        library: Library = "pandas",
    ) -> "Frame":
        """Return values as a data frame.

        Parameters
        ----------
        *metrics
            Only these; all if none is given.
        by
            What a row is of: "point" for the estimate of each point with its 95% interval, "trial"
            for the value of each trial over all stations or flows, "medium" for that over the
            stations of each medium in each trial, or "entity" for the value of each station or flow
            in each trial.
        series
            Only this one; None for all.
        library
            "pandas" (`pip install 'ethermeter[pandas]'`), "polars" or "arrow".

        Returns
        -------
        :
            Columns: series · engine · what the experiment varies (a column each, as numbers in the
            base unit where all values are quantities). By point: replications · metric · value ·
            low · high (missing where there is no interval) · unit · cautions. By trial and others:
            replication · trial · entity (its name) · metric · value · unit · cautions. The units of
            varied keys are in `attrs["units"]`, or in the metadata of the fields of Arrow.

        Raises
        ------
        InputError
            If no trial has such a metric, or there is no such series or library.

        Examples
        --------
        >>> results.frame("utilisation", "loss")  # doctest: +SKIP
        >>> results.frame("one_way_delay", by="entity", library="polars")  # doctest: +SKIP

        """
        chosen = self if series is None else self._of_series(series)
        wanted = [chosen.known(metric) for metric in metrics] or None
        if by == "point":
            places = set(map(_place, chosen.trials()))
            points = [point for at, point in self._held.points.items() if at in places]
            return frame.converted(frame.of_points(points, wanted), library)
        if by not in get_args(By):
            raise InputError.of("frame", "by", by, choices(by, get_args(By)))
        table = frame.of_values(self._held.source, chosen.trials(), wanted, by=by)
        return frame.converted(table, library)

    @overload
    def ports(
        self,
        *,
        library: Literal["pandas"] = ...,
    ) -> "pd.DataFrame": ...
    @overload
    def ports(
        self,
        *,
        library: Literal["polars"],
    ) -> "pl.DataFrame": ...
    @overload
    def ports(
        self,
        *,
        library: Literal["arrow"],
    ) -> "pa.Table": ...
    def ports(self, *, library: Library = "pandas") -> "Frame":
        """Return what was counted at the ports of networks, a row a port.

        Columns as of `frame` by trial, then port · node (that sends there) · peer (that receives)
        and the counts.

        Raises
        ------
        InputError
            If no trial has ports, or there is no such library.

        """
        return self._counts(PORTS, "a run of a network", library)

    @overload
    def histograms(
        self,
        *,
        library: Literal["pandas"] = ...,
    ) -> "pd.DataFrame": ...
    @overload
    def histograms(
        self,
        *,
        library: Literal["polars"],
    ) -> "pl.DataFrame": ...
    @overload
    def histograms(
        self,
        *,
        library: Literal["arrow"],
    ) -> "pa.Table": ...
    def histograms(self, *, library: Library = "pandas") -> "Frame":
        """Return histograms of times, a row a bucket, from `low_ps` to below `high_ps`.

        Columns as of `frame` by trial, then time · entity (flow, medium or responder) · low_ps ·
        high_ps · count.

        Raises
        ------
        InputError
            If no trial has one, as of theories, or there is no such library.

        """
        return self._counts(HISTOGRAMS, "a run of an engine", library)

    def _counts(self, name: str, allowed: str, library: Library) -> "Frame":
        table = frame.of_counts(self._held.source, self.trials(), name)
        if not len(table):
            raise InputError.of(self._name, name, "none", allowed)
        return frame.converted(table, library)

    def _of_series(self, series: str) -> Self:
        rows = [row for row in self._rows if self._held.trials[row].series == series]
        if not rows:
            known = dict.fromkeys(trial.series for trial in self.trials())
            raise InputError.of(self._name, "series", series, choices(series, known))
        return replace(self, _rows=rows)

    def known(self, metric: Metric | str) -> Metric:
        """Return a metric by its name.

        Raises
        ------
        InputError
            If no trial has it.

        """
        there = dict.fromkeys(of for trial in self.trials() for of in metrics_in(trial))
        if metric not in there:
            raise InputError.of(self._name, "metric", str(metric), metric_choices(metric, there))
        return Metric(metric)

    @property
    def _name(self) -> str:
        return str(self._held.run.path) if self._held.run is not None else "results"

    @property
    def _text(self) -> str:
        return f"{self.series}, {self.engine}, {dict(self._first.point)}"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that any of the trials has, in the order of their list."""
        whole = self._held.whole
        there = np.flatnonzero(whole.is_there[list(self._rows)].any(axis=0))
        return tuple(whole.metrics[at] for at in there.tolist())

    @property
    def estimated(self) -> tuple[Point, ...]:
        """Every point of all trials with its estimates, in the order of the plan."""
        return tuple(self._held.points.values())

    @property
    def directory(self) -> RunDirectory:
        """The run directory, of results that are not in memory."""
        assert self._held.run is not None, "a run directory"
        return self._held.run

    @property
    def provenance(self) -> Mapping[str, object]:
        """Provenance of the run; empty of results in memory."""
        return {} if self._held.run is None else self._held.run.provenance()

    def all(self, metric: Metric, trial: int = 0) -> float:
        """Return the value of all stations or flows of a trial together; NaN without one."""
        whole, row = self._held.whole, self._rows[trial]
        has_metric = metric in whole.metrics
        return float(whole.values[row, whole.place(metric)]) if has_metric else float("nan")

    def all_cautions(self, metric: Metric, trial: int = 0) -> np.uint64:
        """Return the mask of the cautions of that value."""
        whole = self._held.whole
        mask: np.uint64 = whole.cautions[self._rows[trial], whole.place(metric)]
        return mask

    def each(self, metric: Metric, trial: int = 0) -> Floats:
        """Return the values of single stations or flows, in the order of the scenario."""
        return self._each(metric, trial).values

    def each_cautions(self, metric: Metric, trial: int = 0) -> Masks:
        """Return the masks of the cautions of these values."""
        return self._each(metric, trial).cautions

    def _each(self, metric: Metric, trial: int) -> OfEach:
        found = self._held.of_each(self._rows[trial])
        if metric not in found:
            raise MissingError(f"no {Metric(metric).value} of single ones in {self._text}")
        return found[metric]

    def gathered(self, name: str, trials: Sequence[str]) -> Gathered:
        """Return a table of some trials by their ids."""
        return self._held.source.gathered(name, trials)

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Yield what theories say besides values, with the id of the trial."""
        ids = {trial.id for trial in self.trials()}
        return ((trial, fact) for trial, fact in self._held.source.facts() if trial in ids)

    def failures(self) -> dict[str, str]:
        """Return why theories failed, by the ids of the trials."""
        return {trial: fact.reason or "" for trial, fact in self.facts() if fact.about == "engine"}

    def once(self, name: str, make: Callable[[Self], T]) -> T:
        """Return what several ask for of all trials, which is made for the first of them."""
        if len(self._rows) < len(self._held.trials):
            return make(self)
        if name not in self._held.made:
            self._held.made[name] = make(self)
        return cast(T, self._held.made[name])

    @property
    def is_kept(self) -> bool:
        """Whether the results are those of a run directory."""
        return self._held.run is not None

    def is_known(self, trial: int = 0) -> bool:
        """Whether anything is known of a trial; of one that failed nothing is."""
        ids = [self.trials()[trial].id]
        source = self._held.source
        return any(source.gathered(name, ids).rows[0] for name in (STATIONS, FLOWS, VALUES))

    def columns(self, table: str) -> dict[str, Floats | Integers]:
        """Return a table of counts of the trials, by the names of its columns; empty without it."""
        ids = [trial.id for trial in self.trials()]
        gathered = self._held.source.gathered(table, ids)
        return gathered.each(np.arange(len(ids)))[1] if gathered.rows.any() else {}

    def histogram(self, time: str, entity: str) -> Buckets:
        """Return the histogram of a time of a flow, a medium or a responder over all trials.

        A responder has the name of its flow and that of its host: "ping server2".

        Raises MissingError if the trials have none.
        """
        names = names_of(time_of(time, self.scenario), self.scenario)
        is_there = time in TIMES and entity in names
        buckets = self.buckets(time, [names.index(entity)]) if is_there else None
        if buckets is None or not buckets.count.size:
            raise MissingError(f"no histogram of {time} of {entity} in {self._text}")
        return buckets

    def buckets(self, time: str, entities: Sequence[int] | None = None) -> Buckets:
        """Return the histogram of a time over some flows together; of all, or a medium, if None.

        Over all trials.
        """
        columns = self.columns(HISTOGRAMS)
        if not columns:
            return Buckets(*(np.empty(0, np.int64) for _ in range(4)))
        rows = columns["time"] == list(TIMES).index(time)
        if entities is not None:
            rows &= np.isin(columns["entity"], entities)
        names = ("entity", "low_ps", "high_ps", "count")
        return pooled(Buckets(*(columns[name][rows].astype(np.int64) for name in names)))


def stamp_of(path: Path) -> tuple[object, ...]:
    """Return what changes if a run directory is written anew."""
    names = (PLAN, PROVENANCE, estimates.FILE)
    found = [file.stat() for name in names if (file := path / name).exists()]
    return tuple((of.st_ino, of.st_mtime_ns, of.st_size) for of in found)


@lru_cache(maxsize=1)
def _held(path: Path, stamp: tuple[object, ...]) -> _Held:
    """Read a run once for its claims, its report and the terminal, which follow each other."""
    del stamp
    run = RunDirectory(path)
    return _Held(run.replications(), run, run)


def _place(of: Trial | Point) -> tuple[str, str, frozenset[tuple[str, str]]]:
    return of.series, of.engine, frozenset(of.point.items())
