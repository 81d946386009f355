"""Plots: charts that several pages have, made of their values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ethermeter.analysis.curves import Knee
from ethermeter.chart import (
    Axis,
    Bar,
    Bars,
    Box,
    Curves,
    Legend,
    Look,
    Mark,
    Marks,
    Names,
    Numbers,
    Points,
    Tip,
    Trace,
    number_of,
)
from ethermeter.document import Label
from ethermeter.metrics import Metric
from ethermeter.quantities import common_scale
from ethermeter.report.axes import ENGINE, Axes, Panel
from ethermeter.report.labels import key_title
from ethermeter.results.interval import Floats
from ethermeter.swept import quantity

Course = tuple[str, Floats, Floats]
"""Name, times in s and values in the SI unit of the label; shape `(points,)` each."""
INTERVAL: Tip = ("interval", "95% interval", "")
CAUTION: Tip = ("caution", "caution", "")
TIME = Axis(Label("Time since the transmission began (s)"), numbers="time")
_LOWER = Box(above=6)
MOST_STEPS = 160
"""Steps of a figure; more are joined, each the mean of its members."""
_COLUMNS = 2
"""Of a legend: on a narrow page two names fit side by side."""
_ROOM_FOR_NAMES = 40
"""Letters of all names below the bars from which they stand aslant."""
_LONG_NAME = 20
"""Letters from which a name at the end of a curve would leave no room for it."""
_WIDE_NAME = 12
"""Letters from which names in a legend stand one below the other."""
_SI = {"b/s": "bit/s", "b": "bit"}
"""Units of quantities for what files write."""
_LINE_HEIGHT, _AROUND_LINES = 17, 76
"""Of lying bars: height of one, and of axis, legend and the names of lines across; in pixels."""


def against(
    panel: Panel,
    metric: Metric,
    axes: Axes,
    *,
    label: Label | None = None,
    knees: Mapping[str, Knee] | None = None,
    logarithmic: str = "",
    is_nearest: bool = True,
) -> Curves | Bars:
    """Draw a metric against x, one curve each, with 95% bands and names at the ends.

    Against categories, and where all values are at one place, bars with 95% intervals.

    Parameters
    ----------
    panel
        At least one curve with at least one finite value.
    label
        Instead of the metric's own.
    knees
        Marked by a diamond, by the curve's name.
    logarithmic
        Letters of the axes that are logarithmic: "", "x", "y" or "xy". What is not positive is left
        out there.
    is_nearest
        Whether the pointer finds the nearest point, or only one that it touches.

    """
    label = label or metric.label
    places = sorted({x for curve in panel.curves for x, _ in curve.points})
    if panel.places:
        return _at_categories(panel, label, axes)
    along, x_numbers = along_key(axes.x or "", axes.x_unit or "", places)
    longest = max(len(curve.name) for curve in panel.curves)
    is_below = longest > _LONG_NAME
    look = Look(interval="band", size=13)
    traces = [Trace(curve.name, curve.points, look) for curve in panel.curves]
    curve_tips: list[Tip] = [("curve", key_title(axes.curve or ""), "")] if longest else []
    columns = 1 if longest > _LONG_NAME * 1.5 else 2
    return Curves(
        traces,
        Axis(along, is_log="x" in logarithmic, padding=6, numbers=x_numbers),
        Axis(label, is_rounded=True, is_log="y" in logarithmic, held=panel.held),
        [("value", label.title, ""), INTERVAL, ("x", along.axis, ".5~r"), *curve_tips, CAUTION],
        Legend("", columns, "thin", 0, is_below=True) if is_below else None,
        Points(doubtful=26, pointer="nearest" if is_nearest else "touched", is_fading=True),
        Marks([(name, knee.x, knee.y) for name, knee in (knees or {}).items()], is_above=True),
        "ramp" if panel.is_ordered else "distinct",
        is_named_at_ends=bool(longest) and not is_below,
        box=Box(above=6, right=10),
    )


def _at_categories(panel: Panel, label: Label, axes: Axes) -> Bars:
    bars = [
        Bar(panel.places[round(x)], curve.name or label.title, of)
        for curve in panel.curves
        for x, of in curve.points
    ]
    of = key_title(axes.curve or "")
    chart = grouped(bars, label, key_title(axes.x or ""), of=of)
    if len(panel.curves) == 1:
        return replace(chart, legend=None)
    return replace(chart, legend=Legend("" if axes.curve == ENGINE else of, _COLUMNS))


def along_key(key: str, unit: str, places: Sequence[float]) -> tuple[Label, Numbers]:
    """Return the label of an axis of a varied key in the unit that suits it, and its numbers.

    `places` are in the base unit of the key's texts, smallest first.
    """
    unit = _SI.get(unit, unit)
    scale = common_scale(places, unit)
    label = Label(key_title(key), *((scale.unit, 1 / scale.size) if scale else (unit,)))
    return label, numbers_along([x * label.factor for x in places])


def numbers_along(values: Sequence[float]) -> Numbers:
    """Return how an axis with these values, smallest first, is written."""
    # Hosts come whole: 1, 4, 8, ... rather than 2.5.
    if all(value.is_integer() for value in values) and values[-1] <= 64:
        return "count"
    return "plain" if 1e-3 <= max(map(abs, values)) < 1e5 else "si"


def annotated(
    traces: Sequence[Trace],
    marks: Sequence[Mark],
    x: Label,
    y: Label,
    legend: str,
    *,
    order: str = "",
    most: float | None = None,
) -> Curves:
    """Draw curves in the order of their points, so that one may turn back, with published points.

    Parameters
    ----------
    traces
        At least one, with at least one point.
    marks
        Published points, each of a curve.
    legend
        What the names of the curves are values of.
    order
        What orders the points; empty where it is x itself, which then has no interval.
    most
        Value of y, in its unit, above which curves are cut off; None: the largest.

    """
    names = [trace.name for trace in traces]
    heights = [number_of(of) for trace in traces for _, of in trace.points]
    heights += [high for _, _, high in marks]
    largest = max(height * y.factor for height in heights if math.isfinite(height))
    top = largest * 1.02 if most is None else min(most, largest * 1.02)
    # Against what was measured too, a band along one of the two axes would show only half.
    look = Look(interval="" if order else "band", size=13)
    at: list[Tip] = [("order", order, ""), ("x", x.axis, ".4~r")]
    return Curves(
        [Trace(trace.name, trace.points, look, trace.order) for trace in traces],
        Axis(x, padding=6, numbers="time" if order or x.unit else "count"),
        Axis(y, 0, top, is_nice=True),
        [
            *(("value", y.title, ""), INTERVAL),
            *(at if order else [("x", x.axis, ".6~g")]),
            *(("curve", legend, ""), CAUTION),
        ],
        # On a narrow page four short names fit side by side.
        Legend(legend, 1 if max(map(len, names)) > _WIDE_NAME else 4, "stroke", 320),
        Points(is_clipped=most is not None),
        Marks(marks, says="published"),
        "ramp" if all(quantity(name) for name in names) else "distinct",
        order=order,
        is_clipped=most is not None,
    )


def over_time(
    courses: Sequence[Course], label: Label, *, window_s: tuple[float, float] | None = None
) -> Curves:
    """Draw values against time, one curve each; the measured window is shaded.

    Parameters
    ----------
    courses
        At least one, with at least one finite value.
    label
        What is along the y axis; it begins at 0 with `from_zero`.
    window_s
        Begin and end of the measured window.

    """
    traces = [
        Trace(
            name,
            [
                (at, value)
                for at, value in zip(*_joined(times, values), strict=True)
                if math.isfinite(value)
            ],
            Look(width=1.4, size=9),
        )
        for name, times, values in courses
    ]
    found = [number_of(y) * label.factor for trace in traces for _, y in trace.points]
    low, high = min(found), max(found)
    margin = 0.04 * high if label.from_zero else max(high - low, 0.002 * abs(high))
    tips: list[Tip] = [("value", label.title, ".4~r"), ("x", "time (s)", ".4~r")]
    is_single = len(courses) == 1
    return Curves(
        traces,
        TIME,
        Axis(label, 0.0 if label.from_zero else low - margin, high + margin or 1.0),
        tips if is_single else [*tips, ("curve", "of", "")],
        None if is_single else Legend("", _COLUMNS, "faint", 300),
        Points(is_filled=True, pointer="none"),
        window=window_s,
        is_clipped=False,
        box=_LOWER,
    )


def shares_over_time(
    at_s: Floats,
    shares: Mapping[str, Floats],
    label: Label,
    *,
    window_s: tuple[float, float] | None = None,
) -> Bars:
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
    steps = list(zip(begins.tolist(), ends.tolist(), strict=True))
    bars = [
        Bar(step, name, share)
        for name, values in shares.items()
        for step, share in zip(steps, _joined(at_s, values)[1].tolist(), strict=True)
    ]
    tips: list[Tip] = [("curve", "of", ""), ("step", "share", ".1%"), ("end", "until (s)", ".4~r")]
    value = Axis(label, 0, 1, numbers="share")
    of = Legend("", _COLUMNS)
    return Bars(bars, value, TIME, tips, of, list(shares), window=window_s, box=_LOWER)


def stacks(
    stacked: Mapping[str, Mapping[str, float]],
    label: Label,
    *,
    title: str,
    most: float | None = None,
) -> Bars:
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
    bars = [
        Bar(bar, part, value) for bar, of in stacked.items() for part, value in of.items() if value
    ]
    # Parts keep their colours from figure to figure, and those that are nowhere are not explained.
    used = [part for part in parts if any(bar.name == part for bar in bars)]
    is_crowded = max(map(len, stacked)) * len(stacked) > _ROOM_FOR_NAMES
    end = None if most is None else 0.0
    return Bars(
        bars,
        Axis(label, end, most, from_zero=True, is_nice=most is None),
        Names(title, list(stacked), -40 if is_crowded else 0, 160),
        [("place", title, ""), ("curve", "of", ""), ("value", label.title, ".4~r")],
        Legend("", _COLUMNS, shown=used),
        parts,
        is_stacked=True,
        box=_LOWER,
    )


def grouped(
    bars: Sequence[Bar],
    label: Label,
    title: str = "",
    *,
    columns: int = 3,
    separator: str = "",
    of: str = "stations",
) -> Bars:
    """Draw bars side by side, from zero, with whiskers for the 95% intervals.

    Parameters
    ----------
    bars
        At least one with a finite value.
    title
        Of the x axis.
    columns
        Of the legend.
    separator
        Where names of places are broken into lines; empty: nowhere.
    of
        What the names of bars are values of.

    """
    names = dict.fromkeys(str(bar.place) for bar in bars)
    is_crowded = not separator and max(map(len, names)) * len(names) > _ROOM_FOR_NAMES
    return Bars(
        bars,
        Axis(label, is_rounded=True, from_zero=True),
        Names(title, angle=-40 if is_crowded else 0, limit=150, separator=separator),
        [
            ("value", label.title, ""),
            INTERVAL,
            ("place", title, ""),
            *([("curve", of, "")] if of else []),
            CAUTION,
        ],
        Legend("", columns),
        gap=0.12,
        box=Box(right=10),
    )


def turns(
    nodes: Mapping[str, Mapping[str, float]], cycles_s: Mapping[str, float], label: Label
) -> Bars:
    """Draw the longest times of nodes of a bus, by their name, and its cycles across; in s."""
    bars = [Bar(node, name, s) for node, times in nodes.items() for name, s in times.items()]
    return Bars(
        bars,
        Axis(label, from_zero=True, padding=4, numbers="bus"),
        Names(of=list(nodes), limit=110),
        [("place", "nodes", ""), ("curve", "longest", ""), ("value", label.title, ",.5~r")],
        Legend("", 1, limit=320, is_below=True),
        is_lying=True,
        across=cycles_s,
        box=Box(height=_AROUND_LINES + _LINE_HEIGHT * len(bars), above=4),
    )


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
