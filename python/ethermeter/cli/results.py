"""Tables of results in the terminal: points, both engines side by side, claims."""

import math
from collections.abc import Container, Iterable, Sequence, Set
from typing import TYPE_CHECKING

import typer

from ethermeter import quantities
from ethermeter.cli.output import print_table, print_text, show
from ethermeter.quantities import metric_text, number, shown_unit, value_text

if TYPE_CHECKING:
    from ethermeter.analysis.claims import Claim
    from ethermeter.analysis.live import Comparison, Pair
    from ethermeter.analysis.losses import Drops
    from ethermeter.analysis.overloads import OverloadedPoint
    from ethermeter.cli.summary import Summary
    from ethermeter.metrics import Metric
    from ethermeter.results.estimates import Point
    from ethermeter.results.interval import Estimate

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
MOST_DROPS = 5
"""Places between hosts at which frames were dropped that are printed."""


def metric_column(
    metric: "Metric", estimates: "Sequence[Estimate | None]"
) -> tuple[str, list[str]]:
    """Return the head of a column of a metric, with its unit, and its cells."""
    unit, factor = shown_unit(metric)
    unit, cells = quantities.column(
        [None if each is None else each.scaled(factor) for each in estimates], unit
    )
    return f"{metric} {unit}".rstrip(), cells


def print_side_by_side(pairs: "Sequence[Pair]") -> None:
    """Print both engines by table of flows, where there are several."""
    if len({pair.flows for pair in pairs}) < 2:
        return
    keys = list(dict.fromkeys(key for pair in pairs for key in pair.point))
    rows = [
        [
            *(pair.point.get(key, "") for key in keys),
            pair.flows,
            pair.metric,
            metric_text(pair.metric, pair.simulation),
            metric_text(pair.metric, pair.live),
            number(pair.ratio, digits=3),
        ]
        for pair in pairs[:TABLE_ROWS]
    ]
    head = [*keys, "flows", "metric", "simulation", "live", "live / simulation"]
    print_table(head, rows, keys=len(keys) + 2)
    if len(pairs) > TABLE_ROWS:
        print_text(f"… {len(pairs) - TABLE_ROWS} more with --json")


def print_live_agreement(found: "Sequence[Comparison]") -> None:
    """Print how what was measured differs from what was simulated."""
    from ethermeter.report.cautions import Marks

    if not found:
        return
    keys = list(dict.fromkeys(key for each in found for key in each.point))
    comparisons = [each for each in found if each.metric in FLOW_TABLE_METRICS]
    shown = comparisons[:TABLE_ROWS]
    marks = Marks(each.cautions for each in shown)
    rows = [
        [
            *(each.point.get(key, "") for key in keys),
            each.metric,
            value_text(each.metric, each.live, each.live_half_width),
            value_text(each.metric, each.simulation, each.simulation_half_width),
            value_text(each.metric, each.difference, each.half_width),
            f"{each.verdict} {marks.at(each.cautions)}".rstrip(),
        ]
        for each in shown
    ]
    head = [*keys, "metric", "live", "simulation", "live − simulation", "verdict"]
    print_table(head, rows, keys=len(keys) + 1)
    if len(comparisons) > len(shown):
        more = len(comparisons) - len(shown)
        print_text(f"… {more} more with --json")
    print_legend(marks.legend())


def print_legend(lines: "Iterable[str]") -> None:
    """Print what the marks of a table mean."""
    from ethermeter.blocks import Text

    show(Text(line, indent="    ") for line in lines)


def print_run(found: "Summary") -> None:
    """Print the main metrics of the first points of a run.

    Where flows come from several tables of the file, their delays are printed by table: a mean over
    flows that differ is the delay of none.
    """
    from ethermeter.analysis.flows import OF_MESSAGES
    from ethermeter.metrics import Metric

    tables = found.flow_tables(found.points[:TABLE_ROWS])
    print_points(found.points, without=OF_MESSAGES if tables else ())
    if tables:
        print_text("by table of flows of the file, means over its flows:")
        _print_points(tables, list(map(Metric, TABLE_OF_FLOWS_METRICS)))


def print_points(points: "Sequence[Point]", *, without: "Container[Metric]" = ()) -> None:
    """Print the main metrics of the first points, except for some."""
    from ethermeter.metrics import Metric

    known = {metric for point in points for metric in point.estimates}
    # What lies between a theory and the segment is for the agreement in the report.
    points = [point for point in points if not point.engine.startswith("ablation/")]
    metrics = map(Metric, _table_metrics(points, known))
    _print_points(points, [metric for metric in metrics if metric not in without])


def _print_points(points: "Sequence[Point]", metrics: "Sequence[Metric]") -> None:
    """Print those of some metrics of the first points that any point has a value of."""
    from ethermeter.analysis.groups import PART
    from ethermeter.report.cautions import Marks

    keys = list(dict.fromkeys(key for point in points for key in point.point))
    several = len({point.engine for point in points}) > 1
    metrics = [
        metric for metric in metrics if any(_known(point, metric) is not None for point in points)
    ]
    if not metrics:
        print_text("No point has a value.")
        return
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
    print_table([*lead, *heads], rows, keys=len(lead))
    if len(points) > TABLE_ROWS:
        print_text(f"… {len(points) - TABLE_ROWS} more points in the report")
    print_legend(marks.legend())


def _known(point: "Point", metric: "Metric") -> "Estimate | None":
    """Return the estimate of a metric at a point, unless there is none or it has no value."""
    found = point.estimates.get(metric)
    return found if found is not None and math.isfinite(found.value) else None


def _table_metrics(points: "Sequence[Point]", known: "Set[Metric]") -> list[str]:
    """Return the metrics that a table of these points shows; `known` are those of the run."""
    from ethermeter.metrics import Metric

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


def print_overloads(points: "Sequence[OverloadedPoint]") -> None:
    """Print of points which resource is offered more than it carries."""
    from ethermeter.analysis.bounds import where

    for each in points[:TABLE_ROWS]:
        print_text(f"overload: {where(each.series, each.point)}{each.overload}")
    if len(points) > TABLE_ROWS:
        print_text(f"… {len(points) - TABLE_ROWS} more points are overloaded")


def print_run_cautions(points: "Sequence[Point]") -> None:
    """Print the cautions of the run as a whole."""
    from ethermeter.report.cautions import Marks
    from ethermeter.results.estimates import run_cautions

    print_legend(Marks([]).legend(run_cautions(points)))


def print_claims(claims: "Sequence[Claim]") -> None:
    """Print every claim of the study with its verdict."""
    rows = [
        [
            claim.id,
            quantities.in_scale(claim.published, math.nan, quantities.Scale(claim.unit)),
            quantities.with_ends(claim.ours, claim.low, claim.high, quantities.Scale(claim.unit)),
            claim.basis,
            claim.verdict,
        ]
        for claim in claims
    ]
    print_table(["claim", "published", "ours", "basis", "verdict"], rows)
    for claim in claims:
        if claim.verdict == "fails":
            # The numbers beside a statement do not decide it.
            print_text(f"{claim.id} fails: {claim.what}; {claim.rule_and_finding}")


def print_series(points: "Sequence[Point]") -> None:
    """Print the points of every test of a study in tables of their own."""
    for name in dict.fromkeys(point.series for point in points):
        print_text(f"{name}:")
        print_points([point for point in points if point.series == name])
        typer.echo()


def print_drops(drops: "Sequence[Drops]") -> None:
    """Print what was dropped between hosts, all trials together, the most first."""
    frames: dict[tuple[str, str, str], int] = {}
    missing: dict[tuple[str, str, str], int] = {}
    for each in drops:
        where = each.place, each.at, each.towards
        frames[where] = frames.get(where, 0) + round(each.frames)
        missing[where] = missing.get(where, 0) + round(each.missing)
    for place, at, towards in sorted(frames, key=lambda where: -frames[where])[:MOST_DROPS]:
        what = "switch" if place == "switch" else "wire from"
        of = place, at, towards
        print_text(
            f"{what} {at} towards {towards}: dropped {frames[of]} frames; streams that pass miss "
            f"{missing[of]} messages"
        )
    if len(frames) > MOST_DROPS:
        print_text(f"… {len(frames) - MOST_DROPS} more places in the report")


def print_measured_claims(claims: "Sequence[Claim]", study: str | None) -> None:
    """Print the published numbers of measured points, and the number of the others."""
    measured = [claim for claim in claims if claim.verdict != "not-run"]
    if measured:
        print_claims(measured)
    if others := len(claims) - len(measured):
        print_text(
            f"{others} published numbers of {study} are of tests or points that were not measured"
        )
