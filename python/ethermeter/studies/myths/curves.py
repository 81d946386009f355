"""Curves of the figures about the myths, each a trace.

Theories, simulations of what they assume, and the segment.

Formulas are drawn on a grid of their own; a run holds only the points that it has simulated.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from ethermeter import theory
from ethermeter.analysis.frame_mixes import COUNT, FRAMES
from ethermeter.chart import Look, Trace
from ethermeter.metrics import Metric
from ethermeter.results.interval import Estimate, difference, exact
from ethermeter.results.query import MissingError, Results
from ethermeter.studies.myths.runs import (
    ARRIVALS,
    ASSUMPTIONS,
    CSMA,
    CSMA_CD,
    FORMULA,
    KNEES,
    LOAD,
    ONE_SLOT,
    REGIME,
    RING,
    RING_MODEL,
    RING_WORLD,
    SATURATED,
    members,
    packet_s,
    regime,
    ring_capacity,
)
from ethermeter.theory.ablation import ALL_STEPS, after
from ethermeter.theory.entry import Throughput
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES
from ethermeter.trial import SIMULATION

Kind = Literal["theory", "world", "segment"]
THEORY = Look("dashed", 1.5, size=0, says="theory")
WORLD = Look("", 1.3, "whiskers", 34, "simulation of what it assumes")
SEGMENT = Look("solid", 1.8, "band", 15, "simulation of the segment")
LOOKS: Mapping[Kind, Look] = {"theory": THEORY, "world": WORLD, "segment": SEGMENT}
NON, ONE, SOME = (
    f"tobagi-hunt-1980-{name}" for name in ("non-persistent", "one-persistent", "p-persistent")
)
NO_DETECTION = "1-persistent CSMA, no detection"
PROTOCOLS = {
    NON: "non-persistent CSMA/CD",
    SOME: "p-persistent CSMA/CD, p = 0.1",
    ONE: "1-persistent CSMA/CD",
}
DRAWN = (
    (CSMA, ONE, NO_DETECTION),
    *((CSMA_CD, model, name) for model, name in PROTOCOLS.items()),
)
"""Series, model and name of each protocol."""
KINDS: Mapping[Kind, str] = {"theory": "theory", "world": "idealised"}
"""Engine of each kind of trace that is no segment."""
ETHERNET, TOKEN_RING = "Ethernet", "token ring"
SLOTS = {
    "round trip": "slot of 12 µs, this cable",
    "slot time": "slot of 51.2 µs, the standard",
    "70.4 us": "slot of 70.4 µs, one packet",
}
LOADS = np.geomspace(0.05, 1000.0, 60)
"""Attempts a packet time at which formulas are drawn."""
Value = float | str


def _trace(
    name: str, kind: Kind, members: Iterable[Results], x: Callable[[Results], Value], metric: Metric
) -> Trace:
    found = [(x(point), point.estimate(metric)) for point in members if metric in point.metrics]
    kept = [(x, estimate) for x, estimate in found if math.isfinite(estimate.value)]
    if kept and isinstance(kept[0][0], float):
        kept.sort(key=lambda pair: pair[0])
    return Trace(name, kept, LOOKS[kind])


def _number(key: str) -> Callable[[Results], Value]:
    return lambda point: point.point[key].number


def _estimate(metric: Metric) -> Callable[[Results], Value]:
    return lambda point: point.estimate(metric).value


def some(traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces that have a point."""
    return [trace for trace in traces if trace.points]


def formula_by_slot(results: Results) -> list[Trace]:
    """Utilisation by the formula of 1976 against the number of stations, and its world.

    For three contention slots.
    """
    traces = []
    for slot, name in SLOTS.items():
        for kind, engine in KINDS.items():
            engine = f"{engine}/{FORMULA}"
            points = members(results, ONE_SLOT, engine, contention_slot=slot)
            traces.append(_trace(name, kind, points, _number(COUNT), Metric.UTILISATION))
    return some(traces)


def saturated(
    results: Results, lengths: Sequence[str] = ("64 B", "512 B", "1536 B")
) -> list[Trace]:
    """Utilisation of the saturated segment against the number of hosts."""
    return some(
        _trace(
            frames,
            "segment",
            members(results, SATURATED, frames=frames),
            _number(COUNT),
            Metric.UTILISATION,
        )
        for frames in lengths
    )


def against_attempts(results: Results) -> list[Trace]:
    """Throughput against all attempts, by protocol: formula and world."""
    traces = []
    for series, model, name in DRAWN:
        world = f"idealised/{model}"
        points = list(members(results, series, world))
        if not points:
            continue
        loads = {tuple(point.point.items()): _attempts(model, point) for point in points}
        distinct = {
            load: point for point in reversed(points) if (load := loads[tuple(point.point.items())])
        }
        formula = _formula(model, points[0])
        traces.append(Trace(name, [(at, exact(value)) for at, value in formula], THEORY))
        found = [
            (load, point.estimate(Metric.UTILISATION))
            for load, point in sorted(distinct.items(), key=lambda pair: pair[0])
        ]
        traces.append(Trace(name, found, WORLD))
    return some(traces)


def _attempts(model: str, point: Results) -> float:
    trial = point.trials()[0]
    load = ENTRIES[model].attempt_load
    if load is None:
        raise MissingError(f"{model} has no rate of attempts")
    return load(model_inputs(trial.scenario, trial.assumptions()))


def _formula(model: str, point: Results) -> list[tuple[float, float]]:
    trial = point.trials()[0]
    inputs = model_inputs(trial.scenario, trial.assumptions())
    function: Callable[..., Throughput] = getattr(theory, model.replace("-", "_"))
    found = function(LOADS, **ENTRIES[model].parameters(inputs))
    return list(zip(LOADS.tolist(), np.asarray(found.throughput).tolist(), strict=True))


def against_arrivals(results: Results) -> list[Trace]:
    """Throughput against arrivals, by protocol: the formula, its world, and the segment.

    The formula at its most, the segment with its backoff.
    """
    traces = []
    for series, model, name in DRAWN:
        for kind, engine in KINDS.items():
            points = members(results, series, f"{engine}/{model}")
            traces.append(_trace(name, kind, points, _number(LOAD), Metric.UTILISATION))
    traces.append(
        _trace(ETHERNET, "segment", members(results, CSMA_CD), _number(LOAD), Metric.UTILISATION)
    )
    return some(traces)


def steps(results: Results) -> tuple[list[str], list[Trace]]:
    """Utilisation from the formula to the segment, by frame length.

    Names of the steps in their order, and a trace for every frame length.
    """
    names = {"theory": "formula of 1976", "world": "simulated as assumed"}
    labels = {
        "known-queue": "own queues and backoff",
        "slotted": "no slots",
        "protocol": "Ethernet’s access",
        "no-overhead": "preamble, jam, gap apart",
        "contention-slot": "backoff in slot times",
        "equally-far": "12 µs of cable",
        "always-ready": "hosts take time",
    }
    traces, order = [], [names["theory"], names["world"]]
    for frames in dict.fromkeys(point.point[FRAMES] for point in members(results, ASSUMPTIONS)):
        found = []
        for name, engine in (
            (names["theory"], f"theory/{FORMULA}"),
            (names["world"], f"idealised/{FORMULA}"),
        ):
            found += [
                (name, point.estimate(Metric.UTILISATION))
                for point in members(results, ASSUMPTIONS, engine, frames=frames)
            ]
        last = ""
        for step in ALL_STEPS:
            for point in members(
                results, ASSUMPTIONS, f"ablation/{FORMULA}/{step.name}", frames=frames
            ):
                found.append((labels[step.name], point.estimate(Metric.UTILISATION)))
                last = step.name
        end = labels[after(last)] if last else "the segment"
        found += [
            (end, point.estimate(Metric.UTILISATION))
            for point in members(results, ASSUMPTIONS, frames=frames)
        ]
        order += [name for name, _ in found if name not in order]
        traces.append(Trace(frames, found, SEGMENT))
    return order, some(traces)


def ring_delays(results: Results, frames: str) -> list[Trace]:
    """Response time against offered load, of a token ring and of the segment."""
    ring, bus = f"theory/{RING_MODEL}", "theory/bux-1981-csma-cd"
    drawn: tuple[tuple[str, Kind, str], ...] = (
        (TOKEN_RING, "theory", ring),
        (TOKEN_RING, "world", RING_WORLD),
        (ETHERNET, "theory", bus),
        (ETHERNET, "segment", SIMULATION),
    )
    return some(
        _trace(
            name,
            kind,
            members(results, RING, engine, frames=frames),
            _number(LOAD),
            Metric.RESPONSE_TIME,
        )
        for name, kind, engine in drawn
    )


def ring_capacities(results: Results) -> list[Trace]:
    """Saturated throughput of the ring and of the segment with 24 hosts, by frame length.

    That of the ring is by its formula.
    """
    lengths = list(dict.fromkeys(point.point[FRAMES] for point in members(results, RING)))
    ring = tuple((frames, exact(ring_capacity(results, frames))) for frames in lengths)
    segment = tuple(
        (frames, point.estimate(Metric.UTILISATION))
        for frames in lengths
        for point in members(results, SATURATED, frames=frames, count="24")
    )
    return some([Trace(TOKEN_RING, ring, THEORY), Trace(ETHERNET, segment, SEGMENT)])


def _in_packet_times(point: Results) -> Estimate:
    found, time_s = point.estimate(Metric.RESPONSE_TIME), packet_s(point)
    return Estimate(found.value / time_s, found.error / time_s, found.degrees, found.cautions)


def same_trials(results: Results) -> tuple[list[Trace], list[Trace], list[Trace]]:
    """Draw the same trials three times.

    Returns response time in packet times against offered load, the same against throughput, and
    throughput against Q; each trace has one point for each point of the series.
    """
    by_load, by_throughput, by_queue = [], [], []
    for frames in dict.fromkeys(point.point[FRAMES] for point in members(results, KNEES)):
        curve = list(members(results, KNEES, frames=frames))
        delays = [_in_packet_times(point) for point in curve]
        carried = [point.estimate(Metric.UTILISATION) for point in curve]
        by_load.append(
            Trace(
                frames,
                [(p.point[LOAD].number, y) for p, y in zip(curve, delays, strict=True)],
                SEGMENT,
            )
        )
        by_throughput.append(
            Trace(frames, [(x.value, y) for x, y in zip(carried, delays, strict=True)], SEGMENT)
        )
        by_queue.append(
            _trace(frames, "segment", curve, _estimate(Metric.OFFERED_LOAD_Q), Metric.UTILISATION)
        )
    return some(by_load), some(by_throughput), some(by_queue)


def by_regime(results: Results, metrics: Sequence[tuple[str, Metric]]) -> list[Trace]:
    """Metrics by arrival process."""
    return some(
        _trace(
            name,
            "segment",
            members(results, REGIME),
            lambda point: regime(point.point[ARRIVALS]),
            metric,
        )
        for name, metric in metrics
    )


def change(before: Estimate, after: Estimate) -> Estimate:
    """Return by how much a step changes a value.

    Trials of different steps are taken as independent, and a formula is without error.
    """
    return difference(after, before)
