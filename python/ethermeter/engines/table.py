"""Table: values of some metrics, of each entity and of all together, with their cautions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Floats
from ethermeter.metrics import Caution, Masks, Metric, caution_mask, without_samples

FEW_SAMPLES = 30
"""Below this many samples a value carries the caution `few-samples`."""

Doubts = Mapping[Metric, tuple[Caution, npt.NDArray[np.bool_]]]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Some metrics of the stations or flows of a trial.

    Parameters
    ----------
    metrics, metrics_of_each
        Metrics of all entities together, and those of each entity, in order.
    of_all, of_each
        Their values; those of each entity have the shape `(entities,)`.
    samples
        Samples that a metric is estimated from, by entity; None of counts and parameters.
    mask_of_all, mask_of_each
        Cautions that hold for every value of all together, and of each entity.
    doubts
        A further caution of a metric, and the entities that it holds for; it holds for all together
        if it holds for any.
    """

    metrics: Sequence[Metric]
    metrics_of_each: Sequence[Metric]
    of_all: Mapping[Metric, float]
    of_each: Mapping[Metric, Floats]
    samples: Callable[[Metric], Floats | None]
    mask_of_all: np.uint64
    mask_of_each: Masks
    doubts: Doubts = field(default_factory=dict)

    def rows(self) -> tuple[Floats, Masks]:
        """Return the values of all together and those of the entities, metric by metric.

        With them their caution masks, `no-samples` included.
        """
        values = np.concatenate(
            [
                [self.of_all[metric] for metric in self.metrics],
                *(self.of_each[metric] for metric in self.metrics_of_each),
            ]
        )
        of_all = np.full(len(self.metrics), self.mask_of_all, np.uint64)
        of_each = np.tile(self.mask_of_each, (len(self.metrics_of_each), 1))
        # Most metrics have the same samples. An array in use keeps its identity to itself.
        arrays = {metric: self.samples(metric) for metric in self.metrics}
        arrays |= {metric: self.samples(metric) for metric in self.metrics_of_each}
        few = {id(array): _few(array) for array in arrays.values() if array is not None}
        for at_all, metrics in ((True, self.metrics), (False, self.metrics_of_each)):
            masks = of_all if at_all else of_each
            for at, metric in enumerate(metrics):
                if arrays[metric] is not None:
                    masks[at] |= few[id(arrays[metric])][0 if at_all else 1]
                if metric in self.doubts:
                    word, holds = self.doubts[metric]
                    masks[at] |= _mask(word, holds.any() if at_all else holds)
        together = np.concatenate([of_all, of_each.ravel()])
        return values, without_samples(together, values)


def _few(samples: Floats) -> tuple[np.uint64, Masks]:
    """Return the mask of all entities together, and of each, by how many samples they have."""
    return (
        np.uint64(_mask(Caution.FEW_SAMPLES, samples.sum() < FEW_SAMPLES)),
        _mask(Caution.FEW_SAMPLES, samples < FEW_SAMPLES),
    )


def _mask(word: Caution, holds: np.bool_ | npt.NDArray[np.bool_]) -> Masks:
    """Return the mask of a caution where it holds, elsewhere 0."""
    return np.where(holds, caution_mask([word]), np.uint64(0))
