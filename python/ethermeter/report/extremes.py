"""Extremes: a metric over the points of a run, in a sentence: its highest and its lowest value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ethermeter.document import Label, plain, valued
from ethermeter.faults import small_first
from ethermeter.metrics import Metric
from ethermeter.quantities import held, suited
from ethermeter.report.axes import ENGINE, keys
from ethermeter.report.labels import key_title
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate

ALIKE = 0.01
"""Relative difference below which the ends of a range are not told apart."""
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Known:
    """A point that has a value of the metric, and the value."""

    point: Point
    estimate: Estimate


def known(points: Sequence[Point], metric: Metric) -> list[Known]:
    """Return the points with a finite value of the metric, in their order."""
    return [
        Known(point, point.estimates[metric])
        for point in points
        if metric in point.estimates and math.isfinite(point.estimates[metric].value)
    ]


def amount(estimate: Estimate, label: Label) -> Markup:
    r"""Write a value with its unit, in bold, and its interval in brackets.

    Examples
    --------
    >>> amount(Estimate(0.954, 0.001, 9.0), Metric.UTILISATION.label)
    Markup('<strong>0.9540</strong> (±\xa00.0023)')
    >>> amount(Estimate(0.03, 0.0, 9.0), Metric.LOSS.label)
    Markup('<strong>3\xa0%</strong>')
    """
    label = suited(label, [estimate.value])
    unit = f"{NO_BREAK}{label.unit}" if label.unit else ""
    text, _, interval = valued(estimate, label).partition(" ")
    bold = Markup("<strong>{}{}</strong>").format(text, unit)
    inner = interval.strip("()").replace("± ", f"±{NO_BREAK}")
    return Markup("{} ({})").format(bold, inner) if inner else bold


def places(points: Sequence[Point]) -> "Places":
    """Return how points are told apart: by their series, and by keys that have several values."""
    values: dict[str, set[str]] = {}
    for point in points:
        for key, value in keys(point).items():
            values.setdefault(key, set()).add(value)
    varied = tuple(key for key, found in values.items() if len(found) > 1)
    return Places(varied, len({point.series for point in points}) > 1)


@dataclass(frozen=True, slots=True)
class Places:
    """Keys by which points are told apart, and whether their series does too."""

    varied: tuple[str, ...]
    has_series: bool

    def at(self, point: Point) -> str:
        """Say which point it is; empty of the only one.

        Examples
        --------
        >>> where = Places(("stations.count",), has_series=False)
        >>> where.at(Point("s", {"stations.count": "24"}, "simulation", 3, {}))
        'number of hosts 24'
        """
        found = keys(point)
        texts = [f"series {point.series}"] if self.has_series else []
        texts += [_setting(key, found) for key in self.varied if key in found]
        return ", ".join(texts)


def _setting(key: str, found: Mapping[str, str]) -> str:
    if key == ENGINE:
        return f"by {found[key]}"
    title = key_title(key)
    # A key that has no title is its own, and is written as in its file.
    return f"{title if title == key else small_first(title)} {plain(found[key])}"


def extremes(metric: Metric, points: Sequence[Point]) -> Markup | None:
    """Say where the metric is highest and lowest; None if no point has a value.

    Both ends at one point, or nearer to each other than their intervals, are one range.
    """
    found = known(points, metric)
    if not found:
        return None
    title = metric.label.title
    if len(found) == 1:
        return Markup("{} is {}.").format(title, amount(found[0].estimate, metric.label))
    where = places([each.point for each in found])
    high = max(found, key=lambda each: each.estimate.value)
    low = min(found, key=lambda each: each.estimate.value)
    if _is_one(low.estimate, high.estimate):
        return Markup("{} is {} to {} at all {} points.").format(
            title,
            amount(low.estimate, metric.label),
            amount(high.estimate, metric.label),
            f"{len(found):,}",
        )
    return Markup("{} is highest, {}, at {}; lowest, {}, at {}.").format(
        title,
        amount(high.estimate, metric.label),
        where.at(high.point),
        amount(low.estimate, metric.label),
        where.at(low.point),
    )


def _is_one(low: Estimate, high: Estimate) -> bool:
    difference = high.value - low.value
    known = [each.half_width for each in (low, high) if each.has_interval]
    return difference <= max(sum(known), ALIKE * abs(high.value))


def losses(metric: Metric, points: Sequence[Point]) -> Markup | None:
    """Say where most is lost, and how many points lost nothing; None if no point has a value."""
    found = known(points, metric)
    if not found:
        return None
    title = metric.label.title
    worst = max(found, key=lambda each: each.estimate.value)
    count = f"{len(found):,}"
    if worst.estimate.value == 0:
        limit = max((held(each.estimate, metric.label).high for each in found), key=_finite)
        scale = metric.label.factor
        unit = f" {metric.label.unit}" if metric.label.unit else ""
        below = f" (95% limit: {limit * scale:.2g}{unit})" if limit > 0 else ""
        at = f"at all {count} points" if len(found) > 1 else "in this run"
        return Markup("{} is <strong>zero</strong> {}{}.").format(title, at, below)
    if len(found) == 1:
        return Markup("{} is {}.").format(title, amount(worst.estimate, metric.label))
    where = places([each.point for each in found]).at(worst.point)
    none = sum(each.estimate.value == 0 for each in found)
    rest = (
        f"; zero at {none:,} of {count} points" if none else f"; above zero at all {count} points"
    )
    return Markup("{} is highest, {}, at {}{}.").format(
        title, amount(worst.estimate, metric.label), where, rest
    )


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -math.inf
