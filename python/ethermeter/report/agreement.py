"""Agreement: the section that sets theories beside simulations, and says which assumption parts
them.
"""

import math
from collections.abc import Sequence

from ethermeter.analysis.agreement import Agreement, Value
from ethermeter.analysis.interval import Estimate, quantile
from ethermeter.document import number, plain
from ethermeter.report.html import safe, section, table
from ethermeter.report.labels import key_title
from ethermeter.report.results import UNSEEN, cell
from ethermeter.theory.ablation import ALL_STEPS

OPEN_ROWS = 40
_WORDS = {"agrees": "holds", "differs": "missed", "not-run": "not-run", "no-value": "not-run"}


def agreement_section(found: Sequence[Agreement]) -> str:
    """Tables of every comparison of a theory, one a model; empty where there is none."""
    if not found:
        return ""
    body = (
        '<p class="lead">A theory against a simulation of exactly what it assumes, and of the segment as it is. Two values <em>differ</em> '
        "beyond what chance leaves in 5% of all such comparisons together. Where theory and segment differ, assumptions are given up one "
        "after another; the <em>cause</em> is the one whose step changes most.</p>"
    )
    for model in dict.fromkeys(each.model for each in found):
        rows = [each for each in found if each.model == model]
        body += f"<h3>{safe(model)}</h3>{_summary(rows)}{_folded(_table(model, rows), len(rows))}{_steps(model, rows)}"
    return section("agreement", "Agreement of theory and simulation", body)


def _summary(rows: Sequence[Agreement]) -> str:
    parts = []
    for name, verdicts in (
        ("the world it assumes", [each.idealised_verdict for each in rows]),
        ("the segment as it is", [each.verdict for each in rows]),
    ):
        judged = [verdict for verdict in verdicts if verdict in ("agrees", "differs")]
        if judged:
            parts.append(
                f"agrees with {name} in {judged.count('agrees')} of {len(judged)} comparisons"
            )
    causes = [each.cause for each in rows if each.cause]
    if causes:
        main = max(dict.fromkeys(causes), key=causes.count)
        parts.append(
            f"where they differ, the cause is {main} in {causes.count(main)} of {len(causes)}"
        )
    text = "; ".join(parts)
    return f"<p>{safe(text[:1].upper() + text[1:])}.</p>" if parts else ""


def _folded(text: str, rows: int) -> str:
    panel = f'<div class="panel">{text}</div>'
    return (
        panel
        if rows <= OPEN_ROWS
        else f"<details><summary>{rows} comparisons</summary>{panel}</details>"
    )


def _keys(rows: Sequence[Agreement]) -> list[str]:
    return list(dict.fromkeys(key for each in rows for key in each.point))


def _table(model: str, rows: Sequence[Agreement]) -> str:
    keys = _keys(rows)
    several = len({each.series for each in rows}) > 1
    head = [
        *(["Series"] if several else []),
        *(safe(key_title(key)) for key in keys),
        "Metric",
        "Theory",
        "IdealisedScenario it assumes",
        "Segment as it is",
        "Cause",
    ]
    body = []
    for each in rows:
        factor = each.metric.label.factor
        words = f"<br><small>{safe(', '.join(each.cautions))}</small>" if each.cautions else ""
        body.append(
            [
                *([safe(each.series)] if several else []),
                *(safe(plain(each.point.get(key, ""))) for key in keys),
                safe(each.metric.label.axis),
                number(each.theory * factor, abs(each.theory * factor) * UNSEEN) + words,
                _cell(each.idealised, each.idealised_verdict, factor),
                _cell(each.simulation, each.verdict, factor),
                safe(each.cause),
            ]
        )
    return table(
        head, body, caption=f"Agreement of {model}", kind="data", headers=len(keys) + 1 + several
    )


def _steps(model: str, rows: Sequence[Agreement]) -> str:
    """Values after every step, of the comparisons that have any."""
    ways = [each for each in rows if each.changes]
    if not ways:
        return ""
    names = list(dict.fromkeys(change.step for each in ways for change in each.changes))
    keys = _keys(ways)
    head = [
        *(safe(key_title(key)) for key in keys),
        "Metric",
        "Theory",
        *(safe(name) for name in names),
    ]
    body = []
    for each in ways:
        factor = each.metric.label.factor
        after = {change.step: change for change in each.changes}
        cells = []
        for name in names:
            change = after.get(name)
            if change is None:
                cells.append("–")
                continue
            sign = number(change.change * factor, abs(change.change * factor) * 1e-2)
            mark = (
                f"<strong>{'+' if change.change > 0 else ''}{sign}</strong>"
                if change.is_seen
                else "–"
            )
            cells.append(f"{_number(change.after, factor)}<br><small>{mark}</small>")
        body.append(
            [
                *(safe(plain(each.point.get(key, ""))) for key in keys),
                safe(each.metric.label.axis),
                number(each.theory * factor, abs(each.theory * factor) * UNSEEN),
                *cells,
            ]
        )
    says = {step.name: step.says for step in ALL_STEPS}
    legend = "".join(
        f"<li><code>{safe(name)}</code>: {safe(says.get(name, ''))}</li>" for name in names
    )
    numbers = table(
        head,
        body,
        caption=f"Assumptions of {model} given up one by one",
        kind="data",
        headers=len(keys) + 1,
    )
    panel = f'<div class="panel">{numbers}</div>'
    lead = "Assumptions given up one after another, from left to right; below each value, its change where that is beyond chance."
    text = f"<p>{lead}</p><ul>{legend}</ul>"
    return text + (
        panel
        if len(ways) <= OPEN_ROWS
        else f"<details><summary>{len(ways)} comparisons</summary>{panel}</details>"
    )


def _cell(value: Value | None, verdict: str, factor: float) -> str:
    if value is None:
        return "–"
    tag = (
        f' <span class="tag {_WORDS[verdict]}">{safe(verdict.replace("-", " "))}</span>'
        if verdict in ("agrees", "differs")
        else ""
    )
    return _number(value, factor) + tag


def _number(value: Value, factor: float) -> str:
    if not math.isfinite(value.value):
        return "–"
    return cell(Estimate(value.value, value.half_width / quantile(math.inf), math.inf), factor)
