"""Evaluation: the values of the metrics of a kind of entity, with their cautions, from a slice."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats
from ethermeter.metrics.cautions import Caution, Masks, caution_mask, without_samples
from ethermeter.metrics.concerns import concerns_of
from ethermeter.metrics.definition import Definition, EntityKind
from ethermeter.metrics.formulas import floats
from ethermeter.metrics.registry import Metric, definition_of, metrics_of
from ethermeter.metrics.slices import NotCountedError, Slice

FEW_SAMPLES = 30
"""Below this many samples a value carries the caution `few-samples`."""


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Values of a metric, shape `(…)` and, of each entity, `(…, entities)`, and their cautions.

    `each` and `each_cautions` are None of a metric that only all entities together have.
    """

    all: Floats
    all_cautions: Masks
    each: Floats | None
    each_cautions: Masks | None


def evaluated(
    kind: EntityKind,
    counted: Slice,
    cautions: Mapping[str, Masks],
    metrics: Sequence[Metric] | None = None,
) -> dict[Metric, Values]:
    """Return the values of a kind's metrics in whole windows.

    `cautions` have the shape `(…, entities)`: "caution" hold for all values of an entity, others by
    the metric (`ethermeter.metrics.concerns`). `metrics` are those wanted, in order; None for all.
    """
    wanted = [metric for metric in metrics_of(kind) if metrics is None or metric in metrics]
    nobody = np.zeros((), np.uint64)
    members = counted[kind.members] if kind.members else np.ones((), np.bool_)
    known: dict[tuple[str, ...], tuple[Masks, Masks]] = {}
    found = {}
    for metric in wanted:
        names = tuple(name for name in concerns_of(metric, kind) if name in cautions)
        if names not in known:
            masks = np.broadcast_to(
                np.bitwise_or.reduce([cautions[name] for name in names] or [nobody]),
                (*counted.window_ps.shape[:-1], counted.entities),
            )
            together = np.bitwise_or.reduce(np.where(members, masks, np.uint64(0)), axis=-1)
            known[names] = (together, masks)
        found[metric] = _values(definition_of(metric, kind), counted, *known[names])
    return found


def _values(definition: Definition, counted: Slice, together: Masks, cautions: Masks) -> Values:
    formula = definition.formula
    assert formula is not None, "engines count it"
    each = None if formula.each is None else formula.of_each(counted)
    whole = formula.of_all(counted, each)
    few, few_together = _few(counted, definition.samples)
    masks, mask = cautions | few, together | few_together
    if definition.doubt is not None and each is not None:
        word, holds = definition.doubt
        doubtful = holds(counted, each)
        masks = masks | _mask(word, doubtful)
        mask = mask | _mask(word, doubtful.any(axis=-1))
    return Values(
        whole,
        without_samples(mask, whole),
        each,
        None if each is None else without_samples(np.broadcast_to(masks, each.shape), each),
    )


def _few(counted: Slice, counter: str | None) -> tuple[Masks, Masks]:
    """Return the mask of each entity, and of all together, by how many samples they have."""
    if counter is None:
        return (np.zeros((), np.uint64),) * 2

    def masks(_: Slice) -> tuple[Masks, Masks]:
        samples = floats(counted[counter])
        together = np.nansum(samples, axis=-1)
        return (
            _mask(Caution.FEW_SAMPLES, samples < FEW_SAMPLES),
            _mask(Caution.FEW_SAMPLES, together < FEW_SAMPLES),
        )

    return counted.once(f"few {counter}", masks)


def _mask(word: Caution, holds: npt.NDArray[np.bool_] | np.bool_) -> Masks:
    return np.where(holds, caution_mask([word]), np.uint64(0))


def of_each_part(
    metrics: Iterable[Metric], kind: EntityKind, counted: Slice
) -> dict[Metric, Floats]:
    """Return the values of each entity in parts of windows, of what is counted in parts.

    Values have the shape `(…, entities)`.
    """
    found = {}
    for metric in metrics:
        formula = definition_of(metric, kind).formula
        if formula is not None and formula.each is not None:
            with suppress(NotCountedError):
                found[metric] = formula.of_each(counted)
    return found


def of_all_parts(kind: EntityKind, counted: Slice) -> dict[Metric, Floats]:
    """Return the values of all entities together in parts of windows, of what is counted in parts.

    Values have the shape `(…)`.
    """
    found = {}
    for metric in metrics_of(kind):
        formula = definition_of(metric, kind).formula
        if formula is not None:
            with suppress(NotCountedError):
                found[metric] = formula.of_all(counted)
    return found
