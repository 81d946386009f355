"""Bounds: what theory promises of the flows and ports of a network, beside what was seen."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from ethermeter.analysis.bounds import DELAYS, SEEN, Answers, Coverage, FlowTime
from ethermeter.analysis.port_bounds import Queue
from ethermeter.chart import Axis, Box, Legend, Names, Sign, Span, Spans, Tip
from ethermeter.document import (
    Block,
    Bullets,
    Figure,
    Grid,
    Heading,
    Text,
)
from ethermeter.metrics import Metric
from ethermeter.present import bounds as layout
from ethermeter.quantities import quantity
from ethermeter.report.data import ReportData
from ethermeter.report.labels import point_title
from ethermeter.report.tables import tag
from ethermeter.report.thinning import spread

MOST_FLOWS = 12
"""Flows of a figure: those that come nearest to their limits."""
MOST_FIGURES = 6
MOST_WARNINGS = 12
RANKS = {"p50": "median", "p90": "90%", "p99": "99%", "p999": "99.9%"}
_NAMES = ("theory", *SEEN.values())
_ROW, _AROUND = 30, 62
"""Height of a line of a flow, and of what is around the lines, in pixels."""
LEAD = (
    "A bound is a worst case by network calculus: no message may take longer. A mean by queueing "
    "theory is for comparison with the means that were simulated and measured."
)
CAPTION = (
    "Dots are means, ticks the median and the percentiles 90, 99 and 99.9, squares the largest "
    "values over all replications, tall bars the bounds, triangles the deadlines."
)
QUEUES = (
    "The largest queue at each port, frame being sent included. A port with room for its bound "
    "loses nothing, whatever the phases of its flows. Load and mean are those of the port by "
    "queueing theory, of all classes together."
)
EXCEEDED = (
    "A value above its bound is a defect: of the bound, of the engine, or of a host that does not "
    "send what the experiment says."
)


def bound_blocks(series: str, data: ReportData) -> list[Block]:
    """Sentences, figures and tables of a series; empty without theories of networks."""
    times = [time for time in data.answers.times if time.series == series]
    queues = [
        queue
        for queue in data.answers.queues
        # Not of ports that no flow leads through.
        if queue.series == series and not queue.is_idle
    ]
    if not times:
        return []
    points = list(dict.fromkeys(tuple(time.point.items()) for time in times))
    alike = [time for time in data.answers.alike if time.series == series]
    figures = [_figure(dict(point), alike) for point in spread(points, MOST_FIGURES)]
    blocks: list[Block] = [Heading("Bounds, means and what was seen"), Text(LEAD, "lead")]
    blocks += [
        *exceeded_blocks(series, data),
        Grid(figures),
        Heading("By every engine", 4),
        *layout.times(alike),
    ]
    if queues:
        blocks += [Heading("The queue that loses nothing"), Text(QUEUES, "lead")]
        blocks += [*_queue_sentences(queues), *layout.queues(queues)]
    blocks += layout.coverage(Answers(tuple(times), tuple(queues)).coverage)
    return blocks


def findings(data: ReportData) -> list[str]:
    """Say which delays keep their bounds, how many have none, and which comes nearest.

    Nothing where no bound was asked for.
    """
    seen = [
        (each.largest_s / time.bound_s, time, each)
        for time in data.answers.times
        if time.bound_s > 0
        for each in time.observed
        if math.isfinite(each.largest_s) and math.isfinite(time.bound_s)
    ]
    of_flows = [each for each in data.answers.coverage if each.kinds == DELAYS]
    if not seen:
        return [text for each in of_flows if (text := _none_bounded(each))]
    (covered,) = of_flows
    nearest, time, each = max(seen, key=lambda row: row[0])
    return [
        Markup(
            "The worst-case bound holds for {}. Nearest to it comes <strong>{}</strong>{}:"
            " {} {} of at most {}, <strong>{:.0%}</strong>."
        ).format(
            _held([time for _, time, _ in seen], covered),
            time.flow,
            _at(time.point),
            quantity(each.largest_s, "s"),
            SEEN[each.engine],
            quantity(time.bound_s, "s"),
            nearest,
        )
    ]


def _none_bounded(covered: Coverage) -> str:
    """Say that no delay has a bound, and why; empty if some have one."""
    if covered.bounded or not covered.unbounded:
        return ""
    is_one = covered.unbounded == 1
    which = "The delay has no" if is_one else f"None of the {covered.unbounded:,} delays has a"
    return f"{which} worst-case bound{layout.reasons(covered)}."


def _held(seen: Sequence[FlowTime], covered: Coverage) -> str:
    """Say for how many delays that were seen the bound holds, and how many have none, and why."""
    exceeded = {
        id(time) for time in seen if any(each.verdict == "exceeded" for each in time.observed)
    }
    bounded = len({id(time) for time in seen})
    holding, every = bounded - len(exceeded), bounded + covered.unbounded
    if holding == every:
        return "the delay" if every == 1 else f"all {every:,} delays"
    text = f"{holding:,} of {every:,} delays"
    if not covered.unbounded:
        return text
    have = "has" if covered.unbounded == 1 else "have"
    return f"{text}; {covered.unbounded:,} {have} no bound{layout.reasons(covered)}"


def deadline_findings(data: ReportData) -> list[str]:
    """Say how many flows keep their deadlines; nothing without any."""
    return [text.text for text in layout.deadlines(data.answers)]


def warnings(data: ReportData) -> list[str]:
    """Say how many values are above their bounds; nothing if none is."""
    count = len(data.answers.warnings)
    return [f"{count} values are above their bounds. {EXCEEDED}"] if count else []


def exceeded_blocks(series: str, data: ReportData) -> list[Block]:
    """List the values of a series that are above their bounds; empty without any."""
    above = [
        Markup("{} {}").format(tag("missed", "above its bound"), text)
        for text in data.answers.warnings
        if text.startswith((f"{series}:", f"{series},"))
    ]
    if not above:
        return []
    more = len(above) - MOST_WARNINGS
    left_out = [f"and {more} more, in bounds.json"] if more > 0 else []
    return [Text(EXCEEDED), Bullets([*above[:MOST_WARNINGS], *left_out])]


def _at(point: Mapping[str, str]) -> str:
    """Say at which point, in brackets; empty where nothing is varied."""
    text = point_title(point)
    return f" ({text})" if text else ""


def _figure(point: Mapping[str, str], times: Sequence[FlowTime]) -> Figure:
    found = [time for time in times if dict(time.point) == point]
    found = [time for time in found if time.metric is Metric.ONE_WAY_DELAY]
    shown = found[:MOST_FLOWS]
    spans = [span for time in shown for span in _spans(time)]
    left_out = (
        f" The {len(shown)} flows nearest to their limits." if len(shown) < len(found) else ""
    )
    return Figure(
        _delays(spans),
        point_title(point) or "One-way delay of every flow",
        CAPTION + left_out,
        kind="roofline",
    )


def _delays(spans: Sequence[Span]) -> Spans:
    """Draw the delays of each flow, one below the other, on a logarithmic axis."""
    label = Metric.ONE_WAY_DELAY.label
    names = [name for name in _NAMES if any(span.name == name for span in spans)]
    flows = list(dict.fromkeys(span.row for span in spans))
    height = _AROUND + _ROW * len(flows) * max(1, len(names)) * 2 // 3
    tips: list[Tip] = [("place", "flow", ""), ("kind", "value", ""), ("value", label.title, ".5~r")]
    return Spans(
        spans,
        Axis(label, is_log=True, padding=8, numbers="delay"),
        Names(of=flows, limit=110),
        [*tips, ("curve", "by", "")],
        Legend(),
        names,
        is_beside=True,
        box=Box(height=height),
    )


def _spans(time: FlowTime) -> list[Span]:
    """Return what is drawn of a flow; what is not above 0 has no place on a logarithmic axis."""
    drawn: dict[str, list[tuple[Sign, str, float]]] = {
        _NAMES[0]: [
            ("mean", "mean by queueing theory", time.mean_s),
            ("bound", "bound", time.bound_s),
            ("deadline", "deadline", time.deadline_s),
        ]
    }
    for each in time.observed:
        drawn[SEEN[each.engine]] = [
            ("mean", "mean", each.mean.value),
            *(
                ("percentile", text, each.percentiles[Metric(f"{time.metric}_{rank}")].value)
                for rank, text in RANKS.items()
            ),
            ("largest", "largest", each.largest_s),
        ]
    return [
        Span(time.flow, name, [value for value in values if value[2] > 0], is_drawn_out=True)
        for name, values in drawn.items()
    ]


def _queue_sentences(queues: Sequence[Queue]) -> list[Block]:
    """Say of ports whose room is limited, or which hold most, what room loses nothing."""
    bounded = [queue for queue in queues if queue.bound.frames > 1]
    few = sorted(bounded, key=lambda queue: queue.bound.frames, reverse=True)[:3]
    return [Bullets([_queue_sentence(queue) for queue in few])] if few else []


def _queue_sentence(queue: Queue) -> str:
    of_class = "" if queue.traffic_class is None else f", class {queue.traffic_class}"
    size = f"{queue.bound.frames:,g} frames"
    if math.isfinite(queue.bound.octets):
        size += f" ({queue.bound.octets:,.0f} octets)"
    seen = (
        f"; the largest simulated has {queue.simulated.frames:,g}"
        if math.isfinite(queue.simulated.frames)
        else ""
    )
    return Markup("<strong>{} to {}{}</strong>{}: room for {} loses nothing{}.").format(
        queue.node, queue.peer, of_class, _at(queue.point), size, seen
    )
