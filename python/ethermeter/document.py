"""Document: what a page of a report shows, as data.

A page is made of sections, a section of blocks: headings, texts, tables and figures. A figure holds
a chart (`ethermeter.chart`). Text is escaped when a page is
rendered; `markupsafe.Markup` is taken as HTML.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ethermeter.blocks import Bullets as Bullets
from ethermeter.blocks import Heading as Heading
from ethermeter.blocks import Row as Row
from ethermeter.blocks import Table as Table
from ethermeter.blocks import Text as Text
from ethermeter.chart import Chart
from ethermeter.metrics import Label as Label
from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.quantities import UNDEFINED, Scale, estimate_text, held
from ethermeter.quantities import number as number
from ethermeter.results.estimates import Point
from ethermeter.results.interval import Estimate


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its caption.

    Parameters
    ----------
    chart
        What is drawn.
    title, text
        Caption.
    numbers
        Table folded away below the chart; None: made from the chart, unless there is one in sight.
    after
        Table in sight below the chart.
    kind
        Class of the chart's box: "low" or "roofline".

    """

    chart: Chart
    title: str
    text: str = ""
    numbers: Table | None = None
    after: Table | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """Figures side by side."""

    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing in SVG, in a box with its own scroll bars."""

    svg: Markup
    title: str


@dataclass(frozen=True, slots=True)
class Explorer:
    """A figure whose metric, axes and curves the reader chooses; one on a page.

    Parameters
    ----------
    points
        At least two, which differ in a varied key, the engine or the series; all are sent to the
        page.
    metric, x, curve
        What is drawn first: the metric, the key of the horizontal axis, and the key that
        distinguishes curves by colour, empty for one curve.
    lines
        Key that distinguishes lines by their dashes, where it does not distinguish curves by
        colour, such as "engine".
    title, text
        Caption.
    entity
        What metrics are of: "station" or "flow".

    """

    points: Sequence[Point]
    metric: Metric
    x: str
    curve: str
    lines: str
    title: str
    text: str = ""
    entity: str = "station"


Block = Text | Heading | Bullets | Table | Figure | Explorer | Grid | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page: its anchor, its name in the map of the page, its title and blocks."""

    anchor: str
    label: str
    title: str
    blocks: Sequence[Block]


NO_STUDY = Presentation()
"""Presentation of a run that reproduces no study."""


@dataclass(frozen=True, slots=True)
class StudyPage:
    """What a study adds to the page of a run.

    Parameters
    ----------
    presentation
        Of the study that the run reproduces.
    sections
        Its sections, which follow the claims.
    live
        Presentation of the study whose live tests the run measured; None if of none.
    measured
        Its sections, which come first.

    """

    presentation: Presentation = NO_STUDY
    sections: Sequence[Section] = ()
    live: Presentation | None = None
    measured: Sequence[Section] = ()


def valued(estimate: Estimate | None, label: Label) -> str:
    """Value and interval in the unit of its label, with its decimals; a dash without a value.

    Examples
    --------
    >>> valued(Estimate(4.347, 0.01, 9.0), Label("Mean opinion score", decimals=1))
    '4.3'
    >>> valued(Estimate(0.00347, 0.00001, 9.0), Label("Delay", "ms", 1e3))
    '3.470 ± 0.023'
    """
    if estimate is None or not math.isfinite(estimate.value):
        return UNDEFINED
    if label.decimals is None:
        return cell(held(estimate, label), label.factor)
    half = round(estimate.half_width * label.factor, label.decimals)
    text = f"{estimate.value * label.factor:.{label.decimals}f}"
    return f"{text} ± {half:.{label.decimals}f}" if half > 0 else text


def cell(estimate: Estimate | None, factor: float = 1.0) -> str:
    """Value and half width of its interval, or its ends if not symmetrical; a dash without a value.

    Only the value if the interval is narrower than the digits shown.
    """
    return UNDEFINED if estimate is None else estimate_text(estimate, Scale("", 1 / factor))


def plain(text: str) -> str:
    """Write a varied value without the marks of its file's syntax.

    Examples
    --------
    >>> plain("{ linear = { limit = 10 } }"), plain("[1, 23]"), plain("64 B"), plain("12 us")
    ('linear, limit 10', '1, 23', '64 B', '12 µs')
    """
    text = micro(text)
    if not text.startswith(("{", "[")):
        return text
    bare = re.sub(r"\s*=\s*\{\s*", ", ", text.strip("{}[] "))
    return re.sub(r"\s*=\s*", " ", re.sub(r'\s*[{}"]', "", bare)).strip()


_MICROSECONDS = re.compile(r"(?<=\d)(\s*)us\b")


def micro(text: str) -> str:
    """Write microseconds, which files may write "us", with their sign.

    Examples
    --------
    >>> micro("a net of 12 us, status 7"), micro("9.6us")
    ('a net of 12 µs, status 7', '9.6µs')
    """
    return _MICROSECONDS.sub(r"\1µs", text)


def large_first(text: str) -> str:
    """Write a text as a title, or as the begin of a sentence.

    Examples
    --------
    >>> large_first("frames in all"), large_first("")
    ('Frames in all', '')
    """
    return text[:1].upper() + text[1:]
