"""Agreement: theories beside the simulations of a run."""

from collections.abc import Sequence

from ethermeter.analysis.agreement import Agreement, Value
from ethermeter.blocks import Table, Text
from ethermeter.metrics import Metric
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import UNDEFINED, value_text


def agreement(found: Sequence[Agreement], shown: Sequence[Agreement]) -> list[Text | Table]:
    """Lay out the comparisons that are shown, and how many of all agree."""
    blocks = _comparisons(shown) if shown else []
    for name, verdicts in (
        ("the worlds that they assume", [each.idealised_verdict for each in found]),
        ("the simulation", [each.verdict for each in found]),
    ):
        judged = [verdict for verdict in verdicts if verdict in ("agrees", "differs")]
        if judged:
            agreed = f"{judged.count('agrees')} of {len(judged)} comparisons agree"
            blocks.append(Text(f"theories and {name}: {agreed}"))
    return blocks


def _comparisons(shown: Sequence[Agreement]) -> list[Text | Table]:
    """Return a row for each comparison, and the cautions of the theories."""
    keys = list(dict.fromkeys(key for each in shown for key in each.point))
    marks = Marks(each.cautions for each in shown)
    rows = [
        [
            each.series,
            *(each.point.get(key, "") for key in keys),
            each.model,
            str(each.metric),
            value_text(each.metric, each.theory),
            _value(each.metric, each.idealised, each.idealised_verdict),
            f"{_value(each.metric, each.simulation, each.verdict)} "
            f"{marks.at(each.cautions)}".rstrip(),
            each.cause,
        ]
        for each in shown
    ]
    lead = ["series", *keys, "model", "metric"]
    head = [*lead, "theory", "world it assumes", "simulation", "cause"]
    return [
        Table(head, rows, "Theories and simulations", headers=len(lead)),
        *legend(marks.legend()),
    ]


def _value(metric: Metric, value: Value | None, verdict: str) -> str:
    if value is None:
        return UNDEFINED
    return f"{value_text(metric, value.value, value.half_width)} {verdict}"
