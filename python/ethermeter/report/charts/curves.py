"""Curves as Vega-Lite: bands, lines, whiskers and points, with names at their ends."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ethermeter.chart import Axis, Curves, Look, Trace, number_of
from ethermeter.report.charts import frame
from ethermeter.report.charts.frame import Json

_LABEL_STEP = 1.1
"""Distance of names of curves from each other, and the width of a letter of them, by their size."""
_LABEL_WIDTH = 0.61
_LINES: dict[str, Json] = {
    "solid": {},
    "dashed": {"strokeDash": [5, 3]},
    "steps": {"interpolate": "step-after"},
    "halves": {"interpolate": "step"},
}
_BAND: Json = {"type": "area", "opacity": 0.16, "clip": True}
_ENDS: Json = {"y": {"field": "l"}, "y2": {"field": "h"}}
_HAS_CAUTION = "isValid(datum.w)"
MOST_MARKERS = 25
"""Points of a line with a marker each; of more, so many have one, and all are found."""


def curves(chart: Curves) -> Json:
    """Draw curves."""
    rows = [row for trace in chart.traces for row in _rows(trace, chart)]
    logarithmic = [key for key in "xy" if getattr(chart, key).is_log]
    rows = _positive(rows, logarithmic) or rows
    # Where nothing is positive an axis stays linear.
    logarithmic = [key for key in logarithmic if (rows[0][key] or 0) > 0]
    x, y = (replace(getattr(chart, key), is_log=key in logarithmic) for key in "xy")
    held = _positive([frame.datum("", None, value, y.label) for value in y.held], "y" * y.is_log)
    domain = _domain([*rows, *held], y) if y.is_rounded and rows else None
    marks = chart.marks
    names = [trace.name for trace in chart.traces] + [name for name, _, _ in marks.points]
    names = list(dict.fromkeys(names))
    encoding: Json = {
        "x": frame.along("x", x),
        "y": frame.along("y", y, domain),
        "color": frame.colour(names, chart.legend),
    }
    layers, points = _layers(chart, rows), _points(chart, rows)
    above = [_marks(chart)] if marks.points else []
    box = chart.box
    if chart.is_named_at_ends and domain:
        placed = _placed(rows, domain, box.height, chart.font_size, is_log=y.is_log)
        points.append(_names(placed, chart))
        room = round(_LABEL_WIDTH * chart.font_size * max(map(len, names)))
        box = replace(box, right=box.right + room)
    layers += [*points, *above] if marks.is_above else [*above, *points]
    if chart.across:
        layers += _across(chart)
    body: Json = {"encoding": encoding, "layer": layers}
    if chart.is_template:
        encoding["detail"] = {"field": "d"}
    if chart.window is not None:
        body = {"layer": [_shade(chart.window, encoding["x"]), body]}
    spec = frame.specification(rows, body, len(names), box, chart.palette)
    return {**spec, "title": chart.title} if chart.title else spec


def _rows(trace: Trace, chart: Curves) -> Iterable[Json]:
    """Yield the points of a curve as data of the figure."""
    step = -(-len(trace.points) // MOST_MARKERS) if trace.look.line else 1
    for at, (x, y) in enumerate(trace.points):
        place = x if isinstance(x, str) else frame.rounded(number_of(x) * chart.x.label.factor)
        row = frame.datum(trace.name, place, y, chart.y.label)
        if trace.look.says:
            row["k"] = trace.look.says
        if at % step and at + 1 < len(trace.points) and "w" not in row:
            row["q"] = 1
        yield row | ({"n": trace.order[at]} if trace.order else {})


def _positive(rows: Sequence[Json], logarithmic: Sequence[str]) -> list[Json]:
    """Leave out what a logarithmic axis has no room for."""
    found = [row for row in rows if all((row[key] or 0) > 0 for key in logarithmic)]
    if "y" not in logarithmic:
        return found
    return [
        {key: value for key, value in row.items() if key not in ("l", "h")}
        if (row.get("l") or 0) <= 0
        else row
        for row in found
    ]


def _domain(rows: Sequence[Json], axis: Axis) -> tuple[float, float]:
    """Round ends of the y axis that hold every value.

    Intervals may reach beyond and are clipped, lest a wide one flatten the curves.
    """
    values = [row["y"] for row in rows if row["y"] is not None]
    low, high = min(values), max(values)
    if axis.is_log:
        return 0.8 * low, 1.25 * high
    most = axis.label.most
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    inner = [
        row[end]
        for row in rows
        for end in ("l", "h")
        if row.get(end) is not None and low - 3 * margin <= row[end] <= high + 3 * margin
    ]
    is_positive, is_bounded = low >= 0, high <= most
    low, high = min([low, *inner]), max([high, *inner])
    if axis.label.from_zero or low < 0.25 * high:
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


def _layers(chart: Curves, rows: Sequence[Json]) -> list[Json]:
    """Return bands, then whiskers and lines by look: dashes first, curves without a line last."""
    looks = sorted(_looks(chart), key=lambda look: (look.line != "dashed") + (look.line == ""))
    bands: list[Json] = []
    found: list[Json] = []
    clip: Json = {"clip": True} if chart.is_clipped else {}
    for look in looks:
        only = f"datum.k === '{look.says}'" if len(looks) > 1 and look.says else ""
        # A layer without a row makes Vega warn of an axis without an end.
        has_ends = chart.is_template or any(
            "l" in row and (not only or row["k"] == look.says) for row in rows
        )
        if look.interval == "band" and has_ends:
            bands.append(frame.layer(_BAND, _ENDS, only, frame.HAS_ENDS) | _named("band", chart))
        elif look.interval == "whiskers" and has_ends:
            # Beside a line they are faint, and half as wide.
            shown = (
                {"width": look.width / 2, "opacity": 0.4} if look.line else {"width": look.width}
            )
            found.append(frame.whiskers(_ENDS, only, **shown) | _named("whiskers", chart))
        if look.line:
            mark = {"type": "line", "strokeWidth": look.width, **_LINES[look.line], **clip}
            encoding: Json = {"opacity": frame.FAINT} if chart.points.is_fading else {}
            if any(trace.order for trace in chart.traces if trace.look == look):
                encoding["order"] = {"field": "n", "type": "quantitative"}
            if chart.is_template:
                encoding["strokeDash"] = {"field": "d", "type": "nominal"}
            if all(each.size is None for each in looks):
                encoding["tooltip"] = frame.tooltip(chart.tips)
            found.append(frame.layer(mark, encoding, only) | _named("lines", chart))
    return bands + found


def _looks(chart: Curves) -> list[Look]:
    return list(dict.fromkeys(trace.look for trace in chart.traces))


def _named(name: str, chart: Curves) -> Json:
    return {"name": name} if chart.is_template else {}


def _points(chart: Curves, rows: Sequence[Json]) -> list[Json]:
    """Return the layer of points, which have the tooltips; none if no look has points."""
    points, looks = chart.points, _looks(chart)
    if all(look.size is None for look in looks):
        return []
    mark: Json = {"type": "point", "filled": points.is_filled}
    mark |= {} if points.is_filled else {"strokeWidth": points.stroke}
    mark |= {} if points.opacity is None else {"opacity": points.opacity}
    mark |= {"clip": True} if points.is_clipped else {}
    first, *others = looks
    encoding: Json = {}
    is_dense = any("q" in row for row in rows)
    quiet = [{"test": "isValid(datum.q)", "value": 0}] if is_dense else []
    if points.is_fading:
        seen_first = [*quiet, frame.FAINT["condition"]] if quiet else frame.FAINT["condition"]
        encoding["opacity"] = {**frame.FAINT, "condition": seen_first}
    elif quiet:
        usual = mark.pop("opacity", 1)
        encoding["opacity"] = {"condition": quiet, "value": usual}
    if points.pointer == "hidden":
        seen = {"param": "hover", "empty": False, "value": 1}
        encoding["opacity"] = {"condition": seen, "value": 0}
    if points.doubtful:
        shape = {"test": _HAS_CAUTION, "value": "triangle-up"}
        size = {"test": _HAS_CAUTION, "value": points.doubtful}
        encoding["shape"] = {"condition": shape, "value": "circle"}
        encoding["size"] = {"condition": size, "value": first.size}
    elif others:
        sizes = [{"test": f"datum.k === '{look.says}'", "value": look.size} for look in others]
        encoding["size"] = {"condition": sizes, "value": first.size}
    else:
        mark["size"] = first.size
    if chart.tips:
        encoding["tooltip"] = frame.tooltip(chart.tips)
    fields = () if points.pointer == "hidden" else ("c", "d") if chart.is_template else ("c",)
    found: Json = _named("points", chart)
    if points.pointer != "none":
        found["params"] = [frame.hover(fields, is_nearest=points.pointer != "touched")]
    written = frame.texts(chart.tips, chart.y.label.unit)
    found["transform"] = [{"filter": "isValid(datum.y)"}, *written]
    return [frame.layer(mark, encoding) | found]


def _marks(chart: Curves) -> Json:
    """Return the layer of what stands out, filled so that it differs from the points."""
    factor, marks = chart.y.label.factor, chart.marks
    along = chart.x.label.factor
    rows = [
        {"x": x * along, "y": frame.rounded(y * factor), "c": name} for name, x, y in marks.points
    ]
    mark: Json = {"type": "point", "filled": True, "size": marks.size}
    mark |= {"shape": "diamond", "opacity": 1} if marks.is_diamond else {}
    return frame.layer(mark, rows=rows)


def _names(rows: Sequence[Json], chart: Curves) -> Json:
    """Return the layer of the names at the ends of curves."""
    mark = {"type": "text", "align": "left", "baseline": "middle", "dx": 7}
    encoding: Json = {"text": {"field": "c"}}
    if chart.points.is_fading:
        encoding["opacity"] = frame.FAINT
    return frame.layer(mark | {"fontSize": chart.font_size}, encoding, rows=rows)


def _placed(
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
        found = _placed(moved, (low, high), height, font_size, is_log=False)
        return [{**row, "y": 10 ** row["y"]} for row in found]
    per_pixel = (domain[1] - domain[0]) / height
    # A cluster of touching labels begins where the sum of squared moves of its members is least
    # (pool adjacent violators): the sum of the beginnings its members want, and how many they are.
    clusters: list[tuple[float, int]] = []
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


def _across(chart: Curves) -> list[Json]:
    """Return dashed lines across all curves, with their names at the left above them."""
    found = {name: value * chart.y.label.factor for name, value in (chart.across or {}).items()}
    rows = [{"y": frame.rounded(value), "t": name} for name, value in found.items()]
    ink: Json = {"color": None, "x": None, "y": {"field": "y"}}
    rule: Json = {"type": "rule", "strokeWidth": 1.4, "strokeDash": [5, 3], "tooltip": None}
    text: Json = {"type": "text", "align": "left", "baseline": "bottom", "dy": -3, "x": 4}
    written = ink | {"text": {"field": "t"}}
    text["fontSize"] = chart.font_size
    return [frame.layer(rule, ink, rows=rows), frame.layer(text, written, rows=rows)]


def _shade(window: tuple[float, float], across: Json) -> Json:
    mark = {"type": "rect", "opacity": 0.09, "color": "#8090a0", "tooltip": None}
    row = {"x": window[0], "e": window[1]}
    return frame.layer(mark, {"x": across, "x2": {"field": "e"}}, rows=[row])
