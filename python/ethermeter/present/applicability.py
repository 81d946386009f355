"""Applicability: which models apply to an experiment, which do not and why."""

from collections.abc import Sequence

from ethermeter.blocks import Text
from ethermeter.metrics import Caution
from ethermeter.quantities import value_text
from ethermeter.theory.predictions import Verdict


def applicability(verdicts: Sequence[Verdict]) -> list[Text]:
    """Lay out what was found of each model, and what its cautions mean."""
    blocks = [block for verdict in verdicts for block in _model(verdict)]
    words = [word for word in Caution if any(word in verdict.cautions for verdict in verdicts)]
    return [
        *blocks,
        *([Text("")] if words else ()),
        *(Text(f"{word}: {word.meaning}") for word in words),
    ]


def _model(verdict: Verdict) -> list[Text]:
    words = f" ({', '.join(verdict.cautions)})" if verdict.cautions else ""
    applies = "applies" if verdict.applies else "does not apply"
    lines = [*verdict.obstacles, *(f"assumes: {text}" for text in verdict.differences.values())]
    if verdict.values:
        values = (
            f"{metric} {value_text(metric, value)}" for metric, value in verdict.values.items()
        )
        lines.append(f"predicts: {', '.join(values)}")
    return [Text(f"\n{verdict.model}: {applies}{words}"), *(Text(f"  {line}") for line in lines)]
