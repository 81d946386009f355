"""Agreement: theories beside simulations, and the assumptions that explain a difference."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.agreement import Agreement, Value
from ethermeter.analysis.bounds import FLOW
from ethermeter.document import (
    Block,
    Bullets,
    Heading,
    Section,
    Table,
    Text,
    cell,
    large_first,
    number,
    plain,
)
from ethermeter.quantities import MOST_DIGITS
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title
from ethermeter.report.tables import code, small, tag
from ethermeter.results.interval import Estimate, quantile
from ethermeter.theory.assumptions import NETWORK_MODELS

OPEN_ROWS = 40
_TAGS = {"agrees": "holds", "differs": "missed"}


LEAD = Markup(
    "A theory against a simulation of exactly what it assumes, and of the segment. Two "
    "values <em>differ</em> beyond what chance leaves in 5% of all such comparisons together. "
    "Where theory and segment differ, assumptions are given up one after another; the "
    "<em>cause</em> is the one whose step changes most."
)
LEAD_OF_NETWORKS = Markup(
    "A mean by theory against its simulation, of all flows and of each. Two values <em>differ</em> "
    "beyond what chance leaves in 5% of all such comparisons together; a theory with a caution is "
    "an approximation there."
)


def build(data: ReportData) -> Section | None:
    """Tables of every comparison of a theory, one a model; None if there are none."""
    if not data.agreements:
        return None
    is_of_networks = all(each.model in NETWORK_MODELS for each in data.agreements)
    blocks: list[Block] = [Text(LEAD_OF_NETWORKS if is_of_networks else LEAD, "lead")]
    for model in dict.fromkeys(each.model for each in data.agreements):
        rows = [each for each in data.agreements if each.model == model]
        blocks += [
            Heading(model),
            *_sentence(_summary(rows)),
            _table(model, rows),
            *_steps(model, rows),
        ]
    return Section("agreement", "Agreement", "Agreement of theory and simulation", blocks)


def findings(data: ReportData) -> list[str]:
    """Say of every theory how often it agrees; nothing without comparisons."""
    found = []
    for model in dict.fromkeys(each.model for each in data.agreements):
        rows = [each for each in data.agreements if each.model == model]
        if text := _summary(rows):
            found.append(f"Theory {model} {text}.")
    return found


def _summary(rows: Sequence[Agreement]) -> str:
    """Say how often a theory agrees, and why not; empty where nothing was judged."""
    sentences = []
    for name, verdicts in (
        ("the world it assumes", [each.idealised_verdict for each in rows]),
        ("the simulation", [each.verdict for each in rows]),
    ):
        judged = [verdict for verdict in verdicts if verdict in ("agrees", "differs")]
        if judged:
            sentences.append(
                f"agrees with {name} in {judged.count('agrees')} of {len(judged)} comparisons"
            )
    causes = [each.cause for each in rows if each.cause]
    if causes:
        main = max(dict.fromkeys(causes), key=causes.count)
        sentences.append(
            f"where they differ, the cause is {main} in {causes.count(main)} of {len(causes)}"
        )
    return "; ".join(sentences)


def _sentence(text: str) -> list[Text]:
    return [Text(f"{large_first(text)}.")] if text else []


def _keys(rows: Sequence[Agreement]) -> list[str]:
    return list(dict.fromkeys(key for each in rows for key in each.point))


def _table(model: str, rows: Sequence[Agreement]) -> Table:
    keys = _keys(rows)
    several = len({each.series for each in rows}) > 1
    has_worlds = model not in NETWORK_MODELS
    head = [
        *(["Series"] if several else []),
        *(key_title(key) for key in keys),
        "Metric",
        "Theory",
        *(["World it assumes", "Segment", "Cause"] if has_worlds else ["Simulation"]),
    ]
    body = []
    for each in rows:
        factor = each.metric.label.factor
        words = Markup("<br>") + small(", ".join(each.cautions)) if each.cautions else ""
        body.append(
            [
                *([each.series] if several else []),
                *(plain(each.point.get(key, "all" if key == FLOW else "")) for key in keys),
                each.metric.label.axis,
                number(each.theory * factor, digits=MOST_DIGITS) + words,
                *([_cell(each.idealised, each.idealised_verdict, factor)] if has_worlds else []),
                _cell(each.simulation, each.verdict, factor),
                *([each.cause] if has_worlds else []),
            ]
        )
    headers = len(keys) + 1 + several
    return Table(head, body, f"Agreement of {model}", headers=headers, open_rows=OPEN_ROWS)


def _steps(model: str, rows: Sequence[Agreement]) -> list[Block]:
    """Values after every step, of the comparisons that have any."""
    explained = [each for each in rows if each.changes]
    if not explained:
        return []
    names = list(dict.fromkeys(change.step for each in explained for change in each.changes))
    keys = _keys(explained)
    head = [
        *(key_title(key) for key in keys),
        "Metric",
        "Theory",
        *(name for name in names),
    ]
    body = []
    for each in explained:
        factor = each.metric.label.factor
        after = {change.step: change for change in each.changes}
        cells = []
        for name in names:
            change = after.get(name)
            if change is None:
                cells.append("–")
                continue
            size = number(change.change * factor, abs(change.change * factor) * 1e-2)
            sign = f"+{size}" if change.change > 0 else size
            mark = Markup("<strong>{}</strong>").format(sign) if change.is_seen else "–"
            cells.append(
                Markup("{}<br><small>{}</small>").format(_number(change.after, factor), mark)
            )
        body.append(
            [
                *(plain(each.point.get(key, "")) for key in keys),
                each.metric.label.axis,
                number(each.theory * factor, digits=MOST_DIGITS),
                *cells,
            ]
        )
    # Models import much that most runs need not.
    from ethermeter.theory.ablation import ALL_STEPS

    texts = {step.name: step.says for step in ALL_STEPS}
    legend = [Markup("{}: {}").format(code(name), texts.get(name, "")) for name in names]
    lead = (
        "Assumptions given up one after another, from left to right; below each value, its change "
        "where that is beyond chance."
    )
    caption = f"Assumptions of {model} given up one by one"
    table = Table(head, body, caption, headers=len(keys) + 1, open_rows=OPEN_ROWS)
    return [Text(lead), Bullets(legend), table]


def _cell(value: Value | None, verdict: str, factor: float) -> str:
    if value is None:
        return "–"
    number = _number(value, factor)
    if verdict not in _TAGS:
        return number
    return Markup("{} {}").format(number, tag(_TAGS[verdict], verdict))


def _number(value: Value, factor: float) -> str:
    if not math.isfinite(value.value):
        return "–"
    return cell(Estimate(value.value, value.half_width / quantile(math.inf), math.inf), factor)
