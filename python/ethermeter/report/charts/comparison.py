"""Comparisons: theories, simulations of what they assume, and the segment, in one drawing."""

import math
from collections.abc import Sequence

from ethermeter.document import Comparison, Label, Ladder, Table, Trace, VegaLite, cell
from ethermeter.report.charts.frame import (
    Json,
    datum,
    diamond,
    frame,
    hover,
    interval_rule,
    tooltip,
    values_as_texts,
)
from ethermeter.results.interval import Estimate

KINDS = {
    "theory": "theory",
    "world": "simulation of what it assumes",
    "segment": "simulation of the segment",
}


def comparison(chart: Comparison) -> VegaLite:
    """Draw traces against a number."""
    traces, label, x_title, domain = chart.traces, chart.y, chart.x_title, chart.domain
    rows = [_row(trace, x, estimate, label) for trace in traces for x, estimate in trace.points]
    names = _names(traces)
    x: Json = {
        "field": "x",
        "type": "quantitative",
        "title": x_title,
        "scale": {"zero": False, "nice": False, "padding": 6},
    }
    if chart.is_x_logarithmic:
        x |= {
            "scale": {"type": "log", "nice": False, "padding": 6},
            "axis": {"format": "~g", "tickCount": 4},
        }
    scale: Json = {
        "domain": list(domain),
        "nice": False,
        **({"type": "log"} if chart.is_y_logarithmic else {}),
    }
    y: Json = {"field": "y", "type": "quantitative", "title": label.axis, "scale": scale}
    if chart.is_y_logarithmic:
        y["axis"] = {"format": "~g", "values": _ticks(*domain)}
    layers = _layers(rows, x, y, _colour(names), label, x_title)
    if chart.marked:
        values = [{"x": at, "y": up, "c": name} for name, (at, up) in chart.marked.items()]
        encoding = {"x": x, "y": y, "color": _colour(names)}
        layers.append({"data": {"values": values}, "mark": diamond(size=120), "encoding": encoding})
    return _spec(rows, layers, names)


def ladder(chart: Ladder) -> VegaLite:
    """Draw traces against names, one below the other, with whiskers for the 95% intervals."""
    traces, label, places, domain = chart.traces, chart.value, chart.names, chart.domain
    rows = [
        _row(trace, x, estimate, label) | {"o": places.index(str(x))}
        for trace in traces
        for x, estimate in trace.points
    ]
    names = _names(traces)
    scale: Json = {"type": "log"} if chart.is_logarithmic else {"zero": False, "nice": True}
    value: Json = {
        "field": "y",
        "type": "quantitative",
        "title": label.axis,
        "scale": scale | ({"domain": list(domain)} if domain else {}),
    }
    if chart.is_logarithmic and domain:
        value["axis"] = {"format": "~g", "values": _ticks(*domain)}
    down: Json = {
        "field": "x",
        "type": "ordinal",
        "title": None,
        "sort": list(places),
        "axis": {"labelLimit": 150, "grid": True},
    }
    colour = _colour(names)
    # Later points are smaller, so that those that lie on one another are all seen.
    rows = [row | {"s": 100 * 0.6 ** names.index(row["c"])} for row in rows]
    size: Json = {"field": "s", "type": "quantitative", "scale": None, "legend": None}
    layers: list[Json] = []
    if chart.is_joined:
        joined = {
            "x": value,
            "y": down,
            "color": colour,
            "order": {"field": "o", "type": "quantitative"},
        }
        layers.append(
            {"mark": {"type": "line", "strokeWidth": 1.4, "aria": False}, "encoding": joined}
        )
    if any("l" in row for row in rows):
        ends = {"x": {**value, "field": "l"}, "x2": {"field": "h"}, "y": down, "color": colour}
        layers.append(interval_rule(ends))
    layers.append(
        {
            "transform": values_as_texts(label),
            "mark": {"type": "point", "filled": True, "opacity": 1, "aria": False},
            "encoding": {
                "x": value,
                "y": down,
                "color": colour,
                "size": size,
                "tooltip": _tooltip(label, "at", is_number=False),
            },
        }
    )
    return _spec(rows, layers, names)


def comparison_numbers(chart: Comparison | Ladder, title: str) -> Table:
    """Tabulate what, by which means, x, value and half width of its interval."""
    label = chart.y if isinstance(chart, Comparison) else chart.value
    rows = [
        [
            trace.name,
            KINDS[trace.kind],
            x if isinstance(x, str) else f"{x:.4g}",
            cell(estimate, label.factor),
        ]
        for trace in chart.traces
        for x, estimate in trace.points
    ]
    return Table(("Curve", "By", chart.x_title, label.axis), rows, title)


def _row(trace: Trace, x: float | str, estimate: Estimate, label: Label) -> Json:
    found = datum(
        trace.name, x if isinstance(x, str) else float(f"{x:.6g}"), estimate, label.factor
    ) | {"k": KINDS[trace.kind]}
    # A logarithmic axis has no place for an end at or below zero.
    if "l" in found and not (isinstance(found["l"], float) and isinstance(found["h"], float)):
        del found["l"], found["h"]
    return found


def _names(traces: Sequence[Trace]) -> list[str]:
    return list(dict.fromkeys(trace.name for trace in traces))


def _colour(names: Sequence[str]) -> Json:
    # On a narrow page long names fit one below the other only.
    longest = max(map(len, names))
    columns = 1 if longest > 20 else 2 if longest > 12 else 4
    legend = {
        "title": None,
        "columns": columns,
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "symbolOpacity": 1,
        "labelLimit": 260,
    }
    return {
        "field": "c",
        "type": "nominal",
        "scale": {"domain": list(names)},
        "legend": legend if len(names) > 1 else None,
    }


def _layers(
    rows: Sequence[Json], x: Json, y: Json, colour: Json, label: Label, x_title: str
) -> list[Json]:
    def of(kind: str) -> str:
        return f"datum.k === '{KINDS[kind]}'"

    def has(kind: str, key: str = "y") -> bool:
        return any(row["k"] == KINDS[kind] and key in row for row in rows)

    common: Json = {"x": x, "y": y, "color": colour}
    ends: Json = {"x": x, "y": {**y, "field": "l"}, "y2": {"field": "h"}, "color": colour}
    # The order of the points is the order of the plan, which a curve against a measured x keeps.
    sequence: Json = {"order": {"field": "n", "type": "quantitative"}}
    layers: list[Json] = []
    if has("segment", "l"):
        band = {"type": "area", "opacity": 0.16, "clip": True, "aria": False}
        layers.append(
            {
                "transform": [{"filter": f"{of('segment')} && isValid(datum.l)"}],
                "mark": band,
                "encoding": ends,
            }
        )
    if has("theory"):
        dashed = {
            "type": "line",
            "strokeWidth": 1.5,
            "strokeDash": [5, 3],
            "clip": True,
            "aria": False,
        }
        layers.append({"transform": [{"filter": of("theory")}], "mark": dashed, "encoding": common})
    if has("segment"):
        solid = {"type": "line", "strokeWidth": 1.8, "clip": True, "aria": False}
        layers.append(
            {"transform": [{"filter": of("segment")}], "mark": solid, "encoding": common | sequence}
        )
    if has("world", "l"):
        layers.append(interval_rule(ends, only=f"{of('world')} && ", width=1.3))
    size: Json = {
        "condition": [{"test": of("theory"), "value": 0}, {"test": of("world"), "value": 34}],
        "value": 15,
    }
    layers.append(
        {
            "transform": [{"filter": "isValid(datum.y)"}, *values_as_texts(label)],
            "params": [hover()],
            "mark": {"type": "point", "filled": False, "strokeWidth": 1.4, "aria": False},
            "encoding": {
                **common,
                "size": size,
                "tooltip": _tooltip(label, x_title, is_number=True),
            },
        }
    )
    return layers


def _tooltip(label: Label, x_title: str, *, is_number: bool) -> list[Json]:
    *first, cautions = tooltip(label, x_title=x_title, curve_title="curve", is_number=is_number)
    return [*first, {"field": "k", "title": "by"}, cautions]


def _spec(rows: Sequence[Json], layers: Sequence[Json], names: Sequence[str]) -> VegaLite:
    return frame([row | {"n": at} for at, row in enumerate(rows)], {"layer": layers}, len(names))


def _ticks(low: float, high: float) -> list[float]:
    """List the powers of ten between the ends, ends included.

    Where there is room, twice and five times these as well.
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 300 else (1,)
    found = [
        float(f"{factor * 10.0**exponent:.6g}") for exponent in exponents for factor in factors
    ]
    return [tick for tick in found if low <= tick <= high]
