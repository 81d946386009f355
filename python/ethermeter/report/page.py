"""Page: the sections of a run's report for which the run holds data."""

from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.document import Section, StudyPage, number
from ethermeter.metrics import Metric
from ethermeter.report import findings
from ethermeter.report.axes import drawn
from ethermeter.report.data import ReportData
from ethermeter.report.layout import MOST_HEIGHT
from ethermeter.report.render import Page, render
from ethermeter.report.sections import (
    agreement,
    benchmark,
    captures,
    connections,
    emulated,
    explorer,
    hosts,
    lengths,
    losses,
    measured,
    pacing,
    parameters,
    responders,
    run,
    search,
    series,
    time_flow,
)

SEARCH_HEIGHT = 2200
"""Estimated height in pixels of the page of a search as opened: its answer, and little else."""
AFTER_SERIES = (
    agreement.build,
    lengths.build,
    time_flow.build,
    measured.build,
    emulated.build,
    connections.build,
    losses.build,
    pacing.build,
    hosts.build,
    captures.build,
    responders.build,
    run.cautions,
    parameters.build,
    run.provenance,
)
"""Sections after those of the series, in their order; None where the data hold nothing of one."""


def page(data: ReportData, study: StudyPage) -> str:
    """Put the report together."""
    sections: list[Section | None] = [
        *study.measured,
        benchmark.build(data),
        search.build(data),
        run.claims(data),
        *study.sections,
        explorer.build(data),
    ]
    names = list(dict.fromkeys(point.series for point in data.points))
    # Trials of a benchmark are points of no curve: its tests have figures of their own.
    is_benchmark = benchmark.answer_of(data) is not None
    for name in names:
        if name not in data.presentation.omitted and not is_benchmark:
            members = drawn([point for point in data.points if point.series == name])
            is_only = not data.study and len(names) == 1
            sections.append(series.build(name, members, data, is_only=is_only))
    sections += [build(data) for build in AFTER_SERIES]
    shown = [section for section in sections if section is not None]
    footer = Markup(
        "Run <code>{}</code>. Bands and intervals are 95%. This file holds all it needs and works "
        "offline."
    ).format(data.name)
    return render(
        Page(
            _title(data, study),
            "ethermeter report",
            shown,
            footer,
            _facts(data, names),
            question=f"{study.presentation.question} {findings.question(data)}".strip(),
            findings=findings.findings(data),
            warnings=findings.warnings(data),
            height=MOST_HEIGHT if data.search is None else SEARCH_HEIGHT,
        )
    )


def _title(data: ReportData, study: StudyPage) -> str:
    if title := study.presentation.title:
        return title
    titles = list(dict.fromkeys(experiment.title for experiment in data.experiments))
    if study.live is not None and len(titles) > 1:
        return f"{study.live.published}, measured live"
    return titles[0] if titles else data.name


def _facts(data: ReportData, names: Sequence[str]) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    count = f"{len(data.points):,}"
    several = _with_unit(count, f"in {len(names)} series") if len(names) > 1 else count
    facts.append(("Points", several))
    replications = sorted({point.replications for point in data.points})
    ends = dict.fromkeys((replications[0], replications[-1]))
    facts.append(("Replications", " to ".join(map(str, ends))))
    for metric, title in (
        (Metric.FRAMES, "Frames measured"),
        (Metric.MESSAGES, "Messages measured"),
    ):
        counts = [
            (point.estimates[metric].value, point.replications)
            for point in data.points
            if metric in point.estimates
        ]
        # Octets over TCP are no messages that could be counted.
        if total := sum(value * count for value, count in counts if value == value):
            millions = _with_unit(f"{total / 1e6:,.1f}", "million")
            facts.append((title, millions if total >= 1e6 else f"{total:,.0f}"))
    wall_s = data.provenance.get("wall_s")
    if isinstance(wall_s, int | float):
        is_live = "live" in {point.engine for point in data.points}
        facts.append(
            ("Took" if is_live else "Simulated in", _with_unit(number(float(wall_s)), "s"))
        )
    return facts


def _with_unit(value: str, unit: str) -> Markup:
    return Markup("{} <small>{}</small>").format(value, unit)
