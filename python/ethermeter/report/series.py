"""Series: the section of one series of a run."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ethermeter.analysis.estimates import Point
from ethermeter.analysis.frame_mixes import COUNT
from ethermeter.analysis.knee import CLEAR, Knee, rise
from ethermeter.metrics import Metric
from ethermeter.report import chart, distribution, results, roofline
from ethermeter.report.along import along_section
from ethermeter.report.axes import Axes, Panel, choose, keys, panels
from ethermeter.report.clocks import CLOCK_MAIN_METRICS, clock_figures
from ethermeter.report.content import Content
from ethermeter.report.fairness import fairness_figures
from ethermeter.report.html import safe, section, table
from ethermeter.report.labels import (
    FLOW_MAIN_METRICS,
    MAIN_METRICS,
    TIME_KINDS,
    VOICE_GRAPHS,
    key_title,
    meaning,
)
from ethermeter.report.network import flow_figures, network_tables
from ethermeter.report.parts import parts_section
from ethermeter.report.sheet import Sheet
from ethermeter.report.studies import presentation
from ethermeter.report.thinning import MOST_BARS, notice, spread

OPEN_TABLE_ROWS = 60
FEWEST_LOADS = 3
"""Different loads from which something is drawn against them."""
APART = (
    Metric.UTILISATION,
    Metric.PACKET_RATE,
    Metric.TRANSMISSION_DELAY,
    Metric.EXCESS_DELAY,
    Metric.COLLISIONS_PER_FRAME,
)
"""What is shown of a study's series that is not one of its figures."""
RISING = (Metric.TRANSMISSION_DELAY, Metric.RESPONSE_TIME, Metric.VOICE_DELAY, Metric.SAMPLE_DELAY)
"""Metrics whose rise has a knee."""


def series_section(name: str, points: Sequence[Point], content: Content, sheet: Sheet) -> str:
    """One series: its main figures, what its stations and its delays are like, channel time, and a
    table of estimates.
    """
    if any(Metric.MESSAGE_RATE in point.estimates for point in points):
        return _network_section(name, points, content, sheet)
    thinned = _thinned(points)
    axes = choose(points)
    study = presentation(content.study)
    is_apart = study.against_hosts and axes.x != COUNT
    is_drawn = name in study.table_only
    has_details = (
        study.has_details and not is_apart and (study.detailed is None or name in study.detailed)
    )
    along = along_section([line for line in content.lines if line.series == name], sheet)
    graphs = (study.compared if along else study.graphs) or MAIN_METRICS
    main = "" if is_apart or is_drawn else _main(name, points, axes, graphs, sheet)
    if not is_apart and not content.study:
        main += _against_load(name, points, axes, sheet)
    # A study of places begins with them; elsewhere they come after what was asked for.
    body = along + main if content.study else main + along
    body += parts_section(name, content, sheet) + (
        _distributions(name, content, sheet) if has_details else ""
    )
    times = _breakdowns(points, axes, sheet) if has_details else ""
    if times:
        lead = '<p class="lead">Where the channel’s time goes; the parts sum to 1.</p>'
        body += f'<h3>Channel time</h3>{lead}<div class="grid">{times}</div>'
    if is_apart or not study.against_hosts:
        body += _estimates(points, APART if is_apart else MAIN_METRICS)
    title = content.titles.get(name, "")
    if title and not content.study and len(content.scenarios) == 1:
        return section(anchor(name), "Results", thinned + body)  # the page's heading says the rest
    return section(
        anchor(name),
        name,
        (f'<p class="lead">{safe(title)}</p>' if title and title != name else "") + thinned + body,
    )


def _thinned(points: Sequence[Point]) -> str:
    text = notice(len(points))
    return f'<p class="lead">{text}</p>' if text else ""


def _network_section(name: str, points: Sequence[Point], content: Content, sheet: Sheet) -> str:
    """One series on a network: what was varied, its flows, its links, how long messages take, and a
    table of estimates.
    """
    together = _main(name, points, choose(points), FLOW_MAIN_METRICS, sheet, of_flows=True)
    together += _against_load(name, points, choose(points), sheet, of_flows=True)
    apart = flow_figures(name, content, sheet)
    # Flows of several kinds are told apart first: their mean is of nothing in particular.
    if apart and any(point.series == name for point in content.tables):
        body = apart + (f"<h3>All flows together</h3>{together}" if together else "")
    else:
        body = together + apart
    body += fairness_figures(name, content, sheet)
    parts = [point for point in content.tables or content.flows if point.series == name]
    body += clock_figures(points, parts, sheet)
    body += (
        network_tables(name, content)
        + _roofline(name, content, sheet)
        + _distributions(name, content, sheet)
    )
    body += _estimates(
        points,
        [
            metric
            for metric in (*FLOW_MAIN_METRICS, *CLOCK_MAIN_METRICS)
            if _has_some(points, metric)
        ],
    )
    title = content.titles.get(name, "")
    body = _thinned(points) + body
    if len(content.scenarios) == 1:
        return section(anchor(name), "Results", body)
    return section(
        anchor(name),
        name,
        (f'<p class="lead">{safe(title)}</p>' if title and title != name else "") + body,
    )


def _roofline(series: str, content: Content, sheet: Sheet) -> str:
    line = content.rooflines.get(series)
    if line is None:
        return ""
    lead = "What each stage of a path could carry alone, in its order, and what came through: of the flow and point nearest to a ceiling."
    return (
        f'<h3>Ceilings along the path</h3><p class="lead">{lead}</p>{roofline.figure(sheet, line)}'
    )


def _has_some(points: Sequence[Point], metric: Metric) -> bool:
    return any(_has(point, metric) and point.estimates[metric].value for point in points)


def anchor(series: str) -> str:
    """Return the id of a series' section."""
    return "series-" + re.sub(r"[^A-Za-z0-9_-]+", "-", series)


def _main(
    name: str,
    points: Sequence[Point],
    axes: Axes,
    graphs: Sequence[Metric],
    sheet: Sheet,
    *,
    of_flows: bool = False,
) -> str:
    metrics = [metric for metric in graphs if _is_worth_showing(points, metric)]
    drawn = []
    for metric in metrics:
        for panel in panels(points, axes, metric):
            title = metric.label.title + (f", {panel.title}" if panel.title else "")
            numbers = results.figure_table(panel, metric, axes, title=f"{name}, {title}")
            knees = _knees(panel, metric, axes)
            spec = {
                key: value
                for key, value in chart.lines(panel, metric, axes, knees=knees).items()
                if key != "title"
            }
            drawn.append(
                sheet.add(
                    spec,
                    title=title,
                    text=meaning(metric, of_flows=of_flows) + _said(knees, axes),
                    numbers=numbers,
                )
            )
    return f'<div class="grid">{"".join(drawn)}</div>' if drawn else ""


def _against_load(
    name: str, points: Sequence[Point], axes: Axes, sheet: Sheet, *, of_flows: bool = False
) -> str:
    """Draw voice against its offered load, if that is not one and the same along every curve."""
    known = [
        point
        for point in points
        if _has(point, Metric.VOICE_LOAD) and _has(point, Metric.VOICE_DELAY)
    ]
    loaded = [
        replace(
            point,
            point={
                **point.point,
                Metric.VOICE_LOAD: f"{point.estimates[Metric.VOICE_LOAD].value:.4g}",
            },
        )
        for point in known
    ]
    of = [
        tuple(keys(point)[key] for key in (*axes.panels, axes.curve, Metric.VOICE_LOAD) if key)
        for point in loaded
    ]
    if len(set(of)) < len(of) or len({place[-1] for place in of}) < FEWEST_LOADS:
        return ""
    along = Axes(Metric.VOICE_LOAD.value, "", axes.curve, axes.panels)
    figures = _main(name, loaded, along, VOICE_GRAPHS, sheet, of_flows=of_flows)
    over = (
        "the rate of the wire of which they take the largest share" if of_flows else "the line rate"
    )
    lead = f"The load is the bits of samples that coders make over {over}: without any overhead, silence included in the mean."
    return (
        f'<h3>Against offered voice load</h3><p class="lead">{lead}</p>{figures}' if figures else ""
    )


def _has(point: Point, metric: Metric) -> bool:
    return metric in point.estimates and math.isfinite(point.estimates[metric].value)


def _knees(panel: Panel, metric: Metric, axes: Axes) -> dict[str, Knee]:
    """Knees of delays against offered load, by curve."""
    if metric not in RISING or axes.x is None or not axes.x.endswith("load"):
        return {}
    found = {
        curve.name: rise(
            np.array([x for x, _ in curve.points]),
            np.array([estimate.value for _, estimate in curve.points]),
        )
        for curve in panel.curves
    }
    return {name: knee for name, knee in found.items() if knee is not None}


def _said(knees: Mapping[str, Knee], axes: Axes) -> str:
    if not knees:
        return ""
    places = ", ".join(
        f"{knee.x:g}" + (f" at {name}" if name else "") for name, knee in knees.items()
    )
    return (
        f" Diamonds mark the knee ({places}): up to the curve’s highest point, the point farthest below the line between the ends, "
        f"both axes scaled to run from 0 to 1; nearer than {CLEAR:g} it is none."
    )


def _distributions(name: str, content: Content, sheet: Sheet) -> str:
    drawn = []
    for selection, found in content.distributions.get(name, ()):
        kind = selection.kind
        title = f"Distribution of the {kind.delay} by {_small(key_title(selection.key))}"
        text = f"Share of {kind.counted} {kind.longer}, both axes logarithmic." + (
            f" {selection.fixed}." if selection.fixed else ""
        )
        table = distribution.percentiles(selection, found, title=f"{name}, {title}")
        drawn.append(
            sheet.add(
                distribution.figure(selection, found),
                title=title,
                text=text,
                numbers="",
                after=table,
            )
        )
    if not drawn:
        return ""
    kinds = {selection.kind for selection, _ in content.distributions[name]}
    counted = "messages" if any(kind.counted == "messages" for kind in kinds) else "frames"
    lead = f"The {counted} of all replications together. Percentiles are means over the replications, with 95% intervals from three on."
    if len(kinds) > 1 and counted == "frames":
        lead += (
            " The transmission delay begins when the transmitter takes a frame up, the voice delay with the oldest sample in it; "
            "the delay of samples is that of their frames, each counted as often as it has samples."
        )
    if {"voice_delay", "sample_delay"} & {
        kind.histogram for kind in kinds
    } and counted == "messages":
        lead += " The delay of voice begins with the oldest sample of a packet; that of samples counts each packet as often as it has some."
    return f'<h3>How long {counted} take</h3><p class="lead">{lead}</p><div class="grid">{"".join(drawn)}</div>'


def _estimates(points: Sequence[Point], metrics: Sequence[Metric]) -> str:
    present = [metric for metric in metrics if any(metric in point.estimates for point in points)]
    text = f'<div class="panel">{results.estimates_table(points, present)}</div>'
    return "<h3>Estimates</h3>" + (
        text
        if len(points) <= OPEN_TABLE_ROWS
        else f"<details><summary>{len(points)} points</summary>{text}</details>"
    )


def _is_worth_showing(points: Sequence[Point], metric: Metric) -> bool:
    """Whether a metric has a value at two points or more that is not always zero, and is not
    another's double.
    """
    values = [point.estimates[metric].value for point in points if metric in point.estimates]
    finite = [value for value in values if value == value]
    if metric is Metric.VOICE_LOAD:
        return False  # a parameter, which others are drawn against
    if metric is Metric.RESPONSE_TIME:
        for same in (Metric.TRANSMISSION_DELAY, Metric.VOICE_DELAY):
            if values == [
                point.estimates[same].value
                for point in points
                if metric in point.estimates and same in point.estimates
            ]:
                return False
        return len(finite) > 1
    return len(finite) > 1 and any(finite)


def _breakdowns(points: Sequence[Point], axes: Axes, sheet: Sheet) -> str:
    """Channel time against x for the first curve, and against the curves at the largest x."""
    known = [point for point in points if all(metric in point.estimates for metric in TIME_KINDS)]
    if axes.x is None or not known:
        return ""
    first = {key: keys(known[0])[key] for key in axes.panels}
    known = [
        point for point in known if all(keys(point)[key] == value for key, value in first.items())
    ]
    fixed = "".join(f", {key} = {value}" for key, value in first.items())
    x_title = key_title(axes.x)
    if axes.curve is None:
        known = spread(known, MOST_BARS)
        spec = chart.breakdown(known, axes.x, title=x_title)
        return sheet.add(
            spec,
            title="Channel time",
            text=f"Against {_small(x_title)}{fixed}.",
            numbers=_time_table(known, axes.x),
            kind="low",
        )
    curve_title = key_title(axes.curve)
    last = keys(known[-1])[axes.x]
    across = spread([point for point in known if keys(point)[axes.x] == last], MOST_BARS)
    start = keys(known[0])[axes.curve]
    along = spread([point for point in known if keys(point)[axes.curve] == start], MOST_BARS)
    return sheet.add(
        chart.breakdown(across, axes.curve, title=curve_title),
        title=f"Channel time by {_small(curve_title)}",
        text=f"{x_title}: {last}{fixed}.",
        numbers=_time_table(across, axes.curve),
        kind="low",
    ) + sheet.add(
        chart.breakdown(along, axes.x, title=x_title),
        title=f"Channel time by {_small(x_title)}",
        text=f"{curve_title}: {start}{fixed}.",
        numbers=_time_table(along, axes.x),
        kind="low",
    )


def _small(title: str) -> str:
    return title[:1].lower() + title[1:]


def _time_table(points: Sequence[Point], key: str) -> str:
    rows = [
        [safe(keys(point)[key]), *(f"{point.estimates[metric].value:.2%}" for metric in TIME_KINDS)]
        for point in points
    ]
    return table(
        [safe(key_title(key)), *TIME_KINDS.values()],
        rows,
        caption="Shares of channel time",
        kind="data",
    )
