"""Results of a probe: values of metrics by flow."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from ethermeter.analysis import row_checks
from ethermeter.analysis.checks import Check
from ethermeter.analysis.samples import samples_of
from ethermeter.metrics import Caution, Metric
from ethermeter.results.estimates import EstimateEntry
from ethermeter.results.interval import Estimate, Floats

_COLUMNS = ("flow", "metric", "unit", "value", "low", "high", "cautions")


class Value(EstimateEntry, kw_only=True, omit_defaults=False):
    """One metric of one flow, with its 95% interval, in the metric's SI unit."""

    flow: str
    metric: Metric
    unit: str
    by: str
    """What answered: "agent", "stamp" or "iperf3"."""

    @classmethod
    def made(cls, flow: str, metric: Metric, estimate: Estimate, by: str) -> "Value":
        """Return the value that an estimate is."""
        numbers = structs.asdict(EstimateEntry.of(estimate))
        return cls(flow=flow, metric=metric, unit=metric.unit, by=by, **numbers)

    @property
    def estimate(self) -> Estimate:
        """The value as an estimate."""
        return self.read()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a probe found.

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
    limits: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield a row of a table for each value; an undefined number is None."""
        for value in self.values:
            about = {"at": self.at, "to": self.to, "by": value.by}
            yield about | {name: getattr(value, name) for name in _COLUMNS}

    def check(self, *conditions: str) -> tuple[Check, ...]:
        """Judge conditions that no flow may meet, such as "loss > 0.1%".

        Raises
        ------
        InputError
            If a text is no condition, or no flow has such a metric.

        """
        wanted = row_checks.conditions_of(conditions)
        return row_checks.checks(wanted, self.rows(), ("flow", "by"))


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
    return [Value.made(flow, each, estimate, by) for each, estimate in found.items()]
