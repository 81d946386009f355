"""Contrast: theories, simulations of what they assume, and the segment as it is, in one drawing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ethermeter.document import Label
from ethermeter.report.chart import HEIGHT, datum, values_as_texts
from ethermeter.report.html import safe, table
from ethermeter.report.results import cell
from ethermeter.report.theme import colours
from ethermeter.studies.myths.curves import Trace

Json = dict[str, Any]
KINDS = {
    "theory": "theory",
    "world": "simulation of what it assumes",
    "segment": "simulation of the segment",
}
LEGEND = "Dashed: theory. Open points: simulation of what it assumes. Solid: simulation of the segment. Bands and whiskers: 95%."


def contrast(
    traces: Sequence[Trace],
    label: Label,
    *,
    x_title: str,
    domain: tuple[float, float],
    is_x_logarithmic: bool = False,
    is_y_logarithmic: bool = False,
    marked: Mapping[str, tuple[float, float]] | None = None,
) -> Json:
    """Draw traces against a number.

    Parameters
    ----------
    traces
        At least one with a point; x are numbers.
    label
        Of y.
    domain
        Of y, in the label's unit; what lies beyond is clipped.
    marked
        A place of a trace, by its name, that gets a diamond; in the label's unit.

    """
    rows = [_row(trace, x, estimate, label) for trace in traces for x, estimate in trace.points]
    names = _names(traces)
    x: Json = {
        "field": "x",
        "type": "quantitative",
        "title": x_title,
        "scale": {"zero": False, "nice": False, "padding": 6},
    }
    if is_x_logarithmic:
        x |= {
            "scale": {"type": "log", "nice": False, "padding": 6},
            "axis": {"format": "~g", "tickCount": 4},
        }
    scale: Json = {
        "domain": list(domain),
        "nice": False,
        **({"type": "log"} if is_y_logarithmic else {}),
    }
    y: Json = {"field": "y", "type": "quantitative", "title": label.axis, "scale": scale}
    if is_y_logarithmic:
        y["axis"] = {"format": "~g", "values": _ticks(*domain)}
    layers = _layers(rows, x, y, _colour(names), label, x_title)
    if marked:
        values = [{"x": at, "y": up, "c": name} for name, (at, up) in marked.items()]
        mark = {
            "type": "point",
            "shape": "diamond",
            "filled": True,
            "size": 120,
            "opacity": 1,
            "aria": False,
        }
        layers.append(
            {
                "data": {"values": values},
                "mark": mark,
                "encoding": {"x": x, "y": y, "color": _colour(names)},
            }
        )
    return _spec(rows, layers, names)


def ladder(
    traces: Sequence[Trace],
    label: Label,
    *,
    places: Sequence[str],
    is_joined: bool,
    is_logarithmic: bool = False,
    domain: tuple[float, float] | None = None,
) -> Json:
    """Draw traces against names, one below the other, with whiskers for the 95% intervals.

    Parameters
    ----------
    traces
        At least one with a point; x are names.
    label
        Of the values.
    places
        The names, from the top.
    is_joined
        Whether the points of a trace are one another's steps.
    domain
        Of the values, in the label's unit; by default whatever they need.

    """
    rows = [
        _row(trace, x, estimate, label) | {"o": places.index(str(x))}
        for trace in traces
        for x, estimate in trace.points
    ]
    names = _names(traces)
    scale: Json = {"type": "log"} if is_logarithmic else {"zero": False, "nice": True}
    value: Json = {
        "field": "y",
        "type": "quantitative",
        "title": label.axis,
        "scale": scale | ({"domain": list(domain)} if domain else {}),
    }
    if is_logarithmic and domain:
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
    if is_joined:
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
                "encoding": {
                    "x": {**value, "field": "l"},
                    "x2": {"field": "h"},
                    "y": down,
                    "color": colour,
                },
            }
        )
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


def numbers(traces: Sequence[Trace], label: Label, *, x_title: str, caption: str) -> str:
    """Numbers of a figure as a table: what, by which means, x, value and half width of its
    interval.
    """
    rows = [
        [
            safe(trace.name),
            KINDS[trace.kind],
            safe(x) if isinstance(x, str) else f"{x:.4g}",
            cell(estimate, label.factor),
        ]
        for trace in traces
        for x, estimate in trace.points
    ]
    return table(
        ("Curve", "By", safe(x_title), safe(label.axis)), rows, caption=caption, kind="data"
    )


def _row(trace: Trace, x: float | str, estimate: Any, label: Label) -> Json:
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
        whisker = {"type": "rule", "strokeWidth": 1.3, "clip": True, "aria": False, "tooltip": None}
        layers.append(
            {
                "transform": [{"filter": f"{of('world')} && isValid(datum.l)"}],
                "mark": whisker,
                "encoding": ends,
            }
        )
    hover = {
        "name": "hover",
        "select": {
            "type": "point",
            "on": "pointerover",
            "clear": "pointerout",
            "nearest": True,
            "fields": ["c"],
        },
    }
    size: Json = {
        "condition": [{"test": of("theory"), "value": 0}, {"test": of("world"), "value": 34}],
        "value": 15,
    }
    layers.append(
        {
            "transform": [{"filter": "isValid(datum.y)"}, *values_as_texts(label)],
            "params": [hover],
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
    place: Json = {"field": "x", "title": x_title}
    return [
        {"field": "value", "title": label.title},
        {"field": "interval", "title": "95% interval"},
        {**place, "type": "quantitative", "format": ".5~r"} if is_number else place,
        {"field": "c", "title": "curve"},
        {"field": "k", "title": "by"},
        {"field": "caution", "title": "caution"},
    ]


def _spec(rows: Sequence[Json], layers: Sequence[Json], names: Sequence[str]) -> Json:
    return {
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "top": 2, "bottom": 2, "right": 12},
        "data": {"values": [row | {"n": at} for at, row in enumerate(rows)]},
        "layer": list(layers),
        "usermeta": {
            "colours": {
                "light": colours(len(names), ground="light", is_ordered=False),
                "dark": colours(len(names), ground="dark", is_ordered=False),
            }
        },
    }


def ends(traces: Sequence[Trace], label: Label, *, margin: float = 0.05) -> tuple[float, float]:
    """Return zero and a little more than the largest value, in the label's unit."""
    most = max(estimate.value * label.factor for trace in traces for _, estimate in trace.points)
    return 0.0, float(f"{most * (1 + margin):.3g}")


def decades(traces: Sequence[Trace], label: Label) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that hold every value, in the label's unit, as 1, 2 or
    5 times a power of ten.
    """
    values = [
        estimate.value * label.factor
        for trace in traces
        for _, estimate in trace.points
        if estimate.value > 0
    ]
    return _nice(min(values), is_up=False), _nice(max(values), is_up=True)


def _nice(value: float, *, is_up: bool) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    steps = [decade * factor for factor in (1, 2, 5, 10)]
    return float(
        f"{min(step for step in steps if step >= value) if is_up else max(step for step in steps if step <= value):.6g}"
    )


def _ticks(low: float, high: float) -> list[float]:
    """List the powers of ten between the ends, ends included; and twice and five times these where
    there is room.
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 300 else (1,)
    found = [
        float(f"{factor * 10.0**exponent:.6g}") for exponent in exponents for factor in factors
    ]
    return [tick for tick in found if low <= tick <= high]
