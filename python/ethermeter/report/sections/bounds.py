"""Bounds: what theory promises of the flows and ports of a network, beside what was seen."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from ethermeter.analysis.bounds import FlowTime, Observed, Queue, Saturation
from ethermeter.chart import Axis, Box, Legend, Names, Sign, Span, Spans, Tip
from ethermeter.document import (
    Block,
    Bullets,
    Figure,
    Grid,
    Heading,
    Table,
    Text,
    cell,
    large_first,
    number,
    plain,
)
from ethermeter.metrics import Caution, Metric
from ethermeter.report.data import ReportData
from ethermeter.report.labels import key_title, point_title
from ethermeter.report.tables import small, tag
from ethermeter.report.thinning import spread
from ethermeter.results.interval import Estimate
from ethermeter.trial import LIVE, SIMULATION

OPEN_ROWS = 40
MOST_FLOWS = 12
"""Flows of a figure, and of the sentences: those that come nearest to their bounds."""
MOST_FIGURES = 6
MOST_WARNINGS = 12
RANKS = {"p50": "median", "p90": "90%", "p99": "99%", "p999": "99.9%"}
SEEN = {SIMULATION: "simulated", LIVE: "measured"}
_NAMES = ("theory", *SEEN.values())
_ROW, _AROUND = 30, 62
"""Height of a line of a flow, and of what is around the lines, in pixels."""
LEAD = (
    "A bound is a worst case by network calculus: no message may take longer. A mean by queueing "
    "theory is for comparison with the means that were simulated and measured."
)
CAPTION = (
    "Dots are means, ticks the median and the percentiles 90, 99 and 99.9, squares the largest "
    "values over all replications, tall bars the bounds."
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
    figures = [_figure(dict(point), times) for point in spread(points, MOST_FIGURES)]
    blocks: list[Block] = [Heading("Bounds, means and what was seen"), Text(LEAD, "lead")]
    blocks += [
        *exceeded_blocks(series, data),
        Bullets(_sentences(times)),
        Grid(figures),
        Heading("By every engine", 4),
        _times_table(times),
    ]
    if queues:
        blocks += [Heading("The queue that loses nothing"), Text(QUEUES, "lead")]
        saturations = [each for each in data.answers.saturations if each.series == series]
        blocks += [Bullets([_saturated(each) for each in saturations])] if saturations else []
        blocks += [*_queue_sentences(queues), _queues_table(queues)]
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
    unbounded = sum(time.has_no_bound for time in data.answers.times)
    if not seen:
        if not unbounded:
            return []
        which = "the delay has" if unbounded == 1 else f"none of the {unbounded:,} delays has"
        return [f"{large_first(which)} {'no' if unbounded == 1 else 'a'} worst-case bound."]
    above = sum(each.verdict == "exceeded" for _, _, each in seen)
    nearest, time, each = max(seen, key=lambda row: row[0])
    return [
        Markup(
            "The worst-case bound holds for {}; nearest to it comes <strong>{}</strong>{}:"
            " {} µs {} of at most {} µs, <strong>{:.0%}</strong>."
        ).format(
            _held(len(seen) - above, len(seen), unbounded),
            time.flow,
            _at(time.point),
            _us(each.largest_s),
            SEEN[each.engine],
            _us(time.bound_s),
            nearest,
        )
    ]


def _held(holding: int, bounded: int, unbounded: int) -> str:
    """Say for how many delays with a bound it holds, and how many have none."""
    if holding < bounded:
        text = f"{holding:,} of {bounded:,} delays"
    else:
        text = "the delay" if bounded == 1 else f"all {bounded:,} delays"
    if not unbounded:
        return text
    have = "has" if bounded == 1 and holding else "have"
    none = "has" if unbounded == 1 else "have"
    return f"{text} that {have} one, and {unbounded:,} {none} none"


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


def _saturated(found: Saturation) -> str:
    """Say how much of this load the network carries."""
    return Markup("Full at <strong>{} times</strong> this load{}: {}.").format(
        number(found.scale), _at(found.point), found.resource
    )


def _us(time_s: float) -> str:
    return number(time_s * 1e6)


def _nearest(times: Sequence[FlowTime]) -> list[FlowTime]:
    """Return times of a page: those whose largest value comes nearest to the bound."""

    def share(time: FlowTime) -> float:
        largest = max((each.largest_s for each in time.observed), default=0.0)
        return largest / time.bound_s if time.bound_s > 0 else 0.0

    chosen = sorted(times, key=share, reverse=True)[:MOST_FLOWS]
    return [time for time in times if time in chosen]


def _sentences(times: Sequence[FlowTime]) -> list[str]:
    """Say of each flow in a sentence what theory says and what was seen."""
    return [_sentence(time) for time in _nearest(times)]


def _at(point: Mapping[str, str]) -> str:
    """Say at which point, in brackets; empty where nothing is varied."""
    text = point_title(point)
    return f" ({text})" if text else ""


def _sentence(time: FlowTime) -> str:
    most = (
        f"never more than {_us(time.bound_s)} µs"
        if math.isfinite(time.bound_s)
        else f"no bound: {time.method or 'it was not calculated'}"
    )
    means = [
        cell(each.mean, 1e6) + f" µs {SEEN[each.engine]}"
        for each in time.observed
        if math.isfinite(each.mean.value)
    ]
    if math.isfinite(time.mean_s):
        means.append(f"{_us(time.mean_s)} µs by queueing theory")
    what = "" if time.metric is Metric.ONE_WAY_DELAY else ", round trip"
    mean = f"; mean {', '.join(means)}" if means else ""
    return Markup("<strong>{}</strong>{}{}: {}{}.").format(
        time.flow, what, _at(time.point), most, mean
    )


def _figure(point: Mapping[str, str], times: Sequence[FlowTime]) -> Figure:
    found = [time for time in times if dict(time.point) == point]
    found = [time for time in found if time.metric is Metric.ONE_WAY_DELAY]
    shown = _nearest(found)
    spans = [span for time in shown for span in _spans(time)]
    left_out = (
        f" The {len(shown)} flows nearest to their bounds." if len(shown) < len(found) else ""
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
    tips: list[Tip] = [("place", "flow", ""), ("kind", "value", ""), ("y", label.axis, ".5~r")]
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


def _times_table(times: Sequence[FlowTime]) -> Table:
    """Tabulate every engine of every flow: bound, mean, percentiles and the largest value."""
    keys = list(dict.fromkeys(key for time in times for key in time.point))
    has_round_trips = any(time.metric is Metric.ROUND_TRIP for time in times)
    rows = []
    for time in times:
        begin = [
            *(plain(time.point.get(key, "")) for key in keys),
            time.flow,
            *([time.metric.label.title] if has_round_trips else []),
        ]
        rows.append([*begin, "theory", _mean(time), *[""] * len(RANKS), "", _bound(time)])
        rows += [[*begin, SEEN[each.engine], *_observed(time, each)] for each in time.observed]
    head = [
        *map(key_title, keys),
        "Flow",
        *(["Time"] if has_round_trips else []),
        "By",
        "Mean (µs)",
        *(f"{large_first(text)} (µs)" for text in RANKS.values()),
        "Largest (µs)",
        "Bound (µs)",
    ]
    headers = len(keys) + 2 + has_round_trips
    kind = f"data names{min(headers, 3)}"
    return Table(head, rows, "Times of flows, by every engine", kind, headers, OPEN_ROWS)


def _mean(time: FlowTime) -> str:
    if math.isnan(time.mean_s):
        return Markup("– {}").format(small(time.why_no_mean))
    words = [word for word in time.cautions if word != Caution.NO_SAMPLES]
    return Markup("{} {}").format(_us(time.mean_s), small(", ".join(words)))


def _bound(time: FlowTime) -> str:
    if math.isnan(time.bound_s):
        return Markup("no bound {}").format(small(time.method))
    return Markup("{} {}").format(_us(time.bound_s), small(time.method))


def _observed(time: FlowTime, each: Observed) -> list[str]:
    factor = time.metric.label.factor
    ranks = [each.percentiles[Metric(f"{time.metric}_{rank}")] for rank in RANKS]
    kind = {"holds": "holds", "exceeded": "missed"}.get(each.verdict)
    verdict = tag(kind, "below" if kind == "holds" else "above") if kind else ""
    if kind and each.allowance_s:
        known = f"with {_us(each.allowance_s)} µs for clocks and relays"
        verdict += Markup(" ") + small(known)
    return [
        cell(each.mean, factor),
        *(cell(Estimate(of.value, math.nan, math.nan), factor) for of in ranks),
        _us(each.largest_s),
        verdict,
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


def _queues_table(queues: Sequence[Queue]) -> Table:
    """Tabulate bound, largest simulated queue and room of every port and class."""
    keys = list(dict.fromkeys(key for queue in queues for key in queue.point))
    has_classes = any(queue.traffic_class is not None for queue in queues)
    rows = [
        [
            *(plain(queue.point.get(key, "")) for key in keys),
            f"{queue.node} to {queue.peer}",
            _known(queue.load),
            _known(queue.mean_frames),
            *(["" if queue.traffic_class is None else str(queue.traffic_class)] * has_classes),
            *_bound_cells(queue),
            number(queue.simulated.frames),
            number(queue.simulated.octets),
            _room(queue.room.frames),
            _room(queue.room.octets),
            _queue_verdict(queue),
        ]
        for queue in queues
    ]
    head = [
        *map(key_title, keys),
        "Port",
        "Load",
        "Mean (frames)",
        *(["Class"] * has_classes),
        "Bound (frames)",
        "Bound (octets)",
        "Simulated (frames)",
        "Simulated (octets)",
        "Room (frames)",
        "Room (octets)",
        "Loses",
    ]
    headers = len(keys) + 1
    return Table(head, rows, "Queues of ports", f"data names{min(headers, 3)}", headers, OPEN_ROWS)


def _bound_cells(queue: Queue) -> list[str]:
    if math.isnan(queue.bound.frames):
        return [Markup("no bound {}").format(small(queue.reason)), "–"]
    return [number(queue.bound.frames), number(queue.bound.octets)]


def _known(value: float) -> str:
    return number(value) if math.isfinite(value) else "–"


def _room(room: float) -> str:
    return number(room) if math.isfinite(room) else "no limit"


def _queue_verdict(queue: Queue) -> str:
    if queue.verdict == "exceeded":
        return tag("missed", "above its bound")
    if queue.is_lossless is None:
        return "–"
    if queue.is_lossless:
        return tag("holds", "nothing")
    dropped = f", {number(queue.dropped)} simulated" if queue.dropped > 0 else ""
    return f"{'loses' if math.isnan(queue.bound.frames) else 'may lose'}{dropped}"
