"""Measured: what was measured beside what was simulated."""

import math

from markupsafe import Markup

from ethermeter.analysis.live import Comparison
from ethermeter.document import Block, Section, Table, Text, cell, plain, valued
from ethermeter.faults import small_first
from ethermeter.quantities import suited
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title, point_title
from ethermeter.report.tables import tag
from ethermeter.results.interval import Estimate, quantile

OPEN_ROWS = 40
_TAGS = {"agrees": "holds", "differs": "missed"}


LEAD = Markup(
    "What agents measured minus what was simulated with the same arrivals, trial by trial, with "
    "95% intervals. They <em>differ</em> where 0 is outside an interval that is widened so that "
    "chance alone makes any comparison of this run differ with 5%. One-way delays of saturated "
    "sources are not compared: a measured one holds the wait in the queue of the interface."
)


SIDE_BY_SIDE = (
    "Means of both engines by table of flows. A ratio above 1 is a measured value above the "
    "simulated one."
)


def build(data: ReportData) -> Section | None:
    """Table of every comparison of a measurement with its simulation."""
    if not data.measured and not data.pairs:
        return None
    found = data.measured
    judged = [each for each in found if each.verdict in _TAGS]
    count = (
        f"{sum(each.verdict == 'agrees' for each in judged)} of {len(judged)} comparisons agree."
    )
    words = (
        count
        if judged
        else "No comparison has an interval, which takes three replications of both."
    )
    keys = list(dict.fromkeys(key for each in found for key in each.point))
    several = len({each.series for each in found}) > 1
    head = [*(["Series"] if several else []), *(key_title(key) for key in keys)]
    head += ["Metric", "Measured", "Simulated", "Measured − simulated", "Verdict"]
    rows = [
        [
            *([each.series] if several else []),
            *(plain(each.point.get(key, "")) for key in keys),
            each.metric.label.axis,
            _number(each, each.live, each.live_half_width),
            _number(each, each.simulation, each.simulation_half_width),
            _number(each, each.difference, each.half_width),
            tag(_TAGS[each.verdict], each.verdict) if each.verdict in _TAGS else "–",
        ]
        for each in found
    ]
    headers = len(keys) + 1 + several
    table = Table(head, rows, "Measured and simulated", headers=headers, open_rows=OPEN_ROWS)
    blocks: list[Block] = [*_side_by_side(data), Text(LEAD, "lead"), Text(words), table]
    return Section("measured", "Measured and simulated", "Measured and simulated", blocks)


def findings(data: ReportData) -> list[str]:
    """Say how often measurement and simulation agree, and where they differ most."""
    judged = [each for each in data.measured if each.verdict in _TAGS]
    if not judged:
        return []
    agreed = sum(each.verdict == "agrees" for each in judged)
    count = Markup(
        "Measurement and simulation agree in <strong>{} of {}</strong> comparisons"
    ).format(agreed, len(judged))
    differing = [each for each in judged if each.verdict == "differs" and each.simulation]
    if not differing:
        return [count + "."]
    most = max(differing, key=lambda each: abs(each.difference / each.simulation))
    at = point_title(most.point)
    label = most.metric.label
    unit = f" {label.unit}" if label.unit else ""
    text = "; they differ most in {}{}: {}{} measured, {}{} simulated."
    live, simulated = (
        _number(most, value, half)
        for value, half in (
            (most.live, most.live_half_width),
            (most.simulation, most.simulation_half_width),
        )
    )
    where = f" ({at})" if at else ""
    return [
        count + Markup(text).format(small_first(label.title), where, live, unit, simulated, unit)
    ]


def _side_by_side(data: ReportData) -> list[Block]:
    """Table of both engines, where the run has any value of both."""
    if not data.pairs:
        return []
    keys = list(dict.fromkeys(key for pair in data.pairs for key in pair.point))
    series = ["Series"] if len({pair.series for pair in data.pairs}) > 1 else []
    head = [*series, *map(key_title, keys), "Flows", "Metric"]
    rows = [
        [
            *([pair.series] if series else []),
            *(plain(pair.point.get(key, "")) for key in keys),
            pair.flows,
            label.axis,
            valued(pair.simulation, label),
            valued(pair.live, label),
            f"{pair.ratio:.3g}" if math.isfinite(pair.ratio) else "–",
        ]
        for pair in data.pairs
        for label in [suited(pair.metric.label, (pair.simulation.value, pair.live.value))]
    ]
    table = Table(
        [*head, "Simulated", "Measured", "Measured / simulated"],
        rows,
        "Simulated and measured, side by side",
        headers=len(head),
        open_rows=OPEN_ROWS,
    )
    return [Text(SIDE_BY_SIDE, "lead"), table]


def _number(each: Comparison, value: float, half_width: float) -> str:
    return cell(
        Estimate(value, half_width / quantile(math.inf), math.inf), each.metric.label.factor
    )
