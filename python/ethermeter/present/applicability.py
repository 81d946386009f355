"""Applicability: which models apply to an experiment, which do not and why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ethermeter.blocks import Text
from ethermeter.metrics import Caution
from ethermeter.quantities import value_text

if TYPE_CHECKING:
    from ethermeter.api.validate import Model


def applicability(models: "Sequence[Model]") -> list[Text]:
    """Lay out what was found of each model, and what its cautions mean."""
    blocks = [block for model in models for block in _model(model)]
    words = [word for word in Caution if any(word in model.cautions for model in models)]
    return [
        *blocks,
        *([Text("")] if words else ()),
        *(Text(f"{word}: {word.meaning}") for word in words),
    ]


def _model(found: "Model") -> list[Text]:
    words = f" ({', '.join(found.cautions)})" if found.cautions else ""
    applies = "applies" if found.applies else "does not apply"
    lines = [*found.obstacles, *(f"assumes: {text}" for text in found.differences.values())]
    if found.values:
        values = (f"{metric} {value_text(metric, value)}" for metric, value in found.values.items())
        lines.append(f"predicts: {', '.join(values)}")
    return [Text(f"\n{found.model}: {applies}{words}"), *(Text(f"  {line}") for line in lines)]
