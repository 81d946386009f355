"""Clocks: delays by hosts' clocks beside the true ones, of a series on a network."""

import math
from collections.abc import Sequence
from dataclasses import replace

from ethermeter.analysis.groups import PART
from ethermeter.document import Block
from ethermeter.metrics import Metric
from ethermeter.report.sections.groups import metric_figures
from ethermeter.results.estimates import Point

CLOCK_MAIN_METRICS: tuple[Metric, ...] = (
    Metric.CLOCK_DELAY,
    Metric.SYNCHRONISED_DELAY,
    Metric.SYNCHRONISED_DELAY_P99,
    Metric.DELAY_ERROR,
    Metric.DELAY_UNCERTAINTY,
    Metric.CLOCK_OFFSET,
    Metric.CLOCK_OFFSET_UNCERTAINTY,
    Metric.CLOCK_DRIFT,
    Metric.CLOCK_DRIFT_UNCERTAINTY,
)
"""What a table of estimates has of clocks, where there are some."""


MOST_PARTS = 3
"""Tables of flows, or flows, that are shown one after the other."""


def clock_blocks(points: Sequence[Point], flows: Sequence[Point]) -> list[Block]:
    """Return figures of delays by clocks beside the true ones, and of the error.

    The error is drawn beside its bound. Empty where no clocks are read.

    Parameters
    ----------
    points
        Of all flows together: shown if all of them are read, for else true delays would be of
        others, too.
    flows
        The same of tables of flows, or of flows, by their name.

    """
    read: dict[str, list[Point]] = {}
    for point in flows:
        if _has(point, Metric.CLOCK_DELAY):
            read.setdefault(point.point[PART], []).append(point)
    if not read:
        return []
    if len(read) == len({point.point[PART] for point in flows}):
        return _figures(points, "")
    return [
        block
        for name, members in list(read.items())[:MOST_PARTS]
        for block in _figures(members, f": {name}")
    ]


def _figures(points: Sequence[Point], of: str) -> list[Block]:
    true = ("true", Metric.ONE_WAY_DELAY)
    body = _pair(
        points,
        true,
        ("by the clocks as they are", Metric.CLOCK_DELAY),
        f"Delays by the clocks as they are{of}",
        "The receiver’s clock when a message arrives less the sender’s when it arrived at its "
        "source: the delay, and how far the clocks differ.",
    )
    body += _pair(
        points,
        true,
        ("by comparing clocks", Metric.SYNCHRONISED_DELAY),
        f"Delays by comparing clocks{of}",
        "What a live test would tell: receivers ask their senders for the time over the same"
        " network. Means.",
    )
    return body + _pair(
        points,
        ("largest error", Metric.DELAY_ERROR),
        ("stated bound", Metric.DELAY_UNCERTAINTY),
        f"Error of comparing clocks{of}",
        "The farthest that a delay by comparing clocks was from the true one, which a simulation"
        " knows, and the bound that is stated.",
    )


def _pair(
    points: Sequence[Point],
    one: tuple[str, Metric],
    other: tuple[str, Metric],
    heading: str,
    lead: str,
) -> list[Block]:
    """Draw two metrics in one figure: the curves are called by their names."""
    known = [point for point in points if _has(point, one[1]) and _has(point, other[1])]
    metric = one[1]
    curves = [
        replace(point, point={**point.point, PART: name}, estimates={metric: point.estimates[of]})
        for point in known
        for name, of in (one, other)
    ]
    return metric_figures(curves, heading, lead, metrics=(metric,)) if curves else []


def _has(point: Point, metric: Metric) -> bool:
    return metric in point.estimates and math.isfinite(point.estimates[metric].value)
