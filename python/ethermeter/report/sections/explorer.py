"""Explorer: the section in which the reader chooses what is drawn."""

import math
from collections.abc import Sequence
from dataclasses import replace

from ethermeter.analysis.groups import PART
from ethermeter.document import Explorer, Section
from ethermeter.metrics import Metric
from ethermeter.metrics.main import FLOW_MAIN_METRICS, MAIN_METRICS
from ethermeter.report.axes import ENGINE, choose
from ethermeter.report.charts.explorer import distinguished, thinned
from ethermeter.report.data import ReportData
from ethermeter.report.sections import benchmark
from ethermeter.results.estimates import Point
from ethermeter.swept import varied_keys

FLOW = "flow"
ALL = "all together"
TITLE = "Choose what is drawn"
HOW = (
    "Any metric against any varied key. Point at a value to see it with its 95% interval; the"
    " address of the page keeps the choice."
)


def build(data: ReportData) -> Section | None:
    """Return the section; None of a benchmark, and of a run in which nothing is varied."""
    if benchmark.answer_of(data) is not None:
        return None
    if len({(point.series, tuple(point.point.items())) for point in data.points}) == 1:
        return None  # engines alone are no axis
    found = explorer_of(
        data.points, data.presentation.graphs or (), lines=ENGINE, parts=_parts(data)
    )
    if found is None:
        return None
    return Section("explore", "Explore", "Explore the results", [found])


def explorer_of(
    points: Sequence[Point],
    preferred: Sequence[Metric],
    *,
    lines: str,
    parts: tuple[str, Sequence[Point]] = ("", ()),
) -> Explorer | None:
    """Return an explorer of some points; None if they differ in nothing or no metric has values.

    Parameters
    ----------
    preferred
        Metrics of which the first that varies is drawn first; otherwise a main metric.
    lines
        Key whose values are distinguished by dashes.
    parts
        Points of single flows or groups of stations, and the key that has their names. The first
        view is of all together.
    """
    part, of_parts = parts
    total = len(points) + len(of_parts)
    if of_parts:
        # Thinned before they are copied: those of a large run would take much memory.
        points = thinned(points)
        places = set(map(_place, points))
        of_parts = [_named(part, each) for each in of_parts if _place(each) in places]
        points = [replace(point, point={**point.point, part: ALL}) for point in points]
    has_flows = any(Metric.MESSAGE_RATE in point.estimates for point in points)
    main = FLOW_MAIN_METRICS if has_flows else MAIN_METRICS
    order = [metric for metric in (*preferred, *main) if metric is not Metric.VOICE_LOAD]
    of_first = [point for point in points if point.series == points[0].series]
    points = [*points, *of_parts]
    varied = varied_keys([distinguished(point) for point in points])
    candidates = ((of, each) for of in (of_first, points) for each in (*order, *Metric))
    metric = next((each for of, each in candidates if _varies(of, each)), None)
    if metric is None or not varied:
        return None
    axes = choose(of_first)
    x = axes.x or axes.curve or varied[0]
    curve = "" if axes.curve in (None, x) else axes.curve
    points = thinned(points)
    text = HOW + _thinning(len(points), total)
    entity = "flow" if has_flows else "station"
    return Explorer(points, metric, x, curve or "", lines, TITLE, text, entity)


def _parts(data: ReportData) -> tuple[str, Sequence[Point]]:
    """Return the key and the points of flows, of tables of flows, or of groups of stations."""
    for key, points in ((FLOW, data.tables), (FLOW, data.flows), (PART, data.groups)):
        if len({point.point[PART] for point in points}) > 1:
            return key, points
    return "", ()


def _named(key: str, point: Point) -> Point:
    """Return the point of a flow or a group with its name under another key."""
    renamed = {(key if of == PART else of): text for of, text in point.point.items()}
    return replace(point, point=renamed)


def _place(point: Point) -> tuple[object, ...]:
    """Return what is the same for all together and for each flow or group."""
    bare = frozenset((key, text) for key, text in point.point.items() if key != PART)
    return point.series, point.engine, bare


def _varies(points: Sequence[Point], metric: Metric) -> bool:
    values = {point.estimates[metric].value for point in points if metric in point.estimates}
    return len({value for value in values if math.isfinite(value)}) > 1


def _thinning(kept: int, total: int) -> str:
    if kept == total:
        return ""
    return (
        f" {kept:,} of {total:,} points can be drawn here: values of the key with most of"
        " them at even distances, and the lowest and the highest value of every metric."
    )
