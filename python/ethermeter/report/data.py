"""Data: what the report shows of a run, gathered from its files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ethermeter.analysis import (
    accounts,
    agreement,
    bounds,
    claims,
    estimates,
    flows,
    groups,
    live,
    ports,
    positions,
)
from ethermeter.analysis.accounts import Account
from ethermeter.analysis.agreement import Agreement
from ethermeter.analysis.bounds import Answers
from ethermeter.analysis.claims import Claim
from ethermeter.analysis.distribution import Distribution, distribution
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.flows import Sharing
from ethermeter.analysis.lengths import OfLengths, of_lengths
from ethermeter.analysis.ports import PortPoint
from ethermeter.analysis.positions import Line
from ethermeter.analysis.roofline import Roofline, of_scenario
from ethermeter.analysis.tables import point_of
from ethermeter.document import plain
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.nodes import is_segment
from ethermeter.presentation import Presentation
from ethermeter.report.experiments import Experiment, experiments
from ethermeter.report.labels import key_title
from ethermeter.report.selection import KINDS, Kind, Selection, select
from ethermeter.report.thinning import MOST_ROWS, spread
from ethermeter.scenario import Scenario
from ethermeter.station_groups import groups_of, station_count
from ethermeter.store import captures
from ethermeter.store.measured import read_result
from ethermeter.store.result import Result

if TYPE_CHECKING:
    from ethermeter.store import RunDirectory
    from ethermeter.trial import Trial

MOST_POINTS = 60
"""Points of a run up to which its stations are looked at place by place."""
MOST_PLACES = 8
"""Places that have values of their own; with more, stations are spread over the segment rather than
clustered.
"""


@dataclass(frozen=True, slots=True)
class Search:
    """The question and the answer of a strategy, read from JSON, and the trials it proposed."""

    question: object
    answer: object
    trials: "Sequence[Trial]"

    @property
    def is_benchmark(self) -> bool:
        """Whether the answer is that of a benchmark, whose tests have figures of their own."""
        return isinstance(self.answer, Mapping) and "suite" in self.answer


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything the report shows."""

    directory: Path  # of the run
    name: str
    points: Sequence[Point]
    study: str
    presentation: Presentation  # of the study
    claims: Sequence[Claim]
    experiments: Sequence[Experiment]
    titles: Mapping[str, str]  # of the series
    scenarios: Mapping[str, Scenario]  # of each series, with the most stations
    provenance: Mapping[str, object]
    flows: Sequence[
        Point
    ]  # of every flow of a network, or of every table of flows where there are many
    lengths: Sequence[OfLengths]  # lines of times against lengths
    tables: Sequence[Point]  # of every table of flows, where there are several
    sharing: Sequence[Sharing]  # how fairly flows share
    accounts: Sequence[Account]  # what agents reported beside the metrics
    ports: Sequence[PortPoint]  # of every port of a network
    links: Sequence[Scenario]  # the network of each of these
    rooflines: Mapping[
        str, Roofline
    ]  # of every series of networks, the flow that comes nearest to a ceiling
    groups: Sequence[Point]  # of every group of stations, where there are several
    attachments: Sequence[Point]  # of the stations at every attachment, where clustered
    shares: Sequence[Point]  # of the larger of two stations
    agreements: Sequence[Agreement]  # of every theory with the simulations
    answers: Answers  # of theories of networks, beside the other engines
    measured: Sequence[live.Comparison]  # against what was simulated
    pairs: Sequence[live.Pair]  # simulated and measured, by table of flows
    captures: Sequence[captures.Captured]  # taken meanwhile
    search: Search | None  # of a strategy
    lines: Sequence[Line]  # of the stations along the cable, where they are on one
    distributions: Mapping[
        str, Sequence[tuple[Selection, Sequence[Distribution]]]
    ]  # of each series

    def result(self, trial: str) -> Result:
        """Read the result of a trial's test: too much to be kept of all."""
        return read_result(self.directory, trial)


def gather(run_dir: Path, presentation: Presentation) -> ReportData:
    """Read a finished run.

    Estimates and claims come from their files if they exist, the rest from its tables.

    Raises
    ------
    InputError
        If a file of the run is not what it should be.
    """
    from ethermeter.store import RunDirectory

    run = RunDirectory(run_dir)
    points = estimates.read(run_dir)
    if not points:
        raise InputError.of(str(run_dir), "trials", "0", "a run with at least one trial")
    found = claims.read(run_dir)
    files = experiments(run_dir)
    by_name = {experiment.name: experiment.title for experiment in files}
    titles: dict[str, str] = {}
    scenarios: dict[str, Scenario] = {}
    trials = run.replications()
    for trial in trials:
        if trial.series not in scenarios or _stations(trial.scenario) > _stations(
            scenarios[trial.series]
        ):
            scenarios[trial.series] = trial.scenario
            # A trial's id begins with the name of the experiment it comes from.
            titles[trial.series] = by_name.get(
                trial.id.split("/")[0], files[0].title if len(files) == 1 else ""
            )
    study = found[0] if found else ""
    is_live = any(trial.engine == "live" for trial in trials)
    search = _search(run)
    # Trials of a benchmark are points of no curve: its page shows none of their flows and ports.
    drawn = () if search is not None and search.is_benchmark else trials
    # The study's hosts are alike; its graphs are what the paper shows.
    # Theories have no stations of their own, and those of idealised worlds are in no place.
    networks = flows.of_networks(drawn)
    real = [
        trial for trial in drawn if trial.engine == "simulation" and station_count(trial.scenario)
    ]
    simulated = [point for point in points if point.engine == "simulation"]
    measured = [trial for trial in drawn if trial.engine == "live" and is_segment(trial.scenario)]
    shown = [*real, *measured, *networks]
    some = _of_some_points(networks)
    by_flow, by_table = _flows(run, some)
    of_ports = ports.estimate(some, run) if some else ()
    by_group, by_attachment, shares = ((), (), ()) if study else _parts(run, real)
    return ReportData(
        directory=run_dir,
        name=run_dir.resolve().name,
        points=points,
        study=study,
        presentation=presentation,
        claims=found[1] if found else (),
        experiments=files,
        titles=titles,
        scenarios=scenarios,
        provenance=run.provenance(),
        flows=by_flow,
        lengths=of_lengths(by_flow),
        tables=by_table,
        sharing=tuple(flows.of_sharing(run, some)),
        accounts=accounts.read(run_dir) if is_live else (),
        ports=of_ports,
        links=[some[point.first].scenario for point in of_ports],
        rooflines=_rooflines(by_flow, some),
        groups=by_group,
        attachments=by_attachment,
        shares=shares,
        agreements=agreement.read(run_dir),
        answers=_at_some_points(bounds.read(run)),
        measured=live.read(run_dir) if is_live else (),
        pairs=live.read_pairs(run_dir) if is_live else (),
        captures=captures.read(run_dir),
        search=search,
        lines=_lines(run, real, simulated, is_study=bool(study)),
        distributions=_distributions(
            run,
            shown,
            [point for point in points if drawn and point.engine in ("simulation", "live")],
            study=presentation if study else None,
        ),
    )


def _search(run: "RunDirectory") -> Search | None:
    """Read question and answer of a strategy; None of a run without one."""
    if not run.is_search():
        return None
    try:
        question, answer = json.loads(run.question()), json.loads(run.answer())
    except (ValueError, RecursionError) as error:
        raise InputError.of(
            str(run.path), "answer", type(error).__name__, "expected question and answer"
        ) from error
    return Search(question, answer, run.trials())


def _flows(
    run: "RunDirectory", trials: "Sequence[Trial]"
) -> tuple[Sequence[Point], Sequence[Point]]:
    """Estimates of every flow and of every table of flows, where they differ."""
    return tuple(flows.of_flows(run, trials)), tuple(flows.of_tables(run, trials))


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
    several = _of_some_points([trial for trial in trials if len(groups_of(trial.scenario)) > 1])
    clustered = _of_some_points(
        [
            trial
            for trial in trials
            if any(_is_clustered(group.stations.points) for group in groups_of(trial.scenario))
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
