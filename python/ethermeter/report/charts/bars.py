"""Bars: values side by side, for a few values of a key that need not be numbers."""

import math

from ethermeter.document import GroupedBars, VegaLite
from ethermeter.report.charts.frame import (
    Json,
    datum,
    frame,
    interval_rule,
    tooltip,
    values_as_texts,
)


def grouped_bars(chart: GroupedBars) -> VegaLite:
    """Draw grouped bars from zero, with whiskers for the 95% interval."""
    label, title = chart.y, chart.title
    names = list(dict.fromkeys(bar.name for bar in chart.bars))
    groups = list(dict.fromkeys(bar.group for bar in chart.bars))
    rows = [
        datum(bar.name, bar.group, bar.height, label.factor)
        for bar in chart.bars
        if math.isfinite(bar.height.value)
    ]
    most = max(entry["y"] for entry in rows)
    # A whisker may reach beyond the axis and is clipped, lest a wide interval flatten the bars.
    top = (
        min(max(entry.get("h", 0.0) or 0.0 for entry in [*rows, {"h": most * 1.05}]), 1.6 * most)
        or 1.0
    )
    axis: Json = {"labelAngle": 0, "grid": False, "labelLimit": 150, "labelOverlap": False}
    if chart.separator:
        axis["labelExpr"] = f"split(datum.label, '{chart.separator}')"
    across: Json = {
        "x": {"field": "x", "type": "ordinal", "title": title, "sort": groups, "axis": axis},
        "xOffset": {
            "field": "c",
            "type": "nominal",
            "scale": {"domain": names, "paddingInner": 0.12},
        },
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "title": label.axis,
        "scale": {"domain": [0, top], "nice": False},
    }
    layers: list[Json] = [
        {
            "transform": values_as_texts(label),
            "mark": {"type": "bar", "aria": False, "clip": True},
            "encoding": {
                **across,
                "y": y,
                "color": {
                    "field": "c",
                    "type": "nominal",
                    "scale": {"domain": names},
                    "legend": {"title": None, "columns": chart.columns},
                },
                "tooltip": tooltip(label, x_title=title, curve_title="stations", is_number=False),
            },
        }
    ]
    if any("l" in entry for entry in rows):
        ends = {**across, "y": {**y, "field": "l"}, "y2": {"field": "h"}}
        layers.append(interval_rule(ends))
    return frame(rows, {"layer": layers}, len(names), right=10)
