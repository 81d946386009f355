"""Points of a search for a value: figures of the metrics of its conditions."""

import math
from collections.abc import Iterator, Sequence

from ethermeter.analysis.estimated import Interval
from ethermeter.analysis.value_search import SearchAnswer
from ethermeter.chart import Trace
from ethermeter.document import (
    Block,
    Figure,
    Grid,
    Label,
    Text,
    plain,
)
from ethermeter.json_values import number
from ethermeter.metrics import Metric
from ethermeter.report.plots import annotated
from ethermeter.results.interval import Estimate, exact

TRIED, LIMIT = "trials", "limit"
READING = (
    "Each value is the mean over its trials, of the flow that keeps the condition least; bands are "
    "95% intervals of single values."
)


def figures(answer: SearchAnswer) -> list[Block]:
    """Draw each condition against the values that were tried, with its limit and the answer."""
    found = list(_figures(answer))
    return [Text(READING, "lead"), Grid(found)] if found else []


def _figures(answer: SearchAnswer) -> Iterator[Figure]:
    points = answer.points
    whole = all(point.number.is_integer() for point in points)
    unit = answer.unit or ("" if whole else "dimensionless")
    x = Label(answer.key, unit, from_zero=False)
    for at, text in enumerate(answer.conditions):
        kept = [(point.number, point.conditions[at]) for point in points]
        curve = tuple(
            (of_x, found)
            for of_x, each in kept
            if math.isfinite((found := _estimate(each.estimate)).value)
        )
        if not curve:
            continue
        label, limit = Metric(kept[0][1].metric).label, kept[0][1].limit
        ends = (curve[0][0], curve[-1][0])
        lines = [Trace(TRIED, curve), _line(LIMIT, [(end, limit) for end in ends])]
        top = max(limit, *(found.value for _, found in curve))
        lines += [
            _line(name, [(value, 0.0), (value, top)]) for name, value in _ends(answer).items()
        ]
        chart = annotated(lines, (), x, label, "", most=None)
        yield Figure(chart, plain(text), plain(answer.key))


def _ends(answer: SearchAnswer) -> dict[str, float]:
    """Return the ends of the answer by their names in a figure."""
    low, high = (
        None if end is None else float(end.partition(" ")[0])
        for end in (answer.at_least, answer.at_most)
    )
    if low is not None and low == high:
        return {"answer": low}
    named = {"at least": low, "at most": high}
    return {name: value for name, value in named.items() if value is not None}


def _line(name: str, points: Sequence[tuple[float, float]]) -> Trace:
    return Trace(name, [(x, exact(y)) for x, y in points])


def _estimate(found: Interval) -> Estimate:
    value, low, high = (number(end) for end in (found.value, found.low, found.high))
    if math.isfinite(low) and math.isfinite(high):
        return Estimate(value, math.nan, math.nan, ends=(low, high))
    return Estimate(value, math.nan, math.nan)
