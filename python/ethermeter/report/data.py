"""Data: what the report shows of a run, gathered from its files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ethermeter.analysis import (
    accounts,
    agreement,
    benchmark,
    bounds,
    capacity,
    claims,
    flows,
    groups,
    live,
    media,
    ports,
    positions,
)
from ethermeter.analysis.accounts import Account
from ethermeter.analysis.agreement import Agreement
from ethermeter.analysis.bottleneck import BottleneckAnswer
from ethermeter.analysis.bounds import Answers
from ethermeter.analysis.call_search import CallsAnswer
from ethermeter.analysis.capacity import Capacity
from ethermeter.analysis.claims import Claim
from ethermeter.analysis.distribution import Distribution, distribution
from ethermeter.analysis.flows import Sharing
from ethermeter.analysis.lengths import OfLengths, of_lengths
from ethermeter.analysis.ports import PortPoint
from ethermeter.analysis.positions import Line
from ethermeter.analysis.roofline import Roofline, of_scenario
from ethermeter.analysis.time_flow import MOST, TimeFlow, time_flows
from ethermeter.analysis.value_search import SearchAnswer
from ethermeter.document import plain
from ethermeter.entities import senders
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.report.experiments import Experiment, experiments
from ethermeter.report.labels import key_title
from ethermeter.report.selection import KINDS, Kind, Selection, select
from ethermeter.report.thinning import MOST_ROWS, spread
from ethermeter.results.estimates import Point
from ethermeter.results.query import Results
from ethermeter.results.trials import Trial, point_of
from ethermeter.scenario import Scenario
from ethermeter.store import captures
from ethermeter.store.measured import read_result
from ethermeter.store.result import Result
from ethermeter.trial import LIVE, SIMULATION

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory

ANSWERS: Mapping[str, type] = {
    "benchmark": benchmark.BenchmarkAnswer,
    "bottleneck": BottleneckAnswer,
    "calls": CallsAnswer,
    "search": SearchAnswer,
}
"""Answers by their strategies."""
MOST_POINTS = 60
"""Points of a run up to which its stations are looked at place by place."""
MOST_PLACES = 8
"""Places that have values of their own; with more, stations are spread over the segment rather than
clustered.
"""


@dataclass(frozen=True, slots=True)
class Search:
    """The question and the answer of a strategy, and the trials it proposed.

    The answer is typed if its strategy is one of `ANSWERS`, else as JSON has it.
    """

    question: object
    answer: object
    trials: "Sequence[Trial]"


@dataclass(frozen=True, eq=False)
class ReportData:
    """What the report shows of a run: its results, and what follows from them if a section asks.

    `presentation` is that of the study.
    """

    results: Results
    presentation: Presentation

    @classmethod
    def of_run(cls, path: Path, presentation: Presentation) -> "ReportData":
        """Return what the report shows of a finished run.

        Raises
        ------
        InputError
            If the run has no trial, or a file of it is not what it should be.
        """
        data = cls(Results.of_run(path), presentation)
        if not data.points:
            raise InputError.of(str(path), "trials", "0", "a run with at least one trial")
        return data

    @cached_property
    def run(self) -> "RunDirectory":
        """The run directory."""
        return self.results.directory

    @property
    def name(self) -> str:
        """Name of the run directory."""
        return self.run.path.resolve().name

    @cached_property
    def points(self) -> Sequence[Point]:
        """Every point of the run with its estimates."""
        return self.results.estimated

    @cached_property
    def capacities(self) -> Sequence[Capacity]:
        """Offered load and capacity of each point of networks; none of a study or a search."""
        if self.study or self.search is not None:
            return ()
        return capacity.read(self.results)

    @cached_property
    def _claims(self) -> tuple[str, Sequence[Claim]]:
        return claims.read(self.run.path) or ("", ())

    @property
    def study(self) -> str:
        """Name of the study; empty of other runs."""
        return self._claims[0]

    @property
    def claims(self) -> Sequence[Claim]:
        """Claims of the study."""
        return self._claims[1]

    @cached_property
    def provenance(self) -> Mapping[str, object]:
        """Provenance of the run."""
        return self.run.provenance()

    @cached_property
    def experiments(self) -> Sequence[Experiment]:
        """Experiments as the run keeps them."""
        return experiments(self.run.path)

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        """Scenario of each series, with the most stations."""
        return {name: trial.scenario for name, trial in self._largest.items()}

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Titles of the series."""
        by_name = {experiment.name: experiment.title for experiment in self.experiments}
        only = self.experiments[0].title if len(self.experiments) == 1 else ""
        # A trial's id begins with the name of the experiment it comes from.
        return {
            series: by_name.get(trial.id.split("/")[0], only)
            for series, trial in self._largest.items()
        }

    @cached_property
    def _largest(self) -> Mapping[str, Trial]:
        found: dict[str, Trial] = {}
        for trial in self.results.trials():
            if trial.series not in found or _stations(trial.scenario) > _stations(
                found[trial.series].scenario
            ):
                found[trial.series] = trial
        return found

    @cached_property
    def search(self) -> Search | None:
        """Question and answer of a strategy."""
        return _search(self.run)

    @cached_property
    def _drawn(self) -> Sequence[Trial]:
        # Trials of a benchmark are points of no curve: its page shows none of their flows and
        # ports.
        is_benchmark = self.search is not None and isinstance(
            self.search.answer, benchmark.BenchmarkAnswer
        )
        return () if is_benchmark else self.results.trials()

    @cached_property
    def _networks(self) -> Sequence[Trial]:
        return flows.of_networks(self._drawn)

    @cached_property
    def _shown_networks(self) -> Sequence[Trial]:
        return _of_some_points(self._networks)

    @cached_property
    def _real(self) -> Sequence[Trial]:
        # Theories have no stations of their own, and those of idealised worlds are in no place.
        return [
            trial for trial in self._drawn if trial.engine == SIMULATION and senders(trial.scenario)
        ]

    @cached_property
    def flows(self) -> Sequence[Point]:
        """Every flow of a network, or every table of flows where there are many."""
        return tuple(flows.each_flow(self.run, self._shown_networks))

    @cached_property
    def tables(self) -> Sequence[Point]:
        """Every table of flows, where there are several."""
        return tuple(flows.of_tables(self.run, self._shown_networks))

    @cached_property
    def media(self) -> Sequence[Point]:
        """Every shared medium among the links of a network."""
        simulated = [trial for trial in self._shown_networks if trial.engine == SIMULATION]
        with_media = [trial for trial in simulated if trial.scenario.media]
        return media.estimate(with_media, self.run) if with_media else ()

    @cached_property
    def lengths(self) -> Sequence[OfLengths]:
        """Lines of times against lengths."""
        return of_lengths(self.flows)

    @cached_property
    def sharing(self) -> Sequence[Sharing]:
        """How fairly flows share."""
        return tuple(flows.of_sharing(self.run, self._shown_networks))

    @cached_property
    def _is_live(self) -> bool:
        return any(trial.engine == LIVE for trial in self.results.trials())

    @cached_property
    def accounts(self) -> Sequence[Account]:
        """What agents reported beside the metrics."""
        return accounts.read(self.run.path) if self._is_live else ()

    @cached_property
    def ports(self) -> Sequence[PortPoint]:
        """Every port of a network."""
        return ports.estimate(self._shown_networks, self.run) if self._shown_networks else ()

    @property
    def links(self) -> Sequence[Scenario]:
        """The network of each of these."""
        return [self._shown_networks[point.first].scenario for point in self.ports]

    @cached_property
    def rooflines(self) -> Mapping[str, Roofline]:
        """Of every series of networks, the flow that comes nearest to a ceiling."""
        return _rooflines(self.flows, self._shown_networks)

    @cached_property
    def time_flows(self) -> Sequence[TimeFlow]:
        """Ways of a lone frame at the first point of each series, where nodes have stages."""
        first: dict[str, Scenario] = {}
        for trial in self._shown_networks:
            first.setdefault(trial.series, trial.scenario)
        found = [flow for scenario in first.values() for flow in time_flows(scenario)]
        return [flow for flow in found if len(flow.passages) > flow.wires][:MOST]

    @cached_property
    def _parts(self) -> tuple[Sequence[Point], Sequence[Point], Sequence[Point]]:
        # A study's hosts are alike; its graphs are what the paper shows.
        return ((), (), ()) if self.study else _parts(self.run, self._real)

    @property
    def groups(self) -> Sequence[Point]:
        """Every group of stations, where there are several."""
        return self._parts[0]

    @property
    def attachments(self) -> Sequence[Point]:
        """The stations at every attachment, where they are clustered."""
        return self._parts[1]

    @property
    def shares(self) -> Sequence[Point]:
        """Shares of the larger of two stations."""
        return self._parts[2]

    @cached_property
    def agreements(self) -> Sequence[Agreement]:
        """Every theory compared with the simulations."""
        return agreement.read(self.results)

    @cached_property
    def answers(self) -> Answers:
        """Theories of networks beside the other engines."""
        return _at_some_points(bounds.read(self.results))

    @cached_property
    def measured(self) -> Sequence[live.Comparison]:
        """What was measured against what was simulated."""
        return live.read(self.run.path) if self._is_live else ()

    @cached_property
    def pairs(self) -> Sequence[live.Pair]:
        """Simulated and measured values by table of flows."""
        return live.read_pairs(self.run.path) if self._is_live else ()

    @cached_property
    def captures(self) -> Sequence[captures.Captured]:
        """Frames captured meanwhile."""
        return captures.read(self.run.path)

    @cached_property
    def lines(self) -> Sequence[Line]:
        """The stations along the cable, where they are on one."""
        simulated = [point for point in self.points if point.engine == SIMULATION]
        return _lines(self.run, self._real, simulated, is_study=bool(self.study))

    @cached_property
    def distributions(self) -> Mapping[str, Sequence[tuple[Selection, Sequence[Distribution]]]]:
        """Distributions of delays, of each series."""
        measured = [
            trial for trial in self._drawn if trial.engine == LIVE and senders(trial.scenario)
        ]
        points = [
            point for point in self.points if self._drawn and point.engine in (SIMULATION, LIVE)
        ]
        return _distributions(
            self.run,
            [*self._real, *measured, *self._networks],
            points,
            study=self.presentation if self.study else None,
        )

    def result(self, trial: str) -> Result:
        """Read the result of a trial's test: too much to be kept of all."""
        return read_result(self.run.path, trial)


def _search(run: "RunDirectory") -> Search | None:
    """Read question and answer of a strategy; None of a run without one."""
    if not run.is_search():
        return None
    try:
        question = json.loads(run.question())
        strategy = question.get("strategy") if isinstance(question, dict) else None
        answer: object = msgspec.json.decode(run.answer(), type=ANSWERS.get(str(strategy), object))
    except (ValueError, RecursionError) as error:
        raise InputError.of(
            str(run.path), "answer", type(error).__name__, "expected question and answer"
        ) from error
    return Search(question, answer, run.trials())


def _rooflines(by_flow: Sequence[Point], trials: "Sequence[Trial]") -> dict[str, Roofline]:
    """Find for every series the flow and point that come nearest to a ceiling.

    Measured points go before simulated ones.
    """
    scenarios = {
        (trial.series, trial.engine, frozenset(trial.point.items())): trial.scenario
        for trial in trials
    }
    found: dict[str, tuple[tuple[bool, float], Roofline]] = {}
    for point in by_flow:
        place = {key: value for key, value in point.point.items() if key != groups.PART}
        scenario = scenarios[point.series, point.engine, frozenset(place.items())]
        number, *others = groups.by_flow(scenario).get(point.point[groups.PART], (0, 0))
        goodput = point.estimates[Metric.GOODPUT]
        if others or scenario.flows[number].transfer is not None or not goodput.value > 0:
            continue
        where = ", ".join(
            (point.engine, *(f"{key_title(key)}: {plain(value)}" for key, value in place.items()))
        )
        line = of_scenario(scenario, int(number), goodput, place=where)
        if line.margin is not None:
            rank = (point.engine == "live", -line.margin)
            if point.series not in found or rank > found[point.series][0]:
                found[point.series] = (rank, line)
    return {series: line for series, (_, line) in found.items()}


def _stations(scenario: Scenario) -> int:
    return sum(node.count for node in scenario.nodes)


def _parts(
    run: "RunDirectory", trials: "Sequence[Trial]"
) -> tuple[Sequence[Point], Sequence[Point], Sequence[Point]]:
    """Estimates by group, by attachment, and shares of two stations; each empty if trivial."""
    several = _of_some_points([trial for trial in trials if len(senders(trial.scenario)) > 1])
    clustered = _of_some_points(
        [
            trial
            for trial in trials
            if any(_is_clustered(group.stations.points) for group in senders(trial.scenario))
        ]
    )
    pairs = _of_some_points([trial for trial in trials if _stations(trial.scenario) == 2])
    return (
        groups.estimate(several, run, groups.by_group) if several else (),
        groups.estimate(clustered, run, groups.by_place) if clustered else (),
        groups.larger_shares(pairs, run) if pairs else (),
    )


def _of_some_points(trials: "Sequence[Trial]") -> "list[Trial]":
    """Trials of no more points than a table of the page has rows, at even distances."""
    chosen = set(
        spread(
            list(dict.fromkeys(_key(trial.series, trial.engine, trial.point) for trial in trials)),
            MOST_ROWS,
        )
    )
    return [trial for trial in trials if _key(trial.series, trial.engine, trial.point) in chosen]


def _at_some_points(answers: Answers) -> Answers:
    """Return what theory says at no more points than figures show, at even distances."""
    points = [*map(point_of, answers.times), *map(point_of, answers.buses)]
    chosen = set(spread(list(dict.fromkeys(points)), MOST_POINTS))
    return Answers(
        tuple(time for time in answers.times if point_of(time) in chosen),
        tuple(queue for queue in answers.queues if point_of(queue) in chosen),
        tuple(each for each in answers.saturations if point_of(each) in chosen),
        tuple(time for time in answers.buses if point_of(time) in chosen),
        tuple(time for time in answers.alike if point_of(time) in chosen),
    )


def _lines(
    run: "RunDirectory", trials: "Sequence[Trial]", points: Sequence[Point], *, is_study: bool
) -> Sequence[Line]:
    """Estimates along the cable.

    From their file, or of a run without a study if it is small enough for single attachments.
    """
    kept = positions.read(run.path)
    if kept or is_study or len(points) > MOST_POINTS:
        return kept
    return positions.estimate(trials, run) if trials else ()


def _is_clustered(places: Sequence[int]) -> bool:
    different = len(set(places))
    return 2 <= different <= MOST_PLACES and different < len(places)


def _distributions(
    run: "RunDirectory",
    trials: "Sequence[Trial]",
    points: Sequence[Point],
    *,
    study: Presentation | None,
) -> dict[str, list[tuple[Selection, list[Distribution]]]]:
    """Find the distributions of the delay that the figures of every series show."""
    ids: dict[tuple[object, ...], list[str]] = {}
    for trial in trials:
        ids.setdefault(_key(trial.series, trial.engine, trial.point), []).append(trial.id)
    of_series: dict[str, list[Point]] = {}
    for point in points:
        of_series.setdefault(point.series, []).append(point)
    found: dict[str, list[tuple[Selection, list[Distribution]]]] = {}
    for kind in KINDS:
        for series, shown in _of_kind(run, kind, of_series, ids, study=study):
            found.setdefault(series, []).append(shown)
    return found


def _of_kind(
    run: "RunDirectory",
    kind: Kind,
    of_series: Mapping[str, Sequence[Point]],
    ids: Mapping[tuple[object, ...], list[str]],
    *,
    study: Presentation | None,
) -> Iterator[tuple[str, tuple[Selection, list[Distribution]]]]:
    """Find the distributions of one delay, series by series."""
    chosen = [
        (series, selection)
        for series, members in of_series.items()
        for selection in select(members, kind, study)
    ]
    wanted = {
        _key(point.series, point.engine, point.point): None
        for _, selection in chosen
        for point in selection.points.values()
    }
    if not wanted:
        return
    merged = dict(
        zip(
            wanted,
            distribution(run, kind.histogram, [ids[key] for key in wanted]),
            strict=True,
        )
    )
    for series, selection in chosen:
        of = [
            merged[_key(point.series, point.engine, point.point)]
            for point in selection.points.values()
        ]
        if any(each.frames for each in of):
            yield series, (selection, of)


def _key(series: str, engine: str, point: Mapping[str, str]) -> tuple[object, ...]:
    return (series, engine, *sorted(point.items()))
