"""Frame: what all charts have in common: size, padding, data and colours; axes and pointers."""

import math
from collections.abc import Sequence

from ethermeter.document import Label, VegaLite
from ethermeter.report.theme import colours
from ethermeter.results.interval import Estimate

Json = VegaLite
"""A fragment of a specification."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HEIGHT = 280


def frame(
    rows: Sequence[Json],
    body: Json,
    names: int,
    *,
    is_ordered: bool = False,
    width: int | str = "container",
    height: int = HEIGHT,
    top: int = 2,
    right: int = 12,
) -> VegaLite:
    """Return a specification.

    Parameters
    ----------
    rows
        Its data.
    body
        Its mark and encoding, or its layers.
    names
        How many colours it needs; a ramp if they are ordered.
    width, height
        In pixels; "container" takes the width of the page's box.
    top, right
        Padding, in pixels.

    """
    return {
        "width": width,
        "height": height,
        "autosize": {"type": "fit-x" if width == "container" else "pad", "contains": "padding"},
        "padding": {"left": 2, "top": top, "bottom": 2, "right": right},
        "data": {"values": list(rows)},
        **body,
        "usermeta": {
            "colours": {
                "light": colours(names, ground="light", is_ordered=is_ordered),
                "dark": colours(names, ground="dark", is_ordered=is_ordered),
            }
        },
    }


def rounded(value: float) -> float | None:
    """Round to six digits; None for what is no number."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def share_axis(field: str, title: str) -> Json:
    """Return the encoding of a share, from nothing to all."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%"},
    }


def datum(curve: str, x: float | str, estimate: Estimate, factor: float) -> Json:
    """One estimate as data of a figure: x, curve, y, ends of the interval and cautions."""
    found: Json = {"x": x, "c": curve, "y": rounded(estimate.value * factor)}
    if estimate.has_interval:
        found |= {"l": rounded(estimate.low * factor), "h": rounded(estimate.high * factor)}
    if estimate.cautions:
        found["w"] = ", ".join(estimate.cautions)
    return found


def values_as_texts(label: Label) -> list[Json]:
    """Return transforms that write value, interval and cautions of a row for its tooltip."""
    unit = f" + ' {label.unit}'" if label.unit else ""
    interval = f"format(datum.l, '.5~r') + ' to ' + format(datum.h, '.5~r'){unit}"
    return [
        {"calculate": f"format(datum.y, '.5~r'){unit}", "as": "value"},
        {"calculate": f"isValid(datum.l) ? {interval} : 'none'", "as": "interval"},
        {"calculate": "isValid(datum.w) ? datum.w : 'none'", "as": "caution"},
    ]


def tooltip(label: Label, *, x_title: str, curve_title: str, is_number: bool = True) -> list[Json]:
    """Lines of a tooltip; `curve_title` is empty if there is one curve only."""
    place: Json = {"field": "x", "title": x_title}
    shown: list[Json] = [
        {"field": "value", "title": label.title},
        {"field": "interval", "title": "95% interval"},
        {**place, "type": "quantitative", "format": ".5~r"} if is_number else place,
    ]
    if curve_title:
        shown.append({"field": "c", "title": curve_title})
    return [*shown, {"field": "caution", "title": "caution"}]


def interval_rule(ends: Json, *, only: str = "", width: float = 1.4) -> Json:
    """Return the layer of whiskers: rules between the ends of the intervals.

    Parameters
    ----------
    ends
        Encoding of the ends, whose fields are `l` and `h`.
    only
        Further condition on rows, which ends in "&& ".
    width
        Of the lines.

    """
    return {
        "transform": [{"filter": f"{only}isValid(datum.l)"}],
        "mark": {
            "type": "rule",
            "strokeWidth": width,
            "aria": False,
            "clip": True,
            "tooltip": None,
        },
        "encoding": ends,
    }


def hover(*, is_nearest: bool = True, fields: Sequence[str] = ("c",)) -> Json:
    """Return the parameter that picks the curve of the point under or next to the pointer.

    `fields` are those that all points of a curve have in common.
    """
    select: Json = {
        "type": "point",
        "on": "pointerover",
        "clear": "pointerout",
        "nearest": is_nearest,
        "fields": list(fields),
    }
    return {"name": "hover", "select": select}


def diamond(size: int = 110) -> Json:
    """Return the mark of what stands out from a curve's points."""
    return {
        "type": "point",
        "shape": "diamond",
        "filled": True,
        "size": size,
        "opacity": 1,
        "aria": False,
    }
