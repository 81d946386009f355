"""Results of a quick measurement: values of metrics by flow, as JSON, CSV and a table."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ethermeter.analysis.samples import samples_of
from ethermeter.metrics import Caution, Metric
from ethermeter.results.estimates import estimate_json
from ethermeter.results.interval import Estimate, Floats

Record = dict[str, Any]
"""A measurement, or what is asked of one, as JSON has it."""
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

    def as_json(self) -> Record:
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
                    **estimate_json(value.estimate),
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


def within(estimate: Estimate, least: float, most: float = math.inf) -> Estimate:
    """Return an estimate whose interval stays within what is possible."""
    if not estimate.has_interval:
        return estimate
    low, high = (min(max(end, least), most) for end in (estimate.low, estimate.high))
    return replace(estimate, ends=(low, high))


def distribution(
    flow: str, metric: Metric, samples: Floats, by: str, cautions: Sequence[Caution] = ()
) -> list[Value]:
    """Return the mean of samples in the order of time, with its interval, and percentiles."""
    found = samples_of(metric, samples, cautions)
    return [Value(flow, each, estimate, by) for each, estimate in found.items()]
