"""Applicability: which models apply to a scenario, which do not, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ethermeter.metrics import Caution, Metric
from ethermeter.theory.inputs import ModelInputs
from ethermeter.theory.predictions import ENTRIES, Entry, Prediction
from ethermeter.theory.simplifications import OTHER_PROTOCOL, Simplification, violated


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model applies to a scenario.

    Parameters
    ----------
    model
        Its name.
    obstacles
        Why it does not apply; empty if it does.
    differences
        What it assumes that is not so: assumption to text.
    cautions
        Words that every one of its values carries.
    values
        What it predicts, in the metrics' units; empty if it does not apply.

    """

    model: str
    obstacles: tuple[str, ...]
    differences: Mapping[Simplification, str] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()
    values: Mapping[Metric, float] = field(default_factory=dict)

    @property
    def applies(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.obstacles


def judge(model: str, inputs: ModelInputs) -> Verdict:
    """Say whether a model applies to a scenario, and what it predicts.

    Raises
    ------
    KeyError
        If there is no such model.

    """
    entry = ENTRIES[model]
    obstacles = entry.obstacles(inputs)
    if obstacles:
        return Verdict(model, tuple(obstacles))
    found = violated(entry.assumes, inputs)
    predicted = entry.predict(inputs)
    return Verdict(model, (), found, _cautions(entry, found, predicted), predicted.values)


def judge_all(inputs: ModelInputs) -> tuple[Verdict, ...]:
    """Judge every model."""
    return tuple(judge(model, inputs) for model in ENTRIES)


def applicable(inputs: ModelInputs) -> tuple[str, ...]:
    """Names of the models that apply; cheaper than to judge them."""
    return tuple(name for name, entry in ENTRIES.items() if not entry.obstacles(inputs))


def _cautions(
    entry: Entry, found: Mapping[Simplification, str], predicted: Prediction
) -> tuple[Caution, ...]:
    words = []
    if predicted.outside_range:
        words.append(Caution.OUTSIDE_MODEL_RANGE)
    if OTHER_PROTOCOL & set(found):
        words.append(Caution.OTHER_PROTOCOL)
    return tuple(words)
