"""Myths: a section for each pitfall of section 2.5 of the 1988 study, the misleading curve beside
the true one.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethermeter.analysis.interval import Estimate
from ethermeter.document import Label
from ethermeter.metrics import Metric
from ethermeter.report import contrast
from ethermeter.report.html import section
from ethermeter.report.sheet import Sheet
from ethermeter.studies.judging import MissingError
from ethermeter.studies.myths import curves
from ethermeter.studies.myths.curves import Trace
from ethermeter.studies.myths.runs import KNEES, Knees, Runs, knees, lengths_of

THROUGHPUT = Label("Throughput", most=1.0)
UTILISATION = Metric.UTILISATION.label
RESPONSE = Metric.RESPONSE_TIME.label
IN_PACKETS = Label("Response time", "packet times")
DELAY = Label("Delay", "ms", 1e3)
COLLISIONS = Metric.COLLISIONS_PER_FRAME.label
WHOLE = (0.0, 1.0)
HOSTS, LOAD = "Number of hosts", "Offered load"
Section = tuple[str, str, str]
"""Anchor, name in the map, and HTML."""


def myths_sections(runs: Runs, sheet: Sheet) -> list[Section]:
    """Return every section whose points the run holds."""
    found = []
    for anchor, name, title, text, figures in PITFALLS:
        try:
            drawn = figures(runs, sheet)
        except MissingError:
            continue
        if drawn:
            lead = (
                contrast.LEGEND
                if figures in (_thirty_seven, _protocol, _dependent)
                else "Bands and whiskers: 95%."
            )
            body = (
                f'<p>{text}</p><p class="lead">{lead}</p><div class="grid">{"".join(drawn)}</div>'
            )
            found.append((anchor, name, section(anchor, title, body)))
    return found


def _add(
    sheet: Sheet,
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
) -> list[str]:
    """Add a figure against a number; nothing without a point."""
    if not traces:
        return []
    spec = contrast.contrast(
        traces,
        label,
        x_title=x_title,
        domain=domain,
        is_x_logarithmic=is_x_logarithmic,
        is_y_logarithmic=is_y_logarithmic,
        marked=marked,
    )
    return [
        sheet.add(
            spec,
            title=title,
            text=text,
            numbers=contrast.numbers(traces, label, x_title=x_title, caption=title),
        )
    ]


def _thirty_seven(runs: Runs, sheet: Sheet) -> list[str]:
    return _add(
        sheet,
        curves.formula_by_slot(runs),
        UTILISATION,
        title="As the myth has it: one formula, three slots",
        text="64 B frames. With a slot as long as the packet the curve goes to 1/e, 37%; only the slot differs between the three.",
        x_title="Stations that wait",
        domain=WHOLE,
    ) + _add(
        sheet,
        curves.saturated(runs),
        UTILISATION,
        title="As the segment has it: saturated hosts on 12 µs of cable",
        text="The same axis; frames of three lengths. One host alone is held up by its own service time.",
        x_title=HOSTS,
        domain=WHOLE,
    )


def _protocol(runs: Runs, sheet: Sheet) -> list[str]:
    return _add(
        sheet,
        curves.against_attempts(runs),
        THROUGHPUT,
        title="As the theories draw it: against all attempts",
        text="New and repeated attempts in a packet time, G; slots of 6 µs, packets of 512 B. Worlds are simulated up to their capacity.",
        x_title="Attempts in a packet time",
        domain=WHOLE,
        is_x_logarithmic=True,
    ) + _add(
        sheet,
        curves.against_arrivals(runs),
        THROUGHPUT,
        title="As a user meets it: against what arrives",
        text="The same theories, whose curves end at their capacity, and the segment, whose backoff keeps up its throughput beyond.",
        x_title=LOAD,
        domain=WHOLE,
    )


def _assumptions(runs: Runs, sheet: Sheet) -> list[str]:
    places, traces = curves.steps(runs)
    if not traces:
        return []
    title = "From the formula to the segment, one assumption at a time"
    spec = contrast.ladder(traces, UTILISATION, places=places, is_joined=True)
    return [
        sheet.add(
            spec,
            title=title,
            text="24 hosts. From top to bottom; each line gives up one more assumption, and the last is the segment with its hosts.",
            numbers=contrast.numbers(traces, UTILISATION, x_title="After", caption=title),
        ),
        _costs(places, traces, sheet),
    ]


def _costs(places: Sequence[str], traces: Sequence[Trace], sheet: Sheet) -> str:
    """Draw what each step changes, without what goes before it."""
    label = Label("Change of utilisation", from_zero=False)
    changes = []
    for trace in traces:
        steps = [
            (str(place), curves.change(before, after))
            for (_, before), (place, after) in zip(trace.points[:-1], trace.points[1:], strict=True)
        ]
        changes.append(Trace(trace.name, trace.kind, tuple(steps)))
    title = "What each assumption is worth"
    spec = contrast.ladder(changes, label, places=places[1:], is_joined=False)
    return sheet.add(
        spec,
        title=title,
        text="The change from the line above in the other figure; above zero, the assumption made the segment look worse than it is.",
        numbers=contrast.numbers(changes, label, x_title="Step", caption=title),
    )


def _dependent(runs: Runs, sheet: Sheet) -> list[str]:
    drawn = []
    for frames in ("128 B", "1536 B"):
        traces = curves.ring_delays(runs, frames)
        if traces:
            drawn += _add(
                sheet,
                traces,
                RESPONSE,
                title=f"Asked for delay: frames of {frames}",
                text="Mean response time of 24 stations with Poisson load; the axis of time is logarithmic.",
                x_title=LOAD,
                domain=contrast.decades(traces, RESPONSE),
                is_y_logarithmic=True,
            )
    traces = curves.ring_capacities(runs)
    if traces:
        title = "Asked for throughput: 24 saturated stations"
        places = list(dict.fromkeys(str(x) for trace in traces for x, _ in trace.points))
        spec = contrast.ladder(traces, THROUGHPUT, places=places, is_joined=False, domain=WHOLE)
        text = "The ring by its formula, one packet a turn; the segment simulated with the hosts of 1988."
        drawn.append(
            sheet.add(
                spec,
                title=title,
                text=text,
                numbers=contrast.numbers(traces, THROUGHPUT, x_title="Frames", caption=title),
            )
        )
    return drawn


def _independent(runs: Runs, sheet: Sheet) -> list[str]:
    by_load, by_throughput, by_queue = curves.same_trials(runs)
    if not by_load:
        return []
    at = {frames: knees(runs, frames) for frames in lengths_of(runs, KNEES)}
    top = contrast.ends(by_load, IN_PACKETS)
    drawn = []
    for traces, label, title, x_title, pick, domain in (
        (by_load, IN_PACKETS, "Delay against offered load", "Offered load G", _load, top),
        (by_throughput, IN_PACKETS, "Delay against throughput", "Throughput", _throughput, top),
        (
            by_queue,
            THROUGHPUT,
            "Throughput against waiting stations",
            "Stations with a frame Q",
            _queue,
            WHOLE,
        ),
    ):
        marked = _marked(traces, {frames: pick(found) for frames, found in at.items()})
        said = ", ".join(f"{_with_interval(pick(at[frames]))} for {frames}" for frames in marked)
        text = "Diamonds mark where the curve bends most on these axes" + (
            f": {said}." if said else "; none is clear."
        )
        drawn += _add(
            sheet,
            traces,
            label,
            title=title,
            text=text,
            x_title=x_title,
            domain=domain,
            marked=marked,
        )
    return drawn


def _load(found: Knees) -> Estimate:
    return found.load


def _throughput(found: Knees) -> Estimate:
    return found.throughput


def _queue(found: Knees) -> Estimate:
    return found.queue


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
            pairs = np.array(sorted((float(x), estimate.value) for x, estimate in trace.points))
            found[trace.name] = (
                float(f"{at:.6g}"),
                float(f"{np.interp(at, pairs[:, 0], pairs[:, 1]):.6g}"),
            )
    return found


def _regime(runs: Runs, sheet: Sheet) -> list[str]:
    drawn = []
    for label, metrics, title, text, is_logarithmic in (
        (
            DELAY,
            (
                ("response time", Metric.RESPONSE_TIME),
                ("of it the transmission delay", Metric.TRANSMISSION_DELAY),
            ),
            "Delay, from idle to saturated",
            "24 stations, seven frames of 64 B to one of 1536 B; the axis is logarithmic. A burst waits in its own station.",
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
        traces = curves.by_regime(runs, metrics)
        if not traces:
            continue
        places = list(dict.fromkeys(str(x) for trace in traces for x, _ in trace.points))
        domain = (
            contrast.decades(traces, label)
            if is_logarithmic
            else contrast.ends(traces, label, margin=0.1)
        )
        spec = contrast.ladder(
            traces,
            label,
            places=places,
            is_joined=False,
            is_logarithmic=is_logarithmic,
            domain=domain,
        )
        drawn.append(
            sheet.add(
                spec,
                title=title,
                text=text,
                numbers=contrast.numbers(traces, label, x_title="Load", caption=title),
            )
        )
    return drawn


Figures = Callable[[Runs, Sheet], list[str]]
PITFALLS: tuple[tuple[str, str, str, str, Figures], ...] = (
    (
        "myth-37",
        "37%",
        "“Ethernets saturate at 37%”",
        "The number is the limit of a formula for endlessly many stations whose packets are no longer than the contention slot. On a "
        "real segment a packet of 64 B is several round trips long, and collisions are over soon after one of them. What the formula "
        "gives then, and what the segment carries, is about twice as much.",
        _thirty_seven,
    ),
    (
        "myth-protocol",
        "Protocol",
        "Not the same protocol",
        "CSMA/CD has relatives that sense the carrier and differ in what they do next. Without collision detection a collision costs a "
        "whole packet, and throughput collapses beyond one attempt in a packet time. With it, curves stay high over a decade and more. "
        "None of these theories has backoff: attempts come at a given rate whatever happens, so they say nothing about overload, where "
        "an Ethernet slows its stations down.",
        _protocol,
    ),
    (
        "myth-assumptions",
        "Assumptions",
        "Unrealistic assumptions",
        "All stations in a balanced star as wide as the standard allows, starting in common slots of 51.2 µs, each knowing how many "
        "others wait: that is how the formula begins. Here the assumptions are given up in turn until what remains is 24 hosts on a "
        "short cable. With short frames the largest step is backoff itself, and it is no gift: a station that has just sent starts "
        "anew while the others still wait, so that the median delay falls to about a packet time and its standard deviation grows to "
        "many times the mean.",
        _assumptions,
    ),
    (
        "myth-dependent",
        "What is measured",
        "The wrong dependent variable",
        "Near its capacity an Ethernet has long delays, and a token ring of the same rate and length has short ones; under light load "
        "it is the other way round, for nobody waits for a token. Who moves files asks what is carried in the end, and there the two "
        "are close, the closer the longer the frames.",
        _dependent,
    ),
    (
        "myth-independent",
        "Against what",
        "The wrong independent variable",
        "Offered load, throughput and the number of waiting stations are all called load. The figures draw the very same trials "
        "against each of them. Throughput ends at the capacity, so delay rises like a wall there; offered load goes on, and the same "
        "delay looks like a slope. A knee read off one figure must not be compared with a knee read off another.",
        _independent,
    ),
    (
        "myth-regime",
        "Regime",
        "Operating in the wrong regime",
        "Theories look at high load because something happens there. A network that carries 5% is another world: frames find the "
        "medium free, smooth load or bursts, and collisions are rare.",
        _regime,
    ),
)
"""Anchor, name in the map, title, text and figures of every section."""
