"""Measured: the section that sets what was measured beside what was simulated."""

import math
from collections.abc import Sequence

from ethermeter.analysis.interval import Estimate, quantile
from ethermeter.analysis.live import Comparison
from ethermeter.document import plain
from ethermeter.report.html import safe, section, table
from ethermeter.report.labels import key_title
from ethermeter.report.results import cell

OPEN_ROWS = 40
_TAGS = {"agrees": "holds", "differs": "missed"}


def measured_section(found: Sequence[Comparison]) -> str:
    """Table of every comparison of a measurement with its simulation; empty where there is none."""
    if not found:
        return ""
    judged = [each for each in found if each.verdict in _TAGS]
    lead = (
        "What agents measured minus what was simulated with the same arrivals, trial by trial, with 95% intervals. They <em>differ</em> "
        "where 0 is outside an interval that is widened so that chance alone makes any comparison of this run differ with 5%. One-way "
        "delays of saturated sources are not compared: a measured one holds the wait in the queue of the interface."
    )
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
    head = [*(["Series"] if several else []), *(safe(key_title(key)) for key in keys)]
    head += ["Metric", "Measured", "Simulated", "Measured − simulated", "Verdict"]
    rows = [
        [
            *([safe(each.series)] if several else []),
            *(safe(plain(each.point.get(key, ""))) for key in keys),
            safe(each.metric.label.axis),
            _number(each, each.live, each.live_half_width),
            _number(each, each.simulation, each.simulation_half_width),
            _number(each, each.difference, each.half_width),
            f'<span class="tag {_TAGS[each.verdict]}">{safe(each.verdict)}</span>'
            if each.verdict in _TAGS
            else "–",
        ]
        for each in found
    ]
    numbers = table(
        head, rows, caption="Measured and simulated", kind="data", headers=len(keys) + 1 + several
    )
    panel = f'<div class="panel">{numbers}</div>'
    folded = (
        panel
        if len(rows) <= OPEN_ROWS
        else f"<details><summary>{len(rows)} comparisons</summary>{panel}</details>"
    )
    return section(
        "measured", "Measured and simulated", f'<p class="lead">{lead}</p><p>{words}</p>{folded}'
    )


def _number(each: Comparison, value: float, half_width: float) -> str:
    return cell(
        Estimate(value, half_width / quantile(math.inf), math.inf), each.metric.label.factor
    )
