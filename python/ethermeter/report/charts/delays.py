"""Delays of flows on one axis: bounds and means by theory, simulated and measured values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ethermeter.document import Label, VegaLite
from ethermeter.report.charts.frame import Json, frame, rounded

ROW = 30
"""Height of a line of a flow, in pixels."""
AROUND = 62
"""Height of what is around the lines."""
NAMES = ("theory", "simulated", "measured")
"""What values come from; each has its colour and its line within a flow."""


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a flow that come from one of `NAMES`; all in s, above 0."""

    flow: str
    name: str
    mean_s: float
    most_s: float  # Largest value, or the bound of theory
    percentiles: Sequence[tuple[str, float]] = field(default=())  # In rising order, with names


def delays(lines: Sequence[Line], label: Label) -> VegaLite:
    """Draw the lines of each flow, one below the other, on a logarithmic axis.

    A dot is a mean, ticks are percentiles, a square is the largest value, a tall bar the bound.
    """
    flows = list(dict.fromkeys(line.flow for line in lines))
    names = [name for name in NAMES if any(line.name == name for line in lines)]
    rows = [row for line in lines for row in _rows(line, label.factor)]
    up: Json = {
        "field": "f",
        "type": "nominal",
        "sort": flows,
        "title": None,
        "axis": {"labelLimit": 110, "grid": False, "domain": False},
    }
    offset: Json = {"field": "c", "type": "nominal", "scale": {"domain": names}}
    across: Json = {
        "field": "x",
        "type": "quantitative",
        "title": label.axis,
        "scale": {"type": "log", "nice": False, "padding": 8},
        "axis": {"format": ",.6~r", "labelOverlap": True, "grid": True, "tickCount": 6},
    }
    colour: Json = {
        "field": "c",
        "type": "nominal",
        "scale": {"domain": names},
        "legend": {"title": None, "columns": 3},
    }
    common: Json = {"y": up, "yOffset": offset, "color": colour}
    shown: list[Json] = [
        {"field": "f", "title": "flow"},
        {"field": "k", "title": "value"},
        {"field": "x", "type": "quantitative", "title": label.axis, "format": ".5~r"},
        {"field": "c", "title": "by"},
    ]
    layers: list[Json] = [
        _layer(
            "isValid(datum.x2)",
            {"type": "rule", "strokeWidth": 1.2, "tooltip": None},
            {**common, "x": across, "x2": {"field": "x2"}},
        ),
        _layer(
            "datum.m === 'tick'",
            {"type": "tick", "thickness": 1.4, "bandSize": 9},
            {**common, "x": across, "tooltip": shown},
        ),
        _layer(
            "datum.m === 'bound'",
            {"type": "tick", "thickness": 3, "bandSize": 18},
            {**common, "x": across, "tooltip": shown},
        ),
        _layer(
            "datum.m === 'largest' || datum.m === 'mean'",
            {"type": "point", "filled": True, "size": 52, "opacity": 1},
            {
                **common,
                "x": across,
                "shape": {
                    "field": "m",
                    "type": "nominal",
                    "scale": {"domain": ["mean", "largest"], "range": ["circle", "square"]},
                    "legend": None,
                },
                "tooltip": shown,
            },
        ),
    ]
    height = AROUND + ROW * len(flows) * max(1, len(names)) * 2 // 3
    return frame(rows, {"layer": layers}, len(names), height=height)


def _layer(only: str, mark: Json, encoding: Json) -> Json:
    return {
        "transform": [{"filter": only}],
        "mark": {**mark, "aria": False},
        "encoding": encoding,
    }


def _rows(line: Line, factor: float) -> list[Json]:
    """Rows of a line: its values, and the span from the smallest to the largest of them."""
    is_theory = line.name == "theory"
    most = ("bound", "bound") if is_theory else ("largest", "largest")
    values = [
        ("mean", "mean by queueing theory" if is_theory else "mean", line.mean_s),
        *(("tick", name, value_s) for name, value_s in line.percentiles),
        (*most, line.most_s),
    ]
    known = [(mark, name, value_s) for mark, name, value_s in values if value_s > 0]
    rows: list[Json] = [
        {"f": line.flow, "c": line.name, "m": mark, "k": name, "x": rounded(value_s * factor)}
        for mark, name, value_s in known
    ]
    if len(known) > 1:
        ends = [value_s * factor for _, _, value_s in known]
        rows.append(
            {
                "f": line.flow,
                "c": line.name,
                "m": "span",
                "x": rounded(min(ends)),
                "x2": rounded(max(ends)),
            }
        )
    return rows
