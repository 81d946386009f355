"""Axes: which varied key becomes the x axis, which names curves, and which makes panels."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ethermeter.analysis.frame_mixes import FRAMES, lengths
from ethermeter.document import plain
from ethermeter.metrics import Metric
from ethermeter.report.labels import key_title
from ethermeter.report.thinning import FEWEST_PLACES, MOST_BARS, MOST_PANELS, MOST_VALUES, spread
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate
from ethermeter.swept import quantity

ENGINE = "engine"
PLCA = "segment.plca.enable"
MOST_CURVES = 12
MOST_CATEGORIES = 4
"""Values of a key from which whole numbers are a quantity in any case: a line has a shape then."""
_AMOUNTS = re.compile(
    r"(count|-cnt|-tmr|limit|queue|queue_size|per_cluster|bits|load|speed|exchanges|window|rate)$"
)
"""Ends of keys whose whole numbers are amounts, however few they are."""
MOST_BANDS = 5
"""Bands that lie over one another in a figure."""
SEEN_BAND = 0.02
"""Width of a band, as a share of the range of all values, from which it hides others."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Keys of a point by their role in a figure.

    `x` is None if nothing but engines is varied, `x_unit` if the values of x are categories.
    """

    x: str | None
    x_unit: str | None
    curve: str | None
    panels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A name, and estimates by x, smallest x first."""

    name: str
    points: tuple[tuple[float, Estimate], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves that share a figure; `title` is empty if there is only one panel.

    Parameters
    ----------
    is_ordered
        Whether the curves' names are quantities.
    places
        Names of what is along x, whose numbers are x; empty where x is a quantity.
    held
        Values that the y axis holds as well: those of all panels beside this one that
        have the same axes.

    """

    title: str
    curves: tuple[Curve, ...]
    is_ordered: bool
    places: tuple[str, ...] = ()
    held: tuple[Estimate, ...] = ()


def keys(point: Point) -> dict[str, str]:
    """Return what distinguishes a point from the others of its series.

    Whether PLCA is on distinguishes curves as an engine does: it is there to be compared.
    """
    found = {**point.point, ENGINE: point.engine}
    if (is_on := found.pop(PLCA, None)) is not None:
        name = "PLCA" if is_on == "true" else "CSMA/CD"
        found[ENGINE] = name if point.engine == "simulation" else point.engine
    return found


def choose(points: Sequence[Point]) -> Axes:
    """Pick axes for the points of a series.

    The number of stations is the x axis if it varies; otherwise the numeric key with the most
    values (of one unit), the first in the plan among equals. If that made more panels than a page
    shows, it is the numeric key that makes fewest. Of the other keys, the engine, or the one with
    the most values that still fit as curves, distinguishes curves; the rest make panels.
    Where no key is numeric, x has the categories of the key that has most of them.
    """
    values: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in keys(point).items():
            values.setdefault(key, {})[value] = None
    varied = {key: list(found) for key, found in values.items() if len(found) > 1}
    numeric = {
        key: read for key, found in varied.items() if (read := unit_of(key, found)) is not None
    }
    x: str | None = None
    if numeric:
        x = (
            "stations.count"
            if "stations.count" in numeric
            else max(numeric, key=lambda key: len(varied[key]))
        )
        if _panel_count(varied, x) > MOST_PANELS:
            x = min(numeric, key=lambda key: _panel_count(varied, key))
    else:
        categories = [key for key, of in varied.items() if key != ENGINE and len(of) <= MOST_BARS]
        x = max(categories, key=lambda key: len(varied[key]), default=None)
    curve, others = _others(varied, x)
    return Axes(x, numeric.get(x) if x else None, curve, others)


def drawn(points: Sequence[Point]) -> list[Point]:
    """Points that figures show, without ablations.

    If there are too many curves, without the idealised simulations of theories as well.

    All of these are shown where theories and simulations are compared.
    """
    shown = [point for point in points if not point.engine.startswith("ablation/")]
    if len({point.engine for point in shown}) <= MOST_CURVES:
        return shown
    return [point for point in shown if not point.engine.startswith("idealised/")]


def _others(
    varied: Mapping[str, Sequence[str]], x: str | None
) -> tuple[str | None, tuple[str, ...]]:
    """Pick the key that distinguishes curves, and those that make panels, for an x axis."""
    others = {key: len(found) for key, found in varied.items() if key != x}
    fitting = [key for key, count in others.items() if count <= MOST_CURVES]
    # Several engines are there to be compared, so their curves share a panel.
    curve = (
        ENGINE
        if ENGINE in others
        else max(fitting, key=lambda key: others[key])
        if fitting
        else None
    )
    return curve, tuple(key for key in others if key != curve)


def _panel_count(varied: Mapping[str, Sequence[str]], x: str) -> int:
    return math.prod(len(varied[key]) for key in _others(varied, x)[1])


def unit_of(key: str, texts: Sequence[str]) -> str | None:
    """Find the base unit that all values of a key share; None if they are categories.

    Categories are texts, yes and no, quantities of several units, and a few whole numbers of a key
    that names no amount: classes 1 and 8 have nothing between them.

    Examples
    --------
    >>> unit_of("flows.load.frames", ["64 B", "1518 B"]), unit_of("segment.length", ["1 km"])
    ('B', 'm')
    >>> unit_of("stations.count", ["1", "8"]), unit_of("network.classes", ["1", "8"])
    ('', None)
    """
    read = [quantity(text) for text in texts]
    units = {found[1] for found in read if found}
    if not all(read) or len(units) != 1:
        return None
    are_few = len(texts) < MOST_CATEGORIES and all(re.fullmatch(r"-?\d+", each) for each in texts)
    return None if are_few and not _AMOUNTS.search(key) else units.pop()


def _engine_name(engine: str) -> str:
    kind, _, name = engine.partition("/")
    model, _, step = name.partition("/")
    return {
        "theory": name,
        "idealised": f"{model}, assumptions simulated",
        "ablation": f"{model}, simulated without {step}",
    }.get(kind, engine)


def curve_names(texts: Sequence[str]) -> dict[str, str]:
    """Short names of the values that distinguish curves, in the order of the legend.

    Theories go by the names of their models. Frame lengths go from short to long; mixes of two
    lengths are named as the 1988 study names them, short to long: "7/1".
    """
    if any(text.startswith(("theory/", "idealised/", "ablation/")) for text in texts):
        return {text: _engine_name(text) for text in texts}
    try:
        mixes = {text: lengths(text) for text in texts}
    except ValueError:
        read = {text: quantity(text) for text in texts}
        if all(read.values()):
            return {text: text for text in sorted(texts, key=lambda text: read[text] or (0.0, ""))}
        return {text: plain(text) for text in texts}
    order = sorted(
        texts, key=lambda text: sum(o * w for o, w in mixes[text]) / sum(w for _, w in mixes[text])
    )
    sizes = sorted({octets for mix in mixes.values() for octets, _ in mix})
    totals = {sum(weight for _, weight in mix) for mix in mixes.values() if len(mix) > 1}
    if len(sizes) != 2 or len(totals) != 1:
        return {text: text for text in order}
    total = totals.pop()

    def ratio(text: str) -> str:
        shares = {
            octets: weight * total / sum(w for _, w in mixes[text])
            for octets, weight in mixes[text]
        }
        return f"{shares.get(sizes[0], 0):g}/{shares.get(sizes[1], 0):g}"

    return {text: ratio(text) for text in order}


def panels(
    points: Sequence[Point], axes: Axes, metric: Metric, *, are_apart: bool = True
) -> list[Panel]:
    """Arrange one metric of a series' points.

    Panels without any value are left out, and what a page cannot show is thinned. Values at one
    place along x only are bars there. More bands than a reader can tell apart get a panel each,
    unless a study has them in one figure (`are_apart`).
    """
    if axes.x is None:
        return []
    by_panel: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        if metric in point.estimates:
            by_panel.setdefault(tuple(keys(point)[key] for key in axes.panels), []).append(point)
    names = (
        curve_names(list(dict.fromkeys(keys(point)[axes.curve] for point in points)))
        if axes.curve
        else {"": ""}
    )
    is_ordered = axes.curve == FRAMES or (
        axes.curve is not None and all(quantity(text) for text in names)
    )
    found = []
    for values, members in by_panel.items():
        curves: dict[str, list[tuple[float, Estimate]]] = {text: [] for text in names}
        places = _places([keys(point)[axes.x] for point in members], axes)
        for point in members:
            text = keys(point)[axes.x]
            x = places.index(text) if places else (quantity(text) or (math.nan,))[0]
            curves[keys(point)[axes.curve] if axes.curve else ""].append(
                (x, point.estimates[metric])
            )
        kept = tuple(
            Curve(names[text], tuple(sorted(curve, key=lambda pair: pair[0])))
            for text, curve in curves.items()
            if any(estimate.value == estimate.value for _, estimate in curve)
        )
        if kept:
            title = ", ".join(
                f"{key_title(key)}: {plain(value)}"
                for key, value in zip(axes.panels, values, strict=True)
            )
            shown = tuple(plain(text) for text in places)
            found.append(Panel(title, kept, is_ordered, shown))
    # Beside other panels, a panel for each curve would be more than a page shows.
    return _thinned(_apart(found[0], axes) if are_apart and len(found) == 1 else found)


def _places(texts: Sequence[str], axes: Axes) -> list[str]:
    """Return the categories along x in their order; empty for quantities at several places."""
    different = list(dict.fromkeys(texts))
    return different if axes.x_unit is None or len(different) == 1 else []


def _apart(panel: Panel, axes: Axes) -> list[Panel]:
    """Give each curve a panel of the same axes, where more bands than `MOST_BANDS` overlap."""
    if panel.places or axes.curve is None or not _is_crowded(panel):
        return [panel]
    every = tuple(of for curve in panel.curves for _, of in curve.points)
    title = f"{panel.title}, " if panel.title else ""
    name = key_title(axes.curve)
    return [
        replace(
            panel,
            title=f"{title}{name}: {curve.name}",
            curves=(curve,),
            held=every,
        )
        for curve in panel.curves
    ]


def _is_crowded(panel: Panel) -> bool:
    """Whether more bands than `MOST_BANDS` lie over one another at half of the places along x."""
    bands: dict[float, list[Estimate]] = {}
    for curve in panel.curves:
        for x, of in curve.points:
            bands.setdefault(x, []).append(of)
    values = [of.value for several in bands.values() for of in several]
    values = [value for value in values if math.isfinite(value)]
    least = SEEN_BAND * (max(values) - min(values))
    crowded = 0
    for several in bands.values():
        seen = [of for of in several if of.has_interval and of.high - of.low > least]
        # As many as overlap anywhere overlap at the lower end of one of them.
        deepest = max((sum(of.low <= at.low < of.high for of in seen) for at in seen), default=0)
        crowded += deepest > MOST_BANDS
    return 2 * crowded >= len(bands)


def _thinned(found: Sequence[Panel]) -> list[Panel]:
    """Thin panels, and the curves of each, to what a page can show.

    Panels and positions along x are at even distances; the lowest and the highest value are kept.
    """
    shown = spread(found, MOST_PANELS)
    if sum(len(curve.points) for panel in shown for curve in panel.curves) <= MOST_VALUES:
        return shown
    thin = []
    for panel in shown:
        most = max(FEWEST_PLACES, MOST_VALUES // len(shown) // len(panel.curves))
        places = set(spread(sorted({x for curve in panel.curves for x, _ in curve.points}), most))
        for curve in panel.curves:
            known = [
                (estimate.value, x)
                for x, estimate in curve.points
                if estimate.value == estimate.value
            ]
            places |= {min(known)[1], max(known)[1]}
        curves = (
            replace(curve, points=tuple(pair for pair in curve.points if pair[0] in places))
            for curve in panel.curves
        )
        thin.append(replace(panel, curves=tuple(curves)))
    return thin
