"""Points of a run: their main metrics, what is overloaded, cautions of the whole run."""

import math
from collections.abc import Container, Iterator, Sequence, Set

from ethermeter import quantities
from ethermeter.analysis.flows import OF_MESSAGES
from ethermeter.analysis.groups import PART
from ethermeter.blocks import Heading, Table, Text
from ethermeter.metrics import Metric
from ethermeter.present.marks import Marks, legend
from ethermeter.quantities import held, shown_unit
from ethermeter.results.estimates import Point, run_cautions
from ethermeter.results.interval import Estimate

Block = Text | Heading | Table

TABLE_METRICS = ("utilisation", "goodput", "transmission_delay", "loss", "jain_index")
VOICE_TABLE_METRICS = ("voice_load", "voice_utilisation", "voice_delay", "sample_loss")
FLOW_TABLE_METRICS = ("message_rate", "goodput", "one_way_delay", "round_trip", "loss")
FLOW_VOICE_TABLE_METRICS = ("voice_load", "sample_delay", "sample_loss", "rating", "mos")
TABLE_OF_FLOWS_METRICS = (
    *("message_rate", "data_rate", "one_way_delay", "one_way_delay_p99", "round_trip", "loss"),
)
TRANSFER_TABLE_METRICS = ("transfer_rate", "acknowledgement_delay")
PLCA_TABLE_METRICS = ("cycle_time", "attempt_delay", "attempt_delay_max")
DUE_TABLE_METRICS = ("overdue_share", "deadline_margin")
CLOCK_TABLE_METRICS = ("clock_delay", "synchronised_delay", "delay_error", "delay_uncertainty")
TABLE_ROWS = 30
"""Rows of a table, and lines of a list, at most."""


def run(points: Sequence[Point], tables: Sequence[Point]) -> Iterator[Block]:
    """Lay out the main metrics of the first points of a run.

    Where flows come from several tables of the file, their delays are laid out by table: a mean
    over flows that differ is the delay of none. `tables` has the estimates by table then.
    """
    yield from main_metrics(points, without=OF_MESSAGES if tables else ())
    if tables:
        yield Text("by table of flows of the file, means over its flows:")
        yield from _metrics(tables, list(map(Metric, TABLE_OF_FLOWS_METRICS)))


def series(points: Sequence[Point]) -> Iterator[Block]:
    """Lay out the points of every test of a study in tables of their own."""
    for name in dict.fromkeys(point.series for point in points):
        yield Text(f"{name}:")
        yield from main_metrics([point for point in points if point.series == name])
        yield Text("")


def main_metrics(points: Sequence[Point], *, without: Container[Metric] = ()) -> Iterator[Block]:
    """Lay out the main metrics of the first points, except for some."""
    known = {metric for point in points for metric in point.estimates}
    # What lies between a theory and the segment is for the agreement in the report.
    points = [point for point in points if not point.engine.startswith("ablation/")]
    metrics = map(Metric, _table_metrics(points, known))
    return _metrics(points, [metric for metric in metrics if metric not in without])


def _metrics(points: Sequence[Point], metrics: Sequence[Metric]) -> Iterator[Block]:
    """Lay out those of some metrics of the first points that any point has a value of."""
    keys = list(dict.fromkeys(key for point in points for key in point.point))
    several = len({point.engine for point in points}) > 1
    metrics = [
        metric for metric in metrics if any(_known(point, metric) is not None for point in points)
    ]
    if not metrics:
        yield Text("No point has a value.")
        return
    # Theories that have no value of any have rows of their own, of bounds and means.
    points = [point for point in points if any(_known(point, of) is not None for of in metrics)]
    shown = points[:TABLE_ROWS]
    by_metric = [[_known(point, metric) for point in shown] for metric in metrics]
    marks = Marks(each.cautions for column in by_metric for each in column if each is not None)
    heads, columns = [], []
    for metric, estimates in zip(metrics, by_metric, strict=True):
        head, cells = metric_column(metric, estimates)
        heads.append(head)
        columns.append(
            [
                cell if each is None else cell + marks.at(each.cautions)
                for cell, each in zip(cells, estimates, strict=True)
            ]
        )
    rows = [
        [
            *([point.engine] if several else []),
            *(point.point.get(key, "") for key in keys),
            *(column[at] for column in columns),
        ]
        for at, point in enumerate(shown)
    ]
    titles = ["flows" if key == PART else key for key in keys]
    lead = [*(["engine"] if several else []), *titles]
    yield Table([*lead, *heads], rows, "Main metrics", headers=len(lead))
    if len(points) > TABLE_ROWS:
        yield Text(f"… {len(points) - TABLE_ROWS} more points in the report")
    yield from legend(marks.legend())


def _known(point: Point, metric: Metric) -> Estimate | None:
    """Return the estimate of a metric at a point, unless there is none or it has no value."""
    found = point.estimates.get(metric)
    return found if found is not None and math.isfinite(found.value) else None


def _table_metrics(points: Sequence[Point], known: Set[Metric]) -> list[str]:
    """Return the metrics that a table of these points shows; `known` are those of the run."""

    def has_value(metric: str) -> bool:
        found = [point.estimates.get(Metric(metric)) for point in points]
        return any(of is not None and math.isfinite(of.value) for of in found)

    has_flows = [Metric.MESSAGE_RATE in point.estimates for point in points]
    metrics = [] if all(has_flows) else list(TABLE_METRICS)
    if any(has_flows):
        # Nothing but transfers: octets, no messages.
        only_transfers = not has_value("message_rate")
        metrics += ["data_rate", "retransmitted"] if only_transfers else FLOW_TABLE_METRICS
    if Metric.VOICE_DELAY in known:
        if any({Metric.UTILISATION, Metric.VOICE_DELAY} <= set(of.estimates) for of in points):
            metrics += VOICE_TABLE_METRICS
        if Metric.RATING in known:
            metrics += FLOW_VOICE_TABLE_METRICS
    some = (*PLCA_TABLE_METRICS, *TRANSFER_TABLE_METRICS, *DUE_TABLE_METRICS, *CLOCK_TABLE_METRICS)
    metrics += filter(has_value, some)
    return list(dict.fromkeys(metrics))


def metric_column(metric: Metric, estimates: Sequence[Estimate | None]) -> tuple[str, list[str]]:
    """Return the head of a column of a metric, with its unit, and its cells."""
    unit, factor = shown_unit(metric)
    unit, cells = quantities.column(
        [None if each is None else held(each, metric.label).scaled(factor) for each in estimates],
        unit,
    )
    return f"{metric} {unit}".rstrip(), cells


def cautions(points: Sequence[Point]) -> Iterator[Block]:
    """Say what the cautions of the run as a whole mean."""
    return legend(Marks([]).legend(run_cautions(points)))
