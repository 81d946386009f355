"""Explorer: estimates by column, and the specification that explorer.js fills with what is chosen.

Sent to the page once, as JSON: `keys` tell points apart, each with the names of its values and, by
point, the position of the point's name among them (-1: the point has no such key). `metrics` have,
by point, value (`y`) and ends of the interval (`l`, `h`) in the unit shown, null where there is
none, and cautions (`w`) by the number of the point.
"""

import math
from collections.abc import Sequence

from ethermeter.chart import Axis, Box, Curves, Look, Points, Trace
from ethermeter.document import Explorer, Label, plain
from ethermeter.metrics import Metric
from ethermeter.metrics.main import FLOW_MAIN_METRICS, MAIN_METRICS
from ethermeter.quantities import held, suited
from ethermeter.report.axes import curve_names, keys, unit_of
from ethermeter.report.charts.curves import curves
from ethermeter.report.charts.frame import AXES, Json
from ethermeter.report.labels import key_title, meaning
from ethermeter.report.plots import along_key
from ethermeter.report.theme import Ground, colours
from ethermeter.report.thinning import MOST_VALUES, spread
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.swept import quantity, varied_keys

SERIES = "series"
MOST_COLOURS = 60
"""Names of a key up to which it may distinguish curves."""
MOST_DIGITS = 6
_DASHES = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [12, 4], [4, 1], [1, 4], [9, 2, 2, 2, 2, 2])


def explorer(of: Explorer) -> Json:
    """Return keys, metrics, the first choice, and the specification to be filled."""
    points = of.points
    rows = [distinguished(point) for point in points]
    varied = [_key(name, [row.get(name) for row in rows]) for name in varied_keys(rows)]
    found = {metric: None for point in points for metric in point.estimates}
    metrics = [_metric(metric, points, of.entity) for metric in Metric if metric in found]
    return {
        "keys": varied,
        "metrics": [metric for metric in metrics if any(y is not None for y in metric["y"])],
        "start": {"metric": of.metric.value, "x": of.x, "curve": of.curve},
        "lines": of.lines,
        "spec": _spec(),
    }


def distinguished(point: Point) -> dict[str, str]:
    """Return what distinguishes a point from all others of its run, the series included."""
    return {SERIES: point.series, **keys(point)}


def thinned(points: Sequence[Point], most: int = MOST_VALUES) -> list[Point]:
    """Keep about so many points: of the key with most values, values at even distances.

    The points with the lowest and the highest value of every metric are kept as well.
    """
    kept = [(distinguished(point), point) for point in points]
    if len(kept) <= most:
        return list(points)
    while len(kept) > most:
        values: dict[str, dict[str, None]] = {}
        for row, _ in kept:
            for key, text in row.items():
                values.setdefault(key, {})[text] = None
        longest = max(values, key=lambda key: len(values[key]))
        texts = list(curve_names(list(values[longest])))
        fewer = max(1, min(len(texts) * most // len(kept), len(texts) - 1))
        shown = set(spread(texts, fewer) if fewer > 1 else texts[:1])
        kept = [(row, point) for row, point in kept if row.get(longest, texts[0]) in shown]
    chosen = {id(point) for _, point in kept} | _extremes(points)
    return [point for point in points if id(point) in chosen]


def _extremes(points: Sequence[Point]) -> set[int]:
    ends: dict[Metric, list[tuple[float, int]]] = {}
    for point in points:
        for metric, estimate in point.estimates.items():
            if math.isfinite(estimate.value):
                found = (estimate.value, id(point))
                low, high = ends.setdefault(metric, [found, found])
                ends[metric] = [min(low, found), max(high, found)]
    return {identity for pair in ends.values() for _, identity in pair}


def _key(name: str, texts: Sequence[str | None]) -> Json:
    """Return a key by column; its values in the order of a legend."""
    different = list(dict.fromkeys(text for text in texts if text is not None))
    names = curve_names(different)
    places = {text: at for at, text in enumerate(names)}
    unit = unit_of(name, different)
    found: Json = {
        "name": name,
        "title": key_title(name),
        "names": [plain(shown) for shown in names.values()],
        "at": [-1 if text is None else places[text] for text in texts],
    }
    if unit is not None:
        values = [read[0] for text in names if (read := quantity(text)) is not None]
        label, written = along_key(name, unit, sorted(values))
        found |= {
            "axis": label.axis,
            "values": [_short(value * label.factor) for value in values],
            "ticks": AXES[written],
        }
    if len(names) <= MOST_COLOURS:
        grounds: tuple[Ground, Ground] = ("light", "dark")
        found["colours"] = {
            ground: colours(len(names), ground=ground, is_ordered=unit is not None)
            for ground in grounds
        }
    return found


def _metric(metric: Metric, points: Sequence[Point], entity: str) -> Json:
    found = [point.estimates.get(metric) for point in points]
    label = suited(metric.label, (each.value for each in found if each))
    triples = [
        _rounded(held(each, label).scaled(label.factor)) if each else (None,) * 3 for each in found
    ]
    y, low, high = (list(column) for column in zip(*triples, strict=True))
    cautions = {
        at: ", ".join(each.cautions) for at, each in enumerate(found) if each and each.cautions
    }
    return {
        "name": metric.value,
        "title": label.title,
        "axis": label.axis,
        "unit": label.unit,
        "about": meaning(metric, entity),
        "zero": label.from_zero,
        **({"most": label.most} if math.isfinite(label.most) else {}),
        **({"main": True} if metric in (*MAIN_METRICS, *FLOW_MAIN_METRICS) else {}),
        "y": y,
        **({"l": low, "h": high} if any(end is not None for end in low) else {}),
        **({"w": cautions} if cautions else {}),
    }


def _rounded(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    """Value and ends to the third digit of the interval's half width, at most six digits."""
    if not math.isfinite(estimate.value):
        return (None, None, None)
    largest = max(abs(estimate.value), abs(estimate.low)) or abs(estimate.high)
    if not estimate.has_interval:
        return (_short(estimate.value), None, None)
    places = MOST_DIGITS - 1 - math.floor(math.log10(largest)) if largest else MOST_DIGITS
    if estimate.half_width > 0:
        places = min(places, 2 - math.floor(math.log10(estimate.half_width)))
    value, low, high = (
        _whole(round(each, places)) for each in (estimate.value, estimate.low, estimate.high)
    )
    return (value, low, high)


def _short(value: float) -> float:
    return _whole(float(f"{value:.{MOST_DIGITS}g}"))


def _whole(value: float) -> float:
    """Return a whole number as an integer, which JSON writes without ".0"."""
    return int(value) if value.is_integer() else value


def _spec() -> Json:
    """Return what stays the same for all choices: bands or whiskers, lines and points."""
    axis = Axis(Label(""))
    looks = (Look(interval="band", size=20), Look("", 1.4, "whiskers"))
    points = Points(doubtful=34, is_fading=True)
    traces = [Trace("", (), look) for look in looks]
    chart = Curves(traces, axis, axis, points=points, is_template=True, box=Box(above=6))
    return {**curves(chart), "dashes": _DASHES}
