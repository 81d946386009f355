"""Page: the parts of the report put together into one self-contained HTML file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ethermeter.analysis.estimates import Point
from ethermeter.observation import Metric
from ethermeter.papers.claims import Claim
from ethermeter.report import bundle, chart, parameters, results
from ethermeter.report.axes import Axes, choose, keys, panels
from ethermeter.report.html import embedded, safe, section, table
from ethermeter.report.labels import AXIS_TITLES, LABELS, MAIN_METRICS, STUDY_GRAPHS, TIME_KINDS, meaning, number
from ethermeter.report.parameters import Experiment, constants, flat
from ethermeter.report.theme import config

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif'
# The page itself forbids every request, so that "offline" is enforced and not merely intended.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
OPEN_TABLE_ROWS = 60


@dataclass(frozen=True, slots=True)
class Content:
    """Everything the report shows."""

    name: str
    points: Sequence[Point]
    study: str
    claims: Sequence[Claim]
    experiments: Sequence[Experiment]
    titles: Mapping[str, str]  # of the series
    scenarios: Mapping[str, Mapping[str, Any]]  # of each series, with the most stations
    provenance: Mapping[str, Any]


@dataclass(slots=True)
class _Figures:
    """Specifications of the figures drawn so far; their HTML refers to them by number."""

    specs: list[dict[str, Any]] = field(default_factory=list)

    def add(self, spec: dict[str, Any], *, title: str, text: str, numbers: str, kind: str = "") -> str:
        self.specs.append(spec)
        identity = f"figure-{len(self.specs)}"
        details = f"<details><summary>Numbers</summary>{numbers}</details>" if numbers else ""
        return (
            f'<figure id="{identity}"><figcaption>{safe(title)}<span>{safe(text)}</span></figcaption>'
            f'<div class="plot {kind}" data-spec="{identity}-spec" role="img" aria-label="{safe(title)}"></div>{details}</figure>\n'
        )

    def scripts(self) -> str:
        return "".join(
            f'<script type="application/json" id="figure-{at}-spec">{embedded(spec)}</script>\n' for at, spec in enumerate(self.specs, 1)
        )


def page(content: Content) -> str:
    """Put the report together."""
    figures = _Figures()
    series = list(dict.fromkeys(point.series for point in content.points))
    sections: list[tuple[str, str, str]] = []
    if content.claims:
        sections.append(("claims", "Claims", section("claims", "Published claims against this run", _claims(content.claims))))
    for name in series:
        members = [point for point in content.points if point.series == name]
        label = name if content.study or len(series) > 1 else "Results"
        sections.append((_anchor(name), label, _series(name, members, content, figures)))
    sections.append(("parameters", "Parameters", section("parameters", "Parameters and their sources", _parameters(content))))
    cautions = f'<div class="panel">{results.cautions_table(content.points)}</div>'
    marks = "<p>A point that carries a caution other than <code>one-replication</code> is a triangle in the figures.</p>"
    sections.append(("cautions", "Cautions", section("cautions", "Cautions", marks + cautions)))
    sections.append(("provenance", "Provenance", section("provenance", "Provenance", _provenance(content.provenance))))

    title = _title(content)
    links = "".join(f'<li><a href="#{anchor}">{safe(label)}</a></li>' for anchor, label, _ in sections)
    own = files("ethermeter.report")
    settings = {ground: config(ground, font=FONT) for ground in ("light", "dark")}
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)} · ethermeter</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{own.joinpath('style.css').read_text(encoding='utf-8')}</style></head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the results</a>\n'
        f'<header class="top wrap"><p class="kind">ethermeter report</p><h1>{safe(title)}</h1>{_facts(content, series)}</header>\n'
        f'<nav class="map" aria-label="Sections"><ul>{links}</ul></nav>\n'
        f'<main id="content" class="wrap">\n{"".join(text for _, _, text in sections)}</main>\n'
        f'<footer class="wrap">Run <code>{safe(content.name)}</code>. Bands and intervals are 95%. '
        "This file holds all it needs and works offline.</footer>\n"
        f'<script type="application/json" id="config">{embedded(settings)}</script>\n{figures.scripts()}'
        f"<script>{bundle.javascript()}</script>\n<script>{own.joinpath('page.js').read_text(encoding='utf-8')}</script>\n</body></html>\n"
    )


def _title(content: Content) -> str:
    if content.study == "boggs1988":
        return "Measured Capacity of an Ethernet (Boggs, Mogul and Kent, 1988), re-measured"
    titles = list(dict.fromkeys(experiment.title for experiment in content.experiments))
    return titles[0] if titles else content.name


def _anchor(series: str) -> str:
    return "series-" + re.sub(r"[^A-Za-z0-9_-]+", "-", series)


def _facts(content: Content, series: Sequence[str]) -> str:
    facts: list[tuple[str, str]] = []
    judged = [claim for claim in content.claims if claim.verdict != "not-run"]
    if judged:
        good = sum(claim.verdict in ("met", "holds") for claim in judged)
        facts.append(("Claims met or holding", f"{good} <small>of {len(judged)}</small>"))
    count = len(content.points)
    facts.append(("Points", f"{count:,} <small>in {len(series)} series</small>" if len(series) > 1 else f"{count:,}"))
    replications = sorted({point.replications for point in content.points})
    facts.append(("Replications", " to ".join(str(end) for end in dict.fromkeys((replications[0], replications[-1])))))
    frames = [(point.estimates[Metric.FRAMES].value, point.replications) for point in content.points if Metric.FRAMES in point.estimates]
    total = sum(value * count for value, count in frames if value == value)
    if total:
        facts.append(("Frames measured", f"{total / 1e6:,.1f} <small>million</small>" if total >= 1e6 else f"{total:,.0f}"))
    wall_s = content.provenance.get("wall_s")
    if isinstance(wall_s, int | float):
        facts.append(("Simulated in", f"{number(float(wall_s))} <small>s</small>"))
    return '<dl class="facts">' + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts) + "</dl>"


def _claims(claims: Sequence[Claim]) -> str:
    lead = (
        '<p class="lead">A number is <em>met</em> within 3% or within what the text’s rounding leaves open (the green band); a statement '
        "<em>holds</em> by the rule under its note. Two numbers are differences of two single runs of 10 s, which chance moves by "
        "more than their rounding: they are met also where 95% of such differences lie (the note has the interval). "
        "<em>Fitted</em> numbers set the hosts’ service time; everything else is predicted.</p>"
    )
    return f'{lead}<div class="panel">{results.claims_table(claims)}</div>'


def _series(name: str, points: Sequence[Point], content: Content, figures: _Figures) -> str:
    axes = choose(points)
    metrics = [metric for metric in (STUDY_GRAPHS if content.study else MAIN_METRICS) if _is_worth_showing(points, metric)]
    drawn = []
    for metric in metrics:
        for panel in panels(points, axes, metric):
            title = LABELS[metric].title + (f", {panel.title}" if panel.title else "")
            numbers = results.figure_table(panel, metric, axes, title=f"{name}, {title}")
            spec = {key: value for key, value in chart.lines(panel, metric, axes).items() if key != "title"}
            drawn.append(figures.add(spec, title=title, text=meaning(metric), numbers=numbers))
    body = f'<div class="grid">{"".join(drawn)}</div>' if drawn else ""
    times = _breakdowns(points, axes, figures)
    if times:
        lead = '<p class="lead">Where the channel’s time goes; the parts sum to 1.</p>'
        body += f'<h3>Channel time</h3>{lead}<div class="grid">{times}</div>'
    if not content.study:
        present = [metric for metric in MAIN_METRICS if any(metric in point.estimates for point in points)]
        text = results.estimates_table(points, present)
        body += "<h3>Estimates</h3>" + (
            f'<div class="panel">{text}</div>'
            if len(points) <= OPEN_TABLE_ROWS
            else f'<details><summary>{len(points)} points</summary><div class="panel">{text}</div></details>'
        )
    title = content.titles.get(name, "")
    if title and not content.study and len(content.scenarios) == 1:
        return section(_anchor(name), "Results", body)  # the page's heading says the rest
    return section(_anchor(name), name, (f'<p class="lead">{safe(title)}</p>' if title and title != name else "") + body)


def _is_worth_showing(points: Sequence[Point], metric: Metric) -> bool:
    """Whether a metric has a value at two points or more that is not always zero, and is not another's double."""
    values = [point.estimates[metric].value for point in points if metric in point.estimates]
    finite = [value for value in values if value == value]
    if metric is Metric.RESPONSE_TIME:
        delays = [point.estimates[Metric.TRANSMISSION_DELAY].value for point in points if metric in point.estimates]
        return len(finite) > 1 and values != delays
    return len(finite) > 1 and any(finite)


def _breakdowns(points: Sequence[Point], axes: Axes, figures: _Figures) -> str:
    """Channel time against x for the first curve, and against the curves at the largest x."""
    known = [point for point in points if all(metric in point.estimates for metric in TIME_KINDS)]
    if axes.x is None or not known:
        return ""
    first = {key: keys(known[0])[key] for key in axes.panels}
    known = [point for point in known if all(keys(point)[key] == value for key, value in first.items())]
    fixed = "".join(f", {key} = {value}" for key, value in first.items())
    x_title = AXIS_TITLES.get(axes.x, axes.x)
    if axes.curve is None:
        spec = chart.breakdown(known, axes.x, title=x_title)
        return figures.add(
            spec, title="Channel time", text=f"Against {_small(x_title)}{fixed}.", numbers=_time_table(known, axes.x), kind="low"
        )
    curve_title = AXIS_TITLES.get(axes.curve, axes.curve)
    last = keys(known[-1])[axes.x]
    across = [point for point in known if keys(point)[axes.x] == last]
    start = keys(known[0])[axes.curve]
    along = [point for point in known if keys(point)[axes.curve] == start]
    return figures.add(
        chart.breakdown(across, axes.curve, title=curve_title),
        title=f"Channel time by {_small(curve_title)}",
        text=f"{x_title}: {last}{fixed}.",
        numbers=_time_table(across, axes.curve),
        kind="low",
    ) + figures.add(
        chart.breakdown(along, axes.x, title=x_title),
        title=f"Channel time by {_small(x_title)}",
        text=f"{curve_title}: {start}{fixed}.",
        numbers=_time_table(along, axes.x),
        kind="low",
    )


def _small(title: str) -> str:
    return title[:1].lower() + title[1:]


def _time_table(points: Sequence[Point], key: str) -> str:
    rows = [[safe(keys(point)[key]), *(f"{point.estimates[metric].value:.2%}" for metric in TIME_KINDS)] for point in points]
    return table([safe(AXIS_TITLES.get(key, key)), *TIME_KINDS.values()], rows, caption="Shares of channel time", kind="data")


def _parameters(content: Content) -> str:
    names = list(content.scenarios)
    run = parameters.shared({name: constants(scenario) for name, scenario in content.scenarios.items()})
    lead = '<p class="lead">Constants of the trials as they were run, those that an experiment file leaves to its standard included.</p>'
    body = "<h3>As run</h3>" + lead + _parameter_table(("Parameter", "Value"), run, names, "Series")
    files = {str(experiment.content.get("series", experiment.title)): experiment for experiment in content.experiments}
    if len(files) < len(content.experiments):
        files = {experiment.name: experiment for experiment in content.experiments}
    if not files:
        return body + "<p>The run directory holds no experiment file.</p>"
    written = parameters.shared({name: experiment.parameters() for name, experiment in files.items()})
    lead = '<p class="lead">What the experiment files say, each with where it comes from.</p>'
    return body + "<h3>As written</h3>" + lead + _parameter_table(("Key", "Value", "Kind", "Source"), written, list(files), "Experiment")


def _parameter_table(head: Sequence[str], rows: Sequence[tuple[tuple[str, ...], list[str]]], names: Sequence[str], owner: str) -> str:
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
            + table(head, [cells(row) for row, _ in rows], caption=f"Parameters of {names[0]}", kind="plain")
            + "</div>"
        )
    body = [[*cells(row), "all" if len(of) == len(names) else safe(", ".join(of))] for row, of in rows]
    return '<div class="panel">' + table([*head, owner], body, caption="Parameters", kind="plain") + "</div>"


def _provenance(provenance: Mapping[str, Any]) -> str:
    if not provenance:
        return "<p>The run directory holds no provenance.</p>"
    rows = [
        [f"<code>{safe(key)}</code>", f"<code>{safe(' '.join(map(str, value)) if isinstance(value, list) else value)}</code>"]
        for key, value in flat(provenance).items()
    ]
    return '<div class="panel">' + table(("Key", "Value"), rows, caption="Provenance", kind="plain") + "</div>"
