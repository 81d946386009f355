"""Metrics: what a value of a run may be, what it means, and what may be doubtful about it."""

from ethermeter.metrics.cautions import (
    Caution,
    Masks,
    caution_mask,
    caution_text,
    without_samples,
)
from ethermeter.metrics.definition import Definition, EntityKind, Label
from ethermeter.metrics.registry import (
    Metric,
    definition_of,
    is_from_histogram,
    metrics_of,
    percentiles,
)

ALL = -1
"""Station number of a row of all stations, or of all flows, together."""

__all__ = [
    "ALL",
    "Caution",
    "Definition",
    "EntityKind",
    "Label",
    "Masks",
    "Metric",
    "caution_mask",
    "caution_text",
    "definition_of",
    "is_from_histogram",
    "metrics_of",
    "percentiles",
    "without_samples",
]
