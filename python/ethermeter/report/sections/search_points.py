"""Points of a search for a value: figures of the metrics of its conditions, and a table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ethermeter.chart import Trace
from ethermeter.document import (
    Block,
    Bullets,
    Figure,
    Grid,
    Label,
    Table,
    Text,
    plain,
    valued,
)
from ethermeter.json_values import number
from ethermeter.metrics import Metric
from ethermeter.report.plots import annotated
from ethermeter.results.interval import Estimate, exact

SHOWN = ("sentence", "points", "cautions", "bound", "conditions")
"""Keys of an answer that are shown here."""
TRIED, LIMIT = "trials", "limit"
READING = (
    "Each value is the mean over its trials, of the flow that keeps the condition least; bands are "
    "95% intervals of single values."
)
OPEN_ROWS = 16

Tree = Mapping[str, Any]


def blocks(answer: Tree) -> list[Block]:
    """Show the answer in words, its points as figures, and as a table."""
    found: list[Block] = [Text(plain(f"The {answer['sentence']}."))]
    if bound := answer["bound"]:
        found.append(Text(plain(_bound(bound))))
    if cautions := answer["cautions"]:
        found.append(Bullets([plain(each) for each in cautions]))
    figures = list(_figures(answer))
    if figures:
        found += [Text(READING, "lead"), Grid(figures)]
    return [*found, _table(answer)]


def _bound(bound: Tree) -> str:
    if bound["value"] is None:
        return f"No bound of {bound['what']}: {bound['why']}."
    return f"Bound: {bound['what']}: {bound['value']} {bound['unit']}; with it nothing is lost."


def _figures(answer: Tree) -> Iterator[Figure]:
    points: Sequence[Tree] = answer["points"]
    whole = all(float(point["number"]).is_integer() for point in points)
    unit = answer["unit"] or ("" if whole else "dimensionless")
    x = Label(answer["key"], unit, from_zero=False)
    for at, text in enumerate(answer["conditions"]):
        kept = [(point["number"], point["conditions"][at]) for point in points]
        curve = tuple(
            (of_x, found)
            for of_x, each in kept
            if math.isfinite((found := _estimate(each["estimate"])).value)
        )
        if not curve:
            continue
        label, limit = Metric(kept[0][1]["metric"]).label, float(kept[0][1]["limit"])
        ends = (curve[0][0], curve[-1][0])
        lines = [Trace(TRIED, curve), _line(LIMIT, [(end, limit) for end in ends])]
        top = max(limit, *(found.value for _, found in curve))
        lines += [
            _line(name, [(value, 0.0), (value, top)]) for name, value in _ends(answer).items()
        ]
        chart = annotated(lines, (), x, label, "", most=None)
        yield Figure(chart, plain(text), plain(answer["key"]))


def _ends(answer: Tree) -> dict[str, float]:
    """Return the ends of the answer by their names in a figure."""
    low, high = (
        None if answer[key] is None else float(str(answer[key]).partition(" ")[0])
        for key in ("at_least", "at_most")
    )
    if low is not None and low == high:
        return {"answer": low}
    named = {"at least": low, "at most": high}
    return {name: value for name, value in named.items() if value is not None}


def _line(name: str, points: Sequence[tuple[float, float]]) -> Trace:
    return Trace(name, [(x, exact(y)) for x, y in points])


def _estimate(found: Tree) -> Estimate:
    value, low, high = (number(found[key]) for key in ("value", "low", "high"))
    if math.isfinite(low) and math.isfinite(high):
        return Estimate(value, math.nan, math.nan, ends=(low, high))
    return Estimate(value, math.nan, math.nan)


def _table(answer: Tree) -> Table:
    head = [plain(answer["key"]), "Verdict", "Trials"]
    metrics: list[Metric] = []
    for at, text in enumerate(answer["conditions"]):
        metric = Metric(answer["points"][0]["conditions"][at]["metric"])
        metrics.append(metric)
        unit = f" ({metric.label.unit})" if metric.label.unit else ""
        head += [plain(f"{text}{unit}"), "Of"]
    rows = []
    for point in answer["points"]:
        row = [plain(point["value"]), point["verdict"], str(point["replications"])]
        for kept, metric in zip(point["conditions"], metrics, strict=True):
            row += [valued(_estimate(kept["estimate"]), metric.label), plain(kept["flow"])]
        rows.append(row)
    return Table(head, rows, "Values that were tried", open_rows=OPEN_ROWS)
