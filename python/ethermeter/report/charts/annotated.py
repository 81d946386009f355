"""Annotated curves: curves of a run with published points upon them."""

from ethermeter.document import AnnotatedCurves, Table, VegaLite, cell
from ethermeter.report.charts.frame import Json, datum, diamond, frame, hover, values_as_texts
from ethermeter.swept import quantity

_WIDE_NAME = 12
"""Letters from which names of curves stand one below the other."""


def annotated_curves(chart: AnnotatedCurves) -> VegaLite:
    """Draw curves in the order of their points, with marks upon them."""
    x, y, marks, most = chart.x, chart.y, chart.marks, chart.most
    names = [line.name for line in chart.lines]
    rows = [
        datum(line.name, float(f"{of_x.value * x.factor:.6g}"), of_y, y.factor) | {"n": at}
        for line in chart.lines
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
        {"tickMinStep": 1, "format": "d"} if not chart.order and not x.unit else {"tickCount": 8}
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
        "title": chart.legend,
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
    if not chart.order and any("l" in row for row in rows):
        # Against what was measured too, a band along one of the two axes would show only half.
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
        layers.append({"data": {"values": values}, "mark": diamond(), "encoding": common})
    of_x: Json = {"field": "x", "type": "quantitative", "title": x.axis, "format": ".4~r"}
    places: list[Json] = (
        [{"field": "n", "type": "quantitative", "title": chart.order}, of_x]
        if chart.order
        else [{**of_x, "format": ".6~g"}]
    )
    layers.append(
        {
            "transform": [{"filter": "isValid(datum.y)"}, *values_as_texts(y)],
            "params": [hover()],
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
                    {"field": "c", "title": chart.legend},
                    {"field": "caution", "title": "caution"},
                ],
            },
        }
    )
    return frame(rows, {"layer": layers}, len(names), is_ordered=is_ordered)


def annotated_numbers(chart: AnnotatedCurves, title: str) -> Table:
    """Tabulate curve, what orders the points, x and y with half widths; then what was published."""
    x, y, order = chart.x, chart.y, chart.order
    rows = [
        [
            line.name,
            *([f"{at:g}", cell(of_x, x.factor)] if order else [f"{of_x.value * x.factor:.6g}"]),
            cell(of_y, y.factor),
        ]
        for line in chart.lines
        for at, of_x, of_y in line.points
    ]
    rows += [
        [f"{name}, published", *(["–"] if order else []), f"{at:g}", f"{high * y.factor:g}"]
        for name, at, high in chart.marks
    ]
    return Table([chart.legend, *([order] if order else []), x.axis, y.axis], rows, title)
