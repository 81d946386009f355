"""Bars: one metric of several parts side by side, for a few values of a key that need not be
numbers.
"""

import math
from collections.abc import Sequence
from typing import Any

from ethermeter.analysis.estimates import Point
from ethermeter.document import Label, plain
from ethermeter.metrics import Metric
from ethermeter.report.axes import keys
from ethermeter.report.chart import HEIGHT, datum, tooltip, values_as_texts
from ethermeter.report.theme import colours


def bars(
    points: Sequence[Point], metric: Metric, *, label: Label, x: str, part: str, title: str
) -> dict[str, Any]:
    """Draw grouped bars from zero, with whiskers for the 95% interval.

    Parameters
    ----------
    points
        At least one with a finite value.
    x, part
        Keys of the points: what the groups of bars stand for, and the bars of a group.
    title
        Of the x axis.
    """
    names = list(dict.fromkeys(keys(point)[part] for point in points))
    places = list(dict.fromkeys(plain(keys(point)[x]) for point in points))
    rows = [
        datum(keys(point)[part], plain(keys(point)[x]), point.estimates[metric], label.factor)
        for point in points
        if math.isfinite(point.estimates[metric].value)
    ]
    most = max(entry["y"] for entry in rows)
    # A whisker may reach beyond the axis and is clipped, lest a wide interval flatten the bars.
    top = (
        min(max(entry.get("h", 0.0) or 0.0 for entry in [*rows, {"h": most * 1.05}]), 1.6 * most)
        or 1.0
    )
    across = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "title": title,
            "sort": places,
            "axis": {"labelAngle": 0, "grid": False, "labelLimit": 150, "labelOverlap": False},
        },
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
    layers: list[dict[str, Any]] = [
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
                    "legend": {"title": None, "columns": 3},
                },
                "tooltip": tooltip(label, x_title=title, curve_title="stations", is_number=False),
            },
        }
    ]
    if any("l" in entry for entry in rows):
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.l)"}],
                "mark": {
                    "type": "rule",
                    "strokeWidth": 1.4,
                    "aria": False,
                    "clip": True,
                    "tooltip": None,
                },
                "encoding": {**across, "y": {**y, "field": "l"}, "y2": {"field": "h"}},
            }
        )
    return {
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "top": 2, "bottom": 2, "right": 10},
        "data": {"values": rows},
        "layer": layers,
        "usermeta": {
            "colours": {
                "light": colours(len(names), ground="light", is_ordered=False),
                "dark": colours(len(names), ground="dark", is_ordered=False),
            }
        },
    }
