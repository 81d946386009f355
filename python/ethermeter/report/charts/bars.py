"""Bars as Vega-Lite: side by side or stacked, standing, lying, or as wide as time lasted."""

from collections.abc import Mapping, Sequence

from ethermeter.chart import Axis, Bars
from ethermeter.quantities import number
from ethermeter.report.charts import frame
from ethermeter.report.charts.frame import Json
from ethermeter.results.interval import Estimate

_ROW = 13
"""Height of the name of a line across, in pixels."""


def bars(chart: Bars) -> Json:
    """Draw bars."""
    names = list(chart.names or dict.fromkeys(bar.name for bar in chart.bars))
    lasting = isinstance(chart.places, Axis)
    rows = _parts(chart) if lasting else _rows(chart, names)
    body = _lasting(chart, names) if lasting else _placed(chart, names, rows)
    spec = frame.specification(rows, body, len(names), chart.box, chart.palette)
    return {**spec, "title": chart.title} if chart.title else spec


def _rows(chart: Bars, names: Sequence[str]) -> list[Json]:
    found = []
    for bar in chart.bars:
        row = frame.datum(bar.name, str(bar.place), bar.height, chart.value.label)
        if row["y"] is not None:
            found.append(row | ({"o": names.index(bar.name)} if chart.is_stacked else {}))
    return found


def _placed(chart: Bars, names: Sequence[str], rows: Sequence[Json]) -> Json:
    """Return encoding and layers of bars at names."""
    assert not isinstance(chart.places, Axis), "bars that last are drawn otherwise"
    at, to = ("y", "x") if chart.is_lying else ("x", "y")
    value = frame.along("y", chart.value, _domain(rows) if chart.value.is_rounded else None)
    shown = dict.fromkeys(row["x"] for row in rows)
    common: Json = {at: frame.at_names("x", list(shown), chart.places), to: value}
    own: Json = {"color": frame.colour(names, chart.legend), "tooltip": frame.tooltip(chart.tips)}
    if chart.is_stacked:
        value["stack"] = "zero"
        own["order"] = {"field": "o", "type": "quantitative"}
    else:
        scale = {"domain": names, **({"paddingInner": chart.gap} if chart.gap else {})}
        common[f"{at}Offset"] = {"field": "c", "type": "nominal", "scale": scale}
    thickness = "height" if chart.is_lying else "width"
    mark: Json = {"type": "bar", **({thickness: {"band": chart.share}} if chart.share else {})}
    written = frame.texts(chart.tips, chart.value.label.unit)
    drawn = frame.layer(mark | ({"clip": True} if chart.value.is_rounded else {}), own)
    layers = [drawn | ({"transform": written} if written else {})]
    if not chart.is_stacked and any("l" in row for row in rows):
        layers.append(frame.whiskers({to: {"field": "l"}, f"{to}2": {"field": "h"}}))
    body: Json = {"encoding": common, "layer": layers}
    if not chart.across:
        return body
    return {"layer": [body, *_across(chart.across, value, max(row["y"] for row in rows), chart)]}


def _domain(rows: Sequence[Json]) -> tuple[float, float]:
    """Return zero and a little more than the largest bar.

    A whisker may reach beyond and is clipped, lest a wide interval flatten the bars.
    """
    most = max(row["y"] for row in rows)
    ends = (row.get("h", 0.0) or 0.0 for row in [*rows, {"h": most * 1.05}])
    return 0.0, min(max(ends), 1.6 * most) or 1.0


def _across(across: Mapping[str, float], value: Json, longest: float, chart: Bars) -> list[Json]:
    """Return lines across lying bars, with their names above, those of long ones to the left.

    `longest` is the longest bar, in the unit shown. The names stand in rows of their own: on a
    narrow page they would meet.
    """
    found = {name: each * chart.value.label.factor for name, each in across.items()}
    rows = [{"y": frame.rounded(at), "t": f"{name} {number(at)}"} for name, at in found.items()]
    rule: Json = {"type": "rule", "strokeWidth": 1.4, "strokeDash": [5, 3]}
    layers = [frame.layer(rule, {"x": value}, rows=rows)]
    for at, row in enumerate(rows):
        side = "right" if list(found.values())[at] > longest / 2 else "left"
        mark = {"type": "text", "align": side, "baseline": "bottom", "fontSize": 10.5}
        encoding = {"x": value, "text": {"field": "t"}}
        layers.append(frame.layer(mark | {"y": -4 - _ROW * at}, encoding, rows=[row]))
    return layers


def _parts(chart: Bars) -> list[Json]:
    """Return stacked parts by the times from which and until which they last, in s."""
    below: dict[object, float] = {}
    rows: list[Json] = []
    for bar in chart.bars:
        assert isinstance(bar.place, tuple), "bars along the time last"
        assert not isinstance(bar.height, Estimate), "parts over time have no interval"
        low = below.get(bar.place, 0.0)
        below[bar.place] = low + bar.height
        if bar.height > 0:
            begin, end = map(frame.rounded, bar.place)
            ends = {"l": frame.rounded(low), "h": frame.rounded(low + bar.height)}
            rows.append(
                {"x": begin, "e": end, **ends, "c": bar.name, "s": frame.rounded(bar.height)}
            )
    return rows


def _lasting(chart: Bars, names: Sequence[str]) -> Json:
    """Return the layers of stacked parts along the time, with rules at the ends of the window."""
    assert isinstance(chart.places, Axis), "bars at names are drawn otherwise"
    time = frame.along("x", chart.places)
    ends = {
        "x": time,
        "x2": {"field": "e"},
        "y": frame.along("l", chart.value),
        "y2": {"field": "h"},
    }
    shown = {"color": frame.colour(names, chart.legend), "tooltip": frame.tooltip(chart.tips)}
    layers = [frame.layer({"type": "rect", "clip": True}, ends | shown)]
    if chart.window is not None:
        edges = [{"x": edge} for edge in chart.window]
        rule = {"type": "rule", "strokeDash": [4, 3], "tooltip": None}
        layers.append(frame.layer(rule, {"x": time}, rows=edges))
    return {"layer": layers}
