"""Myths: a section for each pitfall of section 2.5 of the 1988 study.

Each has the misleading curve beside the true one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ethermeter.analysis.claims import Claim
from ethermeter.chart import (
    Axis,
    Curves,
    Legend,
    Marks,
    Names,
    Points,
    Span,
    Spans,
    Tip,
    Trace,
    estimate_of,
    number_of,
)
from ethermeter.document import Block, Figure, Grid, Label, Section, Text
from ethermeter.metrics import Metric
from ethermeter.report.plots import CAUTION, INTERVAL
from ethermeter.results.interval import Estimate
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.myths import curves
from ethermeter.studies.myths.runs import KNEES, knees, lengths_of

THROUGHPUT = Label("Throughput", most=1.0)
UTILISATION = Metric.UTILISATION.label
RESPONSE = Metric.RESPONSE_TIME.label
IN_PACKETS = Label("Response time", "packet times")
DELAY = Label("Delay", "ms", 1e3)
COLLISIONS = Metric.COLLISIONS_PER_FRAME.label
WHOLE = (0.0, 1.0)
LEGEND = (
    "Dashed: theory. Open points: simulation of what it assumes. Solid: simulation of the segment. "
    "Bands and whiskers: 95%."
)
BANDS = "Bands and whiskers: 95%."
HOSTS, LOAD = "Number of hosts", "Offered load"


def build(results: Results, _claims: Sequence[Claim]) -> list[Section]:
    """Return every section whose points the run holds."""
    found = []
    for anchor, name, title, text, figures in PITFALLS:
        try:
            drawn = figures(results)
        except MissingError:
            continue
        if drawn:
            is_compared = any(isinstance(figure.chart, Curves) for figure in drawn)
            lead = LEGEND if is_compared and figures is not _independent else BANDS
            blocks: list[Block] = [Text(text), Text(lead, "lead"), Grid(drawn)]
            found.append(Section(anchor, name, title, blocks))
    return found


def _compared(
    traces: Sequence[Trace],
    label: Label,
    *,
    title: str,
    text: str,
    x_title: str,
    domain: tuple[float, float],
    is_x_logarithmic: bool = False,
    is_y_logarithmic: bool = False,
    marked: Mapping[str, tuple[float, float]] | None = None,
) -> list[Figure]:
    """Return a figure against a number; nothing without a point."""
    if not traces:
        return []
    # The order of the points is the order of the plan, which a curve against a measured x keeps.
    ordered = [
        replace(trace, order=range(len(trace.points))) if trace.look == curves.SEGMENT else trace
        for trace in traces
    ]
    chart = Curves(
        ordered,
        Axis(
            Label(x_title),
            is_log=is_x_logarithmic,
            padding=6,
            numbers="few" if is_x_logarithmic else "usual",
        ),
        Axis(
            label,
            *domain,
            is_log=is_y_logarithmic,
            numbers="decades" if is_y_logarithmic else "usual",
        ),
        _tips(label, ("x", x_title, ".5~r")),
        _legend(traces),
        Points(stroke=1.4),
        Marks([(name, *at) for name, at in (marked or {}).items()], 120, is_above=True),
    )
    return [Figure(chart, title, text)]


def _ladder(
    traces: Sequence[Trace],
    label: Label,
    x_title: str,
    places: Sequence[str],
    *,
    is_joined: bool = False,
    is_logarithmic: bool = False,
    domain: tuple[float, float] = (math.nan, math.nan),
) -> Spans:
    """Draw traces against names, one below the other; the ends of the axis are optional."""
    low, high = (None if math.isnan(end) else end for end in domain)
    return Spans(
        [
            Span(str(x), trace.name, [("point", trace.look.says, y)])
            for trace in traces
            for x, y in trace.points
        ],
        Axis(
            label,
            low,
            high,
            is_log=is_logarithmic,
            is_nice=not is_logarithmic,
            numbers="decades" if is_logarithmic else "usual",
        ),
        Names(x_title, places, limit=150, has_lines=True),
        _tips(label, ("place", "at", "")),
        _legend(traces),
        is_joined=is_joined,
    )


def _tips(label: Label, place: Tip) -> list[Tip]:
    first: list[Tip] = [("value", label.title, ""), INTERVAL, place]
    return [*first, ("curve", "curve", ""), ("by", "by", ""), CAUTION]


def _legend(traces: Sequence[Trace]) -> Legend | None:
    names = {trace.name for trace in traces}
    # On a narrow page long names fit one below the other only.
    longest = max(map(len, names))
    columns = 1 if longest > 20 else 2 if longest > 12 else 4
    return Legend("", columns, "stroke", 260) if len(names) > 1 else None


def _thirty_seven(results: Results) -> list[Figure]:
    return _compared(
        curves.formula_by_slot(results),
        UTILISATION,
        title="As the myth has it: one formula, three slots",
        text=(
            "64 B frames. With a slot as long as the packet the curve goes to 1/e, 37%; only the"
            " slot differs between the three."
        ),
        x_title="Stations that wait",
        domain=WHOLE,
    ) + _compared(
        curves.saturated(results),
        UTILISATION,
        title="As the segment has it: saturated hosts on 12 µs of cable",
        text=(
            "The same axis; frames of three lengths. One host alone is held up by its own service"
            " time."
        ),
        x_title=HOSTS,
        domain=WHOLE,
    )


def _protocol(results: Results) -> list[Figure]:
    return _compared(
        curves.against_attempts(results),
        THROUGHPUT,
        title="As the theories draw it: against all attempts",
        text=(
            "New and repeated attempts in a packet time, G; slots of 6 µs, packets of 512 B. Worlds"
            " are simulated up to their capacity."
        ),
        x_title="Attempts in a packet time",
        domain=WHOLE,
        is_x_logarithmic=True,
    ) + _compared(
        curves.against_arrivals(results),
        THROUGHPUT,
        title="As a user meets it: against what arrives",
        text=(
            "The same theories, whose curves end at their capacity, and the segment, whose backoff"
            " keeps up its throughput beyond."
        ),
        x_title=LOAD,
        domain=WHOLE,
    )


def _assumptions(results: Results) -> list[Figure]:
    places, traces = curves.steps(results)
    if not traces:
        return []
    title = "From the formula to the segment, one assumption at a time"
    chart = _ladder(traces, UTILISATION, "After", places, is_joined=True)
    text = (
        "24 hosts. From top to bottom; each line gives up one more assumption, and the last is the "
        "segment with its hosts."
    )
    return [Figure(chart, title, text), _costs(places, traces)]


def _costs(places: Sequence[str], traces: Sequence[Trace]) -> Figure:
    """Draw what each step changes, without what goes before it."""
    label = Label("Change of utilisation", from_zero=False)
    changes = []
    for trace in traces:
        steps = [
            (str(x), curves.change(estimate_of(before), estimate_of(after)))
            for (_, before), (x, after) in zip(trace.points[:-1], trace.points[1:], strict=True)
        ]
        changes.append(Trace(trace.name, steps, trace.look))
    title = "What each assumption is worth"
    chart = _ladder(changes, label, "Step", places[1:])
    text = (
        "The change from the line above in the other figure; above zero, the assumption made the "
        "segment look worse than it is."
    )
    return Figure(chart, title, text)


def _dependent(results: Results) -> list[Figure]:
    drawn = []
    for frames in ("128 B", "1536 B"):
        traces = curves.ring_delays(results, frames)
        if traces:
            drawn += _compared(
                traces,
                RESPONSE,
                title=f"Asked for delay: frames of {frames}",
                text=(
                    "Mean response time of 24 stations with Poisson load; the axis of time is"
                    " logarithmic."
                ),
                x_title=LOAD,
                domain=_decades(traces, RESPONSE),
                is_y_logarithmic=True,
            )
    traces = curves.ring_capacities(results)
    if traces:
        title = "Asked for throughput: 24 saturated stations"
        places = list(dict.fromkeys(str(x) for trace in traces for x, _ in trace.points))
        chart = _ladder(traces, THROUGHPUT, "Frames", places, domain=WHOLE)
        text = (
            "The ring by its formula, one packet a turn; the segment simulated with the hosts of "
            "1988."
        )
        drawn.append(Figure(chart, title, text))
    return drawn


def _independent(results: Results) -> list[Figure]:
    by_load, by_throughput, by_queue = curves.same_trials(results)
    if not by_load:
        return []
    at = {frames: knees(results, frames) for frames in lengths_of(results, KNEES)}
    top = _ends(by_load, IN_PACKETS)
    drawn = []
    queued = "Throughput against waiting stations"
    for traces, label, title, x_title, name, domain in (
        (by_load, IN_PACKETS, "Delay against offered load", "Offered load G", "load", top),
        (by_throughput, IN_PACKETS, "Delay against throughput", "Throughput", "throughput", top),
        (by_queue, THROUGHPUT, queued, "Stations with a frame Q", "queue", WHOLE),
    ):
        knee_of = {frames: getattr(found, name) for frames, found in at.items()}
        marked = _marked(traces, knee_of)
        knees_text = ", ".join(
            f"{_with_interval(knee_of[frames])} for {frames}" for frames in marked
        )
        text = "Diamonds mark where the curve bends most on these axes" + (
            f": {knees_text}." if knees_text else "; none is clear."
        )
        drawn += _compared(
            traces,
            label,
            title=title,
            text=text,
            x_title=x_title,
            domain=domain,
            marked=marked,
        )
    return drawn


def _with_interval(found: Estimate) -> str:
    half = found.half_width
    return f"{found.value:.3g}" + (f" ± {half:.2g}" if half == half and half > 0 else "")


def _marked(
    traces: Sequence[Trace], knees_at: Mapping[str, Estimate]
) -> dict[str, tuple[float, float]]:
    """Put each mean knee on the mean curve."""
    found = {}
    for trace in traces:
        at = knees_at[trace.name].value
        if at == at:
            pairs = np.array(sorted((number_of(x), number_of(y)) for x, y in trace.points))
            found[trace.name] = (
                float(f"{at:.6g}"),
                float(f"{np.interp(at, pairs[:, 0], pairs[:, 1]):.6g}"),
            )
    return found


def _regime(results: Results) -> list[Figure]:
    drawn = []
    for label, metrics, title, text, is_logarithmic in (
        (
            DELAY,
            (
                ("response time", Metric.RESPONSE_TIME),
                ("of it the transmission delay", Metric.TRANSMISSION_DELAY),
            ),
            "Delay, from idle to saturated",
            (
                "24 stations, seven frames of 64 B to one of 1536 B; the axis is logarithmic. A"
                " burst waits in its own station."
            ),
            True,
        ),
        (
            COLLISIONS,
            (("collisions", Metric.COLLISIONS_PER_FRAME),),
            "Collisions per frame",
            "The same trials: what high load is about hardly occurs on a typical network.",
            False,
        ),
    ):
        traces = curves.by_regime(results, metrics)
        if not traces:
            continue
        places = list(dict.fromkeys(str(x) for trace in traces for x, _ in trace.points))
        domain = _decades(traces, label) if is_logarithmic else _ends(traces, label, margin=0.1)
        chart = _ladder(traces, label, "Load", places, is_logarithmic=is_logarithmic, domain=domain)
        drawn.append(Figure(chart, title, text))
    return drawn


def _ends(traces: Sequence[Trace], label: Label, *, margin: float = 0.05) -> tuple[float, float]:
    """Return zero and a little more than the largest value, in the label's unit."""
    most = max(number_of(y) * label.factor for trace in traces for _, y in trace.points)
    return 0.0, float(f"{most * (1 + margin):.3g}")


def _decades(traces: Sequence[Trace], label: Label) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that hold every value, in the label's unit.

    Each is 1, 2 or 5 times a power of ten.
    """
    values = [
        number_of(y) * label.factor for trace in traces for _, y in trace.points if number_of(y) > 0
    ]
    return _nice(min(values), is_up=False), _nice(max(values), is_up=True)


def _nice(value: float, *, is_up: bool) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    steps = [decade * factor for factor in (1, 2, 5, 10)]
    above = [step for step in steps if step >= value]
    found = above[0] if is_up else max(step for step in steps if step <= value)
    return float(f"{found:.6g}")


Figures = Callable[[Results], list[Figure]]
PITFALLS: tuple[tuple[str, str, str, str, Figures], ...] = (
    (
        "myth-37",
        "37%",
        "“Ethernets saturate at 37%”",
        (
            "The number is the limit of a formula for endlessly many stations whose packets are no"
            " longer than the contention slot. On a real segment a packet of 64 B is several round"
            " trips long, and collisions are over soon after one of them. What the formula gives"
            " then, and what the segment carries, is about twice as much."
        ),
        _thirty_seven,
    ),
    (
        "myth-protocol",
        "Protocol",
        "Not the same protocol",
        (
            "CSMA/CD has relatives that sense the carrier and differ in what they do next. Without"
            " collision detection a collision costs a whole packet, and throughput collapses beyond"
            " one attempt in a packet time. With it, curves stay high over a decade and more. None"
            " of these theories has backoff: attempts come at a given rate whatever happens, so"
            " they say nothing about overload, where an Ethernet slows its stations down."
        ),
        _protocol,
    ),
    (
        "myth-assumptions",
        "Assumptions",
        "Unrealistic assumptions",
        (
            "All stations in a balanced star as wide as the standard allows, starting in common"
            " slots of 51.2 µs, each knowing how many others wait: that is how the formula begins."
            " Here the assumptions are given up in turn until what remains is 24 hosts on a short"
            " cable. With short frames the largest step is backoff itself, and it is no gift: a"
            " station that has just sent starts anew while the others still wait, so that the"
            " median delay falls to about a packet time and its standard deviation grows to many"
            " times the mean."
        ),
        _assumptions,
    ),
    (
        "myth-dependent",
        "What is measured",
        "The wrong dependent variable",
        (
            "Near its capacity an Ethernet has long delays, and a token ring of the same rate and"
            " length has short ones; under light load it is the other way round, for nobody waits"
            " for a token. Who moves files asks what is carried in the end, and there the two are"
            " close, the closer the longer the frames."
        ),
        _dependent,
    ),
    (
        "myth-independent",
        "Against what",
        "The wrong independent variable",
        (
            "Offered load, throughput and the number of waiting stations are all called load. The"
            " figures draw the very same trials against each of them. Throughput ends at the"
            " capacity, so delay rises like a wall there; offered load goes on, and the same delay"
            " looks like a slope. A knee read off one figure must not be compared with a knee read"
            " off another."
        ),
        _independent,
    ),
    (
        "myth-regime",
        "Regime",
        "Operating in the wrong regime",
        (
            "Theories look at high load because something happens there. A network that carries 5%"
            " is another world: frames find the medium free, smooth load or bursts, and collisions"
            " are rare."
        ),
        _regime,
    ),
)
"""Anchor, name in the map, title, text and figures of every section."""
