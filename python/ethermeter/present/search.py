"""Searches: the values that were tried, and the last with which conditions hold."""

from collections.abc import Iterator, Sequence

from ethermeter.analysis.value_search import Bound, Kept, Point, SearchAnswer
from ethermeter.blocks import Table, Text
from ethermeter.metrics import Metric
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import Scale, with_ends

OPEN_ROWS = 16
"""Rows of a page that are shown at once."""


def search(found: SearchAnswer) -> Iterator[Table | Text]:
    """Lay out the values that were tried, the answer in words, and what theory says of it."""
    yield from tried(found)
    yield from answer(found)


def answer(found: SearchAnswer) -> Iterator[Text]:
    """Lay out the answer in words, and what theory says of it."""
    for caution in found.cautions:
        yield Text(f"caution: {caution}")
    yield Text(found.sentence)
    if found.outcome == "undecided" and found.estimate is not None:
        yield Text(f"by the means {found.estimate}; a larger step needs fewer trials")
    if found.bound is not None:
        yield Text(_bound(found.bound))


def tried(found: SearchAnswer) -> Iterator[Table | Text]:
    """Lay out the values that were tried, each with what its conditions are about."""
    marks = Marks(each.cautions for each in found.points)
    metrics = [Metric(kept.metric) for kept in found.points[0].conditions]
    head = [found.key, "", "trials"]
    for text, metric in zip(found.conditions, metrics, strict=True):
        of = f"{text.partition(': ')[0]}: " if ": " in text else ""
        head += [f"{of}{metric} {metric.label.unit}".rstrip(), "of"]
    rows = [_row(point, metrics, marks) for point in found.points]
    # Stations of a segment have no name.
    filled = [at for at, title in enumerate(head) if title != "of" or any(row[at] for row in rows)]
    yield Table(
        [head[at] for at in filled],
        [[row[at] for at in filled] for row in rows],
        "Values that were tried",
        headers=2,
        open_rows=OPEN_ROWS,
    )
    yield from legend(marks.legend())


def _row(point: Point, metrics: Sequence[Metric], marks: Marks) -> list[str]:
    cells = [f"{point.value}{marks.at(point.cautions)}", point.verdict, str(point.replications)]
    for kept, metric in zip(point.conditions, metrics, strict=True):
        cells += [_value(kept, metric), kept.flow]
    return cells


def _value(kept: Kept, metric: Metric) -> str:
    label, of = metric.label, kept.estimate
    value, low, high = (
        None if end is None else label.factor * end for end in (of.value, of.low, of.high)
    )
    if value is not None and low is not None and high is not None:
        low, high = max(low, min(label.least, value)), min(high, max(label.most, value))
    return with_ends(value, low, high, Scale(label.unit), has_unit=False)


def _bound(bound: Bound) -> str:
    if bound.value is None:
        return f"no bound: {bound.what}: {bound.why}"
    return f"bound: {bound.what}: {bound.value} {bound.unit}; with this room nothing is lost"
