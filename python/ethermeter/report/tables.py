"""Tables: claims, cautions and estimates; tags and gauges in their cells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from markupsafe import Markup

from ethermeter.analysis.claims import GOOD, Claim
from ethermeter.document import Block, Label, Table, Text, large_first, micro, number, plain, valued
from ethermeter.metrics import Caution, Metric
from ethermeter.present.cells import tag as tag
from ethermeter.quantities import suited
from ethermeter.report.axes import keys
from ethermeter.report.labels import key_title
from ethermeter.report.render import render_template
from ethermeter.results.estimates import Point, run_cautions

Shown = TypeVar("Shown", bound=Block)

_GAUGE_RANGE, _WIDE_RANGE = 0.1, 1.0


def code(text: object) -> Markup:
    """Return a text as code."""
    return Markup("<code>{}</code>").format(text)


def small(text: object, *, is_unbroken: bool = False) -> Markup:
    """Return a text in small letters; nothing of nothing."""
    if not text:
        return Markup("")
    kind = Markup(' class="nowrap"') if is_unbroken else Markup("")
    return Markup("<small{}>{}</small>").format(kind, text)


def _unbroken(text: str) -> Markup:
    return Markup('<span class="nowrap">{}</span>').format(text)


def titled(block: Shown) -> Shown:
    """Return a block as a page shows it: over columns of a table, the titles of their keys."""
    return replace(block, head=titles(block.head)) if isinstance(block, Table) else block


def titles(head: Sequence[str]) -> list[str]:
    """Return the titles of keys, and other heads of columns as titles."""
    found = map(key_title, head)
    return [each if "." in each else large_first(each) for each in found]


def claims_table(claims: Sequence[Claim]) -> Table:
    """Every published claim against ours."""
    head = (
        "Claim",
        "Published",
        "Ours and 95% interval",
        f"Deviation, ±{_GAUGE_RANGE:.0%}",
        "Verdict and basis",
        "Note",
    )
    rows = [_claim_row(claim) for claim in claims]
    return Table(head, rows, "Published claims against this run", "claims")


def _claim_row(claim: Claim) -> list[str]:
    half = (claim.high - claim.low) / 2
    unit = f" {claim.unit}" if claim.unit else ""
    is_known = not math.isnan(claim.ours)
    ours = _unbroken(micro(number(claim.ours, half) + unit)) if is_known else Markup("")
    if half > 0:
        ends = f"{number(claim.low, half)} to {number(claim.high, half)}"
        ours += small(ends, is_unbroken=True)
    deviation = "" if math.isnan(claim.deviation) else f"{claim.deviation:+.1%}".replace("-", "−")
    if claim.prediction:
        deviation += f", drawn to ±{_WIDE_RANGE:.0%}"
    where = f"section {claim.where}" if claim.where[:1].isdigit() else claim.where
    verdict = tag(claim.verdict, claim.verdict.replace("-", " "))
    return [
        Markup("{}<small>{}</small>").format(micro(claim.what), where),
        _published(claim),
        ours,
        Markup("{}<small>{}</small>").format(_gauge(claim), deviation),
        verdict + Markup(" ") + tag(claim.basis, claim.basis),
        _note(claim),
    ]


def _note(claim: Claim) -> Markup:
    """Return what was found and the rule; folded where the claim is met."""
    note = micro(large_first(claim.note))
    both = Markup("{}{}").format(note, small(claim.measure and f"Ours: {claim.measure}"))
    if claim.verdict not in GOOD or not both:
        return both
    return Markup('<details class="fold"><summary>how</summary>{}</details>').format(both)


def _published(claim: Claim) -> str:
    if math.isnan(claim.published):
        return "stated"
    unit = f" {claim.unit}" if claim.unit else ""
    text = _unbroken(micro(f"{claim.published:,g}{unit}"))
    if claim.rounding:
        text += small(f"{claim.rounding[0]:,g} to {claim.rounding[1]:,g}")
    return text


def _gauge(claim: Claim) -> Markup:
    """Draw the deviation with its interval over the band in which the claim is met."""
    if claim.is_statement or math.isnan(claim.deviation) or not claim.rounding:
        return Markup("")
    # A difference of single runs needs more room.
    reach = _WIDE_RANGE if claim.prediction else _GAUGE_RANGE

    def place(deviation: float) -> float:
        return round(60 + max(-reach, min(reach, deviation)) / reach * 60, 1)

    # The band is the deviations that count as met.
    low, high = (place(end / claim.published - 1) for end in claim.band)
    ends = [claim.low / claim.published - 1, claim.high / claim.published - 1]
    is_known = all(map(math.isfinite, ends))
    return render_template(
        "gauge.svg",
        low=low,
        width=round(high - low, 1),
        whisker=(place(min(ends)), place(max(ends))) if is_known else None,
        at=place(claim.deviation),
        # Tip and back of an arrow for what lies beyond.
        arrow=(
            None if abs(claim.deviation) <= reach else (119, 112) if claim.deviation > 0 else (1, 8)
        ),
        out=" out" if claim.verdict == "missed" else "",
    )


def estimates_table(
    points: Sequence[Point],
    metrics: Sequence[Metric],
    *,
    labels: Mapping[Metric, Label] | None = None,
    open_rows: int | None = None,
) -> Table:
    """Every point of a series with some metrics, each in the unit that suits its values."""
    given = labels or {}
    labels = {
        metric: suited(
            given.get(metric, metric.label),
            (point.estimates[metric].value for point in points if metric in point.estimates),
        )
        for metric in metrics
    }
    varied = {key: {keys(point)[key] for point in points} for key in keys(points[0])}
    shown = [key for key, values in varied.items() if len(values) > 1] or list(points[0].point)
    rows = [
        [
            *(plain(keys(point)[key]) for key in shown),
            *(valued(point.estimates.get(metric), labels[metric]) for metric in metrics),
        ]
        for point in points
    ]
    head = [*map(key_title, shown), *(labels[metric].axis for metric in metrics)]
    caption = f"Estimates of {points[0].series}"
    return Table(head, rows, caption, headers=len(shown), open_rows=open_rows)


def cautions_table(points: Sequence[Point]) -> Table | Text:
    """Every caution of values: its meaning, and its points and series.

    Values that do not exist are dashes already.
    """
    found: dict[tuple[str, str], list[Point]] = {}
    totals: dict[str, int] = {}
    for point in points:
        totals[point.series] = totals.get(point.series, 0) + 1
        words = {word for estimate in point.estimates.values() for word in estimate.cautions}
        for word in words - {Caution.NO_SAMPLES}:
            found.setdefault((word, point.series), []).append(point)
    if not found:
        return Text("No value of this run carries a caution.")
    rows = [
        [
            code(word),
            Caution(word).meaning,
            series,
            f"{len(members)} of {totals[series]}",
            _where(members),
        ]
        for (word, series), members in sorted(found.items(), key=lambda item: item[0])
    ]
    return Table(("Caution", "Meaning", "Series", "Points", "Where"), rows, "Cautions", "plain")


def run_cautions_texts(points: Sequence[Point]) -> list[Text]:
    """Every caution of the whole run, in a sentence each."""
    return [
        Text(Markup("<code>{}</code>: {}.").format(word, Caution(word).meaning))
        for word in run_cautions(points)
    ]


def _where(points: Sequence[Point]) -> str:
    texts = []
    for key in points[0].point:
        values = list(dict.fromkeys(point.point[key] for point in points))
        text = (
            ", ".join(values)
            if len(values) <= 4
            else f"{len(values)} values from {values[0]} to {values[-1]}"
        )
        texts.append(f"{key_title(key)}: {text}")
    return "; ".join(texts)
