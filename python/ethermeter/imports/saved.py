"""Files that ethermeter saved: what `predict --out` and `probe --out` leave in their directory."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethermeter.faults import InputError
from ethermeter.imports import measurement
from ethermeter.imports.document import Document, finite
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, student

FILES = ("prediction.json", "measurements.jsonl")
"""Files of values in the directories of `predict --out` and of `probe --out`."""
PREDICTED = frozenset(("predicted", "draws"))
"""Keys by which a prediction is known."""
ALL = "all flows"
"""Name of the values of a prediction at its only point."""


def file_of(path: Path) -> Path | None:
    """Return the file of a path: itself, or that of a directory of saved values; None of others."""
    if path.is_file():
        return path
    return next((path / name for name in FILES if (path / name).is_file()), None)


def title(file: Path) -> str:
    """Return the name of a file; of one of saved values that of its directory."""
    return file.parent.name if file.name in FILES else file.name


def prediction(document: Document, file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return what was predicted, of all flows together, by point."""
    found: dict[str, dict[Metric, Estimate]] = defaultdict(dict)
    rows = document["predicted"]
    for at, row in enumerate(rows if isinstance(rows, list) else [rows]):
        if not isinstance(row, Mapping) or row.get("metric") not in set(Metric):
            allowed = "expected a value as ethermeter predict writes it"
            raise InputError.of(file, f"predicted[{at}]", str(row)[:50], allowed)
        value, low, high = (finite(row.get(name)) for name in ("value", "low", "high"))
        if value is None:
            continue
        ends = None if low is None or high is None else (low, high)
        point = row.get("point") or {}
        where = ", ".join(f"{key} = {text}" for key, text in point.items()) or ALL
        found[where][Metric(row["metric"])] = Estimate(value, math.nan, math.nan, ends=ends)
    if not found:
        raise InputError.of(file, "predicted", "[]", "expected at least one value")
    return dict(found)


def series(lines: Sequence[Any], file: str) -> dict[str, dict[Metric, Estimate]]:
    """Return the mean of what was measured again and again, by flow.

    The interval is by the spread from one measurement to the next; of a single measurement it is
    that of the measurement. What failed is left out.
    """
    every: dict[tuple[str, Metric], list[Estimate]] = defaultdict(list)
    for line in lines:
        if isinstance(line, Mapping) and isinstance(line.get("values"), list) and line["values"]:
            for flow, values in measurement.flows(line, file).items():
                for metric, found in values.items():
                    if math.isfinite(found.value):
                        every[flow, metric].append(found)
    if not every:
        raise InputError.of(file, "(text)", "no values", "expected a measurement that succeeded")
    flows: dict[str, dict[Metric, Estimate]] = defaultdict(dict)
    for (flow, metric), measured in every.items():
        known = [each.value for each in measured]
        flows[flow][metric] = measured[0] if len(known) == 1 else student(np.array(known))
    return dict(flows)
