"""Path rooflines as figures: the ceiling of every stage, and the achieved rate as a line."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.roofline import Roofline, Stage
from ethermeter.chart import Axis, Box, Names, Span, Spans, estimate_of, number_of
from ethermeter.document import Figure, Label, Section
from ethermeter.faults import small_first
from ethermeter.present import rooflines as layout
from ethermeter.quantities import quantity
from ethermeter.report.render import Page
from ethermeter.results.interval import Estimate

MOST_FINDINGS = 5
_ROW = 32
"""Height of a stage, in pixels."""
_KINDS = ("ceiling", "nearest ceiling")


def chart(roofline: Roofline) -> Spans:
    """Draw a roofline: a row for each stage from source to sink, rates on a logarithmic axis."""
    achieved = roofline.achieved if roofline.achieved and roofline.achieved.value > 0 else None
    spans = [
        _span(stage, achieved, is_nearest=stage is roofline.nearest) for stage in roofline.stages
    ]
    ends = [
        end
        for span in spans
        for _, _, value in span.values
        for end in (number_of(value), estimate_of(value).low, estimate_of(value).high)
        if math.isfinite(end)
    ]
    ends += [achieved.value] if achieved is not None else []
    low, high = (math.log10(end) for end in (min(ends) * 0.999, max(ends) * 1.001))
    title = f"bit/s ({roofline.counts})"
    limit = (
        None if achieved is None else (achieved, f"achieved {quantity(achieved.value, 'bit/s')}")
    )
    return Spans(
        spans,
        Axis(
            Label(title), 10 ** math.floor(low), 10 ** math.ceil(high), is_log=True, numbers="rate"
        ),
        Names(is_written=False),
        [
            *(("place", "stage", ""), ("text", "ceiling", "")),
            *(("ends", "95% interval", ""), ("over", "over achieved", ""), ("from", "from", "")),
        ],
        names=_KINDS,
        limit=limit,
        box=Box(height=_ROW * len(spans), above=18, right=76),
    )


def _span(stage: Stage, achieved: Estimate | None, *, is_nearest: bool) -> Span:
    ceiling = stage.ceiling
    text = quantity(ceiling.value, "bit/s") + (
        f", for {stage.flows} flows" if stage.flows > 1 else ""
    )
    over = "–" if achieved is None else f"{ceiling.value / achieved.value:.3g}"
    ends = None
    if ceiling.has_interval and ceiling.error > 0:
        # What is below nothing has no place on a logarithmic axis.
        ends = (max(ceiling.low, ceiling.value / 10), ceiling.high)
    drawn = Estimate(ceiling.value, math.nan, math.nan, ends=ends)
    notes = {"ends": _interval(ceiling), "over": over, "from": stage.source}
    return Span(stage.name, _KINDS[is_nearest], [("ceiling", "ceiling", drawn)], text, notes)


def _interval(ceiling: Estimate) -> str:
    if not ceiling.has_interval or ceiling.error <= 0:
        return "none"
    return f"{quantity(max(ceiling.low, 0.0), 'bit/s')} to {quantity(ceiling.high, 'bit/s')}"


def figure(roofline: Roofline) -> Figure:
    """Return the figure of a roofline, with its verdict and its table."""
    return Figure(
        chart(roofline),
        roofline.title,
        layout.nearest(roofline),
        numbers=layout.ceilings(roofline),
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
        Markup("<strong>{}</strong>: {}").format(each.title, small_first(layout.nearest(each)))
        for each in rooflines[:MOST_FINDINGS]
    ]
    return Page(title, "ethermeter roofline", [section], footer, findings=findings)
