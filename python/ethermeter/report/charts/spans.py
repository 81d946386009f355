"""Spans as Vega-Lite: values in rows, with lines from the lowest to the highest."""

from collections.abc import Sequence
from dataclasses import replace

from ethermeter.chart import Sign, Span, Spans
from ethermeter.report.charts import frame
from ethermeter.report.charts.frame import Json
from ethermeter.results.interval import Estimate

_BELOW = 7
"""How far below the middle of its row a ceiling is drawn; its name stands above it, so that narrow
screens have room for both.
"""
_DOT: Json = {"type": "point", "filled": True, "size": 52, "opacity": 1}
_SIGNS: dict[Sign, Json] = {
    "percentile": {"type": "tick", "thickness": 1.4, "bandSize": 9},
    "bound": {"type": "tick", "thickness": 3, "bandSize": 18},
    "deadline": {**_DOT, "shape": "triangle-left", "size": 90},
    "mean": {**_DOT, "shape": "circle"},
    "largest": {**_DOT, "shape": "square"},
    "point": {"type": "point", "filled": True, "opacity": 1},
    "ceiling": {"type": "tick", "thickness": 3, "size": 14, "yOffset": _BELOW},
    "instant": {"type": "tick", "thickness": 1.4, "size": 12, "yOffset": _BELOW},
}
_BAR: Json = {"width": 5, "opacity": 0.35, "yOffset": _BELOW, "y2Offset": _BELOW}
"""Of the interval of a ceiling."""
_TIME: Json = {**_BAR, "width": 12, "opacity": 0.6}
"""Of the time from one instant to another."""


def spans(chart: Spans) -> Json:
    """Draw spans."""
    names = list(chart.names or dict.fromkeys(span.name for span in chart.spans))
    listed = list(chart.rows.of or dict.fromkeys(span.row for span in chart.spans))
    rows = [row for span in chart.spans for row in _rows(span, chart)]
    # Later points are smaller, so that those that lie on one another are all seen.
    sizes = {name: 100 * 0.6**at for at, name in enumerate(names)}
    rows = [row | {"s": sizes[row["c"]], "o": listed.index(row["x"])} for row in rows]
    value = frame.along("y", chart.value)
    common: Json = {"x": value, "y": frame.at_names("x", listed, replace(chart.rows, title=""))}
    common["color"] = frame.colour(names, chart.legend)
    if chart.is_beside:
        common["yOffset"] = {"field": "c", "type": "nominal", "scale": {"domain": names}}
    layers: list[Json] = [{"encoding": common, "layer": _layers(chart, rows)}]
    if not chart.rows.is_written:
        layers.append(_headings(common["y"], listed))
    if chart.limit is not None:
        layers += _limit(*chart.limit, value)
    return frame.specification(rows, {"layer": layers}, len(names), chart.box)


def _rows(span: Span, chart: Spans) -> list[Json]:
    """Return a row of data for each value, and one for the line between the outermost."""
    rows: list[Json] = []
    for sign, says, value in span.values:
        row = frame.datum(span.name, span.row, value, chart.value.label) | {"m": sign, "k": says}
        rows.append(row | dict(span.notes or {}))
    if span.text and rows:
        rows[-1] |= {"t": span.text, "b": rows[-1].get("h", rows[-1]["y"])}
    ends = [row["y"] for row in rows]
    if span.is_drawn_out and len(rows) > 1 and None not in ends:
        of = {"x": span.row, "c": span.name, "m": "", "l": min(ends), "h": max(ends)}
        rows.append(of)
    return rows


def _layers(chart: Spans, rows: Sequence[Json]) -> list[Json]:
    """Return lines, whiskers, what is drawn at values, and texts."""
    ends: Json = {"x": {"field": "l"}, "x2": {"field": "h"}}
    signs = [sign for sign in _SIGNS if any(row["m"] == sign for row in rows)]
    layers: list[Json] = []
    if chart.is_joined:
        order = {"order": {"field": "o", "type": "quantitative"}}
        layers.append(frame.layer({"type": "line", "strokeWidth": 1.4}, order))
    if any("l" in row for row in rows):
        look = {"width": 1.4 if "point" in signs else 1.2}
        look = _TIME if "instant" in signs else _BAR if "ceiling" in signs else look
        layers.append(frame.whiskers(ends, **look))
    written = frame.texts(chart.tips, chart.value.label.unit)
    for sign in signs:
        encoding: Json = {"tooltip": frame.tooltip(chart.tips)}
        if sign == "point":
            size = {"field": "s", "type": "quantitative", "scale": None, "legend": None}
            encoding["size"] = size
        only = f"datum.m === '{sign}'"
        drawn = frame.layer(_SIGNS[sign], encoding, only)
        layers.append(drawn | {"transform": [*drawn["transform"], *written]})
    if any("t" in row for row in rows):
        # Beyond the interval, so that it is not printed over it.
        mark = {"type": "text", "align": "left", "dx": 7, "dy": _BELOW, "baseline": "middle"}
        encoding = {"x": {"field": "b"}, "text": {"field": "t"}}
        layers.append(frame.layer(mark | {"fontSize": 10.5}, encoding, "isValid(datum.t)"))
    return layers


def _headings(rows: Json, names: Sequence[str]) -> Json:
    """Return the layer of names above their rows, instead of along the axis."""
    each = [{"x": name} for name in names]
    mark = {"type": "text", "align": "left", "dx": 3, "dy": -3, "baseline": "bottom", "x": 0}
    return frame.layer(mark | {"fontSize": 11}, {"y": rows, "text": {"field": "x"}}, rows=each)


def _limit(of: Estimate, text: str, along_x: Json) -> list[Json]:
    """Return a line across all rows, with its text above, and the band of its interval."""
    rows = [{"y": of.value, "t": text}]
    rule = {"type": "rule", "strokeWidth": 1.6, "strokeDash": [5, 3], "tooltip": None}
    mark = {"type": "text", "align": "center", "baseline": "bottom", "y": -5, "fontSize": 11}
    written = {"x": along_x, "text": {"field": "t"}}
    layers = [frame.layer(rule, {"x": along_x}, rows=rows)]
    layers.append(frame.layer(mark | {"fontWeight": 600}, written, rows=rows))
    if of.has_interval and of.error > 0:
        band = [{"l": max(of.low, of.value / 10), "h": of.high}]
        ends = {"x": {**along_x, "field": "l"}, "x2": {"field": "h"}}
        layers.insert(0, frame.layer({"type": "rect", "opacity": 0.12}, ends, rows=band))
    return layers
