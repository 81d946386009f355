"""Probes: values of a host, and series of them."""

from collections.abc import Iterator

from ethermeter.api.probe import Series
from ethermeter.blocks import Table, Text
from ethermeter.present.marks import Marks, legend
from ethermeter.probing.result import Measurement
from ethermeter.quantities import metric_text


def measurement(found: Measurement) -> Iterator[Table | Text]:
    """Lay out the values of every flow, what limited it, and facts about the host."""
    marks = Marks(value.estimate.cautions for value in found.values)
    rows = []
    for value in found.values:
        shown = metric_text(value.metric, value.estimate) + marks.at(value.estimate.cautions)
        rows.append((value.flow, value.metric.label.title, shown, value.by))
    yield Table(["flow", "metric", "value", "by"], rows, "Values", headers=2)
    yield from legend(marks.legend())
    for flow, limit in found.limits.items():
        yield Text(f"{flow} was limited by {limit}")
    for note in found.notes:
        yield Text(note)


def series(found: Series) -> Iterator[Text]:
    """Say how many measurements a series has, how many of this run failed, and its page."""
    yield Text(
        f"{found.measurements} measurements, {found.failures} of this run failed: {found.report}"
    )
