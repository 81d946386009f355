"""Path rooflines as figures: the ceiling of every stage, and the achieved rate as a line."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.roofline import Roofline, Stage
from ethermeter.document import Figure, Section, Table, VegaLite, small_first
from ethermeter.report.charts.frame import frame
from ethermeter.report.render import Page
from ethermeter.results.interval import Estimate

MOST_FINDINGS = 5
_ROW = 32
_BELOW = 7
"""How far below the middle of its row a ceiling is drawn; its name stands above it, so that narrow
screens have room for both.
"""
_KINDS = ("ceiling", "nearest ceiling")
_UNITS = ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"))


def rate_text(bit_per_s: float) -> str:
    """Write a rate with the unit that suits it, to three digits."""
    for size, unit in _UNITS:
        if bit_per_s >= size:
            return (
                f"{bit_per_s / size:.3g} {unit}"
                if bit_per_s / size < 999.5
                else f"{bit_per_s / size:.0f} {unit}"
            )
    return f"{bit_per_s:.3g} bit/s"


def verdict(roofline: Roofline) -> str:
    """Say which ceiling is nearest, and by how much."""
    nearest = roofline.nearest
    text = f"Nearest ceiling: {nearest.name}, {rate_text(nearest.ceiling.value)}"
    if roofline.achieved is None or roofline.margin is None:
        return f"{text}; nothing was measured on the path."
    text += f"; achieved: {rate_text(roofline.achieved.value)}, a margin of {roofline.margin:.3g}"
    # A frame at an edge of the window counts whole: that much more is no contradiction.
    if roofline.margin < 0.99:
        # A stage alone can be slower than in its place, where others do part of its work, and both
        # have an uncertainty.
        text += (
            " (achieved more than the ceiling says: they are not of the same conditions, or within"
            " their uncertainty)"
        )
    return text + "."


def spec(roofline: Roofline) -> VegaLite:
    """Draw a roofline: a row for each stage from source to sink, rates on a logarithmic axis."""
    names = [stage.name for stage in roofline.stages]
    rows = [_row(stage, is_nearest=stage is roofline.nearest) for stage in roofline.stages]
    ends = [rate for row in rows for rate in (row["y"], row.get("l"), row.get("h")) if rate]
    achieved = roofline.achieved
    ends += [achieved.value] if achieved is not None and achieved.value > 0 else []
    domain = [
        10 ** math.floor(math.log10(min(ends) * 0.999)),
        10 ** math.ceil(math.log10(max(ends) * 1.001)),
    ]
    place: VegaLite = {"field": "s", "type": "nominal", "sort": names, "title": None}
    place["axis"] = None
    along: VegaLite = {
        "field": "y",
        "type": "quantitative",
        "title": f"bit/s ({roofline.counts})",
    }
    along["scale"] = {"type": "log", "domain": domain, "nice": False}
    along["axis"] = {"grid": True, "format": "~s", "values": _ticks(*domain)}
    colour = {"field": "k", "type": "nominal", "scale": {"domain": list(_KINDS)}, "legend": None}
    tooltip = [
        {"field": "s", "title": "stage"},
        {"field": "t", "title": "ceiling"},
        {"field": "i", "title": "95% interval"},
        {"field": "m", "title": "over achieved"},
        {"field": "o", "title": "from"},
    ]
    for row in rows:
        ratio = None if achieved is None or not achieved.value > 0 else row["y"] / achieved.value
        row["m"] = "–" if ratio is None else f"{ratio:.3g}"
    layers: list[VegaLite] = [
        {
            "transform": [{"filter": "isValid(datum.l)"}],
            "mark": {
                "type": "rule",
                "strokeWidth": 5,
                "opacity": 0.35,
                "aria": False,
                "clip": True,
                "yOffset": _BELOW,
                "y2Offset": _BELOW,
            },
            "encoding": {
                "y": place,
                "x": {**along, "field": "l"},
                "x2": {"field": "h"},
                "color": colour,
            },
        }
    ]
    if not any("l" in row for row in rows):
        layers = []
    layers += [
        {
            "mark": {"type": "tick", "thickness": 3, "size": 14, "aria": False, "yOffset": _BELOW},
            "encoding": {"y": place, "x": along, "color": colour, "tooltip": tooltip},
        },
        {
            "mark": {
                "type": "text",
                "align": "left",
                "dx": 7,
                "dy": _BELOW,
                "baseline": "middle",
                "fontSize": 10.5,
                "aria": False,
            },
            # Beyond the interval, so that it is not printed over it.
            "encoding": {
                "y": place,
                "x": {**along, "field": "e"},
                "text": {"field": "t"},
                "color": colour,
            },
        },
    ]
    layers.append(
        {
            "mark": {
                "type": "text",
                "align": "left",
                "dx": 3,
                "dy": -3,
                "baseline": "bottom",
                "fontSize": 11,
                "x": 0,
                "aria": False,
            },
            "encoding": {"y": place, "text": {"field": "s"}},
        }
    )
    if achieved is not None and achieved.value > 0:
        layers += _across(achieved, along)
    return frame(
        rows,
        {"layer": layers},
        len(_KINDS),
        height=_ROW * len(rows),
        top=18,
        right=76,
    )


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and where there are few, 2 and 5 of each too."""
    decades = [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]
    if len(decades) > 3:
        return decades
    return [step * decade for decade in decades for step in (1, 2, 5) if step * decade <= high]


def _row(stage: Stage, *, is_nearest: bool) -> VegaLite:
    estimate = stage.ceiling
    row: VegaLite = {
        "s": stage.name,
        "y": estimate.value,
        "e": estimate.value,
        "k": _KINDS[is_nearest],
        "t": rate_text(estimate.value),
        "i": "none",
    }
    if stage.flows > 1:
        row["t"] += f", for {stage.flows} flows"
    row["o"] = stage.source
    if estimate.has_interval and estimate.error > 0:
        # What is below nothing has no place on a logarithmic axis.
        row |= {"l": max(estimate.low, estimate.value / 10), "h": estimate.high}
        row["e"] = estimate.high
        row["i"] = f"{rate_text(max(estimate.low, 0.0))} to {rate_text(estimate.high)}"
    return row


def _across(achieved: Estimate, along: VegaLite) -> list[VegaLite]:
    row = {"y": achieved.value, "t": f"achieved {rate_text(achieved.value)}"}
    data = {"values": [row]}
    layers = [
        {
            "data": data,
            "mark": {
                "type": "rule",
                "strokeWidth": 1.6,
                "strokeDash": [5, 3],
                "aria": False,
                "tooltip": None,
            },
            "encoding": {"x": along},
        },
        {
            "data": data,
            "mark": {
                "type": "text",
                "align": "center",
                "baseline": "bottom",
                "y": -5,
                "fontSize": 11,
                "fontWeight": 600,
                "aria": False,
            },
            "encoding": {"x": along, "text": {"field": "t"}},
        },
    ]
    if achieved.has_interval and achieved.error > 0:
        band = {"values": [{"l": max(achieved.low, achieved.value / 10), "h": achieved.high}]}
        mark = {"type": "rect", "opacity": 0.12, "aria": False}
        layers.insert(
            0,
            {
                "data": band,
                "mark": mark,
                "encoding": {"x": {**along, "field": "l"}, "x2": {"field": "h"}},
            },
        )
    return layers


def figure(roofline: Roofline) -> Figure:
    """Return the figure of a roofline, with its verdict and its table."""
    rows = []
    for stage in roofline.stages:
        row = _row(stage, is_nearest=stage is roofline.nearest)
        interval = "exact" if stage.ceiling.error == 0 else row["i"]
        cells = [rate_text(stage.ceiling.value), interval, str(stage.flows), stage.source]
        rows.append([stage.name, *cells])
    head = ("Stage", "Ceiling", "95% interval", "Flows", "From")
    return Figure(
        spec(roofline),
        roofline.title,
        verdict(roofline),
        numbers=Table(head, rows, "Ceilings along the path", "plain"),
        kind="roofline",
    )


def page(title: str, rooflines: Sequence[Roofline]) -> Page:
    """Return a page of rooflines."""
    figures = [figure(each) for each in rooflines]
    section = Section("rooflines", "Ceilings", "Ceilings along the path", figures)
    footer = (
        "A ceiling is what a stage could do alone; stages that share a processor do less together. "
        "Intervals are 95%."
    )
    findings = [
        Markup("<strong>{}</strong>: {}").format(each.title, small_first(verdict(each)))
        for each in rooflines[:MOST_FINDINGS]
    ]
    return Page(title, "ethermeter roofline", [section], footer, findings=findings)
