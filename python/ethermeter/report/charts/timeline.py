"""Timelines: a trial over time as curves and stacked shares; and stacked bars."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ethermeter.document import Label
from ethermeter.report.charts.frame import Json, frame, share_axis
from ethermeter.results.interval import Floats

Curve = tuple[str, Floats, Floats]
"""Name, times in s and values in the SI unit of the label; shape `(points,)` each."""
MOST_STEPS = 160
"""Steps of a figure; more are joined, each the mean of its members."""
_COLUMNS = 2
"""Of a legend: on a narrow page two names fit side by side."""
_ROOM_FOR_NAMES = 40
"""Letters of all names below the bars from which they stand aslant."""
TIME = "Time since the transmission began (s)"
_X: Json = {
    "field": "x",
    "type": "quantitative",
    "title": TIME,
    "scale": {"zero": False, "nice": False},
    "axis": {"tickCount": 8},
}


def curves_over_time(
    curves: Sequence[Curve], label: Label, *, window_s: tuple[float, float] | None = None
) -> Json:
    """Draw values against time, one curve each; the measured window is shaded.

    Parameters
    ----------
    curves
        At least one, with at least one finite value.
    label
        What is along the y axis; it begins at 0 with `from_zero`.
    window_s
        Begin and end of the measured window.

    """
    names = [name for name, _, _ in curves]
    rows: list[Json] = [
        {"x": _digits(at), "y": _digits(value * label.factor), "c": name}
        for name, times, values in curves
        for at, value in zip(*_joined(times, values), strict=True)
        if math.isfinite(value)
    ]
    low, high = min(float(row["y"]) for row in rows), max(float(row["y"]) for row in rows)
    margin = 0.04 * high if label.from_zero else max(high - low, 0.002 * abs(high))
    domain = [0.0 if label.from_zero else low - margin, high + margin or 1.0]
    y: Json = {
        "field": "y",
        "type": "quantitative",
        "title": label.axis,
        "scale": {"domain": domain, "nice": False},
    }
    legend: Json = {
        "title": None,
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "columns": _COLUMNS,
        "labelLimit": 300,
    }
    colour: Json = {
        "field": "c",
        "type": "nominal",
        "scale": {"domain": names},
        "legend": legend if len(names) > 1 else None,
    }
    unit = f" + ' {label.unit}'" if label.unit else ""
    tip: list[Json] = [
        {"field": "value", "title": label.title},
        {"field": "x", "type": "quantitative", "title": "time (s)", "format": ".4~r"},
        *([{"field": "c", "title": "of"}] if len(names) > 1 else []),
    ]
    common: Json = {"x": _X, "y": y, "color": colour}
    layers: list[Json] = [
        {"mark": {"type": "line", "strokeWidth": 1.4, "aria": False}, "encoding": common},
        {
            "transform": [{"calculate": f"format(datum.y, '.4~r'){unit}", "as": "value"}],
            "mark": {"type": "point", "filled": True, "size": 9, "aria": False},
            "encoding": {**common, "tooltip": tip},
        },
    ]
    if window_s is not None:
        layers.insert(0, _shade(window_s))
    return frame(rows, {"layer": layers}, len(names), top=6)


def shares_over_time(
    at_s: Floats,
    shares: Mapping[str, Floats],
    label: Label,
    *,
    window_s: tuple[float, float] | None = None,
) -> Json:
    """Draw shares that stand one on the other against time, each step as wide as it lasted.

    Parameters
    ----------
    at_s
        Ends of the steps; shape `(steps,)`, two at least.
    shares
        By name, between 0 and 1; shape `(steps,)` each.
    label
        What is along the y axis, which ends at 1.
    window_s
        Begin and end of the measured window, which is marked by rules.

    """
    ends = _joined(at_s, at_s)[1]
    begins = np.concatenate([[2 * ends[0] - ends[1] if ends.size > 1 else at_s[0]], ends[:-1]])
    rows: list[Json] = []
    below = np.zeros(ends.size)
    for name, values in shares.items():
        joined = _joined(at_s, values)[1]
        for begin, end, low, share in zip(begins, ends, below, joined, strict=True):
            if share > 0:
                at = {"x": _digits(begin), "e": _digits(end)}
                ends_of = {"l": _digits(low), "h": _digits(low + share)}
                rows.append({**at, **ends_of, "c": name, "s": _digits(share)})
        below = below + joined
    y = share_axis("l", label.axis)
    layers: list[Json] = [
        {
            "mark": {"type": "rect", "aria": False, "clip": True},
            "encoding": {
                "x": _X,
                "x2": {"field": "e"},
                "y": y,
                "y2": {"field": "h"},
                "color": {
                    "field": "c",
                    "type": "nominal",
                    "scale": {"domain": list(shares)},
                    "legend": {"title": None, "columns": _COLUMNS},
                },
                "tooltip": [
                    {"field": "c", "title": "of"},
                    {"field": "s", "type": "quantitative", "title": "share", "format": ".1%"},
                    {"field": "e", "type": "quantitative", "title": "until (s)", "format": ".4~r"},
                ],
            },
        }
    ]
    if window_s is not None:
        edges = {"values": [{"x": edge} for edge in window_s]}
        layers.append(
            {
                "data": edges,
                "mark": {"type": "rule", "strokeDash": [4, 3], "tooltip": None, "aria": False},
                "encoding": {"x": _X},
            }
        )
    return frame(rows, {"layer": layers}, len(shares), top=6)


def stacks(
    stacked: Mapping[str, Mapping[str, float]],
    label: Label,
    *,
    title: str,
    most: float | None = None,
) -> Json:
    """Draw bars of parts that stand one on the other; negative parts stand below zero.

    Parameters
    ----------
    stacked
        By bar, the value of every part, in the SI unit of the label; every bar has the same parts.
    label
        What is along the y axis.
    title
        Of the x axis.
    most
        End of the y axis, in its unit; that of the values if None.

    """
    parts = list(dict.fromkeys(part for of in stacked.values() for part in of))
    rows = [
        {"x": bar, "c": part, "o": parts.index(part), "y": _digits(value * label.factor)}
        for bar, of in stacked.items()
        for part, value in of.items()
        if value
    ]
    # Parts keep their colours from figure to figure, and those that are nowhere are not explained.
    used = [part for part in parts if any(row["c"] == part for row in rows)]
    y: Json = {"field": "y", "type": "quantitative", "title": label.axis, "stack": "zero"}
    if most is not None:
        y["scale"] = {"domain": [0, most]}
    is_crowded = max(map(len, stacked)) * len(stacked) > _ROOM_FOR_NAMES
    layer: Json = {
        "mark": {"type": "bar", "aria": False},
        "encoding": {
            "x": {
                "field": "x",
                "type": "ordinal",
                "title": title,
                "scale": {"domain": list(stacked)},
                "axis": {
                    "labelAngle": -40 if is_crowded else 0,
                    "grid": False,
                    "labelLimit": 160,
                    "labelOverlap": False,
                },
            },
            "y": y,
            "order": {"field": "o", "type": "quantitative"},
            "color": {
                "field": "c",
                "type": "nominal",
                "scale": {"domain": parts},
                "legend": {"title": None, "columns": _COLUMNS, "values": used},
            },
            "tooltip": [
                {"field": "x", "title": title},
                {"field": "c", "title": "of"},
                {"field": "y", "type": "quantitative", "title": label.axis, "format": ".4~r"},
            ],
        },
    }
    return frame(rows, {"layer": [layer]}, len(parts), top=6)


def _joined(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Join steps until they are few enough: the time of the last, the mean of the values."""
    width = -(-times.size // MOST_STEPS)
    if width == 1:
        return times, values
    starts = np.arange(0, times.size, width)
    lasts = np.minimum(starts + width, times.size) - 1
    if values is times:
        return times[lasts], times[lasts]
    return times[lasts], np.add.reduceat(values, starts) / (lasts - starts + 1)


def _shade(window_s: tuple[float, float]) -> Json:
    return {
        "data": {"values": [{"x": window_s[0], "e": window_s[1]}]},
        "mark": {
            "type": "rect",
            "opacity": 0.09,
            "color": "#8090a0",
            "tooltip": None,
            "aria": False,
        },
        "encoding": {"x": _X, "x2": {"field": "e"}},
    }


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
