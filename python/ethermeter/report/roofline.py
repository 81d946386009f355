"""Path rooflines as figures: the ceiling of every stage, and the achieved rate as a line."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.roofline import Roofline, Stage
from ethermeter.chart import Axis, Box, Names, Span, Spans, estimate_of, number_of
from ethermeter.document import Figure, Label, Section, Table, small_first
from ethermeter.report.render import Page
from ethermeter.results.interval import Estimate

MOST_FINDINGS = 5
_ROW = 32
"""Height of a stage, in pixels."""
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
    limit = None if achieved is None else (achieved, f"achieved {rate_text(achieved.value)}")
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
    text = rate_text(ceiling.value) + (f", for {stage.flows} flows" if stage.flows > 1 else "")
    over = "–" if achieved is None else f"{ceiling.value / achieved.value:.3g}"
    ends = None
    if ceiling.has_interval and ceiling.error > 0:
        # What is below nothing has no place on a logarithmic axis.
        ends = (max(ceiling.low, ceiling.value / 10), ceiling.high)
    drawn = Estimate(ceiling.value, math.nan, math.nan, ends=ends)
    notes = {"ends": _interval(ceiling, "none"), "over": over, "from": stage.source}
    return Span(stage.name, _KINDS[is_nearest], [("ceiling", "ceiling", drawn)], text, notes)


def _interval(ceiling: Estimate, of_others: str) -> str:
    if not ceiling.has_interval or ceiling.error <= 0:
        return of_others
    return f"{rate_text(max(ceiling.low, 0.0))} to {rate_text(ceiling.high)}"


def figure(roofline: Roofline) -> Figure:
    """Return the figure of a roofline, with its verdict and its table."""
    rows = [
        [
            stage.name,
            rate_text(stage.ceiling.value),
            _interval(stage.ceiling, "exact" if stage.ceiling.error == 0 else "none"),
            str(stage.flows),
            stage.source,
        ]
        for stage in roofline.stages
    ]
    head = ("Stage", "Ceiling", "95% interval", "Flows", "From")
    return Figure(
        chart(roofline),
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
