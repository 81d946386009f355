"""Distribution: the share of frames or messages whose delay is larger, both axes logarithmic."""

import math
from collections.abc import Mapping
from itertools import pairwise

from ethermeter.analysis.distribution import Distribution
from ethermeter.document import Label, VegaLite
from ethermeter.report.charts.frame import Json, frame
from ethermeter.swept import quantity

STEP = 0.03
"""Distance of points that are drawn, in natural logarithms: about a pixel."""


def exceedance(
    found: Mapping[str, Distribution], label: Label, *, y_title: str, legend: str
) -> VegaLite:
    """Draw the shares above each delay, one curve each.

    Parameters
    ----------
    found
        Distributions by the name of their curve.
    label
        Of the delay.
    y_title
        Title of the y axis.
    legend
        What the names are values of.

    """
    names = list(found)
    rows = [
        {"x": float(f"{value_s * label.factor:.4g}"), "y": float(f"{share:.4g}"), "c": name}
        for name, of in found.items()
        for value_s, share in _thinned(of)
    ]
    body: Json = {
        "mark": {"type": "line", "strokeWidth": 1.6, "aria": False, "interpolate": "linear"},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": label.axis,
                "scale": {"type": "log", "nice": False},
                "axis": {"format": ",.6~r", "labelOverlap": True, "grid": True, "tickCount": 6},
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": y_title,
                "scale": {"type": "log", "nice": False, "domainMax": 1},
                "axis": {"format": ".4~%", "tickCount": 6},
            },
            "color": {
                "field": "c",
                "type": "nominal",
                "scale": {"domain": names},
                "legend": {"title": legend, "titleLimit": 400, "columns": 3},
            },
            "tooltip": [
                {
                    "field": "x",
                    "type": "quantitative",
                    "title": f"{label.title[:1].lower()}{label.title[1:]}, {label.unit}",
                    "format": ".4~r",
                },
                {"field": "y", "type": "quantitative", "title": "take longer", "format": ".3~%"},
                {"field": "c", "title": legend},
            ],
        },
    }
    is_ordered = all(quantity(name) for name in names)
    return frame(rows, body, len(names), is_ordered=is_ordered, right=10)


def _thinned(of: Distribution) -> list[tuple[float, float]]:
    """Points with a time and a share above 0, thinned for logarithmic axes.

    A point is left out if it is next to the one before and the one after.
    """
    every = zip(of.value_s.tolist(), of.exceeding.tolist(), strict=True)
    # Messages that were measured may have come at the same time.
    points = [(value_s, share) for value_s, share in every if share > 0 and value_s > 0]
    kept = points[:1]
    for before, point in pairwise(points):
        if abs(math.log(point[0] / kept[-1][0])) + abs(math.log(point[1] / kept[-1][1])) > STEP:
            # A flat stretch keeps its end, or the line would run slantwise where it falls.
            kept += [before, point] if before != kept[-1] else [point]
    return kept if kept[-1:] == points[-1:] else [*kept, points[-1]]
