"""Series: the section of one series of a run."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ethermeter.analysis.curves import CLEAR, Knee, rise
from ethermeter.analysis.facts import BOUNDED
from ethermeter.analysis.flows import OF_MESSAGES
from ethermeter.analysis.frame_mixes import COUNT
from ethermeter.document import Block, Figure, Grid, Heading, Section, Text
from ethermeter.metrics import Metric
from ethermeter.metrics.main import FLOW_MAIN_METRICS, MAIN_METRICS, VOICE_GRAPHS
from ethermeter.report import roofline
from ethermeter.report.axes import Axes, Panel, choose, keys, panels
from ethermeter.report.data import ReportData
from ethermeter.report.labels import meaning
from ethermeter.report.plots import against
from ethermeter.report.sections.bounds import bound_blocks
from ethermeter.report.sections.bus import bus_blocks
from ethermeter.report.sections.capacity import capacity_blocks
from ethermeter.report.sections.channel import breakdown_blocks
from ethermeter.report.sections.clocks import CLOCK_MAIN_METRICS, clock_blocks
from ethermeter.report.sections.distribution import distribution_blocks
from ethermeter.report.sections.fairness import fairness_blocks
from ethermeter.report.sections.groups import group_blocks
from ethermeter.report.sections.network import flow_blocks, network_blocks
from ethermeter.report.sections.positions import position_blocks
from ethermeter.report.tables import estimates_table
from ethermeter.report.thinning import notice
from ethermeter.results.estimates import Point

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


def build(name: str, points: Sequence[Point], data: ReportData, *, is_only: bool) -> Section:
    """One series: main figures, stations, delays, and a table of estimates.

    `is_only` if the run has no other series and reproduces no study.
    """
    has_flows = any(Metric.MESSAGE_RATE in point.estimates for point in points)
    body = _flow_blocks(name, points, data) if has_flows else _station_blocks(name, points, data)
    title = data.titles.get(name, "")
    text = notice(len(points))
    blocks: list[Block] = [Text(text, "lead")] if text else []
    label = "Results" if is_only else name
    if len(data.scenarios) == 1 and (has_flows or (title and not data.study)):
        # The page's heading says the rest.
        return Section(anchor(name), label, "Results", [*blocks, *body])
    if title and title != name:
        blocks.insert(0, Text(title, "lead"))
    return Section(anchor(name), label, name, [*blocks, *body])


def _station_blocks(name: str, points: Sequence[Point], data: ReportData) -> list[Block]:
    """One series of stations on a medium."""
    axes = choose(points)
    study = data.presentation
    is_apart = study.against_hosts and axes.x != COUNT
    # A study draws what it compares itself.
    are_compared = bool(data.study) and axes.x_unit is None
    is_drawn = name in study.table_only or are_compared
    has_details = (
        study.has_details and not is_apart and (study.detailed is None or name in study.detailed)
    )
    positions = position_blocks([line for line in data.lines if line.series == name])
    graphs = (study.compared if positions else study.graphs) or MAIN_METRICS
    main: list[Block] = []
    if not (is_apart or is_drawn):
        main = _main(points, axes, graphs, are_apart=not data.study)
    if not is_apart and not data.study:
        main += _against_load(points, axes)
    # A study of positions begins with them; elsewhere they come after the metrics.
    body = [*positions, *main] if data.study else [*main, *positions]
    body += group_blocks(name, data)
    body += bus_blocks(name, data)
    if has_details:
        body += distribution_blocks(name, data)
        body += [] if are_compared else breakdown_blocks(points, axes)
    if is_apart or not study.against_hosts:
        body += _estimates(points, APART if is_apart else MAIN_METRICS)
    return body


def _flow_blocks(name: str, points: Sequence[Point], data: ReportData) -> list[Block]:
    """One series of flows between hosts: varied keys, flows, links, delays, estimates."""
    bounds = [*capacity_blocks(name, data), *bound_blocks(name, data)]
    # A bound is of largest values, which are drawn flow by flow.
    drawn = [point for point in points if point.engine != BOUNDED]
    if not drawn:
        return [*bounds, *_estimates(points, [Metric.ONE_WAY_DELAY_MAX])]
    axes = choose(drawn)
    # Flows of several kinds come first, and have times of their own: a mean over all of them is the
    # time of none.
    are_unlike = any(point.series == name for point in data.tables)
    main = [metric for metric in FLOW_MAIN_METRICS if not (are_unlike and metric in OF_MESSAGES)]
    together = _main(drawn, axes, main, entity="flow")
    together += _against_load(drawn, axes, entity="flow")
    apart = flow_blocks(name, data)
    if apart and are_unlike:
        body = [*apart, *([Heading("All flows together"), *together] if together else [])]
    else:
        body = [*together, *apart]
    body += fairness_blocks(name, data)
    flows = [point for point in data.tables or data.flows if point.series == name]
    body += clock_blocks(drawn, flows)
    body += network_blocks(name, data)
    body += _roofline(name, data)
    body += distribution_blocks(name, data)
    has_bounds = any(time.series == name for time in data.answers.times)
    shown = (*main, *([Metric.ONE_WAY_DELAY_MAX] if has_bounds else []))
    metrics = [metric for metric in (*shown, *CLOCK_MAIN_METRICS) if _has_some(points, metric)]
    return [*bounds, *body, *_estimates(points, metrics)]


def _roofline(series: str, data: ReportData) -> list[Block]:
    line = data.rooflines.get(series)
    if line is None:
        return []
    lead = (
        "What each stage of a path could carry alone, in its order, and what it carried: of the "
        "flow and point nearest to a ceiling."
    )
    return [Heading("Ceilings along the path"), Text(lead, "lead"), roofline.figure(line)]


def _has_some(points: Sequence[Point], metric: Metric) -> bool:
    return any(_has(point, metric) and point.estimates[metric].value for point in points)


def anchor(series: str) -> str:
    """Return the id of a series' section."""
    return "series-" + re.sub(r"[^A-Za-z0-9_-]+", "-", series)


def _main(
    points: Sequence[Point],
    axes: Axes,
    graphs: Sequence[Metric],
    *,
    entity: str = "station",
    are_apart: bool = True,
) -> list[Block]:
    drawn = []
    for metric in graphs:
        if not _is_worth_showing(points, metric):
            continue
        for panel in panels(points, axes, metric, are_apart=are_apart):
            title = metric.label.title + (f", {panel.title}" if panel.title else "")
            knees = _knees(panel, metric, axes)
            chart = against(panel, metric, axes, knees=knees)
            text = meaning(metric, entity) + _knee_text(knees)
            drawn.append(Figure(chart, title, text))
    return [Grid(drawn)] if drawn else []


def _against_load(points: Sequence[Point], axes: Axes, *, entity: str = "station") -> list[Block]:
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
        return []
    along = Axes(Metric.VOICE_LOAD.value, "", axes.curve, axes.panels)
    figures = _main(loaded, along, VOICE_GRAPHS, entity=entity)
    over = {
        "flow": "the rate of the wire of which they take the largest share",
        "station": "the line rate",
    }[entity]
    lead = (
        f"The load is the bits of samples that coders make over {over}: without any overhead, "
        "silence included in the mean."
    )
    heading: list[Block] = [Heading("Against offered voice load"), Text(lead, "lead")]
    return [*heading, *figures] if figures else []


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


def _knee_text(knees: Mapping[str, Knee]) -> str:
    if not knees:
        return ""
    places = ", ".join(
        f"{knee.x:g}" + (f" at {name}" if name else "") for name, knee in knees.items()
    )
    return (
        f" Diamonds mark the knee ({places}): up to the curve’s highest point, the point farthest"
        " below the line between the ends, both axes scaled to run from 0 to 1; nearer than"
        f" {CLEAR:g} it is none."
    )


def _estimates(points: Sequence[Point], metrics: Sequence[Metric]) -> list[Block]:
    present = [metric for metric in metrics if any(metric in point.estimates for point in points)]
    return [Heading("Estimates"), estimates_table(points, present, open_rows=OPEN_TABLE_ROWS)]


def _is_worth_showing(points: Sequence[Point], metric: Metric) -> bool:
    """Whether a metric has two values or more, not all zero, and is not another's double."""
    values = [point.estimates[metric].value for point in points if metric in point.estimates]
    finite = [value for value in values if value == value]
    if metric is Metric.VOICE_LOAD:
        return False  # a parameter, which others are drawn against
    if metric is Metric.RESPONSE_TIME:
        for same in (Metric.TRANSMISSION_DELAY, Metric.VOICE_DELAY):
            others = [
                point.estimates[same].value
                for point in points
                if metric in point.estimates and same in point.estimates
            ]
            # But for the last digits, which depend on the order of a sum.
            if len(others) == len(values) and np.allclose(
                values, others, rtol=1e-9, atol=0, equal_nan=True
            ):
                return False
        return len(finite) > 1
    return len(finite) > 1 and any(finite)
