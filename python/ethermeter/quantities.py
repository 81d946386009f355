"""Quantities as text for a person: SI prefix, unit, and interval, rounded by the interval."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ethermeter.metrics import Label, Metric
    from ethermeter.results.interval import Estimate

UNDEFINED = "–"
"""What stands for a value that does not exist."""
UNSEEN = 5e-5
"""Half width as a share of the value below which an interval is not written."""
MOST_DIGITS = 5
"""Significant digits of a value at most, however narrow its interval."""
ALIKE = 0.02
"""Relative difference of both sides of an interval that is written as one half width."""
DIGITS = 4
"""Significant digits of a value without an interval."""

_PREFIXES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps")),
    "bit/s": ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
"""Units with prefixes: the sizes of each, the largest first."""
_NEARLY = 0.9995
"""What is rounded up to the next prefix has that prefix."""
_LEAST, _MOST = 1e-3, 1e5
"""Values from and up to which one scale suits several quantities."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit for a person, `size` SI units large."""

    unit: str
    size: float = 1.0


def has_prefixes(unit: str) -> bool:
    """Whether values in an SI unit are written with the prefix that suits them."""
    return unit in _PREFIXES


def scale_of(value: float, unit: str) -> Scale:
    """Return the scale that suits a value in an SI unit; units without prefixes stay as they are.

    Examples
    --------
    >>> scale_of(82.4e6, "bit/s")
    Scale(unit='Mb/s', size=1000000.0)
    >>> scale_of(3.0, "message/s")
    Scale(unit='message/s', size=1.0)
    """
    prefixes = _PREFIXES.get(unit)
    if prefixes is None:
        return Scale(unit)
    if not math.isfinite(value) or value == 0:
        return next(Scale(text, size) for size, text in prefixes if size == 1.0)
    for size, text in prefixes:
        if abs(value) >= _NEARLY * size:
            return Scale(text, size)
    size, text = prefixes[-1]
    return Scale(text, size)


def common_scale(values: Iterable[float], unit: str) -> Scale | None:
    """Return one scale for all values in an SI unit; None if no scale suits them all.

    Examples
    --------
    >>> common_scale([60e-6, 1.6e-3], "s"), common_scale([2e-6, 3.0], "s")
    (Scale(unit='ms', size=0.001), None)
    """
    if unit not in _PREFIXES:
        return Scale(unit)
    found = sorted(abs(value) for value in values if math.isfinite(value) and value != 0)
    if not found:
        return scale_of(0.0, unit)
    scale = scale_of(found[-1], unit)
    if found[-1] < 10 * scale.size and found[0] < 0.1 * scale.size:
        scale = scale_of(found[len(found) // 2], unit)
    suits = found[0] >= _LEAST * scale.size and found[-1] < _MOST * scale.size
    return scale if suits else None


def places_of(half_width: float) -> int:
    """Return the decimal places of an interval: two digits if the first is 1 or 2, else one.

    Examples
    --------
    >>> [places_of(half) for half in (0.3, 0.24, 0.96, 41.0)]
    [1, 2, 1, -1]
    """
    exponent = math.floor(math.log10(half_width))
    return (1 if half_width < 2.95 * 10.0**exponent else 0) - exponent


def number(value: float | None, half_width: float = math.nan, *, digits: int = DIGITS) -> str:
    """Write a value, rounded where its interval is, or to some digits without an interval.

    Examples
    --------
    >>> number(82.4381, 0.3), number(13637.2, 41.0), number(0.97), number(float("nan"))
    ('82.4', '13640', '0.97', '–')
    >>> number(148809.5), number(6.1e-7), number(0.0)
    ('148810', '6.1e-07', '0')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if math.isfinite(half_width) and half_width > 0:
        places = min(places_of(half_width), MOST_DIGITS - 1 - magnitude)
        if places > 8:
            return f"{value:.{MOST_DIGITS}g}"
        # Plus zero: what is rounded to it has no sign.
        return f"{round(value, places) + 0.0:.{max(places, 0)}f}"
    places = digits - 1 - magnitude
    if places > 8 or magnitude >= 9:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float, half_width: float = math.nan) -> str:
    """Write a difference with its sign.

    Examples
    --------
    >>> signed(1.24, 0.3), signed(-1.24, 0.3), signed(0.0)
    ('+1.2', '-1.2', '0')
    """
    return f"{'+' if value > 0 else ''}{number(value, half_width)}"


def interval(value: float, half_width: float) -> str:
    """Write the interval beside a value: ` ± 0.3`; empty if there is none, or it is not seen."""
    if not is_seen(value, half_width):
        return ""
    places = places_of(half_width)
    if places > 8:
        return f" ± {half_width:.2g}"
    return f" ± {round(half_width, places):.{max(places, 0)}f}"


def is_seen(value: float, half_width: float) -> bool:
    """Whether an interval is wide enough to be written beside a value."""
    return math.isfinite(half_width) and half_width > 0 and half_width >= UNSEEN * abs(value)


def quantity(value: float | None, unit: str = "", half_width: float = math.nan) -> str:
    """Write a value in an SI unit with the prefix that suits it, and its interval.

    Examples
    --------
    >>> quantity(82.43e6, "bit/s", 0.3e6), quantity(1.5e-3, "s"), quantity(0.97)
    ('82.4 Mb/s ± 0.3', '1.5 ms', '0.97')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    half = half_width if math.isfinite(half_width) else 0.0
    return in_scale(value, half_width, scale_of(max(abs(value), half), unit))


def in_scale(value: float, half_width: float, scale: Scale, *, has_unit: bool = True) -> str:
    """Write a value and its interval in a scale, with its unit unless the unit is elsewhere."""
    value, half = value / scale.size, half_width / scale.size
    unit = f" {scale.unit}" if has_unit and scale.unit else ""
    return f"{number(value, half)}{unit}{interval(value, half)}"


def with_ends(
    value: float | None,
    low: float | None,
    high: float | None,
    scale: Scale,
    *,
    has_unit: bool = True,
) -> str:
    """Write a value in a scale with the ends of its interval: as a half width if they are alike.

    Examples
    --------
    >>> with_ends(0.25, 0.11, 0.46, Scale("")), with_ends(2.0, 1.9, 2.1, Scale("ms"))
    ('0.25 (0.11 to 0.46)', '2.00 ms ± 0.10')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if low is None or high is None:
        return in_scale(value, math.nan, scale, has_unit=has_unit)
    below, above = value - low, high - value
    half = max(below, above)
    if not is_seen(value, half) or abs(above - below) <= ALIKE * half:
        return in_scale(value, half, scale, has_unit=has_unit)
    unit = f" {scale.unit}" if has_unit and scale.unit else ""
    middle, least, most = (
        number(each / scale.size, half / scale.size) for each in (value, low, high)
    )
    return f"{middle}{unit} ({least} to {most})"


def held(estimate: "Estimate", label: "Label") -> "Estimate":
    """Return an estimate in the SI unit with an interval that ends where values of the label do."""
    return estimate.within(label.least / label.factor, label.most / label.factor)


def suited(label: "Label", values: Iterable[float]) -> "Label":
    """Return a label in the unit that suits all values, which are in the SI unit.

    The label itself if its unit has no prefixes, if no prefix suits all, or without a value above
    or below zero.

    Examples
    --------
    >>> from ethermeter.metrics import Metric
    >>> suited(Metric.ONE_WAY_DELAY.label, [65.362e-3, 2e-3]).axis
    'One-way delay (ms)'
    """
    found = [value for value in values if math.isfinite(value) and value != 0]
    unit = next(
        (
            unit
            for unit, prefixes in _PREFIXES.items()
            for size, text in prefixes
            if text == label.unit and math.isclose(size * label.factor, 1.0)
        ),
        None,
    )
    scale = common_scale(found, unit) if unit is not None and found else None
    if scale is None:
        return label
    ratio = 1 / scale.size / label.factor
    return replace(
        label,
        unit=scale.unit,
        factor=1 / scale.size,
        least=label.least * ratio,
        most=label.most * ratio,
    )


def estimate_text(estimate: "Estimate", scale: Scale, *, has_unit: bool = True) -> str:
    """Write an estimate in a scale with its interval."""
    return with_ends(estimate.value, estimate.low, estimate.high, scale, has_unit=has_unit)


def shown_unit(metric: "Metric") -> tuple[str, float]:
    """Return the unit in which a metric is shown, and the factor from its SI unit.

    Times and rates get the prefix that suits them later.
    """
    if has_prefixes(metric.unit):
        return metric.unit, 1.0
    return metric.label.unit, metric.label.factor


def metric_text(metric: "Metric", estimate: "Estimate") -> str:
    """Write an estimate of a metric with its unit and interval."""
    unit, factor = shown_unit(metric)
    shown = held(estimate, metric.label).scaled(factor)
    return estimate_text(shown, scale_of(shown.value, unit))


def value_text(metric: "Metric", value: float, half_width: float = math.nan) -> str:
    """Write a value of a metric with its unit and the half width of its interval."""
    unit, factor = shown_unit(metric)
    return quantity(value * factor, unit, half_width * factor)


def column(estimates: "Iterable[Estimate | None]", unit: str) -> tuple[str, list[str]]:
    """Write estimates of one metric as a column: its unit, and a cell for each estimate.

    The unit is empty, and each cell has its own, if no prefix suits them all.

    Examples
    --------
    >>> from ethermeter.results.interval import Estimate
    >>> nan = float("nan")
    >>> column([Estimate(82.43e6, nan, nan), None], "bit/s")
    ('Mb/s', ['82.43', '–'])
    """
    cells = list(estimates)
    values = [cell.value for cell in cells if cell is not None]
    scale = common_scale(values, unit)
    texts = []
    for cell in cells:
        if cell is None or not math.isfinite(cell.value):
            texts.append(UNDEFINED)
        elif scale is None:
            texts.append(estimate_text(cell, scale_of(cell.value, unit)))
        else:
            texts.append(estimate_text(cell, scale, has_unit=False))
    return scale.unit if scale is not None else "", texts
