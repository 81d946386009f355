"""Positions: where stations are along a segment that is a line, and what they get there.

A place's value is the mean over its stations; intervals follow the rule of
`ethermeter.results.estimates`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from ethermeter.analysis import groups
from ethermeter.entities import medium_of, points_of
from ethermeter.json_values import damaged, described
from ethermeter.metrics import Metric
from ethermeter.results.estimates import (
    EstimateEntry,
    Meaning,
    Point,
    entries,
    meanings,
)
from ethermeter.results.interval import LEVEL, Estimate
from ethermeter.results.slices import Source
from ethermeter.results.trials import PS_PER_S, Trial
from ethermeter.scenario import Scenario

FILE = "positions.json"
METRICS = (
    *(Metric.BIT_RATE, Metric.TRANSMISSION_DELAY, Metric.RESPONSE_TIME, Metric.LOSS),
    Metric.COLLISIONS_PER_FRAME,
)
"""What is estimated for a place; those that the observations have."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the segment: its number, position, stations and the estimates of their mean.

    The position is in s from the first end.
    """

    place: int
    position_s: float
    stations: int
    estimates: Mapping[Metric, Estimate]


@dataclass(frozen=True, slots=True)
class Line:
    """One point of the experiment, with the places that have stations, along the line."""

    series: str
    point: Mapping[str, str]
    engine: str
    replications: int
    places: tuple[Place, ...]


def along_a_line(delay_ps: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Find how far along a line every place is, from the one-way delays between them; all in ps.

    Two places of one cable are their distance and two taps apart. The diagonal is the delay between
    two stations of one place, 0 where there are not two. Of the two ends, the one with the lower
    number is at 0; positions are without taps. None where the delays are not those of a line, or
    have no extent. Three places are always on some line, whatever joins them.

    Examples
    --------
    >>> along_a_line([[0, 600, 1100], [600, 0, 700], [1100, 700, 0]])
    (0, 400, 900)
    >>> along_a_line([[0, 5, 5, 5], [5, 0, 5, 5], [5, 5, 0, 5], [5, 5, 5, 0]]) is None
    True
    """
    size = len(delay_ps)
    if size < 2 or any(len(row) != size for row in delay_ps):
        return None
    delays = np.asarray(delay_ps, dtype=np.int64)
    first, last = divmod(int(np.argmax(np.triu(delays, 1))), size)
    known = np.diagonal(delays)[np.diagonal(delays) > 0]
    inner = [place for place in range(size) if place not in (first, last)]
    if known.size:
        taps_ps = int(known[0])
    elif inner:
        taps_ps = int(delays[first, inner[0]] + delays[inner[0], last] - delays[first, last])
    else:
        taps_ps = 0
    along = delays[first] - taps_ps
    along[first] = 0
    expected = np.abs(along[:, None] - along[None, :]) + taps_ps
    is_between = ~np.eye(size, dtype=bool)
    is_line = (delays == expected)[is_between].all() and np.isin(known, taps_ps).all()
    return tuple(along.tolist()) if is_line and along.max() > 0 else None


def occupied(scenario: Scenario) -> dict[int, int] | None:
    """Positions in ps of two or more places with stations; None unless they are along a line."""
    used = sorted(set(points_of(scenario)))
    delay_ps = medium_of(scenario).delay_ps
    if len(used) < 2 or used[-1] >= len(delay_ps):
        return None
    along = along_a_line(delay_ps)
    return {place: along[place] for place in used} if along is not None else None


def estimate(trials: Sequence[Trial], source: Source) -> tuple[Line, ...]:
    """Estimate the metrics at every place of every point whose stations are along a line."""
    found: dict[object, dict[int, int] | None] = {}

    def positions(scenario: Scenario) -> dict[int, int] | None:
        key = (medium_of(scenario).delay_ps, *points_of(scenario))
        if key not in found:
            found[key] = occupied(scenario)
        return found[key]

    lined = [trial for trial in trials if positions(trial.scenario)]
    if not lined:
        return ()
    scenarios: dict[tuple[object, ...], Scenario] = {}
    for trial in lined:
        scenarios.setdefault(_key(trial.series, trial.engine, trial.point), trial.scenario)
    lines: dict[tuple[object, ...], tuple[Point, list[Place]]] = {}
    for point in groups.estimate(lined, source, _by_place, metrics=METRICS):
        varied = {key: value for key, value in point.point.items() if key != groups.PART}
        key = _key(point.series, point.engine, varied)
        place = int(point.point[groups.PART])
        position_ps = (positions(scenarios[key]) or {})[place]
        known = {
            metric: value for metric, value in point.estimates.items() if math.isfinite(value.value)
        }
        stations = _by_place(scenarios[key])[str(place)].size
        lines.setdefault(key, (point, []))[1].append(
            Place(place, position_ps / PS_PER_S, stations, known)
        )
    return tuple(
        Line(
            point.series,
            {key: value for key, value in point.point.items() if key != groups.PART},
            point.engine,
            point.replications,
            tuple(sorted(places, key=lambda place: place.position_s)),
        )
        for point, places in lines.values()
    )


def _by_place(scenario: Scenario) -> groups.Parts:
    """Divide the stations by their place, in any group; names are the numbers of the places."""
    places = np.array(points_of(scenario), dtype=np.int64)
    return {str(place): np.nonzero(places == place)[0] for place in np.unique(places).tolist()}


def _key(series: str, engine: str, point: Mapping[str, str]) -> tuple[object, ...]:
    return (series, engine, *sorted(point.items()))


def text_of(lines: Sequence[Line]) -> str:
    """Text of `positions.json`: one point a line; undefined values are left out."""
    used = [
        metric
        for metric in METRICS
        if any(metric in place.estimates for line in lines for place in line.places)
    ]
    head = {"level": LEVEL, "metrics": meanings(used)}
    return "".join(entries(head, "lines", map(LineEntry.of, lines)))


class PlaceEntry(msgspec.Struct):
    """A position with stations."""

    place: Annotated[int, described("number of the position, from one end of the cable")]
    position_s: Annotated[float, described("propagation time from that end, in s")]
    stations: Annotated[int, described("stations at the position")]
    estimates: Annotated[dict[str, EstimateEntry], described("means over them, by metric")]

    @classmethod
    def of(cls, place: Place) -> "PlaceEntry":
        """Return the entry of a place."""
        estimates = {name.value: EstimateEntry.of(each) for name, each in place.estimates.items()}
        return cls(place.place, place.position_s, place.stations, estimates)

    def read(self) -> Place:
        """Return the place."""
        estimates = {Metric(name): entry.read() for name, entry in self.estimates.items()}
        return Place(self.place, self.position_s, self.stations, estimates)


class LineEntry(msgspec.Struct):
    """A point of an experiment whose stations are along a cable."""

    series: Annotated[str, described("series of the experiment")]
    point: Annotated[dict[str, str], described("varied keys with their values, as text")]
    engine: Annotated[str, described("the engine")]
    replications: Annotated[int, described("trials behind the estimates")]
    places: Annotated[list[PlaceEntry], described("positions, in their order")]

    @classmethod
    def of(cls, line: Line) -> "LineEntry":
        """Return the entry of a line."""
        places = list(map(PlaceEntry.of, line.places))
        return cls(line.series, dict(line.point), line.engine, line.replications, places)

    def read(self) -> Line:
        """Return the line."""
        places = tuple(place.read() for place in self.places)
        return Line(self.series, self.point, self.engine, self.replications, places)


class PositionsFile(msgspec.Struct):
    """Results by position along a cable."""

    level: Annotated[float, described("confidence level of all intervals")]
    metrics: Annotated[dict[str, Meaning], described("what the metrics are")]
    lines: Annotated[list[LineEntry], described("points, in the order of the plan")]


def lines_of(text: str) -> tuple[Line, ...]:
    """Read the text of `positions.json` back."""
    return tuple(line.read() for line in msgspec.json.decode(text, type=PositionsFile).lines)


def compute(run_dir: Path) -> tuple[Line, ...]:
    """Estimate every place of a run."""
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    return estimate(run.replications(), run)


def write(run_dir: Path) -> Path:
    """Estimate every place of a run; the path of the `positions.json` it writes."""
    from ethermeter.store import RunDirectory

    return RunDirectory(run_dir).keep(FILE, text_of(compute(run_dir)))


def read(run_dir: Path) -> tuple[Line, ...]:
    """Read the places of a run from its `positions.json`; none if it has no such file.

    Raises `InputError` if the file is not what `write` left.
    """
    path = run_dir / FILE
    if not path.exists():
        return ()
    try:
        return lines_of(path.read_text(encoding="utf-8"))
    except (ValueError, msgspec.DecodeError) as fault:
        raise damaged(path, fault, "a positions file") from fault
