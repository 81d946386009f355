"""Curves of the figures about the myths, each a trace.

Theories, simulations of what they assume, and the segment.

Formulas are drawn on a grid of their own; a run holds only the points that it has simulated.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from ethermeter import theory
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.frame_mixes import COUNT, FRAMES
from ethermeter.analysis.interval import Estimate, difference, exact
from ethermeter.document import Trace
from ethermeter.metrics import Metric
from ethermeter.studies.judging import MissingError
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
    SIMULATION,
    Runs,
    regime,
    ring_capacity,
)
from ethermeter.theory.ablation import ALL_STEPS, after
from ethermeter.theory.entry import Throughput
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES

Kind = Literal["theory", "world", "segment"]
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
    name: str, kind: Kind, members: Iterable[Point], x: Callable[[Point], Value], metric: Metric
) -> Trace:
    found = [(x(point), point.estimates[metric]) for point in members if metric in point.estimates]
    kept = [(x, estimate) for x, estimate in found if math.isfinite(estimate.value)]
    if kept and isinstance(kept[0][0], float):
        kept.sort(key=lambda pair: pair[0])
    return Trace(name, kind, tuple(kept))


def _number(key: str) -> Callable[[Point], Value]:
    return lambda point: float(point.point[key])


def _estimate(metric: Metric) -> Callable[[Point], Value]:
    return lambda point: point.estimates[metric].value


def some(traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces that have a point."""
    return [trace for trace in traces if trace.points]


def formula_by_slot(runs: Runs) -> list[Trace]:
    """Utilisation by the formula of 1976 against the number of stations, and its world.

    For three contention slots.
    """
    traces = []
    for slot, name in SLOTS.items():
        for kind, engine in KINDS.items():
            engine = f"{engine}/{FORMULA}"
            members = runs.members(ONE_SLOT, engine, contention_slot=slot)
            traces.append(_trace(name, kind, members, _number(COUNT), Metric.UTILISATION))
    return some(traces)


def saturated(runs: Runs, lengths: Sequence[str] = ("64 B", "512 B", "1536 B")) -> list[Trace]:
    """Utilisation of the saturated segment against the number of hosts."""
    return some(
        _trace(
            frames,
            "segment",
            runs.members(SATURATED, frames=frames),
            _number(COUNT),
            Metric.UTILISATION,
        )
        for frames in lengths
    )


def against_attempts(runs: Runs) -> list[Trace]:
    """Throughput against all attempts, by protocol: formula and world."""
    traces = []
    for series, model, name in DRAWN:
        world = f"idealised/{model}"
        members = list(runs.members(series, world))
        if not members:
            continue
        loads = {
            tuple(point.point.items()): _attempts(runs, series, model, point) for point in members
        }
        distinct = {
            load: point
            for point in reversed(members)
            if (load := loads[tuple(point.point.items())])
        }
        formula = _formula(runs, series, model, members[0])
        traces.append(Trace(name, "theory", tuple((at, exact(value)) for at, value in formula)))
        found = [
            (load, point.estimates[Metric.UTILISATION])
            for load, point in sorted(distinct.items(), key=lambda pair: pair[0])
        ]
        traces.append(Trace(name, "world", tuple(found)))
    return some(traces)


def _attempts(runs: Runs, series: str, model: str, point: Point) -> float:
    trial = runs.trial(series, point.engine, point.point)
    load = ENTRIES[model].attempt_load
    if load is None:
        raise MissingError(f"{model} has no rate of attempts")
    return load(model_inputs(trial.scenario, trial.assumptions()))


def _formula(runs: Runs, series: str, model: str, point: Point) -> list[tuple[float, float]]:
    trial = runs.trial(series, point.engine, point.point)
    inputs = model_inputs(trial.scenario, trial.assumptions())
    function: Callable[..., Throughput] = getattr(theory, model.replace("-", "_"))
    found = function(LOADS, **ENTRIES[model].parameters(inputs))
    return list(zip(LOADS.tolist(), np.asarray(found.throughput).tolist(), strict=True))


def against_arrivals(runs: Runs) -> list[Trace]:
    """Throughput against arrivals, by protocol: the formula, its world, and the segment.

    The formula at its most, the segment with its backoff.
    """
    traces = []
    for series, model, name in DRAWN:
        for kind, engine in KINDS.items():
            members = runs.members(series, f"{engine}/{model}")
            traces.append(_trace(name, kind, members, _number(LOAD), Metric.UTILISATION))
    traces.append(
        _trace(ETHERNET, "segment", runs.members(CSMA_CD), _number(LOAD), Metric.UTILISATION)
    )
    return some(traces)


def steps(runs: Runs) -> tuple[list[str], list[Trace]]:
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
    for frames in dict.fromkeys(point.point[FRAMES] for point in runs.members(ASSUMPTIONS)):
        found = []
        for name, engine in (
            (names["theory"], f"theory/{FORMULA}"),
            (names["world"], f"idealised/{FORMULA}"),
        ):
            found += [
                (name, point.estimates[Metric.UTILISATION])
                for point in runs.members(ASSUMPTIONS, engine, frames=frames)
            ]
        last = ""
        for step in ALL_STEPS:
            for point in runs.members(
                ASSUMPTIONS, f"ablation/{FORMULA}/{step.name}", frames=frames
            ):
                found.append((labels[step.name], point.estimates[Metric.UTILISATION]))
                last = step.name
        end = labels[after(last)] if last else "the segment"
        found += [
            (end, point.estimates[Metric.UTILISATION])
            for point in runs.members(ASSUMPTIONS, frames=frames)
        ]
        order += [name for name, _ in found if name not in order]
        traces.append(Trace(frames, "segment", tuple(found)))
    return order, some(traces)


def ring_delays(runs: Runs, frames: str) -> list[Trace]:
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
            runs.members(RING, engine, frames=frames),
            _number(LOAD),
            Metric.RESPONSE_TIME,
        )
        for name, kind, engine in drawn
    )


def ring_capacities(runs: Runs) -> list[Trace]:
    """Saturated throughput of the ring and of the segment with 24 hosts, by frame length.

    That of the ring is by its formula.
    """
    lengths = list(dict.fromkeys(point.point[FRAMES] for point in runs.members(RING)))
    ring = tuple((frames, exact(ring_capacity(runs, frames))) for frames in lengths)
    segment = tuple(
        (frames, point.estimates[Metric.UTILISATION])
        for frames in lengths
        for point in runs.members(SATURATED, frames=frames, count="24")
    )
    return some([Trace(TOKEN_RING, "theory", ring), Trace(ETHERNET, "segment", segment)])


def _in_packet_times(runs: Runs, point: Point) -> Estimate:
    found, packet_s = point.estimates[Metric.RESPONSE_TIME], runs.packet_s(KNEES, point.point)
    return Estimate(found.value / packet_s, found.error / packet_s, found.degrees, found.cautions)


def same_trials(runs: Runs) -> tuple[list[Trace], list[Trace], list[Trace]]:
    """Draw the same trials three times.

    Returns response time in packet times against offered load, the same against throughput, and
    throughput against Q; each trace has one point for each point of the series.
    """
    by_load, by_throughput, by_queue = [], [], []
    for frames in dict.fromkeys(point.point[FRAMES] for point in runs.members(KNEES)):
        members = list(runs.members(KNEES, frames=frames))
        delays = [_in_packet_times(runs, point) for point in members]
        carried = [point.estimates[Metric.UTILISATION] for point in members]
        by_load.append(
            Trace(
                frames,
                "segment",
                tuple((float(p.point[LOAD]), y) for p, y in zip(members, delays, strict=True)),
            )
        )
        by_throughput.append(
            Trace(
                frames, "segment", tuple((x.value, y) for x, y in zip(carried, delays, strict=True))
            )
        )
        by_queue.append(
            _trace(frames, "segment", members, _estimate(Metric.OFFERED_LOAD_Q), Metric.UTILISATION)
        )
    return some(by_load), some(by_throughput), some(by_queue)


def by_regime(runs: Runs, metrics: Sequence[tuple[str, Metric]]) -> list[Trace]:
    """Metrics by arrival process."""
    return some(
        _trace(
            name,
            "segment",
            runs.members(REGIME),
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
