"""Quantities about the myths from simulations, each with its interval and a remark.

Series and keys are those of the experiments of this folder. Estimates of different points come from
different trials and are taken as independent.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethermeter.analysis.curves import knee, rise
from ethermeter.analysis.estimates import Point
from ethermeter.analysis.frame_mixes import COUNT, FRAMES
from ethermeter.analysis.interval import Estimate, Floats, difference, exact, ratio, student
from ethermeter.analysis.tables import PS_PER_S, Trial
from ethermeter.metrics import Metric
from ethermeter.station_groups import charged_ps, groups_of, mean_bits
from ethermeter.studies.judging import MissingError
from ethermeter.theory.inputs import model_inputs
from ethermeter.theory.predictions import ENTRIES

Found = tuple[Estimate, str]
LOAD, SLOT, ARRIVALS = (
    "stations.arrivals.poisson_load",
    "theory.contention_slot",
    "stations.arrivals",
)
ONE_SLOT, SATURATED, CSMA, CSMA_CD = "one slot", "saturated", "carrier sense", "collision detection"
ASSUMPTIONS, RING, KNEES, REGIME = "assumptions", "ring", "knees", "regime"
SIMULATION = "simulation"
FORMULA = "metcalfe-boggs-1976"
RING_MODEL = "bux-1981-token-ring"
RING_WORLD = f"idealised/{RING_MODEL}"
PACKET_AS_SLOT = "70.4 us"
CROWDED = 2
"""Stations from which a segment is saturated: one alone waits for its host."""
CARRIED = 0.01
"""Share of frames that may be lost where a load still counts as carried."""
LIGHT, HEAVY = "0.2", "0.8"


class Runs:
    """Estimates of a run, and single replications, found by series, engine and point.

    `points`: estimates of the whole segment. `trials`: the plan. `values`: values of every trial,
    in the order of the plan, by metric; shape (trials,).
    """

    def __init__(
        self, points: Sequence[Point], trials: Sequence[Trial], values: Mapping[Metric, Floats]
    ) -> None:
        self._points = {
            (point.series, point.engine, *sorted(point.point.items())): point for point in points
        }
        self._trials = trials
        self._values = values

    def members(self, series: str, engine: str = SIMULATION, **fixed: str) -> Iterator[Point]:
        """Points of a series by an engine, in the order of the plan.

        `fixed` by the last part of a key.
        """
        for point in self._points.values():
            leaves = {key.rpartition(".")[2]: value for key, value in point.point.items()}
            if (
                point.series == series
                and point.engine == engine
                and all(leaves.get(key) == value for key, value in fixed.items())
            ):
                yield point

    def at(
        self, metric: Metric, series: str, point: Mapping[str, str], engine: str = SIMULATION
    ) -> Estimate:
        """Return one estimate.

        Raises MissingError if the run does not hold it.
        """
        found = self._points.get((series, engine, *sorted(point.items())))
        if found is None or metric not in found.estimates:
            raise MissingError(f"no {metric.value} for {series}, {engine}, {dict(point)}")
        return found.estimates[metric]

    def packet_s(self, series: str, point: Mapping[str, str]) -> float:
        """Return the mean time of a packet with its preamble and gap, in s.

        Of the first group of stations.

        Raises MissingError if the run does not hold the point.
        """
        scenario = self.trial(series, SIMULATION, point).scenario
        bits = mean_bits(groups_of(scenario)[0].flow.frames)
        return charged_ps(scenario, bits) / PS_PER_S

    def trial(self, series: str, engine: str, point: Mapping[str, str]) -> Trial:
        """Return the first trial of a point for an engine.

        Raises MissingError if the run does not hold it.
        """
        for trial in self._trials:
            if (trial.series, trial.engine, trial.point) == (series, engine, point):
                return trial
        raise MissingError(f"no trial for {series}, {engine}, {dict(point)}")

    def replications(self, series: str, point: Mapping[str, str], metric: Metric) -> Floats:
        """Return a metric of every replication of a simulated point.

        Shape `(replications,)`, at least one.

        Raises MissingError if the run does not hold it.
        """
        key = (series, SIMULATION, point)
        where = [
            at
            for at, trial in enumerate(self._trials)
            if (trial.series, trial.engine, trial.point) == key
        ]
        if not where or metric not in self._values:
            raise MissingError(f"no {metric.value} for {series}, {dict(point)}")
        return self._values[metric][where]


def lengths_of(runs: Runs, series: str) -> list[str]:
    """Frame lengths of a series, in the order of the plan; at least one."""
    found = list(dict.fromkeys(point.point[FRAMES] for point in runs.members(series)))
    if not found:
        raise MissingError(f"no series {series}")
    return found


@dataclass(frozen=True, slots=True)
class Knees:
    """Knees of the response time of one frame length, in the same trials.

    Against offered load, and against throughput.

    `apart` is the one less the other; `queue` is Q where throughput stops rising with it. Each is a
    mean over the replications with its interval; NaN if a replication has no clear knee.
    """

    load: Estimate
    throughput: Estimate
    apart: Estimate
    queue: Estimate


def knees(runs: Runs, frames: str) -> Knees:
    """Find the knees of every replication, by the rule of `analysis.curves.rise`."""
    points = [dict(point.point) for point in runs.members(KNEES, frames=frames)]
    if len(points) < 3:
        raise MissingError(f"no curve for {frames}")
    loads = np.array([float(point[LOAD]) for point in points])
    order = np.argsort(loads)
    response, throughput, queue = (
        np.array([runs.replications(KNEES, points[at], metric) for at in order])
        for metric in (Metric.RESPONSE_TIME, Metric.UTILISATION, Metric.OFFERED_LOAD_Q)
    )
    by_load = [_rise(loads[order], each) for each in response.T]
    by_throughput = [_rise(of, each) for of, each in zip(throughput.T, response.T, strict=True)]
    by_queue = [knee(*_sorted(of, each)).x for of, each in zip(queue.T, throughput.T, strict=True)]
    # Both knees come from the same trials, so their difference is taken replication by replication.
    apart = [one - other for one, other in zip(by_load, by_throughput, strict=True)]
    return Knees(_mean(by_load), _mean(by_throughput), _mean(apart), _mean(by_queue))


def _sorted(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    # A plateau goes up and down by chance; the curve is taken by its x, as it is drawn.
    order = np.argsort(x, kind="stable")
    distinct = np.concatenate([[True], np.diff(x[order]) > 0])
    return x[order][distinct], y[order][distinct]


def _rise(x: Floats, y: Floats) -> float:
    found = rise(*_sorted(x, y))
    return found.x if found is not None else math.nan


def _mean(found: Sequence[float]) -> Estimate:
    return student(np.array(found)) if all(map(math.isfinite, found)) else exact(math.nan)


def _formula_world(runs: Runs) -> Found:
    counts = [
        int(point.point[COUNT])
        for point in runs.members(ONE_SLOT, f"idealised/{FORMULA}", contention_slot=PACKET_AS_SLOT)
    ]
    if not counts:
        raise MissingError("no world of the formula")
    most = str(max(counts))
    point = {SLOT: PACKET_AS_SLOT, COUNT: most}
    found = runs.at(Metric.UTILISATION, ONE_SLOT, point, f"idealised/{FORMULA}")
    formula = runs.at(Metric.UTILISATION, ONE_SLOT, point, f"theory/{FORMULA}")
    return found, f"simulated with {most} stations; the formula gives {formula.value:.4f}"


def _least(runs: Runs, frames: str, *, most: int) -> tuple[Estimate, str]:
    points = [
        point
        for point in runs.members(SATURATED, frames=frames)
        if CROWDED <= int(point.point[COUNT]) <= most
    ]
    if not points:
        raise MissingError(f"no saturated segment with {frames}")
    lowest = min(points, key=lambda point: point.estimates[Metric.UTILISATION].value)
    return lowest.estimates[Metric.UTILISATION], lowest.point[COUNT]


def _least_efficiency(runs: Runs) -> Found:
    found, hosts = _least(runs, "64 B", most=1024)
    return found, f"lowest with {hosts} hosts"


def _nominal_capacity(runs: Runs) -> Found:
    found, hosts = _least(runs, "1536 B", most=24)
    more, crowd = _least(runs, "1536 B", most=1024)
    return found, f"lowest with {hosts} hosts; with {crowd} it is {more.value:.3f}"


def _load_carried(runs: Runs) -> Found:
    """Largest load of which less than 1% is lost, as of all smaller ones.

    At the frame length where it is least.
    """
    carried = {}
    for frames in lengths_of(runs, KNEES):
        carried[frames] = 0.0
        for point in sorted(
            runs.members(KNEES, frames=frames), key=lambda point: float(point.point[LOAD])
        ):
            if not point.estimates[Metric.LOSS].high < CARRIED:
                break
            carried[frames] = float(point.point[LOAD])
    remark = ", ".join(f"{load:.0%} with {frames}" for frames, load in carried.items())
    return exact(min(carried.values())), f"{remark}; loads were tried in steps of 5%"


def _stability(runs: Runs) -> Found:
    full, twice = (runs.at(Metric.UTILISATION, CSMA_CD, {LOAD: load}) for load in ("1.0", "2.0"))
    return difference(twice, full), f"{full.value:.3f} at 100%, {twice.value:.3f} at 200%".replace(
        "-", "−"
    )


def _spread(runs: Runs) -> Found:
    """Rise of the delay's standard deviation over its mean from a light load to a heavy one."""
    light, heavy = (
        ratio(
            runs.at(Metric.TRANSMISSION_DELAY_SD, CSMA_CD, {LOAD: load}),
            runs.at(Metric.TRANSMISSION_DELAY, CSMA_CD, {LOAD: load}),
        )
        for load in (LIGHT, HEAVY)
    )
    return (
        ratio(heavy, light),
        f"standard deviation over mean {light.value:.2f} at 20%, {heavy.value:.2f} at 80%",
    )


def _knees_apart(runs: Runs) -> Found:
    """Least margin by which the knee against throughput is below that against offered load."""
    found = {frames: knees(runs, frames) for frames in lengths_of(runs, KNEES)}
    remark = "; ".join(
        f"{frames}: load {each.load.value:.2f}, throughput {each.throughput.value:.2f}"
        for frames, each in found.items()
    )
    return (
        min((each.apart for each in found.values()), key=lambda each: each.value),
        f"{remark}; loads were tried in steps of 5%",
    )


def _worst_case(runs: Runs) -> Found:
    """Least ratio of what the segment carries to the formula with the longest segment."""
    found = {}
    for frames in lengths_of(runs, ASSUMPTIONS):
        point = {FRAMES: frames}
        segment = runs.at(Metric.UTILISATION, ASSUMPTIONS, point)
        found[frames] = ratio(
            segment, runs.at(Metric.UTILISATION, ASSUMPTIONS, point, f"theory/{FORMULA}")
        )
    remark = ", ".join(f"{each.value:.3f} times with {frames}" for frames, each in found.items())
    return min(found.values(), key=lambda each: each.value), remark


def ring_capacity(runs: Runs, frames: str) -> float:
    """Return the largest throughput of the series' token ring: N E / (N E + R).

    A station sends one packet a turn.

    N E is what all stations send in a turn, and R is how long a bit takes around the ring.
    """
    point = next((dict(each.point) for each in runs.members(RING, frames=frames)), None)
    if point is None:
        raise MissingError(f"no ring with {frames}")
    trial = runs.trial(RING, RING_WORLD, point)
    inputs = model_inputs(trial.scenario, trial.assumptions())
    parameters = ENTRIES[RING_MODEL].parameters(inputs)
    turn_s = parameters["stations"] * runs.packet_s(RING, point)
    return float(turn_s / (turn_s + parameters["latency_s"]))


def _stress_on_delay(runs: Runs) -> Found:
    """Ratio of ring to segment in delay over that in saturated throughput.

    For long frames at 70% load.
    """
    point = {FRAMES: "1536 B", LOAD: "0.7"}
    delay = ratio(
        runs.at(Metric.RESPONSE_TIME, RING, point),
        runs.at(Metric.RESPONSE_TIME, RING, point, RING_WORLD),
    )
    segment = runs.at(Metric.UTILISATION, SATURATED, {FRAMES: "1536 B", COUNT: "24"})
    carried = ratio(exact(ring_capacity(runs, "1536 B")), segment)
    remark = (
        f"delay at 70% load {delay.value:.2f} times the ring’s, but saturated the ring carries only"
        f" {carried.value:.3f} times as much"
    )
    return ratio(delay, carried), remark


def _typical_delay(runs: Runs) -> Found:
    """Transmission delay over packet time at a load of 5%, where it is longest."""
    found = {}
    for point in runs.members(REGIME):
        packet_s = runs.packet_s(REGIME, point.point)
        kind = regime(point.point[ARRIVALS])
        delay = point.estimates[Metric.TRANSMISSION_DELAY]
        found[kind] = Estimate(delay.value / packet_s, delay.error / packet_s, delay.degrees)
    quiet = {kind: each for kind, each in found.items() if kind.startswith("5%")}
    if not quiet:
        raise MissingError("no quiet segment")
    remark = ", ".join(
        f"{each.value:.2f} at {kind}" if kind in quiet else f"{each.value:.1f} at {kind}"
        for kind, each in found.items()
    )
    return max(quiet.values(), key=lambda each: each.value), f"packet times: {remark}"


def regime(arrivals: str) -> str:
    """Name an arrival process.

    Examples
    --------
    >>> regime("{ poisson_load = 0.05 }"), regime("saturated")
    ('5%, smooth', 'saturated')

    """
    if "on_off" in arrivals:
        return "5%, in bursts"
    if "poisson_load" in arrivals:
        return f"{float(arrivals.strip('{ }').partition('=')[2]):.0%}, smooth"
    return arrivals


SIMULATED: dict[str, Callable[[Runs], Found]] = {
    "formula_world": _formula_world,
    "least_efficiency": _least_efficiency,
    "nominal_capacity": _nominal_capacity,
    "load_carried": _load_carried,
    "stability": _stability,
    "spread": _spread,
    "knees_apart": _knees_apart,
    "worst_case": _worst_case,
    "stress_on_delay": _stress_on_delay,
    "typical_delay": _typical_delay,
}
"""Every quantity by its name in `published.toml`."""
