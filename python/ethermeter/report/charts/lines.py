"""Lines: a metric against a varied key, one curve each; and shares of channel time, stacked."""

import math
from collections.abc import Mapping, Sequence

from ethermeter.analysis.curves import Knee
from ethermeter.document import Label
from ethermeter.metrics import Metric
from ethermeter.report.axes import Axes, Panel, curve_names, keys
from ethermeter.report.charts.frame import (
    HEIGHT,
    Json,
    datum,
    diamond,
    frame,
    hover,
    rounded,
    share_axis,
    tooltip,
    values_as_texts,
)
from ethermeter.report.labels import TIME_KINDS, key_title, time_kinds
from ethermeter.report.theme import KIND_COLOURS
from ethermeter.results.estimates import Point
from ethermeter.swept import quantity

FONT_SIZE = 10.5
"""Size of the names of curves, in pixels."""
_LABEL_STEP = 1.1
"""Distance of these names from each other, and the width of a letter of them, by their size."""
_LABEL_WIDTH = 0.61
_LONG_NAME = 20


def axis_title(key: str, unit: str) -> str:
    """Title of the axis of a varied key."""
    title = key_title(key)
    return f"{title} ({unit})" if unit else title


def _domain(rows: Sequence[Json], *, from_zero: bool, most: float) -> tuple[float, float]:
    """Round ends of the y axis that hold every value.

    Intervals may reach beyond and are clipped, lest a wide one flatten the curves.
    """
    values = [row["y"] for row in rows if row["y"] is not None]
    low, high = min(values), max(values)
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    inner = [
        row[end]
        for row in rows
        for end in ("l", "h")
        if row.get(end) is not None and low - 3 * margin <= row[end] <= high + 3 * margin
    ]
    is_positive, is_bounded = low >= 0, high <= most
    low, high = min([low, *inner]), max([high, *inner])
    if from_zero or low < 0.25 * high:
        low = min(low, 0.0)
    # What cannot be negative, or more than one, gets no axis beyond, even if an interval reaches
    # there.
    low = max(low, 0.0) if is_positive else low
    high = min(high, most) if is_bounded else high
    raw = (high - low) / 8 or abs(high) / 8 or 0.2
    step = 10 ** math.floor(math.log10(raw))
    step *= next(nice for nice in (1, 2, 2.5, 5, 10) if nice * step >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    top = max(last, first + 1) * step
    top = min(top, most) if is_bounded else top
    bottom = (first if first * step < top else first - 1) * step
    # Three times 0.2 is more than 0.6: without the last digits a value at the end stays inside.
    return float(f"{bottom:.12g}"), float(f"{top:.12g}")


def _positive(rows: Sequence[Json], logarithmic: str) -> list[Json]:
    """Leave out what a logarithmic axis has no room for."""
    found = [row for row in rows if "x" not in logarithmic or row["x"] > 0]
    if "y" not in logarithmic:
        return found
    found = [row for row in found if row["y"] is not None and row["y"] > 0]
    return [
        {key: value for key, value in row.items() if key not in ("l", "h")}
        if (row.get("l") or 0) <= 0
        else row
        for row in found
    ]


def _scale(is_log: bool) -> Json:  # noqa: FBT001 - one of two scales
    return {"type": "log"} if is_log else {}


def _labels(
    rows: Sequence[Json],
    domain: tuple[float, float],
    height: int,
    font_size: float,
    *,
    is_log: bool,
) -> list[Json]:
    """Curve names at the ends of their lines, moved apart where they would overlap."""
    ends = {row["c"]: row for row in rows if row["y"] is not None}
    wanted = sorted(ends.values(), key=lambda row: row["y"])
    if is_log:
        moved = [{**row, "y": math.log10(row["y"])} for row in wanted]
        low, high = (math.log10(end) for end in domain)
        found = _labels(moved, (low, high), height, font_size, is_log=False)
        return [{**row, "y": 10 ** row["y"]} for row in found]
    per_pixel = (domain[1] - domain[0]) / height
    # A cluster of touching labels begins where the sum of squared moves of its members is least
    # (pool adjacent violators).
    clusters: list[
        tuple[float, int]
    ] = []  # sum of the beginnings its members want, and how many they are
    step = min(_LABEL_STEP * font_size, height / max(len(wanted), 1))
    for row in wanted:
        clusters.append(((row["y"] - domain[0]) / per_pixel, 1))
        while (
            len(clusters) > 1
            and _begin(clusters[-1]) < _begin(clusters[-2]) + clusters[-2][1] * step
        ):
            (below, members), (above, more) = clusters[-2:]
            clusters[-2:] = [(below + above - more * members * step, members + more)]
    places = [_begin(cluster) + step * at for cluster in clusters for at in range(cluster[1])]
    ceiling = float(height)
    for at in reversed(range(len(places))):
        places[at] = min(places[at], ceiling)
        ceiling = places[at] - step
    return [
        {"x": row["x"], "c": row["c"], "y": domain[0] + place * per_pixel}
        for row, place in zip(wanted, places, strict=True)
    ]


def _begin(cluster: tuple[float, int]) -> float:
    return max(0.0, cluster[0] / cluster[1])


def lines(
    panel: Panel,
    metric: Metric,
    axes: Axes,
    *,
    width: int | str = "container",
    height: int = HEIGHT,
    is_nearest: bool = True,
    label: Label | None = None,
    knees: Mapping[str, Knee] | None = None,
    logarithmic: str = "",
    font_size: float = FONT_SIZE,
) -> Json:
    """One metric against x, one curve each, with 95% bands, names at the ends and tooltips.

    Parameters
    ----------
    panel
        At least one curve with at least one finite value.
    width, height
        In pixels; "container" takes the width of the page's box.
    is_nearest
        Whether the pointer picks the nearest point, or only one it touches. Vega-Lite 6.4 loses the
        texts of a tooltip in the first case; the page mends that, others cannot.
    label
        Instead of the metric's own.
    knees
        Marked by a diamond, by the curve's name.
    logarithmic
        Letters of the axes that are logarithmic: "", "x", "y" or "xy". Values and ends of
        intervals that are not positive are left out there.
    font_size
        Of the names of curves.
    """
    label = label or metric.label
    rows = [
        datum(curve.name, x, estimate, label.factor)
        for curve in panel.curves
        for x, estimate in curve.points
    ]
    if logarithmic:
        rows = _positive(rows, logarithmic) or rows
    # Where nothing is positive the axis stays linear.
    logarithmic = "".join(axis for axis in logarithmic if (rows[0][axis] or 0) > 0)
    is_log = "y" in logarithmic
    if is_log:
        shown = [row["y"] for row in rows if row["y"] is not None]
        domain = 0.8 * min(shown), 1.25 * max(shown)
    else:
        domain = _domain(rows, from_zero=label.from_zero, most=label.most)
    names = [curve.name for curve in panel.curves]
    is_single = names == [""]
    # Long names at the ends of curves would leave no room for these.
    longest = max(map(len, names))
    is_named_below = longest > _LONG_NAME
    colour: Json = {"field": "c", "type": "nominal", "scale": {"domain": names}, "legend": None}
    x: Json = {
        "field": "x",
        "type": "quantitative",
        "title": axis_title(axes.x or "", axes.x_unit),
        "scale": {"zero": False, "nice": False, "padding": 6, **_scale("x" in logarithmic)},
        "axis": x_axis(sorted({x for curve in panel.curves for x, _ in curve.points})),
    }
    y: Json = {
        "field": "y",
        "type": "quantitative",
        "title": label.axis,
        "scale": {"domain": list(domain), "nice": False, **_scale(is_log)},
    }
    faint: Json = {"condition": {"param": "hover", "value": 1}, "value": 0.25}
    band: Json = {
        "transform": [{"filter": "isValid(datum.l)"}],
        "mark": {"type": "area", "opacity": 0.16, "clip": True, "aria": False},
        "encoding": {"x": x, "y": {**y, "field": "l"}, "y2": {"field": "h"}, "color": colour},
    }
    # A layer without a row makes Vega warn of an axis without an end.
    layers: list[Json] = [band] if any("l" in row for row in rows) else []
    layers += [
        {
            "mark": {"type": "line", "strokeWidth": 1.6, "aria": False, "clip": True},
            "encoding": {"x": x, "y": y, "color": colour, "opacity": faint},
        },
        {
            "transform": [{"filter": "isValid(datum.y)"}, *values_as_texts(label)],
            "params": [hover(is_nearest=is_nearest)],
            "mark": {"type": "point", "filled": False, "strokeWidth": 1.3, "aria": False},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "opacity": faint,
                "shape": {
                    "condition": {"test": "isValid(datum.w)", "value": "triangle-up"},
                    "value": "circle",
                },
                "size": {"condition": {"test": "isValid(datum.w)", "value": 26}, "value": 13},
                "tooltip": tooltip(
                    label,
                    x_title=axis_title(axes.x or "", axes.x_unit),
                    curve_title="" if is_single else _curve_title(axes),
                ),
            },
        },
    ]
    if is_named_below:
        colour["legend"] = {
            "orient": "bottom",
            "title": None,
            "columns": 1 if longest > _LONG_NAME * 1.5 else 2,
            "labelLimit": 0,
            "symbolOpacity": 1,
            "symbolType": "stroke",
        }
    elif not is_single:
        layers.append(
            {
                "data": {"values": _labels(rows, domain, height, font_size, is_log=is_log)},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "middle",
                    "dx": 7,
                    "fontSize": font_size,
                    "aria": False,
                },
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": colour,
                    "text": {"field": "c"},
                    "opacity": faint,
                },
            }
        )
    if knees:
        layers.append(_knees(knees, label, x, y, colour))
    right = 10 if is_single or is_named_below else round(10 + _LABEL_WIDTH * font_size * longest)
    spec = frame(
        rows,
        {"layer": layers},
        len(names),
        is_ordered=panel.is_ordered,
        width=width,
        height=height,
        top=6,
        right=right,
    )
    return {**spec, "title": panel.title} if panel.title else spec


def _knees(knees: Mapping[str, Knee], label: Label, x: Json, y: Json, colour: Json) -> Json:
    """Diamonds on the curves, filled so that they stand out from the points."""
    marks = [
        {"x": knee.x, "y": rounded(knee.y * label.factor), "c": name}
        for name, knee in knees.items()
    ]
    return {
        "data": {"values": marks},
        "mark": diamond(),
        "encoding": {"x": x, "y": y, "color": colour},
    }


def x_axis(values: Sequence[float]) -> Json:
    """Return ticks and number format of an axis with these values, smallest first."""
    is_count = all(value.is_integer() for value in values) and values[-1] <= 64
    # Hosts come whole: 1, 4, 8, ... rather than 2.5.
    if is_count:
        return {"tickMinStep": 1, "format": "d"}
    return {"format": ",.6~r" if 1e-3 <= max(map(abs, values)) < 1e5 else "~s"}


def _curve_title(axes: Axes) -> str:
    return key_title(axes.curve or "")


def breakdown(
    points: Sequence[Point],
    key: str,
    *,
    title: str,
    width: int | str = "container",
    height: int = 220,
) -> Json:
    """Shares of channel time, stacked, against one varied key; the parts sum to 1."""
    texts = list(dict.fromkeys(keys(point)[key] for point in points))
    names = curve_names(texts)
    is_count = all((read := quantity(text)) is not None and read[1] == "" for text in texts)
    kinds = time_kinds(points[0].estimates)
    rows = []
    for point in points:
        for order, (metric, kind) in enumerate(kinds.items()):
            if metric in point.estimates and math.isfinite(point.estimates[metric].value):
                rows.append(
                    {
                        "x": names[keys(point)[key]],
                        "k": kind,
                        "o": order,
                        "y": rounded(point.estimates[metric].value),
                    }
                )
    body: Json = {
        "mark": {"type": "bar", "aria": False, "width": {"band": 0.86}},
        "encoding": {
            "x": {
                "field": "x",
                "type": "ordinal",
                "title": title,
                "sort": list(names.values()),
                "axis": {
                    "labelAngle": 0,
                    "labelOverlap": "greedy",
                    "grid": False,
                    **({} if is_count else {"labelFontSize": 10}),
                },
            },
            "y": {**share_axis("y", "Share of channel time"), "stack": True},
            "order": {"field": "o", "type": "quantitative"},
            "color": {
                "field": "k",
                "type": "nominal",
                "scale": {"domain": list(kinds.values())},
                # A row of all kinds is wider than a phone; those of PLCA have long names.
                "legend": {"title": None, "columns": 3 if len(kinds) <= len(TIME_KINDS) else 2},
            },
            "tooltip": [
                {"field": "k", "title": "channel time"},
                {"field": "y", "type": "quantitative", "title": "share", "format": ".2%"},
                {"field": "x", "title": title},
            ],
        },
    }
    spec = frame(rows, body, 1, width=width, height=height, right=10)
    of_kinds = {ground: list(found) for ground, found in KIND_COLOURS.items()}
    return {**spec, "usermeta": {"colours": of_kinds}}
