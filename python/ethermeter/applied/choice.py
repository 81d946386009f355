"""Choice: which models apply to a situation, which do not, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ethermeter.applied.differences import OTHER_PROTOCOL, Assumption, differences
from ethermeter.applied.models import ENTRIES, Entry, Prediction
from ethermeter.applied.situation import Situation
from ethermeter.metrics import Caution, Metric


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model applies to a situation.

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
    differences: Mapping[Assumption, str] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()
    values: Mapping[Metric, float] = field(default_factory=dict)

    @property
    def applies(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.obstacles


def judge(model: str, situation: Situation) -> Verdict:
    """Say whether a model applies to a situation, and what it predicts.

    Raises
    ------
    KeyError
        If there is no such model.

    """
    entry = ENTRIES[model]
    obstacles = entry.obstacles(situation)
    if obstacles:
        return Verdict(model, tuple(obstacles))
    found = differences(entry.assumes, situation)
    predicted = entry.predict(situation)
    return Verdict(model, (), found, _cautions(entry, found, predicted), predicted.values)


def judge_all(situation: Situation) -> tuple[Verdict, ...]:
    """Judge every model."""
    return tuple(judge(model, situation) for model in ENTRIES)


def applicable(situation: Situation) -> tuple[str, ...]:
    """Names of the models that apply; cheaper than to judge them."""
    return tuple(name for name, entry in ENTRIES.items() if not entry.obstacles(situation))


def _cautions(
    entry: Entry, found: Mapping[Assumption, str], predicted: Prediction
) -> tuple[Caution, ...]:
    words = []
    if predicted.outside_range:
        words.append(Caution.OUTSIDE_MODEL_RANGE)
    if OTHER_PROTOCOL & set(found):
        words.append(Caution.OTHER_PROTOCOL)
    return tuple(words)
