"""Explorer: the section in which the reader chooses what is drawn."""

import math
from collections.abc import Sequence

from ethermeter.analysis.estimates import Point
from ethermeter.document import Explorer, Section
from ethermeter.metrics import Metric
from ethermeter.report.axes import ENGINE
from ethermeter.report.charts.explorer import distinguished, thinned, varied_keys
from ethermeter.report.data import ReportData
from ethermeter.report.labels import FLOW_MAIN_METRICS, MAIN_METRICS

TITLE = "Choose what is drawn"
HOW = (
    "Any metric against any varied key. Point at a value to see it with its 95% interval; the"
    " address of the page keeps the choice."
)


def build(data: ReportData) -> Section | None:
    """Return the section; None of a run in which nothing is varied."""
    found = explorer_of(data.points, data.presentation.graphs or (), lines=ENGINE)
    if found is None:
        return None
    return Section("explore", "Explore", "Explore the results", [found])


def explorer_of(
    points: Sequence[Point], preferred: Sequence[Metric], *, lines: str
) -> Explorer | None:
    """Return an explorer of some points; None if they differ in nothing or no metric has values.

    Parameters
    ----------
    preferred
        Metrics of which the first that varies is drawn first; otherwise a main metric.
    lines
        Key whose values are distinguished by dashes.
    """
    if not varied_keys([distinguished(point) for point in points]):
        return None
    of_flows = any(Metric.MESSAGE_RATE in point.estimates for point in points)
    main = FLOW_MAIN_METRICS if of_flows else MAIN_METRICS
    order = [metric for metric in (*preferred, *main) if metric is not Metric.VOICE_LOAD]
    of_first = [point for point in points if point.series == points[0].series]
    metric = next((each for each in (*order, *Metric) if _varies(of_first, each)), None)
    if metric is None:
        return None
    text = HOW + _thinning(points)
    return Explorer(points, metric, lines, TITLE, text, of_flows=of_flows)


def _varies(points: Sequence[Point], metric: Metric) -> bool:
    values = {point.estimates[metric].value for point in points if metric in point.estimates}
    return len({value for value in values if math.isfinite(value)}) > 1


def _thinning(points: Sequence[Point]) -> str:
    kept = len(thinned(points))
    if kept == len(points):
        return ""
    return (
        f" {kept:,} of {len(points):,} points can be drawn here: values of the key with most of"
        " them at even distances, and the lowest and the highest value of every metric."
    )
