"""Agreement: theories beside simulations, and the assumptions that explain a difference."""

from collections.abc import Sequence

from markupsafe import Markup

from ethermeter.analysis.agreement import Agreement, Change
from ethermeter.document import Block, Bullets, Section, Table, Text
from ethermeter.metrics import Metric
from ethermeter.present import agreement as present
from ethermeter.quantities import UNDEFINED, signed
from ethermeter.report.data import ReportData
from ethermeter.report.tables import code, titled, titles
from ethermeter.theory.assumptions import NETWORK_MODELS

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
    found = data.agreements
    if not found:
        return None
    is_of_networks = all(each.model in NETWORK_MODELS for each in found)
    blocks: list[Block] = [Text(LEAD_OF_NETWORKS if is_of_networks else LEAD, "lead")]
    for model, rows in _by_model(found).items():
        blocks += [*map(titled, present.agreement(rows, rows)), *_steps(model, rows)]
    return Section("agreement", "Agreement", "Agreement of theory and simulation", blocks)


def findings(data: ReportData) -> list[str]:
    """Say of every theory how often it agrees; nothing without comparisons."""
    return [
        f"Theory {model} {text}."
        for model, rows in _by_model(data.agreements).items()
        if (text := present.summary(rows))
    ]


def _by_model(found: Sequence[Agreement]) -> dict[str, list[Agreement]]:
    models = dict.fromkeys(each.model for each in found)
    return {model: [each for each in found if each.model == model] for model in models}


def _steps(model: str, rows: Sequence[Agreement]) -> list[Block]:
    """Values after every step, of the comparisons that have any."""
    explained = [each for each in rows if each.changes]
    if not explained:
        return []
    names = list(dict.fromkeys(change.step for each in explained for change in each.changes))
    head, cells = present.points(explained)
    for row, each in zip(cells, explained, strict=True):
        after = {change.step: change for change in each.changes}
        row += [_step(after.get(name), each.metric) for name in names]
    # Models import much that most runs need not.
    from ethermeter.theory.ablation import ALL_STEPS

    texts = {step.name: step.says for step in ALL_STEPS}
    legend = [Markup("{}: {}").format(code(name), texts.get(name, "")) for name in names]
    lead = (
        "Assumptions given up one after another, from left to right; below each value, its change "
        "where that is beyond chance."
    )
    caption = f"Assumptions of {model} given up one by one"
    table = Table(
        [*titles(head), *names],
        cells,
        caption,
        headers=head.index("theory"),
        open_rows=present.OPEN_ROWS,
    )
    return [Text(lead), Bullets(legend), table]


def _step(change: Change | None, metric: Metric) -> str:
    """Write the value after a step, and its change where that is seen."""
    if change is None:
        return UNDEFINED
    size = change.change * metric.label.factor
    mark = Markup("<strong>{}</strong>").format(signed(size, abs(size) * 1e-2))
    return Markup("{}<br><small>{}</small>").format(
        present.value(change.after, metric), mark if change.is_seen else UNDEFINED
    )
