"""Comparison page: two runs over each other, and what differs beyond its interval."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from ethermeter.analysis.comparison import (
    ALIKE,
    DIFFERS,
    Change,
    Points,
    Row,
    changes,
    failed_in,
)
from ethermeter.analysis.designs import Designs
from ethermeter.document import Block, Heading, Section, Table, Text
from ethermeter.present import comparison as present
from ethermeter.present.designs import designs as designs_of
from ethermeter.quantities import UNDEFINED
from ethermeter.report.charts.explorer import distinguished
from ethermeter.report.experiments import Experiment, experiments, flat, written
from ethermeter.report.labels import point_title
from ethermeter.report.render import Page, render
from ethermeter.report.sections.explorer import explorer_of
from ethermeter.report.sections.parameters import constants
from ethermeter.report.tables import code, titled
from ethermeter.results.estimates import Point
from ethermeter.store.directory import RunDirectory
from ethermeter.swept import varied_keys

RUN = "run"
"""Key that tells the points of the two runs apart."""
NAMES = ("first", "second")
MOST_FINDINGS = 5
MOST_LISTED = 5
OPEN_ROWS = 40
_OF_EACH_RUN = ("sha256", "seal", "started", "finished", "wall_s", "simulation_s", "command")
"""Keys of the provenance that differ between any two runs, and the command, which is in sight."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """Everything the page shows.

    Runs or files, their points, the rows of these, changes (of most points first), points of one
    run only, keys that tell points apart, and keys whose values differ in the experiment files.
    """

    runs: tuple[Path, Path]
    points: tuple[Points, Points]
    rows: Sequence[Row]
    changes: Sequence[Change]
    alone: tuple[Sequence[Point], Sequence[Point]]
    varied: Sequence[str]
    written: Sequence[tuple[str, str, str]]
    designs: Designs | None

    @property
    def are_runs(self) -> bool:
        """Whether both are runs, rather than files of other programs."""
        return all(run.is_dir() for run in self.runs)

    def place(self, point: Mapping[str, str]) -> str:
        """Name a point by what tells it apart; its series if nothing does."""
        shown = {key: value for key, value in point.items() if key in self.varied}
        return point_title(shown) or point["series"]


def comparison_page(
    runs: tuple[Path, Path],
    points: tuple[Points, Points],
    rows: Sequence[Row],
    designs: Designs | None = None,
) -> str:
    """Return the page, which needs no network.

    Parameters
    ----------
    runs
        Directories of runs, or files of other programs.
    points, rows
        Their points, and the comparison of these.
    designs
        Of two networks, their flows and ports.
    """
    first, second = points
    found = _Compared(
        runs,
        points,
        rows,
        changes(rows),
        (
            [point for key, point in first.items() if key not in second],
            [point for key, point in second.items() if key not in first],
        ),
        varied_keys([present.distinguished(row) for row in rows]),
        _written(runs),
        designs,
    )
    built = (_designs, _figure, _differences, _metrics, _only, _parameters)
    sections = [section for build in built if (section := build(found)) is not None]
    differing = sum(change.differs > 0 for change in found.changes)
    of = Markup("{} <small>of {}</small>").format(differing, len(found.changes))
    facts = [
        ("Metrics that differ", of),
        ("Points in both", f"{len(set(first) & set(second)):,}"),
        ("Points in the first only", f"{len(found.alone[0]):,}"),
        ("Points in the second only", f"{len(found.alone[1]):,}"),
    ]
    title = f"{_name(runs[0])} and {_name(runs[1])}"
    footer = (
        "Differences are the second run less the first, with 95% intervals by Welch and"
        " Satterthwaite. This file holds all it needs and works offline."
    )
    chance = present.by_chance(rows)
    return render(
        Page(
            title,
            "comparison of two runs",
            sections,
            footer,
            facts,
            question=Markup("The first run is {}, the second {}.").format(*map(code, runs)),
            findings=_findings(found),
            warnings=[*failed_in(runs), *([chance] if chance else [])],
        )
    )


def _name(path: Path) -> str:
    return path.resolve().name


def _findings(found: _Compared) -> list[str]:
    """Say how many metrics differ, how the first of them do, and what else tells the runs apart."""
    differing = [change for change in found.changes if change.differs]
    undecided = [
        change for change in found.changes if not change.differs and change.verdicts["undecided"]
    ]
    beyond = "beyond the 95% interval of the difference"
    answer = (
        f"{len(differing)} of {len(found.changes)} metrics differ {beyond}, in at least one point."
        if differing
        else f"None of {len(found.changes)} metrics differs {beyond}."
    )
    if undecided:
        answer += (
            f" {len(undecided)} cannot be judged: the values differ, and no interval is known."
        )
    findings = [answer, *(_finding(change, found) for change in differing[:MOST_FINDINGS])]
    if len(differing) > MOST_FINDINGS:
        others = "; ".join(change.metric.label.title for change in differing[MOST_FINDINGS:])
        findings.append(f"Also different: {others}.")
    for name, points in zip(NAMES, found.alone, strict=True):
        if points:
            listed = "; ".join(found.place(distinguished(each)) for each in points[:MOST_LISTED])
            more = f"; and {len(points) - MOST_LISTED} more" if len(points) > MOST_LISTED else ""
            findings.append(f"Only in the {name} run, {_points(len(points))}: {listed}{more}.")
    if found.written:
        keys = ", ".join(key for key, _, _ in found.written[:MOST_LISTED])
        more = " and others" if len(found.written) > MOST_LISTED else ""
        findings.append(f"The experiment files differ in {keys}{more}.")
    elif found.are_runs:
        findings.append("The experiment files have the same keys and values.")
    return findings


def _points(count: int) -> str:
    return f"{count:,} point" if count == 1 else f"{count:,} points"


def _finding(change: Change, found: _Compared) -> str:
    """Say in how many points a metric is higher or lower, and where it differs most."""
    row = change.most
    assert row is not None, "a metric that differs"
    known = sum(change.verdicts[verdict] for verdict in (*DIFFERS, *ALIKE, "undecided"))
    where = " and ".join(
        f"{verdict} at {change.verdicts[verdict]:,}"
        for verdict in DIFFERS
        if change.verdicts[verdict]
    )
    shown = present.texts(row)
    unit = f" {shown.label.unit}" if shown.label.unit else ""
    most = f"; most at {found.place(present.distinguished(row))}" if known > 1 else ""
    relative = "" if shown.relative == UNDEFINED else f", {shown.relative}"
    return (
        f"{shown.label.title}: {where} of {_points(known)}{most}: from {shown.first} to "
        f"{shown.second}{unit}, a difference of {shown.difference}{unit}{relative}."
    )


def _designs(found: _Compared) -> Section | None:
    """Lay out two networks by capacity, flow, bound and port."""
    if found.designs is None:
        return None
    blocks = [titled(block) for block in designs_of(found.designs, most=None)]
    return Section("designs", "Flows and ports", "Both networks by flow and port", blocks)


def _figure(found: _Compared) -> Section | None:
    both = [
        replace(point, point={**point.point, RUN: name})
        for name, of in zip(NAMES, found.points, strict=True)
        for point in of.values()
    ]
    preferred = [change.metric for change in found.changes if change.differs]
    explorer = explorer_of(both, preferred, lines=RUN)
    if explorer is None:
        return None
    return Section("explore", "Figure", "Both runs over each other", [explorer])


def _differences(found: _Compared) -> Section:
    """Tabulate all rows: what differs in sight, the rest folded away."""
    blocks = [titled(block) for block in present.differences(found.rows)]
    return Section("differences", "Differences", "Differences with their intervals", blocks)


def _metrics(found: _Compared) -> Section:
    lead = (
        "Number of points by verdict on the second run: higher or lower beyond the interval of the "
        "difference; no difference, the interval holds zero; same, to the last digit; undecided, "
        "no interval is known."
    )
    table = titled(present.verdicts(found.changes))
    return Section("metrics", "Metrics", "Verdicts by metric", [Text(lead, "lead"), table])


def _only(found: _Compared) -> Section | None:
    rows = [
        [name, found.place(distinguished(point))]
        for name, points in zip(NAMES, found.alone, strict=True)
        for point in points
    ]
    if not rows:
        return None
    table = Table(("Run", "Point"), rows, "Points of one run only", "plain", open_rows=OPEN_ROWS)
    return Section("only", "One run only", "Points of one run only", [table])


def _parameters(found: _Compared) -> Section | None:
    if not found.are_runs:
        return None
    directories = [RunDirectory(run) for run in found.runs]
    tables = (
        ("Keys of the experiment files", found.written),
        ("Constants as run", _as_run(directories, found.points)),
        ("Provenance", _apart(*(_provenance(each) for each in directories))),
    )
    blocks: list[Block] = []
    for title, rows in tables:
        blocks.append(Heading(title))
        if rows:
            cells = [[code(key), first, second] for key, first, second in rows]
            blocks.append(Table(("Key", "First", "Second"), cells, title, "plain"))
        else:
            blocks.append(Text("The same in both runs."))
    return Section("parameters", "Parameters", "Parameters that differ", blocks)


def _written(runs: tuple[Path, Path]) -> list[tuple[str, str, str]]:
    """Keys whose values differ between the experiment files; those of several by their names."""
    if not all(run.is_dir() for run in runs):
        return []
    found = [experiments(run) for run in runs]
    if [len(of) for of in found] == [1, 1]:
        pairs = [("", found[0][0], found[1][0])]
    else:
        named: list[dict[str, Experiment]] = [{each.name: each for each in of} for of in found]
        both = [name for name in named[0] if name in named[1]]
        pairs = [(f"{name}: ", named[0][name], named[1][name]) for name in both]
    return [
        (prefix + key, first, second)
        for prefix, *contents in pairs
        for key, first, second in _apart(*(flat(each.content) for each in contents))
    ]


def _apart(first: Mapping[str, object], second: Mapping[str, object]) -> list[tuple[str, str, str]]:
    """Keys with both values, where they differ; a dash where one has no such key."""
    return [
        (key, _written_value(first, key), _written_value(second, key))
        for key in dict.fromkeys([*first, *second])
        if first.get(key, ...) != second.get(key, ...)
    ]


def _written_value(of: Mapping[str, object], key: str) -> str:
    return written(of[key]) if key in of else "–"


def _provenance(run: RunDirectory) -> dict[str, object]:
    known = run.provenance()
    return flat({key: value for key, value in known.items() if key not in _OF_EACH_RUN})


def _as_run(
    runs: Sequence[RunDirectory], points: tuple[Points, Points]
) -> list[tuple[str, str, str]]:
    """Constants that differ between trials of the same point, at the first one of every series."""
    wanted: dict[str, tuple[object, ...]] = {}
    for key, point in points[0].items():
        if key in points[1] and not point.engine.startswith(("theory/", "idealised/", "ablation/")):
            wanted.setdefault(point.series, key)
    found: list[dict[str, list[tuple[str, str]]]] = [{}, {}]
    for run, of_series in zip(runs, found, strict=True):
        for trial in run.trials():
            # The only series of two runs may have two names.
            series = next(iter(wanted)) if len(wanted) == 1 else trial.series
            key = (series, trial.engine, *sorted(trial.point.items()))
            if wanted.get(series) == key and series not in of_series:
                of_series[series] = constants(trial.scenario)
    prefix = len(wanted) > 1
    return [
        (f"{series}: {key}" if prefix else key, first, second)
        for series in wanted
        for key, first, second in _apart(*(dict(_numbered(of.get(series, ()))) for of in found))
    ]


def _numbered(rows: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield rows by names that are unique: a name that comes again is counted."""
    seen: Counter[str] = Counter()
    for name, value in rows:
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), value
