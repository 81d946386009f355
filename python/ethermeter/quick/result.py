"""Results of a quick measurement: values of metrics by flow, as JSON, CSV and a table."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ethermeter.analysis import batches
from ethermeter.analysis.interval import Estimate
from ethermeter.json_values import finite
from ethermeter.metrics import Caution, Metric, percentiles

Floats = npt.NDArray[np.float64]

FEWEST_SAMPLES = 30
"""With fewer samples a value has the caution `few-samples`."""
MOST_BATCHES = 20
FEWEST_BATCHES = 5
"""With fewer batches a value has no interval."""
_PERCENT = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9, "max": 100.0}
CSV_HEAD = ("at", "to", "by", "flow", "metric", "unit", "value", "low", "high", "cautions")


@dataclass(frozen=True, slots=True)
class Value:
    """One metric of one flow, with its 95% interval, in the metric's SI unit."""

    flow: str
    metric: Metric
    estimate: Estimate
    by: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a quick measurement found.

    Parameters
    ----------
    to
        The host, as it was given.
    at
        When it began, as ISO 8601 in UTC.
    by
        What answered: "agent", "stamp", "iperf3".
    values
        Values by flow.
    limits
        What limited a flow, by its name.
    notes
        Facts about the peer and the clocks, and peers that did not answer.

    """

    to: str
    at: str
    by: tuple[str, ...]
    values: tuple[Value, ...]
    limits: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it; undefined numbers are None."""
        return {
            "to": self.to,
            "at": self.at,
            "by": list(self.by),
            "values": [
                {
                    "flow": value.flow,
                    "metric": value.metric.value,
                    "unit": value.metric.unit,
                    "value": finite(value.estimate.value),
                    "low": finite(value.estimate.low),
                    "high": finite(value.estimate.high),
                    "cautions": list(value.estimate.cautions),
                    "by": value.by,
                }
                for value in self.values
            ],
            "limits": self.limits,
            "notes": list(self.notes),
        }

    def as_csv(self, *, with_head: bool = True) -> str:
        """Return it as CSV, one line a value; undefined numbers are empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if with_head:
            writer.writerow(CSV_HEAD)
        for value in self.values:
            numbers = (value.estimate.value, value.estimate.low, value.estimate.high)
            writer.writerow(
                (
                    self.at,
                    self.to,
                    value.by,
                    value.flow,
                    value.metric.value,
                    value.metric.unit,
                    *(repr(float(each)) if math.isfinite(each) else "" for each in numbers),
                    " ".join(value.estimate.cautions),
                )
            )
        return text.getvalue()


def exact(value: float, cautions: Sequence[Caution] = ()) -> Estimate:
    """Return a value without an interval; an undefined one has the caution `no-samples`."""
    words = [*cautions, *([Caution.NO_SAMPLES] if math.isnan(value) else [])]
    return Estimate(value, math.nan, math.nan, tuple(map(str, words)))


def ratio(above: Floats, below: Floats, cautions: Sequence[Caution] = ()) -> Estimate:
    """Return the ratio of two sums over batches, with the interval of its batches.

    `above` and `below` have the shape (batches,), in the order of time.
    """
    total = float(below.sum())
    if total == 0:
        return exact(math.nan, cautions)
    value = float(above.sum()) / total
    rest = below.sum() - below
    if len(below) < FEWEST_BATCHES or not (rest > 0).all():
        return exact(value, cautions)
    found = batches.within((above.sum() - above) / rest)
    words = list(cautions)
    if float(found.independent) < batches.FEWEST:
        words.append(Caution.CORRELATED_BATCHES)
    low, high = batches.ends(np.asarray(value), found.error, found.degrees, found.skewness)
    return Estimate(
        value,
        float(found.error),
        float(found.degrees),
        tuple(map(str, words)),
        (float(low), float(high)),
    )


def merged(samples: Floats, count: int = MOST_BATCHES) -> Floats:
    """Return sums over `count` batches of samples in the order of time, as equal as possible."""
    count = min(count, len(samples))
    begins = np.arange(count) * len(samples) // max(1, count)
    return np.add.reduceat(samples, begins) if count else np.empty(0)


def distribution(
    flow: str, metric: Metric, samples: Floats, by: str, cautions: Sequence[Caution] = ()
) -> list[Value]:
    """Return the mean of samples in the order of time, with its interval, and percentiles."""
    words = [*cautions, *([Caution.FEW_SAMPLES] if 0 < len(samples) < FEWEST_SAMPLES else [])]
    mean = ratio(merged(samples), merged(np.ones(len(samples))), words)
    found = [Value(flow, metric, mean, by)]
    for ranked in percentiles(metric):
        percent = _PERCENT[ranked.rpartition("_")[2]]
        value = float(np.percentile(samples, percent)) if len(samples) else math.nan
        found.append(Value(flow, ranked, exact(value, words), by))
    return found
