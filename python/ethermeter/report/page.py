"""Page: the parts of the report put together into one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from typing import Any

from ethermeter.analysis.estimates import Point
from ethermeter.document import number
from ethermeter.metrics import Metric
from ethermeter.report import parameters, results
from ethermeter.report.agreement import agreement_section
from ethermeter.report.axes import MOST_CURVES
from ethermeter.report.connections import connections_section
from ethermeter.report.content import Content
from ethermeter.report.file_transfer import file_sections
from ethermeter.report.hosts import hosts_section
from ethermeter.report.html import safe, section, table
from ethermeter.report.lengths import lengths_section
from ethermeter.report.losses import losses_section
from ethermeter.report.measured import measured_section
from ethermeter.report.myths import myths_sections
from ethermeter.report.pacing import pacing_section
from ethermeter.report.packet_voice import voice_sections
from ethermeter.report.parameters import constants, flat
from ethermeter.report.recorded import recorded_section
from ethermeter.report.series import anchor, series_section
from ethermeter.report.sheet import Sheet
from ethermeter.report.shell import Section, shell
from ethermeter.report.studies import OTHER, presentation
from ethermeter.report.switched_studies import study_section, switched_sections

TOLD = (
    ("tcp", "TCP", connections_section),
    ("losses", "Losses", losses_section),
    ("pacing", "Pacing and clocks", pacing_section),
    ("hosts", "Hosts", hosts_section),
)
"""Anchor, name and maker of the sections with what agents told beside the metrics."""


def page(content: Content) -> str:
    """Put the report together."""
    sheet = Sheet()
    series = list(dict.fromkeys(point.series for point in content.points))
    sections: list[Section] = []
    if content.claims:
        sections.append(
            (
                "claims",
                "Claims",
                section("claims", "Published claims against this run", _claims(content)),
            )
        )
    if content.runs is not None:
        sections += myths_sections(content.runs, sheet)
    if content.curves is not None:
        sections += voice_sections(
            content.curves, {claim.id: claim.published for claim in content.claims}, sheet
        )
    if content.copies is not None:
        sections += file_sections(content.copies, content.claims, sheet)
    if content.paths is not None:
        sections += switched_sections(content.study, content.paths, content.claims, sheet)
    omitted = presentation(content.study).omitted
    for name in series:
        if name in omitted:
            continue
        members = _drawn([point for point in content.points if point.series == name])
        label = name if content.study or len(series) > 1 else "Results"
        sections.append((anchor(name), label, series_section(name, members, content, sheet)))
    if content.agreements:
        sections.append(("agreement", "Agreement", agreement_section(content.agreements)))
    if lengths := lengths_section(content):
        sections.append(("lengths", "Times against lengths", lengths))
    if content.live_study is not None:
        sections.insert(0, ("study", "Study", study_section(*content.live_study)))
    if content.measured:
        sections.append(("measured", "Measured and simulated", measured_section(content.measured)))
    for anchor_of, label, make in TOLD:
        if text := make(content, sheet):
            sections.append((anchor_of, label, text))
    if content.captures:
        sections.append(("captures", "Captures", recorded_section(content.captures)))
    sections.append(
        (
            "parameters",
            "Parameters",
            section("parameters", "Parameters and their sources", _parameters(content)),
        )
    )
    cautions = f'<div class="panel">{results.cautions_table(content.points)}</div>'
    marks = (
        "<p>A point whose value carries a caution is a triangle in the figures.</p>"
        + results.cautions_of_run(content.points)
    )
    sections.append(("cautions", "Cautions", section("cautions", "Cautions", marks + cautions)))
    sections.append(
        (
            "provenance",
            "Provenance",
            section("provenance", "Provenance", _provenance(content.provenance)),
        )
    )

    footer = f"Run <code>{safe(content.name)}</code>. Bands and intervals are 95%. This file holds all it needs and works offline."
    return shell(
        _title(content),
        sections,
        sheet,
        kind="ethermeter report",
        facts=_facts(content, series),
        footer=footer,
    )


def _drawn(points: Sequence[Point]) -> list[Point]:
    """Points that figures show: without what lies between theories and the segment, and without the
    worlds of theories if that is too much.

    All of these are shown where theories and simulations are compared.
    """
    shown = [point for point in points if not point.engine.startswith("switched/")]
    if len({point.engine for point in shown}) <= MOST_CURVES:
        return shown
    return [point for point in shown if not point.engine.startswith("idealised/")]


def _title(content: Content) -> str:
    if title := presentation(content.study).title:
        return title
    titles = list(dict.fromkeys(experiment.title for experiment in content.experiments))
    live = presentation(content.provenance.get("live_study") or "")
    if live is not OTHER and len(titles) > 1:
        return f"{live.published}, measured live"
    return titles[0] if titles else content.name


def _facts(content: Content, series: Sequence[str]) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    # A reference is our own; only what was published counts as a claim.
    judged = [
        claim
        for claim in content.claims
        if claim.verdict != "not-run" and claim.basis != "reference"
    ]
    if judged:
        good = sum(claim.verdict in ("met", "holds") for claim in judged)
        facts.append(("Claims met or holding", f"{good} <small>of {len(judged)}</small>"))
    count = len(content.points)
    facts.append(
        (
            "Points",
            f"{count:,} <small>in {len(series)} series</small>"
            if len(series) > 1
            else f"{count:,}",
        )
    )
    replications = sorted({point.replications for point in content.points})
    facts.append(
        (
            "Replications",
            " to ".join(str(end) for end in dict.fromkeys((replications[0], replications[-1]))),
        )
    )
    for metric, title in (
        (Metric.FRAMES, "Frames measured"),
        (Metric.MESSAGES, "Messages measured"),
    ):
        counts = [
            (point.estimates[metric].value, point.replications)
            for point in content.points
            if metric in point.estimates
        ]
        # Octets over TCP are no messages that anybody could count.
        if total := sum(value * count for value, count in counts if value == value):
            facts.append(
                (
                    title,
                    f"{total / 1e6:,.1f} <small>million</small>"
                    if total >= 1e6
                    else f"{total:,.0f}",
                )
            )
    wall_s = content.provenance.get("wall_s")
    if isinstance(wall_s, int | float):
        facts.append(
            (
                "Took" if "live" in {point.engine for point in content.points} else "Simulated in",
                f"{number(float(wall_s))} <small>s</small>",
            )
        )
    return facts


def _claims(content: Content) -> str:
    lead = presentation(content.study).lead
    return (
        f'<p class="lead">{lead}</p><div class="panel">{results.claims_table(content.claims)}</div>'
    )


def _parameters(content: Content) -> str:
    names = list(content.scenarios)
    run = parameters.shared(
        {name: constants(scenario) for name, scenario in content.scenarios.items()}
    )
    lead = '<p class="lead">Constants of the trials as they were run, those that an experiment file leaves to its standard included.</p>'
    body = "<h3>As run</h3>" + lead + _parameter_table(("Parameter", "Value"), run, names, "Series")
    files = {
        str(experiment.content.get("series", experiment.title)): experiment
        for experiment in content.experiments
    }
    if len(files) < len(content.experiments):
        files = {experiment.name: experiment for experiment in content.experiments}
    if not files:
        return body + "<p>The run directory holds no experiment file.</p>"
    written = parameters.shared(
        {name: experiment.parameters() for name, experiment in files.items()}
    )
    lead = '<p class="lead">What the experiment files say, each with where it comes from.</p>'
    return (
        body
        + "<h3>As written</h3>"
        + lead
        + _parameter_table(("Key", "Value", "Kind", "Source"), written, list(files), "Experiment")
    )


def _parameter_table(
    head: Sequence[str],
    rows: Sequence[tuple[tuple[str, ...], list[str]]],
    names: Sequence[str],
    owner: str,
) -> str:
    """Table of parameters; with several owners, a last column says whose each is."""

    def cells(row: tuple[str, ...]) -> list[str]:
        if len(row) == 2:
            return [safe(cell) for cell in row]
        key, value, kind, source = row
        return [
            f"<code>{safe(key)}</code>",
            safe(value),
            f'<span class="tag {safe(kind)}">{safe(kind)}</span>' if kind else "",
            safe(source),
        ]

    if len(names) == 1:
        return (
            '<div class="panel">'
            + table(
                head,
                [cells(row) for row, _ in rows],
                caption=f"Parameters of {names[0]}",
                kind="plain",
            )
            + "</div>"
        )
    body = [
        [*cells(row), "all" if len(of) == len(names) else safe(", ".join(of))] for row, of in rows
    ]
    return (
        '<div class="panel">'
        + table([*head, owner], body, caption="Parameters", kind="plain")
        + "</div>"
    )


def _provenance(provenance: Mapping[str, Any]) -> str:
    if not provenance:
        return "<p>The run directory holds no provenance.</p>"
    rows = [
        [
            f"<code>{safe(key)}</code>",
            f"<code>{safe(' '.join(map(str, value)) if isinstance(value, list) else value)}</code>",
        ]
        for key, value in flat(
            {key: value for key, value in provenance.items() if key != "sha256"}
        ).items()
    ]
    return (
        '<div class="panel">'
        + table(("Key", "Value"), rows, caption="Provenance", kind="plain")
        + "</div>"
    )
