"""Facts: what theories say of networks besides values, and the engines of these theories."""

from collections.abc import Mapping, Sequence

from ethermeter.results.query import Results
from ethermeter.results.trials import Trial
from ethermeter.store.trial_result import Fact
from ethermeter.theory.assumptions import BOUNDS, MEANS
from ethermeter.trial import THEORY

BOUNDED, MEAN = f"{THEORY}/{BOUNDS}", f"{THEORY}/{MEANS}"
"""Engines of theories of networks."""
Facts = Mapping[tuple[str, str, int], Fact]
"""What theories say, by trial, what it is about, and number."""


def facts_of(run: Results) -> Facts:
    """Return what the theories of a run say."""
    return {(trial, fact.about, fact.number): fact for trial, fact in run.facts()}


def reason_of(trials: Sequence[Trial], facts: Facts, about: str, number: int) -> str:
    """Return what a theory says of a flow or port, or why it failed altogether."""
    for of in ((about, number), ("engine", 0)):
        fact = facts.get((trials[0].id, *of)) if trials else None
        if fact is not None:
            return fact.method or fact.reason or ""
    return ""
