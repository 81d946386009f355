"""Frame: what all charts have in common: size, data and colours; axes, legends and pointers."""

import math
from collections.abc import Mapping, Sequence

from ethermeter.chart import Axis, Box, Legend, Names, Numbers, Palette, Sample, Tip, Value
from ethermeter.metrics import Label
from ethermeter.quantities import held
from ethermeter.report.theme import KIND_COLOURS, Ground, VegaLite, colours
from ethermeter.results.interval import Estimate

Json = VegaLite
"""A fragment of a specification."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
FAINT: Json = {"condition": {"param": "hover", "value": 1}, "value": 0.25}
HAS_ENDS = "isValid(datum.l)"
_GROUNDS: tuple[Ground, Ground] = ("light", "dark")
AXES: Mapping[Numbers, Json] = {
    "usual": {},
    "count": {"tickMinStep": 1, "format": "d"},
    "plain": {"format": ",.6~r", "labelOverlap": True, "labelSeparation": 6},
    "si": {"format": "~s"},
    "time": {"tickCount": 8},
    "decades": {"format": "~g"},
    "few": {"format": "~g", "tickCount": 4},
    "bare": {"format": "~r"},
    "delay": {"format": ",.6~r", "labelOverlap": True, "grid": True, "tickCount": 6},
    "rate": {"format": "~s", "grid": True},
    "share": {"format": ".0%"},
    "part": {"format": ".4~%", "tickCount": 6},
    "bus": {"grid": True, "tickCount": 5, "labelFlush": True},
}
_SAMPLES: Mapping[Sample, Json] = {
    "usual": {},
    "stroke": {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1},
    "thin": {"symbolType": "stroke", "symbolOpacity": 1},
    "faint": {"symbolType": "stroke", "symbolStrokeWidth": 3},
    "opaque": {"symbolOpacity": 1},
}
_FIELDS = {
    **{"curve": "c", "by": "k", "kind": "k", "order": "n", "caution": "caution"},
    **{"place": "x", "end": "e", "step": "s", "text": "t"},
}


def specification(
    rows: Sequence[Json],
    body: Json,
    names: int,
    box: Box,
    palette: Palette = "distinct",
) -> VegaLite:
    """Return a specification.

    Parameters
    ----------
    rows
        Its data.
    body
        Its encoding and layers.
    names
        How many colours it needs, of a palette.

    """
    found = {
        ground: list(KIND_COLOURS[ground])
        if palette == "channel time"
        else colours(names, ground=ground, is_ordered=palette == "ramp")
        for ground in _GROUNDS
    }
    return {
        "width": box.width or "container",
        "height": box.height,
        "autosize": {"type": "pad" if box.width else "fit-x", "contains": "padding"},
        "padding": {"left": 2, "top": box.above, "bottom": 2, "right": box.right},
        "data": {"values": list(rows)},
        **body,
        "usermeta": {"colours": found},
    }


def rounded(value: float) -> float | None:
    """Round to six digits; None for what is no number."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def datum(name: str, x: float | str | None, found: Value, label: Label) -> Json:
    """One value as data of a figure: x, name, y, ends of the interval and cautions."""
    factor = label.factor
    if not isinstance(found, Estimate):
        return {"x": x, "c": name, "y": rounded(found * factor)}
    found = held(found, label)
    row: Json = {"x": x, "c": name, "y": rounded(found.value * factor)}
    if found.has_interval:
        row |= {"l": rounded(found.low * factor), "h": rounded(found.high * factor)}
    if found.cautions:
        row["w"] = ", ".join(found.cautions)
    return row


def along(field: str, axis: Axis, domain: Sequence[float] | None = None) -> Json:
    """Return the encoding of numbers; `domain` replaces the ends of the axis."""
    scale: Json = {"zero": axis.from_zero, "nice": axis.is_nice}
    if axis.is_log:
        scale = {"type": "log", "nice": axis.is_nice}
    if axis.is_date:
        scale = {"type": "utc"}
    if domain is None and axis.low is not None:
        domain = (axis.low, axis.high if axis.high is not None else axis.low)
    if domain is not None:
        scale["domain"] = list(domain)
    elif axis.high is not None:
        scale["domainMax"] = axis.high
    if axis.padding:
        scale["padding"] = axis.padding
    found: Json = {"field": field, "type": "temporal" if axis.is_date else "quantitative"}
    written = AXES[axis.numbers]
    if axis.is_log and axis.low is not None and axis.high is not None:
        written = {**written, "values": _decades(axis.low, axis.high)}
    return found | {
        "title": axis.label.axis,
        "scale": scale,
        **({"axis": written} if written else {}),
    }


def _decades(low: float, high: float) -> list[float]:
    """List the powers of ten between the ends, ends included.

    Where there is room, twice and five times these as well.
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 300 else (1,)
    found = [
        float(f"{factor * 10.0**exponent:.6g}") for exponent in exponents for factor in factors
    ]
    return [tick for tick in found if low <= tick <= high]


def at_names(field: str, names: Sequence[str], of: Names) -> Json:
    """Return the encoding of names along an axis."""
    axis: Json = {"labelAngle": of.angle, "labelLimit": of.limit, "grid": of.has_lines}
    axis["labelOverlap"] = "greedy" if of.is_thinned else False
    if of.size:
        axis["labelFontSize"] = of.size
    if of.separator:
        axis["labelExpr"] = f"split(datum.label, '{of.separator}')"
    return {
        "field": field,
        "type": "ordinal",
        "title": of.title or None,
        "scale": {"domain": list(of.of or names)},
        "axis": axis if of.is_written else None,
    }


def colour(names: Sequence[str], legend: Legend | None) -> Json:
    """Return the encoding of names by colours."""
    found: Json = {"field": "c", "type": "nominal", "scale": {"domain": list(names)}}
    if legend is None:
        return {**found, "legend": None}
    shown: Json = {"title": legend.title or None, "columns": legend.columns}
    shown |= _SAMPLES[legend.sample]
    if legend.limit is not None:
        shown["labelLimit"] = legend.limit
    if legend.title:
        shown["titleLimit"] = 400
    if legend.is_below:
        shown["orient"] = "bottom"
    if legend.shown:
        shown["values"] = list(legend.shown)
    return {**found, "legend": shown}


def tooltip(tips: Sequence[Tip]) -> list[Json]:
    """Return the lines of a tooltip."""
    found: list[Json] = []
    for what, title, form in tips:
        row: Json = {"field": _FIELDS.get(what, what), "title": title}
        if form and what != "value":
            is_date = form.startswith("%Y")
            row |= {"type": "temporal" if is_date else "quantitative", "format": form}
        found.append(row)
    return found


def texts(tips: Sequence[Tip], unit: str) -> list[Json]:
    """Return transforms that write value, interval and cautions of a row for its tooltip."""
    of = {what: form for what, _, form in tips}
    unit = f" + ' {unit}'" if unit else ""
    interval = f"format(datum.l, '.5~r') + ' to ' + format(datum.h, '.5~r'){unit}"
    written = {
        "value": f"format(datum.y, '{of.get('value') or '.5~r'}'){unit}",
        "interval": f"isValid(datum.l) ? {interval} : 'none'",
        "caution": "isValid(datum.w) ? datum.w : 'none'",
    }
    return [{"calculate": text, "as": what} for what, text in written.items() if what in of]


def layer(mark: Json, encoding: Json | None = None, *only: str, rows: Sequence[Json] = ()) -> Json:
    """Return a layer of a mark: of rows for which all conditions hold, or of rows of its own."""
    kept = [condition for condition in only if condition]
    found: Json = {"transform": [{"filter": " && ".join(kept)}]} if kept else {}
    if rows:
        found["data"] = {"values": list(rows)}
    found["mark"] = {**mark, "aria": False}
    return found | ({"encoding": encoding} if encoding else {})


def whiskers(ends: Json, *only: str, width: float = 1.4, **mark: object) -> Json:
    """Return the layer of rules between the ends of the intervals, whose fields are `l` and `h`."""
    rule = {"type": "rule", "strokeWidth": width, "clip": True, "tooltip": None, **mark}
    return layer(rule, ends, *only, HAS_ENDS)


def hover(fields: Sequence[str] = (), *, is_nearest: bool = True) -> Json:
    """Return the parameter that picks the point under or next to the pointer.

    With fields it picks all points that have these in common.
    """
    select: Json = {"type": "point", "on": "pointerover", "clear": "pointerout"}
    select |= {"nearest": is_nearest, **({"fields": list(fields)} if fields else {})}
    return {"name": "hover", "select": select}
