"""Charts as data: curves, bars and spans, whose values are numbers, with their axes and names.

What a chart is, not how it is drawn: `ethermeter.report.charts` writes each as Vega-Lite. Colours
distinguish names: those of curves, of bars at one place, and of spans in one row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ethermeter.metrics import Label
from ethermeter.results.interval import Estimate

Value = float | Estimate
"""A number, in the SI unit of its axis, with an interval or without."""


def estimate_of(value: Value) -> Estimate:
    """Return a number as an estimate; one without an interval, if it has none."""
    return value if isinstance(value, Estimate) else Estimate(value, math.nan, math.nan)


def number_of(value: Value | str) -> float:
    """Return a number without its interval."""
    return value.value if isinstance(value, Estimate) else float(value)


Tip = tuple[str, str, str]
"""A line that pointing at a value shows: what of it, its title, and its format (d3-format).

What is one of "value" and "interval" (as texts with the unit of the axis), "caution", "curve",
"by", "order", "x", "y", "place", "step" and "end" (of a bar that lasts), "row", "kind" and "text"
(of a span). Numbers without a format are written as they are.
"""
Numbers = (
    Literal["usual", "count", "plain", "si", "time", "decades", "few", "bare"]
    | Literal["delay", "rate", "share", "part", "bus"]
)
"""How the numbers along an axis are spaced and written."""
Sample = Literal["usual", "stroke", "thin", "faint", "opaque"]
"""How a legend shows a colour: as its marks are, or as a stroke."""
Palette = Literal["distinct", "ramp", "channel time"]
"""Colours of names: as different as can be, from dark to bright, or those of channel time."""


@dataclass(frozen=True, slots=True)
class Box:
    """Size of a chart, and room above it and to the right, in pixels; width 0: the page's."""

    width: int = 0
    height: int = 280
    above: int = 2
    right: int = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of numbers.

    Parameters
    ----------
    label
        Title, unit and factor from the SI unit; for rounded ends also whether it begins at zero,
        and the largest value there can be.
    low, high
        Ends, in the unit shown; None: those of the values. What lies beyond is cut off.
    is_rounded
        Whether the ends are round numbers that hold every value.
    from_zero, is_nice
        Whether zero is part of it, and whether it ends at ticks.
    padding
        Room at both ends, in pixels.
    numbers
        How numbers along it are written; those of a logarithmic axis with both ends stand at powers
        of ten, and where there is room at two and five times these.
    is_date
        Whether it has moments as texts, in UTC, instead of numbers.
    held
        Values that rounded ends hold besides those drawn, in the SI unit.

    """

    label: Label
    low: float | None = None
    high: float | None = None
    is_rounded: bool = False
    is_log: bool = False
    from_zero: bool = False
    is_nice: bool = False
    padding: int = 0
    numbers: Numbers = "usual"
    is_date: bool = False
    held: Sequence[Value] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """An axis of names.

    Parameters
    ----------
    of
        The names in their order; empty: those of the values.
    angle, limit, size
        Degrees, and width and size of letters in pixels (0: as everywhere).
    separator
        Where names are broken into lines; empty: nowhere.
    is_thinned
        Whether names that would overlap are left out.
    has_lines
        Whether a faint line goes through each.
    is_written
        Whether they stand along the axis.

    """

    title: str = ""
    of: Sequence[str] = ()
    angle: int = 0
    limit: int = 180
    size: int = 0
    separator: str = ""
    is_thinned: bool = False
    has_lines: bool = False
    is_written: bool = True


@dataclass(frozen=True, slots=True)
class Legend:
    """What colours mean.

    `limit` is the width of a name in pixels (None: as usual, 0: any), `shown` the names that are
    explained (empty: all).
    """

    title: str = ""
    columns: int = 3
    sample: Sample = "usual"
    limit: int | None = None
    is_below: bool = False
    shown: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """How a curve is drawn.

    Parameters
    ----------
    line
        "steps" go on until the next point, "halves" change midway; empty: no line.
    width
        Of the line, in pixels.
    interval
        How 95% intervals are drawn.
    size
        Of the points, in square pixels; 0: a pointer finds them, but they are not seen; None: none.
    says
        By which means the values were found, if a chart has curves of several looks.

    """

    line: Literal["", "solid", "dashed", "steps", "halves"] = "solid"
    width: float = 1.6
    interval: Literal["", "band", "whiskers"] = ""
    size: float | None = None
    says: str = ""


@dataclass(frozen=True, slots=True)
class Points:
    """How points are drawn and found.

    Parameters
    ----------
    stroke, opacity
        Of a point; its opacity is as usual if None.
    doubtful
        Size of a triangle instead of a point with a caution; 0: none.
    pointer
        Whether the pointer finds the nearest point, one that it touches, the nearest of points that
        are seen then only, or nothing but a text. Vega-Lite 6.4 loses the texts of the nearest; the
        page mends that, others cannot.
    is_fading
        Whether the curve that the pointer finds makes the others faint.

    """

    stroke: float = 1.3
    is_filled: bool = False
    opacity: float | None = None
    doubtful: float = 0
    pointer: Literal["nearest", "touched", "hidden", "none"] = "nearest"
    is_fading: bool = False
    is_clipped: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """A curve.

    Parameters
    ----------
    name
        Its colour; curves of several looks may share it.
    points
        x and y, in SI units; of an axis of dates x are texts.
    order
        What orders the points; empty: x.

    """

    name: str
    points: Sequence[tuple[Value | str, Value]]
    look: Look = Look()
    order: Sequence[float] = ()


Mark = tuple[str, float, float]
"""A point that stands out: name of its curve, x, and y in the SI unit."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Points that stand out from curves, below the points of these or above; `size` as there."""

    points: Sequence[Mark] = ()
    size: float = 110
    is_diamond: bool = True
    is_above: bool = False
    says: str = ""  # What they are, in the table of numbers


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves: values against a number.

    Parameters
    ----------
    traces
        At least one with a point.
    tips
        What pointing at a value shows.
    legend
        What names are values of; None: no legend.
    order
        Title of what orders points, where that is not x.
    window
        Begin and end along x of what is shaded.
    across
        Values of y in the SI unit, by name, drawn as lines across all curves.
    is_named_at_ends
        Whether names stand at the ends of curves, moved apart where they would overlap.
    font_size
        Of these names, in pixels.
    is_template
        Whether the explorer of a page fills it: each layer has a name, and curves are distinguished
        by dashes as well.

    """

    traces: Sequence[Trace]
    x: Axis
    y: Axis
    tips: Sequence[Tip] = ()
    legend: Legend | None = None
    points: Points = Points()
    marks: Marks = Marks()
    palette: Palette = "distinct"
    order: str = ""
    window: tuple[float, float] | None = None
    across: Mapping[str, float] | None = None
    is_clipped: bool = True
    is_named_at_ends: bool = False
    is_template: bool = False
    font_size: float = 10.5
    title: str = ""
    box: Box = Box()


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, or a part of one: its place, its name there, and its height.

    A place is a name, or the times from which and until which the bar lasts, in s.
    """

    place: str | tuple[float, float]
    name: str
    height: Value


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars from zero, side by side at a place or stacked, with whiskers for the 95% intervals.

    Parameters
    ----------
    bars
        At least one with a finite value.
    places
        What is along the other axis: names, or the time.
    names
        Names that have a colour, in their order; empty: those of the bars.
    is_stacked
        Whether the parts at a place stand one on the other, negative ones below zero.
    is_lying
        Whether bars go from left to right.
    share, gap
        Of the room of its place that a bar takes, and of that of a bar that stays free between bars
        side by side; 0: as usual.
    across
        Values by name, drawn as lines across all bars.
    window
        Begin and end of what is marked along the time.

    """

    bars: Sequence[Bar]
    value: Axis
    places: Names | Axis
    tips: Sequence[Tip] = ()
    legend: Legend | None = Legend()
    names: Sequence[str] = ()
    palette: Palette = "distinct"
    is_stacked: bool = False
    is_lying: bool = False
    share: float = 0
    gap: float = 0
    across: Mapping[str, float] | None = None
    window: tuple[float, float] | None = None
    title: str = ""
    box: Box = Box()


Sign = Literal["point", "mean", "largest", "percentile", "bound", "deadline", "ceiling", "instant"]
"""What is drawn at a value of a span."""


@dataclass(frozen=True, slots=True)
class Span:
    """A value in a row, or several with a line from the lowest to the highest.

    Parameters
    ----------
    row, name
        Its row, and its name there, which has a colour.
    values
        What is drawn at each, what it is, and the value; the first may have an interval.
    text, notes
        A text beside it, and texts for pointing at it, by what a tip calls them.
    is_drawn_out
        Whether a line goes from the lowest to the highest value.

    """

    row: str
    name: str
    values: Sequence[tuple[Sign, str, Value]]
    text: str = ""
    notes: Mapping[str, str] | None = None
    is_drawn_out: bool = False


@dataclass(frozen=True, slots=True)
class Spans:
    """Values in rows, one below the other.

    Parameters
    ----------
    spans
        At least one with a value.
    rows
        Their names, from the top.
    names
        Names that have a colour, in their order; empty: those of the spans.
    is_beside
        Whether the names of a row have a line each.
    is_joined
        Whether values of a name are joined by a line from row to row.
    limit
        A value that is drawn as a line across all rows, and its text.

    """

    spans: Sequence[Span]
    value: Axis
    rows: Names
    tips: Sequence[Tip] = ()
    legend: Legend | None = None
    names: Sequence[str] = ()
    is_beside: bool = False
    is_joined: bool = False
    limit: tuple[Estimate, str] | None = None
    box: Box = Box()


Chart = Curves | Bars | Spans
