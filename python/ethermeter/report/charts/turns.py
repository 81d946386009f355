"""Turns: the longest times of the nodes of a bus beside its cycles, as bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethermeter.document import Label, VegaLite
from ethermeter.report.charts.frame import Json, frame, rounded

ROW = 17
"""Height of a bar with what is around it, in pixels."""
AROUND = 76
"""Height of axis, legend and the names of the cycles."""


@dataclass(frozen=True, slots=True)
class Times:
    """Nodes that are alike, with their longest times in s by name."""

    node: str
    longest_s: Mapping[str, float]


def turns(nodes: Sequence[Times], cycles_s: Mapping[str, float], label: Label) -> VegaLite:
    """Draw a bar for each time of each node, and a line across them for each cycle, in s."""
    names = list(dict.fromkeys(name for each in nodes for name in each.longest_s))
    rows: list[Json] = [
        {"n": each.node, "c": name, "x": rounded(time_s * label.factor)}
        for each in nodes
        for name, time_s in each.longest_s.items()
    ]
    along: Json = {
        "field": "x",
        "type": "quantitative",
        "title": label.axis,
        "scale": {"zero": True, "nice": False, "padding": 4},
        "axis": {"grid": True, "tickCount": 5, "labelFlush": True},
    }
    bars: Json = {
        "mark": {"type": "bar", "aria": False},
        "encoding": {
            "y": {
                "field": "n",
                "type": "nominal",
                "sort": [each.node for each in nodes],
                "title": None,
                "axis": {"labelLimit": 110, "grid": False, "domain": False},
            },
            "yOffset": {"field": "c", "type": "nominal", "scale": {"domain": names}},
            "x": along,
            "color": {
                "field": "c",
                "type": "nominal",
                "scale": {"domain": names},
                "legend": {
                    "title": None,
                    "orient": "bottom",
                    "columns": 1,
                    "labelLimit": 320,
                },
            },
            "tooltip": [
                {"field": "n", "title": "nodes"},
                {"field": "c", "title": "longest"},
                {"field": "x", "type": "quantitative", "title": label.axis, "format": ",.5~r"},
            ],
        },
    }
    bar_count = sum(len(each.longest_s) for each in nodes)
    longest = max(row["x"] for row in rows)
    layers = [bars, *(_across(cycles_s, along, label, longest) if cycles_s else [])]
    height = AROUND + ROW * bar_count
    return frame(rows, {"layer": layers}, len(names), height=height, top=4)


def _across(cycles_s: Mapping[str, float], along: Json, label: Label, longest: float) -> list[Json]:
    """Return lines for the cycles, with their names above, those of long ones to the left.

    `longest` is the longest bar, in the unit of the label. The names stand in rows of their own: on
    a narrow page they would meet.
    """
    rows = [
        {"x": rounded(time_s * label.factor), "t": f"{name} {time_s * label.factor:,.1f}"}
        for name, time_s in cycles_s.items()
    ]
    rule: Json = {"type": "rule", "strokeWidth": 1.4, "strokeDash": [5, 3], "aria": False}
    layers: list[Json] = [{"data": {"values": rows}, "mark": rule, "encoding": {"x": along}}]
    for at, (row, time_s) in enumerate(zip(rows, cycles_s.values(), strict=True)):
        is_long = time_s * label.factor > longest / 2
        mark: Json = {
            "type": "text",
            "align": "right" if is_long else "left",
            "baseline": "bottom",
            "y": -4 - 13 * at,
            "fontSize": 10.5,
            "aria": False,
        }
        encoding = {"x": along, "text": {"field": "t"}}
        layers.append({"data": {"values": [row]}, "mark": mark, "encoding": encoding})
    return layers
