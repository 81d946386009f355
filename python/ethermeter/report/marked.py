"""Marked: curves of a run with published points upon them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethermeter.analysis.interval import Estimate
from ethermeter.document import Label
from ethermeter.report.axes import quantity
from ethermeter.report.chart import HEIGHT, datum, values_as_texts
from ethermeter.report.theme import colours

Json = dict[str, Any]
Mark = tuple[str, float, float]
"""Curve, x, and y in its SI unit."""
_WIDE_NAME = 12
"""Letters from which names of curves stand one below the other."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: its name, and of every point what orders it, x and y."""

    name: str
    points: tuple[tuple[float, Estimate, Estimate], ...]


def marked_lines(
    lines: Sequence[Line],
    marks: Sequence[Mark],
    x: Label,
    y: Label,
    *,
    legend: str,
    order: str = "",
    most: float | None = None,
) -> Json:
    """Draw curves in the order of their points, so that one may turn back, with marks upon them.

    Parameters
    ----------
    lines
        At least one, with at least one point.
    marks
        Published points, each of a line.
    x, y
        What is along the axes; both begin at the values' or at zero.
    legend
        What the names of the lines are values of.
    order
        What orders the points, for the tooltip; empty where it is x itself, which then is no
        estimate and has no interval.
    most
        Value of y, in its unit, above which curves are cut off; the largest if not said.

    """
    names = [line.name for line in lines]
    rows = [
        datum(line.name, float(f"{of_x.value * x.factor:.6g}"), of_y, y.factor) | {"n": at}
        for line in lines
        for at, of_x, of_y in line.points
    ]
    is_ordered = all(quantity(name) for name in names)
    along: Json = {
        "field": "x",
        "type": "quantitative",
        "title": x.axis,
        "scale": {"zero": False, "nice": False, "padding": 6},
    }
    along["axis"] = (
        {"tickMinStep": 1, "format": "d"} if not order and not x.unit else {"tickCount": 8}
    )
    # Intervals may reach beyond and are clipped, lest a wide one flatten the curves.
    largest = max(row["y"] or 0.0 for row in rows)
    largest = max(largest, *(high * y.factor for _, _, high in marks)) if marks else largest
    top = largest * 1.02 if most is None else min(most, largest * 1.02)
    up: Json = {
        "field": "y",
        "type": "quantitative",
        "title": y.axis,
        "scale": {"domain": [0, top], "nice": True},
    }
    shown: Json = {
        "title": legend,
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "symbolOpacity": 1,
    }
    # On a narrow page four short names fit side by side, and long ones one below the other only.
    shown["columns"] = 1 if max(map(len, names)) > _WIDE_NAME else 4
    colour: Json = {
        "field": "c",
        "type": "nominal",
        "scale": {"domain": names},
        "legend": {**shown, "labelLimit": 320},
    }
    common: Json = {"x": along, "y": up, "color": colour}
    layers: list[Json] = []
    if not order and any("l" in row for row in rows):
        # Against what was measured too, a band along one of the two axes would say half.
        band: Json = {"type": "area", "opacity": 0.16, "clip": True, "aria": False}
        ends: Json = {"x": along, "y": {**up, "field": "l"}, "y2": {"field": "h"}, "color": colour}
        layers.append(
            {"transform": [{"filter": "isValid(datum.l)"}], "mark": band, "encoding": ends}
        )
    clipped: Json = {} if most is None else {"clip": True}
    layers.append(
        {
            "mark": {"type": "line", "strokeWidth": 1.6, "aria": False, **clipped},
            "encoding": {**common, "order": {"field": "n", "type": "quantitative"}},
        }
    )
    if marks:
        values = [
            {"x": at, "y": float(f"{high * y.factor:.6g}"), "c": name} for name, at, high in marks
        ]
        diamond: Json = {
            "type": "point",
            "shape": "diamond",
            "filled": True,
            "size": 110,
            "opacity": 1,
            "aria": False,
        }
        layers.append({"data": {"values": values}, "mark": diamond, "encoding": common})
    hover: Json = {
        "name": "hover",
        "select": {
            "type": "point",
            "on": "pointerover",
            "clear": "pointerout",
            "nearest": True,
            "fields": ["c"],
        },
    }
    of_x: Json = {"field": "x", "type": "quantitative", "title": x.axis, "format": ".4~r"}
    places: list[Json] = (
        [{"field": "n", "type": "quantitative", "title": order}, of_x]
        if order
        else [{**of_x, "format": ".6~g"}]
    )
    layers.append(
        {
            "transform": [{"filter": "isValid(datum.y)"}, *values_as_texts(y)],
            "params": [hover],
            "mark": {
                "type": "point",
                "filled": False,
                "strokeWidth": 1.3,
                "size": 13,
                "aria": False,
                **clipped,
            },
            "encoding": {
                **common,
                "tooltip": [
                    {"field": "value", "title": y.title},
                    {"field": "interval", "title": "95% interval"},
                    *places,
                    {"field": "c", "title": legend},
                    {"field": "caution", "title": "caution"},
                ],
            },
        }
    )
    return {
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "top": 2, "bottom": 2, "right": 12},
        "data": {"values": rows},
        "layer": layers,
        "usermeta": {
            "colours": {
                "light": colours(len(names), ground="light", is_ordered=is_ordered),
                "dark": colours(len(names), ground="dark", is_ordered=is_ordered),
            }
        },
    }
