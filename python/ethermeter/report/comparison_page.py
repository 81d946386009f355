"""Comparison page: two runs over each other, and what differs beyond its interval."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from ethermeter.document import Block, Bullets, Heading, Section, Table, Text, number, plain
from ethermeter.metrics import Caution, Metric
from ethermeter.report.axes import ENGINE
from ethermeter.report.charts.explorer import distinguished, varied_keys
from ethermeter.report.compare import Points, Row, by_chance, failed_in
from ethermeter.report.experiments import Experiment, experiments, flat, written
from ethermeter.report.labels import key_title, point_title
from ethermeter.report.render import Page, render
from ethermeter.report.sections.explorer import explorer_of
from ethermeter.report.sections.parameters import constants
from ethermeter.report.tables import code, small
from ethermeter.results.estimates import Point
from ethermeter.store.directory import RunDirectory

RUN = "run"
"""Key that tells the points of the two runs apart."""
NAMES = ("first", "second")
DIFFERS = ("higher", "lower")
ONLY = ("only in first", "only in second")
MOST_FINDINGS = 5
MOST_LISTED = 5
OPEN_ROWS = 40
METRIC_TABLE = "data names1 metrics"
_OF_EACH_RUN = ("sha256", "seal", "started", "finished", "wall_s", "simulation_s", "command")
"""Keys of the provenance that differ between any two runs, and the command, which is in sight."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What became of a metric: its rows by verdict, and the row that differs most."""

    metric: Metric
    verdicts: Counter[str]
    most: Row | None

    @property
    def differs(self) -> int:
        """Number of points at which it differs beyond its interval."""
        return sum(self.verdicts[verdict] for verdict in DIFFERS)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Everything the page shows.

    Runs or files, their points, the rows of these, changes (of most points first), points of one
    run only, keys that tell points apart, and keys whose values differ in the experiment files.
    """

    runs: tuple[Path, Path]
    points: tuple[Points, Points]
    rows: Sequence[Row]
    changes: Sequence[_Change]
    alone: tuple[Sequence[Point], Sequence[Point]]
    varied: Sequence[str]
    written: Sequence[tuple[str, str, str]]

    @property
    def are_runs(self) -> bool:
        """Whether both are runs, rather than files of other programs."""
        return all(run.is_dir() for run in self.runs)

    def place(self, point: Mapping[str, str]) -> str:
        """Name a point by what tells it apart; its series if nothing does."""
        shown = {key: value for key, value in point.items() if key in self.varied}
        return point_title(shown) or point["series"]


def comparison_page(
    runs: tuple[Path, Path], points: tuple[Points, Points], rows: Sequence[Row]
) -> str:
    """Return the page, which needs no network.

    Parameters
    ----------
    runs
        Directories of runs, or files of other programs.
    points, rows
        Their points, and the comparison of these.
    """
    first, second = points
    found = _Compared(
        runs,
        points,
        rows,
        sorted(_changes(rows), key=lambda change: -change.differs),
        (
            [point for key, point in first.items() if key not in second],
            [point for key, point in second.items() if key not in first],
        ),
        varied_keys([_distinguished(row) for row in rows]),
        _written(runs),
    )
    built = (_figure, _differences, _metrics, _only, _parameters)
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
    chance = by_chance(rows)
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


def _changes(rows: Sequence[Row]) -> list[_Change]:
    by_metric: dict[str, list[Row]] = {}
    for row in rows:
        by_metric.setdefault(row["metric"], []).append(row)
    found = []
    for name, members in by_metric.items():
        verdicts = Counter(row["verdict"] for row in members)
        differing = [row for row in members if row["verdict"] in DIFFERS]
        most = max(differing, key=lambda row: abs(row["difference"] or 0), default=None)
        found.append(_Change(Metric(name), verdicts, most))
    return found


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


def _finding(change: _Change, found: _Compared) -> str:
    """Say in how many points a metric is higher or lower, and where it differs most."""
    row = change.most
    assert row is not None, "a metric that differs"
    known = sum(
        change.verdicts[verdict] for verdict in (*DIFFERS, "no difference", "same", "undecided")
    )
    where = " and ".join(
        f"{verdict} at {change.verdicts[verdict]:,}"
        for verdict in DIFFERS
        if change.verdicts[verdict]
    )
    label = change.metric.label
    unit = f" {label.unit}" if label.unit else ""
    shown = _shown(row)
    most = f"; most at {found.place(_distinguished(row))}" if known > 1 else ""
    relative = f", {shown.relative}" if shown.relative else ""
    return (
        f"{label.title}: {where} of {_points(known)}{most}: from {shown.first} to "
        f"{shown.second}{unit}, a difference of {shown.difference}{unit} (95% interval "
        f"{shown.interval}){relative}."
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """Texts of a row, in the unit of its metric."""

    first: str
    second: str
    difference: str
    interval: str
    relative: str


def _shown(row: Row) -> _Shown:
    factor = Metric(row["metric"]).label.factor

    def value(key: str) -> float:
        found = row[key]  # type: ignore[literal-required]
        return math.nan if found is None else float(found) * factor

    low, high = value("low"), value("high")
    half = (high - low) / 2
    first, difference = value("a"), value("difference")
    is_ratio = math.isfinite(difference) and math.isfinite(first) and first != 0
    return _Shown(
        number(first, half),
        number(value("b"), half),
        _signed(difference, half),
        f"{_signed(low, half)} to {_signed(high, half)}" if math.isfinite(half) else "",
        f"{100 * difference / abs(first):+.3g}%".replace("-", "−") if is_ratio else "",
    )


def _signed(value: float, half: float = math.nan) -> str:
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return sign + number(abs(value), half)


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
    head = (
        "Metric",
        *map(key_title, found.varied),
        *("First", "Second", "Difference and 95% interval", "Relative", "Verdict"),
    )
    order = {change.metric.value: at for at, change in enumerate(found.changes)}
    ordered = sorted(found.rows, key=lambda row: order[row["metric"]])
    blocks: list[Block] = []
    for caption, verdicts, most in (
        ("Differences beyond their intervals", DIFFERS, OPEN_ROWS),
        ("Differences without an interval", ("undecided",), OPEN_ROWS),
        ("All other comparisons", ("no difference", "same", *ONLY), 0),
    ):
        members = [row for row in ordered if row["verdict"] in verdicts]
        if members:
            blocks.append(Heading(caption))
            cells = [_cells(row, found.varied) for row in members]
            blocks.append(Table(head, cells, caption, METRIC_TABLE, open_rows=most))
    words = {word for row in found.rows for word in row["cautions"]} - {Caution.NO_SAMPLES}
    if words:
        known = [word for word in Caution if word in words]
        blocks.append(
            Bullets([Markup("{}: {}.").format(code(word), word.meaning) for word in known])
        )
    return Section("differences", "Differences", "Differences with their intervals", blocks)


def _distinguished(row: Row) -> dict[str, str]:
    return {"series": row["series"], ENGINE: row["engine"], **row["point"]}


def _cells(row: Row, varied: Sequence[str]) -> list[str]:
    shown, values = _shown(row), _distinguished(row)
    words = ", ".join(word for word in row["cautions"] if word != Caution.NO_SAMPLES)
    return [
        Metric(row["metric"]).label.axis,
        *(plain(values.get(key, "–")) for key in varied),
        shown.first,
        shown.second,
        _with_interval(shown),
        shown.relative or "–",
        Markup("{} {}").format(row["verdict"], small(words)) if words else row["verdict"],
    ]


def _with_interval(shown: _Shown) -> str:
    if not shown.interval:
        return shown.difference
    return Markup("{} <small>{}</small>").format(shown.difference, shown.interval)


def _metrics(found: _Compared) -> Section:
    verdicts = (*DIFFERS, "no difference", "same", "undecided")
    head = ("Metric", *(verdict.capitalize() for verdict in verdicts), "Largest difference")
    rows = []
    for change in found.changes:
        largest = _with_interval(_shown(change.most)) if change.most else "–"
        counts = (f"{change.verdicts[verdict]:,}" for verdict in verdicts)
        rows.append([change.metric.label.axis, *counts, largest])
    lead = (
        "Number of points by verdict on the second run: higher or lower beyond the interval of the "
        "difference; no difference, the interval holds zero; same, to the last digit; undecided, "
        "no interval is known."
    )
    table = Table(head, rows, "Verdicts by metric", METRIC_TABLE)
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
